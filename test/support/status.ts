/** `metav1.Status`: the response to a failed request. */
export interface Status {
  readonly kind: 'Status'
  readonly apiVersion: 'v1'
  readonly metadata: object
  readonly status: 'Failure'
  readonly message: string
  readonly reason: string
  readonly details?: StatusDetails
  readonly code: number
}

export interface StatusDetails {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly causes?: readonly { readonly reason: string; readonly message: string }[]
  readonly retryAfterSeconds?: number
}

/** Default reason and message of a status code (apimachinery `api/errors`). */
const GENERIC: Record<number, readonly [reason: string, message: string]> = {
  400: ['BadRequest', 'the server rejected our request for an unknown reason'],
  401: ['Unauthorized', 'Unauthorized'],
  403: ['Forbidden', 'forbidden'],
  404: ['NotFound', 'the server could not find the requested resource'],
  405: ['MethodNotAllowed', 'the server does not allow this method on the requested resource'],
  410: ['Expired', 'The resourceVersion for the provided watch is too old.'],
  429: ['TooManyRequests', 'Too many requests, please try again later.'],
  500: ['InternalError', 'Internal error occurred'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: ['Timeout', 'Timeout: request did not complete within the allotted duration'],
}

/** A failed request; thrown by request handlers. */
export class ApiError extends Error {
  readonly status: Status

  constructor(code: number, message?: string, details?: StatusDetails, reason?: string) {
    const [genericReason, genericMessage] = GENERIC[code] ?? ['InternalError', `an error on the server (code ${code})`]
    super(message ?? genericMessage)
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      reason: reason ?? genericReason,
      ...(details && { details }),
      code,
    }
  }

  /** Seconds for the `Retry-After` header; undefined without the header. */
  get retryAfterSeconds(): number | undefined {
    return this.status.details?.retryAfterSeconds
  }
}

/** The name of a resource in messages: `deployments.apps`, or `pods` in the core group. */
export function groupResource({ group, plural }: { group: string; plural: string }): string {
  return group === '' ? plural : `${plural}.${group}`
}
