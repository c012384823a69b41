import type { WatchRequest } from '../../cluster/feed.ts'
import type { KindName, KubeObject, ObjectName } from '../../cluster/objects.ts'
import { isSameSubject, nameOf, subjectOf } from '../../cluster/objects.ts'
import { ageByCheckout, isLowerVersion, shortRevision, type WantedRevision } from '../../plan/revision.ts'
import type { Target } from '../../plan/target.ts'
import { messageOf, type Problem, traitsOf } from '../../reasons/reasons.ts'
import { maxDeployed } from '../../thresholds.ts'
import type { Assessment } from '../assessment.ts'
import type { KnownRevision, Reader } from '../reader.ts'
import { type Arrival, addCheck, type Rule, toWaitingAssessment } from '../rule.ts'
import { formatSelector } from '../selector.ts'
import { objectProblemFields } from '../status-problems.ts'
import { jobRule } from '../workloads/job.ts'
import { readApplication } from './argo-cd.ts'
import { assessNonTarget, readerWithoutWatches } from './dependents.ts'
import { readHelmRelease, readKustomization } from './flux.ts'
import {
  type Attempt,
  describeVersion,
  hasRevisions,
  isSameVersion,
  type RevisionReport,
  type Version,
} from './revision-report.ts'

/* Awaits a revision (`--revision`) of an Argo CD Application, a Flux Kustomization or a Flux HelmRelease. */

/** The functions that read which revision an object reports as deployed, by kind. */
const readers = { Application: readApplication, Kustomization: readKustomization, HelmRelease: readHelmRelease }

/** The report of an object, and the awaited revisions as text. */
interface AwaitedReport extends RevisionReport {
  /** The awaited revisions as the user named them, for messages. */
  readonly wantedText: string
}

function readReport(
  object: KubeObject,
  revisions: readonly WantedRevision[],
  known: KnownRevision | undefined,
): AwaitedReport {
  const read = readers[object.kind as keyof typeof readers] ?? readApplication
  const names = revisions.map(
    ({ source, revision }) => `${source === undefined ? '' : `${source} at `}${shortRevision(revision)}`,
  )
  return { ...read(object, revisions, known), wantedText: names.join(', ') }
}

/**
 * Adds an awaited revision (`--revision`) to a rule. Until the operator deploys the revision, the object is not judged.
 * Then its own rule decides whether the object is ready, and the deployed objects become targets.
 * @param hasReadinessCriteria whether objects of a kind become targets; other objects are ready once they exist
 */
export function addRevisionCheck(
  rule: Rule,
  { revisions = [] }: Pick<Target, 'revisions'>,
  hasReadinessCriteria: (kind: KindName) => boolean,
): Rule {
  const awaiting: Rule = {
    ...rule,
    arrival: (object, reader, before) =>
      findArrival(object, readReport(object, revisions, reader.knownRevision), reader, before),
  }
  return addCheck(awaiting, (assessment, object, reader) => {
    const report = readReport(object, revisions, reader.knownRevision)
    const { attempt, objects } = report
    const watched = objects === 'elsewhere' ? [] : (attempt?.hookJobs ?? [])
    for (const request of watched.flatMap(hookJobRequests)) reader.watch(request, 'optional')
    const gated = attempt && { ...attempt, applied: attempt.applied.filter(hasReadinessCriteria) }
    const deployed = listDeployedObjects(report, reader).filter(hasReadinessCriteria)
    return assessArrival(assessment, object, reader, { ...report, attempt: gated }, deployed)
  })
}

const notArrived: KnownRevision = { wasDeployed: false, wasAttempted: false, wanted: [] }

/** Finds whether the awaited revision is deployed, is being deployed, or was deployed before. */
function findArrival(object: KubeObject, report: AwaitedReport, reader: Reader, before?: KubeObject): Arrival {
  const { operator, wanted, wantedText, content, isSettled, isCurrent, attempt, next } = report
  const [deployed] = report.deployed
  const { knownRevision: known = notArrived } = reader
  const isWanted = (version: Version | undefined) => version !== undefined && hasRevisions(version, wanted)
  const isDeployed = report.deployed.some(isWanted) || (content !== undefined && content === known.content)
  const isAttempted = attempt !== undefined && attempt.state !== 'succeeded' && isWanted(attempt.version)
  const attempted = { ...known, wanted, wasAttempted: true }
  if (isAttempted && (attempt.state === 'failed' || !(isDeployed && isSettled)))
    return { type: 'attempted', known: attempted, text: `${operator} deploys ${wantedText}` }
  if (isDeployed)
    return {
      type: 'deployed',
      known: { ...attempted, wasDeployed: true, content },
      text: `${operator} has deployed ${wantedText}`,
    }
  const isOlder =
    deployed === undefined || !isCurrent || isWanted(next)
      ? undefined
      : isOlderThanWanted(deployed, report, known, before)
  if (deployed === undefined || isOlder === undefined)
    return { type: 'awaited', known: { ...known, wanted }, problem: wrongRevisionProblem(object, report, reader) }
  const detail = { operator, wanted: wantedText, current: describeVersion(deployed), since: deployed.since }
  return { type: isOlder ? 'rolled-back' : 'superseded', known: attempted, detail }
}

