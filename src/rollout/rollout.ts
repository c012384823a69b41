import type { Checker } from '../checks/checker.ts'
import { unlessAborted } from '../cluster/clock.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { FeedEvent } from '../cluster/feed.ts'
import { type EventConsumer, Follower } from '../cluster/follower.ts'
import type { KubeObject } from '../cluster/objects.ts'
import { EvidenceReader } from '../diagnosis/evidence-reader.ts'
import { ManifestDrift } from '../diagnosis/manifest-drift.ts'
import { duration } from '../duration.ts'
import { UserError } from '../errors.ts'
import { Exit } from '../exit.ts'
import { Gate } from '../gate/gate.ts'
import { type EndedRunRecord, type Entry, emptyRecord, hasEnded, verdictOf } from '../gate/run-record.ts'
import { type GateSettings, gateSettings, gateTimeoutMs } from '../gate/settings.ts'
import { loadChecks } from '../lifecycle/rules.ts'
import type { LiveLogs } from '../logs/live-logs.ts'
import { findEntry, type HealthCheck } from '../plan/health-check-entries.ts'
import { withComparableManifests } from '../plan/manifest-equality.ts'
import { nameKey, type Target } from '../plan/target.ts'
import type { RecordingWriter } from '../recording/writer.ts'
import { evidenceFinishMs, evidenceFinishWhenCancelledMs, quotedTextMs } from '../thresholds.ts'
import { openFiles, type Rollout } from './rollout-inputs.ts'
import { type LivePlan, planTargets } from './rollout-plan.ts'

/**
 * Gates a rollout: connects, plans, watches, explains. Prints nothing, and writes only the recording.
 * @throws UserError for invalid input (outcome `misconfigured`)
 */
export async function gateRollout(rollout: Rollout): Promise<EndedRunRecord> {
  const { clock, cancelled, inputs, references } = rollout
  const startedAt = clock.now()
  const timeoutMs = gateTimeoutMs(
    { timeoutMs: inputs.timeoutMs, timeoutIsLiteral: inputs.written.has('timeout') },
    references.references,
  )
  const late = new AbortController()
  const stop = timeoutMs === 0 ? () => {} : clock.after(timeoutMs, () => late.abort())
  try {
    const work: PlannedWork<EndedRunRecord> = (plan, settings, cluster, exit) => {
      stop()
      return gateTargets(rollout, plan, settings, cluster, exit)
    }
    const record = await withPlan(rollout, startedAt, work, late.signal, (ended) => ended)
    if (record !== undefined) return record
  } finally {
    stop()
  }
  // Without its targets, nothing is known of the rollout, and no input is wrong.
  const outage = `the API server has not listed the resources to gate within ${duration(timeoutMs)}`
  const verdict = cancelled.aborted
    ? verdictOf('cancelled', 'cancelled', {})
    : verdictOf('unknown', 'api-unreachable', { outage })
  return emptyRecord(verdict, startedAt, clock.now())
}

type PlannedWork<T> = (plan: LivePlan, settings: GateSettings, cluster: Cluster, exit: Exit) => Promise<T>

/**
 * Connects, plans, reports the settings and targets, runs `work`, and closes the connection to the cluster. Everything that
 * `work` prints or records leaves by `exit`.
 * @param late aborted when the targets must be known
 * @param recordOf returns the record of `work`, which then runs first on the revisions of Helm releases that are pending.
 * Once these are ready, the targets are found once more; also if one has failed, because what Helm has applied explains
 * that, and what a rollback has restored. By default, a pending revision is a target like the others.
 * @returns undefined if cancelled, or too late, before the targets were known
 * @throws UserError for invalid input
 */
export async function withPlan<T>(
  rollout: Rollout,
  startedAt: number,
  work: PlannedWork<T>,
  late: AbortSignal = rollout.cancelled,
  recordOf?: (result: T) => EndedRunRecord,
): Promise<T | undefined> {
  const { inputs, cancelled } = rollout
  const [healthChecks, cluster] = await openFiles(inputs, rollout)
  try {
    const kinds = await unlessAborted(cluster.discover(), cancelled)
    if (kinds === undefined) return undefined
    const planning = { rollout, cluster, kinds, healthChecks, until: AbortSignal.any([cancelled, late]) }
    const begin = (plan: LivePlan) => beginWork(rollout, startedAt, plan, cluster, healthChecks, work)
    const plan = await unlessAborted(planTargets(planning, [], recordOf !== undefined), planning.until)
    if (plan === undefined) return undefined
    const result = await begin(plan)
    const { outcome = '', targets = [] } = (plan.awaitsHelm && recordOf?.(result)) || {}
    if (!['ready', 'failed'].includes(outcome)) return result
    cluster.endWatches()
    const next = await unlessAborted(planTargets(planning, plan.targets, false), planning.until)
    if (next === undefined) return undefined
    // Helm has deleted a revision that failed.
    const failed = targets.filter((target) => target.outcome === 'failed').map(nameKey)
    const kept = new Set(next.targets.map(nameKey))
    if (!failed.every((key) => kept.has(key))) return result
    return await begin(next)
  } finally {
    cluster.close()
  }
}

