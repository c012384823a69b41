import { isPodSubject, type Pod } from '../../cluster/objects.ts'
import { buildProblem, classOf, nodeOfProblem, type Problem } from '../../reasons/reasons.ts'
import type { ProblemClass } from '../../reasons/spec.ts'
import { counted } from '../../reasons/wording.ts'
import { maxQuietNodes, overdueDeletionMs } from '../../thresholds.ts'
import type { Milestone } from '../assessment.ts'
import type { PodView } from '../pod-view.ts'
import type { Pods } from '../pods.ts'
import { latestIfAllKnown, latestMoment, mayBeSinceStart } from '../proof.ts'
import type { Reader } from '../reader.ts'
import { nodeRequest } from '../selector.ts'
import { objectProblemFields } from '../status-problems.ts'
import { lastDeathProblem } from './container-problems.ts'
import { findCondition, hasContainerFailed, isReplaced } from './pod-fields.ts'
import { isSettled, isWorkingPod, problemsOfPod, pulledAt, waitOfPod } from './pod-state.ts'

/* The pods of a workload by revision: their state, their problems, and the milestones that count them. */

/**
 * Divides the pods of a workload by their revision, and by whether they have ended or are being deleted.
 * @param revisionOf the revision of a pod; undefined if the target does not wait for the pod
 * @param awaitsKept see `Pods`
 */
export function classifyPods(
  owned: Iterable<Pod>,
  revisionOf: (pod: Pod) => 'new' | 'old' | 'kept' | undefined,
  awaitsKept = false,
): Pods {
  const lists = Map.groupBy(owned, (pod) => {
    const revision = revisionOf(pod)
    const isGated = revision === 'new' || (revision === 'kept' && awaitsKept)
    if (pod.metadata.deletionTimestamp !== undefined) return isGated ? 'leaving' : 'draining'
    if (isReplaced(pod)) return isGated ? 'ended' : undefined
    return revision
  })
  return {
    new: lists.get('new') ?? [],
    old: lists.get('old') ?? [],
    kept: lists.get('kept') ?? [],
    ended: lists.get('ended') ?? [],
    leaving: lists.get('leaving') ?? [],
    draining: lists.get('draining') ?? [],
    awaitsKept,
  }
}

/** The state of the pods of one revision, and their problems. */
export interface PodsState {
  /** The pods that are not being replaced. */
  readonly pods: readonly PodView[]
  /** The `pods` that are ready and settled. */
  readonly settled: readonly PodView[]
  /** Each kind of problem once, with the number of affected pods; the most important first. */
  readonly problems: readonly Problem[]
  /** The problem that fails the workload: it is proven, and no pod works (`isWorkingPod`). */
  readonly failure?: Problem
  readonly stallHold?: string
  readonly counters: ReadonlyMap<string, number>
}

/**
 * Examines the pods of one revision. A proven problem fails the workload only if no pod works (`isWorkingPod`).
 * @param failedPods the failed pods of that revision, deleted or not
 * @param failedSince pods that failed before this moment are no problem; by default, the gate's start
 */
export function examinePods(
  all: readonly Pod[],
  reader: Reader,
  failedPods: readonly Pod[] = [],
  failedSince = reader.startedAt,
): PodsState {
  const pods = all.filter((pod) => !isReplaced(pod)).map((pod) => reader.podView(pod))
  const podProblems = combineSameProblems(pods.flatMap((pod) => problemsOfPod(pod, reader)))
  const problems = [...podProblems, ...failedPodProblems(failedPods, reader, failedSince)].toSorted(compareByImportance)
  const isAnyWorking = pods.some((pod) => isWorkingPod(pod, reader))
  const waits = pods.map((pod) => waitOfPod(pod, reader))
  const quietNodes = new Set(waits.flatMap(({ possiblyLostNode }) => possiblyLostNode ?? []))
  for (const node of [...quietNodes].slice(0, maxQuietNodes)) reader.watch(nodeRequest(node), 'explaining')
  return {
    pods,
    settled: pods.filter((pod) => isSettled(pod, reader)),
    problems,
    failure: isAnyWorking ? undefined : problems.find(({ proven }) => proven),
    stallHold: waits.find(({ stallHold }) => stallHold !== undefined)?.stallHold,
    counters: new Map(pods.flatMap((pod) => pod.counters)),
  }
}

