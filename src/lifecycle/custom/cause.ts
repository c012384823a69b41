import type { WatchRequest } from '../../cluster/feed.ts'
import type { KindName, KubeObject, Pod } from '../../cluster/objects.ts'
import { isPodSubject } from '../../cluster/objects.ts'
import { classOf, messageOf, type Problem, traitsOf } from '../../reasons/reasons.ts'
import { causeSearchMs, maxCauses, ownedListsMs } from '../../thresholds.ts'
import { assess } from '../assess.ts'
import { type Assessment, type Draft, isUndisturbed } from '../assessment.ts'
import { existsRule } from '../platform/condition-kinds.ts'
import { withoutProof } from '../proof.ts'
import { type Reader, watchingBy } from '../reader.ts'
import { type Rule, withCheck } from '../rule.ts'
import { isOfPresentSpec } from '../status-age.ts'
import { observeTarget } from '../target-history.ts'
import { byImportance, examinePods } from '../workloads/revision-pods.ts'
import { appliedRequests, type KindsBehind, objectsBehind, ownedRequests } from './owned-objects.ts'

/** How the objects behind a custom resource are found and judged. */
export interface Behind extends KindsBehind {
  /** It runs pods as a Deployment does: a proven problem of its pods fails it. */
  readonly isWorkload: boolean
  /**
   * Which workloads behind it must be ready before it is: all, or those that were written since its spec; see
   * `withOwnedWorkloads`.
   */
  readonly awaitsWorkloads: 'all' | 'written' | 'none'
  /** The value of a label that only the objects of its present revision have; undefined if unknown. */
  revisionOf?(object: KubeObject): string | undefined
  /** The rule of an owned object, and whether its kind is a custom kind, whose owned objects are searched too. */
  ruleOf(kind: KindName): { readonly rule: Rule; readonly isCustom: boolean }
}

/**
 * The maximum depth of a search: owner references may form a cycle. The deepest usual chain: Service → Configuration →
 * Revision → Deployment.
 */
const maxDepth = 5

/** What the objects behind a custom resource contribute to its assessment. */
interface Findings extends Pick<Draft, 'failure' | 'stallHold' | 'counters'> {
  /** Problems of an older spec only explain. */
  readonly problems: readonly Problem[]
  /** The watches that the owned workloads need. */
  readonly requests: readonly WatchRequest[]
}

/**
 * Adds to the rule of a custom resource: while it is not ready, the problems of the objects behind it.
 *
 * If the custom resource is a workload, a proven problem of a pod of the present spec fails it, as for a Deployment.
 * For other kinds, the problems only explain: they are the reason when a deadline ends the target, and the cause of a
 * failure that the custom resource reports. The progress of owned workloads is that of the custom resource.
 */
export function withCause(rule: Rule, behind: Behind): Rule {
  return withCheck(rule, (own, object, reader) => {
    if (own.ready || object.metadata.deletionTimestamp !== undefined) return own
    const { firstSeenAt, specSeenAt } = reader.history
    const seenAt = Math.max(firstSeenAt, specSeenAt)
    const isUrgent = reader.settings.isLook === true || behind.isWorkload || own.problems.some(isReported)
    if (!isUrgent && !reader.passed(seenAt + causeSearchMs)) return own
    const found = search(object, { custom: object, behind, reader })
    const requests = [...ownedRequests(object, behind), ...found.requests]
    const explaining = requests.filter((request) => behind.ruleOf(request).rule !== existsRule)
    for (const request of explaining) reader.watch(request, 'explaining')
    const explained: Draft = {
      ...explain(own, found, behind),
      stallHold: own.stallHold ?? found.stallHold,
      counters: awaitsUser(own) ? own.counters : new Map([...(own.counters ?? []), ...(found.counters ?? [])]),
    }
    const { explaining: explainedBy } = reader.reads.requests
    const isListing = explainedBy.some((request) => reader.listState(request) === 'pending')
    const isHeld = explained.failure !== undefined && isListing && !reader.passed(seenAt + ownedListsMs)
    return isHeld ? { ...explained, failure: undefined } : explained
  })
}

