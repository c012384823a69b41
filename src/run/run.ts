import type { Cluster } from '../cluster/cluster.ts'
import type { WatchRequest } from '../cluster/feed.ts'
import type { EventConsumer } from '../cluster/follower.ts'
import { Gate } from '../gate/gate.ts'
import { type EndedRunRecord, type Entry, hasEnded, type JudgedRunRecord, type RunRecord } from '../gate/run-record.ts'
import type { GateSettings } from '../gate/settings.ts'
import type { Plan } from '../plan/resolve-targets.ts'
import type { ParsedReferences } from '../plan/target.ts'
import type { Exit } from './exit.ts'

/** What a run judges, and how. */
export interface RunPlan extends Plan {
  readonly settings: GateSettings
  /** Where the user wrote the targets. */
  readonly references: Pick<ParsedReferences, 'input' | 'places'>
  /** Whether hints name flags of the command line, not inputs of the action. */
  readonly usesFlags: boolean
}

/** The targets of a source, and its events: of a cluster (`LiveRun`), or of a recording of one (`RecordedRun`). */
export abstract class Run {
  abstract readonly plan: RunPlan
  /** What the run prints or records leaves by this. */
  abstract readonly exit: Exit
  /** Undefined without a connection. */
  abstract readonly cluster: Pick<Cluster, 'get'> | undefined

  /** The present moment of the source, in milliseconds since the epoch. */
  abstract now(): number
  /** Whether the first list of a request is expected. */
  abstract willSync(request: WatchRequest): boolean
  /** The names of the objects that a request selects; undefined until they are known. */
  abstract namesOf(request: WatchRequest): readonly string[] | undefined
  /** Passes the events to a consumer until it is over, or the run is cancelled. */
  abstract follow(consumer: EventConsumer): Promise<void>

  /** As `follow`, then waits for what explains the verdict. */
  protected followGate(gate: Gate): Promise<void> {
    return this.follow(gate)
  }

  /** Gets the entries of the gate. */
  protected onEntry(entry: Entry): void {
    this.exit.onEntry(entry)
  }

  /** The record of the gate, with what the run has found beside it. */
  protected recordOf(gate: Gate): JudgedRunRecord {
    return gate.record()
  }

  /** Judges the targets until the gate is over, and reports what happens. */
  async judge(): Promise<Gate> {
    const { plan, exit } = this
    const gate = this.createGate((entry) => this.onEntry(entry))
    exit.onStart(() => gate.record(this.now()), plan.notices)
    await this.followGate(gate)
    return gate
  }

  createGate(onEntry?: (entry: Entry) => void): Gate {
    const { targets, settings } = this.plan
    return new Gate(targets, settings, (request) => this.willSync(request), onEntry)
  }

  /** Judges the targets. Returns the record with its evidence, as it may leave the process. */
  async judgeTargets(): Promise<EndedRunRecord> {
    const gate = await this.judge()
    const record = this.recordOf(gate)
    if (!hasEnded(record)) throw new Error('The gate ended without a verdict.')
    // Where nothing changed and all is ready, nothing is to be explained: the gate starts faster without these modules.
    const isUnchanged = record.targets.every(({ change }) => change !== 'recent')
    if (record.outcome === 'ready' && isUnchanged) return this.exit.redact(record)
    return { ...(await this.#explain(gate, record)), outcome: record.outcome }
  }

  /** Looks at the targets once: reads the first lists, and the evidence for targets that are not ready. */
  async look(): Promise<RunRecord> {
    const { lookAt } = await import('../gate/look.ts')
    const gate = await this.judge()
    const now = this.now()
    gate.advance(now)
    return this.#explain(gate, lookAt(gate, now))
  }

  async #explain(gate: Gate, record: JudgedRunRecord): Promise<RunRecord> {
    const { explain } = await import('../diagnosis/explain.ts')
    const { settings, manifests, usesFlags } = this.plan
    return this.exit.redact(explain(record, gate.store, settings.serverOffsetMs, manifests, usesFlags))
  }
}
