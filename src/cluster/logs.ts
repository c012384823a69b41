import type { Readable } from 'node:stream'
import { errorText, tryParseJson, UserError } from '../errors.ts'
import { logLineBytes, logReadMs, maxLogAnswerBytes, maxTailBytes } from '../thresholds.ts'
import type { Client } from './client.ts'
import { isBadRequest, isForbidden, isNotFound, isUnauthorized } from './failures.ts'
import type { LogRef } from './feed.ts'
import { splitLines } from './lines.ts'
import { isObject } from './objects.ts'

/* Reads and follows the logs of containers, and finds the errors in them. */

export interface LogRequest extends LogRef {
  readonly tailLines: number
}

/** The end of a container's log, or why the log cannot be read. `neverStarted`: the container has not started. */
export type LogTail =
  | { readonly text: string }
  | { readonly text: undefined; readonly why: string; readonly neverStarted?: boolean }

/**
 * Reads the last lines of a container's log. If the log does not exist yet or was removed, the result has no text.
 * Other failures reject with an `ApiError`. `redact` removes secrets before the log is cut.
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
    limitBytes: String(maxLogAnswerBytes),
  })
  try {
    const text = await client.requestText(`${logPath(request)}?${query}`, {
      timeoutMs: logReadMs,
      maxBytes: maxLogAnswerBytes + 1024,
    })
    if (!isKubeletRefusal(text)) return { text: lastLinesWithin(redact(text), maxTailBytes) }
    // The message about a removed container is replaced, because it quotes a long id.
    const isRemoved = /^unable to retrieve container logs|code = NotFound/.test(text.trim())
    return { text: undefined, why: isRemoved ? 'the node no longer has it' : text.trim() }
  } catch (error) {
    const failure = logFailureOf(error)
    if (failure !== 'not-started' && failure !== 'gone') throw error
    return { text: undefined, why: errorText(error), neverStarted: failure === 'not-started' }
  }
}

/**
 * Why a log cannot be read. `not-started`: the container has not started, or never restarted. `gone`: the pod does not
 * exist. `refused`: access is denied. `unavailable`: the server does not answer.
 */
export function logFailureOf(error: unknown): 'not-started' | 'gone' | 'refused' | 'unavailable' {
  if (isBadRequest(error)) return 'not-started'
  if (isNotFound(error)) return 'gone'
  return isUnauthorized(error) || isForbidden(error) || error instanceof UserError ? 'refused' : 'unavailable'
}

