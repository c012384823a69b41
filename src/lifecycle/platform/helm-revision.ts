import type { Job, KubeObject } from '../../cluster/objects.ts'
import { clockText } from '../../duration.ts'
import { hookAnnotation, isPendingStatus, readRevision, revisionsRequest } from '../../plan/helm-release.ts'
import type { Problem } from '../../reasons/reasons.ts'
import { type ConditionSignal, trueCondition } from '../conditions.ts'
import type { Reader, RuleReader } from '../reader.ts'
import { commonMilestones, type Judgement, type Rule } from '../rule.ts'
import { jobsRequest } from '../selector.ts'
import { objectProblemFields, reportedProblem } from '../status-problems.ts'

/**
 * Judges a revision of a Helm release by the labels of its Secret (pkg/storage/driver/secrets.go and
 * pkg/release/common/status.go of Helm). A revision is ready when Helm has deployed it. Helm reports a failure if a
 * hook, the apply or the wait has failed. When Helm deploys the next revision, it marks this revision as superseded. If
 * Helm is killed, a revision stays pending until the next revision.
 */
export const helmRevisionRule: Rule = {
  milestones: commonMilestones,
  judge: judgeHelmRevision,
}

const failedSignal: ConditionSignal = { name: 'status', value: 'failed' }

function isFailedRevision({ metadata }: KubeObject): boolean {
  return readRevision(metadata).status === 'failed'
}

/** All revisions of the Helm release to which a revision belongs. */
export function revisionsOfRelease({ metadata }: KubeObject, reader: Reader): readonly KubeObject[] {
  const { name, namespace = '' } = metadata
  const { release } = readRevision({ name })
  const request = revisionsRequest({ name: release, namespace })
  return reader.list(request, (other) => readRevision(other.metadata).release === release, 'optional')
}

/**
 * Whether an upgrade (`superseded`) or a rollback has replaced a revision. A failed revision stays failed.
 * @param gated the version of the revision that the gate waits for
 * @param object its present version
 */
export function compareRevisions(
  gated: KubeObject,
  object: KubeObject,
  revisions: readonly KubeObject[],
): 'same' | 'superseded' | 'rolled-back' {
  if (isFailedRevision(object)) return 'same'
  const present = readRevision(object.metadata)
  const next = revisions.map(({ metadata }) => readRevision(metadata)).filter(({ number }) => number > present.number)
  if (next.some(({ status }) => status === 'pending-rollback')) return 'rolled-back'
  const isSuperseded = present.status === 'superseded' && readRevision(gated.metadata).status !== 'superseded'
  return isSuperseded || next.length > 0 ? 'superseded' : 'same'
}

function judgeHelmRevision(object: KubeObject, reader: RuleReader): Judgement {
  reader.watch(jobsRequest(object), 'optional')
  const { number, status } = readRevision(object.metadata)
  if (isPendingStatus(status)) return judgePendingRevision(object, reader)
  const ready = status === 'deployed'
  const message = ready ? `revision ${number} is deployed` : `Helm reports revision ${number} as ${status}`
  reader.milestone({ name: 'observed', state: 'done', message: '' })
  if (isFailedRevision(object)) reader.problem(failedRevisionProblem(object, message, reader))
  return { ready, message }
}

/** Judges a pending revision: Helm or its hook still works on it, or Helm was killed. */
function judgePendingRevision(object: KubeObject, reader: RuleReader): Judgement {
  const { release, number, status, createdAt } = readRevision(object.metadata)
  const since = reader.time(createdAt) ?? reader.history.firstSeenAt
  const cause = `revision ${number} is ${status}${clockText(createdAt)}`
  const hook = hookJobsOf(object, reader).find((job) => !hasJobEnded(job))?.metadata.name
  const running = hook === undefined ? undefined : `its hook job/${hook} runs`
  const problem: Problem<'condition-false'> = {
    ...objectProblemFields(object, since),
    reason: 'condition-false',
    detail: { signals: [{ name: 'status', value: status }], cause, release },
  }
  // A single check cannot wait to see whether Helm continues.
  const isShown = reader.settings.isSingleCheck === true && running === undefined
  reader.milestone({ name: 'observed', state: 'done', message: cause })
  reader.hold(running)
  if (isShown) reader.problem(problem)
  const message = [cause, running].filter(Boolean).join(': ')
  return { ready: false, message, ...(!isShown && { overdue: problem }) }
}

/**
 * The problem of a failed revision. Helm never retries a revision, so the failure is final at once. Exception: while a
 * hook seems to run, the gate waits, because the end of the hook may explain the failure.
 */
function failedRevisionProblem(object: KubeObject, message: string, reader: Reader): Problem<'reported-failed'> {
  const { release, number } = readRevision(object.metadata)
  const hooks = hookJobsOf(object, reader)
  const isRunning = hooks.some((job) => !hasJobEnded(job))
  const problem = reportedProblem(object, [failedSignal], reader, undefined, isRunning ? undefined : 0)
  const hook = hooks.find((job) => trueCondition(job, 'Failed') !== undefined)
  const why = hook && trueCondition(hook, 'Failed')?.message
  const ofHook = hook === undefined ? '' : `: its hook job/${hook.metadata.name} failed${why ? `: ${why}` : ''}`
  const later = revisionsOfRelease(object, reader)
    .map(({ metadata }) => readRevision(metadata))
    .filter((other) => other.number > number)
  const next = later.toSorted((a, b) => a.number - b.number).at(-1)
  const cause = `${message}${ofHook}${next === undefined ? '' : `; revision ${next.number} is ${next.status}`}`
  return { ...problem, detail: { ...problem.detail, cause, release, hook: hook?.metadata.name } }
}

/** The Jobs of hooks that Helm created for this revision. Only some charts label a hook with the release. */
function hookJobsOf(object: KubeObject, reader: Reader): readonly Job[] {
  const { release, createdAt } = readRevision(object.metadata)
  const since = reader.time(createdAt) ?? reader.now
  return reader.listKnown(
    jobsRequest(object),
    ({ metadata: { annotations, labels, creationTimestamp } }) =>
      annotations?.[hookAnnotation] !== undefined &&
      (labels?.['app.kubernetes.io/instance'] ?? release) === release &&
      (reader.time(creationTimestamp) ?? 0) >= since,
  )
}

function hasJobEnded(job: Job): boolean {
  return (trueCondition(job, 'Failed') ?? trueCondition(job, 'Complete')) !== undefined
}
