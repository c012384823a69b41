import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { constants, createGunzip } from 'node:zlib'
import { mapArray, mapObject, withoutConversionMethods } from '../cluster/compact.ts'
import { failureFromStatus } from '../cluster/failures.ts'
import type { Failure, FeedEvent } from '../cluster/feed.ts'
import { explainWrongType, isKubeObject } from '../cluster/object-schema.ts'
import { isObject } from '../cluster/objects.ts'
import { duration } from '../duration.ts'
import { errorText, jsonValue, UserError } from '../errors.ts'
import { momentOf } from '../lifecycle/proof.ts'
import { maxRecordedLineCharacters, maxRecordedLines, maxRecordedMs, maxRecordingCharacters } from '../thresholds.ts'
import { type RecordingHeader, recordingVersion } from './writer.ts'

/**
 * Reads the header of a recording and adds defaults, so a few handwritten lines are a valid recording.
 * @throws UserError if the file cannot be read or is not a recording
 */
export async function readHeader(path: string): Promise<RecordingHeader> {
  const header = withoutNulls(parse(await firstLine(path)) ?? {}) as Partial<RecordingHeader>
  if (header.recording === recordingVersion) {
    const { headerMistake } = await import('./recording-schema.ts')
    const why = headerMistake(header)
    if (why !== undefined) throw new UserError([{ input: path, line: 1, message: `The header is invalid: ${why}.` }])
    const isDated = momentOf(header.startedAt) !== undefined
    const event = isDated ? undefined : await firstEvent(path)
    return {
      server: '',
      context: '',
      serverOffsetMs: 0,
      inputs: {},
      ...header,
      recording: recordingVersion,
      startedAt: isDated && header.startedAt ? header.startedAt : new Date(event?.at ?? 0).toISOString(),
    }
  }
  const message = `This is not a recording: its first line does not contain "recording":"${recordingVersion}".`
  throw new UserError([{ input: path, line: 1, message }])
}

async function firstEvent(path: string): Promise<FeedEvent | undefined> {
  for await (const event of readEvents(path, () => {})) return event
  return undefined
}

async function firstLine(path: string): Promise<string> {
  try {
    for await (const line of readLines(path)) if (line.trim() !== '') return line
    return ''
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new UserError([{ input: path, message: 'This file does not exist.' }])
    throw new UserError([{ input: path, message: `The recording cannot be read: ${errorText(error)}` }])
  }
}

/**
 * The events of a recording in order, read as a stream. A line that cannot be read ends the stream and is reported to
 * `onDamage`; a line that this version cannot use is skipped and reported to `onSkipped`.
 */
export async function* readEvents(
  path: string,
  onDamage: OnInvalidLine,
  onSkipped: OnInvalidLine = () => {},
  cancelled?: AbortSignal,
): AsyncGenerator<FeedEvent> {
  const { eventMistake } = await import('./recording-schema.ts')
  let number = 0
  let latest: number | undefined
  let start: number | undefined
  try {
    for await (const line of readLines(path)) {
      if (cancelled?.aborted) return
      number++
      if (line.trim() === '') continue
      if (latest === undefined) {
        start = momentOf((parse(line) as Partial<RecordingHeader> | undefined)?.startedAt)
        latest = start ?? 0
        continue
      }
      const event = eventOf(parse(line))
      if (event === undefined) return onDamage(number, 'it is not an event of a recording')
      start ??= event.at
      // A replay would pass all deadlines until then.
      if ((event.at ?? 0) - (start ?? 0) > maxRecordedMs)
        return onDamage(number, `its moment is more than ${duration(maxRecordedMs)} after the start`)
      // The gate's time never decreases, even if the clock was set back during the recording.
      latest = Math.max(latest, event.at ?? latest)
      const why = whyUnusable(event, eventMistake)
      const observed = event.type === 'ERROR' ? failureIn(event) : event
      if (why !== undefined) onSkipped(number, why)
      else if (observed !== undefined) yield { ...observed, at: latest } as FeedEvent
    }
  } catch (error) {
    onDamage(number + 1, errorText(error))
  }
}

/** An event as a line contains it: only `type` and `at` are checked. */
type WrittenEvent = { readonly type: string; readonly at?: number } & Partial<Record<string, unknown>>

