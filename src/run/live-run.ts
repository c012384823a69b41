import type { Checker } from '../checks/checker.ts'
import { unlessAborted } from '../cluster/clock.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { ApiResource, FeedEvent, Observation, WatchRequest } from '../cluster/feed.ts'
import type { KubeObject } from '../cluster/objects.ts'
import { EvidenceReader } from '../diagnosis/evidence-reader.ts'
import { ManifestDrift } from '../diagnosis/manifest-drift.ts'
import { duration } from '../duration.ts'
import { UserError } from '../errors.ts'
import { Exit } from '../exit.ts'
import type { AfterReadyFactory } from '../gate/after-ready.ts'
import type { Gate } from '../gate/gate.ts'
import { type EndedRunRecord, type Entry, emptyRecord, type JudgedRunRecord, verdictOf } from '../gate/run-record.ts'
import { type GateSettings, gateSettings, gateTimeoutMs, lookSettings, recordSettings } from '../gate/settings.ts'
import { loadChecks } from '../lifecycle/rules.ts'
import type { LiveLogs } from '../logs/live-logs.ts'
import type { Checks } from '../plan/checks.ts'
import { findEntry, type HealthCheck } from '../plan/health-check-entries.ts'
import { withComparableManifests } from '../plan/manifest-equality.ts'
import { nameKey, type Target } from '../plan/target.ts'
import type { RecordingWriter } from '../recording/writer.ts'
import { evidenceFinishMs, evidenceFinishWhenCancelledMs, lookMs } from '../thresholds.ts'
import type { View } from '../trace/views.ts'
import { follow, followView } from './follow.ts'
import { judgeTargets, type Run } from './run.ts'
import { openFiles, type RunOptions } from './run-inputs.ts'
import { type LivePlan, planTargets } from './run-plan.ts'

/**
 * Gates a rollout: connects, plans, watches, explains. Prints nothing, and writes only the recording.
 * @throws UserError for invalid input (outcome `misconfigured`); the file system's error if a required recording could not be
 * written
 */
export async function gateRollout(options: RunOptions): Promise<EndedRunRecord> {
  const run = await LiveRun.open(options)
  try {
    return await run.judge()
  } finally {
    run.end()
  }
}

/** A run on a cluster. */
export class LiveRun implements Run {
  readonly cluster: Cluster
  readonly exit: Exit
  readonly references: Run['references']
  readonly usesFlags: boolean | undefined
  readonly #options: RunOptions
  readonly #healthChecks: readonly HealthCheck[]
  readonly #startedAt: number
  #kinds: readonly ApiResource[] | undefined
  #planned: LivePlan | undefined
  #settings: GateSettings | undefined
  afterReady: AfterReadyFactory | undefined
  /** The number of events in the recording; undefined without one. */
  recordedEvents: number | undefined
  #checker: Checker | undefined
  #drift: ManifestDrift | undefined
  #logs: LiveLogs | undefined
  #evidence: EvidenceReader | undefined
  #names: readonly string[] | 'reading' | undefined

  /** Use `open`. */
  constructor(options: RunOptions, startedAt: number, healthChecks: readonly HealthCheck[], cluster: Cluster) {
    const { purpose, references, usesFlags, reporter, secrets, clock } = options
    this.#options = options
    this.#startedAt = startedAt
    this.#healthChecks = healthChecks
    this.cluster = cluster
    this.references = references
    this.usesFlags = usesFlags
    // The first lists contain what one look quotes: it waits for no later object.
    this.exit = new Exit(reporter, secrets, clock, purpose === 'look' ? 0 : undefined)
  }

  /**
   * Reads the health checks and the kubeconfig. Sends no request.
   * @throws UserError with the mistakes of both
   */
  static async open(options: RunOptions): Promise<LiveRun> {
    const startedAt = options.clock.now()
    return new LiveRun(options, startedAt, ...(await openFiles(options.inputs, options)))
  }

