import { type MistakeReason, UserError } from '../errors.ts'
import { type Clock, sleep } from './clock.ts'
import { ApiError, ConnectionError } from './failures.ts'

/** How long a server that does not answer is tried at the very start (DESIGN §2, "Blind is not stalled"). */
const patienceMs = 30_000

export interface Contact {
  readonly clock: Clock
  readonly server: string
  readonly context: string
  readonly user: string
  /** What the user may not do where the server says 403, and what to give him. */
  readonly forbidden: { readonly deed: string; readonly remedy: string }
}

/**
 * Runs the first requests, again and again for 30 s while the server does not answer or is overloaded. What only the
 * user can mend (refused credentials, a certificate that does not fit, no access at all, a server that stays away)
 * becomes a `UserError` that says what to do.
 */
export async function firstContact<T>(contact: Contact, requests: () => Promise<T>): Promise<T> {
  const { clock } = contact
  const giveUpAt = clock.now() + patienceMs
  for (let delayMs = 200; ; delayMs = Math.min(2 * delayMs, 3_000)) {
    try {
      return await requests()
    } catch (error) {
      const waitMs = Math.max(delayMs, error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0)
      if (!mayHeal(error) || clock.now() + waitMs >= giveUpAt) throw explain(contact, error)
      await sleep(clock, waitMs, new AbortController().signal)
    }
  }
}

function mayHeal(error: unknown): boolean {
  if (error instanceof ApiError) return error.status === 429 || error.status >= 500
  return (
    error instanceof ConnectionError && !error.certificate && error.code !== 'ECANCELED' && error.code !== 'EBADMSG'
  )
}

function explain({ server, context, user, forbidden }: Contact, error: unknown): unknown {
  const host = new URL(server).host
  if (error instanceof ApiError && error.status === 401) {
    return misconfigured(
      'credentials-expired',
      `The cluster ${host} refuses the credentials of user "${user}" (context "${context}"), also after they were read again: ` +
        `${error.message}. They have expired, or belong to another cluster. Short-lived ones (EKS, GKE, AKS) must be fetched in this job.`,
    )
  }
  if (error instanceof ApiError && error.status === 403) {
    return misconfigured(
      'forbidden',
      `User "${user}" (context "${context}") may not ${forbidden.deed} on the cluster ${host}: ${error.message}. ${forbidden.remedy}`,
    )
  }
  if (error instanceof ConnectionError && error.certificate) {
    return misconfigured(
      'api-unreachable',
      `The connection to the cluster ${host} is not to be trusted: ${certificateAdvice(error)}`,
    )
  }
  if (error instanceof ApiError || error instanceof ConnectionError) {
    return misconfigured(
      'api-unreachable',
      `The cluster ${host} (context "${context}") cannot be reached: ${error.message}. ` +
        'Does its address hold outside of your network, does a firewall let this runner in, does it need a proxy (HTTPS_PROXY, proxy-url)?',
    )
  }
  return error
}

function certificateAdvice({ code, message }: ConnectionError): string {
  if (code === 'CERT_HAS_EXPIRED')
    return `${message}. Renew the cluster's certificate, or look at the clock of this machine.`
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `${message}. Use an address that stands in the certificate, or name one that does as tls-server-name in the kubeconfig.`
  }
  if (/ALERT/.test(code)) return `the server refuses the client certificate (${code}). Renew the one in the kubeconfig.`
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'EPROTO') {
    return `the server does not speak TLS (${code}). Is its address http://, or is a proxy in the way?`
  }
  return `${message} (${code}). The certificate-authority-data of the kubeconfig must be the one that signed the server's certificate.`
}

function misconfigured(reason: MistakeReason, message: string): UserError {
  return new UserError([{ input: 'kubeconfig', message }], reason)
}
