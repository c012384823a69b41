import type { WatchRequest } from '../cluster/feed.ts'
import type { EventConsumer } from '../cluster/follower.ts'
import { addChanges } from '../diagnosis/target-facts.ts'
import { Gate } from '../gate/gate.ts'
import { type EndedRunRecord, isEndedRecord, type JudgedRunRecord, type RunRecord } from '../gate/run-record.ts'
import type { Entry } from '../gate/timeline-entries.ts'
import type { RedactedOutput } from './redacted-output.ts'
import type { RunPlan } from './run-plan.ts'

/* A run: passes the events of a cluster or recording to a gate, and returns its record. */

/** A run on a source of events: a cluster (`LiveRun`) or a recording (`RecordedRun`). */
export abstract class Run {
  abstract readonly plan: RunPlan
  /** Redacts everything that the run prints or records. */
  abstract readonly output: RedactedOutput
  /** Whether the source is a cluster, whose state changes while a view shows it. */
  abstract readonly isLive: boolean

  /** The present time of the source, in milliseconds since the epoch. */
  abstract now(): number
  /** Whether the source will report the first list of a request. */
  abstract willSync(request: WatchRequest): boolean
  /** Passes the events to a consumer until the consumer is over, or the run is cancelled. */
  abstract follow(consumer: EventConsumer): Promise<void>

  /** The record of the gate. A live run adds how objects differ from their manifests. */
  protected recordOf(gate: Gate): JudgedRunRecord {
    return gate.record()
  }

  /** Runs a gate until it is over, and prints its entries. A live run overrides this, to read evidence and logs too. */
  async runGate(): Promise<Gate> {
    const { plan, output } = this
    const gate = this.createGate(output.onEntry)
    output.onStart(() => gate.record(this.now()), plan.notices)
    await this.follow(gate)
    return gate
  }

  createGate(onEntry?: (entry: Entry) => void): Gate {
    const { targets, settings, afterReady } = this.plan
    return new Gate(targets, settings, (request) => this.willSync(request), onEntry, afterReady)
  }

  /** Runs a gate. Returns the redacted record with the evidence. */
  async gateTargets(): Promise<EndedRunRecord> {
    const gate = await this.runGate()
    const record = this.recordOf(gate)
    if (!isEndedRecord(record)) throw new Error('The gate ended without a verdict.')
    // If everything is ready, there is no evidence to add, and its modules are not loaded.
    if (record.outcome === 'ready' && record.targets.every(({ outcome }) => outcome === 'ready'))
      return this.output.redact({ ...record, targets: record.targets.map((judged) => addChanges(judged, gate.store)) })
    return { ...(await this.#addDiagnosis(gate, record)), outcome: record.outcome }
  }

  /** Assesses the targets once, by the first lists. Returns the redacted record with the evidence. */
  async checkOnce(): Promise<RunRecord> {
    const { singleCheckRecord } = await import('../views/single-check.ts')
    const gate = await this.runGate()
    const now = this.now()
    gate.advance(now)
    return this.#addDiagnosis(gate, singleCheckRecord(gate, now))
  }

  async #addDiagnosis(gate: Gate, record: JudgedRunRecord): Promise<RunRecord> {
    const { addDiagnosis } = await import('../diagnosis/diagnosis.ts')
    const { settings, manifests, usesFlags } = this.plan
    return this.output.redact(addDiagnosis(record, gate.store, settings.serverOffsetMs, manifests, usesFlags))
  }
}