  get planned(): LivePlan {
    if (this.#planned === undefined) throw new Error('The run has no plan.')
    return this.#planned
  }

  get settings(): GateSettings {
    if (this.#settings === undefined) throw new Error('The run has no plan.')
    return this.#settings
  }

  now(): number {
    return this.#options.clock.now()
  }

  /** Every requested watch is started, so each first list will come. */
  readonly willSync = (): boolean => true

  /** Reads the names at the first call. Without permission to list them, they stay unknown. */
  namesOf(request: WatchRequest): readonly string[] | undefined {
    if (this.#names === undefined) {
      this.#names = 'reading'
      this.cluster.select(request).then(
        (objects) => {
          this.#names = objects.map(({ metadata }) => metadata.name)
        },
        () => {},
      )
    }
    return this.#names === 'reading' ? undefined : this.#names
  }

  /**
   * Finds the targets, and the settings with which they are judged.
   * @param awaited the revisions of Helm releases for which the gate has waited until now
   * @returns false if cancelled, or if a gate's timeout has passed, before the targets were known
   * @throws UserError for invalid input
   */
  async plan(awaited: readonly Target[] = []): Promise<boolean> {
    const { purpose, clock, cancelled } = this.#options
    const { cluster } = this
    const late = new AbortController()
    const until = AbortSignal.any([cancelled, late.signal])
    const leftMs = this.#startedAt + this.#timeoutMs - clock.now()
    const isLimited = purpose === 'gate' && this.#timeoutMs > 0 && awaited.length === 0
    const stop = isLimited ? clock.after(Math.max(0, leftMs), () => late.abort()) : () => {}
    try {
      const kinds = this.#kinds ?? (await unlessAborted(cluster.discover(), cancelled))
      if (kinds === undefined) return false
      this.#kinds = kinds
      const planning = { run: this.#options, cluster, kinds, healthChecks: this.#healthChecks, until }
      const planned = await unlessAborted(planTargets(planning, awaited), until)
      if (planned === undefined) return false
      const settings = await this.#settingsOf(planned)
      // A gate that awaits a change compares the change with the manifests.
      this.#planned = settings.awaitChangeMs > 0 ? withComparableManifests(planned, cluster.redact) : planned
      this.#settings = settings
    } finally {
      stop()
    }
    const { targets, manifests, checks } = this.planned
    this.#options.secrets.exempt(targets.flatMap(({ name, namespace = '' }) => [name, namespace, cluster.context]))
    // Manifests contain the Secrets and pod templates that the cluster will return.
    for (const { object } of manifests.values()) cluster.redact(object as unknown as KubeObject)
    if (purpose === 'gate' && checks !== undefined) await this.#openChecks(checks)
    return true
  }

  get #timeoutMs(): number {
    const { timeoutMs, written } = this.#options.inputs
    return gateTimeoutMs({ timeoutMs, timeoutIsLiteral: written.has('timeout') }, this.#options.references.references)
  }

  async #settingsOf({ targets, kinds, annotations }: LivePlan): Promise<GateSettings> {
    const { purpose, inputs, clock } = this.#options
    const { context, version: serverVersion = '', serverOffsetMs } = this.cluster
    const healthChecks = this.#healthChecks
    const judged = targets.filter((target) => target.waitFor === undefined && findEntry(target, healthChecks))
    const settings = gateSettings(inputs, {
      startedAt: this.#startedAt,
      context,
      serverVersion,
      serverOffsetMs,
      healthChecks,
      ...(await loadChecks(targets, kinds)),
      annotations,
      healthCheckKinds: [...new Set(judged.map(({ kind }) => kind))],
    })
    if (purpose === 'look') return lookSettings(settings, clock.now() + lookMs)
    return purpose === 'recording' ? recordSettings(settings) : settings
  }

  /**
   * Finds the targets and judges them. Revisions of Helm releases that are pending are judged first. Once these are ready, the
   * targets are found once more; also if one has failed, because what Helm has applied explains that, and what a rollback has
   * restored.
   */
  async judge(): Promise<EndedRunRecord> {
    if (!(await this.plan())) return this.#unplannedRecord()
    const record = await judgeTargets(this)
    const { awaitsHelm, targets } = this.planned
    if (!awaitsHelm || !['ready', 'failed'].includes(record.outcome)) return record
    this.cluster.endWatches()
    if (!(await this.plan(targets))) return this.#unplannedRecord()
    // Helm has deleted a revision that failed.
    const failed = record.targets.filter(({ outcome }) => outcome === 'failed').map(nameKey)
    const kept = new Set(this.planned.targets.map(nameKey))
    return failed.every((key) => kept.has(key)) ? judgeTargets(this) : record
  }

  /** Without its targets, nothing is known of the rollout, and no input is wrong. */
  #unplannedRecord(): EndedRunRecord {
    const outage = `the API server has not listed the resources to gate within ${duration(this.#timeoutMs)}`
    const verdict = this.#options.cancelled.aborted
      ? verdictOf('cancelled', 'cancelled', {})
      : verdictOf('unknown', 'api-unreachable', { outage })
    return emptyRecord(verdict, this.#startedAt, this.now())
  }

  readonly onEntry = (entry: Entry): void => {
    this.#report(entry)
    this.#evidence?.onEntry(entry)
  }

  #report(entry: Entry): void {
    if (this.#logs === undefined) this.exit.onEntry(entry)
    else this.#logs.entry(entry)
  }

  async follow(gate: Gate): Promise<void> {
    const { purpose, inputs, clock, cancelled } = this.#options
    const { exit, cluster } = this
    const checker = this.#checker
    const recording = await this.#openRecording()
    this.#drift = purpose === 'gate' ? new ManifestDrift(this.planned, cluster.redact) : undefined
    this.#logs = await this.#openLogs(gate)
    const ask = () => checker?.update(gate.questions)
    const onStart = (observe: (observation: Observation) => void) => {
      const onAnswer = (answer: Observation) => {
        observe(answer)
        ask()
      }
      checker?.start({ observe: onAnswer, onWarning: exit.onWarning })
      this.#evidence = new EvidenceReader(gate, cluster, observe, inputs.logLines)
      observe({ type: 'DISCOVERY', resources: this.planned.kinds })
    }
    const onEvent = (event: FeedEvent) => {
      this.#evidence?.observe(event)
      this.#logs?.update()
      if (recording !== undefined) this.#record(recording, event)
      this.#compare(event, gate)
    }
    const finish = async () => {
      checker?.close()
      // A cancelled job has little time left.
      const limitMs = cancelled.aborted ? evidenceFinishWhenCancelledMs : evidenceFinishMs
      await Promise.all([this.#evidence?.finish(clock, limitMs), this.#logs?.finish()])
    }
    try {
      const { texts } = exit
      await follow(gate, cluster, { clock, texts, cancelled, onStart, onEvent, onUpdate: ask, finish })
    } finally {
      checker?.close()
      this.#logs?.close()
      await this.#endRecording(recording)
    }
  }

  /** Reports how a live object differs from its manifest. */
  #compare(event: FeedEvent, gate: Gate): void {
    if ('object' in event && gate.awaitsChange(event.object)) return
    for (const { entry, warning } of this.#drift?.observe(event) ?? []) {
      if (warning === undefined) this.#report(entry)
      else this.exit.onWarning(warning.text, warning.source)
    }
  }

  complete(record: JudgedRunRecord): JudgedRunRecord {
    return this.#drift?.addTo(record) ?? record
  }

  async #openLogs(gate: Gate): Promise<LiveLogs | undefined> {
    const { clock, cancelled } = this.#options
    const { targets, streamed } = this.planned
    if (streamed.size === 0) return undefined
    const { LiveLogs } = await import('../logs/live-logs.ts')
    const { onEntry, onLog, onWarning } = this.exit
    return new LiveLogs({
      gate,
      targets,
      streamed,
      source: this.cluster,
      clock,
      startedAt: this.#startedAt + this.settings.serverOffsetMs,
      listener: { onEntry, onLog, onWarning, cancelled },
    })
  }

  /**
   * Loads the checks after the targets are ready, and checks the access that their requests need.
   * @throws UserError if access is missing
   */
  async #openChecks(checks: Checks): Promise<void> {
    const { clock, secrets } = this.#options
    this.afterReady = (await import('../gate/after-ready.ts')).afterReady(checks)
    if (checks.httpChecks.length === 0) return
    const { Checker } = await import('../checks/checker.ts')
    this.#checker = new Checker({ checks, cluster: this.cluster, clock, redact: secrets.redact })
    await this.#checker.review()
  }

  /** A recording that cannot be written is a warning, unless it is the purpose of the command. */
  async #openRecording(): Promise<RecordingWriter | undefined> {
    const { inputs, secrets, requiresRecording } = this.#options
    if (inputs.record === undefined) return undefined
    const { startRecording } = await importWriter()
    try {
      return await startRecording(inputs.record, this.planned, this.settings, inputs, secrets.redact)
    } catch (error) {
      if (requiresRecording || !(error instanceof UserError)) throw error
      for (const { message } of error.mistakes) this.exit.onWarning(message)
      return undefined
    }
  }

  /** A gate that is cancelled has another verdict; a recording that is cancelled has its end. */
  #record(recording: RecordingWriter, event: FeedEvent): void {
    if (event.type === 'CANCEL' && this.#options.purpose === 'recording') return
    this.recordedEvents = (this.recordedEvents ?? 0) + 1
    this.exit.record(recording, event)
  }

  async #endRecording(recording: RecordingWriter | undefined): Promise<void> {
    const { inputs, requiresRecording } = this.#options
    try {
      await recording?.end(this.now())
    } catch (error) {
      if (requiresRecording) throw error
      // The verdict does not depend on the recording.
      const { describeWriteFailure } = await importWriter()
      this.exit.onWarning(describeWriteFailure(inputs.record, error))
      this.exit.texts.flush()
    }
  }

  show(view: View): Promise<boolean> {
    const { clock, cancelled } = this.#options
    return followView(view, this.cluster, { clock, texts: this.exit.texts, cancelled })
  }

  end(): void {
    this.cluster.close()
  }
}

/** Loads what recordings need, such as `node:zlib`. A gate that is not recorded starts faster without it. */
const importWriter = () => import('../recording/writer.ts')
