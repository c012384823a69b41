import { ApiError } from './status.ts'

/** A received request. */
export interface ReceivedRequest {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly at: Date
}

export interface FailureOptions {
  /** For the `Retry-After` header; by default 1 for 429, else absent. */
  readonly retryAfterSeconds?: number
  /** Which requests fail; by default all. */
  readonly filter?: (request: ReceivedRequest) => boolean
}

interface Failure {
  remaining: number
  readonly outcome: ApiError | 'reset'
  readonly filter: (request: ReceivedRequest) => boolean
}

/** Failures of later requests, in order. */
export class Failures {
  #failures: Failure[] = []

  add(times: number, code: number, { retryAfterSeconds, filter = () => true }: FailureOptions): void {
    const seconds = retryAfterSeconds ?? (code === 429 ? 1 : undefined)
    const details = seconds === undefined ? undefined : { retryAfterSeconds: seconds }
    this.#failures.push({
      remaining: times,
      outcome: code === 0 ? 'reset' : new ApiError(code, undefined, details),
      filter,
    })
  }

  clear(): void {
    this.#failures = []
  }

  /** Consumes the failure for this request; undefined if the request succeeds. */
  next(request: ReceivedRequest): ApiError | 'reset' | undefined {
    const failure = this.#failures.find(({ remaining, filter }) => remaining > 0 && filter(request))
    if (failure) failure.remaining -= 1
    return failure?.outcome
  }
}
