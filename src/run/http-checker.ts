import { request as httpRequest, type IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { type Clock, Semaphore, sleep, withTimeout } from '../cluster/clock.ts'
import type { Cluster } from '../cluster/cluster.ts'
import {
  ApiError,
  ConnectionError,
  failureOf,
  httpStatusOf,
  isForbidden,
  isNotFound,
  isTimeout,
  isUnauthorized,
  toConnectionError,
} from '../cluster/failures.ts'
import type { Answer, Observation } from '../cluster/feed.ts'
import type { PodPort } from '../cluster/port-forward.ts'
import { errorText, type MistakeWithReason, throwMistakes, UserError } from '../errors.ts'
import type { Question } from '../lifecycle/assessment.ts'
import type { Header, RequestCheck } from '../plan/checks.ts'
import {
  answerBodyCharacters,
  maxCheckedBodyBytes,
  maxConcurrentQuestions,
  questionRetryMs,
  withdrawnMs,
} from '../thresholds.ts'
import { version } from '../version.ts'

/* Sends the requests of `http-checks` to pods, through the API server. */

interface CheckerOptions {
  readonly cluster: Cluster
  readonly clock: Clock
  /** Replaces the secrets in a text. */
  readonly redact: (text: string) => string
  /** Called with every answer, and when the API server finally refuses access. */
  readonly observe: (observation: Observation) => void
  /** Called once, with a sentence, if requests do not reach a pod because the API server reports an error. */
  readonly onWarning: (text: string) => void
}

/** Sends the requests of `http-checks` to pods, and reports the answers. A question is a request to one pod. */
export class HttpChecker {
  readonly #options: CheckerOptions
  readonly #slots = new Semaphore(maxConcurrentQuestions)
  /** Aborts the questions that wait or are sent. By `questionKey`. */
  readonly #openQuestions = new Map<string, AbortController>()
  /** Since when the API server refuses access (403); undefined after an answer. */
  #refusedSince: number | undefined
  #hasWarned = false

  constructor(options: CheckerOptions) {
    this.#options = options
  }

  /** Replaces the list of questions: sends each new question when it is due, and aborts those that are gone. */
  update(questions: readonly Question[]): void {
    const wanted = new Map(questions.map((question) => [questionKey(question), question]))
    for (const [key, controller] of this.#openQuestions) {
      if (wanted.has(key)) continue
      controller.abort()
      this.#openQuestions.delete(key)
    }
    const added = [...wanted].filter(([key]) => !this.#openQuestions.has(key))
    for (const [key, question] of added.toSorted(([, a], [, b]) => a.at - b.at)) {
      const controller = new AbortController()
      this.#openQuestions.set(key, controller)
      void this.#sendUntilAnswered(question, key, controller.signal)
    }
  }

  /** Aborts all requests. */
  close(): void {
    this.update([])
  }

  /** Sends a request when it is due, and again after `questionRetryMs` while it has no result. */
  async #sendUntilAnswered(question: Question, key: string, signal: AbortSignal): Promise<void> {
    const { clock, observe } = this.#options
    let waitMs = question.at - clock.now()
    let observation: Observation | undefined
    while (observation === undefined) {
      if (waitMs > 0) await sleep(clock, waitMs, signal)
      observation = await this.#slots.run(async () =>
        signal.aborted ? undefined : await this.#observation(question, signal),
      )
      if (signal.aborted) return
      waitMs = questionRetryMs
    }
    this.#openQuestions.delete(key)
    observe(observation)
  }

  /** The pod's answer, or a final refusal; undefined if the request must be repeated. Never rejects. */
  async #observation(question: Question, signal: AbortSignal): Promise<Observation | undefined> {
    try {
      const answer = await this.#request(question, signal)
      this.#refusedSince = undefined
      return answer
    } catch (error) {
      if (isForbidden(error)) return this.#finalRefusal(error)
      if (isUnauthorized(error)) return failureOf(error, { final: true })
      if (error instanceof UserError) return failureOf(new ApiError(401, errorText(error)), { final: true })
      // A 404 needs no warning: the pod is gone, and the gate drops the question once the watch reports this.
      if (httpStatusOf(error) !== 0 && !isNotFound(error)) this.#warn(errorText(error))
      return undefined
    }
  }

  /** The refusal, once access has been refused for `withdrawnMs`. Undefined before: access may be granted again. */
  #finalRefusal(error: unknown): Observation | undefined {
    const now = this.#options.clock.now()
    this.#refusedSince ??= now
    return now - this.#refusedSince < withdrawnMs ? undefined : failureOf(error, { final: true })
  }

  /** Sends the request. In the returned answer, texts are redacted and cut as in a recording. */
  async #request(question: Question, signal: AbortSignal): Promise<Answer> {
    const { cluster, clock } = this.#options
    const { check, namespace, pod } = question
    const answer = await askPod(cluster, question, check, clock, signal)
    const recorded =
      'error' in answer ? { error: this.#redactAndCut(answer.error) } : this.#recordedAnswer(check, answer)
    return { type: 'ANSWER', check: check.index, pod, namespace, ...recorded }
  }

  #recordedAnswer({ expectBody }: RequestCheck, { status, seconds, body, location }: HttpAnswer): Partial<Answer> {
    return {
      status,
      seconds,
      body: this.#redactAndCut(body),
      ...(expectBody === undefined ? {} : { matches: body.includes(expectBody) }),
      ...(location === undefined ? {} : { location: this.#redactAndCut(location) }),
    }
  }

  #redactAndCut(text: string): string {
    const redacted = this.#options.redact(text)
    // The limit counts characters, which may have two code units each.
    return redacted.length <= answerBodyCharacters
      ? redacted
      : [...redacted.slice(0, 2 * answerBodyCharacters)].slice(0, answerBodyCharacters).join('')
  }

  #warn(message: string): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    this.#options.onWarning(
      `Pods cannot be asked, because the API server reports an error: ${this.#redactAndCut(message)}`,
    )
  }
}

