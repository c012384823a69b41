import { type Clock, systemClock } from './cluster/clock.ts'
import type { Cluster } from './cluster/cluster.ts'
import type { ApiResource, FeedEvent, WatchRequest } from './cluster/feed.ts'
import { Follower } from './cluster/follower.ts'
import type { KubeObject } from './cluster/objects.ts'
import { EvidenceReader } from './diagnosis/evidence-reader.ts'
import { explain } from './diagnosis/explain.ts'
import { ManifestDrift } from './diagnosis/manifest-drift.ts'
import { together, UserError } from './errors.ts'
import { Gate } from './gate/gate.ts'
import { type GateSettings, gateSettings, gateTimeoutMs } from './gate/settings.ts'
import type { EndedTimeline, Entry, Timeline } from './gate/timeline.ts'
import { consolidate } from './gate/watch-requests.ts'
import { openFiles } from './input-files.ts'
import { extraInputs, type Inputs } from './inputs.ts'
import { LiveLogs } from './logs/live-logs.ts'
import type { LogOutput } from './logs/log-streams.ts'
import { neverBegun } from './never-begun.ts'
import type { HealthCheck } from './plan/health-checks.ts'
import { applyLiveAnnotations } from './plan/manifests/annotations.ts'
import { withAwaited } from './plan/manifests/differences.ts'
import type { ParsedReferences } from './plan/references.ts'
import { type Plan, type ResolvedPlan, resolveReferences, resolveTargets } from './plan/resolve.ts'
import { chooseStreamed, resolveStreamLogs } from './plan/stream-logs.ts'
import { nameKey, type Source, type Target, targetWatch } from './plan/target.ts'
import { recordingVersion } from './recording/format.ts'
import { RecordingWriter } from './recording/write.ts'

/** What the gate is about to do, for the head of the log. */
export interface RolloutHead {
  readonly startedAt: number
  readonly context: string
  readonly timeoutMs: number
  readonly stallTimeoutMs: number
  readonly targets: readonly Target[]
  /** What the user should hear of how his lines were read. Not yet escaped. */
  readonly notices: readonly string[]
}

/** How a shell hears of a rollout while it is gated. */
export interface Listener {
  readonly mask: (secret: string) => void
  readonly onHead: (head: RolloutHead) => void
  readonly onEntry: (entry: Entry) => void
  /** A line of a log that the user wants to see live. Not yet escaped. */
  readonly onLog: (output: LogOutput) => void
  /** The gate begins; `look` gives its present state at any time, for those who show it. */
  readonly onStart?: (look: (now: number) => Timeline) => void
  /**
   * Something that decides nothing and that the user should know: a live object that is not as its manifest, which
   * `source` then points to. Not yet escaped.
   */
  readonly onWarning: (text: string, source?: Source) => void
  /** Aborted when the job is cancelled. */
  readonly cancelled: AbortSignal
}

/** Evidence is waited for so long at the most; a cancelled job has little time left. */
const evidenceMs = 5_000
const evidenceWhenCancelledMs = 1_500

/**
 * Gates a rollout from the inputs to the verdict: connects, plans, watches, explains. What happened is the returned
 * timeline; nothing is printed and no file is written but the recording.
 * @throws UserError for what only the user can mend (outcome `misconfigured`)
 */
export async function gateRollout(
  inputs: Inputs,
  raw: Readonly<Record<string, string | undefined>>,
  parsed: ParsedReferences,
  listener: Listener,
  clock: Clock = systemClock,
): Promise<EndedTimeline> {
  const startedAt = clock.now()
  const around = { inputs, raw, listener, clock }
  const timeline = await onCluster(parsed, around, startedAt, (plan, settings, cluster) =>
    followPlan(plan, settings, cluster, around),
  )
  const cancelled = { outcome: 'cancelled', reason: 'cancelled', message: 'the job was cancelled' } as const
  return timeline ?? neverBegun(cancelled, startedAt, clock.now())
}

/** What a rollout is watched with and for. */
export interface Surroundings {
  readonly inputs: Inputs
  /** The texts of the inputs, as they go into a recording. */
  readonly raw: Readonly<Record<string, string | undefined>>
  readonly listener: Listener
  readonly clock: Clock
}

