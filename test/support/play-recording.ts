import { setTimeout as sleep } from 'node:timers/promises'
import type { ApiResource, Failure, Observation, WatchRequest } from '../../src/cluster/feed.ts'
import { readHeader } from '../../src/recording/reader.ts'
import type { ApiServer } from './api-server.ts'
import { recordedLines, recordingPath } from './recordings.ts'
import { guessResource } from './resources.ts'

/** One line of a recording after the first. */
export type RecordedEvent = (Exclude<Observation, Failure> | RecordedFailure) & { readonly at: string }

/** A failure in a recording. */
type RecordedFailure = {
  readonly type: 'ERROR'
  readonly code: number
  readonly message: string
} & Partial<WatchRequest>

/** The first line of a recording. */
export interface RecordingHeader {
  readonly recording: 'rollout-gate/v1'
  readonly startedAt: string
  readonly server?: string
  readonly serverOffsetMs?: number
}

export interface PlayerOptions {
  /**
   * Shifts all timestamps in objects by whole seconds, as if the recording started now (at speed 1), and sets the recorded
   * clock offset of the server. Needed if timestamps are compared with the present time.
   */
  readonly shiftTimes?: boolean
  /**
   * Applies ERROR lines: 410 expires the watches of the kind, 403 denies the kind, any other code resets all connections and
   * fails all requests until the next line of another type. By default ERROR lines are ignored.
   */
  readonly faults?: boolean
}

export interface PlayOptions extends PlayerOptions {
  /** Seconds of recorded time for each second of real time; `Infinity`: as fast as possible. Default 1. */
  readonly speed?: number
  readonly signal?: AbortSignal
}

/** Plays a whole recording (NDJSON, gzip if the name ends in `.gz`) to the server; resolves after its last line. */
export async function playRecording(server: ApiServer, file: string, options: PlayOptions = {}): Promise<void> {
  const player = await openRecording(server, file, options)
  await player.play(options)
}

/** Puts what a recording of `test/recordings` ends with into the server, as if it happened now. Returns its namespace. */
export async function playAll(server: ApiServer, name: string): Promise<string> {
  await playRecording(server, recordingPath(name), { speed: Number.POSITIVE_INFINITY, shiftTimes: true })
  return namespaceOf(name)
}

/** The namespace that the recorded gate watched. */
export async function namespaceOf(name: string): Promise<string> {
  return String((await readHeader(recordingPath(name))).inputs['namespace'])
}

/** Opens a recording to play it step by step. Throws if the file is not a recording. */
export async function openRecording(
  server: ApiServer,
  file: string,
  options: PlayerOptions = {},
): Promise<RecordingPlayer> {
  const [first = '', ...lines] = recordedLines(file)
  const header = first === '' ? undefined : (parseLine(first, file, 1) as RecordingHeader)
  if (header?.recording !== 'rollout-gate/v1')
    throw new Error(`${file} is not a recording: its first line is not a header`)
  return new RecordingPlayer(server, header, readEvents(lines, file), options)
}

/** Applies the lines of a recording to a server, one at a time or at their recorded times. */
export class RecordingPlayer {
  readonly header: RecordingHeader
  readonly #server: ApiServer
  readonly #events: Iterator<RecordedEvent>
  readonly #faults: boolean
  readonly #shiftMs: number
  /** Recorded time of the last line, in ms since the epoch. */
  #reached: number
  #isFailing = false

  /** Use `openRecording`. */
  constructor(
    server: ApiServer,
    header: RecordingHeader,
    events: Iterator<RecordedEvent>,
    { shiftTimes = false, faults = false }: PlayerOptions,
  ) {
    this.header = header
    this.#server = server
    this.#events = events
    this.#faults = faults
    this.#reached = Date.parse(header.startedAt)
    // Whole seconds keep the differences between timestamps of any precision; rounded down, none is in the future.
    this.#shiftMs = shiftTimes ? Math.floor((Date.now() - this.#reached) / 1000) * 1000 : 0
    if (shiftTimes) server.clockOffsetMs = header.serverOffsetMs ?? 0
  }

