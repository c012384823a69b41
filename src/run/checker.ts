import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { type Clock, withTimeout } from '../cluster/clock.ts'
import type { Cluster } from '../cluster/cluster.ts'
import {
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
import type { Header, RequestCheck, Scheme } from '../plan/checks.ts'
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
  /** Called with every answer, and with a final refusal of the API server. */
  readonly observe: (observation: Observation) => void
  /** Called once, with a sentence, if the API server reports an error and the pod is not asked. */
  readonly onWarning: (text: string) => void
}

/** Sends the requests of `http-checks` to pods and reports the answers. A question is one request to one pod. */
export class Checker {
  readonly #options: CheckerOptions
  #questions: readonly Question[] = []
  readonly #inFlight = new Map<string, AbortController>()
  /** By question: when it may be asked again, after the API server did not forward it. */
  readonly #retryAt = new Map<string, number>()
  #cancelTimer = () => {}
  #isClosed = false
  /** When the API server began to refuse the access (403); undefined after an answer. */
  #refusedSince: number | undefined
  #hasWarned = false

  constructor(options: CheckerOptions) {
    this.#options = options
  }

  /** Sends the questions that are due, and aborts those that the list no longer contains. */
  update(questions: readonly Question[]): void {
    if (this.#isClosed) return
    this.#questions = questions
    const keys = new Set(questions.map(questionKey))
    for (const key of this.#retryAt.keys()) if (!keys.has(key)) this.#retryAt.delete(key)
    for (const [key, controller] of this.#inFlight) {
      if (keys.has(key)) continue
      controller.abort()
      this.#inFlight.delete(key)
    }
    this.#askDue()
  }

  /** Sends no further question, and aborts all requests. */
  close(): void {
    this.#isClosed = true
    this.#cancelTimer()
    for (const controller of this.#inFlight.values()) controller.abort()
    this.#inFlight.clear()
  }

  #askDue(): void {
    this.#cancelTimer()
    if (this.#isClosed) return
    const now = this.#options.clock.now()
    const waiting = this.#questions
      .map((question) => ({ question, key: questionKey(question) }))
      .filter(({ key }) => !this.#inFlight.has(key))
      .map(({ question, key }) => ({ question, key, at: Math.max(question.at, this.#retryAt.get(key) ?? 0) }))
      .toSorted((a, b) => a.at - b.at)
    for (const { question, key, at } of waiting) {
      if (this.#inFlight.size >= maxConcurrentQuestions) return
      if (at > now) {
        this.#cancelTimer = this.#options.clock.after(at - now, () => this.#askDue())
        return
      }
      void this.#ask(question, key)
    }
  }

  async #ask(question: Question, key: string): Promise<void> {
    const controller = new AbortController()
    this.#inFlight.set(key, controller)
    this.#retryAt.delete(key)
    const observation = await this.#observationOf(question, controller.signal)
    if (controller.signal.aborted) return
    this.#inFlight.delete(key)
    if (observation === undefined) this.#retryAt.set(key, this.#options.clock.now() + questionRetryMs)
    // The gate handles the answer at once, and may replace its questions, before the next ones are asked.
    else this.#options.observe(observation)
    this.#askDue()
  }

  /** The pod's answer, or a final refusal; undefined if the question must be asked again. Never rejects. */
  async #observationOf(question: Question, signal: AbortSignal): Promise<Observation | undefined> {
    try {
      const answer = await this.#request(question, signal)
      this.#refusedSince = undefined
      return answer
    } catch (error) {
      if (isForbidden(error)) return this.#refusal(error)
      if (isUnauthorized(error)) return failureOf(error, { final: true })
      if (error instanceof UserError)
        return { type: 'REFUSED', what: 'credentials', message: errorText(error), final: true }
      // A 404 is no reason for a warning: once the watch reports that the pod is gone, the gate no longer asks it.
      if (httpStatusOf(error) !== 0 && !isNotFound(error)) this.#warn(errorText(error))
      return undefined
    }
  }

  /** A final refusal once access has been refused for `withdrawnMs`; undefined before, since it may be granted again. */
  #refusal(error: unknown): Observation | undefined {
    const now = this.#options.clock.now()
    this.#refusedSince ??= now
    return now - this.#refusedSince < withdrawnMs ? undefined : failureOf(error, { final: true })
  }

  /** Asks the pod. Returns what a recording contains of the answer: texts are redacted and cut. */
  async #request(question: Question, signal: AbortSignal): Promise<Answer> {
    const { cluster, clock } = this.#options
    const { check, namespace, pod } = question
    const query = { ...check, headers: withDefaults(check.headers), maxBytes: maxCheckedBodyBytes }
    const answer = await askPod(cluster, question, query, clock, signal)
    const recorded = 'error' in answer ? { error: this.#redactAndCut(answer.error) } : this.#recorded(check, answer)
    return { type: 'ANSWER', check: check.index, pod, namespace, ...recorded }
  }

  #recorded({ expectBody }: RequestCheck, { status, seconds, body, location }: HttpAnswer): Partial<Answer> {
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
    // The limit counts characters, and a character may be two code units of the string.
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

function questionKey({ check, uid, port }: Question): string {
  return `${check.index} ${uid} ${port}`
}

/** The user's headers, and each default header that the user does not set. */
function withDefaults(headers: readonly Header[]): readonly Header[] {
  const defaults: readonly Header[] = [
    ['User-Agent', `rollout-gate/${version}`],
    ['Accept', '*/*'],
  ]
  const unset = defaults.filter(([name]) => !headers.some(([given]) => given.toLowerCase() === name.toLowerCase()))
  return [...unset, ...headers]
}

/**
 * Checks that the credentials may forward ports of pods in the namespaces of the checks. Passes if the API server does not
 * answer that.
 * @throws UserError that names the first check of each namespace without permission
 */
export async function reviewAccess(
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
 * Sends a request to a port of a pod, which the API server forwards. The pod's certificate is not verified, as in probes.
 * @throws ApiError or ConnectionError if the API server does not forward the port, or the connection to the API server breaks
 */
export async function askPod(
  cluster: Pick<Cluster, 'forwardPort'>,
  pod: PodPort,
  query: HttpQuery,
  clock: Clock,
  signal: AbortSignal,
): Promise<HttpAnswer | NoAnswer> {
  const connection = await cluster.forwardPort(pod, signal)
  const socket =
    query.scheme === 'https'
      ? connectTls({ socket: connection, rejectUnauthorized: false, servername: serverName(query.headers) })
      : connection
  try {
    return await exchange(socket, pod.port, query, clock, signal)
  } catch (error) {
    // Another error is of the connection to the API server, and is no answer of the pod.
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

/** One request of HTTP/1.1. */
export interface HttpQuery {
  readonly method: string
  readonly scheme: Scheme
  /** The path of the URL, with the query string. */
  readonly path: string
  readonly headers: readonly Header[]
  /** The time limit for the whole answer. */
  readonly timeoutMs: number
  /** The rest of a longer body is not read. */
  readonly maxBytes: number
}

export interface HttpAnswer {
  readonly status: number
  /** Seconds from the request to the end of the answer. */
  readonly seconds: number
  readonly body: string
  readonly location?: string
}

/** Why there is no answer: a part of a sentence, which may quote the server. */
export interface NoAnswer {
  readonly error: string
}

/**
 * Sends a request over `socket` and reads the first `maxBytes` of the body of the answer. Follows no redirect. Closes
 * the socket. Rejects if the server sends no complete HTTP answer within the time limit, or if the signal is aborted.
 */
export function exchange(
  socket: Duplex,
  port: number,
  { method, path, headers, timeoutMs, maxBytes }: HttpQuery,
  clock: Clock,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const startedAt = clock.now()
  return withTimeout(clock, timeoutMs, [signal], async (ending) => {
    const options = { method, headers: grouped(headers), createConnection: () => socket }
    const request = httpRequest(new URL(path, `http://localhost:${port}`), options)
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    // If its connection is destroyed before the request begins, the request emits no event.
    ending.addEventListener('abort', () => {
      reject(ending.reason)
      request.destroy()
    })
    request.once('response', resolve)
    request.on('error', reject)
    // If the server answers with another protocol, the request ends without an error.
    request.once('close', () => reject(new Error(closedEarly)))
    request.end()
    try {
      const response = await promise
      const text = await readStart(response, maxBytes)
      const { statusCode: status = 0, headers } = response
      return { status, seconds: (clock.now() - startedAt) / 1000, body: text, location: headers.location }
    } finally {
      request.destroy()
      // With the header `Connection: keep-alive`, a complete request leaves its connection open.
      socket.destroy()
    }
  })
}

/** The headers as Node.js takes them: the values of a repeated header are an array. */
function grouped(headers: readonly Header[]): OutgoingHttpHeaders {
  const groups = Map.groupBy(headers, ([name]) => name.toLowerCase())
  return Object.fromEntries(
    [...groups].map(([name, [first, ...more]]) => [
      name,
      more.length === 0 ? first?.[1] : [first, ...more].flatMap((header) => header?.[1] ?? []),
    ]),
  )
}

async function readStart(response: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= maxBytes) break
  }
  return Buffer.concat(chunks).subarray(0, maxBytes).toString('utf8')
}

const closedEarly = 'the connection was closed before the answer was complete'

/** The text for an error code of Node.js (doc/api/errors.md, "Common system errors"). */
const errors: Readonly<Record<string, string>> = {
  ECONNRESET: closedEarly,
  EPIPE: closedEarly,
  HPE_HEADER_OVERFLOW: 'the headers of the answer are too long',
}

/** Why an exchange rejected, as a part of a sentence. */
export function noAnswerText(cause: unknown, timeoutMs: number): string {
  if (isTimeout(cause)) return `timed out: no complete answer within ${timeoutMs / 1000} s`
  const { code, message } = toConnectionError(cause)
  const known = errors[code] ?? phrases.find(([phrase]) => phrase.test(message))?.[1]
  return known ?? (code.startsWith('HPE_') ? 'the answer is not HTTP' : message)
}

/** The text for a message of OpenSSL or of a kubelet. */
const phrases: readonly (readonly [RegExp, string])[] = [
  [/connection refused/i, 'connection refused'],
  [/wrong version number|packet length too long/, 'the server does not use TLS'],
  [/connection reset by peer/, closedEarly],
]
