import { type MistakeReason, UserError } from '../errors.ts'
import { type Clock, sleep } from './clock.ts'
import { ApiError, ConnectionError, isForbidden, isTransient, isUnauthorized, retryAfterOf } from './failures.ts'

/** How long the first requests are repeated. */
const maxInitialMs = 30_000

/** What the first requests connect to, as error messages name it. */
export interface Connection {
  readonly clock: Clock
  readonly server: string
  readonly context: string
  readonly user: string
}

interface Forbidden {
  readonly action: string
  readonly remedyOf: () => Promise<string>
}

/**
 * Runs the first requests, and repeats them for 30 s while the server does not answer or is overloaded. Throws a
 * `UserError` if the credentials are refused, the certificate is not trusted, access is denied or the server cannot be
 * reached.
 * @param forbidden `action`: what the message of a 403 calls forbidden; `remedyOf`: what that message recommends
 */
export async function runInitially<T>(
  connection: Connection,
  forbidden: Forbidden,
  requests: () => Promise<T>,
): Promise<T> {
  const { clock } = connection
  const giveUpAt = clock.now() + maxInitialMs
  for (let delayMs = 200; ; delayMs = Math.min(2 * delayMs, 3_000)) {
    try {
      return await requests()
    } catch (error) {
      const waitMs = Math.max(delayMs, retryAfterOf(error))
      if (isTransient(error) && clock.now() + waitMs < giveUpAt) {
        await sleep(clock, waitMs, new AbortController().signal)
        continue
      }
      if (!(error instanceof ApiError || error instanceof ConnectionError)) throw error
      const [reason, message] = await explain(connection, forbidden, error)
      throw new UserError([{ input: 'kubeconfig', message }], reason)
    }
  }
}

async function explain(
  { server, context, user }: Connection,
  { action, remedyOf }: Forbidden,
  error: ApiError | ConnectionError,
): Promise<[MistakeReason, string]> {
  const host = new URL(server).host
  if (isUnauthorized(error)) {
    return [
      'credentials-expired',
      `The cluster ${host} refuses the credentials of user "${user}" (context "${context}"), also after they were read again: ` +
        `${error.message}. They have expired, or belong to another cluster. Short-lived ones (EKS, GKE, AKS) must be fetched in this job.`,
    ]
  }
  if (isForbidden(error)) {
    return [
      'forbidden',
      `User "${user}" (context "${context}") may not ${action} on the cluster ${host}: ${error.message}. ${await remedyOf()}`,
    ]
  }
  if (error instanceof ConnectionError && error.certificate) {
    return ['api-unreachable', `The TLS connection to the cluster ${host} failed: ${explainCertificate(error)}`]
  }
  return [
    'api-unreachable',
    `The cluster ${host} (context "${context}") cannot be reached: ${error.message}. ` +
      'Is its address reachable from outside of your network, does a firewall block this runner, is a proxy needed (HTTPS_PROXY, proxy-url)?',
  ]
}

function explainCertificate({ code, message }: ConnectionError): string {
  if (code === 'CERT_HAS_EXPIRED')
    return `${message}. Renew the cluster's certificate, or check the clock of this machine.`
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `${message}. Use an address in the certificate, or set tls-server-name in the kubeconfig to one.`
  }
  if (/ALERT/.test(code)) return `the server refuses the client certificate (${code}). Renew the one in the kubeconfig.`
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'EPROTO') {
    return `the server does not use TLS (${code}). Is its address http://, or is a proxy in the way?`
  }
  return `${message} (${code}). The certificate-authority-data of the kubeconfig must contain the CA that signed the server's certificate.`
}