/**
 * Whether the deployed version is older than the wanted revision. The Git history of the checkout decides if it
 * contains both, else the history that the operator reports. Undefined if the wanted revision may still be deployed.
 */
function isOlderThanWanted(
  deployed: Version,
  { wanted, history }: AwaitedReport,
  { wasDeployed, wasAttempted }: KnownRevision,
  before: KubeObject | undefined,
): boolean | undefined {
  const index = history.findLastIndex((each) => hasRevisions(each, wanted))
  const entry = history[index]
  const ages = wanted.flatMap((each) =>
    deployed.sources.flatMap(({ revisions }) => revisions.map((one) => ageByCheckout(each, one))),
  )
  const age = ages.find((each) => each !== undefined)
  const { deployed: [atFirst] = [], history: historyAtFirst = [] } = before ? readReport(before, wanted, undefined) : {}
  const isAsBefore = atFirst !== undefined && isSameVersion(atFirst, deployed)
  const wasThere = entry !== undefined || wasDeployed
  if (age !== undefined) return age === 'newer' ? false : wasThere ? true : undefined
  if (!wasThere) return wasAttempted && !isAsBefore ? false : undefined
  if (isAsBefore && wasDeployed) return true
  if (history.slice(0, index).some((each) => isSameVersion(each, deployed))) return true
  const front = history.at(-1)
  // A commit that reverts a change is newer, although its content was deployed before.
  const isRevert = historyAtFirst.some(
    ({ content, ...each }) => content !== undefined && content === front?.content && !isSameVersion(each, deployed),
  )
  const isFirst = front?.first !== undefined && entry?.first !== undefined && !isRevert
  if (isFirst && Date.parse(front.first ?? '') < Date.parse(entry.first ?? '')) return true
  const [one = ''] = deployed.sources[0]?.revisions ?? []
  const names = [...wanted.map(({ revision }) => revision), ...(entry?.sources[0]?.revisions ?? [])]
  return names.some((each) => isLowerVersion(one, each) === true)
}

function wrongRevisionProblem(
  object: KubeObject,
  { operator, wantedText, deployed: [deployed], complaint, intervalMs }: AwaitedReport,
  { history }: Reader,
): Problem<'wrong-revision'> {
  return {
    ...objectProblemFields(object, history.firstSeenAt),
    reason: 'wrong-revision',
    detail: {
      operator,
      wanted: wantedText,
      ...(deployed && { current: describeVersion(deployed) }),
      since: deployed?.since,
      complaint,
      intervalMs,
    },
  }
}

/**
 * Changes the assessment of an object, depending on whether the awaited revision is deployed.
 * @param deployed the deployed objects that become targets
 */
function assessArrival(
  assessment: Assessment,
  object: KubeObject,
  reader: Reader,
  report: AwaitedReport,
  deployed: readonly ObjectName[],
): Assessment {
  const { operator, wantedText, isSettled, attempt } = report
  const { type } = findArrival(object, report, reader)
  if (type === 'attempted' && attempt !== undefined)
    return attempt.state === 'failed'
      ? assessFailedAttempt(assessment, object, reader, report, attempt)
      : assessAttempt(assessment, object, report, attempt, reader)
  if (type === 'deployed' && isSettled) return assessDeployed(assessment, object, report, deployed)
  if (type === 'deployed') {
    if (assessment.ready) return toWaitingAssessment(assessment, `${operator} has not finished`)
    // The failure of another revision does not fail the wanted revision.
    const isOfOther = attempt && attempt.state !== 'succeeded' && !hasRevisions(attempt.version, report.wanted)
    return isOfOther ? toWaitingAssessment(assessment, assessment.message) : assessment
  }
  const waiting = toWaitingAssessment(assessment, `${operator} has not deployed ${wantedText}`)
  return { ...waiting, problems: [wrongRevisionProblem(object, report, reader), ...assessment.problems] }
}

/** The assessment while the operator deploys the revision. */
function assessAttempt(
  assessment: Assessment,
  object: KubeObject,
  report: AwaitedReport,
  { state, message, applied }: Attempt,
  reader: Reader,
): Assessment {
  const { operator, wantedText } = report
  const started = {
    ...toWaitingAssessment(assessment, message === '' ? `${operator} deploys ${wantedText}` : message),
    ...addDeployedTargets(assessment, object, applied),
  }
  if (state === 'begun')
    return { ...started, problems: [wrongRevisionProblem(object, report, reader), ...started.problems] }
  return state === 'retried' ? started : { ...started, stallHold: `${operator} is deploying it` }
}

