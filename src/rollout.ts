import type { Checker } from './checks/checker.ts'
import type { Clock } from './cluster/clock.ts'
import { type Cluster, connect } from './cluster/cluster.ts'
import { deniedAccess } from './cluster/failures.ts'
import type { ApiResource, FeedEvent } from './cluster/feed.ts'
import { type EventConsumer, Follower } from './cluster/follower.ts'
import { type KubeObject, nameOf } from './cluster/objects.ts'
import type { Secrets } from './cluster/secrets.ts'
import { Semaphore } from './cluster/semaphore.ts'
import { EvidenceReader } from './diagnosis/evidence-reader.ts'
import { ManifestDrift } from './diagnosis/manifest-drift.ts'
import { duration } from './duration.ts'
import { collectMistakes, type Mistake, mapMistakes, UserError } from './errors.ts'
import { Exit, type Reporter } from './exit.ts'
import { collectorsIn } from './exports.ts'
import { Gate } from './gate/gate.ts'
import { type GateSettings, gateSettings, gateTimeoutMs } from './gate/settings.ts'
import { type EndedTimeline, type Entry, emptyTimeline, type Outcome, verdictOf } from './gate/timeline.ts'
import { consolidate, readRequests } from './gate/watch-requests.ts'
import { hasChecks, type Inputs } from './inputs.ts'
import { isJudged, loadChecks, loadMilestones, ruleOf } from './lifecycle/rules.ts'
import type { LiveLogs } from './logs/live-logs.ts'
import type { Checks } from './plan/checks.ts'
import { applyLiveAnnotations } from './plan/gate-annotations.ts'
import { type HealthCheck, readHealthChecks } from './plan/health-check-entries.ts'
import { type Release, ReleaseObjects, type Selection } from './plan/helm-release.ts'
import { withComparableManifests } from './plan/manifest-differences.ts'
import type { ParsedReferences, Reference } from './plan/reference.ts'
import { timeoutMistakes } from './plan/reference-flags.ts'
import { listRequest, type Resolution, resolveReferences, writtenMilestones } from './plan/resolve.ts'
import {
  type MatchWait,
  matchLimitMs,
  matchSelections,
  pendingRevisions,
  type ResolvedPlan,
  resolveTargets,
} from './plan/resolve-targets.ts'
import { gitNameOf } from './plan/revision.ts'
import { parseStreamLogs, resolveStreamLogs, selectStreamedTargets } from './plan/stream-logs.ts'
import { nameKey, type Target, targetWatch } from './plan/target.ts'
import { describeGrants } from './reasons/access.ts'
import type { RecordingWriter } from './recording/writer.ts'
import {
  evidenceFinishMs,
  evidenceFinishWhenCancelledMs,
  furtherMistakesMs,
  lateEventsMs,
  quotedTextMs,
  releaseListsAtOnce,
} from './thresholds.ts'
import { version } from './version.ts'

/** The user's inputs without mistakes. */
export interface RolloutInputs {
  readonly inputs: Inputs
  /** The references of `resources` and `manifests`. */
  readonly references: ParsedReferences
  readonly streamLogs: readonly Reference[]
  /** What is asked for after ready, if anything is. */
  readonly checks?: Checks | undefined
}

/** One rollout with its reporter, clock and cancellation. */
export interface Rollout extends RolloutInputs {
  /** Gets redacted texts. */
  readonly reporter: Reporter
  /** Gets all secrets, of the credentials and of objects: the process redacts its further output with them. */
  readonly secrets: Secrets
  /** Called with every secret of the kubeconfig as soon as it is known. */
  readonly mask: (secret: string) => void
  /** Called with the place of the kubeconfig (`~/.kube/config`) before the first request, if the input is empty. */
  readonly onSource?: (source: string) => void
  /** Called with a sentence if the first requests fail and are repeated, or a selector waits for its first match. */
  readonly onRetry?: (message: string) => void
  /** Aborted when the job is cancelled. */
  readonly cancelled: AbortSignal
  readonly clock: Clock
  /** Whether a recording that cannot be written is an error. */
  readonly requiresRecording?: boolean
  /** Whether hints name flags of the command line, not inputs of the action. */
  readonly usesFlags?: boolean
  /** Whether nothing is awaited: selectors do not wait for their first match, nor texts for later objects. */
  readonly isLook?: boolean
  /** Finds the references in the cluster, instead of `references`. */
  readonly findReferences?: (cluster: Cluster, kinds: readonly ApiResource[]) => Promise<ParsedReferences>
}