function logPath({ namespace, pod }: { readonly namespace: string; readonly pod: string }): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/log`
}

/**
 * Messages of the kubelet for a missing log. The kubelet sends them with status 200, in place of the log
 * (pkg/kubelet/kuberuntime, `GetContainerLogs`; cri-client/pkg/logs, `ReadLogs`).
 */
const kubeletRefusals =
  /^(unable to retrieve container logs for \S+|failed to try resolving symlinks in path .*|failed to (open|create|find) log file .*|rpc error: code = .*)$/

function isKubeletRefusal(text: string): boolean {
  return kubeletRefusals.test(text.trim())
}

/** The last whole lines within the limit, in bytes. If the last line alone is longer, the end of this line. */
function lastLinesWithin(text: string, limit: number): string {
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
  /** Whether the stream continues while the container runs. If false, the stream ends after the lines written so far. */
  readonly follow: boolean
  /** Only lines after this time are read: milliseconds since the epoch, which the kubelet rounds to seconds. */
  readonly since: number
  /** Maximum time until the answer begins. The kubelet sends nothing before the container writes its first line. */
  readonly timeoutMs: number
}

/** A line of a container's log, as raw text that renderers must escape. A line that was cut ends in `…`. */
export interface LogLine {
  /** Time on the node's clock: milliseconds since the epoch, with fractions. Undefined for a message of the kubelet. */
  readonly at: number | undefined
  readonly text: string
}

const timestampPrefix = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3}(\d*))?(?:Z|[+-]\d\d:\d\d)) ?/

/**
 * Reads the lines of a container's log while the container writes them. Ends when the container ends (kubelet,
 * `ReadLogs`). Rejects if the connection breaks, the signal is aborted or the log cannot be read (see `logFailureOf`).
 * `redact` removes secrets before a line is cut. Log lines do not prove that the API server is healthy, because a
 * kubelet sends them.
 */
export async function followLog(
  client: Client,
  request: LogStreamRequest,
  signal: AbortSignal,
  redact: (text: string) => string = (text) => text,
): Promise<AsyncGenerator<LogLine>> {
  const { container, previous, follow, since, timeoutMs } = request
  const query = new URLSearchParams({
    container,
    previous: String(previous),
    follow: String(follow),
    timestamps: 'true',
    sinceTime: new Date(since).toISOString(),
  })
  const options = { accept: '*/*', timeoutMs, signal }
  return readTimestampedLines(await client.openStream(`${logPath(request)}?${query}`, options), redact)
}

async function* readTimestampedLines(response: Readable, redact: (text: string) => string): AsyncGenerator<LogLine> {
  // A secret that crosses the limit must be complete for its redaction.
  for await (const line of splitLines(response, { maxBytes: 2 * logLineBytes, isRestLine: true })) {
    const [prefix, written = '', fraction = ''] = timestampPrefix.exec(line) ?? []
    const at = Date.parse(written) + Number(`0.${fraction}`)
    if (prefix !== undefined) yield { at, text: cutLine(redact(line.slice(prefix.length))) }
    else if (!isKubeletRefusal(line)) yield { at: undefined, text: cutLine(redact(line)) }
  }
}

/** Cuts a line to `logLineBytes`. A cut line ends in `…`, after a whole character. */
function cutLine(line: string): string {
  const bytes = Buffer.from(line)
  if (bytes.length <= logLineBytes) return line
  return `${bytes.toString('utf8', 0, logLineBytes).replace(/(?<!\uFFFD)\uFFFD+$/, '')}…`
}

/** The maximum number of characters of a line that are searched. */
const longestRead = 4_096
/** Numeric levels of pino and bunyan: 50 is error, 60 is fatal (https://getpino.io/#/docs/api?id=levels). */
const pinoError = 50

/** The level names that loggers use for errors, in lower case. */
const errorWords: ReadonlySet<string> = new Set(
  'e f err error eror fatal crit critical panic dpanic severe alert emerg emergency failure'.split(' '),
)
/** Fields for the level in JSON logs of zap, logrus, bunyan, Google Cloud, Elastic, hclog, Serilog and MongoDB. */
const levelFields = 'level severity lvl levelname loglevel log.level @level @l s severityText'.split(' ')
const messageFields = ['msg', 'message', '@message', '@m', '@mt', 'event', 'body']
const errorFields = ['err', 'error', 'exception', '@x']

/** The level in a line of plain text: a word in capitals, `level=error`, `[emerg]`, or the letter of a klog line. */
const levelInText =
  /\b(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|FATAL|CRIT|CRITICAL|SEVERE|PANIC|EMERG|ALERT)\b|\b(?:level|lvl|severity)="?(\w+)|\[(trace|debug|info|notice|warn|warning|error|crit|alert|emerg)\]|^([IWEF])\d{4} /
/** Errors that programs write without a logger. */
const errorInText =
  /^\s*(?:panic|fatal(?: error)?|error)\b|\b(?:panic|error): |(?:Exception|Error)(?::|$)|^Exception in |^Caused by: |^Segmentation fault|\(core dumped\)/i
/** A stack frame is not an error, although its file name may look like one. */
const stackFrame = /^\s+(?:at |File ")/

/**
 * Finds the last line of a container's log that looks like an error: by its level, or by what programs write when they
 * crash (`panic:`, `java.io.IOException: …`). In a Python traceback, this is the line of the exception.
 * @returns the index of the line; -1 if no line looks like an error
 */
export function findErrorLine(lines: readonly string[]): number {
  const exceptions = findExceptionLines(lines)
  return lines.findLastIndex((line, index) => exceptions.has(index) || isErrorLine(line))
}

/** The message in a log line: for JSON, only the message and error fields; else the whole line. */
export function messageOfLine(line: string): string {
  const fields = parseJsonFields(line)
  if (fields === undefined) return line.trim()
  const message = messageFields.map((name) => fields[name]).find((value) => typeof value === 'string' && value !== '')
  const error = errorFields.map((name) => messageOfError(fields[name])).find((text) => text !== undefined)
  const parts = [message, error].filter((part, index, all) => part !== undefined && all.indexOf(part) === index)
  return parts.length === 0 ? line.trim() : parts.join(': ')
}

/** The indexes of Python exceptions: in each traceback, the exception is the first line that is not indented. */
function findExceptionLines(lines: readonly string[]): ReadonlySet<number> {
  const found = new Set<number>()
  let isTraceback = false
  for (const [index, line] of lines.entries()) {
    if (line.startsWith('Traceback (most recent call last)')) isTraceback = true
    else if (isTraceback && /^\S/.test(line)) {
      isTraceback = false
      found.add(index)
    }
  }
  return found
}

function isErrorLine(wholeLine: string): boolean {
  const line = wholeLine.slice(0, longestRead)
  const fields = parseJsonFields(wholeLine)
  const level = fields === undefined ? isErrorLevelInText(line) : isErrorLevelInFields(fields)
  if (level !== undefined) return level
  return !stackFrame.test(line) && errorInText.test(fields === undefined ? line : messageOfLine(wholeLine))
}

/** Whether a line has the level of an error; undefined if the line has no level. */
function isErrorLevelInText(line: string): boolean | undefined {
  const word = levelInText
    .exec(line)
    ?.slice(1)
    .find((each) => each !== undefined)
  return word === undefined ? undefined : errorWords.has(word.toLowerCase())
}

function isErrorLevelInFields(fields: Readonly<Record<string, unknown>>): boolean | undefined {
  const level = levelFields.map((name) => fields[name]).find((value) => value !== undefined)
  if (typeof level === 'number') return level >= pinoError
  return typeof level === 'string' ? errorWords.has(level.toLowerCase()) : undefined
}

function parseJsonFields(line: string): Readonly<Record<string, unknown>> | undefined {
  const fields = line.startsWith('{') ? tryParseJson(line) : undefined
  return isObject(fields) ? fields : undefined
}

function messageOfError(error: unknown): string | undefined {
  if (typeof error === 'string' && error !== '') return error
  const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : undefined
  return typeof message === 'string' ? message : undefined
}
