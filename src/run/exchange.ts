import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Clock, withTimeout } from '../cluster/clock.ts'
import { asConnectionError, isTimeout } from '../cluster/failures.ts'
import type { Header, Scheme } from '../plan/checks.ts'

/** One request of HTTP/1.1. */
export interface HttpQuery {
  readonly method: string
  readonly scheme: Scheme
  /** With its query. */
  readonly path: string
  readonly headers: readonly Header[]
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

/** Why there is no answer: a part of a sentence, which may contain words of the server. */
export interface NoAnswer {
  readonly error: string
}

/**
 * Sends a request to a server on this port and reads the start of its answer. Follows no redirect and closes the connection.
 * Rejects if there is no complete answer of HTTP within the time limit, or when the signal is aborted.
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
    // A request whose connection is destroyed already emits nothing.
    ending.addEventListener('abort', () => {
      reject(ending.reason)
      request.destroy()
    })
    request.once('response', resolve)
    request.on('error', reject)
    // After an answer that changes the protocol, there is no error.
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
  ECONNRESET: closedEarly,
  EPIPE: closedEarly,
  HPE_HEADER_OVERFLOW: 'the headers of the answer are too long',
}

/** Why an exchange rejected, as a part of a sentence. */
export function missingText(cause: unknown, timeoutMs: number): string {
  if (isTimeout(cause)) return `timed out: no complete answer within ${timeoutMs / 1000} s`
  const { code, message } = asConnectionError(cause)
  const known = errors[code] ?? phrases.find(([phrase]) => phrase.test(message))?.[1]
  return known ?? (code.startsWith('HPE_') ? 'the answer is not HTTP' : message)
}

/** Messages of OpenSSL and of kubelets. */
const phrases: readonly (readonly [RegExp, string])[] = [
  [/connection refused/i, 'connection refused'],
  [/wrong version number|packet length too long/, 'the server does not use TLS'],
  [/connection reset by peer/, closedEarly],
]