type Connection = Pick<Rollout, 'mask' | 'secrets' | 'onSource' | 'onRetry' | 'clock' | 'isLook'>

/**
 * Checks the user's inputs. If there are mistakes, checks files and kinds too, so that one error reports all.
 * @param mistakes found so far
 * @param connection undefined without a cluster
 * @throws UserError
 */
export async function checkInputs(
  inputs: Inputs,
  references: ParsedReferences,
  mistakes: readonly Mistake[],
  connection: Connection | undefined,
): Promise<RolloutInputs> {
  const streamLogs = parseStreamLogs(inputs.streamLogs)
  const checks = await readChecks(inputs, connection)
  const checked = { inputs, references, streamLogs: streamLogs.references, checks }
  const all = [
    ...mistakes,
    ...references.mistakes,
    ...timeoutMistakes(references, writtenTimeoutMs(inputs)),
    ...streamLogs.mistakes,
    ...(checks?.mistakes ?? []),
  ]
  if (all.length === 0) return checked
  const further = connection === undefined ? [] : await mistakesInFilesAndKinds(checked, connection)
  throw new UserError([...all, ...further])
}

/** A gate that asks for nothing after ready starts without this module. */
const importChecks = () => import('./plan/checks.ts')

/** Reads what is asked for after ready. The values of its headers are secrets. */
async function readChecks(inputs: Inputs, connection: Pick<Connection, 'mask' | 'secrets'> | undefined) {
  if (!hasChecks(inputs)) return undefined
  const { headerValues, parseChecks } = await importChecks()
  const checks = parseChecks(inputs)
  for (const value of headerValues(checks)) {
    connection?.mask(value)
    connection?.secrets.add(value)
  }
  return checks
}

/** The mistakes in health checks, kubeconfig, credentials, kinds and milestones. */
async function mistakesInFilesAndKinds(rollout: RolloutInputs, connection: Connection): Promise<readonly Mistake[]> {
  const { inputs, references, streamLogs, checks } = rollout
  try {
    const [healthChecks, cluster] = await openFiles(inputs, connection)
    const { promise: late, resolve } = Promise.withResolvers<undefined>()
    const stop = connection.clock.after(furtherMistakesMs, () => resolve(undefined))
    try {
      const discovering = cluster.discover()
      discovering.catch(() => {})
      const kinds = await Promise.race([discovering, late])
      const all = [...references.references, ...(references.invalid ?? [])]
      const complete = { inputs, references: { ...references, references: all, mistakes: [] }, streamLogs, checks }
      if (kinds !== undefined) await resolveKinds(complete, kinds, cluster.namespace, healthChecks)
    } finally {
      stop()
      cluster.close()
    }
    return []
  } catch (error) {
    if (error instanceof UserError) return error.mistakes
    throw error
  }
}

/**
 * Gates a rollout: connects, plans, watches, explains. Prints nothing, and writes only the recording.
 * @throws UserError for invalid input (outcome `misconfigured`)
 */
export async function gateRollout(rollout: Rollout): Promise<EndedTimeline> {
  const { clock, cancelled, inputs, references } = rollout
  const startedAt = clock.now()
  const timeoutMs = gateTimeoutMs(
    { timeoutMs: inputs.timeoutMs, timeoutIsLiteral: inputs.written.has('timeout') },
    references.references,
  )
  const late = new AbortController()
  const stop = timeoutMs === 0 ? () => {} : clock.after(timeoutMs, () => late.abort())
  try {
    const work: PlannedWork<EndedTimeline> = (plan, settings, cluster, exit) => {
      stop()
      return gateTargets(rollout, plan, settings, cluster, exit)
    }
    const timeline = await withPlan(rollout, startedAt, work, late.signal, ({ verdict }) => verdict.outcome)
    if (timeline !== undefined) return timeline
  } finally {
    stop()
  }
  // Without its targets, nothing is known of the rollout, and no input is wrong.
  const outage = `the API server has not listed the resources to gate within ${duration(timeoutMs)}`
  const verdict = cancelled.aborted
    ? verdictOf('cancelled', 'cancelled', {})
    : verdictOf('unknown', 'api-unreachable', { outage })
  return emptyTimeline(verdict, startedAt, clock.now())
}

