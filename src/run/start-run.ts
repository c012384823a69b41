import { awaitAtMost, awaitUnlessAborted } from '../cluster/clock.ts'
import { type Cluster, connect } from '../cluster/cluster.ts'
import { secretsInHeader } from '../cluster/secret-values.ts'
import { duration } from '../duration.ts'
import { collectMistakes, type Mistake, throwMistakes } from '../errors.ts'
import { createVerdict } from '../gate/outcome.ts'
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
 * Starts a run on a cluster. The modules that plan and judge are half of the code. They are loaded while the API server
 * answers the first requests, to start faster.
 */

type Connection = Pick<RunOptions, 'secrets' | 'onSource' | 'clock'> & Partial<Pick<RunOptions, 'purpose'>>

/**
 * Checks the user's inputs. If there are mistakes, checks files and kinds too, to report all mistakes together.
 * @param mistakes the mistakes that are already known
 * @param connection undefined if the run has no cluster
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
  const writtenTimeoutMs = inputs.written.has('timeout') ? inputs.timeoutMs : undefined
  const checked = { inputs, references, streamLogs: streamLogs.references, checks }
  const all = [
    ...mistakes,
    ...references.mistakes,
    ...findTimeoutMistakes(references.references, writtenTimeoutMs),
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

/** Reads `http-checks` and `hold`, and registers the secrets in headers. Undefined if neither is set. */
export async function readChecks(inputs: Inputs, connection?: Pick<Connection, 'secrets'>) {
  if (!hasChecks(inputs)) return undefined
  const { parseChecks } = await import('../plan/checks.ts')
  const checks = parseChecks(inputs)
  const headers = checks.httpChecks.flatMap((check) => check.headers)
  for (const value of headers.flatMap(([name, text]) => secretsInHeader(name, text))) connection?.secrets.add(value)
  return checks
}

/** @throws UserError with the mistakes in health checks, kubeconfig, credentials, kinds and milestones */
async function checkFilesAndKinds(read: RunInputs, connection: Connection): Promise<void> {
  const [healthChecks, cluster] = await openCluster(read.inputs, connection)
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
 * Reads the health checks and the kubeconfig, and prepares the connection to the cluster. Sends no request.
 * @throws UserError with the mistakes of the health checks and the kubeconfig
 */
function openCluster(
  inputs: Inputs,
  { purpose, ...connection }: Connection,
): Promise<[readonly HealthCheck[], Cluster]> {
  if (inputs.githubToken !== undefined) connection.secrets.add(inputs.githubToken)
  const options = {
    ...connection,
    timeoutMs: inputs.timeoutMs,
    isSingleCheck: purpose === 'single-check',
    userAgent: `rollout-gate/${version}`,
  }
  return collectMistakes(
    () => readHealthChecks(inputs.healthCheckExprs),
    () => connect(inputs, options),
  )
}

/**
 * Gates a rollout: connects, finds the targets, judges them, and explains failures. Writes no file except the
 * recording.
 *
 * If Helm is deploying a release, the gate first waits for the release to be ready or failed. Then the gate finds the
 * targets again and judges them. After a failure of Helm, the objects of the release explain the failure.
 * @throws UserError for invalid input (outcome `misconfigured`)
 */
export async function gateRollout(options: RunOptions): Promise<EndedRunRecord> {
  const startedAt = options.clock.now()
  const record = await runOnCluster(options, async (run, source) => {
    const first = await run.gateTargets()
    if (!run.plan.awaitsHelm || !['ready', 'failed'].includes(first.outcome)) return first
    source.cluster.endWatches()
    const next = await planRun(source, run.plan.targets)
    // If Helm has deleted all failed revisions, the first record is the result.
    const failed = first.targets.filter(({ outcome }) => outcome === 'failed').map(nameKey)
    const kept = new Set(next?.plan.targets.map(nameKey))
    return next !== undefined && !failed.every((key) => kept.has(key)) ? first : next?.gateTargets()
  })
  if (record !== undefined) return record
  // The targets are unknown, but not by a mistake of the user: the outcome is not `misconfigured`.
  const outage = `the API server has not listed the resources to gate within ${duration(gateTimeoutOf(options))}`
  const verdict = options.cancelled.aborted
    ? createVerdict('cancelled', 'cancelled', {})
    : createVerdict('unknown', 'api-unreachable', { outage })
  return emptyRecord(verdict, startedAt, options.clock.now())
}

function gateTimeoutOf({ inputs: { timeoutMs, written }, references }: RunOptions): number {
  return gateTimeoutMs({ timeoutMs, isTimeoutSetByUser: written.has('timeout') }, references.references)
}

/**
 * Connects to a cluster, finds the targets, calls `work`, and closes the connection.
 * @returns undefined if the run was cancelled, or the gate's timeout passed, before the targets were found
 * @throws UserError for invalid input
 */
export async function runOnCluster<T>(
  options: RunOptions,
  work: (run: LiveRun, source: LiveSource) => Promise<T>,
): Promise<T | undefined> {
  const startedAt = options.clock.now()
  const [healthChecks, cluster] = await openCluster(options.inputs, options)
  try {
    const source = { options, startedAt, healthChecks, cluster }
    const run = await planRun(source)
    return run && (await work(run, source))
  } finally {
    cluster.close()
  }
}

/** Finds the targets. @param awaited the Helm revisions for which the gate has waited; empty for the first plan */
async function planRun(source: LiveSource, awaited: readonly Target[] = []): Promise<LiveRun | undefined> {
  const { options, startedAt, cluster } = source
  const { purpose, clock, cancelled } = options
  const limitMs = purpose === 'gate' && awaited.length === 0 ? gateTimeoutOf(options) : 0
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