function isReported(problem: Problem): boolean {
  return traitsOf(problem).yieldsTo === 'owned'
}

/** Whether its first problem is one that only a user can end: no object behind the resource explains it. */
function awaitsUser({ problems: [first] }: Draft): boolean {
  return first !== undefined && traitsOf(first).awaits === 'user'
}

/** Adds the problems of the objects behind a custom resource to its own assessment. */
function explain(own: Draft, found: Findings, { isWorkload }: Behind): Draft {
  const problems = isWorkload ? found.problems : found.problems.map(withoutProof)
  const causes = problems.toSorted(byImportance).slice(0, maxCauses)
  const [cause] = causes
  const [first, ...others] = own.problems
  if (cause === undefined) return own
  // An analysis without a result pauses a rollout: the pause is the reason, and the analysis explains it.
  if (awaitsUser(own)) return { ...own, problems: [...own.problems, ...causes.filter(isReported)] }
  // As for a Deployment, the problem of a pod is the reason for a failure that the object itself reports.
  const decisive = own.failure && causes.find((problem) => classOf(problem) !== 'slow')
  const failure = isWorkload ? (found.failure ?? decisive) : undefined
  if (failure !== undefined)
    return { ...own, message: messageOf(failure), failure, problems: [...causes, ...own.problems] }
  if (first === undefined || !isReported(first)) return { ...own, problems: [...causes, ...own.problems] }
  const reported = { ...first, cause }
  const explained = { ...own, problems: [reported, ...others] }
  return own.failure === first ? { ...explained, failure: reported, message: messageOf(reported) } : explained
}

/** The custom resource whose objects are searched. */
interface Search {
  readonly custom: KubeObject
  readonly behind: Behind
  readonly reader: Reader
}

/** Examines the objects that `owner` owns: the custom resource itself, or a custom resource that it owns. */
function search(owner: KubeObject, searched: Search, depth = maxDepth): Findings {
  const { custom, behind, reader } = searched
  const objects = depth === 0 ? [] : objectsBehind(owner, custom, reader, behind, behind.revisionOf?.(custom))
  const [pods, others] = [objects.filter(isPod), objects.filter((object) => !isPod(object))]
  const assess = (object: KubeObject, within: Reader): AssessedObject => {
    const { rule, isCustom } = behind.ruleOf(object)
    return { object, isCustom, ...assessOwned(object, rule, within) }
  }
  const judged = others
    .map((object) => assess(object, reader))
    .filter(({ assessment }) => assessment.status !== 'ready')
  // A crashing container may wait for another object of the same custom resource, as for another target.
  const within = { ...reader, othersProgress: () => true }
  const mayWait = !reader.othersProgress() && judged.some(({ assessment }) => isUndisturbed(assessment))
  const found = [
    podFindings(owner, pods, mayWait ? { ...searched, reader: within } : searched),
    ...judged.map((each) => {
      const isReassessed = mayWait && each.assessment.failure !== undefined
      return findingsOf(isReassessed ? assess(each.object, within) : each, searched, depth)
    }),
  ]
  return {
    problems: found.flatMap(({ problems }) => problems),
    failure: found.find(({ failure }) => failure !== undefined)?.failure,
    requests: found.flatMap(({ requests }) => requests),
    stallHold: found.find(({ stallHold }) => stallHold !== undefined)?.stallHold,
    counters: new Map(found.flatMap(({ counters = [] }) => [...counters])),
  }
}

function isPod(object: KubeObject): object is Pod {
  return object.kind === 'Pod'
}

/** The pods that a custom resource owns without a workload in between. */
function podFindings(owner: KubeObject, pods: readonly Pod[], searched: Search): Findings {
  const { reader } = searched
  const { stallHold, ...state } = examinePods(pods, reader, reader.lostPods(owner.metadata.uid))
  return { ...ofPresentSpec(state, owner, searched), stallHold, requests: [] }
}

