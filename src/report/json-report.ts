import { mapRecord } from '../gate/redact-record.ts'
import {
  type CheckRecords,
  type EndedTimeline,
  type Entry,
  type GateRecord,
  gateDurationMs,
  type TargetRecord,
  type Timeline,
} from '../gate/timeline.ts'
import { printableJson } from './escape.ts'
import type { LookReport, Report, ReportRun } from './report-schema.ts'

type ReportTarget = Report['targets'][number]
type ReportGate = NonNullable<Report['gates']>[number]

/**
 * The report: all facts as the cluster reported them. JSON omits what is undefined. Texts are raw: renderers escape them.
 * A merged timeline gives a report with its gates, and the moments of each target are those of its gate.
 */
export function buildReport(timeline: EndedTimeline, run?: ReportRun): Report {
  const { startedAt, finishedAt, verdict, gates } = timeline
  const ends = gates?.flatMap((gate) => gate.finishedAt ?? []) ?? []
  const logged = Map.groupBy(timeline.entries, ({ target }) => target)
  return {
    schema: 1,
    outcome: verdict.outcome,
    reason: verdict.reason,
    message: verdict.message,
    startedAt: iso(startedAt),
    finishedAt: iso(Math.max(finishedAt, ...ends)),
    durationSeconds: (finishedAt - startedAt) / 1_000,
    cluster: { context: timeline.context, version: timeline.serverVersion },
    run,
    hint: timeline.hint,
    ...(timeline.healthCheckKinds?.length ? { healthCheckKinds: [...timeline.healthCheckKinds] } : {}),
    ...(timeline.annotations?.length ? { annotations: [...timeline.annotations] } : {}),
    gates: gates?.map(reportGate),
    ...(timeline.checks && reportChecks(timeline.checks)),
    targets: timeline.targets.map((record, index) => ({
      ...reportTarget(record, logged.get(index) ?? [], timeline),
    })),
  }
}

/** The report of one look. Without a verdict, something is not ready, and nothing stands in its way. */
export function buildLook({ verdict, ...timeline }: Timeline): LookReport {
  if (verdict !== undefined) return buildReport({ ...timeline, verdict })
  const { targets } = timeline
  const open = targets.filter(({ outcome }) => outcome === 'progressing').length
  const message = `${open} of ${targets.length} in progress`
  return { ...buildReport({ ...timeline, verdict: { outcome: 'ready', reason: '', message } }), outcome: 'progressing' }
}

/** The report as file content. */
export function renderReport(timeline: EndedTimeline, run?: ReportRun): string {
  return `${printableJson(buildReport(timeline, run), 2)}\n`
}

function reportChecks({ httpChecks, hold }: CheckRecords): Partial<Report> {
  return {
    httpChecks: httpChecks.map(({ text, asked, errors, answers }) => ({
      request: text,
      asked,
      errors,
      answers: answers.map(({ at, pod, status, seconds: took, body, error, isRight }) => ({
        at: iso(at),
        pod,
        status,
        seconds: took,
        body,
        error,
        right: isRight,
      })),
    })),
    hold: hold && { seconds: hold.holdMs / 1_000, since: hold.since === undefined ? undefined : iso(hold.since) },
  }
}

function reportGate(gate: GateRecord): ReportGate {
  const { name, path, outcome, reason, message, hint, startedAt, finishedAt, context, serverVersion } = gate
  return {
    name,
    path,
    outcome,
    reason,
    message,
    hint,
    ...(startedAt === undefined || finishedAt === undefined
      ? {}
      : {
          startedAt: iso(startedAt),
          finishedAt: iso(finishedAt),
          durationSeconds: (gateDurationMs(gate) ?? 0) / 1_000,
          cluster: { context, version: serverVersion },
        }),
  }
}

function reportTarget(record: TargetRecord, entries: readonly Entry[], { startedAt, gates }: Timeline): ReportTarget {
  const moment = momentsOf(record, { startedAt, gates })
  const log = entries.flatMap(({ at, kind, outcome, text }) =>
    kind === 'heartbeat' ? [] : [{ at, kind, outcome, text }],
  )
  const milestones = record.milestones.map((milestone) => ({
    ...milestone,
    ...(milestone.at !== undefined && { seconds: (milestone.at - startedAt) / 1_000 }),
  }))
  const whole = { ...record, milestones, ...(log.length > 0 && { log }) }
  return written(record.outcome === 'progressing' ? { ...whole, endedAt: undefined } : whole, moment) as ReportTarget
}

/** A moment of the timeline as the report contains it. */
type Moment = (at: number) => string

/** The moments of a target before the merge: a merged timeline shifts them. */
export function momentsOf(record: TargetRecord, { startedAt, gates }: Pick<Timeline, 'startedAt' | 'gates'>): Moment {
  const gate = gates?.find(({ name }) => name === record.gate)
  return (at) => iso(at - startedAt + (gate?.startedAt ?? startedAt))
}

/** The fields of a record that no report contains: only the process of the gate needs them. */
const unwritten: ReadonlySet<string> = new Set([
  'basis',
  'clocks',
  'deployedBy',
  'hasRun',
  'hintWithoutLog',
  'hook',
  'isInit',
  'isUnread',
  'release',
  'undo',
  'warnings',
])

/** The fields that are moments: milliseconds since the epoch in a record, ISO 8601 in a report. */
const moments: ReadonlySet<string> = new Set([
  'at',
  'changedAt',
  'endedAt',
  'finishedAt',
  'firstSeen',
  'since',
  'startedAt',
])

/** A part of a record as a report contains it. */
function written(part: unknown, moment: Moment): unknown {
  const write = (value: unknown, key: string) => (moments.has(key) && typeof value === 'number' ? moment(value) : value)
  return mapRecord(part, write, unwritten)
}

/**
 * A part of a report as a record contains it.
 * @param moment the moment of the record that a report contains as text
 */
export function read(part: unknown, moment: (text: string) => number): unknown {
  return mapRecord(part, (value, key) => (moments.has(key) && typeof value === 'string' ? moment(value) : value))
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
