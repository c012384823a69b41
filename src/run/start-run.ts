import { awaitAtMost, awaitUnlessAborted } from '../cluster/clock.ts'
import { type Cluster, connect } from '../cluster/cluster.ts'
import { duration } from '../duration.ts'
import { collectMistakes, type Mistake, throwMistakes } from '../errors.ts'
import { verdictOf } from '../gate/outcome.ts'
import { type EndedRunRecord, emptyRecord } from '../gate/run-record.ts'
import { gateTimeoutMs } from '../gate/settings.ts'
import { hasChecks, type Inputs } from '../inputs.ts'
import { type HealthCheck, readHealthChecks } from '../plan/health-checks.ts'
import { findTimeoutMistakes } from '../plan/reference-flags.ts'
import { parseStreamLogs } from '../plan/stream-logs.ts'
import { nameKey, type ParsedReferences, type Target } from '../plan/target.ts'
import { furtherMistakesMs } from '../thresholds.ts'
import { version } from '../version.ts'
import type { LiveRun } from './live-run.ts'
import type { LiveSource, RunInputs, RunOptions } from './run-plan.ts'

/*
 * Starts a run on a cluster. The modules that plan and judge are half of the code: they are compiled while the API server
 * answers the first requests.
 */

type Connection = Pick<RunOptions, 'mask' | 'secrets' | 'onSource' | 'clock'> & Partial<Pick<RunOptions, 'purpose'>>

/**
 * Checks the user's inputs. If there are mistakes, checks files and kinds too, so that one error reports all mistakes.
 * @param mistakes found so far
 * @param connection undefined without a cluster
 * @throws UserError
 */
export async function checkInputs(
  inputs: Inputs,
  references: ParsedReferences,
  mistakes: readonly Mistake[],
  connection: Connection | undefined,
): Promise<RunInputs> {
  const streamLogs = parseStreamLogs(inputs.streamLogs)
  const checks = await readChecks(inputs, connection)
  const checked = { inputs, references, streamLogs: streamLogs.references, checks }
  const all = [
    ...mistakes,
    ...references.mistakes,
    ...findTimeoutMistakes(references.references, writtenTimeoutMs(inputs)),
    ...streamLogs.mistakes,
    ...(checks?.mistakes ?? []),
  ]
  if (all.length > 0)
    await collectMistakes(
      () => throwMistakes(all),
      () => connection && checkFilesAndKinds(checked, connection),
    )
  return checked
}

/** Reads the checks after the targets are ready, and registers the secrets in their headers. Undefined if there are none. */
export async function readChecks(inputs: Inputs, connection?: Pick<Connection, 'mask' | 'secrets'>) {
  if (!hasChecks(inputs)) return undefined
  const { secretsOfHeaders: headerSecrets, parseChecks } = await import('../plan/checks.ts')
  const checks = parseChecks(inputs)
  for (const value of headerSecrets(checks)) {
    connection?.mask(value)
    connection?.secrets.add(value)
  }
  return checks
}

/** @throws UserError with the mistakes in health checks, kubeconfig, credentials, kinds and milestones */
async function checkFilesAndKinds(read: RunInputs, connection: Connection): Promise<void> {
  const [healthChecks, cluster] = await openFiles(read.inputs, connection)
  try {
    const kinds = await awaitAtMost(connection.clock, furtherMistakesMs, cluster.discover())
    const { references, invalid = [] } = read.references
    const all = { ...read.references, references: [...references, ...invalid], mistakes: [] }
    if (kinds === undefined) return
    const { resolveKinds } = await import('./run-plan.ts')
    await resolveKinds({ ...read, references: all }, kinds, cluster.namespace, healthChecks)
  } finally {
    cluster.close()
  }
}

/**
 * Reads the health checks and the kubeconfig, and opens the cluster that the inputs name. Sends no request.
 * @throws UserError with the mistakes of the health checks and the kubeconfig
 */
