import { type MistakeReason, removeFinalPunctuation, UserError } from '../errors.ts'
import { firstInitialRetryMs, maxInitialMs, maxInitialRetryMs } from '../thresholds.ts'
import { awaitAtMost, type Clock, noAnswerError, sleep } from './clock.ts'
import {
  ApiError,
  ConnectionError,
  describeStatus,
  isBadRequest,
  isForbidden,
  isTransient,
  isUnauthorized,
  retryAfterOf,
} from './failures.ts'
import type { Kubeconfig } from './kubeconfig.ts'

/* Repeats the first requests to the API server until it answers, and explains why the server cannot be used. */

/** The connection for the first requests, with the names that error messages contain. */
export interface Connection extends Pick<Kubeconfig, 'server' | 'context' | 'user' | 'proxy'> {
  readonly clock: Clock
  /** The gate's timeout; 0 means no timeout. */
  readonly timeoutMs?: number | undefined
}

/** Parts of the message about a 403: the forbidden action, and the remedy. */
interface Forbidden {
  readonly action: string
  readonly remedy: string
}

/**
 * Runs the first requests. While the server does not answer or is overloaded, repeats the requests for up to
 * `maxInitialMs` or the gate's timeout. Throws a `UserError` after that time. If the credentials are refused, access is
 * denied or the certificate is not trusted, throws at once.
 */
export async function retryInitialRequests<T>(
  connection: Connection,
  forbidden: Forbidden,
  requests: () => Promise<T>,
): Promise<T> {
  const { clock, timeoutMs } = connection
  const startedAt = clock.now()
  const limitMs = Math.min(timeoutMs || maxInitialMs, maxInitialMs)
  const giveUpAt = startedAt + limitMs
  const attempt = async () => {
    if (!timeoutMs) return requests()
    const leftMs = Math.max(0, startedAt + timeoutMs - clock.now())
    const ended = await awaitAtMost(
      clock,
      leftMs,
      requests().then((result) => ({ result })),
    )
    if (ended === undefined) throw noAnswerError(leftMs)
    return ended.result
  }
  for (let delayMs = firstInitialRetryMs; ; delayMs = Math.min(2 * delayMs, maxInitialRetryMs)) {
    try {
      return await attempt()
    } catch (error) {
      // If `Retry-After` is longer than the limit, a last attempt is still made just before the limit.
      const waitMs = Math.max(delayMs, Math.min(retryAfterOf(error), giveUpAt - clock.now() - 1))
      if (isTransient(error) && clock.now() + waitMs < giveUpAt) {
        await sleep(clock, waitMs, new AbortController().signal)
        continue
      }
      if (!(error instanceof ApiError || error instanceof ConnectionError)) throw error
      const [reason, message] = explainFailure(connection, forbidden, error)
      throw new UserError([{ input: 'kubeconfig', message }], reason)
    }
  }
}

/** The reason code and the message, with a remedy, for an error of the first requests. */
function explainFailure(
  connection: Connection,
  { action, remedy }: Forbidden,
  error: ApiError | ConnectionError,
): [MistakeReason, string] {
  const { server, context, user, proxy } = connection
  const message = removeFinalPunctuation(error.message)
  const host = new URL(server).host
  if (isUnauthorized(error)) {
    return [
      'credentials-expired',
      `The cluster ${host} refuses the credentials of user "${user}" (context "${context}"), also after they were read again: ` +
        `${message}. They have expired, or belong to another cluster. Short-lived ones (EKS, GKE, AKS) must be fetched in this job.`,
    ]
  }
  if (isForbidden(error)) {
    return [
      'forbidden',
      `User "${user}" (context "${context}") may not ${action} on the cluster ${host}: ${message}. ${remedy}`.trimEnd(),
    ]
  }
  if (error instanceof ConnectionError && error.certificate) {
    return ['api-unreachable', `The TLS connection to the cluster ${host} failed: ${explainTlsError(error)}`]
  }
  const way = proxy === undefined ? '' : ` through the proxy ${proxy}`
  const does = hasAnswered(connection, error)
    ? `answers${way} with ${describeStatus(error)}`
    : `cannot be reached${way}`
  return [
    'api-unreachable',
    `The cluster ${host} (context "${context}") ${does}: ${message}. ${remedyFor(connection, error)}`,
  ]
}

/** Whether a server answered the request. The 400 of a server that expects TLS does not count as an answer. */
function hasAnswered({ server }: Connection, error: ApiError | ConnectionError): boolean {
  if (error instanceof ApiError) return !(isBadRequest(error) && server.startsWith('http:'))
  return error.code === 'EBADMSG' || error.code === 'E2BIG'
}

function remedyFor(connection: Connection, error: ApiError | ConnectionError): string {
  const { server, proxy } = connection
  const code = error instanceof ConnectionError ? error.code : ''
  if (hasAnswered(connection, error))
    return isTransient(error)
      ? 'Is its control plane healthy (kubectl get --raw "/readyz?verbose")? A load balancer in front of it may have no backend.'
      : 'Is this the address of an API server? A proxy or a login page may answer in its place.'
  if (proxy !== undefined)
    return 'Is the address of the proxy right (proxy-url, HTTPS_PROXY: http://USER:PASSWORD@HOST:PORT), and may it connect to the server? NO_PROXY names hosts that need no proxy.'
  // To a request without TLS, servers written in Go answer with status 400. Other servers close the connection.
  const isReset = isBadRequest(error) || code === 'ECONNRESET' || code.startsWith('HPE_')
  if (server.startsWith('http:') && isReset)
    return 'Its address starts with http://. If the server uses TLS, write https://.'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return 'Is the name right, and can this runner resolve it? Names of private clusters are known only inside of their network.'
  return 'Is its address reachable from outside of your network, does a firewall block this runner, is a proxy needed (HTTPS_PROXY, proxy-url)?'
}

/** Explains a TLS error by its code from OpenSSL or Node. For EPROTO, only the message contains the cause. */
function explainTlsError(error: ConnectionError): string {
  const { code } = error
  const message = removeFinalPunctuation(error.message)
  const cause = `${code} ${code === 'EPROTO' ? message : ''}`
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return `${message}. Renew the cluster's certificate, or check the clock of this machine.`
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `${message}. Use an address in the certificate, or set tls-server-name in the kubeconfig to one.`
  if (/KEY_VALUES_MISMATCH|certificate.required|alert/i.test(cause) && !/protocol.version/i.test(cause))
    return `the server does not accept the client certificate of the kubeconfig, or its client-key belongs to another one (${code}). Renew client-certificate-data and client-key-data.`
  if (/WRONG_VERSION_NUMBER|PROTOCOL|EPROTO/.test(cause))
    return `the server does not use TLS, or only an old version (${code}). Is its address http://, or is a proxy in the way?`
  return `${message} (${code}). The certificate-authority-data of the kubeconfig must contain the CA that signed the server's certificate.`
}
