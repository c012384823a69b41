import { tryParseJson } from '../errors.ts'
import { isObject } from './objects.ts'

/* Finds the last line of a container's log that looks like an error, and the message in that line. */

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
