import type { Cluster } from '../cluster/cluster.ts'
import type { WatchRequest } from '../cluster/feed.ts'
import type { Exit } from '../exit.ts'
import type { AfterReadyFactory } from '../gate/after-ready.ts'
import { Gate } from '../gate/gate.ts'
import { lookAt } from '../gate/look.ts'
import { type EndedRunRecord, type Entry, hasEnded, type JudgedRunRecord, type RunRecord } from '../gate/run-record.ts'
import { type GateSettings, gateTimeoutMs } from '../gate/settings.ts'
import type { ParsedReferences } from '../plan/reference.ts'
import type { ResolvedPlan } from '../plan/resolve-targets.ts'
import type { View } from '../trace/views.ts'

/**
 * What a run is for: a gate ends with its outcome, a recording goes on after it, a look ends once everything is listed, and a view
 * ends when it wants to.
 */
export type Purpose = 'gate' | 'recording' | 'look' | 'view'

/** The targets of a source, and the way of its events: a cluster (`LiveRun`), or a recording of one (`RecordedRun`). */
export interface Run {
  /** What the run prints or records leaves by this. */
  readonly exit: Exit
  readonly planned: ResolvedPlan
  readonly settings: GateSettings
  /** Where the user wrote the targets. */
  readonly references: Pick<ParsedReferences, 'input' | 'places'>
  /** The checks of a gate once its targets are ready, if there are any. */
  readonly afterReady?: AfterReadyFactory | undefined
  /** Whether hints name flags of the command line, not inputs of the action. */
  readonly usesFlags?: boolean | undefined
  /** Absent without a connection. */
  readonly cluster?: Pick<Cluster, 'get'>
  /** The present moment of the source, in milliseconds since the epoch. */
  now(): number
  /** Whether the first list of a request is expected. */
  willSync(request: WatchRequest): boolean
  /** The names of the objects that a request selects; undefined until they are known. */
  namesOf(request: WatchRequest): readonly string[] | undefined
  /** Gets the entries of the gate. */
  onEntry(entry: Entry): void
  /** Passes the events to a gate until it is over, or the run is cancelled. Then waits for what explains the verdict. */
  follow(gate: Gate): Promise<void>
  /** Adds to the record what the run has found beside the gate. */
  complete(record: JudgedRunRecord): JudgedRunRecord
  /** Passes the events to a view. Returns whether the view ended by itself; false if cancelled. */
  show(view: View): Promise<boolean>
  end(): void
}

/** Judges the targets until the gate is over, and reports what happens. */
export async function judge(run: Run): Promise<Gate> {
  const { exit, planned, settings } = run
  const { startedAt, context, serverVersion, stallTimeoutMs } = settings
  const timeoutMs = gateTimeoutMs(settings, planned.targets)
  exit.onHead({ startedAt, cluster: { context, version: serverVersion }, timeoutMs, stallTimeoutMs, ...planned })
  const gate = new Gate(planned.targets, settings, run.willSync, run.onEntry, run.afterReady)
  exit.onStart(() => gate.record(run.now()))
  await run.follow(gate)
  return gate
}

/** Judges the targets. Returns the record with its evidence, as it may leave the process. */
export async function judgeTargets(run: Run): Promise<EndedRunRecord> {
  const gate = await judge(run)
  const record = run.complete(gate.record())
  if (!hasEnded(record)) throw new Error('The gate ended without a verdict.')
  // Where nothing changed and all is ready, nothing is to be explained: the gate starts faster without these modules.
  const isUnchanged = record.targets.every(({ change }) => change !== 'recent')
  if (record.outcome === 'ready' && isUnchanged) return run.exit.redact(record)
  return { ...(await explainRecord(run, gate, record)), outcome: record.outcome }
}

/** Looks at the targets once: reads the first lists, and the evidence for targets that are not ready. */
export async function lookAtTargets(run: Run): Promise<RunRecord> {
  const gate = await judge(run)
  const now = run.now()
  gate.advance(now)
  return explainRecord(run, gate, lookAt(gate, now))
}

async function explainRecord(run: Run, gate: Gate, record: JudgedRunRecord): Promise<RunRecord> {
  const { explain } = await import('../diagnosis/explain.ts')
  const { serverOffsetMs } = run.settings
  return run.exit.redact(explain(record, gate.store, serverOffsetMs, run.planned.manifests, run.usesFlags))
}
