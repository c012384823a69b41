import { gravest } from '../gate/outcome.ts'
import {
  type EndedTimeline,
  type Entry,
  type GateRecord,
  gateDurationMs,
  type TargetRecord,
  type Verdict,
  verdictOf,
} from '../gate/timeline.ts'
import { reasons } from '../reasons/reasons.ts'
import { counted } from '../reasons/wording.ts'
import { decidingGate } from '../report/headline.ts'
import { read } from '../report/json-report.ts'
import type { Report, ReportRun } from '../report/report-schema.ts'

/** One report to merge. */
export interface ReportFile {
  /** The name that the user gave to its gate. */
  readonly name?: string
  /** As the user wrote it, or as found by a pattern. */
  readonly path: string
  /** Absent if the file does not exist. */
  readonly report?: Report
  /** The path is a pattern that matches nothing. */
  readonly isPattern?: boolean
}

type ReportTarget = Report['targets'][number]

interface Part {
  readonly gate: GateRecord
  readonly targets: readonly ReportTarget[]
}

/**
 * Merges the reports of several gates into one timeline. The gravest outcome decides; of equal ones that of the gate that
 * took the shortest time, then the order of the files. A missing report is `unknown`.
 * @param now milliseconds since the epoch: the moment of the result if all reports are missing
 * @param run if set, a report of another run or commit counts as missing: an old report must not stand for a gate that did
 * not run
 */
export function mergeReports(files: readonly ReportFile[], now: number, run?: ReportRun): EndedTimeline {
  const parts = withDistinctNames(files.flatMap((file) => partsOf(file, run)))
  const gates = parts.map(({ gate }) => gate)
  const starts = gates.flatMap((gate) => gate.startedAt ?? [])
  const startedAt = starts.length === 0 ? now : Math.min(...starts)
  const merged = parts.flatMap((part) => part.targets.map((target) => mergedTarget(target, part.gate, startedAt)))
  const targets = merged.map(({ record }) => record)
  const outcome = gravest(gates.map((gate) => gate.outcome))
  const deciding = decidingGate({ verdict: { outcome, reason: '', message: '' }, gates })
  return {
    startedAt,
    finishedAt: startedAt + Math.max(0, ...gates.map((gate) => gateDurationMs(gate) ?? 0)),
    context: common(gates.map(({ context }) => context)),
    serverVersion: common(gates.map(({ serverVersion }) => serverVersion)),
    timeoutMs: 0,
    stallTimeoutMs: 0,
    verdict: deciding === undefined ? readyVerdict(targets, gates) : gateVerdict(deciding, gates),
    hint: deciding?.hint,
    targets,
    annotations: [...new Set(files.flatMap(({ report }) => report?.annotations ?? []))],
    healthCheckKinds: [...new Set(files.flatMap(({ report }) => report?.healthCheckKinds ?? []))],
    entries: merged
      .flatMap(({ logged }, target) => logged.map((entry) => ({ ...entry, target })))
      .toSorted((one, other) => one.at - other.at),
    gates,
  }
}

/** The gate of a report; of a merged report, all its gates. */
function partsOf({ name, path, report, isPattern = false }: ReportFile, run: ReportRun | undefined): Part[] {
  const isForeign = run !== undefined && (report?.run?.id !== run.id || report.run.commit !== run.commit)
  if (report === undefined || isForeign) {
    const foreign = report && run && { found: report.run, expected: run }
    const verdict = verdictOf('unknown', 'report-missing', { path, isPattern, foreign })
    const hint = reasons['report-missing'].hint({ target: { kind: '', name: '' } })
    return [{ gate: { name: name ?? path, path, ...verdict, context: '', serverVersion: '', hint }, targets: [] }]
  }
  const { gates = [], targets, outcome } = report
  const merged = gates.map((gate) => ({
    gate: gateRecord({ ...gate, name: name === undefined ? gate.name : `${name}/${gate.name}` }),
    targets: targets.filter((target) => target.gate === gate.name),
  }))
  // The outcome of the report counts, also if no gate in it has this outcome.
  if (gates.some((gate) => gate.outcome === outcome)) return merged
  const own = targets.filter((target) => !gates.some((gate) => gate.name === target.gate))
  const hint = report.hint ?? own.find((target) => target.outcome === outcome)?.hint
  return [
    { gate: gateRecord({ ...report, name: name ?? report.cluster.context, path, hint }), targets: own },
    ...merged,
  ]
}

function gateRecord(gate: NonNullable<Report['gates']>[number]): GateRecord {
  const { name, path, outcome, reason, message, hint, cluster } = gate
  const startedAt = gate.startedAt === undefined ? undefined : Date.parse(gate.startedAt)
  const finishedAt = gate.finishedAt === undefined ? undefined : Date.parse(gate.finishedAt)
  const { context = '', version: serverVersion = '' } = cluster ?? {}
  return { name, path, outcome, reason, message, hint, startedAt, finishedAt, context, serverVersion }
}

/** Gives each gate a name of its own: where several have the same, or none, that of the report's path. */
function withDistinctNames(parts: readonly Part[]): Part[] {
  const used = new Set<string>()
  const uses = Map.groupBy(parts, ({ gate }) => gate.name)
  return parts.map(({ gate, targets }) => {
    const own = gate.name !== '' && uses.get(gate.name)?.length === 1 ? gate.name : gate.path
    let name = own
    for (let times = 2; used.has(name); times++) name = `${own} (${times})`
    used.add(name)
    return { gate: { ...gate, name }, targets }
  })
}

/** A target with the entries that its gate logged about the target. */
interface MergedTarget {
  readonly record: TargetRecord
  readonly logged: readonly Entry[]
}

/** A target of a report, with its moments as if its gate had started at `startedAt`. */
function mergedTarget(target: ReportTarget, gate: GateRecord, startedAt: number): MergedTarget {
  const moment = (text: string) => Date.parse(text) - (gate.startedAt ?? startedAt) + startedAt
  const { log = [], ...own } = read(target, moment) as TargetRecord & { readonly log?: readonly Entry[] }
  const since = <T extends { readonly at?: number }>(each: T): T =>
    each.at === undefined ? each : { ...each, at: Math.max(startedAt, each.at) }
  // An open target ended with its gate, which may not be the last one.
  const { endedAt = startedAt + (gateDurationMs(gate) ?? 0) } = own
  const record: TargetRecord = {
    ...own,
    gate: gate.name,
    context: gate.context,
    endedAt: Math.max(startedAt, endedAt),
    milestones: own.milestones.map((each) => (each.source === undefined ? since(each) : each)),
  }
  return { record, logged: log.map(since) }
}

function readyVerdict(targets: readonly TargetRecord[], gates: readonly GateRecord[]): Verdict {
  const message = `${counted(targets.length, 'target')} of ${counted(gates.length, 'gate')} ready`
  return { outcome: 'ready', reason: '', message }
}

/** The verdict of the gate that decided, with its name and the number of others that are not ready. */
function gateVerdict({ name, outcome, reason, message }: GateRecord, gates: readonly GateRecord[]): Verdict {
  const others = gates.filter((gate) => gate.outcome !== 'ready').length - 1
  const more = others === 0 ? '' : ` (and ${counted(others, 'more gate')} not ready)`
  return { outcome, reason, message: `${name}: ${message}${more}` }
}

/** The common value of all that have one; empty if they differ. */
function common(values: readonly string[]): string {
  const [only = '', ...others] = new Set(values.filter((value) => value !== ''))
  return others.length === 0 ? only : ''
}
