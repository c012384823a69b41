import { createVerdict, outcomes, type Verdict } from '../gate/outcome.ts'
import {
  type EndedRunRecord,
  type GateRecord,
  type TargetRecord,
  undefinedIfEmpty,
  type WorkflowRunRecord,
} from '../gate/run-record.ts'
import type { Entry } from '../gate/timeline-entries.ts'
import { hintOf } from '../reasons/reasons.ts'
import { counted } from '../reasons/wording.ts'
import { decidingGate, gateDurationMs } from './headline.ts'
import { shiftMoments } from './json-report.ts'

/* Merges the reports of several gates into one record. */

/** A report to merge. */
export interface ReportFile {
  /** The name that the user gave to the gate of the report. */
  readonly name?: string
  /** The path as the user wrote it, or as a pattern found it. */
  readonly path: string
  /** Absent if the file does not exist. */
  readonly record?: EndedRunRecord
  /** The path is a pattern that matches nothing. */
  readonly isPattern?: boolean
}

/** A target, and the timeline entries about it. */
interface Logged {
  readonly target: TargetRecord
  readonly log: readonly Entry[]
}

interface Part {
  readonly gate: GateRecord
  readonly targets: readonly Logged[]
}

/**
 * Merges the reports of several gates into one record. The gravest outcome decides. If several gates have it, the
 * fastest gate decides, then the first file. A gate whose report is missing did not run: it is `unknown`, and decides
 * only if all other gates are ready.
 * @param now milliseconds since the epoch: the time of the record if all reports are missing
 * @param run the present run. A report of another run or commit counts as missing: it may be older than this run
 */
export function mergeReports(files: readonly ReportFile[], now: number, run?: WorkflowRunRecord): EndedRunRecord {
  const parts = renameDuplicates(files.map((file) => gatePart(file, run)))
  const gates = parts.map(({ gate }) => gate)
  const starts = gates.flatMap((gate) => gate.startedAt ?? [])
  const startedAt = starts.length === 0 ? now : Math.min(...starts)
  const merged = parts.flatMap((part) => part.targets.map((target) => shiftTarget(target, part, startedAt)))
  const targets = merged.map(({ target }) => target)
  const ran = gates.filter(({ startedAt }) => startedAt !== undefined)
  const judged = ran.some(({ outcome }) => outcome !== 'ready') ? ran : gates
  const gravest = outcomes.find((each) => judged.some(({ outcome }) => outcome === each)) ?? 'ready'
  const deciding = decidingGate({ outcome: gravest, gates: judged })
  const clusters = gates.flatMap(({ cluster }) => cluster ?? [])
  const collectSettings = (of: (record: EndedRunRecord) => readonly string[] | undefined) =>
    undefinedIfEmpty([...new Set(files.flatMap(({ record }) => (record && of(record)) ?? []))])
  return {
    ...mergedVerdict(deciding, targets, gates),
    startedAt,
    finishedAt: startedAt + Math.max(0, ...gates.map((gate) => gateDurationMs(gate) ?? 0)),
    cluster: {
      context: commonValue(clusters.map(({ context }) => context)),
      version: commonValue(clusters.map(({ version }) => version)),
    },
    hint: deciding?.hint,
    targets,
    annotations: collectSettings(({ annotations }) => annotations),
    healthCheckKinds: collectSettings(({ healthCheckKinds }) => healthCheckKinds),
    entries: merged
      .flatMap(({ log }, target) => log.map((entry) => ({ ...entry, target })))
      .toSorted((one, other) => one.at - other.at),
    gates,
  }
}

/** The gate of a report, and its targets. */
function gatePart({ name, path, record, isPattern = false }: ReportFile, run: WorkflowRunRecord | undefined): Part {
  const isForeign = run !== undefined && (record?.run?.id !== run.id || record.run.commit !== run.commit)
  if (record === undefined || isForeign) {
    const { form: _, ...conclusion } = createVerdict('unknown', 'report-missing', {
      path,
      isPattern,
      isForeign: record !== undefined,
    })
    const hint = hintOf('report-missing', { target: { kind: '', name: '' } })
    return { gate: { name: name ?? path, path, ...conclusion, hint }, targets: [] }
  }
  const { startedAt, finishedAt, outcome, reason, message, cluster, wayBack } = record
  const logged = Map.groupBy(record.entries, ({ target }) => target)
  const targets = record.targets.map((target, index) => ({ target, log: logged.get(index) ?? [] }))
  const hint = record.hint ?? record.targets.find((target) => target.outcome === outcome)?.hint
  const times = { startedAt, finishedAt }
  const gate = { name: name ?? cluster.context, path, outcome, reason, message, hint, ...times, cluster, wayBack }
  return { gate, targets }
}

/** Makes the names of gates distinct: the path of the report replaces an empty name and a name of several gates. */
function renameDuplicates(parts: readonly Part[]): Part[] {
  const used = new Set<string>()
  const uses = Map.groupBy(parts, ({ gate }) => gate.name)
  return parts.map(({ gate, ...part }) => {
    const own = gate.name !== '' && uses.get(gate.name)?.length === 1 ? gate.name : gate.path
    let name = own
    for (let times = 2; used.has(name); times++) name = `${own} (${times})`
    used.add(name)
    return { ...part, gate: { ...gate, name } }
  })
}

/** Shifts the times of a target as if its gate had started at `startedAt`. A target that is open ends with its gate. */
function shiftTarget({ target, log }: Logged, { gate }: Part, startedAt: number): Logged {
  const { startedAt: start = startedAt } = gate
  const { endedAt = start + (gateDurationMs(gate) ?? 0) } = target
  const merged = { target: { ...target, gate: gate.name, context: gate.cluster?.context ?? '', endedAt }, log }
  return shiftMoments(merged, startedAt - start)
}

/** The verdict of the gate that decided, with the gate's name and the number of other gates that are not ready. */
function mergedVerdict(
  deciding: GateRecord | undefined,
  targets: readonly TargetRecord[],
  gates: readonly GateRecord[],
): Verdict {
  if (deciding === undefined) {
    const message = `${counted(targets.length, 'target')} of ${counted(gates.length, 'gate')} ready`
    return { outcome: 'ready', reason: '', message }
  }
  const { name, outcome, reason, message } = deciding
  const others = gates.filter((gate) => gate.outcome !== 'ready').length - 1
  const more = others === 0 ? '' : ` (and ${counted(others, 'more gate')} not ready)`
  return { outcome, reason, message: `${name}: ${message}${more}` }
}

/** The only value that is not empty; empty if there are several different values. */
function commonValue(values: readonly string[]): string {
  const [only = '', ...others] = new Set(values.filter((value) => value !== ''))
  return others.length === 0 ? only : ''
}
