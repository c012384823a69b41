import { type Cluster, type ConnectOptions, connect } from './cluster/cluster.ts'
import { type Mistake, together, UserError } from './errors.ts'
import { type Inputs, parseInputs } from './inputs.ts'
import { type HealthCheck, readHealthChecks } from './plan/health-checks.ts'
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

/**
 * The inputs, or all that is wrong with them and with the files that they name, so that nobody learns of the kubeconfig only
 * after he has corrected a timeout.
 *
 * @param further mistakes found elsewhere
 * @throws UserError
 */
export async function readInputs(
  raw: Readonly<Record<string, string | undefined>>,
  further: readonly Mistake[],
  mask: (secret: string) => void,
): Promise<Inputs> {
  try {
    return parseInputs(raw, further)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    const text = (name: string) => raw[name]?.trim() || undefined
    const files = {
      kubeconfig: text('kubeconfig'),
      context: text('context'),
      namespace: text('namespace'),
      healthChecks: text('health-checks'),
    }
    const mistakes = await openFiles(files, { mask }).then(
      ({ cluster }) => {
        cluster.close()
        return []
      },
      (also: unknown) => {
        if (also instanceof UserError) return also.mistakes
        throw also
      },
    )
    throw new UserError([...error.mistakes, ...mistakes], error.reason)
  }
}
