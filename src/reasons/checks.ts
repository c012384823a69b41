import { type Container, isPodSubject, type Probe, subjectText } from '../cluster/objects.ts'
import { duration } from '../duration.ts'
import type { HintWords, ReasonFamily, SentenceFacts } from './spec.ts'
import { ifPresent, logHint, withoutMiddle } from './wording.ts'

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
    evidence: ['logs'],
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
    evidence: ['logs'],
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

export interface ProbeDetail {
  /**
   * True: the container runs, and the probe fails or has not succeeded yet. False: it was killed because of the probe.
   */
  readonly isRunning: boolean
  /** The container was ready before. */
  readonly wasReady?: boolean
  /** The kubelet's report: empty if the probe printed nothing, absent if it has not failed yet. */
  readonly failure?: string
  readonly answer?: ProbeAnswer
}

/** The container's answer to a probe, as the kubelet reports it (pkg/probe/http, tcp, grpc). */
export type ProbeAnswer =
  | { readonly type: 'http-status'; readonly status: number }
  | { readonly type: 'grpc-status'; readonly status: string }
  | { readonly type: 'grpc-error'; readonly code: string }
  | {
      readonly type:
        | 'no-grpc-server'
        | 'no-grpc-health'
        | 'connection-refused'
        | 'timeout'
        | 'expects-tls'
        | 'expects-http2'
        | 'expects-plain-http'
    }
  /** The kubelet could not run the probe; `program`: what the image does not have, or what may not be run. */
  | { readonly type: 'not-asked'; readonly program?: string }

export type ProbeKind = 'liveness' | 'readiness' | 'startup'

export function probeSentence(kind: ProbeKind, detail: ProbeDetail, { times, isStarting }: SentenceFacts): string {
  const { isRunning, wasReady, failure } = detail
  const why = ifPresent`: ${failure}`
  if (!isRunning) return `is killed because its ${kind} probe fails${times}`
  if (wasReady) return `was ready, and then not ready${why}${times}`
  if (detail.answer?.type === 'not-asked') return `is not ready, because its ${kind} probe cannot be run${why}`
  if (isStarting) return `has just started, and its ${kind} probe has not succeeded yet${why}`
  return failure === undefined ? `runs, but its ${kind} probe has not succeeded` : `fails its ${kind} probe${why}`
}

/** Hint for a failing probe: what the probe asks, and what the container answers. */
export function probeHint(kind: ProbeKind, { answer }: Partial<ProbeDetail>, words: HintWords): string {
  const { spec } = words
  const probe = spec?.[`${kind}Probe`]
  if (answer?.type === 'not-asked') return `The kubelet cannot run the probe${missingProgram(answer.program, spec)}.`
  const further = {
    liveness: 'If the container only needs longer to start, give it a startupProbe.',
    readiness: logHint(words),
    startup: `If the container only needs longer, raise the probe's failureThreshold${periodText(probe)}.`,
  }
  return `${requestText(probe, answer, spec)} ${further[kind]}`
}

function requestText(probe: Probe | undefined, answer: ProbeAnswer | undefined, spec: Container | undefined): string {
  if (probe === undefined) return 'Check what the probe asks.'
  const command = probe.exec?.command?.join(' ')
  if (command !== undefined) return `The probe runs \`${command.replaceAll('`', '')}\`, which has to end with code 0.`
  const port = probe.httpGet?.port ?? probe.tcpSocket?.port ?? probe.grpc?.port
  const path = probe.httpGet === undefined ? '' : ` for ${probe.httpGet.path ?? '/'}`
  // A server that answers otherwise than the probe expects listens there, declared or not.
  const isWrongProtocol = answer?.type.startsWith('expects-') === true
  const ports = spec?.ports ?? []
  if (
    !isWrongProtocol &&
    ports.length > 0 &&
    !ports.some(({ containerPort, name }) => containerPort === port || name === port)
  ) {
    const declared = ports.map(({ containerPort }) => containerPort).join(', ')
    return `The probe asks port ${port}${path}, but the container declares ${declared}.`
  }
  return `The probe asks port ${port}${path}: ${answerText(answer, probe)}`
}

/** `: app:v2 has no program wget that may be executed`. */
function missingProgram(program: string | undefined, spec: Container | undefined): string {
  if (program === undefined) return '. Its error is in the message'
  return `: ${spec?.image ?? 'the image'} has no program ${program.replaceAll('`', '')} that may be executed. Add it to the image, or let the probe ask with \`httpGet\`, \`tcpSocket\` or \`grpc\``
}

/** The meaning of an answer to a probe. */
function answerText(answer: ProbeAnswer | undefined, { timeoutSeconds = 1, httpGet }: Probe): string {
  const listen = 'It has to listen on that port, and on all addresses, not on localhost alone.'
  switch (answer?.type) {
    case 'http-status': {
      const { status } = answer
      if (status === 404) return 'the app answers, but has no such path (404).'
      if (status === 401 || status === 403) return `the app answers, but requires authentication (${status}).`
      const isPlain = httpGet?.scheme !== 'HTTPS'
      const tls =
        status === 400 && isPlain ? ' Many HTTPS ports answer HTTP so: if it is one, set `scheme: HTTPS`.' : ''
      return `the app answers ${status}, and any of 200 to 399 would do.${tls}`
    }
    case 'expects-tls':
      return 'the app expects HTTPS there: set `scheme: HTTPS`, or ask its HTTP port.'
    case 'expects-http2':
      return 'the app expects HTTP/2 there, as a gRPC server does: let the probe ask with `grpc`, or ask another port.'
    case 'expects-plain-http':
      return 'the app expects HTTP there, not HTTPS: remove `scheme: HTTPS`, or ask its HTTPS port.'
    case 'no-grpc-server':
      return `no gRPC server answers there. ${listen}`
    case 'no-grpc-health':
      return 'the app answers, but does not implement the gRPC health protocol (grpc.health.v1.Health).'
    case 'grpc-status':
      return `the app answers ${answer.status}, and only SERVING would do.`
    case 'grpc-error':
      return `the app answers with the gRPC code ${answer.code}. Does it know the service that the probe names?`
    case 'connection-refused':
      return `nothing listens there. ${listen}`
    case 'timeout':
      return `no answer within its timeoutSeconds of ${timeoutSeconds}.`
    default:
      return 'does the app listen there?'
  }
}

/** The threshold and period of a probe: ` (now 30, every 10 s)`. Without a known probe: ` × periodSeconds`. */
function periodText(probe: Probe | undefined): string {
  if (probe === undefined) return ' × periodSeconds'
  return ` (now ${probe.failureThreshold ?? 3}, every ${probe.periodSeconds ?? 10} s)`
}
