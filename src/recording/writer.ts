import { createWriteStream, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { constants, createGzip, type Gzip } from 'node:zlib'
import type { FeedEvent } from '../cluster/feed.ts'
import { redactTexts } from '../cluster/redact.ts'
import type { GateSettings } from '../gate/settings.ts'
import { type Inputs, inputDefinitions } from '../inputs.ts'
import type { Plan } from '../plan/resolve.ts'
import type { Target } from '../plan/target.ts'

/* Writes a recording: its header and its events, redacted. */

/** The first line of a recording. */
export interface RecordingHeader {
  readonly recording: 'rollout-gate/v1'
  readonly startedAt: string
  readonly server: string
  readonly context: string
  readonly serverOffsetMs: number
  /** The inputs as written, without defaults and credentials. */
  readonly inputs: Readonly<Record<string, unknown>>
  /** The targets that these inputs select. */
  readonly targets?: readonly Target[]
}

export const recordingVersion = 'rollout-gate/v1'

/** The line of an event, without a line break. */
export function formatEvent({ at, ...observation }: FeedEvent): string {
  const lastSuccessAt = observation.type === 'ERROR' ? observation.lastSuccessAt : undefined
  const moments = lastSuccessAt === undefined ? {} : { lastSuccessAt: new Date(lastSuccessAt).toISOString() }
  return JSON.stringify({ at: new Date(at).toISOString(), ...observation, ...moments })
}

/** Writes a recording. Each line is flushed, so that the file is usable even if the process is killed. */
export class RecordingWriter {
  readonly #sink: Writable
  readonly #gzip: Gzip | undefined
  readonly #done: Promise<void>
  #header: object | undefined
  readonly #redact: (text: string) => string

  /**
   * Creates or empties the file, which only its owner may read. It is compressed if the name ends in `.gz`.
   * @param redact replaces the secrets in a text. The header contains manifests, so the header is redacted and written
   * with the first event
   * @throws the error of the file system if the file cannot be opened for writing
   */
  constructor(path: string, header: RecordingHeader, redact: (text: string) => string = (text) => text) {
    mkdirSync(dirname(path), { recursive: true })
    const file = createWriteStream(path, { fd: openSync(path, 'w', 0o600) })
    this.#done = finished(file)
    // `end` reports errors such as a full disk. Without this handler, an earlier error would be an unhandled rejection.
    this.#done.catch(() => {})
    this.#gzip = path.endsWith('.gz') ? createGzip() : undefined
    this.#gzip?.pipe(file)
    this.#sink = this.#gzip ?? file
    this.#header = header
    this.#redact = redact
  }

  /** Writes an event, redacted unless it is the discovery, which contains only names of kinds. */
  write(event: FeedEvent): void {
    if (this.#header !== undefined) this.#writeLine(JSON.stringify(redactTexts(this.#header, this.#redact)))
    this.#header = undefined
    this.#writeLine(formatEvent(event.type === 'DISCOVERY' ? event : (redactTexts(event, this.#redact) as FeedEvent)))
  }

  /**
   * Ends the recording with an `END` line, which marks it as complete.
   * @throws the error of the file system if the file could not be written completely
   */
  async end(at: number): Promise<void> {
    this.write({ at, type: 'END' })
    this.#sink.end()
    await this.#done
  }

  #writeLine(text: string): void {
    this.#sink.write(`${text}\n`)
    this.#gzip?.flush(constants.Z_SYNC_FLUSH)
  }
}

/**
 * Creates the recording of a gate.
 * @param redact replaces the secrets in a text
 * @throws the error of the file system if the file cannot be opened for writing
 */
export async function startRecording(
  path: string,
  { targets, settings }: Pick<Plan, 'targets'> & { readonly settings: GateSettings },
  { written }: Pick<Inputs, 'written'>,
  redact: (text: string) => string,
): Promise<RecordingWriter> {
  // Only recordings with `http-checks` need the parser.
  const linesOf = written.has('http-checks') ? (await import('../plan/checks.ts')).linesForRecording : undefined
  const inputs = inputDefinitions.flatMap(({ name, isRecorded }) => {
    const text = written.get(name)
    if (!isRecorded || text === undefined) return []
    if (name === 'http-checks') return [[name, linesOf?.(text)]]
    return [[name, ['resources', 'manifests'].includes(name) ? text.split('\n') : text]]
  })
  const { startedAt, serverVersion: server, context, serverOffsetMs } = settings
  const header = {
    recording: recordingVersion,
    startedAt: new Date(startedAt).toISOString(),
    server,
    context,
    serverOffsetMs,
    inputs: Object.fromEntries(inputs),
    targets,
  } as const
  return new RecordingWriter(path, header, redact)
}
