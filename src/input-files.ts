import { systemClock } from './cluster/clock.ts'
import { type Cluster, type ConnectOptions, connect } from './cluster/cluster.ts'
import type { ApiResource } from './cluster/feed.ts'
import { type Mistake, together, UserError } from './errors.ts'
import { type Inputs, parseInputs } from './inputs.ts'
import { type HealthCheck, readHealthChecks } from './plan/health-checks.ts'
import { parseMilestoneTimeouts } from './plan/milestones.ts'
import { timeoutMistakes } from './plan/reference-flags.ts'
import type { ParsedReferences } from './plan/references.ts'
import { resolveReferences } from './plan/resolve.ts'
import { parseStreamLogs, resolveStreamLogs } from './plan/stream-logs.ts'
import { version } from './version.ts'

/** The inputs that name what has to be read before the cluster is asked. */
type FileInputs = Partial<Pick<Inputs, 'kubeconfig' | 'context' | 'namespace' | 'healthChecks'>>

/**
 * The files behind the inputs: the health checks, and the kubeconfig, with the cluster that it means; nothing is asked of it.
 * @throws UserError with the mistakes of both
 */
export async function openFiles(
  { kubeconfig, context, namespace, healthChecks: path }: FileInputs,
  around: Omit<ConnectOptions, 'userAgent'>,
): Promise<{ readonly healthChecks: readonly HealthCheck[]; readonly cluster: Cluster }> {
  const settled = await readHealthChecks(path).then(
    (checks) => () => checks,
    (error: unknown) => () => {
      throw error
    },
  )
  const [healthChecks, cluster] = together(settled, () =>
    connect(
      {
        ...(kubeconfig === undefined ? {} : { kubeconfig }),
        ...(context === undefined ? {} : { context }),
        ...(namespace === undefined ? {} : { namespace }),
      },
      { ...around, userAgent: `rollout-gate/${version}` },
    ),
  )
  return { healthChecks, cluster }
}

/** How long the cluster is asked for further mistakes when the inputs have some. */
const furtherMs = 5_000

/**
 * Reads the inputs, or reports all that is wrong with them, with the files that they name and, as far as the cluster
 * answers, with the kinds of the references: nobody should learn of a misspelt kind only after correcting a timeout.
 *
 * @param raw texts by the names of the inputs
 * @param parsed what `resources` and `manifests` name
 * @param further mistakes found elsewhere
 * @throws UserError
 */
export async function readInputs(
  raw: Readonly<Record<string, string | undefined>>,
  parsed: ParsedReferences,
  further: readonly Mistake[],
  around: Omit<ConnectOptions, 'userAgent'>,
): Promise<Inputs> {
  const mistakes = [...further, ...parsed.mistakes, ...timeoutMistakes(parsed, raw['timeout'])]
  try {
    return parseInputs(raw, mistakes)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    throw new UserError([...error.mistakes, ...(await mistakesBeyond(raw, parsed, around))], error.reason)
  }
}

/** The mistakes of inputs that have others already: in the files, the credentials, the kinds. */
async function mistakesBeyond(
  raw: Readonly<Record<string, string | undefined>>,
  parsed: ParsedReferences,
  around: Omit<ConnectOptions, 'userAgent'>,
): Promise<readonly Mistake[]> {
  const text = (name: string) => raw[name]?.trim() || undefined
  const files = {
    kubeconfig: text('kubeconfig'),
    context: text('context'),
    namespace: text('namespace'),
    healthChecks: text('health-checks'),
  }
  try {
    const { cluster } = await openFiles(files, around)
    const { clock = systemClock } = around
    const { promise: late, resolve } = Promise.withResolvers<undefined>()
    const stop = clock.after(furtherMs, () => resolve(undefined))
    try {
      const discovering = cluster.discover()
      discovering.catch(() => {})
      const resources = await Promise.race([discovering, late])
      if (resources !== undefined) checkKinds(raw, parsed, resources, cluster.namespace)
    } finally {
      stop()
      cluster.close()
    }
  } catch (error) {
    if (error instanceof UserError) return error.mistakes
    throw error
  }
  return []
}

/** @throws UserError with the mistakes in kinds, names and milestones that only the server's kinds show */
function checkKinds(
  raw: Readonly<Record<string, string | undefined>>,
  { invalid = [], ...parsed }: ParsedReferences,
  resources: readonly ApiResource[],
  namespace: string,
): void {
  const silent = () => {}
  const milestones = Object.keys(parseMilestoneTimeouts(raw['milestone-timeouts'] ?? '', silent))
  const named = { ...parsed, references: [...parsed.references, ...invalid], mistakes: [] }
  together(
    () => resolveReferences(named, resources, { namespace, milestones }),
    () => resolveStreamLogs(parseStreamLogs(raw['stream-logs'] ?? '', silent) ?? [], resources),
  )
}
