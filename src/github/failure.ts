import { extraPermissions } from '../inputs.ts'
import { plain } from '../report/escape.ts'
import type { Extra } from './extra.ts'
import type { Origin } from './origin.ts'

/** Why an extra could not be shown. */
export interface Failure {
  /**
   * `forbidden`: the token may not do it, now or later. `refused`: this very request is wrong. `passing`: it may
   * succeed when it is tried again, after `retryAfterMs` at the earliest.
   */
  readonly type: 'forbidden' | 'refused' | 'passing'
  readonly retryAfterMs: number
  /** A sentence's second half: `GitHub answered 502`. */
  readonly cause: string
}

/** The errors of octokit: with the response, if there was one. */
interface HttpError extends Error {
  readonly status: number
  readonly response?: { readonly headers: Readonly<Record<string, string | number | undefined>> }
}

/**
 * Reads what a request came to: https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api
 * @param now milliseconds since the epoch, to which the end of a rate limit is compared
 */
export function readFailure(error: unknown, now: number): Failure {
  if (['AbortError', 'TimeoutError'].includes(Object(error).name)) return passing('GitHub did not answer in time')
  if (!isHttpError(error)) return refused(error instanceof Error ? error.message : String(error))
  const { status, message, response } = error
  // octokit calls it 500 when there was no answer at all.
  if (response === undefined) return passing(`GitHub could not be reached (${message})`)
  const retryAfterMs = retryAfter(response.headers, now)
  if (status === 429 || (status === 403 && (retryAfterMs > 0 || /rate limit/i.test(message)))) {
    return passing("GitHub's rate limit is used up", retryAfterMs)
  }
  if (status >= 500) return passing(`GitHub answered ${status}`, retryAfterMs)
  if (status === 401) return { type: 'forbidden', retryAfterMs: 0, cause: 'GitHub does not accept the token' }
  // Of what a token may not see GitHub says that it does not exist.
  if (status === 403 || status === 404) {
    return { type: 'forbidden', retryAfterMs: 0, cause: `GitHub answered ${status} (${message})` }
  }
  return refused(`GitHub answered ${status} (${message})`)
}

/** The warning about an extra, with what to do. */
export function describeFailure(
  { type, cause }: Failure,
  input: Extra['input'],
  { readsOnly }: Pick<Origin, 'readsOnly'>,
): string {
  const start = `The verdict stands, but ${input} could not be written: ${plain(cause)}.`
  if (type !== 'forbidden') return start
  const permission = extraPermissions[input]
  const why = readsOnly === undefined ? '' : ` ${readOnlyTokens[readsOnly]}`
  return `${start} It needs a github-token with the permission \`${permission}\`: write it under \`permissions:\` of the job.${why}`
}

const readOnlyTokens = {
  fork: 'Workflows of pull requests from forks get a token that may only read, whatever they ask for.',
  dependabot: "Dependabot's workflows get a token that may only read, unless `permissions:` gives it more.",
}

function refused(cause: string): Failure {
  return { type: 'refused', retryAfterMs: 0, cause }
}

function passing(cause: string, retryAfterMs = 0): Failure {
  return { type: 'passing', retryAfterMs, cause }
}

function isHttpError(error: unknown): error is HttpError {
  return error instanceof Error && 'status' in error && typeof error.status === 'number'
}

/** https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api: seconds, or the second of the reset. */
function retryAfter(headers: Readonly<Record<string, string | number | undefined>>, now: number): number {
  const seconds = Number(headers['retry-after'])
  if (seconds > 0) return seconds * 1_000
  if (String(headers['x-ratelimit-remaining']) !== '0') return 0
  const reset = Number(headers['x-ratelimit-reset']) * 1_000
  return reset > now ? reset - now : 0
}
