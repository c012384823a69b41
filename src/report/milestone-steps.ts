import type { MilestoneRecord, TargetRecord, Timeline } from '../gate/timeline.ts'
import { traitsOf } from '../reasons/reasons.ts'

/** A reached milestone, and the milliseconds from the previous one. */
export interface Step {
  readonly name: string
  readonly at: number
  readonly tookMs: number
}

type GateTimes = Pick<Timeline, 'startedAt' | 'finishedAt'>

/** The reached milestones by time; the first is measured from the gate's start. */
export function stepsOf(milestones: readonly MilestoneRecord[], startedAt: number): readonly Step[] {
  let before = startedAt
  return milestones
    .flatMap(({ name, state, at }) => (state === 'done' && at !== undefined ? [{ name, at }] : []))
    .toSorted((one, other) => one.at - other.at)
    .map(({ name, at }) => {
      const tookMs = Math.max(0, at - before)
      before = at
      return { name, at, tookMs }
    })
}

/** The current or failed milestone. A target whose change never arrived has none. */
export function openMilestone(record: TargetRecord): MilestoneRecord | undefined {
  if (traitsOf(record).hasNoMilestone) return undefined
  const { milestones } = record
  return milestones.find(({ state }) => state === 'failed') ?? milestones.find(({ state }) => state === 'current')
}

/** How long a target waited for the milestone that it has not reached, in milliseconds. */
export function openMs(record: TargetRecord, { startedAt, finishedAt }: GateTimes): number {
  const { at = startedAt } = stepsOf(record.milestones, startedAt).at(-1) ?? {}
  return Math.max(0, (record.endedAt ?? finishedAt) - at)
}

/** The milestone of a target that took longest, reached or not; undefined if there is none. */
export function slowestStep(record: TargetRecord, times: GateTimes): Pick<Step, 'name' | 'tookMs'> | undefined {
  const open = record.outcome === 'ready' ? undefined : openMilestone(record)
  const steps: readonly Pick<Step, 'name' | 'tookMs'>[] = [
    ...stepsOf(record.milestones, times.startedAt),
    ...(open === undefined ? [] : [{ name: open.name, tookMs: openMs(record, times) }]),
  ]
  return steps.toSorted((one, other) => other.tookMs - one.tookMs)[0]
}
