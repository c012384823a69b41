import type { EndedTimeline } from '../gate/timeline.ts'
import { targetId } from '../plan/target.ts'
import { plain } from './escape.ts'
import { slowestStep } from './slowest.ts'

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
  const [slowest] = targets
    .flatMap((record) => {
      const step = slowestStep(record, startedAt)
      return step === undefined ? [] : [{ target: record.target, step }]
    })
    .toSorted((one, other) => other.step.tookMs - one.step.tookMs)
  if (slowest === undefined) return ''
  const { target, step } = slowest
  return `${plain(targetId(target))} ${plain(step.name)} ${(step.tookMs / 1_000).toFixed(1)}s`
}
