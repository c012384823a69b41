import { awaitUnlessAborted, type Clock } from '../cluster/clock.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { ApiResource, FeedEvent, Observation } from '../cluster/feed.ts'
import { type EventConsumer, Follower, type WatchedCluster } from '../cluster/follower.ts'
import type { KubeObject } from '../cluster/objects.ts'
import { EvidenceReader } from '../diagnosis/evidence-reader.ts'
import { ManifestDrift } from '../diagnosis/manifest-drift.ts'
import { errorText, UserError } from '../errors.ts'
import type { Gate } from '../gate/gate.ts'
import type { JudgedRunRecord } from '../gate/run-record.ts'
import { gateSettings, settingsForPurpose } from '../gate/settings.ts'
import type { Entry } from '../gate/timeline-entries.ts'
import { loadChecks } from '../lifecycle/rules.ts'
import { findEntry } from '../plan/health-checks.ts'
import { withComparableManifests } from '../plan/manifest-equality.ts'
import type { Target } from '../plan/target.ts'
import type { RecordingWriter } from '../recording/writer.ts'
import { evidenceFinishMs, evidenceFinishWhenCancelledMs, singleCheckMs } from '../thresholds.ts'
import type { HttpChecker } from './http-checker.ts'
import type { LiveLogs } from './live-logs.ts'
import { RedactedOutput, type TextQueue } from './redacted-output.ts'
import { Run, type RunPlan } from './run.ts'
import { type LivePlan, type LiveSource, planTargets, type RunOptions } from './run-plan.ts'

/* A run on a cluster: it connects the gate with watches, evidence, logs, http checks and the recording. */

/**
 * Finds the targets, and returns the run that judges them. Undefined if `until` was aborted first.
 * @param awaited the revisions of Helm releases for which the gate has waited; empty for the first plan
 * @throws UserError for invalid input
 */
export async function planLiveRun(
  source: LiveSource,
  kinds: readonly ApiResource[],
  awaited: readonly Target[],
  until: AbortSignal,
): Promise<LiveRun | undefined> {
  const planned = await awaitUnlessAborted(planTargets(source, kinds, awaited, until), until)
  return planned && new LiveRun(source, await completePlan(source, planned))
}

type CompletePlan = LivePlan & RunPlan

/**
 * Adds the settings to a plan, and for a gate `http-checks` and `hold`. Their code is loaded only if needed.
 * @throws UserError if the credentials may not forward ports of pods, and requests must be sent to pods
 */
async function completePlan(
  { options, startedAt, healthChecks, cluster }: LiveSource,
  planned: LivePlan,
): Promise<CompletePlan> {
  const { purpose, inputs, clock, usesFlags = false } = options
  const { context, version: serverVersion = '', serverOffsetMs } = cluster
  const judged = planned.targets.filter((target) => target.waitFor === undefined && findEntry(target, healthChecks))
  const settings = gateSettings(inputs, {
    startedAt,
    context,
    serverVersion,
    serverOffsetMs,
    healthChecks,
    ...(await loadChecks(planned.targets, planned.kinds)),
    annotations: planned.annotations,
    healthCheckKinds: [...new Set(judged.map(({ kind }) => kind))],
  })
  const singleCheckEndsAt = clock.now() + singleCheckMs
  const plan = { ...planned, settings: settingsForPurpose(purpose, settings, singleCheckEndsAt), usesFlags }
  const { checks } = planned
  if (purpose !== 'gate' || checks === undefined) return plan
  const { AfterReady } = await import('../gate/after-ready.ts')
  if (checks.httpChecks.length > 0) {
    const { checkPortForwardAccess } = await import('./http-checker.ts')
    await checkPortForwardAccess(checks.httpChecks, cluster)
  }
  return { ...plan, afterReady: new AfterReady(checks) }
}

