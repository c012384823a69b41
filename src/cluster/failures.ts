import type { Failure, WatchRequest } from './feed.ts'

/** The API server answered, and not with success. */
export class ApiError extends Error {
  /** HTTP status, or the `code` of a Status object inside a watch. */
  readonly status: number
  /** The machine-readable reason of the Status object (`Expired`, `Forbidden` …), where there was one. */
  readonly reason: string
  /** How long the server asks us to stay away, from `Retry-After`. */
  readonly retryAfterMs: number | undefined

  constructor(status: number, reason: string, message: string, retryAfterMs?: number) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.reason = reason
    this.retryAfterMs = retryAfterMs
  }
}

/** No answer from the API server, or one that cannot be understood. */
export class ConnectionError extends Error {
  /** `ECONNREFUSED`, `ETIMEDOUT`, `CERT_HAS_EXPIRED` … */
  readonly code: string
  /** The two sides do not trust each other's certificates: trying again does not help. */
  readonly certificate: boolean

  constructor(code: string, message: string) {
    super(message)
    this.name = 'ConnectionError'
    this.code = code
    this.certificate = isCertificateCode(code)
  }
}

/** OpenSSL's verification codes as Node names them (doc/api/tls.md, "X509 certificate error codes"), and TLS alerts. */
const certificateCodes =
  /^(CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_(CA|PURPOSE)|HOSTNAME_MISMATCH|PATH_LENGTH_EXCEEDED|ERROR_IN_CERT_|ERR_TLS_(CERT|INVALID)|ERR_SSL_|ERR_OSSL_|EPROTO$)/

function isCertificateCode(code: string): boolean {
  return certificateCodes.test(code)
}

/** Whatever Node throws while a request is made, as a `ConnectionError` with a message for people. */
export function asConnectionError(error: unknown): ConnectionError {
  if (error instanceof ConnectionError) return error
  const { errors } = Object(error) as { errors?: unknown }
  // A host with several addresses fails with one error each.
  const { code, message } = Object(Array.isArray(errors) ? errors[0] : error) as { code?: unknown; message?: unknown }
  const name = typeof code === 'string' ? code : 'UNKNOWN'
  return new ConnectionError(name, typeof message === 'string' && message !== '' ? message : name)
}

/** The HTTP status of a failure; 0 when there was no answer. */
export function statusOf(error: unknown): number {
  return error instanceof ApiError ? error.status : 0
}

/**
 * What a failed request means, from its HTTP status (0: no answer). An expired resource version (410) is an ordinary
 * answer and no failure.
 * @param details the request, when it last succeeded, and whether a refusal is final
 */
export function failureOf(
  status: number,
  message: string,
  details: Partial<WatchRequest> & { readonly lastSuccessAt?: number; readonly final?: boolean } = {},
): Failure | undefined {
  const { lastSuccessAt, final = false, ...request } = details
  switch (status) {
    case 401:
      return { type: 'REFUSED', what: 'credentials', message, final, ...request }
    case 403:
      return { type: 'REFUSED', what: 'access', message, final, ...request }
    case 404:
      return { type: 'MISSING', message, ...request }
    case 410:
      return undefined
    default: {
      const since = lastSuccessAt === undefined ? {} : { lastSuccessAt }
      return { type: 'UNAVAILABLE', code: status, message, ...since, ...request }
    }
  }
}

/** The HTTP status that `failureOf` makes this failure of. */
export function codeOf(failure: Failure): number {
  switch (failure.type) {
    case 'UNAVAILABLE':
      return failure.code
    case 'REFUSED':
      return failure.what === 'credentials' ? 401 : 403
    case 'MISSING':
      return 404
  }
}
