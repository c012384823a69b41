import type { Pod } from '../../cluster/objects.ts'
import type { EndedDetail } from '../../reasons/pods.ts'
import { type Problem, problemOf } from '../../reasons/reasons.ts'
import { isSinceStart } from '../proof.ts'
import type { RuleContext } from '../rule-context.ts'
import { type Death, explainDeath } from './kubelet-messages.ts'
import { failedContainer } from './pod-object.ts'

/** How a pod ended; `at` is when. */
interface Loss {
  readonly pod: Pod
  readonly at: number
  readonly container?: string
  readonly isInit?: boolean
  readonly end: Death | { readonly reason: 'evicted' | 'pod-failed'; readonly detail: EndedDetail }
}

/**
 * Slow: pods that ended in failure since the gate began, under a controller that makes others: evicted by their node, refused
 * by the kubelet, ended with their node, or those of a Job whose container has failed. They fail no workload (DESIGN §2),
 * and are reported in the words of the cluster, the most recent one for all that were lost in the same way.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
 */
export function lostPodProblems(lost: readonly Pod[], context: RuleContext): readonly Problem[] {
  const losses = lost
    .map((pod) => describeLoss(pod, context))
    .filter(({ at }) => isSinceStart(at, context))
    .toSorted((a, b) => a.at - b.at)
  const groups = Map.groupBy(losses, ({ end, container = '' }) => `${end.reason} ${container}`)
  return [...groups.values()].flatMap((same) => {
    const [first, last] = [same[0], same.at(-1)]
    if (first === undefined || last === undefined) return []
    return [
      problemOf({
        ...last.end,
        subject: `pod/${last.pod.metadata.name}`,
        container: last.container,
        isInit: last.isInit,
        isReplaced: true,
        count: same.length,
        firstSeenAt: first.at,
        proven: false,
      }),
    ]
  })
}

/** What lies before the gate's start as well, and what is left once the workload is ready: `2 pods failed and are replaced (Evicted)`. */
export function lostPodNotes(all: readonly Pod[]): readonly string[] {
  const lost = all.filter(
    ({ metadata, status }) => status?.phase === 'Failed' && metadata.deletionTimestamp === undefined,
  )
  if (lost.length === 0) return []
  const reasons = [...new Set(lost.flatMap(({ status }) => status?.reason ?? []))]
  const why = reasons.length === 0 ? '' : ` (${reasons.join(', ')})`
  return [`${lost.length === 1 ? '1 pod failed and is' : `${lost.length} pods failed and are`} replaced${why}`]
}

function describeLoss(pod: Pod, context: RuleContext): Loss {
  const { reason = '', message = '' } = pod.status ?? {}
  const at = lostAt(pod, context)
  const dead = failedContainer(pod)
  const death = dead?.status?.state?.terminated
  // The containers of a pod that the kubelet ended were only killed.
  if (reason === '' && dead !== undefined && death !== undefined) {
    const end = explainDeath(dead, death, context.events(pod))
    return { pod, at, container: dead.container.name, isInit: dead.isInit || undefined, end }
  }
  const detail = { statusReason: reason, message: message.trim().replace(/\.$/, '') }
  return { pod, at, end: { reason: reason === 'Evicted' ? 'evicted' : 'pod-failed', detail } }
}

/** When a pod ended: the latest moment in its status; one that the kubelet refused has none but that of its creation. */
function lostAt({ metadata, status }: Pod, context: RuleContext): number {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
  const moments = [
    metadata.creationTimestamp,
    ...(status?.conditions ?? []).map(({ lastTransitionTime }) => lastTransitionTime),
    ...statuses.map(({ state }) => state?.terminated?.finishedAt),
  ]
  return Math.max(0, ...moments.map((moment) => context.time(moment) ?? 0))
}