/** An owned object that is not ready. */
interface AssessedObject extends AssessedOwned {
  readonly object: KubeObject
  readonly isCustom: boolean
}

/**
 * What the rule of an object finds, and for a custom object what the objects behind it explain: they explain it better than
 * its own status.
 */
function findingsOf(
  { object, isCustom, assessment, requests: needed }: AssessedObject,
  searched: Search,
  depth: number,
): Findings {
  const { problems, failure, stallHold } = assessment
  if (!isCustom) {
    const found = ofPresentSpec({ problems, failure }, object, searched)
    const counters = countersOf(object, assessment)
    return {
      ...found,
      stallHold,
      counters,
      requests: [...needed, ...eventRequests(object, searched)],
    }
  }
  const deeper = search(object, searched, depth - 1)
  const requests = [...appliedRequests(object, searched.behind), ...deeper.requests]
  const found = deeper.problems.length > 0 ? deeper : ofPresentSpec({ problems }, object, searched)
  return { ...deeper, ...found, requests }
}

/** The counts of an owned workload, by names that are unique among them: its progress is that of the custom resource. */
function countersOf(
  { kind, metadata: { uid } }: KubeObject,
  { milestones, counters }: Assessment,
): ReadonlyMap<string, number> {
  const ofMilestones = milestones.flatMap(({ name, count }): [string, number][] =>
    count === undefined ? [] : [[`${kind} ${uid} ${name}`, count.done]],
  )
  return new Map([...ofMilestones, ...(counters ?? [])])
}

/** The watch of the events about an object in another namespace. */
function eventRequests({ metadata: { namespace } }: KubeObject, { custom }: Search): readonly WatchRequest[] {
  const isWatched = namespace === undefined || namespace === custom.metadata.namespace
  return isWatched ? [] : [{ apiVersion: 'v1', kind: 'Event', namespace }]
}

/**
 * Assesses an object that the gate does not gate, by its rule. Its history is unknown, so it counts as unchanged since
 * its creation.
 */
export function assessOwned(object: KubeObject, rule: Rule, reader: Reader): AssessedOwned {
  const since = reader.time(object.metadata.creationTimestamp) ?? reader.startedAt
  const history = observeTarget(undefined, object, since, rule.failures?.(object))
  const requests: WatchRequest[] = []
  const watch: Reader['watch'] = (request, need = 'needed') => {
    if (need === 'needed') requests.push(request)
    return reader.listState(request)
  }
  const assessment = assess(rule, object, { ...reader, history, ...watchingBy(watch, reader) })
  return { assessment, requests }
}

/** An assessment of an object that the gate does not gate. */
export interface AssessedOwned {
  readonly assessment: Assessment
  /** The watches that its rule needs. */
  readonly requests: readonly WatchRequest[]
}

/** The problems of an owned workload. Only problems of the present spec of the custom resource may fail the workload. */
function ofPresentSpec(
  { problems, failure }: Pick<Findings, 'problems' | 'failure'>,
  owner: KubeObject,
  { custom, reader }: Search,
): Pick<Findings, 'problems' | 'failure'> {
  const { namespace } = owner.metadata
  const mayFail = (problem: Problem) => {
    const { name } = problem.subject
    const [pod] = isPodSubject(problem.subject) ? reader.known({ apiVersion: 'v1', kind: 'Pod', namespace, name }) : []
    return traitsOf(problem).yieldsTo !== 'owner' && isOfPresentSpec(pod ?? owner, custom, reader)
  }
  const isElsewhere = owner.metadata.namespace !== custom.metadata.namespace
  const withNamespace = (problem: Problem): Problem => (isElsewhere ? { ...problem, isElsewhere } : problem)
  return {
    problems: problems.map((problem) => withNamespace(mayFail(problem) ? problem : withoutProof(problem))),
    failure: failure && mayFail(failure) ? withNamespace(failure) : undefined,
  }
}
