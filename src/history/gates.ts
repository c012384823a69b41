import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { EndedTimeline, TargetRecord } from '../gate/timeline.ts'
import { fullNames, type Target, targetId } from '../plan/target.ts'
import type { ComparedMilestone, ComparedTarget } from '../report/comparison.ts'
import { type ReportRun, reportSchema } from '../report/report-schema.ts'
import { openMilestone, openMs, stepsOf, tookMs } from '../report/target-record.ts'
import { historyFewestRuns, historyGoodRuns } from '../thresholds.ts'

const seconds = z.number().nonnegative()

const pastTarget = z.object({
  target: z.string(),
  namespace: z.string().optional(),
  outcome: reportSchema.shape.targets.element.shape.outcome,
  reason: z.string(),
  /** The target that it only waited for. */
  causedBy: z.string().optional(),
  /** From its change, or the start of the gate, until it was ready or ended. */
  seconds,
  /** The time of each reached milestone since the milestone before. Empty if the target was ready at first sight. */
  milestones: z.record(z.string(), seconds),
})

const pastGate = z.object({
  history: z.literal('rollout-gate/v1'),
  /** Identifies a line: a line that was written twice counts once. */
  id: z.string().min(1),
  at: z.iso.datetime(),
  outcome: reportSchema.shape.outcome,
  reason: z.string(),
  seconds,
  context: z.string(),
  run: reportSchema.shape.run,
  targets: z.array(pastTarget),
})

export type PastTarget = z.infer<typeof pastTarget>
/** One line of a history: an earlier gate. It contains names, codes and times, and no text of the cluster. */
export type PastGate = z.infer<typeof pastGate>

/** Reads a line of a history; undefined if the line is not a gate of a history. */
export function parseGate(line: string): PastGate | undefined {
  try {
    return pastGate.safeParse(JSON.parse(line)).data
  } catch {
    return undefined
  }
}

/** The line that a gate adds to its history; undefined if it has judged nothing. */
export function gateOf(timeline: EndedTimeline, run: ReportRun | undefined): PastGate | undefined {
  const { startedAt, finishedAt, verdict, context, targets } = timeline
  if (targets.length === 0) return undefined
  const ids = targets.map(({ target }) => targetId(target))
  return {
    history: 'rollout-gate/v1',
    id: randomUUID(),
    at: new Date(startedAt).toISOString(),
    outcome: verdict.outcome,
    reason: verdict.reason,
    seconds: toSeconds(finishedAt - startedAt),
    context,
    run,
    targets: targets.map((record) => ({
      target: targetId(record.target),
      namespace: record.target.namespace,
      outcome: record.outcome,
      reason: record.reason,
      causedBy: ids[record.causedBy ?? -1],
      seconds: toSeconds(tookMs(record, timeline)),
      milestones: tookSeconds(record, startedAt),
    })),
  }
}

function toSeconds(ms: number): number {
  return Math.max(0, ms) / 1_000
}

/** How long each reached milestone took; empty if all were reached before the gate saw the target, at unknown moments. */
function tookSeconds(record: TargetRecord, startedAt: number): Readonly<Record<string, number>> {
  const steps = stepsOf(record, startedAt)
  const isUnchanged = steps.every(({ tookMs }) => tookMs === 0)
  return isUnchanged ? {} : Object.fromEntries(steps.map(({ name, tookMs }) => [name, toSeconds(tookMs)]))
}

/** The earlier good runs of a target, the newest last: it became ready while its gate watched. */
export function goodRuns(runs: readonly PastTarget[]): readonly PastTarget[] {
  return runs.filter(({ outcome, milestones }) => outcome === 'ready' && Object.keys(milestones).length > 0)
}

/**
 * Compares each milestone of a gate with the median of the last good runs of its target, if there are enough of them. Two
 * runs are of the same target if context, namespace, kind and name are equal.
 */
export function compareGate(timeline: EndedTimeline, gates: readonly PastGate[]): readonly ComparedTarget[] {
  const names = fullNames(timeline.targets.map(({ target }) => target))
  const before = gates.filter(({ context }) => context === timeline.context)
  return timeline.targets.flatMap((record, index) => {
    const runs = goodRuns(before.flatMap(({ targets }) => targets.filter((past) => isSame(past, record.target))))
    const milestones = compareMilestones(record, timeline, runs.slice(-historyGoodRuns))
    return milestones.length === 0 ? [] : [{ name: names[index] ?? '', milestones }]
  })
}

function isSame(past: PastTarget, target: Target): boolean {
  return past.target === targetId(target) && past.namespace === target.namespace
}

function compareMilestones(
  record: TargetRecord,
  timeline: EndedTimeline,
  runs: readonly PastTarget[],
): readonly ComparedMilestone[] {
  const steps = stepsOf(record, timeline.startedAt)
  // A target that was ready at first sight has nothing to compare.
  if (record.outcome === 'ready' && steps.every(({ tookMs }) => tookMs === 0)) return []
  const open = record.outcome === 'ready' ? undefined : openMilestone(record)
  const own: readonly Pick<ComparedMilestone, 'name' | 'tookMs' | 'isOpen'>[] = [
    ...steps,
    ...(open === undefined ? [] : [{ name: open.name, tookMs: openMs(record, timeline), isOpen: true as const }]),
  ]
  return own.flatMap(({ name, tookMs, isOpen }) => {
    const earlierMs = runs.flatMap(({ milestones: { [name]: took } }) => (took === undefined ? [] : [took * 1_000]))
    if (earlierMs.length < historyFewestRuns) return []
    return [{ name, tookMs, ...(isOpen && { isOpen }), medianMs: median(earlierMs), earlierMs }]
  })
}

/** The middle of some numbers, of an even number of them the mean of both; 0 without any. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** A quantile: the value below which the given part of the numbers lies, interpolated; 0 without numbers. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (sorted.length - 1) * part
  const [low = 0, high = low] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]]
  return low + (high - low) * (at - Math.floor(at))
}
