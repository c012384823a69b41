import http, { type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import https, { type RequestOptions } from 'node:https'
import { type Clock, withTimeout } from '../cluster/clock.ts'
import { asConnectionError, isTimeout } from '../cluster/failures.ts'
import type { Header } from '../plan/checks.ts'

/** One request of HTTP/1.1. */
export interface HttpQuery {
  readonly method: string
  readonly headers: readonly Header[]
  readonly body?: string
  /** Time limit of the whole answer. */
  readonly timeoutMs: number
  /** The rest of a longer body is not read. */
  readonly maxBytes: number
}

export interface HttpAnswer {
  readonly status: number
  /** From the request to the end of its answer. */
  readonly seconds: number
  readonly body: string
  readonly location?: string
}

/** There is no answer. The message is a part of a sentence, and may contain words of the server. */
export class MissingAnswer extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'MissingAnswer'
  }
}

/**
 * Sends a request and reads the start of its answer. Follows no redirect and keeps no connection.
 * Rejects if there is no complete answer of HTTP within the time limit, or when the signal is aborted.
 * @param connection how to reach the server of the URL: its agent, certificates, socket, headers
 */
export function exchange(
  url: URL,
  connection: RequestOptions,
  { method, headers, body, timeoutMs, maxBytes }: HttpQuery,
  clock: Clock,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const startedAt = clock.now()
  return withTimeout(clock, timeoutMs, [signal], async (ending) => {
    const options = { ...connection, method, headers: { ...connection.headers, ...grouped(headers) } }
    const request = (url.protocol === 'https:' ? https : http).request(url, options)
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    // A request whose connection is destroyed already emits nothing.
    ending.addEventListener('abort', () => {
      reject(ending.reason)
      request.destroy()
    })
    request.once('response', resolve)
    request.on('error', reject)
    // After an answer that changes the protocol, there is no error.
    request.once('close', () => reject(new MissingAnswer(closedEarly)))
    request.end(body)
    try {
      const response = await promise
      const text = await readStart(response, maxBytes)
      const { statusCode: status = 0, headers } = response
      return { status, seconds: (clock.now() - startedAt) / 1000, body: text, location: headers.location }
    } finally {
      request.destroy()
      // With the header `Connection: keep-alive`, a complete request leaves its connection open.
      request.socket?.destroy()
    }
  })
}

/** A header may be repeated; Node.js takes an array for that. */
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

/** Errors of a connection that have plain words (Node.js, doc/api/errors.md, "Common system errors"). */
const errors: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: closedEarly,
  EPIPE: closedEarly,
  HPE_HEADER_OVERFLOW: 'the headers of the answer are too long',
}

/** Why an exchange rejected; `cause` may be the text of a server that made the connection. */
export function missingAnswer(cause: unknown, timeoutMs: number): MissingAnswer {
  if (cause instanceof MissingAnswer) return cause
  if (isTimeout(cause)) return new MissingAnswer(`timed out: no complete answer within ${timeoutMs / 1000} s`)
  const { code, message, certificate } = asConnectionError(typeof cause === 'string' ? new Error(cause) : cause)
  const known = errors[code] ?? phrases.find(([phrase]) => phrase.test(message))?.[1]
  if (known !== undefined) return new MissingAnswer(known)
  if (code.startsWith('HPE_')) return new MissingAnswer('the answer is not HTTP')
  return new MissingAnswer(certificate ? `TLS fails: ${message}` : message)
}

/** Messages of OpenSSL, kubelets and Go's HTTP client. */
const phrases: readonly (readonly [RegExp, string])[] = [
  [/connection refused/i, 'connection refused'],
  [
    /wrong version number|packet length too long|HTTP response to HTTPS client|does not look like a TLS handshake/,
    'the server does not use TLS',
  ],
  [/malformed HTTP/, 'the answer is not HTTP'],
  [/\bEOF$|connection reset by peer/, closedEarly],
]