/** Combines the same problem of several pods into one: a proven problem, otherwise the one with the highest count. */
function combineSameProblems(all: readonly Problem[]): readonly Problem[] {
  return groupSameProblems(all).flatMap((same) => {
    const [worst] = same.toSorted((a, b) => Number(b.proven) - Number(a.proven) || b.count - a.count)
    const firstSeenAt = Math.min(...same.map((each) => each.firstSeenAt))
    return worst === undefined ? [] : [{ ...worst, pods: same.length, firstSeenAt }]
  })
}

/** Groups the problems of pods by their reason and the name of their container. */
function groupSameProblems(problems: readonly Problem[]): readonly (readonly Problem[])[] {
  return [...Map.groupBy(problems, ({ reason, container = '' }) => `${reason} ${container}`).values()]
}

const classes: readonly ProblemClass[] = ['terminal', 'strike', 'slow']

/**
 * Compares two problems for sorting, the most important first. The order is: class (terminal, strike, slow), proof,
 * certainty of the evidence, depth (container, pod, workload), number of pods, age.
 */
export function compareByImportance(a: Problem, b: Problem): number {
  return (
    classes.indexOf(classOf(a)) - classes.indexOf(classOf(b)) ||
    Number(b.proven) - Number(a.proven) ||
    evidenceRank(a) - evidenceRank(b) ||
    problemDepth(b) - problemDepth(a) ||
    (b.pods ?? 1) - (a.pods ?? 1) ||
    a.firstSeenAt - b.firstSeenAt
  )
}

/**
 * Ranks the evidence of a problem by certainty. 0: an existing pod. 1: a replaced pod. 2: a pod of a node that has
 * stopped reporting, because its last report may be old.
 */
function evidenceRank(problem: Problem): number {
  if (nodeOfProblem(problem)?.isLost === false) return 2
  return problem.isReplaced ? 1 : 0
}

/** The depth of a problem. 2: a container. 1: a pod. 0: a workload. */
function problemDepth(problem: Problem): number {
  if (problem.container !== undefined) return 2
  return isPodSubject(problem.subject) ? 1 : 0
}

/**
 * The problems of pods that failed since a moment and that their controller replaces. Causes: the node evicted the pod,
 * the kubelet refused the pod, the node was lost, or a Job retries. Contains the latest problem of each kind.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
 */
function failedPodProblems(failedPods: readonly Pod[], reader: Reader, since: number): readonly Problem[] {
  const found = failedPods
    .map((pod) => failedPodProblem(pod, reader))
    .filter(({ firstSeenAt }) => mayBeSinceStart(firstSeenAt, { startedAt: since }))
    .toSorted((a, b) => a.firstSeenAt - b.firstSeenAt)
  return groupSameProblems(found).flatMap((same) => {
    const [first, last] = [same[0], same.at(-1)]
    if (first === undefined || last === undefined) return []
    return [{ ...last, isReplaced: true, count: same.length, firstSeenAt: first.firstSeenAt }]
  })
}

/** The problem of a failed pod, which begins when the pod ended. */
function failedPodProblem(pod: Pod, reader: Reader): Problem {
  const dead = reader.podView(pod).containers.find(hasContainerFailed)
  // If the status has a reason, the kubelet killed the containers when it ended the pod.
  const death = pod.status?.reason || dead === undefined ? undefined : lastDeathProblem(dead, podEndedAt(pod, reader))
  return death ?? endedPodProblem(pod, reader)
}

/** The problem of a pod that its node or a controller has ended. */
export function endedPodProblem(pod: Pod, reader: Reader): Problem {
  // The pod garbage collector writes no message in the status, only in the condition.
  const { reason = '', message = findCondition(pod, 'DisruptionTarget')?.message ?? '' } = pod.status ?? {}
  const detail = { statusReason: reason, message: message.trim().replace(/\.$/, '') }
  const own = objectProblemFields(pod, podEndedAt(pod, reader))
  return buildProblem({ ...own, reason: reason === 'Evicted' ? 'evicted' : 'pod-failed', detail })
}

/** When a pod ended: the latest moment in its status or, if the kubelet refused the pod, its creation. */
export function podEndedAt({ metadata, status }: Pod, reader: Reader): number {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
  const moments = [
    metadata.creationTimestamp,
    ...(status?.conditions ?? []).map(({ lastTransitionTime }) => lastTransitionTime),
    ...statuses.map(({ state }) => state?.terminated?.finishedAt),
  ]
  return Math.max(0, ...moments.map((moment) => reader.time(moment) ?? 0))
}

/**
 * The note about failed pods that their controller replaces, also before the gate's start: `2 pods failed and are
 * replaced (Evicted)`. There is no note if a problem of the unready workload reports such pods.
 */
