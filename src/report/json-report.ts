import { mapRecord } from '../gate/redact-record.ts'
import {
  type EndedRunRecord,
  type Entry,
  type GateRecord,
  gateDurationMs,
  type MilestoneRecord,
  moments,
  type RunRecord,
  type TargetOutcome,
  type TargetRecord,
  unwritten,
} from '../gate/run-record.ts'
import { printableJson } from './escape.ts'
import { evidenceText } from './target-record.ts'

const unwrittenFields: ReadonlySet<string> = new Set(unwritten)
const momentFields: ReadonlySet<string> = new Set(moments)

/** A part of a record as a report contains it. */
type Written<T> = T extends readonly (infer Each)[]
  ? Written<Each>[]
  : T extends object
    ? {
        -readonly [Name in keyof T as Name extends (typeof unwritten)[number]
          ? never
          : Name]: Name extends (typeof moments)[number] ? string | Extract<T[Name], undefined> : Written<T[Name]>
      }
    : T

/** What is derived from a record stands only in its report. */
interface ReportedTarget extends TargetRecord {
  readonly milestones: readonly (MilestoneRecord & { readonly seconds?: number })[]
  /** What was logged about it. */
  readonly log?: readonly (Pick<Entry, 'at' | 'outcome' | 'text'> & {
    readonly kind: Exclude<Entry['kind'], 'heartbeat'>
  })[]
}

interface Reported<O extends TargetOutcome> extends RunRecord<ReportedTarget, O> {
  readonly schema: 1
  readonly durationSeconds: number
  readonly gates?: readonly (GateRecord & { readonly durationSeconds?: number })[]
}

/** The report for machines: all facts as the cluster reported them. Texts are raw: renderers escape them. */
export type Report = Written<Reported<EndedRunRecord['outcome']>>
/** The report of one look: `progressing` if something is not ready, and nothing stands in its way. */
export type LookReport = Written<Reported<TargetOutcome>>

/** A merged record gives a report with its gates, and the moments of each target are those of its gate. */
export function buildReport(record: EndedRunRecord): Report
export function buildReport(record: RunRecord): LookReport
export function buildReport(record: RunRecord): LookReport {
  const { startedAt, finishedAt, gates } = record
  const ends = gates?.flatMap((gate) => gate.finishedAt ?? []) ?? []
  const logged = Map.groupBy(record.entries, ({ target }) => target)
  const { targets, ...whole } = record
  const reported = {
    schema: 1,
    ...whole,
    finishedAt: Math.max(finishedAt, ...ends),
    durationSeconds: (finishedAt - startedAt) / 1_000,
    gates: gates?.map((gate) => {
      const tookMs = gateDurationMs(gate)
      return tookMs === undefined ? gate : { ...gate, durationSeconds: tookMs / 1_000 }
    }),
  }
  const written = targets.map((target, index) => {
    const shiftMs = shiftOf(target, record)
    return write(reportedTarget(target, logged.get(index) ?? [], record), (at) => iso(at + shiftMs))
  })
  return { ...(write(reported, iso) as LookReport), targets: written as LookReport['targets'] }
}

function reportedTarget(target: TargetRecord, entries: readonly Entry[], { startedAt }: RunRecord): ReportedTarget {
  const { endedAt, outcome } = target
  const log = entries.flatMap(({ at, kind, outcome, text }) =>
    kind === 'heartbeat' ? [] : [{ at, kind, outcome, text }],
  )
  return {
    ...target,
    endedAt: outcome === 'progressing' ? undefined : endedAt,
    milestones: target.milestones.map((milestone) => ({
      ...milestone,
      ...(milestone.at !== undefined && { seconds: (milestone.at - startedAt) / 1_000 }),
    })),
    problems: target.problems.map((problem) => ({
      ...problem,
      evidence: problem.evidence.map((each) => ({ ...each, text: evidenceText(each, startedAt) })),
    })),
    ...(log.length > 0 && { log }),
  }
}

function write(part: unknown, moment: (at: number) => string): unknown {
  const change = (value: unknown, key: string) =>
    momentFields.has(key) && typeof value === 'number' ? moment(value) : value
  return mapRecord(part, change, unwrittenFields)
}

/** The record of a report: its moments in milliseconds, as if the gates in it had started together. */
export function readRecord(report: Report): EndedRunRecord {
  const { schema: _, durationSeconds: _seconds, ...whole } = report
  const change = (value: unknown, key: string) =>
    momentFields.has(key) && typeof value === 'string' ? Date.parse(value) : value
  const record = mapRecord(whole, change) as Omit<Reported<EndedRunRecord['outcome']>, 'schema' | 'durationSeconds'>
  const { startedAt } = record
  const targets = record.targets.map((target) => shifted(target, -shiftOf(target, record)))
  // What another process wrote is not before the gate, but where an object shows it.
  const since = <T extends { readonly at?: number }>(each: T): T =>
    each.at === undefined ? each : { ...each, at: Math.max(startedAt, each.at) }
  return {
    ...record,
    ...(record.gates && { finishedAt: startedAt + longestMs(record.gates) }),
    targets: targets.map(({ log: _log, ...target }) => ({
      ...target,
      endedAt: target.endedAt && Math.max(startedAt, target.endedAt),
      milestones: target.milestones.map(({ seconds: _, ...each }) => (each.source === undefined ? since(each) : each)),
    })),
    entries: targets
      .flatMap(({ log = [] }, target) => log.map((entry) => ({ ...since(entry), target })))
      .toSorted((one, other) => one.at - other.at),
  }
}

/** How long the longest of several gates took, in milliseconds. */
export function longestMs(gates: readonly GateRecord[]): number {
  return Math.max(0, ...gates.map((gate) => gateDurationMs(gate) ?? 0))
}

/** How far the moments of a target are before those of its gate, in milliseconds: those of merged gates are shifted. */
export function shiftOf({ gate }: TargetRecord, { startedAt, gates }: Pick<RunRecord, 'startedAt' | 'gates'>): number {
  return (gates?.find(({ name }) => name === gate)?.startedAt ?? startedAt) - startedAt
}

/** A part of a record with each moment later by `ms`. */
export function shifted<T>(part: T, ms: number): T {
  return mapRecord(part, (value, key) => (momentFields.has(key) && typeof value === 'number' ? value + ms : value)) as T
}

/** The report as file content. */
export function renderReport(record: EndedRunRecord): string {
  return `${printableJson(buildReport(record), 2)}\n`
}

export function iso(ms: number): string {
  return new Date(ms).toISOString()
}
