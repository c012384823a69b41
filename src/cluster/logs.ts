import type { IncomingMessage } from 'node:http'
import { UserError } from '../errors.ts'
import type { Client } from './client.ts'
import { isBadRequest, isForbidden, isNotFound, isUnauthorized, messageOf } from './failures.ts'
import type { LogRef } from './feed.ts'

export interface LogRequest extends LogRef {
  readonly tailLines: number
}

/** The end of a container's log, or why there is none: `neverWas` where there is nothing to miss. */
export type LogTail =
  | { readonly text: string }
  | { readonly text: undefined; readonly why: string; readonly neverWas?: boolean }

const timeoutMs = 10_000
const longestTailBytes = 64 << 10
/** The kubelet cuts off the *end* of the tail at this limit, and the end is what we want: it must hold the longest tail. */
const limitBytes = 4 << 20

/**
 * The last lines of a container's log. A log that does not exist (any more, or yet) is no error but an answer without
 * text; other refusals are, as `ApiError`. `redact` takes out what nobody may see, before the log is cut.
 */
export async function readLog(
  client: Client,
  request: LogRequest,
  redact: (text: string) => string = (text) => text,
): Promise<LogTail> {
  const { container, previous, tailLines } = request
  const query = new URLSearchParams({
    container,
    previous: String(previous),
    tailLines: String(tailLines),
    limitBytes: String(limitBytes),
  })
  try {
    const text = await client.text(`${logPath(request)}?${query}`, { timeoutMs, maxBytes: limitBytes + 1024 })
    return isRefusal(text)
      ? { text: undefined, why: refusalWords(text.trim()) }
      : { text: lastBytes(redact(text), longestTailBytes) }
  } catch (error) {
    const failure = logFailureOf(error)
    if (failure !== 'not-started' && failure !== 'gone') throw error
    return { text: undefined, why: messageOf(error), neverWas: failure === 'not-started' }
  }
}

/**
 * Why a log could not be read: the container waits to start or never ran before, the pod is gone, the credentials do not
 * permit it, or there was no answer.
 */
export function logFailureOf(error: unknown): 'not-started' | 'gone' | 'refused' | 'unavailable' {
  if (isBadRequest(error)) return 'not-started'
  if (isNotFound(error)) return 'gone'
  return isUnauthorized(error) || isForbidden(error) || error instanceof UserError ? 'refused' : 'unavailable'
}