/** A run on a cluster. */
export class LiveRun extends Run {
  readonly plan: CompletePlan
  readonly output: RedactedOutput
  readonly isLive = true
  readonly #source: LiveSource
  #drift: ManifestDrift | undefined
  #logs: LiveLogs | undefined
  #evidence: EvidenceReader | undefined

  constructor(source: LiveSource, plan: CompletePlan) {
    super()
    const { options, cluster } = source
    const { reporter, secrets, clock } = options
    this.#source = source
    // A gate that awaits a change compares live objects with their manifests.
    this.plan = plan.settings.awaitChangeMs > 0 ? withComparableManifests(plan, cluster.redactor) : plan
    this.output = new RedactedOutput(reporter, secrets, clock)
    secrets.keepReadable(plan.targets.flatMap(({ name, namespace = '' }) => [name, namespace, cluster.context]))
    // The redactor must know the secrets in manifests before the cluster returns them.
    for (const { object } of plan.manifests.values()) cluster.redactor.redact(object as unknown as KubeObject)
  }

  get #cluster(): Cluster {
    return this.#source.cluster
  }

  get #options(): RunOptions {
    return this.#source.options
  }

  now(): number {
    return this.#options.clock.now()
  }

  /** Always true, because a cluster answers every request. */
  willSync(): boolean {
    return true
  }

  protected override onEntry(entry: Entry): void {
    this.#report(entry)
    this.#evidence?.onEntry(entry)
  }

  #report(entry: Entry): void {
    if (this.#logs === undefined) this.output.onEntry(entry)
    else this.#logs.showEntry(entry)
  }

  protected override async followGate(gate: Gate): Promise<void> {
    const { purpose, inputs, clock, cancelled } = this.#options
    const { output } = this
    const cluster = this.#cluster
    const createChecker = await this.#loadChecker()
    let checker: HttpChecker | undefined
    const recording = await this.#openRecording()
    this.#drift = purpose === 'gate' ? new ManifestDrift(this.plan, cluster.redactor) : undefined
    this.#logs = await this.#openLogs(gate)
    const ask = () => checker?.update(gate.questions)
    const onStart = (observe: (observation: Observation) => void) => {
      checker = createChecker?.(observe)
      this.#evidence = new EvidenceReader(gate, cluster, observe, inputs.logLines)
      observe({ type: 'DISCOVERY', resources: this.plan.kinds })
    }
    const onEvent = (event: FeedEvent) => {
      this.#evidence?.observe(event)
      this.#logs?.update()
      // The user cancels the command `record` to end it: unlike in a gate, this is no event of the recording.
      const isEnd = purpose === 'recording' && event.type === 'CANCEL'
      if (recording !== undefined && !isEnd) output.push(() => recording.write(event))
      this.#reportDrift(event, gate)
    }
    const finish = async () => {
      checker?.close()
      // The runner soon kills a cancelled job.
      const limitMs = cancelled.aborted ? evidenceFinishWhenCancelledMs : evidenceFinishMs
      await Promise.all([this.#evidence?.finish(clock, limitMs), this.#logs?.finish()])
    }
    try {
      await follow(gate, cluster, { clock, output, cancelled, onStart, onEvent, onUpdate: ask, finish })
    } finally {
      checker?.close()
      this.#logs?.close()
      // A recording that cannot be written does not change the verdict.
      await recording?.end(this.now()).catch((error) => this.#reportUnwritten(error))
      output.flush()
    }
  }

  /** Reports how the object of an event differs from its manifest. */
  #reportDrift(event: FeedEvent, gate: Gate): void {
    if ('object' in event && gate.isAwaitingChange(event.object)) return
    for (const { entry, warning } of this.#drift?.observe(event) ?? []) {
      if (warning === undefined) this.#report(entry)
      else this.output.onWarning(warning.text, warning.source)
    }
  }

  protected override recordOf(gate: Gate): JudgedRunRecord {
    return this.#drift?.addNotesTo(gate.record()) ?? gate.record()
  }

  /** Loads the module that sends requests to pods. Undefined if there are no `http-checks`. */
  async #loadChecker(): Promise<((observe: (answer: Observation) => void) => HttpChecker) | undefined> {
    const { clock, secrets } = this.#options
    if (!this.plan.afterReady?.httpChecks.length) return undefined
    const { HttpChecker } = await import('./http-checker.ts')
    const { output } = this
    const cluster = this.#cluster
    return (observe) =>
      new HttpChecker({ cluster, clock, redact: secrets.redact, observe, onWarning: output.onWarning })
  }

  async #openLogs(gate: Gate): Promise<LiveLogs | undefined> {
    const { clock, cancelled } = this.#options
    const { targets, streamed } = this.plan
    if (streamed.size === 0) return undefined
    const { LiveLogs } = await import('./live-logs.ts')
    const { onEntry, onLog, onWarning } = this.output
    return new LiveLogs({
      gate,
      targets,
      streamed,
      source: this.#cluster,
      clock,
      startedAt: this.plan.settings.startedAt + this.plan.settings.serverOffsetMs,
      listener: { onEntry, onLog, onWarning, cancelled },
    })
  }

  async #openRecording(): Promise<RecordingWriter | undefined> {
    const { inputs, secrets } = this.#options
    if (inputs.record === undefined) return undefined
    // Loaded only if needed: modules such as `node:zlib` slow down the start of the gate.
    const { startRecording } = await import('../recording/writer.ts')
    return startRecording(inputs.record, this.plan, inputs, secrets.redact).catch((error) =>
      this.#reportUnwritten(error),
    )
  }

  /** Reports that the recording cannot be written: an error if the recording is required, otherwise a warning. */
  #reportUnwritten(error: unknown): undefined {
    const { inputs, requiresRecording } = this.#options
    const message = `The recording ${inputs.record} could not be written: ${errorText(error)}`
    if (requiresRecording) throw new UserError([{ input: 'record', message }])
    this.output.onWarning(message)
  }

  follow(consumer: EventConsumer): Promise<void> {
    const { clock, cancelled } = this.#options
    return follow(consumer, this.#cluster, { clock, output: this.output, cancelled })
  }
}

