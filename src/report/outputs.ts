import type { EndedTimeline } from '../gate/timeline.ts'
import { targetId } from '../plan/target.ts'
import { plain } from './escape.ts'
import { decidingTarget } from './headline.ts'
import { slowestStep } from './milestone-steps.ts'

/** The outputs that follow from the timeline (DESIGN §4); the paths of files are the shell's to add. */
export type OutcomeOutputs = Readonly<
  Record<'outcome' | 'reason' | 'message' | 'failed-resources' | 'duration-seconds' | 'slowest-milestone', string>
>

const messageLimit = 300
/** Outputs become environment variables and arguments of later steps, which the operating system limits. */
const mostBytes = 64 * 1024
const longestRest = '{"more":1000000}'.length

/**
 * The outputs of the step. Workflows print them and put them into other commands, so messages are one harmless line.
 */
export function buildOutputs(timeline: EndedTimeline): OutcomeOutputs {
  const { verdict } = timeline
  return {
    outcome: verdict.outcome,
    reason: verdict.reason,
    message: plain(verdict.message),
    'failed-resources': failedResources(timeline),
    'duration-seconds': String((timeline.finishedAt - timeline.startedAt) / 1_000),
    'slowest-milestone': slowestMilestone(timeline),
  }
}

/**
 * Every target that is not ready, as a JSON array: the one that decided the outcome first, then in input order. What would
 * make it longer than 64 KiB is counted by a last entry `{"more": N}`.
 */
function failedResources(timeline: EndedTimeline): string {
  const deciding = decidingTarget(timeline)
  const entries = timeline.targets
    .filter(({ outcome }) => outcome !== 'ready')
    .toSorted((one, other) => Number(other === deciding) - Number(one === deciding))
    .map(({ target, outcome, reason, message }) =>
      JSON.stringify({
        target: plain(targetId(target)),
        ...(target.namespace === undefined ? {} : { namespace: plain(target.namespace) }),
        outcome,
        reason,
        message: plain(message, messageLimit),
      }),
    )
  const shown: string[] = []
  let bytes = '[]'.length + longestRest
  for (const entry of entries) {
    bytes += Buffer.byteLength(entry) + ','.length
    if (bytes > mostBytes) break
    shown.push(entry)
  }
  const rest = entries.length - shown.length
  return `[${[...shown, ...(rest > 0 ? [JSON.stringify({ more: rest })] : [])].join(',')}]`
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
