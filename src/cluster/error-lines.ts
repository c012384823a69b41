import { jsonValue } from '../errors.ts'
import { isObject } from './objects.ts'

/* Finds the line of a container's log that looks like an error, and its message, in the formats of common loggers. */

/** How many characters of a line are read. */
const longestRead = 4_096
/** Numeric levels of pino and bunyan: 50 is error, 60 is fatal (https://getpino.io/#/docs/api?id=levels). */
const pinoError = 50

/** The words that loggers write for an error, in lower case. */
const errorWords: ReadonlySet<string> = new Set(
  'e f err error eror fatal crit critical panic dpanic severe alert emerg emergency failure'.split(' '),
)
/** The fields of JSON logs with the level: of zap, logrus, bunyan, Google Cloud, Elastic, hclog, Serilog, MongoDB. */
const levelFields = [
  'level',
  'severity',
  'lvl',
  'levelname',
  'loglevel',
  'log.level',
  '@level',
  '@l',
  's',
  'severityText',
]
const messageFields = ['msg', 'message', '@message', '@m', '@mt', 'event', 'body']
const errorFields = ['err', 'error', 'exception', '@x']

/** The level of a line of text, at its start: a word in capitals, `level=error`, `[emerg]`, or the letter of klog. */
const levelInText =
  /\b(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|FATAL|CRIT|CRITICAL|SEVERE|PANIC|EMERG|ALERT)\b|\b(?:level|lvl|severity)="?(\w+)|\[(trace|debug|info|notice|warn|warning|error|crit|alert|emerg)\]|^([IWEF])\d{4} /
/** The errors that programs without a logger write. */
const errorInText =
  /^\s*(?:panic|fatal(?: error)?|error)\b|\b(?:panic|error): |(?:Exception|Error)(?::|$)|^Exception in |^Caused by: |^Segmentation fault|\(core dumped\)/i
/** A frame of a stack, which is no error: the name of its file may look like an error. */
const stackFrame = /^\s+(?:at |File ")/

/**
 * The last line of a container's log that looks like an error: by the level field of JSON, the level in a line of text, or
 * what programs write when they end (`panic:`, `java.io.IOException: …`). For a Python traceback, the result is the line of
 * the exception.
 * @returns the index of the line; -1 if no line looks like an error
 */
export function findErrorLine(lines: readonly string[]): number {
  const exceptions = findExceptionLines(lines)
  return lines.findLastIndex((line, index) => exceptions.has(index) || isErrorLine(line))
}

/** The message of a log line, without the other fields of JSON. */
export function messageOfLine(line: string): string {
  const fields = parseJsonFields(line)
  if (fields === undefined) return line.trim()
  const message = messageFields.map((name) => fields[name]).find((value) => typeof value === 'string' && value !== '')
  const error = errorFields.map((name) => textOfError(fields[name])).find((text) => text !== undefined)
  const parts = [message, error].filter((part, index, all) => part !== undefined && all.indexOf(part) === index)
  return parts.length === 0 ? line.trim() : parts.join(': ')
}

/** The first line after each traceback that is not indented: a traceback ends with its exception. */
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

/** Whether the level of a line is that of an error; undefined without a level. */
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
  const fields = line.startsWith('{') ? jsonValue(line) : undefined
  return isObject(fields) ? fields : undefined
}

function textOfError(error: unknown): string | undefined {
  if (typeof error === 'string' && error !== '') return error
  const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : undefined
  return typeof message === 'string' ? message : undefined
}
