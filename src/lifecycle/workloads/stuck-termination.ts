import type { Pod } from '../../cluster/objects.ts'
import type { Problem } from '../../reasons/reasons.ts'
import type { RuleContext } from '../rule-context.ts'

/** A kubelet ends a container when its grace period is over, and deletes the pod a moment later. */
const overdueMs = 10_000

/** Pods that hold up what comes after them, and when that has to be looked at again by time alone. */
export interface StuckPods {
  readonly problems: readonly Problem[]
  readonly recheckAt?: number
}

/**
 * Slow: pods that are still there although their grace period is over, under a controller that waits for them: one that
 * makes a pod of the same name, may miss no further one, or recreates. The kubelet deletes a pod that it has ended
 * (https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination), so either its node does not answer, or
 * finalizers hold it. `deletionTimestamp` is when the grace period ends.
 */
export function stuckPods(owned: readonly Pod[], context: RuleContext): StuckPods {
  const leaving = owned.flatMap((pod) => {
    const at = context.time(pod.metadata.deletionTimestamp)
    return at === undefined ? [] : [{ pod, at, dueAt: at + overdueMs }]
  })
  const stuck = leaving.filter(({ dueAt }) => dueAt <= context.now).toSorted((a, b) => a.at - b.at)
  const next = Math.min(...leaving.map(({ dueAt }) => dueAt).filter((dueAt) => dueAt > context.now))
  const [first] = stuck
  return {
    problems: first === undefined ? [] : [problemOf(first.pod, first.at, stuck.length)],
    ...(Number.isFinite(next) ? { recheckAt: next } : {}),
  }
}

function problemOf({ metadata, spec }: Pod, firstSeenAt: number, pods: number): Problem {
  return {
    reason: 'pod-stuck',
    subject: `pod/${metadata.name}`,
    detail: { finalizers: metadata.finalizers ?? [], node: spec?.nodeName || undefined },
    count: 1,
    pods,
    firstSeenAt,
    proven: false,
  }
}