/** A plan with the kinds of its targets. */
export interface LivePlan extends ResolvedPlan {
  readonly kinds: readonly ApiResource[]
  /** What is asked for after ready, with the objects that it names. */
  readonly checks?: Checks | undefined
  /** Indexes of the targets whose logs are shown live. */
  readonly streamed: ReadonlySet<number>
  /** The targets are only the revisions that Helm installs, upgrades or rolls back now. */
  readonly awaitsHelm?: boolean
}

type PlannedWork<T> = (plan: LivePlan, settings: GateSettings, cluster: Cluster, exit: Exit) => Promise<T>

/**
 * Connects, plans, reports the settings and targets, runs `work`, and closes the connection to the cluster. Everything that
 * `work` prints or records leaves by `exit`.
 * @param late aborted when the targets must be known
 * @param outcomeOf returns the outcome of `work`, which then runs first on the revisions of Helm releases that are pending.
 * Once Helm has deployed them, the objects of the releases are found, and `work` runs on all targets; also if Helm has
 * failed, because what it has applied explains that. By default, a pending revision is a target like the others.
 * @returns undefined if cancelled, or too late, before the targets were known
 * @throws UserError for invalid input
 */
export async function withPlan<T>(
  rollout: Rollout,
  startedAt: number,
  work: PlannedWork<T>,
  late: AbortSignal = rollout.cancelled,
  outcomeOf?: (result: T) => Outcome,
): Promise<T | undefined> {
  const { inputs, cancelled } = rollout
  const [healthChecks, cluster] = await openFiles(inputs, rollout)
  try {
    const kinds = await unlessAborted(cluster.discover(), cancelled)
    if (kinds === undefined) return undefined
    const until = AbortSignal.any([cancelled, late])
    let awaited = outcomeOf && noTargets
    for (let result: T | undefined; ; ) {
      const plan = await unlessAborted(planTargets(rollout, cluster, kinds, healthChecks, until, awaited), until)
      if (plan === undefined) return undefined
      // Helm has deleted the revision that failed, or deploys another one.
      if (plan.awaitsHelm && result !== undefined && outcomeOf?.(result) === 'failed') return result
      result = await beginWork(rollout, startedAt, plan, cluster, healthChecks, work)
      if (!plan.awaitsHelm || !['ready', 'failed'].includes(outcomeOf?.(result) ?? '')) return result
      awaited = plan.targets
      cluster.endWatches()
    }
  } finally {
    cluster.close()
  }
}

const noTargets: readonly Target[] = []

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
  })
  const timeoutMs = gateTimeoutMs(settings, plan.targets)
  secrets.exempt(plan.targets.flatMap(({ name, namespace = '' }) => [name, namespace, context]))
  // Manifests contain the Secrets and pod templates that the cluster will return.
  for (const { object } of plan.manifests.values()) cluster.redact(object as unknown as KubeObject)
  const exit = new Exit(reporter, secrets, clock)
  exit.onHead({ startedAt, context, timeoutMs, stallTimeoutMs: inputs.stallTimeoutMs, ...plan })
  return work(plan, settings, cluster, exit)
}

/**
 * Reads the health checks and the kubeconfig. Sends no request.
 * @throws UserError with the mistakes of both
 */
function openFiles(inputs: Inputs, connection: Connection): Promise<[readonly HealthCheck[], Cluster]> {
  return collectMistakes(
    () => readHealthChecks(inputs.healthChecks),
    () => connectTo(inputs, connection),
  )
}