/** A plan with what discovery says of the kinds of its targets. */
export interface LivePlan extends ResolvedPlan {
  readonly kinds: readonly ApiResource[]
  /** The places of the targets whose logs are shown live. */
  readonly streamed: ReadonlySet<number>
}

/**
 * Connects, names the targets, tells the listener of them, and then works with the cluster, which is closed afterwards.
 * Nothing when it was cancelled before the targets were known.
 * @throws UserError for what only the user can mend
 */
export async function onCluster<T>(
  parsed: ParsedReferences,
  { inputs, listener, clock }: Surroundings,
  startedAt: number,
  work: (plan: LivePlan, settings: GateSettings, cluster: Cluster) => Promise<T>,
): Promise<T | undefined> {
  const { healthChecks, cluster } = await openFiles(inputs, {
    clock,
    mask: listener.mask,
    secrets: inputs.githubToken === undefined ? [] : [inputs.githubToken],
  })
  try {
    const plan = await unlessCancelled(planTargets(cluster, inputs, parsed, healthChecks), listener.cancelled)
    if (plan === undefined) return undefined
    const settings = gateSettings(inputs, {
      startedAt,
      context: cluster.context,
      serverVersion: cluster.version ?? '',
      serverOffsetMs: cluster.serverOffsetMs,
      healthChecks,
    })
    listener.onHead({
      startedAt,
      context: cluster.context,
      timeoutMs: gateTimeoutMs(settings, plan.targets),
      stallTimeoutMs: inputs.stallTimeoutMs,
      ...plan,
    })
    return await work(plan, settings, cluster)
  } finally {
    cluster.close()
  }
}

async function planTargets(
  cluster: Cluster,
  inputs: Inputs,
  parsed: ParsedReferences,
  healthChecks: readonly HealthCheck[],
): Promise<LivePlan> {
  const resources = await cluster.discover()
  const milestones = Object.keys(inputs.milestoneTimeoutsMs)
  const [resolution, streamResolution] = together(
    () => resolveReferences(parsed, resources, { namespace: cluster.namespace, milestones }),
    () => resolveStreamLogs(inputs.streamLogs, resources),
  )
  const namesOf = async (request: WatchRequest) => (await cluster.select(request)).map(({ metadata }) => metadata.name)
  const names = new Map(
    await Promise.all(resolution.selections.map(async (selection) => [selection, await namesOf(selection)] as const)),
  )
  const plan = resolveTargets(resolution, (selection) => names.get(selection) ?? [])
  const kinds = [...new Set(resolution.resolved.map(({ resource }) => resource))]
  const live = applyLiveAnnotations(
    plan,
    await lookUpLive(cluster, [...plan.manifests.keys()]),
    writtenTimeoutMs(inputs),
  )
  return { ...live, kinds, streamed: await chooseStreamed(streamResolution, live.targets, namesOf, healthChecks) }
}

/** The timeout of the gate that the user wrote, in milliseconds. */
function writtenTimeoutMs({ written, timeoutMs }: Inputs): number | undefined {
  return written.has('timeout') ? timeoutMs : undefined
}

/** The targets as they stand now. One that cannot be read is left to the gate, which says what it means. */
async function lookUpLive(
  cluster: Cluster,
  targets: readonly Target[],
): Promise<(target: Target) => KubeObject | undefined> {
  const lists = await Promise.all(
    consolidate(targets.map(targetWatch)).map((request) => cluster.list(request).catch(() => [])),
  )
  const live = new Map(lists.flat().map((object) => [nameKey({ ...object, ...object.metadata }), object]))
  return (target) => live.get(nameKey(target))
}

