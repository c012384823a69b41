import type { EndedTimeline } from '../gate/timeline.ts'
import { targetId } from '../plan/target.ts'
import { plain } from './escape.ts'

/** The outputs that follow from the timeline (DESIGN §4); the paths of files are the shell's to add. */
export type OutcomeOutputs = Readonly<
  Record<'outcome' | 'reason' | 'message' | 'failed-resources' | 'duration-seconds' | 'slowest-milestone', string>
>

const messageLimit = 300

/**
 * The outputs of the step. Workflows print them and put them into other commands, so messages are one harmless line.
 */
export function buildOutputs(timeline: EndedTimeline): OutcomeOutputs {
  const { verdict, targets } = timeline
  const notReady = targets
    .filter(({ outcome }) => outcome !== 'ready')
    .map(({ target, outcome, reason, message }) => ({
      target: plain(targetId(target)),
      outcome,
      reason,
      message: plain(message, messageLimit),
    }))
  return {
    outcome: verdict.outcome,
    reason: verdict.reason,
    message: plain(verdict.message),
    'failed-resources': JSON.stringify(notReady),
    'duration-seconds': String((timeline.finishedAt - timeline.startedAt) / 1_000),
    'slowest-milestone': slowestMilestone(timeline),
  }
}

/** `deployment.apps/web ready 29.4s`: the milestone that took longest after the one before it. */
function slowestMilestone({ startedAt, targets }: EndedTimeline): string {
  let slowest = { tookMs: -1, text: '' }
  for (const { target, milestones } of targets) {
    const reached = milestones
      .flatMap(({ name, state, at }) => (state === 'done' && at !== undefined ? [{ name, at }] : []))
      .toSorted((one, other) => one.at - other.at)
    let before = startedAt
    for (const { name, at } of reached) {
      const tookMs = Math.max(0, at - before)
      before = at
      if (tookMs <= slowest.tookMs) continue
      slowest = { tookMs, text: `${plain(targetId(target))} ${plain(name)} ${(tookMs / 1_000).toFixed(1)}s` }
    }
  }
  return slowest.text
}