/** The path of a pod's logs. */
export function logPath({ namespace, pod }: { readonly namespace: string; readonly pod: string }): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/log`
}

/**
 * A kubelet that finds the log gone says so in the log's place, with status 200 (pkg/kubelet/kuberuntime,
 * `GetContainerLogs`; cri-client/pkg/logs, `ReadLogs`).
 */
const refusals =
  /^(unable to retrieve container logs for \S+|failed to try resolving symlinks in path .*|failed to (open|create|find) log file .*|rpc error: code = .*)$/

/** Whether a text is the kubelet's word that there is no log, and not a log. */
export function isRefusal(text: string): boolean {
  return refusals.test(text.trim())
}

/** The kubelet names a container that it has removed by an id that says nothing to anybody. */
function refusalWords(text: string): string {
  return /^unable to retrieve container logs|code = NotFound/.test(text) ? 'the node no longer has it' : text
}

/** The last whole lines that fit; of a single longer line its end. */
function lastBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= limit) return text
  const tail = bytes
    .subarray(bytes.length - limit)
    .toString('utf8')
    .replace(/^\uFFFD+/, '')
  const lineEnd = tail.indexOf('\n')
  return lineEnd === -1 || lineEnd === tail.length - 1 ? tail : tail.slice(lineEnd + 1)
}

export interface LogStreamRequest extends LogRef {
  /** Goes on while the container runs; else the stream ends with what was written so far. */
  readonly follow: boolean
  /** Only lines written then or later: milliseconds since the epoch, of which the kubelet heeds whole seconds. */
  readonly since: number
  /** Only so many of the last lines; absent: all. */
  readonly tailLines?: number
  /** How long the server may take to begin. A kubelet begins with the first line, however late a container writes it. */
  readonly timeoutMs: number
}

/** A line that a container wrote, without its line break. Not yet escaped. */
export interface LogLine {
  /** When it was written, by the node's clock: milliseconds since the epoch. Absent: it is the kubelet's own word. */
  readonly at: number | undefined
  readonly text: string
  /** How much of a line that is too long was left out at its end. */
  readonly cutBytes: number
}

/** What is kept of a line: enough to read a stack trace, and nothing that anybody would read to its end in a job's log. */
const longestLineBytes = 4_000
/** So much is read beyond: a secret that stands across the cut is only known by its whole. */
const beyondBytes = 4_000

const stamp = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) ?/

/**
 * Reads a container's log from a moment on, line by line as it is written, until the container ends (kubelet,
 * `ReadLogs`), the connection breaks or the signal is aborted (both reject). Refusals reject as `ApiError`: 400 where the
 * container has not started yet or never ran before, 404 where the pod is gone, 403. Says nothing of whether the server
 * can be seen: its bytes come from a kubelet. `redact` takes out what nobody may see, before a line is cut.
 */
export async function followLog(
  client: Client,
  request: LogStreamRequest,
  signal: AbortSignal,
  redact: (text: string) => string = (text) => text,
): Promise<AsyncGenerator<LogLine>> {
  const { container, previous, follow, since, tailLines, timeoutMs } = request
  const query = new URLSearchParams({
    container,
    previous: String(previous),
    follow: String(follow),
    timestamps: 'true',
    sinceTime: new Date(since).toISOString(),
    ...(tailLines === undefined ? {} : { tailLines: String(tailLines) }),
  })
  const options = { accept: '*/*', timeoutMs, signal }
  return stampedLines(await client.stream(`${logPath(request)}?${query}`, options), redact)
}

async function* stampedLines(response: IncomingMessage, redact: (text: string) => string): AsyncGenerator<LogLine> {
  for await (const { text, cutBytes } of boundedLines(response)) {
    const [prefix, written = ''] = stamp.exec(text) ?? []
    if (prefix !== undefined) yield { at: Date.parse(written), ...cut(redact(text.slice(prefix.length)), cutBytes) }
    else if (!isRefusal(text)) yield { at: undefined, ...cut(redact(text), cutBytes) }
  }
}

/** `cutBytes`: those that were left out before. */
function cut(text: string, cutBytes: number): Omit<LogLine, 'at'> {
  const bytes = Buffer.from(text)
  const left = bytes.length - longestLineBytes
  return left <= 0 ? { text, cutBytes } : { text: wholeCharacters(bytes.subarray(0, -left)), cutBytes: cutBytes + left }
}

/** A cut may have left half a character. */
function wholeCharacters(bytes: Buffer): string {
  return bytes.toString('utf8').replace(/\uFFFD+$/, '')
}

/** Lines of bounded length. What stands behind the last line break is a line too, unless the stream breaks. */
async function* boundedLines(response: IncomingMessage): AsyncGenerator<Omit<LogLine, 'at'>> {
  let kept: Buffer[] = []
  let keptBytes = 0
  let bytes = 0
  const keep = (piece: Buffer) => {
    const room = longestLineBytes + beyondBytes - keptBytes
    if (room > 0 && piece.length > 0) kept.push(piece.length > room ? piece.subarray(0, room) : piece)
    keptBytes += Math.min(room, piece.length)
    bytes += piece.length
  }
  const line = () => {
    const cutBytes = bytes - keptBytes
    const whole = Buffer.concat(kept)
    kept = []
    keptBytes = 0
    bytes = 0
    return { text: cutBytes === 0 ? whole.toString('utf8') : wholeCharacters(whole), cutBytes }
  }
  for await (const chunk of response as AsyncIterable<Buffer>) {
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      keep(chunk.subarray(start, end))
      yield line()
      start = end + 1
    }
    keep(chunk.subarray(start))
  }
  if (bytes > 0) yield line()
}
