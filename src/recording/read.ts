import { createReadStream } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import type { FeedEvent, WatchRequest } from '../cluster/feed.ts'
import { UserError } from '../errors.ts'
import { type RecordingHeader, recordingVersion } from './format.ts'
import { unpack } from './unpack.ts'

/**
 * Reads the header of a recording.
 * @throws UserError where the file cannot be read, or is no recording
 */
export async function readHeader(path: string): Promise<RecordingHeader> {
  const header = parse(await firstLine(path)) as RecordingHeader | undefined | null
  if (header?.recording === recordingVersion) return header
  const message = `This is no recording: its first line does not say "recording":"${recordingVersion}".`
  throw new UserError([{ input: path, line: 1, message }])
}

async function firstLine(path: string): Promise<string> {
  try {
    for await (const line of lines(path)) return line
    return ''
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new UserError([{ input: path, message: `The recording cannot be read: ${why}` }])
  }
}

/**
 * The events of a recording in their order, read as a stream. A line that cannot be read ends it: what came before is
 * whole, and `onDamage` hears of the line and why.
 */
export async function* readEvents(
  path: string,
  onDamage: (line: number, why: string) => void,
): AsyncGenerator<FeedEvent> {
  let number = 0
  let last = Number.NEGATIVE_INFINITY
  try {
    for await (const line of lines(path)) {
      number++
      if (number === 1 || line.trim() === '') continue
      const event = parse(line) as (Omit<FeedEvent, 'at'> & { at: string }) | undefined
      const at = Date.parse(event?.at ?? '')
      if (event?.type === undefined || Number.isNaN(at)) {
        onDamage(number, 'it is no event of a recording')
        return
      }
      // The gate's time never runs backwards, whatever a clock did while it was recorded.
      last = Math.max(last, at)
      yield { ...event, at: last } as FeedEvent
    }
  } catch (error) {
    onDamage(number + 1, error instanceof Error ? error.message : String(error))
  }
}

/**
 * The requests that the recording says the server answered: completed first lists, and refusals. Of anything else nothing
 * is to be expected: it was not readable, and stays unknown from the beginning.
 */
export async function readAnswered(path: string): Promise<readonly WatchRequest[]> {
  const answered: WatchRequest[] = []
  // A damaged file is complained of once, by whoever reads its events.
  for await (const event of readEvents(path, () => {})) {
    const { type, kind, apiVersion, code } = event as Partial<WatchRequest> & { type: string; code?: number }
    if (kind === undefined || apiVersion === undefined) continue
    if (type === 'SYNCED' || (type === 'ERROR' && code === 403)) answered.push({ ...event, kind, apiVersion })
  }
  return answered
}

/** The lines of a file, unpacked by its name. All that can be read come before the error of a damage. */
async function* lines(path: string): AsyncGenerator<string> {
  const decoder = new StringDecoder()
  let rest = ''
  for await (const bytes of path.endsWith('.gz') ? unpack(path) : (createReadStream(path) as AsyncIterable<Buffer>)) {
    const parts = (rest + decoder.write(bytes)).split('\n')
    rest = parts.pop() ?? ''
    yield* parts
  }
  if (rest !== '') yield rest
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