  /** Applies the next line and returns it; undefined at the end. */
  async step(): Promise<RecordedEvent | undefined> {
    const event = this.#next()
    if (event) this.#apply(event)
    return event
  }

  /** Applies lines up to and including the first that `isLast` accepts; undefined if there is none. */
  async stepUntil(isLast: (event: RecordedEvent) => boolean): Promise<RecordedEvent | undefined> {
    let event = await this.step()
    while (event && !isLast(event)) event = await this.step()
    return event
  }

  /** Applies the remaining lines, each at its time. Rejects when `signal` is aborted. */
  async play({ speed = 1, signal }: Pick<PlayOptions, 'speed' | 'signal'> = {}): Promise<void> {
    const startedAt = performance.now()
    const from = this.#reached
    for (let event = this.#next(); event; event = this.#next()) {
      const dueMs = startedAt + (this.#reached - from) / speed - performance.now()
      if (dueMs > 0) await sleep(dueMs, undefined, signal && { signal })
      signal?.throwIfAborted()
      this.#apply(event)
    }
  }

  #next(): RecordedEvent | undefined {
    const { done, value } = this.#events.next()
    if (done) return undefined
    this.#reached = Math.max(this.#reached, Date.parse(value.at))
    return value
  }

  #apply(event: RecordedEvent): void {
    const { store, discovery, logs } = this.#server
    if (event.type !== 'ERROR') this.#stopFailing()
    switch (event.type) {
      case 'DISCOVERY':
        for (const resource of event.resources) discovery.serve(resource)
        break
      case 'ADDED':
      case 'MODIFIED':
      case 'DELETED':
        store.replay(this.#resourceOf(event.object), event.type, shifted(event.object, this.#shiftMs))
        break
      case 'LOG':
        logs.set(event, event.text)
        break
      case 'ERROR':
        if (this.#faults) this.#fail(event)
        break
      default:
        // SYNCED, ALIVE, CANCEL and END are about the client, not the cluster.
        break
    }
  }

  #fail({ code, apiVersion, kind }: RecordedEvent & { type: 'ERROR' }): void {
    const resource = apiVersion && kind ? this.#resourceOf({ apiVersion, kind }) : undefined
    if (code === 410) this.#server.errorWatches(410, resource?.plural)
    else if (code === 403 && resource)
      this.#server.deny({ verb: '*', group: resource.group, resource: resource.plural })
    else {
      this.#isFailing = true
      this.#server.failNext(Number.POSITIVE_INFINITY, code)
      this.#server.cutWatches()
    }
  }

  #stopFailing(): void {
    if (!this.#isFailing) return
    this.#isFailing = false
    this.#server.stopFailing()
  }

  /** A recording may lack DISCOVERY lines, so unknown kinds are added when they occur. */
  #resourceOf({ apiVersion, kind }: { apiVersion: string; kind: string }): ApiResource {
    const { discovery } = this.#server
    const known = discovery.findKind(apiVersion, kind)
    if (known) return known
    const resource = guessResource(apiVersion, kind)
    discovery.serve(resource)
    return resource
  }
}

function* readEvents(lines: readonly string[], file: string): Generator<RecordedEvent, void> {
  for (const [index, line] of lines.entries())
    if (line.trim() !== '') yield parseLine(line, file, index + 2) as RecordedEvent
}

function parseLine(line: string, file: string, number: number): unknown {
  try {
    return JSON.parse(line)
  } catch (error) {
    throw new Error(`${file}, line ${number} is not JSON: ${String(error)}`)
  }
}

/** RFC 3339 in the form of Kubernetes, from this century: 1970 and 0001 mean "never". */
const TIMESTAMP = /^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

/** A copy with all timestamps later by `shiftMs` (whole seconds); fractions of seconds keep their format. */
function shifted<T>(value: T, shiftMs: number): T {
  if (shiftMs === 0) return value
  if (typeof value === 'string') {
    const match = TIMESTAMP.exec(value)
    if (!match) return value
    const seconds = new Date(Date.parse(value) + shiftMs).toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)
    return `${seconds}${match[1] ?? ''}Z` as T
  }
  if (Array.isArray(value)) return value.map((item) => shifted(item, shiftMs)) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shifted(item, shiftMs)])) as T
}
