import { isSameSubject, type KubeObject, type Pod, subjectOf } from '../cluster/objects.ts'
import type { Problem } from '../reasons/reasons.ts'
import type { Assessment } from './assessment.ts'
import type { RuleContext } from './rule-context.ts'
import { ownProblem } from './status-problems.ts'
import { explainDeath } from './workloads/kubelet-messages.ts'
import { condition, containersOf, isReady, isReplaced, type PodContainer } from './workloads/pod-fields.ts'
import { examinePod } from './workloads/pod-state.ts'

/**
 * The pods that have been ready during the hold (`hold`, the time for which a ready target has to stay ready), by uid, with
 * the deaths of each container when the pod was first seen ready.
 */
export type HeldPods = ReadonlyMap<string | undefined, ReadonlyMap<string, number>>

/** The held pods together with those that have become ready since. */
export function withReadyPods(before: HeldPods, pods: readonly Pod[]): HeldPods {
  const added = pods.filter((pod) => isReady(pod) && !before.has(pod.metadata.uid))
  return added.length === 0
    ? before
    : new Map([...before, ...added.map((pod) => [pod.metadata.uid, deathsOf(pod)] as const)])
}

function deathsOf(pod: Pod): ReadonlyMap<string, number> {
  return new Map(containersOf(pod).map((each) => [each.container.name, deathCount(each)]))
}

/** Until its restart, a container that died is not counted in `restartCount`. */
function deathCount({ status, runsOnce, isDoneSidecar }: PodContainer): number {
  const { state, lastState, restartCount = 0 } = status ?? {}
  const ended = state?.terminated ?? (state?.running === undefined ? lastState?.terminated : undefined)
  const isDeath = ended !== undefined && !isDoneSidecar && !(runsOnce && ended.exitCode === 0)
  return restartCount + Number(isDeath)
}

/**
 * What breaks the hold of a target: a container of a pod that was ready died, or such a pod is no longer ready. A pod that is
 * deleted, evicted, drained or preempted breaks nothing, because its controller replaces it, and neither does one that completed.
 */
export function findBreak(
  pods: readonly Pod[],
  held: HeldPods,
  assessment: Pick<Assessment, 'problems'>,
  context: RuleContext,
): Problem | undefined {
  for (const pod of pods) {
    const deaths = held.get(pod.metadata.uid)
    const isLeaving = isReplaced(pod) || condition(pod, 'DisruptionTarget')?.status === 'True'
    if (deaths === undefined || isLeaving || pod.status?.phase === 'Succeeded') continue
    const dead = containersOf(pod).find((each) => deathCount(each) > (deaths.get(each.container.name) ?? 0))
    if (dead === undefined && isReady(pod)) continue
    const known = [...assessment.problems, ...examinePod(pod, context).problems].filter(
      ({ subject, container }) =>
        isSameSubject(subject, subjectOf(pod)) && (dead === undefined || container === dead.container.name),
    )
    return known[0] ?? (dead === undefined ? unreadyProblem(pod, context) : deathProblem(pod, dead, context))
  }
  return undefined
}

function deathProblem(pod: Pod, dead: PodContainer, context: RuleContext): Problem | undefined {
  const { state, lastState } = dead.status ?? {}
  const death = state?.terminated ?? lastState?.terminated
  if (death === undefined) return unreadyProblem(pod, context)
  const own = ownProblem(pod, context.time(death.finishedAt) ?? context.now)
  return {
    ...own,
    ...explainDeath(dead, death, pod, context.events(pod)),
    container: dead.container.name,
    isInit: dead.isInit,
  }
}

function unreadyProblem(pod: Pod, context: RuleContext): Problem {
  const { message } = condition(pod, 'Ready') ?? {}
  const since = context.time(condition(pod, 'Ready')?.lastTransitionTime) ?? context.now
  const unready = containersOf(pod).find(({ isInit, status }) => !isInit && status?.ready === false)
  const detail = { isRunning: true, wasReady: true, ...(message && { failure: message }) }
  return { ...ownProblem(pod, since), reason: 'readiness-failing', detail, container: unready?.container.name }
}

/** What breaks the hold of a target without pods: it is no longer ready. */
export function fallenProblem(
  object: KubeObject,
  { problems, message }: Pick<Assessment, 'problems' | 'message'>,
  now: number,
): Problem {
  const own: Problem = {
    ...ownProblem(object, now),
    reason: 'condition-false',
    detail: { signals: [], cause: message },
  }
  return problems[0] ?? own
}