/**
 * Opens the cluster that the inputs name. Sends no request.
 * @throws UserError if the kubeconfig is unusable
 */
export function connectTo(inputs: Inputs, { mask, secrets, onSource, onRetry, clock, isLook }: Connection): Cluster {
  if (inputs.githubToken !== undefined) secrets.add(inputs.githubToken)
  const isOnlyServer = inputs.reportTo.length === 0 && !hasChecks(inputs) && collectorsIn(process.env).length === 0
  return connect(inputs, {
    mask,
    onSource,
    onRetry,
    timeoutMs: inputs.timeoutMs,
    clock,
    secrets,
    isOnlyServer,
    isLook,
    userAgent: `rollout-gate/${version}`,
  })
}

/**
 * Finds the targets.
 * @param awaited the revisions of Helm releases that were awaited; undefined: none is
 */
async function planTargets(
  written: Rollout,
  cluster: Cluster,
  kinds: readonly ApiResource[],
  healthChecks: readonly HealthCheck[],
  until: AbortSignal,
  awaited: readonly Target[] | undefined,
): Promise<LivePlan> {
  const references = (await written.findReferences?.(cluster, kinds)) ?? written.references
  const rollout = { ...written, references }
  const resolving = resolveKinds(rollout, kinds, cluster.namespace, healthChecks)
  const [[resolution, streamed], checks] = await resolving.catch((error) => {
    throw withStaleGroups(error, cluster.staleGroups)
  })
  // Every forbidden list has the same remedy, which grants all that is missing.
  let remedy: Promise<string | undefined> | undefined
  const remedyOf = () => {
    remedy ??= grantsFor(resolution, cluster)
    return remedy
  }
  const releases = releaseObjects([...resolution.selections, ...streamed.selections], cluster)
  const namesOf = async ({ release, ...request }: Selection) =>
    release === undefined || releases === undefined
      ? (await cluster.select(request, remedyOf)).map(({ metadata }) => metadata.name)
      : releases.namesOf({ ...request, release })
  await releases?.readHistories()
  const historyOf = (release: Release) => releases?.historyOf(release)
  const gatedKinds = [...new Set(resolution.resolved.map(({ resource }) => resource))]
  const pending = awaited && releases ? pendingRevisions(resolution, historyOf, awaited) : noTargets
  if (pending.length > 0)
    return {
      targets: pending,
      notices: [],
      annotations: [],
      manifests: new Map(),
      kinds: gatedKinds,
      streamed: new Set(),
      awaitsHelm: true,
    }
  const wait = rollout.isLook ? undefined : matchWait(rollout, until)
  const matched = await matchSelections(resolution, namesOf, wait)
  // A gate that begins before the change does not know which revision will be the user's, unless it has awaited a pending one.
  const isKnown = ({ name, namespace }: Release) =>
    rollout.inputs.awaitChangeMs === 0 ||
    awaited?.some(({ release }) => release?.name === name && release.namespace === namespace)
  const plan = resolveTargets(resolution, matched, (release) => (isKnown(release) ? historyOf(release) : undefined))
  const annotated = await withCommits(await withLiveAnnotations(rollout.inputs, plan, cluster))
  return {
    ...annotated,
    notices: [...annotated.notices, ...(releases?.notices ?? [])],
    kinds: gatedKinds,
    streamed: await selectStreamedTargets(streamed, annotated.targets, namesOf, healthChecks),
    checks: checks && (await importChecks()).placeChecks(checks, annotated.targets, cluster.namespace),
  }
}

/** Lists the objects of the Helm releases that selections name; undefined without one. */
function releaseObjects(selections: readonly Selection[], cluster: Cluster): ReleaseObjects | undefined {
  if (selections.every(({ release }) => release === undefined)) return undefined
  const slots = new Semaphore(releaseListsAtOnce)
  return new ReleaseObjects(selections, (request) => slots.run(() => cluster.selectMetadata(request)))
}

