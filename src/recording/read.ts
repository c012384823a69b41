import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { createGunzip } from 'node:zlib'
import type { FeedEvent, WatchRequest } from '../cluster/feed.ts'
import { UserError } from '../errors.ts'
import { type RecordingHeader, recordingVersion } from './format.ts'

/**
 * Reads the header of a recording.
 * @throws UserError where the file is no recording
 */
export async function readHeader(path: string): Promise<RecordingHeader> {
  for await (const line of lines(path)) {
    const header = parse(line) as RecordingHeader | undefined
    if (header?.recording === recordingVersion) return header
    break
  }
  throw new UserError([
    {
      input: path,
      line: 1,
      message: `This is no recording: its first line does not say "recording":"${recordingVersion}".`,
    },
  ])
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

/** The requests whose first list the recording completes: anything else was not readable, and stays unknown. */
export async function readSynced(path: string): Promise<readonly WatchRequest[]> {
  const synced: WatchRequest[] = []
  try {
    for await (const line of lines(path)) {
      if (!line.includes('"SYNCED"')) continue
      const event = parse(line) as (WatchRequest & { type?: string }) | undefined
      if (event?.type === 'SYNCED') synced.push(event)
    }
  } catch {
    // A damaged file is complained of once, by whoever reads its events.
  }
  return synced
}

/**
 * The lines of a file, unpacked by its name. readline does not forward the errors of its input, so they are kept until the
 * lines before the damage are read: without that, a damaged file would read as a short one.
 */
async function* lines(path: string): AsyncGenerator<string> {
  const file = createReadStream(path)
  const text = path.endsWith('.gz') ? file.pipe(createGunzip()) : file
  const reader = createInterface({ input: text, crlfDelay: Number.POSITIVE_INFINITY })
  let failure: Error | undefined
  for (const stream of new Set([file, text])) {
    stream.once('error', (error: Error) => {
      failure ??= error
      reader.close()
    })
  }
  yield* reader
  if (failure !== undefined) throw failure
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
