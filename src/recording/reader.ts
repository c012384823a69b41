import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { constants, createGunzip } from 'node:zlib'
import { isExpiry } from '../cluster/failures.ts'
import type { Failure, FeedEvent } from '../cluster/feed.ts'
import { splitLines } from '../cluster/lines.ts'
import { explainWrongType, isKubeObject } from '../cluster/object-schema.ts'
import { isObject, mapArray, mapObject, withoutConversionMethods } from '../cluster/objects.ts'
import { duration } from '../duration.ts'
import { errorText, tryParseJson, UserError } from '../errors.ts'
import { parseMoment } from '../lifecycle/proof.ts'
import { maxRecordedLineBytes, maxRecordedLines, maxRecordedMs, maxRecordingBytes } from '../thresholds.ts'
import { type RecordingHeader, recordingVersion } from './writer.ts'

/* Reads a recording: its header and its events, with limits, because anyone may have written the file. */

/**
 * Reads the header of a recording. Absent fields get defaults, so a few handwritten lines are a valid recording.
 * @throws UserError if the file cannot be read or is not a recording
 */
export async function readHeader(path: string): Promise<RecordingHeader> {
  const header = removeNulls(parseLine(await firstLine(path)) ?? {}) as Partial<RecordingHeader>
  if (header.recording === recordingVersion) {
    const { headerMistake } = await import('./recording-schema.ts')
    const why = headerMistake(header)
    if (why !== undefined) throw new UserError([{ input: path, line: 1, message: `The header is invalid: ${why}.` }])
    const isDated = parseMoment(header.startedAt) !== undefined
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
 * The events of a recording in their order. An event without a time has the time of the line before. A line that cannot
 * be read ends the events, and is reported to `onDamage`. A line that this version cannot use is skipped, and is
 * reported to `onSkipped`.
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
        start = parseMoment((parseLine(line) as Partial<RecordingHeader> | undefined)?.startedAt)
        latest = start ?? 0
        continue
      }
      const event = parseEvent(parseLine(line))
      if (event === undefined) return onDamage(number, 'it is not an event of a recording')
      start ??= event.at
      // Otherwise a replay would run through all deadlines before this time.
      if ((event.at ?? 0) - (start ?? 0) > maxRecordedMs)
        return onDamage(number, `its moment is more than ${duration(maxRecordedMs)} after the start`)
      // The time of a gate never decreases, even if the clock was set back during the recording.
      latest = Math.max(latest, event.at ?? latest)
      const why = unusableReason(event, eventMistake)
      const observed = { ...event, ...parseMoments(event), at: latest } as FeedEvent
      if (why !== undefined) onSkipped(number, why)
      else if (!isExpiry(observed)) yield observed
    }
  } catch (error) {
    onDamage(number + 1, errorText(error))
  }
}

/** An event as written in a line: only the types of `type` and `at` are checked. */
type WrittenEvent = { readonly type: string; readonly at?: number } & Partial<Record<string, unknown>>

/** The types of events that contain an object. Other events lose their object. */
const changeTypes: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED'])

/** The event in a line; undefined if there is none. A line with only an object is an `ADDED` event. */
function parseEvent(line: unknown): WrittenEvent | undefined {
  if (!isObject(line)) return undefined
  const { at: moment, ...written } = (isKubeObject(line) ? { object: line } : line) as Record<string, unknown>
  const { object, ...others } = written
  const at = parseMoment(moment)
  const type = others['type'] ?? (isKubeObject(object) ? 'ADDED' : undefined)
  const event = changeTypes.has(type) ? { ...others, object: limitObject(object) } : (removeNulls(others) as object)
  if (typeof type !== 'string' || (moment !== undefined && at === undefined)) return undefined
  const defaults = type === 'ERROR' ? { code: 0, message: '' } : type === 'LOG' ? { previous: false, text: '' } : {}
  return { ...defaults, ...event, type, at }
}

/** Removes null fields, which mean absent fields, from the upper five levels: deeper fields are not read. */
function removeNulls(value: unknown, depth = 0): unknown {
  if (depth === 5) return value
  if (Array.isArray(value)) return value.map((item) => removeNulls(item, depth + 1))
  if (!isObject(value)) return value
  const fields = Object.entries(value).filter(([, field]) => field !== null)
  return Object.fromEntries(fields.map(([name, field]) => [name, removeNulls(field, depth + 1)]))
}

function parseMoments({ type, lastSuccessAt }: WrittenEvent): Pick<Failure, 'lastSuccessAt'> {
  return type === 'ERROR' && lastSuccessAt !== undefined ? { lastSuccessAt: parseMoment(lastSuccessAt) } : {}
}

/** Why this version cannot use an event; undefined if the event is usable. */
function unusableReason(event: WrittenEvent, eventMistake: (type: string, line: object) => string | undefined) {
  const { type, object } = event
  if (!changeTypes.has(type)) return eventMistake(type, event)
  return isKubeObject(object) ? explainWrongType(object) : 'its object lacks apiVersion, kind or name'
}

function parseLine(line: string): unknown {
  // `trim` removes a byte order mark, which `JSON.parse` rejects.
  return tryParseJson(line.trim())
}

/** Called with the number of an invalid line (the first is 1), and why it is invalid. */
type OnInvalidLine = (line: number, why: string) => void

/** The size of the chunks in which a file is read. Damage loses the rest of its chunk, so chunks are small. */
const readBytes = 4_096

/**
 * The lines of a file, without line breaks, gunzipped if the name ends in `.gz`. An incomplete file is no error: the job
 * may have been killed. A line that is incomplete because of an error is omitted.
 * @throws Error at damage, if a line exceeds `maxRecordedLineBytes`, or if the file exceeds `maxRecordedLines` or
 * `maxRecordingBytes`; always after the lines before
 */
export async function* readLines(path: string): AsyncGenerator<string> {
  const file = createReadStream(path, { highWaterMark: readBytes })
  const unpacked = path.endsWith('.gz')
    ? pipeline(file, createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }), () => {})
    : file
  const onExcess = () => {
    throw new Error(`the line is longer than ${maxRecordedLineBytes >> 20} MiB`)
  }
  let lines = 0
  let bytes = 0
  for await (const line of splitLines(unpacked, { maxBytes: maxRecordedLineBytes, onExcess, isRestLine: true })) {
    lines += 1
    bytes += line.length
    if (lines > maxRecordedLines)
      throw new Error(`the file has more than ${maxRecordedLines.toLocaleString('en')} lines`)
    if (bytes > maxRecordingBytes) throw new Error(`the file is longer than ${maxRecordingBytes >> 30} GiB`)
    yield line
  }
}

/** The maximum length of a text in a recording: larger than in objects of a cluster, so replays change nothing. */
const maxTextLength = 16_384
const maxDepth = 1_000

/** Limits an object that anyone may have written: its texts to 16,384 characters, its nesting to 1,000 levels. */
export function limitObject(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.slice(0, maxTextLength)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= maxDepth) return '…'
  const limit = (item: unknown) => limitObject(item, depth + 1)
  return Array.isArray(value)
    ? mapArray(value, limit)
    : mapObject(withoutConversionMethods(value as Record<string, unknown>), limit)
}
