import type { MilestoneRecord, TargetRecord } from '../gate/timeline.ts'

/** A reached milestone, and the milliseconds from the previous one. */
export interface Step {
  readonly name: string
  readonly at: number
  readonly tookMs: number
}

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

/** The milestone of a target that took longest; undefined if none was reached. */
export function slowestStep({ milestones }: TargetRecord, startedAt: number): Step | undefined {
  return stepsOf(milestones, startedAt).reduce<Step | undefined>(
    (slowest, step) => (slowest === undefined || step.tookMs > slowest.tookMs ? step : slowest),
    undefined,
  )
}
