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

/** The `code` of an `ERROR` line (DESIGN §6): the HTTP status, 0 when there was no answer. */
export function statusOf(error: unknown): number {
  return error instanceof ApiError ? error.status : 0
}