/** The event in a line, or its object as added; else undefined. Without `at`, it has the time of the line before. */
function eventOf(line: unknown): WrittenEvent | undefined {
  if (!isObject(line)) return undefined
  const { at: moment, ...written } = (isKubeObject(line) ? { object: line } : line) as Record<string, unknown>
  const { object, ...others } = written
  const event: Record<string, unknown> =
    object === undefined ? { ...(withoutNulls(others) as object) } : { ...written, object: limitObject(object) }
  const at = momentOf(moment)
  const type = event['type'] ?? (isKubeObject(event['object']) ? 'ADDED' : undefined)
  if (typeof type !== 'string' || (moment !== undefined && at === undefined)) return undefined
  const defaults = type === 'ERROR' ? { code: 0, message: '' } : type === 'LOG' ? { previous: false, text: '' } : {}
  return { ...defaults, ...event, type, at }
}

/** The value without null fields, which mean absent fields. Only five levels are searched: no deeper field is read. */
function withoutNulls(value: unknown, depth = 0): unknown {
  if (depth === 5) return value
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, depth + 1))
  if (!isObject(value)) return value
  const fields = Object.entries(value).filter(([, field]) => field !== null)
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutNulls(field, depth + 1)]))
}

/** The failure of an `ERROR` line; undefined for an expired resource version (410). */
function failureIn(written: WrittenEvent): Failure | undefined {
  const { code, message, lastSuccessAt, final } = written
  const request = Object.fromEntries(
    ['apiVersion', 'kind', 'namespace', 'name', 'labelSelector'].flatMap((field) =>
      typeof written[field] === 'string' ? [[field, written[field]]] : [],
    ),
  )
  return failureFromStatus(Number(code) || 0, typeof message === 'string' ? message : '', {
    ...request,
    lastSuccessAt: momentOf(lastSuccessAt),
    final: final === true,
  })
}

/** Why this version cannot use an event; undefined if it can. */
function whyUnusable(event: WrittenEvent, eventMistake: (type: string, line: object) => string | undefined) {
  const { type, object } = event
  if (!['ADDED', 'MODIFIED', 'DELETED'].includes(type)) return eventMistake(type, event)
  return isKubeObject(object) ? explainWrongType(object) : 'its object lacks apiVersion, kind or name'
}

function parse(line: string): unknown {
  // `trim` also removes a byte order mark, which `JSON.parse` rejects.
  return jsonValue(line.trim())
}

/** Called with the number of a line (the first is 1) and what is wrong with it. */
export type OnInvalidLine = (line: number, why: string) => void

/** The size of the pieces in which a file is read. It is small, because damage loses the rest of its piece. */
const readBytes = 4_096

/**
 * The text of a file in chunks; gunzipped if the name ends in `.gz`. An incomplete file of a killed job is no error.
 * @throws the error of a damaged file, after the text before the damage
 */
async function* readText(path: string): AsyncGenerator<string> {
  const file = createReadStream(path, { highWaterMark: readBytes })
  const unpacked = path.endsWith('.gz')
    ? pipeline(file, createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }), () => {})
    : file
  yield* unpacked.setEncoding('utf8') as AsyncIterable<string>
}

/**
 * The lines of a file, without their line breaks. A last line that an error cuts off is omitted.
 * @throws Error at a line longer than `maxRecordedLineCharacters`, after the lines before it; also once the file
 * exceeds `maxRecordedLines` or `maxRecordingCharacters`
 */
export async function* readLines(path: string): AsyncGenerator<string> {
  let parts: string[] = []
  let length = 0
  let allLines = 0
  let allLength = 0
  for await (const text of readText(path)) {
    const [end = '', ...others] = text.split('\n')
    allLines += others.length
    allLength += text.length
    if (allLines > maxRecordedLines)
      throw new Error(`the file has more than ${maxRecordedLines.toLocaleString('en')} lines`)
    if (allLength > maxRecordingCharacters)
      throw new Error(`the file is longer than ${maxRecordingCharacters >> 30} GiB`)
    parts.push(end)
    length += end.length
    if (length > maxRecordedLineCharacters)
      throw new Error(`the line is longer than ${maxRecordedLineCharacters >> 20} MiB`)
    const rest = others.pop()
    if (rest === undefined) continue
    yield parts.join('')
    yield* others
    parts = [rest]
    length = rest.length
  }
  const last = parts.join('')
  if (last !== '') yield last
}

/**
 * The maximum length of a text in a recording: above the limits of a redacted object, so that a recording is replayed as it
 * was written.
 */
const maxTextLength = 16_384
const maxDepth = 1_000

/** Limits an object of a file, which may contain anything: a text to 16,384 characters, and nesting to 1,000 levels. */
export function limitObject(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.slice(0, maxTextLength)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= maxDepth) return '…'
  const limit = (item: unknown) => limitObject(item, depth + 1)
  return Array.isArray(value)
    ? mapArray(value, limit)
    : mapObject(withoutConversionMethods(value as Record<string, unknown>), limit)
}