/** Reports the settings and targets, and runs `work`. */
async function beginWork<T>(
  { inputs, reporter, secrets, clock }: Rollout,
  startedAt: number,
  plan: LivePlan,
  cluster: Cluster,
  healthChecks: readonly HealthCheck[],
  work: PlannedWork<T>,
): Promise<T> {
  const { context, version: serverVersion = '', serverOffsetMs } = cluster
  const checks = await loadChecks(plan.targets, plan.kinds)
  const settings = gateSettings(inputs, {
    startedAt,
    context,
    serverVersion,
    serverOffsetMs,
    healthChecks,
    ...checks,
    annotations: plan.annotations,
    healthCheckKinds: usedHealthChecks(plan.targets, healthChecks),
  })
  const timeoutMs = gateTimeoutMs(settings, plan.targets)
  secrets.exempt(plan.targets.flatMap(({ name, namespace = '' }) => [name, namespace, context]))
  // Manifests contain the Secrets and pod templates that the cluster will return.
  for (const { object } of plan.manifests.values()) cluster.redact(object as unknown as KubeObject)
  const exit = new Exit(reporter, secrets, clock)
  exit.onHead({
    startedAt,
    cluster: { context, version: serverVersion },
    timeoutMs,
    stallTimeoutMs: inputs.stallTimeoutMs,
    ...plan,
  })
  return work(plan, settings, cluster, exit)
}

/** The kinds of targets that the user's expressions judge. */
function usedHealthChecks(targets: readonly Target[], healthChecks: readonly HealthCheck[]): readonly string[] {
  const judged = targets.filter((target) => target.waitFor === undefined && findEntry(target, healthChecks))
  return [...new Set(judged.map(({ kind }) => kind))]
}

async function gateTargets(
  rollout: Rollout,
  planned: LivePlan,
  settings: GateSettings,
  cluster: Cluster,
  exit: Exit,
): Promise<EndedRunRecord> {
  const { inputs, clock } = rollout
  const plan = settings.awaitChangeMs > 0 ? withComparableManifests(planned, cluster.redact) : planned
  const checker = await openChecker(rollout, plan, cluster)
  const recording = await openRecording(rollout, plan, settings, exit)
  const drift = new ManifestDrift(plan, cluster.redact)
  let gate: Gate
  try {
    const onEvent: OnEvent = (event, current) => {
      if (recording !== undefined) exit.record(recording, event)
      if ('object' in event && current.awaitsChange(event.object)) return []
      return drift.observe(event).flatMap(({ entry, warning }) => {
        if (warning === undefined) return [entry]
        exit.onWarning(warning.text, warning.source)
        return []
      })
    }
    gate = await followGate(rollout, plan, settings, cluster, exit, onEvent, { checker })
  } finally {
    // The verdict does not depend on the recording.
    await recording?.end(clock.now()).catch(async (error: unknown) => {
      const { describeWriteFailure } = await importWriter()
      exit.onWarning(describeWriteFailure(inputs.record, error))
      exit.texts.flush()
    })
  }
  const record = drift.addTo(gate.record())
  if (!hasEnded(record)) throw new Error('The gate ended without a verdict.')
  // Where nothing changed and all is ready, nothing is to be explained: the gate starts faster without these modules.
  const isUnchanged = record.targets.every(({ change }) => change !== 'recent')
  if (record.outcome === 'ready' && isUnchanged) return exit.redact(record)
  const { explain } = await import('../diagnosis/explain.ts')
  const { outcome } = record
  return exit.redact({
    ...explain(record, gate.store, settings.serverOffsetMs, plan.manifests, rollout.usesFlags),
    outcome,
  })
}

/** Loads what recordings need, such as `node:zlib`. A gate that is not recorded starts faster without it. */
const importWriter = () => import('../recording/writer.ts')

/** A recording that cannot be written is a warning, unless it is the purpose of the command. */
async function openRecording(
  { inputs, secrets, requiresRecording }: Rollout,
  plan: LivePlan,
  settings: GateSettings,
  exit: Exit,
): Promise<RecordingWriter | undefined> {
  if (inputs.record === undefined) return undefined
  const { startRecording } = await importWriter()
  try {
    return await startRecording(inputs.record, plan, settings, inputs, secrets.redact)
  } catch (error) {
    if (requiresRecording || !(error instanceof UserError)) throw error
    for (const { message } of error.mistakes) exit.onWarning(message)
    return undefined
  }
}

