import { awaitUnlessAborted } from '../cluster/clock.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { ApiResource, FeedEvent, Observation } from '../cluster/feed.ts'
import { type EventConsumer, Follower } from '../cluster/follower.ts'
import type { KubeObject } from '../cluster/objects.ts'
import { EvidenceReader } from '../diagnosis/evidence-reader.ts'
import { ManifestDrift } from '../diagnosis/manifest-drift.ts'
import { errorText, UserError } from '../errors.ts'
import type { Gate } from '../gate/gate.ts'
import type { JudgedRunRecord } from '../gate/run-record.ts'
import { gateSettings } from '../gate/settings.ts'
import type { Entry } from '../gate/timeline-entries.ts'
import { withComparableManifests } from '../plan/manifest-equality.ts'
import type { Target } from '../plan/target.ts'
import type { RecordingWriter } from '../recording/writer.ts'
import { evidenceFinishMs, evidenceFinishWhenCancelledMs, singleCheckMs } from '../thresholds.ts'
import type { HttpChecker } from './http-checker.ts'
import type { LiveLogs } from './live-logs.ts'
import { RedactedOutput } from './redacted-output.ts'
import { Run } from './run.ts'
import { completePlan, type LiveSource, planTargets, type RunOptions, type RunPlan } from './run-plan.ts'

/* A run on a cluster: it connects the gate with watches, evidence, logs, http checks and the recording. */

/**
 * Finds the targets, and returns the run that judges them. Undefined if `until` was aborted first.
 * @param awaited the revisions of Helm releases for which the gate has waited; empty for the first plan
 * @throws UserError for invalid input, or if the credentials may not forward the ports to which requests must be sent
 */
export async function planLiveRun(
  source: LiveSource,
  kinds: readonly ApiResource[],
  awaited: readonly Target[],
  until: AbortSignal,
): Promise<LiveRun | undefined> {
  const { options, startedAt, healthChecks, cluster } = source
  const { inputs, clock } = options
  const found = await awaitUnlessAborted(planTargets(source, kinds, awaited, until), until)
  if (found === undefined) return undefined
  const { context, version: serverVersion = '', serverOffsetMs } = cluster
  const settings = gateSettings(inputs, { startedAt, context, serverVersion, serverOffsetMs })
  const plan = await completePlan(found, settings, healthChecks, options, clock.now() + singleCheckMs)
  if (plan.afterReady?.httpChecks.length) {
    const { checkPortForwardAccess } = await import('./http-checker.ts')
    await checkPortForwardAccess(plan.afterReady.httpChecks, cluster)
  }
  return new LiveRun(source, plan)
}

/** A run on a cluster. */
export class LiveRun extends Run {
  readonly plan: RunPlan
  readonly output: RedactedOutput
  readonly isLive = true
  readonly #source: LiveSource
  #drift: ManifestDrift | undefined

  constructor(source: LiveSource, plan: RunPlan) {
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

  follow(consumer: EventConsumer): Promise<void> {
    const { output } = this
    const { clock } = this.#options
    output.follow(() => consumer.requests)
    return this.#run(new Follower(consumer, this.#cluster, clock, clock.now(), (event) => output.observe(event)))
  }

  override async runGate(): Promise<Gate> {
    const { purpose, inputs, clock, cancelled } = this.#options
    const { output, plan } = this
    const cluster = this.#cluster
    let logs: LiveLogs | undefined
    let evidence: EvidenceReader | undefined
    const report = (entry: Entry) => (logs === undefined ? output.onEntry(entry) : logs.showEntry(entry))
    const gate = this.createGate((entry) => {
      report(entry)
      evidence?.onEntry(entry)
    })
    output.onStart(() => gate.record(this.now()), plan.notices)
    const recording = await this.#openRecording()
    this.#drift = purpose === 'gate' ? new ManifestDrift(plan, cluster.redactor) : undefined
    const onEvent = (event: FeedEvent) => {
      output.observe(event)
      evidence?.observe(event)
      // The user cancels the command `record` to end it: unlike in a gate, this is no event of the recording.
      const isEnd = purpose === 'recording' && event.type === 'CANCEL'
      if (recording !== undefined && !isEnd) output.push(() => recording.write(event))
      this.#reportDrift(event, gate, report)
    }
    const onUpdate = () => {
      checker?.update(gate.questions)
      logs?.update()
    }
    const follower = new Follower(gate, cluster, clock, clock.now(), onEvent, onUpdate)
    const observe = (observation: Observation) => follower.observe(observation)
    const checker = await this.#openChecker(observe)
    logs = await this.#openLogs(gate)
    evidence = new EvidenceReader(gate, cluster, observe, inputs.logLines)
    const finish = async () => {
      checker?.close()
      // The runner soon kills a cancelled job.
      const limitMs = cancelled.aborted ? evidenceFinishWhenCancelledMs : evidenceFinishMs
      await Promise.all([evidence?.finish(clock, limitMs), logs?.finish()])
    }
    output.follow(() => gate.requests)
    try {
      observe({ type: 'DISCOVERY', resources: plan.kinds })
      await this.#run(follower, finish)
    } finally {
      checker?.close()
      logs?.close()
      // A recording that cannot be written does not change the verdict.
      await recording?.end(this.now()).catch((error) => this.#reportUnwritten(error))
      output.flush()
    }
    return gate
  }

  /**
   * Passes the events of the cluster on until the consumer is over or the run is cancelled. Then prints the last texts.
   * @param finish resolves when no more texts will be queued
   * @throws the error of the consumer
   */
  async #run(follower: Follower, finish = async () => {}): Promise<void> {
    const { cancelled } = this.#options
    const { output } = this
    const cancel = () => follower.cancel()
    cancelled.addEventListener('abort', cancel)
    try {
      if (cancelled.aborted) cancel()
      await follower.run()
      await finish()
      await output.finish((requests) => this.#cluster.refresh(requests), cancelled)
    } finally {
      output.flush()
      cancelled.removeEventListener('abort', cancel)
    }
  }

  /** Reports how the object of an event differs from its manifest. */
  #reportDrift(event: FeedEvent, gate: Gate, report: (entry: Entry) => void): void {
    if ('object' in event && gate.isAwaitingChange(event.object)) return
    for (const { entry, warning } of this.#drift?.observe(event) ?? []) {
      if (warning === undefined) report(entry)
      else this.output.onWarning(warning.text, warning.source)
    }
  }

  protected override recordOf(gate: Gate): JudgedRunRecord {
    return this.#drift?.addNotesTo(gate.record()) ?? gate.record()
  }

  /** Opens the sender of `http-checks`. Its code is loaded only if needed. */
  async #openChecker(observe: (observation: Observation) => void): Promise<HttpChecker | undefined> {
    const { clock, secrets } = this.#options
    if (!this.plan.afterReady?.httpChecks.length) return undefined
    const { HttpChecker } = await import('./http-checker.ts')
    const { onWarning } = this.output
    return new HttpChecker({ cluster: this.#cluster, clock, redact: secrets.redact, observe, onWarning })
  }

  async #openLogs(gate: Gate): Promise<LiveLogs | undefined> {
    const { clock, cancelled } = this.#options
    const { targets, streamed } = this.plan
    if (!streamed?.size) return undefined
    const { LiveLogs } = await import('./live-logs.ts')
    const { startedAt, serverOffsetMs } = this.plan.settings
    return new LiveLogs({
      gate,
      targets,
      streamed,
      source: this.#cluster,
      clock,
      startedAt: startedAt + serverOffsetMs,
      output: this.output,
      cancelled,
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
}
