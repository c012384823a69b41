import { isPodSubject, subjectText } from '../cluster/objects.ts'
import { duration } from '../duration.ts'
import type { HintWords, ReasonFamily } from './spec.ts'
import { ifPresent, withoutMiddle } from './wording.ts'

/** How many characters of a body a sentence contains: the summary has more. */
const bodyLimit = 80

/** A request of `http-checks` that was not answered as expected. */
interface RequestDetail {
  /** `GET /healthz` */
  readonly request: string
  /** The port of the pod; absent if no pod with the port is known. */
  readonly port?: number | undefined
  readonly scheme: 'http' | 'https'
  /** The declared ports of the pod: `8080 (http)`. */
  readonly declared: string
}

interface MissingAnswer extends RequestDetail {
  /** Why there is no answer; absent if none came yet. */
  readonly error?: string | undefined
  /** What the error means. */
  readonly cause?: 'refused' | 'tls' | 'timeout' | undefined
}

interface WrongAnswer extends RequestDetail {
  readonly status: number
  readonly body: string
  /** The answer is an error about plain HTTP at a port with TLS. */
  readonly expectsTls: boolean
  /** The expected statuses: `200-299`. */
  readonly expectStatus: string
  /** The expected text that the body lacks; absent if the status is wrong. */
  readonly expectBody?: string | undefined
  /** Where a redirect leads. */
  readonly location?: string | undefined
}

export interface CheckDetails {
  readonly 'no-answer': MissingAnswer
  readonly 'wrong-answer': WrongAnswer
  /** `afterMs`: since the start of the hold; `cause`: what ended it. */
  readonly 'not-held': { readonly holdMs: number; readonly afterMs: number; readonly cause: string }
}

/** The reasons of `http-checks` and `hold`: how each ends a gate, and its texts. See `ReasonSpec`. */
export const checkReasons: ReasonFamily<CheckDetails> = {
  'no-answer': {
    class: 'strike',
    isAnswer: true,
    title: 'no answer',
    headline: ({ request }) => `no answer to ${request}`,
    sentence: ({ request, error }, { times }) =>
      error === undefined ? `has not answered ${request}` : `does not answer ${request}: ${shortText(error)}${times}`,
    hint: missingHint,
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
    hint: wrongHint,
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
  return withoutMiddle(text, bodyLimit)
}

const addScheme = 'If it serves TLS, add --scheme=https to the line.'

/** Hint for a request without an answer, by the step that failed. */
function missingHint({ port, declared = '', error, cause, scheme }: Partial<MissingAnswer>, words: HintWords): string {
  if (port === undefined) return 'See whether its pods are ready, and serve on the port of the line.'
  if (error === undefined) return `No answer came from port ${port}: see whether its pods are ready and serve there.`
  const ports = declared === '' ? 'declare no port' : `declare ${declared}`
  if (cause === 'refused')
    return `Nothing listens on port ${port} of the pod; its containers ${ports}. Correct the port in the line or in the Service's targetPort, or let the process listen there.`
  if (cause === 'tls')
    return scheme === 'https'
      ? `Port ${port} does not speak TLS as asked. Leave out --scheme=https if it serves plain HTTP.`
      : addScheme
  if (cause === 'timeout')
    return `The process accepted the connection and did not answer in time. If it needs longer, raise --timeout of the line; else ${logAdvice(words)}`
  return `The connection to port ${port} of the pod failed; its containers ${ports}. ${addScheme}`
}

function logAdvice({ problem, command }: HintWords): string {
  const { subject } = problem ?? {}
  return subject === undefined || !isPodSubject(subject)
    ? 'read its log.'
    : `read its log: ${command('logs', subjectText(subject))}.`
}

/** Hint for a wrong answer, by its status. */
function wrongHint({ status, expectsTls, expectBody, location }: Partial<WrongAnswer>, words: HintWords): string {
  if (status === undefined) return 'Compare the answer with the one that the line expects.'
  if (expectBody !== undefined)
    return 'Its status is right, but not its body: another version may run there, or the text of --expect-body is wrong.'
  if (expectsTls) return `The server expects TLS. ${addScheme}`
  if (status >= 300 && status < 400)
    return `Redirects are not followed${ifPresent`, this one leads to ${location && shortText(location)}`}. Ask the path that it leads to, accept it with --expect-status=${status}, or give the host that the server expects: --header='Host: …'.`
  if (status === 401 || status === 403)
    return `The application asks for credentials. Give them in a header, --header='Authorization: …', or ask a path that needs none.`
  if (status === 404) return 'The application does not know this path. Correct the path in the line.'
  return `The application itself answers so: ${logAdvice(words)}`
}