/** The assessment after the operator failed to deploy the revision. */
function assessFailedAttempt(
  assessment: Assessment,
  object: KubeObject,
  reader: Reader,
  report: AwaitedReport,
  attempt: Attempt,
): Assessment {
  const problem = attemptFailure(object, reader, report, attempt)
  const failed = {
    ...toWaitingAssessment(assessment, messageOf(problem)),
    problems: [problem, ...assessment.problems.filter((each) => traitsOf(each).yieldsTo !== 'owned')],
  }
  return problem.proven ? { ...failed, failure: problem } : failed
}

/** The assessment after the operator has deployed the revision. */
function assessDeployed(
  assessment: Assessment,
  object: KubeObject,
  { operator, objects, isHealthy }: AwaitedReport,
  deployed: readonly ObjectName[],
): Assessment {
  const listed = deployed.slice(0, maxDeployed)
  const left = deployed.length - listed.length
  const notes = [
    ...(objects === 'elsewhere'
      ? [`it deploys to another cluster: its objects there count by the word of ${operator}`]
      : []),
    ...(left > 0 ? [`${left} more objects count by the word of ${operator}`] : []),
  ]
  const withTargets = {
    ...assessment,
    notes: [...assessment.notes, ...notes],
    ...addDeployedTargets(assessment, object, listed),
  }
  const isReady =
    isHealthy === true && assessment.failure === undefined && object.metadata.deletionTimestamp === undefined
  if (!isReady || assessment.ready) return withTargets
  const message = 'its revision is deployed and healthy'
  const milestones = assessment.milestones.map((each) => ({
    ...each,
    state: 'done' as const,
    ...(each.name === 'ready' ? { message } : {}),
  }))
  return { ...withTargets, ready: true, message, problems: [], milestones }
}

/** Adds the objects that become targets. Problems of other objects are removed, because these targets report them. */
function addDeployedTargets(
  assessment: Assessment,
  object: KubeObject,
  names: readonly ObjectName[],
): Pick<Assessment, 'deployed' | 'awaits' | 'problems'> {
  const self = subjectOf(object)
  const problems =
    names.length === 0 ? assessment.problems : assessment.problems.filter(({ subject }) => isSameSubject(subject, self))
  return { deployed: names, awaits: [...(assessment.awaits ?? []), ...names], problems }
}

const labelledKinds = ['Deployment', 'StatefulSet', 'DaemonSet']

/** Lists the objects that an operator has deployed in this cluster, by their names or, if unknown, by their labels. */
function listDeployedObjects({ objects }: AwaitedReport, reader: Reader): readonly ObjectName[] {
  if (objects === 'elsewhere') return []
  if (!('labels' in objects)) return objects
  const { namespace, labels } = objects
  const labelSelector = formatSelector({ matchLabels: labels })
  const isLabelled = ({ metadata }: KubeObject) =>
    Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value)
  return labelledKinds
    .flatMap((kind) => reader.list({ apiVersion: 'apps/v1', kind, namespace, labelSelector }, isLabelled, 'optional'))
    .map(nameOf)
}

/** The watches of the Job of a hook and of its pods, which explain a failure. */
function hookJobRequests({ apiVersion, kind, namespace, name }: ObjectName): readonly WatchRequest[] {
  const labelSelector = `job-name=${name}`
  return [
    { apiVersion, kind, namespace, name },
    { apiVersion: 'v1', kind: 'Pod', namespace, labelSelector },
  ]
}

/**
 * The problem that the operator failed to deploy the wanted revision. If the Job of a hook failed, the problem is that
 * of the Job. A Job in another cluster cannot be read, so only the report of the operator counts.
 */
function attemptFailure(
  object: KubeObject,
  reader: Reader,
  { failureMs, objects }: AwaitedReport,
  { since, message, hookJobs }: Attempt,
): Problem {
  const { now, time, history } = reader
  const failedAt = Math.min(time(since) ?? history.firstSeenAt, now)
  const proven = reader.passed(failedAt + failureMs)
  const fields = objectProblemFields(object, failedAt)
  const hook = hookJobs.find(({ hasFailed }) => hasFailed)
  if (hook === undefined)
    return { ...fields, reason: 'reported-failed', detail: { signals: [], cause: message || undefined }, proven }
  const { kind, namespace, name } = hook
  const [job] =
    objects === 'elsewhere' ? [] : reader.listKnown({ apiVersion: 'batch/v1', kind: 'Job', namespace, name })
  const failure = job && assessNonTarget(job, jobRule as Rule, readerWithoutWatches(reader)).failure
  return {
    ...fields,
    subject: { group: 'batch', kind, namespace, name },
    reason: 'job-failed',
    detail: { message },
    ...failure,
    ...(namespace === object.metadata.namespace ? {} : { isElsewhere: true }),
    proven,
  }
}