async function followPlan(
  found: LivePlan,
  settings: GateSettings,
  cluster: Cluster,
  around: Surroundings,
): Promise<EndedTimeline> {
  const { inputs, listener, clock } = around
  const plan = settings.awaitChangeMs > 0 ? withAwaited(found, cluster.redact) : found
  const recording = inputs.record === undefined ? undefined : startRecording(inputs.record, plan, settings, around.raw)
  const drift = new ManifestDrift(plan, cluster.redact)
  const onEvent = (event: FeedEvent) => {
    recording?.write(event)
    evidence?.observe(event)
    logs?.update()
    if ('object' in event && gate.awaits(event.object)) return
    for (const { entry, warning } of drift.observe(event)) {
      if (warning === undefined) tell(entry)
      else listener.onWarning(warning.text, warning.source)
    }
  }
  let logs: LiveLogs | undefined
  const tell = (entry: Entry) => (logs === undefined ? listener.onEntry(entry) : logs.entry(entry))
  // Every watch that the gate asks for is started, so its first list is always to be expected.
  let evidence: EvidenceReader | undefined
  const gate = new Gate(
    plan.targets,
    settings,
    () => true,
    (entry) => {
      tell(entry)
      evidence?.onEntry(entry)
    },
  )
  logs = openLiveLogs(plan, gate, settings, cluster, around)
  const follower = new Follower(gate, cluster, clock, settings.startedAt, onEvent)
  evidence = new EvidenceReader(gate, cluster, (read) => follower.observe(read), inputs.logLines)
  const cancel = () => follower.observe({ type: 'CANCEL' })
  if (listener.cancelled.aborted) cancel()
  listener.cancelled.addEventListener('abort', cancel)
  listener.onStart?.((now) => gate.timeline(now))
  try {
    follower.observe({ type: 'DISCOVERY', resources: plan.kinds })
    await follower.run()
    await Promise.all([evidence.finish(clock, evidenceLimitMs(listener)), logs.finish()])
  } finally {
    logs.close()
    listener.cancelled.removeEventListener('abort', cancel)
    // The rollout is judged, whatever became of its recording.
    await recording?.end(clock.now()).catch((error: unknown) => listener.onWarning(whyUnwritten(inputs.record, error)))
  }
  const timeline = explain(drift.addTo(gate.timeline()), gate.store, settings.serverOffsetMs, plan.manifests)
  if (timeline.verdict === undefined) throw new Error('The gate ended without a verdict.')
  return { ...timeline, verdict: timeline.verdict }
}

/** The logs that are to be shown beside a gate. */
export function openLiveLogs(
  { targets, streamed }: LivePlan,
  gate: Gate,
  { startedAt, serverOffsetMs }: GateSettings,
  source: Cluster,
  { clock, listener }: Surroundings,
): LiveLogs {
  return new LiveLogs({ gate, targets, streamed, source, clock, startedAt: startedAt + serverOffsetMs, listener })
}

/** How long evidence may be waited for once the gate is over: it never holds up a verdict for long. */
export function evidenceLimitMs({ cancelled }: Pick<Listener, 'cancelled'>): number {
  return cancelled.aborted ? evidenceWhenCancelledMs : evidenceMs
}

/**
 * Begins the recording of a gate.
 * @param raw what the user wrote, as texts by the names of the inputs
 * @throws UserError where the file cannot be written
 */
export function startRecording(
  path: string,
  { targets }: Plan,
  settings: GateSettings,
  raw: Readonly<Record<string, string | undefined>>,
): RecordingWriter {
  try {
    return new RecordingWriter(path, {
      recording: recordingVersion,
      startedAt: new Date(settings.startedAt).toISOString(),
      server: settings.serverVersion,
      context: settings.context,
      serverOffsetMs: settings.serverOffsetMs,
      inputs: recordedInputs(raw),
      targets,
    })
  } catch (error) {
    throw new UserError([{ input: 'record', message: whyUnwritten(path, error) }])
  }
}

/** Not yet escaped. */
export function whyUnwritten(path: string | undefined, error: unknown): string {
  return `The recording ${path} could not be written: ${error instanceof Error ? error.message : error}`
}

/** What the user wrote, but for what is secret or says nothing to a replay. */
function recordedInputs(raw: Readonly<Record<string, string | undefined>>): Record<string, unknown> {
  const shown = Object.entries(raw).filter(
    ([name, value]) =>
      value?.trim() && !['kubeconfig', 'record', 'context', 'stream-logs', ...extraInputs].includes(name),
  )
  return Object.fromEntries(
    shown.map(([name, value = '']) => [
      name,
      ['resources', 'manifests'].includes(name) ? value.split('\n') : value.trim(),
    ]),
  )
}

/** The result, or undefined when the job is cancelled first. */
async function unlessCancelled<T>(work: Promise<T>, cancelled: AbortSignal): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const stop = () => resolve(undefined)
  cancelled.addEventListener('abort', stop)
  if (cancelled.aborted) stop()
  // A request that fails because it was given up is of no interest any more.
  work.catch(() => {})
  try {
    return await Promise.race([work, promise])
  } finally {
    cancelled.removeEventListener('abort', stop)
  }
}
