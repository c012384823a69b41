import { type Clock, within } from '../cluster/clock.ts'
import { type Cluster, connect } from '../cluster/cluster.ts'
import type { ApiResource } from '../cluster/feed.ts'
import type { Secrets } from '../cluster/secrets.ts'
import { collectMistakes, type Mistake, throwMistakes } from '../errors.ts'
import type { Purpose } from '../gate/settings.ts'
import { hasChecks, type Inputs } from '../inputs.ts'
import { hasPods, loadMilestones, needsMoreThanToExist } from '../lifecycle/rules.ts'
import type { Checks } from '../plan/checks.ts'
import { type HealthCheck, readHealthChecks } from '../plan/health-check-entries.ts'
import { timeoutMistakes } from '../plan/reference-flags.ts'
import { type Resolution, resolveReferences, writtenMilestones } from '../plan/resolve.ts'
import { parseStreamLogs, resolveStreamLogs } from '../plan/stream-logs.ts'
import type { ParsedReferences, Reference } from '../plan/target.ts'
import { furtherMistakesMs } from '../thresholds.ts'
import { version } from '../version.ts'
import type { Reporter } from './exit.ts'

/** The user's inputs without mistakes. */
export interface RunInputs {
  readonly inputs: Inputs
  /** The references of `resources` and `manifests`. */
  readonly references: ParsedReferences
  readonly streamLogs: readonly Reference[]
  /** The checks after the targets are ready, if there are any. */
  readonly checks?: Checks | undefined
}

/** What a run on a cluster is given. */
export interface RunOptions extends RunInputs {
  readonly purpose: Purpose
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
  /** Finds the references in the cluster if none are written. */
  readonly findReferences?: ((cluster: Cluster, kinds: readonly ApiResource[]) => Promise<ParsedReferences>) | undefined
}

type Connection = Pick<RunOptions, 'mask' | 'secrets' | 'onSource' | 'onRetry' | 'clock'> &
  Partial<Pick<RunOptions, 'purpose'>>

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
): Promise<RunInputs> {
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
  if (all.length > 0)
    await collectMistakes(
      () => throwMistakes(all),
      () => connection && checkFilesAndKinds(checked, connection),
    )
  return checked
}

/** Loads the module of the checks. A gate without checks after its targets are ready does not need the module. */
export const importChecks = () => import('../plan/checks.ts')

/** Reads the checks after the targets are ready. Their headers may contain secrets. */
export async function readChecks(inputs: Inputs, connection?: Pick<Connection, 'mask' | 'secrets'>) {
  if (!hasChecks(inputs)) return undefined
  const { headerSecrets, parseChecks } = await importChecks()
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
    const kinds = await within(connection.clock, furtherMistakesMs, cluster.discover())
    const { references, invalid = [] } = read.references
    const all = { ...read.references, references: [...references, ...invalid], mistakes: [] }
    if (kinds !== undefined) await resolveKinds({ ...read, references: all }, kinds, cluster.namespace, healthChecks)
  } finally {
    cluster.close()
  }
}

/**
 * Reads the health checks and the kubeconfig, and opens the cluster that the inputs name. Sends no request.
 * @throws UserError with the mistakes of both
 */
export function openFiles(
  inputs: Inputs,
  { purpose, ...connection }: Connection,
): Promise<[readonly HealthCheck[], Cluster]> {
  if (inputs.githubToken !== undefined) connection.secrets.add(inputs.githubToken)
  const options = {
    ...connection,
    timeoutMs: inputs.timeoutMs,
    isOnlyServer: inputs.reportTo.length === 0 && !hasChecks(inputs),
    isLook: purpose === 'look',
    userAgent: `rollout-gate/${version}`,
  }
  return collectMistakes(
    () => readHealthChecks(inputs.healthCheckExprs),
    () => connect(inputs, options),
  )
}

/**
 * Resolves the kinds of the references, of `stream-logs` and of the checks after the targets are ready.
 * @throws UserError with the mistakes of all
 */
export async function resolveKinds(
  { inputs, references, streamLogs, checks }: RunInputs,
  kinds: readonly ApiResource[],
  namespace: string,
  healthChecks: readonly HealthCheck[],
): Promise<[[Resolution, Resolution], Checks | undefined]> {
  const milestones = Object.keys(inputs.milestoneTimeoutsMs)
  const ofKind = await loadMilestones([...milestones, ...writtenMilestones(references)], kinds, healthChecks)
  const milestonesOf = checks === undefined ? ofKind : (await importChecks()).withMilestones(ofKind, checks)
  const resolve = () =>
    collectMistakes(
      () =>
        resolveReferences(references, kinds, {
          namespace,
          milestones,
          milestonesOf,
          isInRelease: needsMoreThanToExist,
        }),
      () => resolveStreamLogs(streamLogs, kinds, hasPods),
    )
  return collectMistakes(resolve, async () => checks && (await importChecks()).resolveCheckKinds(checks, kinds))
}

function writtenTimeoutMs({ written, timeoutMs }: Inputs): number | undefined {
  return written.has('timeout') ? timeoutMs : undefined
}