function questionKey({ check, uid, port, at }: Question): string {
  return `${check.index} ${uid} ${port} ${at}`
}

/**
 * Checks that the credentials may forward ports of pods in the namespaces of the checks. Assumes permission if the API
 * server does not answer.
 * @throws UserError with the first check of each namespace without permission
 */
export async function checkPortForwardAccess(
  checks: readonly RequestCheck[],
  cluster: Pick<Cluster, 'isPermitted' | 'retryInitialRequests'>,
): Promise<void> {
  const review = async ([namespace, [check]]: readonly [string, readonly RequestCheck[]]): Promise<
    MistakeWithReason[]
  > => {
    const access = { resource: 'pods', subresource: 'portforward', namespace }
    const answers = await Promise.all(['get', 'create'].map((verb) => cluster.isPermitted({ verb, ...access })))
    if (check === undefined || !answers.includes(false)) return []
    const message = `The credentials do not permit to forward ports of pods in namespace ${namespace}. Add this rule to the user's Role: {apiGroups: [""], resources: ["pods/portforward"], verbs: ["get", "create"]}.`
    return [{ input: 'http-checks', line: check.line, message, reason: 'forbidden' }]
  }
  const byNamespace = [...Map.groupBy(checks, ({ reference: { namespace = '' } }) => namespace)]
  throwMistakes((await cluster.retryInitialRequests(() => Promise.all(byNamespace.map(review)))).flat())
}

/**
 * Sends a request to a port of a pod through the API server. As with probes, the pod's certificate is not verified.
 * @returns the answer, or why there is none as a part of a sentence, which may quote the server
 * @throws ApiError or ConnectionError if the API server does not forward the port, or if its connection breaks
 */
export async function askPod(
  cluster: Pick<Cluster, 'forwardPort'>,
  pod: PodPort,
  query: HttpQuery,
  clock: Clock,
  signal: AbortSignal,
): Promise<HttpAnswer | { readonly error: string }> {
  const connection = await cluster.forwardPort(pod, signal)
  const socket =
    query.scheme === 'https'
      ? connectTls({ socket: connection, rejectUnauthorized: false, servername: serverName(query.headers) })
      : connection
  try {
    return await sendRequest(socket, pod.port, query, clock, signal)
  } catch (error) {
    // A connection error comes from the API server, not from the pod. A timeout may come from the pod.
    if (error instanceof ConnectionError && !isTimeout(error)) throw error
    return { error: noAnswerText(error, query.timeoutMs) }
  } finally {
    connection.destroy()
  }
}

