import { toConnectionError } from '../cluster/failures.ts'
import { errorText } from '../errors.ts'
import { type ExtraName, knownExtras } from '../inputs.ts'
import { safeLine } from '../report/escape.ts'

/* Failures of requests to GitHub: their cause, whether a retry may help, and the warning for the user. */

/** Why a request to GitHub's API has failed. */
export interface GitHubFailure {
  /**
   * `forbidden`: the token lacks the permission. `invalid`: a retry would fail too. `temporary`: a retry may succeed,
   * after `retryAfterMs` at the earliest.
   */
  readonly type: 'forbidden' | 'invalid' | 'temporary'
  readonly retryAfterMs: number
  /** The cause as a part of a sentence: `GitHub answered 502`. */
  readonly cause: string
}

type Headers = Readonly<Record<string, string | number | undefined>>

/** An error of octokit. If GitHub answered, it has a response. */
interface HttpError extends Error {
  readonly status: number
  readonly response?: { readonly headers: Headers }
}

/**
 * Classifies an error of octokit. Only this function interprets status codes of GitHub:
 * https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api
 * @param now milliseconds since the epoch
 */
export function readFailure(error: unknown, now: number): GitHubFailure {
  const fail = (type: GitHubFailure['type'], cause: string, retryAfterMs = 0) => ({ type, retryAfterMs, cause })
  if (['AbortError', 'TimeoutError'].includes(Object(error).name))
    return fail('temporary', 'GitHub did not answer in time')
  if (!isHttpError(error)) return fail('invalid', errorText(error))
  const { status, message, response } = error
  // Without a response, octokit's error has the status 500, and its cause is the error of `fetch`.
  if (response === undefined) {
    const { certificate, code } = toConnectionError(Object(Object(error.cause).cause))
    // After a broken handshake (`ERR_SSL_…`, `EPROTO`), a retry may succeed; with an untrusted certificate, none does.
    const isUntrusted = certificate && !/^(ERR_SSL_|EPROTO)/.test(code)
    return fail(isUntrusted ? 'invalid' : 'temporary', `GitHub could not be reached (${message})`)
  }
  const retryAfterMs = retryDelayMs(response.headers, now)
  if (status === 429 || (status === 403 && (retryAfterMs > 0 || /rate limit/i.test(message))))
    return fail('temporary', "GitHub's rate limit is used up", retryAfterMs)
  if (status >= 500) return fail('temporary', `GitHub answered ${status}`, retryAfterMs)
  if (status === 401) return fail('forbidden', 'GitHub does not accept the token')
  // GitHub answers 404 for objects that the token cannot read.
  return fail(status === 403 || status === 404 ? 'forbidden' : 'invalid', `GitHub answered ${status} (${message})`)
}

function isHttpError(error: unknown): error is HttpError {
  return error instanceof Error && 'status' in error && typeof error.status === 'number'
}

/** The delay that GitHub requests: https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api */
function retryDelayMs(headers: Headers, now: number): number {
  const seconds = Number(headers['retry-after'])
  if (seconds > 0) return seconds * 1_000
  if (String(headers['x-ratelimit-remaining']) !== '0') return 0
  return Math.max(0, Number(headers['x-ratelimit-reset']) * 1_000 - now) || 0
}

/** The name of an extra at the start of a sentence: `The commit status`. */
export function describeExtra(extra: ExtraName): string {
  return `The ${extra.replaceAll('-', ' ')}`
}

/** The warning about a failed extra, with the remedy. Safe to print. */
export function describeFailure({ type, cause }: GitHubFailure, extra: ExtraName): string {
  const start = `The verdict stands, but ${describeExtra(extra).toLowerCase()} could not be written: ${safeLine(cause)}.`
  if (type !== 'forbidden') return start
  const fix = `It needs a github-token with the permission \`${knownExtras[extra].permission}\`: write it under \`permissions:\` of the job.`
  return `${start} ${fix} For a pull request from a fork, the token is read-only in any case.`
}