/** A kind may be unknown only because its API server did not answer. */
function withStaleGroups(error: unknown, stale: readonly string[]): unknown {
  if (!(error instanceof UserError && error.reason === 'kind-unknown') || stale.length === 0) return error
  const note = `Discovery of ${stale.join(', ')} failed, so kinds of it may be missing ("kubectl get apiservices").`
  return mapMistakes(error, (mistake) => ({ ...mistake, message: `${mistake.message} ${note}` }))
}

function matchWait({ inputs, clock, onRetry }: Rollout, signal: AbortSignal): MatchWait {
  return {
    limitMs: (reference) => matchLimitMs(reference, inputs),
    clock,
    signal,
    onWaiting: (selectors) => onRetry?.(`Nothing matches ${selectors.join(' or ')} yet: waiting for the first match.`),
  }
}

/** How to grant all access that the gate of these references lacks; undefined if no refusal names it. */
async function grantsFor({ resolved }: Resolution, cluster: Cluster): Promise<string | undefined> {
  const gated = resolved.filter(({ reference }) => !reference.exclude)
  const requests = gated.map((entry) => ({ ...listRequest(entry), name: entry.reference.name }))
  const denied = await cluster.findDenied(readRequests(requests))
  const access = denied.flatMap(({ message }) => deniedAccess(message) ?? [])
  return access.length === 0 ? undefined : describeGrants(access)
}

/**
 * Resolves the kinds of the references, of `stream-logs` and of what is asked for after ready.
 * @throws UserError with the mistakes of all
 */
async function resolveKinds(
  { inputs, references, streamLogs, checks }: RolloutInputs,
  kinds: readonly ApiResource[],
  namespace: string,
  healthChecks: readonly HealthCheck[],
): Promise<[[Resolution, Resolution], Checks | undefined]> {
  const milestones = Object.keys(inputs.milestoneTimeoutsMs)
  const ofKind = await loadMilestones([...milestones, ...writtenMilestones(references)], kinds, healthChecks)
  const milestonesOf = checks === undefined ? ofKind : (await importChecks()).withMilestones(ofKind, checks)
  const resolve = () =>
    collectMistakes(
      () => resolveReferences(references, kinds, { namespace, milestones, milestonesOf, isInRelease: isJudged }),
      () => resolveStreamLogs(streamLogs, kinds, (kind) => ruleOf(kind).hasPods === true),
    )
  return collectMistakes(resolve, async () => checks && (await importChecks()).resolveCheckKinds(checks, kinds))
}

function writtenTimeoutMs({ written, timeoutMs }: Inputs): number | undefined {
  return written.has('timeout') ? timeoutMs : undefined
}

/** Adds to each awaited revision which commits of the checkout are before and after it. */
async function withCommits<P extends ResolvedPlan>(plan: P): Promise<P> {
  if (plan.targets.every(({ revisions }) => revisions === undefined)) return plan
  const { findCommitsAround } = await import('./workspace.ts')
  const workspace = process.env['GITHUB_WORKSPACE'] || '.'
  const dated = await Promise.all(
    plan.targets.map(async (target): Promise<Target> => {
      if (target.revisions === undefined) return target
      const revisions = target.revisions.map(async (each) => ({
        ...each,
        ...(await findCommitsAround(gitNameOf(each.revision), workspace)),
      }))
      return { ...target, revisions: await Promise.all(revisions) }
    }),
  )
  const manifests = plan.targets.map((target, index) => [dated[index] ?? target, plan.manifests.get(target)] as const)
  return {
    ...plan,
    targets: dated,
    manifests: new Map(manifests.flatMap(([target, manifest]) => (manifest === undefined ? [] : [[target, manifest]]))),
  }
}

async function withLiveAnnotations(inputs: Inputs, plan: ResolvedPlan, cluster: Cluster): Promise<ResolvedPlan> {
  if (inputs.annotations === 'ignore') return plan
  return applyLiveAnnotations(plan, await readLive(cluster, [...plan.manifests.keys()]), writtenTimeoutMs(inputs))
}

