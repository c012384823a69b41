import type { Report, SingleCheckReport } from '../gate/report-schema.ts'
import {
  type EndedRunRecord,
  moments,
  type ReadReport,
  type RunRecord,
  type TargetRecord,
  undefinedIfEmpty,
  unwritten,
} from '../gate/run-record.ts'
import type { Entry } from '../gate/timeline-entries.ts'
import { printableJson } from './escape.ts'
import { gateDurationMs } from './headline.ts'
import { mapRecord } from './redact-record.ts'
import { wayBackOf } from './rollback.ts'
import { evidenceText } from './target-record.ts'

/* Writes a record as a JSON report, and reads a report. */

const unwrittenFields: ReadonlySet<string> = new Set(Object.keys(unwritten))
const momentFields: ReadonlySet<string> = new Set(moments)

/** The report of a record. In a merged record, all gates start at the same time; in the report, at their real times. */
export function buildReport(record: EndedRunRecord): Report
export function buildReport(record: RunRecord): SingleCheckReport
export function buildReport(record: RunRecord): SingleCheckReport {
  const { targets, ...whole } = record
  const { startedAt, finishedAt, gates, entries } = record
  const ends = gates?.flatMap((gate) => gate.finishedAt ?? []) ?? []
  const logged = Map.groupBy(entries, ({ target }) => target)
  const reported = {
    schema: 1,
    ...whole,
    finishedAt: Math.max(finishedAt, ...ends),
    durationSeconds: (finishedAt - startedAt) / 1_000,
    gates: gates?.map((gate) => {
      const tookMs = gateDurationMs(gate)
      return tookMs === undefined ? gate : { ...gate, durationSeconds: tookMs / 1_000 }
    }),
    wayBack: wayBackOf(record),
    targets: targets.map((target, index) => {
      const log = logged.get(index)?.filter(({ kind }) => kind !== 'heartbeat')
      return shiftMoments(reportedTarget(target, log, startedAt), gateShiftMs(target, record))
    }),
  }
  const write = (value: unknown, key: string) =>
    momentFields.has(key) && typeof value === 'number' ? isoTime(value) : value
  return mapRecord(reported, write, unwrittenFields) as SingleCheckReport
}

/** A target with the fields that only the report has, because they are derived. */
function reportedTarget(target: TargetRecord, log: readonly Entry[] | undefined, startedAt: number) {
  return {
    ...target,
    endedAt: target.outcome === 'progressing' ? undefined : target.endedAt,
    milestones: target.milestones.map((milestone) => ({
      ...milestone,
      ...(milestone.at !== undefined && { seconds: (milestone.at - startedAt) / 1_000 }),
    })),
    problems: target.problems.map((problem) => ({
      ...problem,
      evidence: problem.evidence.map((each) => ({ ...each, text: evidenceText(each, startedAt) })),
    })),
    log: undefinedIfEmpty(log)?.map(({ at, kind, outcome, text }) => ({ at, kind, outcome, text })),
  }
}

/** Reads the record of a report that is not merged. In the record, times are milliseconds since the epoch. */
export function readRecord(report: Report): EndedRunRecord {
  const read = (value: unknown, key: string) =>
    momentFields.has(key) && typeof value === 'string' ? Date.parse(value) : value
  const { schema: _, durationSeconds: _seconds, ...record } = mapRecord(report, read) as ReadReport
  return {
    ...record,
    outcome: report.outcome,
    targets: record.targets.map(({ log: _log, ...target }) => ({
      ...target,
      milestones: target.milestones.map(({ seconds: _, ...each }) => each),
    })),
    entries: record.targets
      .flatMap(({ log = [] }, target) => log.map((entry) => ({ ...entry, target })))
      .toSorted((one, other) => one.at - other.at),
  }
}

/** How many milliseconds after the start of the record the gate of a target started; 0 if the record is not merged. */
export function gateShiftMs(
  { gate }: Pick<TargetRecord, 'gate'>,
  { startedAt, gates }: Pick<RunRecord, 'startedAt' | 'gates'>,
): number {
  return (gates?.find(({ name }) => name === gate)?.startedAt ?? startedAt) - startedAt
}

/** A copy of a part of a record, with all times later by `ms`. */
export function shiftMoments<T>(part: T, ms: number): T {
  return mapRecord(part, (value, key) => (momentFields.has(key) && typeof value === 'number' ? value + ms : value)) as T
}

/** The report of a record as the content of a file. */
export function renderReport(record: EndedRunRecord): string {
  return `${printableJson(buildReport(record), 2)}\n`
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