/**
 * Checks the access that requests need. A gate without these checks does not load their code.
 * @throws UserError if access is missing
 */
async function openChecker(
  { clock, secrets }: Rollout,
  { checks }: LivePlan,
  cluster: Cluster,
): Promise<Checker | undefined> {
  if (checks === undefined || checks.httpChecks.length === 0) return undefined
  const { Checker } = await import('../checks/checker.ts')
  const checker = new Checker({ checks, cluster, clock, redact: secrets.redact })
  await checker.review()
  return checker
}

/** Called with every event before the gate handles it. Returns further entries of the log. */
export type OnEvent = (event: FeedEvent, gate: Gate) => readonly Entry[]

/**
 * Follows the cluster until the gate has an outcome, then waits for pending evidence.
 * @param options.consumerOf what handles the events instead of the gate alone: it ends when it is over, or the job is
 * cancelled
 * @param options.checker sends the requests of the gate
 */
export async function followGate(
  { inputs, cancelled, clock, isLook = false }: Rollout,
  plan: LivePlan,
  settings: GateSettings,
  cluster: Cluster,
  exit: Exit,
  onEvent: OnEvent,
  {
    consumerOf,
    checker,
  }: { readonly consumerOf?: (gate: Gate) => EventConsumer; readonly checker?: Checker | undefined } = {},
): Promise<Gate> {
  const { startedAt, serverOffsetMs } = settings
  const { LiveLogs } = plan.streamed.size === 0 ? {} : await import('../logs/live-logs.ts')
  let logs: LiveLogs | undefined
  let evidence: EvidenceReader | undefined
  const report = (entry: Entry) => (logs === undefined ? exit.onEntry(entry) : logs.entry(entry))
  const checks = consumerOf === undefined ? plan.checks : undefined
  const afterReady = checks && (await import('../gate/after-ready.ts')).afterReady(checks)
  const gate = new Gate(
    plan.targets,
    settings,
    // Every requested watch is started, so each first list will come.
    () => true,
    (entry) => {
      report(entry)
      evidence?.onEntry(entry)
    },
    afterReady,
  )
  logs =
    LiveLogs &&
    new LiveLogs({
      gate,
      targets: plan.targets,
      streamed: plan.streamed,
      source: cluster,
      clock,
      startedAt: startedAt + serverOffsetMs,
      listener: { onEntry: exit.onEntry, onLog: exit.onLog, onWarning: exit.onWarning, cancelled },
    })
  const consumer = consumerOf?.(gate) ?? gate
  const ask = () => checker?.update(gate.questions)
  const onEach = (event: FeedEvent) => {
    evidence?.observe(event)
    logs?.update()
    exit.texts.observe(event)
    onEvent(event, gate).forEach(report)
  }
  const follower = new Follower(consumer, cluster, clock, startedAt, onEach, ask)
  checker?.start({
    observe: (answer) => {
      follower.observe(answer)
      ask()
    },
    onWarning: exit.onWarning,
  })
  evidence = new EvidenceReader(gate, cluster, (read) => follower.observe(read), inputs.logLines)
  const cancel = () => (consumerOf !== undefined ? follower.stop() : follower.observe({ type: 'CANCEL' }))
  if (cancelled.aborted) cancel()
  cancelled.addEventListener('abort', cancel)
  exit.texts.follow(() => gate.requests)
  exit.onStart((now) => gate.record(now))
  try {
    follower.observe({ type: 'DISCOVERY', resources: plan.kinds })
    await follower.run()
    checker?.close()
    // A cancelled job has little time left.
    await Promise.all([
      evidence.finish(clock, cancelled.aborted ? evidenceFinishWhenCancelledMs : evidenceFinishMs),
      logs?.finish(),
    ])
    // The first lists contain what one look quotes: it waits for no later object.
    await exit.texts.finish((requests) => cluster.refresh(requests), cancelled, isLook ? 0 : quotedTextMs)
  } finally {
    checker?.close()
    logs?.close()
    exit.texts.flush()
    cancelled.removeEventListener('abort', cancel)
  }
  return gate
}

/** Continues after the outcome of a gate. */
export function beyondOutcome(gate: Gate): EventConsumer {
  return {
    isOver: false,
    get requests() {
      return gate.requests
    },
    handle: (event) => gate.handle(event),
    nextDeadline: () => gate.nextDeadline(),
    advance: (now) => gate.advance(now),
    requestsToConfirm: (at) => gate.requestsToConfirm(at),
  }
}
