import type { Pod } from '../../cluster/objects.ts'
import { type Problem, problemOf, type ReasonCode } from '../../reasons/reasons.ts'
import { isSinceStart } from '../proof.ts'
import type { RuleContext } from '../rule-context.ts'
import { explainDeath } from './death.ts'
import { containersOf } from './history.ts'

/** The most recent of the pods that were lost in the same way, and how many there are. */
interface Loss {
  readonly pod: Pod
  readonly at: number
  readonly problem: {
    readonly reason: ReasonCode
    readonly container?: string
    readonly isInit?: boolean
    readonly exitCode?: number
  }
  /** What happened to the pod, without and with a number: the cluster's own words are its end. */
  readonly message: (count: number) => string
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
  const groups = Map.groupBy(losses, ({ problem: { reason, container = '' } }) => `${reason} ${container}`)
  return [...groups.values()].flatMap((same) => {
    const [first, last] = [same[0], same.at(-1)]
    if (first === undefined || last === undefined) return []
    const { exitCode, ...own } = last.problem
    return [
      problemOf({
        ...own,
        isReplaced: true,
        subject: `pod/${last.pod.metadata.name}`,
        detail: { text: last.message(same.length), exitCode },
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
  const { reason, message = '' } = pod.status ?? {}
  const words = message.trim().replace(/\.$/, '')
  const dead = containersOf(pod).find(
    ({ status, isDismissed }) => !isDismissed && (status?.state?.terminated?.exitCode ?? 0) !== 0,
  )
  const death = dead?.status?.state?.terminated
  const found = { pod, at: lostAt(pod, context) }
  // Of a pod that the kubelet ended, the containers say only that they were killed.
  if ((reason === undefined || reason === '') && dead !== undefined && death !== undefined) {
    const { reason: code, message: how } = explainDeath(dead, death, context.events(pod))
    const { exitCode } = death
    return {
      ...found,
      problem: {
        reason: code,
        container: dead.container.name,
        exitCode,
        ...(dead.isInit ? { isInit: true } : {}),
      },
      message: (count) => `${how}${count > 1 ? `, ${count} times now` : ''}`,
    }
  }
  const isEvicted = reason === 'Evicted'
  const why = [isEvicted ? '' : reason, words].filter((each) => each !== undefined && each !== '').join(': ')
  return {
    ...found,
    problem: { reason: isEvicted ? 'evicted' : 'pod-failed' },
    message: (count) => {
      const many = count > 1 ? ` (${count} pods now)` : ''
      return `${isEvicted ? 'was evicted' : 'failed'} and is replaced${many}${why === '' ? '' : `: ${why}`}`
    },
  }
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