/** Reads the present objects of targets. Failures are ignored here; the gate reports them. */
async function readLive(
  cluster: Cluster,
  targets: readonly Target[],
): Promise<(target: Target) => KubeObject | undefined> {
  const lists = await Promise.all(
    consolidate(targets.map(targetWatch)).map((request) => cluster.list(request).catch(() => [])),
  )
  const live = new Map(lists.flat().map((object) => [nameKey(nameOf(object)), object]))
  return (target) => live.get(nameKey(target))
}

async function gateTargets(
  rollout: Rollout,
  planned: LivePlan,
  settings: GateSettings,
  cluster: Cluster,
  exit: Exit,
): Promise<EndedTimeline> {
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
  const timeline = drift.addTo(gate.timeline())
  const { verdict } = timeline
  if (verdict === undefined) throw new Error('The gate ended without a verdict.')
  const ended = { ...timeline, verdict }
  if (verdict.outcome === 'ready') return exit.redact(ended)
  // A ready gate needs no explanation, and starts faster without these modules.
  const { explain } = await import('./diagnosis/explain.ts')
  return exit.redact({
    ...explain(ended, gate.store, settings.serverOffsetMs, plan.manifests, rollout.usesFlags),
    verdict,
  })
}

/** Loads what recordings need, such as `node:zlib`. A gate that is not recorded starts faster without it. */
const importWriter = () => import('./recording/writer.ts')

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
    return startRecording(inputs.record, plan, settings, inputs, secrets.redact)
  } catch (error) {
    if (requiresRecording || !(error instanceof UserError)) throw error
    for (const { message } of error.mistakes) exit.onWarning(message)
    return undefined
  }
}

/**
 * Reviews what is needed to ask pods and metrics. A gate that asks nothing loads nothing of it.
 * @throws UserError if access is missing
 */
async function openChecker(
  { clock, secrets }: Rollout,
  { checks }: LivePlan,
  cluster: Cluster,
): Promise<Checker | undefined> {
  if (checks === undefined || checks.requests.length + checks.metrics.length === 0) return undefined
  const { Checker } = await import('./checks/checker.ts')
  const checker = new Checker({ checks, cluster, clock, env: process.env, redact: secrets.redact })
  await checker.review()
  return checker
}

/** Called with every event before the gate handles it. Returns further entries of the log. */
export type OnEvent = (event: FeedEvent, gate: Gate) => readonly Entry[]

/**
 * Follows the cluster until the gate has an outcome, then waits for pending evidence.
 * @param options.consumerOf what handles the events instead of the gate alone: it ends when it is over, or the job is
 * cancelled
 * @param options.checker asks what the gate asks for
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
  const { LiveLogs } = plan.streamed.size === 0 ? {} : await import('./logs/live-logs.ts')
  let logs: LiveLogs | undefined
  let evidence: EvidenceReader | undefined
  const report = (entry: Entry) => (logs === undefined ? exit.onEntry(entry) : logs.entry(entry))
  const checks = consumerOf === undefined ? plan.checks : undefined
  const afterReady = checks && (await import('./gate/after-ready.ts')).afterReady(checks)
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
  evidence = new EvidenceReader(gate, cluster, (read) => follower.observe(read), inputs.logLines.count)
  const cancel = () => (consumerOf !== undefined ? follower.stop() : follower.observe({ type: 'CANCEL' }))
  if (cancelled.aborted) cancel()
  cancelled.addEventListener('abort', cancel)
  exit.texts.follow(() => gate.requests)
  exit.onStart((now) => gate.timeline(now))
  try {
    follower.observe({ type: 'DISCOVERY', resources: plan.kinds })
    await follower.run()
    checker?.close()
    if (gate.awaitedLists.length > 0) cluster.holdFirstWatches()
    // A cancelled job has little time left.
    await Promise.all([
      evidence.finish(clock, cancelled.aborted ? evidenceFinishWhenCancelledMs : evidenceFinishMs),
      logs?.finish(),
      cancelled.aborted ? undefined : follower.finish(lateEventsMs),
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

/** The result, or undefined if the signal is aborted first. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const stop = () => resolve(undefined)
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  // Ignore requests that fail later.
  work.catch(() => {})
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
