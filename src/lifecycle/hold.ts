import type { KubeObject, Pod } from '../cluster/objects.ts'
import { messageOf, type Problem, problemSentence, traitsOf } from '../reasons/reasons.ts'
import type { Assessment, HeldPods } from './assessment.ts'
import { trueCondition } from './conditions.ts'
import type { Reader } from './reader.ts'
import type { Serving } from './rule.ts'
import { objectProblemFields } from './status-problems.ts'
import { lastDeathProblem } from './workloads/container-problems.ts'
import { containersOf, findCondition, isReadyByCondition, isReplaced } from './workloads/pod-fields.ts'
import { problemsOfPod } from './workloads/pod-state.ts'

/**
 * Applies the rules of the hold to an assessment. The target fails as `not-held` if it has a failure, or if a pod that
 * was ready loses readiness or a container of the pod dies. Other pods may become ready until the end of the hold.
 * @param revisionPods the pods of the gated revision
 */
export function applyHold(
  assessment: Assessment,
  object: KubeObject,
  revisionPods: readonly Pod[],
  serving: Serving | undefined,
  reader: Reader,
): Assessment {
  const { holding, lastAssessment: before, now } = reader
  if (holding === undefined) return assessment
  // If a Service selects the pod of a gated workload, the hold of the workload decides about the pod.
  const pods = revisionPods.filter((pod) => serving?.selects === undefined || reader.revisionOf(pod) === undefined)
  const heldPods = addReadyPods(before?.heldPods ?? new Map(), pods, reader)
  const held = {
    ...assessment,
    heldPods,
    ...(!assessment.ready && { overdue: unreadyProblem(object, assessment, now) }),
  }
  const { failure } = assessment
  if (failure !== undefined && traitsOf(failure).isAnswer) return held
  const cause = failure ?? findHoldProblem(pods, heldPods, reader)
  if (cause === undefined) return held
  const { since, until } = holding
  const detail = { holdMs: until - since, afterMs: now - since, cause: problemSentence(cause) }
  const broken: Problem = { ...objectProblemFields(object, now), reason: 'not-held', detail }
  return {
    ...held,
    ready: false,
    failure: broken,
    problems: [cause],
    message: messageOf(broken),
    // Before the failure, all milestones but `held` were reached.
    milestones: before?.milestones ?? assessment.milestones,
  }
}

/** The problem to report if the target is not ready at the end of the hold. */
function unreadyProblem(object: KubeObject, { message }: Pick<Assessment, 'message'>, now: number): Problem {
  return { ...objectProblemFields(object, now), reason: 'condition-false', detail: { signals: [], cause: message } }
}

function readySinceOf(pod: Pod): string | null | undefined {
  return trueCondition(pod, 'Ready')?.lastTransitionTime
}

/** Adds the pods that have become ready to the held pods. */
function addReadyPods(before: HeldPods, pods: readonly Pod[], reader: Reader): HeldPods {
  const added = pods.filter((pod) => isReadyByCondition(pod) && !before.has(pod.metadata.uid))
  if (added.length === 0) return before
  const deathsByPod = added.map((pod) => {
    const { containers } = reader.podView(pod)
    const deaths = new Map(containers.map(({ container, deaths }) => [container.name, deaths.total] as const))
    return [pod.metadata.uid, { deaths, readySince: readySinceOf(pod) }] as const
  })
  return new Map([...before, ...deathsByPod])
}

/**
 * The problem that ends the hold: a container of a held pod died, or a held pod is no longer ready. Completed pods do
 * not count. Deleted, evicted, drained or preempted pods do not count either, because their controller replaces them.
 */
function findHoldProblem(pods: readonly Pod[], held: HeldPods, reader: Reader): Problem | undefined {
  for (const pod of pods) {
    const before = held.get(pod.metadata.uid)
    const isLeaving = isReplaced(pod) || trueCondition(pod, 'DisruptionTarget') !== undefined
    if (before === undefined || isLeaving || pod.status?.phase === 'Succeeded') continue
    const view = reader.podView(pod)
    const dead = view.containers.find(
      ({ container, deaths }) => deaths.total > (before.deaths.get(container.name) ?? 0),
    )
    // If the watch was interrupted, only the time of the condition shows that the pod was not ready meanwhile.
    if (dead === undefined && isReadyByCondition(pod) && readySinceOf(pod) === before.readySince) continue
    const [cause] = dead ? [lastDeathProblem(dead, dead.endedAt ?? reader.now)] : problemsOfPod(view, reader)
    return cause ?? lostReadinessProblem(pod, reader)
  }
  return undefined
}

function lostReadinessProblem(pod: Pod, reader: Reader): Problem {
  const { message } = findCondition(pod, 'Ready') ?? {}
  const since = reader.time(findCondition(pod, 'Ready')?.lastTransitionTime) ?? reader.now
  const unready = containersOf(pod).find(({ isInit, status }) => !isInit && status?.ready === false)
  const detail = { isRunning: true, wasReady: true, ...(message && { failure: message }) }
  return { ...objectProblemFields(pod, since), reason: 'readiness-failing', detail, container: unready?.container.name }
}