export function failedPodNotes({ ended }: Pods, { problems }: PodsState, isReady: boolean): readonly string[] {
  const failed = ended.filter(({ status }) => status?.phase === 'Failed')
  if (failed.length === 0 || (!isReady && problems.some(({ isReplaced }) => isReplaced))) return []
  const reasons = [...new Set(failed.flatMap(({ status }) => status?.reason ?? []))]
  const why = reasons.length === 0 ? '' : ` (${reasons.join(', ')})`
  return [`${failed.length === 1 ? '1 pod failed and is' : `${failed.length} pods failed and are`} replaced${why}`]
}

/**
 * The problem of pods that still exist after their grace period (`deletionTimestamp`), while the controller waits for
 * their end. The kubelet deletes an ended pod
 * (https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination), so its node does not answer, or
 * finalizers hold the pod.
 */
export function stuckPodProblems(owned: readonly Pod[], reader: Reader): readonly Problem[] {
  const stuck = owned
    .flatMap((pod) => {
      const at = reader.time(pod.metadata.deletionTimestamp)
      return at !== undefined && reader.passed(at + overdueDeletionMs) ? [{ pod, at }] : []
    })
    .toSorted((a, b) => a.at - b.at)
  const [first] = stuck
  if (first === undefined) return []
  const { metadata, spec } = first.pod
  return [
    {
      ...objectProblemFields(first.pod, first.at),
      reason: 'pod-stuck',
      detail: { finalizers: metadata.finalizers ?? [], node: spec?.nodeName || undefined },
      pods: stuck.length,
    },
  ]
}

/*
 * The milestones of workloads that count pods.
 */

/** The message about ready or available pods: `3 of 3 pods ready`. */
export function readyText(done: number, replicas: number, verb: string): string {
  return replicas === 0 ? 'scaled to zero: no pod runs this version' : `${done} of ${podCountText(replicas)} ${verb}`
}

/** `1 pod`, `3 pods`. */
export function podCountText(count: number): string {
  return counted(count, 'pod')
}

/** A milestone that counts pods. By default, the milestone is done when enough pods have reached it. */
export function countMilestone(
  name: string,
  done: number,
  total: number,
  verb: string,
  isDone = done >= total,
): Milestone {
  return {
    name,
    state: isDone ? 'done' : 'open',
    count: { done: Math.min(done, total), total },
    message: done >= total ? `${podCountText(total)} ${verb}` : `${done} of ${podCountText(total)} ${verb}`,
  }
}

/** The milestones of pods before `ready`; skipped if pods cannot be read. */
export function podMilestones(state: PodsState | undefined, replicas: number, reader: Reader): readonly Milestone[] {
  if (state === undefined)
    return ['scheduled', 'pulled', 'started'].map((name) => ({
      name,
      state: 'skipped',
      message: 'pods cannot be read',
    }))
  const pullMs = latestMoment(state.pods.map((pod) => pod.pullMs))
  const slowest = pullMs === undefined ? '' : ` (slowest pull ${(pullMs / 1000).toFixed(1)} s)`
  const step = state.pods.find(({ runningStep }) => runningStep !== undefined)?.runningStep
  const running = step === undefined ? '' : `, ${step}`
  const milestone = (name: 'scheduled' | 'pulled' | 'started', verb: string) => {
    const reached = state.pods.filter((pod) => pod[name])
    return withMomentReached(reached, name, countMilestone(name, reached.length, replicas, verb))
  }
  const pulled = milestone('pulled', replicas === 1 ? 'has pulled its image' : 'have pulled their images')
  return [
    milestone('scheduled', 'scheduled'),
    withRunningStep({ ...pulled, at: pulledAt(pulled.at, reader) }, running),
    withRunningStep(milestone('started', `started${slowest}`), running),
  ]
}

/** Adds to a done milestone the time when the last of these pods reached it. */
export function withMomentReached(
  reached: readonly PodView[],
  name: keyof PodView['moments'],
  milestone: Milestone,
): Milestone {
  return milestone.state === 'done' ? { ...milestone, at: allReachedAt(reached, name) } : milestone
}

/** When the last of these pods reached a milestone, on the runner's clock; undefined if one pod does not show it. */
export function allReachedAt(pods: readonly PodView[], name: keyof PodView['moments']): number | undefined {
  return latestIfAllKnown(pods.map(({ moments }) => moments[name]))
}

/** Adds to an open milestone the running init container or postStart hook that delays it. */
function withRunningStep(milestone: Milestone, text: string): Milestone {
  return milestone.state === 'open' ? { ...milestone, message: `${milestone.message}${text}` } : milestone
}
