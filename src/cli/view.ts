import { systemClock } from '../cluster/clock.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { isNotFound } from '../cluster/failures.ts'
import type { ApiResource } from '../cluster/feed.ts'
import { type Mistake, UserError } from '../errors.ts'
import { connectTo } from '../rollout.ts'
import type { Arguments } from './arguments.ts'
import { type Surface, tell } from './output.ts'
import { type Prepared, prepare } from './prepare.ts'
import { cancelledCode, complain } from './verdict.ts'

/** What a view begins with. */
export interface Opened extends Prepared {
  readonly cluster: Cluster
  readonly resources: readonly ApiResource[]
}

/**
 * Opens the cluster for a view and shows it until it is over or cancelled. What only the user can mend goes to stderr.
 *
 * @param command the name of the command, for an example
 * @param further mistakes found elsewhere
 * @param show returns the exit code; it is over when `surface.cancelled` is aborted
 */
export async function runView(
  args: Arguments,
  surface: Surface,
  command: string,
  further: readonly Mistake[],
  show: (opened: Opened) => Promise<number>,
): Promise<number> {
  const { cancelled, secrets, stderr } = surface
  let close = () => {}
  try {
    const prepared = await prepare(args, surface, command, further)
    if (prepared === undefined) return cancelledCode
    const cluster = connectTo(prepared.inputs, { mask: secrets.add, clock: systemClock })
    close = () => cluster.close()
    cancelled.addEventListener('abort', close)
    const resources = await cluster.discover()
    return await show({ ...prepared, cluster, resources }).catch((error: unknown) => {
      throw prepared.place(error)
    })
  } catch (error) {
    // Requests that fail because they were given up are of no interest.
    if (cancelled.aborted) return cancelledCode
    if (!(error instanceof UserError)) throw error
    complain(stderr, error)
    return 2
  } finally {
    cancelled.removeEventListener('abort', close)
    close()
  }
}

/** Reports that there is no such namespace. Nothing where namespaces may not be read, or the server does not answer. */
export async function noteMissingNamespace(
  name: string | undefined,
  cluster: Pick<Cluster, 'get'>,
  { stderr }: Pick<Surface, 'stderr'>,
): Promise<void> {
  if (name === undefined) return
  const isMissing = await cluster.get({ apiVersion: 'v1', kind: 'Namespace', name }).then(() => false, isNotFound)
  if (isMissing) tell(stderr, `Namespace ${name} does not exist.`)
}