function openFiles(inputs: Inputs, { purpose, ...connection }: Connection): Promise<[readonly HealthCheck[], Cluster]> {
  if (inputs.githubToken !== undefined) connection.secrets.add(inputs.githubToken)
  const options = {
    ...connection,
    timeoutMs: inputs.timeoutMs,
    isOnlyServer: inputs.reportTo.length === 0 && !hasChecks(inputs),
    isSingleCheck: purpose === 'single-check',
    userAgent: `rollout-gate/${version}`,
  }
  return collectMistakes(
    () => readHealthChecks(inputs.healthCheckExprs),
    () => connect(inputs, options),
  )
}

function writtenTimeoutMs({ written, timeoutMs }: Inputs): number | undefined {
  return written.has('timeout') ? timeoutMs : undefined
}

/**
 * Gates a rollout: connects, finds the targets, judges them, and explains what failed. Writes no file but the recording.
 * If Helm is at work on a release, the gate first waits for the release. When that is ready or has failed, the gate finds the
 * targets again and judges them: after a failure of Helm, the objects that Helm has applied or restored explain the failure.
 * @throws UserError for invalid input (outcome `misconfigured`)
 */
export async function gateRollout(options: RunOptions): Promise<EndedRunRecord> {
  const startedAt = options.clock.now()
  const record = await withRun(options, async (run, source) => {
    const first = await run.judgeTargets()
    if (!run.plan.awaitsHelm || !['ready', 'failed'].includes(first.outcome)) return first
    source.cluster.endWatches()
    const next = await planRun(source, run.plan.targets)
    // If Helm has deleted a failed revision, the first record is the result.
    const failed = first.targets.filter(({ outcome }) => outcome === 'failed').map(nameKey)
    const kept = new Set(next?.plan.targets.map(nameKey))
    return next !== undefined && !failed.every((key) => kept.has(key)) ? first : next?.judgeTargets()
  })
  if (record !== undefined) return record
  // The targets are not known. The user has made no mistake, so the outcome is not `misconfigured`.
  const outage = `the API server has not listed the resources to gate within ${duration(timeoutOf(options))}`
  const verdict = options.cancelled.aborted
    ? verdictOf('cancelled', 'cancelled', {})
    : verdictOf('unknown', 'api-unreachable', { outage })
  return emptyRecord(verdict, startedAt, options.clock.now())
}

function timeoutOf({ inputs: { timeoutMs, written }, references }: RunOptions): number {
  return gateTimeoutMs({ timeoutMs, isTimeoutSetByUser: written.has('timeout') }, references.references)
}

/**
 * Connects, finds the targets, calls `work`, and closes the connection to the cluster.
 * @returns undefined if the run was cancelled or the timeout of a gate passed before the targets were known
 * @throws UserError for invalid input
 */
export async function withRun<T>(
  options: RunOptions,
  work: (run: LiveRun, source: LiveSource) => Promise<T>,
): Promise<T | undefined> {
  const startedAt = options.clock.now()
  const [healthChecks, cluster] = await openFiles(options.inputs, options)
  try {
    const source = { options, startedAt, healthChecks, cluster }
    const run = await planRun(source)
    return run && (await work(run, source))
  } finally {
    cluster.close()
  }
}

/** @param awaited the revisions of Helm releases that the gate has waited for; empty for the first plan */
async function planRun(source: LiveSource, awaited: readonly Target[] = []): Promise<LiveRun | undefined> {
  const { options, startedAt, cluster } = source
  const { purpose, clock, cancelled } = options
  const limitMs = purpose === 'gate' && awaited.length === 0 ? timeoutOf(options) : 0
  const timeLimit = new AbortController()
  const stop = limitMs === 0 ? () => {} : clock.after(startedAt + limitMs - clock.now(), () => timeLimit.abort())
  const until = AbortSignal.any([cancelled, timeLimit.signal])
  try {
    const [kinds, { planLiveRun }] = await Promise.all([
      awaitUnlessAborted(cluster.discover(), cancelled),
      import('./live-run.ts'),
    ])
    return kinds && (await planLiveRun(source, kinds, awaited, until))
  } finally {
    stop()
  }
}