/** The server name for TLS (SNI), from the header `Host`. Empty if the header is absent or contains an IP address. */
function serverName(headers: readonly Header[]): string {
  const host = headers.find(([name]) => name.toLowerCase() === 'host')?.[1].replace(/:\d+$/, '') ?? ''
  return isIP(host) === 0 ? host : ''
}

/** An HTTP/1.1 request. The time limit is from the request to the end of the answer. */
export type HttpQuery = Pick<RequestCheck, 'method' | 'scheme' | 'path' | 'headers' | 'timeoutMs'>

interface HttpAnswer {
  readonly status: number
  /** The duration from the request to the end of the answer. */
  readonly seconds: number
  readonly body: string
  readonly location?: string
}

/**
 * Sends a request over a socket, and reads the first `maxCheckedBodyBytes` of the body. Follows no redirect, and closes
 * the socket. Rejects if there is no complete HTTP answer within the time limit, or if the signal is aborted.
 */
export function sendRequest(
  socket: Duplex,
  port: number,
  { method, path, headers, timeoutMs }: HttpQuery,
  clock: Clock,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const startedAt = clock.now()
  return withTimeout(clock, timeoutMs, [signal], async (ending) => {
    const url = new URL(path, `http://localhost:${port}`)
    const request = httpRequest(url, { method, setHost: false, createConnection: () => socket })
    for (const [name, value] of headers) request.appendHeader(name, value)
    const defaults = { Host: url.host, 'User-Agent': `rollout-gate/${version}`, Accept: '*/*' }
    for (const [name, value] of Object.entries(defaults)) if (!request.hasHeader(name)) request.setHeader(name, value)
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    // If the connection is destroyed before the request begins, the request emits no event.
    ending.addEventListener('abort', () => {
      reject(ending.reason)
      request.destroy()
    })
    request.once('response', resolve)
    request.on('error', reject)
    // If the server answers with another protocol, the request closes without an error.
    request.once('close', () => reject(new Error(closedEarly)))
    request.end()
    try {
      const response = await promise
      const body = await readBodyStart(response)
      const { statusCode: status = 0, headers } = response
      return { status, seconds: (clock.now() - startedAt) / 1000, body, location: headers.location }
    } finally {
      request.destroy()
      // After an answer with `Connection: keep-alive`, Node.js leaves the connection open.
      socket.destroy()
    }
  })
}

async function readBodyStart(response: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= maxCheckedBodyBytes) break
  }
  return Buffer.concat(chunks).subarray(0, maxCheckedBodyBytes).toString('utf8')
}

const closedEarly = 'the connection was closed before the answer was complete'

/** The texts for error codes of Node.js (doc/api/errors.md, "Common system errors"). */
const errors: Readonly<Record<string, string>> = {
  ECONNRESET: closedEarly,
  EPIPE: closedEarly,
  HPE_HEADER_OVERFLOW: 'the headers of the answer are too long',
}

/** Why a request has no answer, as a part of a sentence. @param cause the error with which `sendRequest` rejected */
export function noAnswerText(cause: unknown, timeoutMs: number): string {
  if (isTimeout(cause)) return `timed out: no complete answer within ${timeoutMs / 1000} s`
  const { code, message } = toConnectionError(cause)
  const known = errors[code] ?? phrases.find(([phrase]) => phrase.test(message))?.[1]
  return known ?? (code.startsWith('HPE_') ? 'the answer is not HTTP' : message)
}

/** The texts for messages of OpenSSL and kubelets. */
const phrases: readonly (readonly [RegExp, string])[] = [
  [/connection refused/i, 'connection refused'],
  [/wrong version number|packet length too long/, 'the server does not use TLS'],
  [/connection reset by peer/, closedEarly],
]
