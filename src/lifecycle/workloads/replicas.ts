import type { Pod } from '../../cluster/objects.ts'
import type { Milestone } from '../assessment.ts'
import type { RuleContext } from '../rule-context.ts'
import { condition, earliest } from './pod-state.ts'
import type { PodsState } from './pods.ts'

/** `1 pod`, `3 pods`. */
export function pods(count: number): string {
  return `${count} ${count === 1 ? 'pod' : 'pods'}`
}

/** A milestone that is done when enough pods passed it. */
export function countMilestone(name: string, done: number, total: number, doing: string): Milestone {
  const reached = done >= total
  return {
    name,
    state: reached ? 'done' : 'open',
    count: { done: Math.min(done, total), total },
    message: reached ? `${pods(total)} ${doing}` : `${done} of ${pods(total)} ${doing}`,
  }
}

/** The milestone `ready` of a workload, whose message differs while all its pods are ready and only settle. */
export function settlingMilestone(milestone: Milestone, state: PodsState | undefined, replicas: number): Milestone {
  const ready = state?.pods.filter((pod) => pod.ready) ?? []
  const moments = ready.flatMap(({ settlesAt }) => settlesAt ?? [])
  if (milestone.state === 'done' || ready.length < replicas || moments.length === 0) return milestone
  return { ...milestone, message: `${pods(replicas)} ready, settling`, settlesAt: Math.max(...moments) }
}

/** The milestones that pods pass on their way to be ready; skipped when pods cannot be seen. */
export function podMilestones(state: PodsState | undefined, replicas: number): readonly Milestone[] {
  if (state === undefined) {
    return ['scheduled', 'pulled', 'started'].map((name) => ({
      name,
      state: 'skipped',
      message: 'pods cannot be seen',
    }))
  }
  const count = (has: (pod: PodsState['pods'][number]) => boolean) => state.pods.filter(has).length
  const pulls = state.pods.flatMap(({ pullMs }) => pullMs ?? [])
  const slowest = pulls.length === 0 ? '' : ` (slowest pull ${(Math.max(...pulls) / 1000).toFixed(1)} s)`
  return [
    countMilestone(
      'scheduled',
      count((pod) => pod.scheduled),
      replicas,
      'scheduled',
    ),
    countMilestone(
      'pulled',
      count((pod) => pod.pulled),
      replicas,
      replicas === 1 ? 'has pulled its image' : 'have pulled their images',
    ),
    countMilestone(
      'started',
      count((pod) => pod.started),
      replicas,
      `started${slowest}`,
    ),
  ]
}

/** Why the stall clock of a workload stands still, and when that changes by time alone. */
export interface StallHold {
  readonly stallHold?: string
  readonly recheckAt?: number
}

/**
 * Holds the stall clock while the pods of a workload state how long they may take: their images and probes, minReadySeconds,
 * and the grace periods of those that terminate (DESIGN §2, Clocks).
 * @param state the pods of the gated revision; undefined where they may not be read
 * @param owned all pods of the workload
 */
export function stallHold(
  state: PodsState | undefined,
  owned: readonly Pod[],
  minReadySeconds: number | undefined,
  context: RuleContext,
): StallHold {
  const minReady = minReadyUntil(minReadySeconds, state, context)
  const terminating = terminatingUntil(owned, context.time, context.now)
  const stallHold =
    state?.stallHold ??
    (minReady === undefined ? undefined : 'pods are ready and wait out minReadySeconds') ??
    (terminating === undefined ? undefined : 'a pod is within its grace period')
  return { ...(stallHold === undefined ? {} : { stallHold }), ...earliest([minReady, terminating]) }
}

/**
 * When the next of these pods is available, on the runner's clock: each has to stay ready for minReadySeconds. The counts of
 * a controller do not show it, since they contain the available pods of older revisions.
 */
export function minReadyUntil(
  minReadySeconds = 0,
  state: PodsState | undefined,
  context: Pick<RuleContext, 'now' | 'time'>,
): number | undefined {
  if (minReadySeconds === 0) return undefined
  const moments = (state?.pods ?? [])
    .filter(({ ready }) => ready)
    .map(({ pod }) => (context.time(condition(pod, 'Ready')?.lastTransitionTime) ?? 0) + minReadySeconds * 1_000)
    .filter((moment) => moment > context.now)
  return moments.length === 0 ? undefined : Math.min(...moments)
}

/** Why a terminating pod may hold things up, until its own deadline: `deletionTimestamp` is when its grace ends. */
function terminatingUntil(
  all: readonly Pod[],
  time: (timestamp: string | undefined) => number | undefined,
  now: number,
): number | undefined {
  const deadlines = all
    .map((pod) => time(pod.metadata.deletionTimestamp))
    .filter((moment) => moment !== undefined && moment > now)
  return deadlines.length === 0 ? undefined : Math.min(...(deadlines as number[]))
}
