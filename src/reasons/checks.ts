import { isPodSubject, subjectText } from '../cluster/objects.ts'
import { duration } from '../duration.ts'
import type { HintWords, ReasonFamily } from './spec.ts'
import { ifPresent, shortenMiddle } from './wording.ts'

/* The reason codes of `http-checks` and `hold`, such as `no-answer`: class, sentences and hint of each. */

/** The maximum length of a text in a sentence. The summary shows more. */
const bodyLimit = 80

/** A request of `http-checks` that has no answer. */
interface MissingAnswer {
  /** `GET /healthz` */
  readonly request: string
  /** The port of the pod; absent if no known pod has the port. */
  readonly port?: number | undefined
  /** The ports that the pod declares: `8080 (http)`. */
  readonly declared: string
  /** Why there is no answer; absent if no request has ended yet. */
  readonly error?: string | undefined
}

/** A request of `http-checks` whose answer is not the expected one. */
interface WrongAnswer {
  readonly request: string
  readonly status: number
  readonly body: string
  /** The expected statuses: `200-299`. */
  readonly expectStatus: string
  /** The expected text that is not in the body; absent if the status is wrong. */
  readonly expectBody?: string | undefined
  /** The target of a redirect. */
  readonly location?: string | undefined
}

export interface CheckDetails {
  readonly 'no-answer': MissingAnswer
  readonly 'wrong-answer': WrongAnswer
  /** `afterMs`: the time from the start of the hold; `cause`: what ended the hold. */
  readonly 'not-held': { readonly holdMs: number; readonly afterMs: number; readonly cause: string }
}

export const checkReasons: ReasonFamily<CheckDetails> = {
  'no-answer': {
    class: 'strike',
    isAnswer: true,
    title: 'no answer',
    headline: ({ request }) => `no answer to ${request}`,
    sentence: ({ request, error }, { times }) =>
      error === undefined ? `has not answered ${request}` : `does not answer ${request}: ${shortText(error)}${times}`,
    hint: noAnswerHint,
  },
  'wrong-answer': {
    class: 'strike',
    isAnswer: true,
    title: 'wrong answer',
    headline: ({ request, status, expectBody }) =>
      expectBody === undefined ? `${request} is answered with ${status}` : `the answer to ${request} lacks a text`,
    sentence: ({ request, status, body, expectStatus, expectBody }, { times }) => {
      const expected =
        expectBody === undefined
          ? ` instead of ${expectStatus}`
          : `, but without ${JSON.stringify(shortText(expectBody))}`
      const shown = body === '' ? '' : `; the body is ${JSON.stringify(shortText(body))}`
      return `answers ${request} with ${status}${expected}${times}${shown}`
    },
    hint: wrongAnswerHint,
  },
  'not-held': {
    class: 'strike',
    yieldsTo: 'problem',
    title: 'did not stay ready',
    sentence: ({ holdMs, afterMs, cause }) =>
      `did not stay ready for ${duration(holdMs)}: after ${duration(afterMs)}, ${cause}`,
    hint: (_, { command, name }) => `See what happened to it after it was ready: ${command('describe', name)}.`,
  },
}

function shortText(text: string): string {
  return shortenMiddle(text, bodyLimit)
}

/** Hint for a request without an answer. */
function noAnswerHint({ port, declared = '' }: Partial<MissingAnswer>): string {
  if (port === undefined) return 'See whether its pods are ready, and serve on the port of the line.'
  const ports = declared === '' ? 'declare no port' : `declare ${declared}`
  return `Check that the process listens on port ${port} of the pod (its containers ${ports}), serves HTTP there (with TLS: --scheme=https), and answers within the --timeout of the line.`
}

/** Hint for a wrong answer, by its status. */
function wrongAnswerHint(
  { status = 0, expectBody, location }: Partial<WrongAnswer>,
  { problem, command }: HintWords,
): string {
  if (expectBody !== undefined)
    return 'Its status is right, but not its body: another version may run there, or the text of --expect-body is wrong.'
  if (status >= 300 && status < 400)
    return `Redirects are not followed${ifPresent`, this one leads to ${location && shortText(location)}`}. Ask the path that it leads to, accept it with --expect-status=${status}, or give the host that the server expects: --header='Host: …'.`
  const { subject } = problem ?? {}
  const isOfPod = subject !== undefined && isPodSubject(subject)
  const log = isOfPod ? `: ${command('logs', subjectText(subject))}` : ''
  return `Correct the request, or see why the application answers so${log}.`
}
