import { isIP } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Clock } from '../cluster/clock.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { ConnectionError, isTimeout } from '../cluster/failures.ts'
import type { PodPort } from '../cluster/port-forward.ts'
import { type MistakeWithReason, throwMistakes } from '../errors.ts'
import type { Header, RequestCheck } from '../plan/checks.ts'
import { exchange, type HttpAnswer, type HttpQuery, missingText, type NoAnswer } from './exchange.ts'

/**
 * Reviews whether the ports of pods may be forwarded in the namespace of each line. Where the API server does not review, they are
 * tried later.
 * @throws UserError with the first line of each namespace where they may not
 */
export async function reviewAccess(
  checks: readonly RequestCheck[],
  cluster: Pick<Cluster, 'permits' | 'initially'>,
): Promise<void> {
  const review = async ([namespace, [check]]: readonly [string, readonly RequestCheck[]]): Promise<
    MistakeWithReason[]
  > => {
    const access = { resource: 'pods', subresource: 'portforward', namespace }
    const answers = await Promise.all(['get', 'create'].map((verb) => cluster.permits({ verb, ...access })))
    if (check === undefined || !answers.includes(false)) return []
    const message = `The credentials do not permit to forward ports of pods in namespace ${namespace}. Add this rule to the user's Role: {apiGroups: [""], resources: ["pods/portforward"], verbs: ["get", "create"]}.`
    return [{ input: 'http-checks', line: check.line, message, reason: 'forbidden' }]
  }
  const byNamespace = [...Map.groupBy(checks, ({ reference: { namespace = '' } }) => namespace)]
  throwMistakes((await cluster.initially(() => Promise.all(byNamespace.map(review)))).flat())
}

/**
 * Asks a pod by its port, which the API server forwards. A pod's certificate is not verified, as a probe does not verify it.
 * @throws an ApiError or ConnectionError if the API server does not let it be asked
 */
export async function askPod(
  cluster: Pick<Cluster, 'forwardPort'>,
  pod: PodPort,
  query: HttpQuery,
  clock: Clock,
  signal: AbortSignal,
): Promise<HttpAnswer | NoAnswer> {
  const connection = await cluster.forwardPort(pod, signal)
  const socket =
    query.scheme === 'https'
      ? connectTls({ socket: connection, rejectUnauthorized: false, servername: serverName(query.headers) })
      : connection
  try {
    return await exchange(socket, pod.port, query, clock, signal)
  } catch (error) {
    // The connection to the API server broke.
    if (error instanceof ConnectionError && !isTimeout(error)) throw error
    return { error: missingText(error, query.timeoutMs) }
  } finally {
    connection.destroy()
  }
}

/** The name for TLS (SNI): of the header `Host`. */
function serverName(headers: readonly Header[]): string {
  const host = headers.find(([name]) => name.toLowerCase() === 'host')?.[1].replace(/:\d+$/, '') ?? ''
  return isIP(host) === 0 ? host : ''
}
