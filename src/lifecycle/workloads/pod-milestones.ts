import { counted } from '../../reasons/wording.ts'
import type { Milestone } from '../assessment.ts'
import { latest, latestOfAll } from '../proof.ts'
import type { Reader } from '../reader.ts'
import { type PodState, pulledAt } from './pod-state.ts'
import type { PodsState } from './revision-pods.ts'

/*
 * The milestones of workloads that count pods.
 */

/** `3 of 3 pods ready`. */
export function readyText(done: number, replicas: number, word: string): string {
  return replicas === 0 ? 'scaled to zero: no pod runs this version' : `${done} of ${podCount(replicas)} ${word}`
}

/** `1 pod`, `3 pods`. */
export function podCount(count: number): string {
  return counted(count, 'pod')
}

/**
 * A milestone that counts pods.
 * @param isDone if the count alone does not decide
 */
export function countMilestone(
  name: string,
  done: number,
  total: number,
  doing: string,
  isDone = done >= total,
): Milestone {
  return {
    name,
    state: isDone ? 'done' : 'open',
    count: { done: Math.min(done, total), total },
    message: done >= total ? `${podCount(total)} ${doing}` : `${done} of ${podCount(total)} ${doing}`,
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
  const pullMs = latest(state.pods.map((pod) => pod.pullMs))
  const slowest = pullMs === undefined ? '' : ` (slowest pull ${(pullMs / 1000).toFixed(1)} s)`
  const step = state.pods.find(({ runningStep }) => runningStep !== undefined)?.runningStep
  const running = step === undefined ? '' : `, ${step}`
  const milestone = (name: 'scheduled' | 'pulled' | 'started', doing: string) => {
    let passed = 0
    for (const pod of state.pods) if (pod[name]) passed += 1
    return withMomentOf(state.pods, name, countMilestone(name, passed, replicas, doing))
  }
  const pulled = milestone('pulled', replicas === 1 ? 'has pulled its image' : 'have pulled their images')
  return [
    milestone('scheduled', 'scheduled'),
    withText({ ...pulled, at: pulledAt(pulled.at, reader) }, running),
    withText(milestone('started', `started${slowest}`), running),
  ]
}

/** Adds its time to a milestone that is done: when the last of its pods reached it. */
export function withMomentOf(
  pods: readonly PodState[],
  name: 'scheduled' | 'pulled' | 'started' | 'settled',
  milestone: Milestone,
): Milestone {
  return milestone.state === 'done'
    ? {
        ...milestone,
        at: momentOf(
          pods.filter((pod) => pod[name]),
          name,
        ),
      }
    : milestone
}

/** When the last of these pods reached a milestone, on the runner's clock; undefined if one of them does not show it. */
export function momentOf(pods: readonly PodState[], name: keyof PodState['moments']): number | undefined {
  return latestOfAll(pods.map(({ moments }) => moments[name]))
}

/** The images of the next containers are pulled when an init container or a postStart hook has ended. */
function withText(milestone: Milestone, text: string): Milestone {
  return milestone.state === 'open' ? { ...milestone, message: `${milestone.message}${text}` } : milestone
}
