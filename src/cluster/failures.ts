import { cutText, errorText } from '../errors.ts'
import type { Failure, Observation } from './feed.ts'

/* Errors of requests to the API server. Only this file interprets HTTP statuses. */

/** The API server answered with an error. */
export class ApiError extends Error {
  /** The HTTP status, or the `code` of a Status object in a watch. */
  readonly status: number
  /** The delay that the server requests in the header `Retry-After`. */
  readonly retryAfterMs: number | undefined

  constructor(status: number, message: string, retryAfterMs?: number) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

/**
 * Converts a Status object (kubernetes.io/docs/reference/kubernetes-api/common-definitions/status) to an error.
 * @param message the message of the error if the Status object has no message
 */
export function errorFromStatus(body: unknown, status: number, message: string, retryAfterMs?: number): ApiError {
  const { message: written } = Object(body) as { message?: unknown }
  return new ApiError(
    status,
    typeof written === 'string' && written !== '' ? cutText(written, 1000) : message,
    retryAfterMs,
  )
}

/** The API server did not answer, or sent an unreadable answer. */
export class ConnectionError extends Error {
  /** `ECONNREFUSED`, `ETIMEDOUT`, `CERT_HAS_EXPIRED` … */
  readonly code: string
  /** Whether a certificate is not trusted. Then retries are useless. */
  readonly certificate: boolean

  constructor(code: string, message: string) {
    super(message)
    this.name = 'ConnectionError'
    this.code = code
    this.certificate = certificateCodes.test(code)
  }
}

/** Node's codes for certificate errors (doc/api/tls.md, "X509 certificate error codes") and for TLS alerts. */
const certificateCodes =
  /^(CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_(CA|PURPOSE)|HOSTNAME_MISMATCH|PATH_LENGTH_EXCEEDED|ERROR_IN_CERT_|ERR_TLS_(CERT|INVALID)|ERR_SSL_|ERR_OSSL_|EPROTO$)/

/** Converts an error that Node throws during a request to a `ConnectionError`. */
export function toConnectionError(error: unknown): ConnectionError {
  if (error instanceof ConnectionError) return error
  const { errors } = Object(error) as { errors?: unknown }
  // For a host with several addresses, `errors` contains one error for each address.
  const { code, message } = Object(Array.isArray(errors) ? errors[0] : error) as { code?: unknown; message?: unknown }
  const name = typeof code === 'string' ? code : 'UNKNOWN'
  const text = typeof message === 'string' && message !== '' ? message : name
  return (
    parseProxyError(text) ?? new ConnectionError(name, text.replace(/; if the root CA is installed locally.*$/, ''))
  )
}

/** The error of a proxy, read from a message of the libraries hpagent and socks; undefined for other messages. */
function parseProxyError(message: string): ConnectionError | undefined {
  if (/^Socks\S* Authentication failed/i.test(message))
    return new ConnectionError('EPROXYREFUSED', 'the proxy does not accept the credentials')
  const [, status] = /^Bad response: (\d{3})$/.exec(message) ?? []
  if (status === undefined) return undefined
  const text = `the proxy answered with status ${status} instead of a connection`
  return new ConnectionError(Number(status) < 500 ? 'EPROXYREFUSED' : 'EPROXY', text)
}

/** Describes the answer to a failed request: its HTTP status, or that the answer is not from the Kubernetes API. */
export function describeStatus(error: unknown): string {
  return error instanceof ApiError ? `status ${error.status}` : 'something else than the Kubernetes API'
}

/** The HTTP status of an error; 0 if the server did not answer. Only this file interprets the status. */
export function httpStatusOf(error: unknown): number {
  return error instanceof ApiError ? error.status : 0
}

const hasStatus =
  (status: number) =>
  (error: unknown): error is ApiError =>
    httpStatusOf(error) === status

/** For a log, the container has not started or has no previous run. A server that expects TLS also answers with 400. */
export const isBadRequest = hasStatus(400)
/** The server does not accept the credentials. */
export const isUnauthorized = hasStatus(401)
export const isForbidden = hasStatus(403)
/** The object or its kind does not exist. */
export const isNotFound = hasStatus(404)
/** The resource does not support the verb. */
export const isMethodNotSupported = hasStatus(405)
/** The server no longer has the requested resource version. */
export const isExpired = hasStatus(410)

/** Whether the server failed to serve a request, for example because a conversion webhook is down. */
export function isServerError(error: unknown): boolean {
  return httpStatusOf(error) >= 500
}

/** Whether the same request may succeed soon: no answer, an overloaded server, or a server error. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ApiError) return error.status === 429 || error.status >= 500
  return error instanceof ConnectionError && !error.certificate && !finalCodes.has(error.code)
}

/** The codes of errors that a retry of the same request would cause again. */
const finalCodes: ReadonlySet<string> = new Set(['ECANCELED', 'EBADMSG', 'E2BIG', 'EPROXYREFUSED'])

/** Whether a time limit of the gate ended the request. */
export function isTimeout(error: unknown): boolean {
  return error instanceof ConnectionError && error.code === 'ETIMEDOUT'
}

/** The delay in the header `Retry-After`, in milliseconds; 0 without the header. */
export function retryAfterOf(error: unknown): number {
  return error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0
}

/** Creates the error for a missing object or kind. */
export function notFoundError(message: string): ApiError {
  return new ApiError(404, message)
}

export function isSuccess(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status < 300
}

/** The failure that a watch reports for an error. */
export function failureOf(error: unknown, details: Omit<Partial<Failure>, 'type' | 'code' | 'message'> = {}): Failure {
  return { type: 'ERROR', code: httpStatusOf(error), message: errorText(error), ...details }
}

const isFailureWith =
  <Status extends number>(status: Status) =>
  <E extends Observation | undefined>(event: E): event is E & Failure & { readonly code: Status } =>
    event?.type === 'ERROR' && event.code === status

/** Whether an event reports that the server does not accept the credentials. */
export const isCredentialRefusal = isFailureWith(401)
/** Whether an event reports that the credentials do not permit a request. */
export const isAccessDenied = isFailureWith(403)
/** Whether an event reports that a kind or an object does not exist on the server. */
export const isMissing = isFailureWith(404)
/** Whether an event reports an expired resource version, which is normal. */
export const isExpiry = isFailureWith(410)
/** Whether an event reports that the server did not answer. */
export const isUnanswered = isFailureWith(0)

/** Whether a failure is no answer or a server error, not a refusal. */
export function isUnavailable(failure: Failure): boolean {
  return !(isCredentialRefusal(failure) || isAccessDenied(failure) || isMissing(failure))
}

/** The access that the API server denies, read from its message. */
export interface DeniedAccess {
  readonly user: string
  readonly resource: string
  readonly group: string
  /** Undefined if access is denied in the whole cluster. */
  readonly namespace?: string
}

/** The denied access in the message of a 403 (apiserver `endpoints/handlers/responsewriters/errors.go`). */
const rbacMessage =
  /User "([^"]{1,300})" cannot [a-z]{1,20} resource "([^"]{1,300})" in API group "([^"]{0,300})"(?: in the namespace "([^"]{1,300})")?/

/** Parses the denied access from the message of a 403; undefined if the message has another form. */
export function parseDeniedAccess(message: string): DeniedAccess | undefined {
  const [, user, resource, group = '', namespace] = rbacMessage.exec(message.slice(0, 2_000)) ?? []
  return user === undefined || resource === undefined ? undefined : { user, resource, group, namespace }
}