interface FollowOptions {
  readonly clock: Clock
  /** The queue of texts, which wait until all secrets are known. */
  readonly output: TextQueue
  /** Aborted by Ctrl-C, or when the job is cancelled. */
  readonly cancelled: AbortSignal
  /** Called before the first event. `observe` adds an observation that does not come from a watch. */
  readonly onStart?: (observe: (observation: Observation) => void) => void
  /** Called with every event before the consumer handles it. */
  readonly onEvent?: (event: FeedEvent) => void
  /** Called after events and deadlines. */
  readonly onUpdate?: () => void
  /** Called when the consumer is over. Resolves when no more texts will be queued. */
  readonly finish?: () => Promise<unknown>
}

/**
 * Passes the events of a cluster to a consumer until the consumer is over or the run is cancelled. Then prints the last
 * texts.
 * @throws the error of the consumer
 */
export async function follow(
  consumer: EventConsumer,
  cluster: WatchedCluster,
  { clock, output, cancelled, onStart, onEvent, onUpdate, finish }: FollowOptions,
): Promise<void> {
  const onEach = (event: FeedEvent) => {
    output.observe(event)
    onEvent?.(event)
  }
  const follower = new Follower(consumer, cluster, clock, clock.now(), onEach, onUpdate)
  const cancel = () => follower.cancel()
  output.follow(() => consumer.requests)
  cancelled.addEventListener('abort', cancel)
  try {
    onStart?.((observation) => follower.observe(observation))
    if (cancelled.aborted) cancel()
    await follower.run()
    await finish?.()
    await output.finish((requests) => cluster.refresh(requests), cancelled)
  } finally {
    output.flush()
    cancelled.removeEventListener('abort', cancel)
  }
}
