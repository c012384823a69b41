import type { Client } from './client.ts'
import type { Clock } from './clock.ts'
import { ApiError, ConnectionError } from './failures.ts'

/** After this time without a byte the server is asked for a small list, and the watch is renewed. */
const silenceMs = 30_000

export interface WatchStream {
  readonly client: Client
  readonly clock: Clock
  readonly path: string
  /** Ends the watch from outside. */
  readonly signal: AbortSignal
  /** How long the server may take to open it. */
  readonly openTimeoutMs: number
  /** When we end it ourselves, because the server did not although it should have. */
  readonly overdueMs: number
  /** A small request after a silence: when it succeeds the watch ends in order, when it fails the watch fails with its error. */
  readonly probe: (signal: AbortSignal) => Promise<unknown>
  readonly onOpen: () => void
  /** Called for each piece, a whole line or not. */
  readonly onBytes: () => void
  /** What it throws (`ApiError`, `ConnectionError`) ends the watch and is thrown on. */
  readonly onLine: (line: string) => void
}

/**
 * Opens one watch and reads it to its end: `ended` in order (also from outside, or overdue), `cut` when the established
 * connection broke. Rejects when it could not be opened, when the probe failed, or when a line could not be taken.
 * Never hangs: a connection that died without a word is noticed by silence, and at the latest when it is overdue.
 */
export async function followWatch(watch: WatchStream): Promise<'ended' | 'cut'> {
  const { client, clock, path, signal, openTimeoutMs, overdueMs, probe, onOpen, onBytes, onLine } = watch
  const controller = new AbortController()
  const stop = () => controller.abort()
  let opened = false
  let pieces = 0
  let failure: unknown
  let cancelSilence = () => {}
  let cancelOverdue = () => {}

  const listen = () => {
    cancelSilence()
    cancelSilence = clock.after(silenceMs, check)
  }
  const check = async () => {
    const before = pieces
    try {
      await probe(controller.signal)
      // The server answers: the watch alone may be dead. Another one goes on from where it was.
      if (pieces === before) stop()
    } catch (error) {
      if (pieces !== before || controller.signal.aborted) return
      failure = error
      stop()
    }
  }

  if (signal.aborted) stop()
  signal.addEventListener('abort', stop)
  try {
    const lines = await client.lines(path, { signal: controller.signal, timeoutMs: openTimeoutMs }, () => {
      pieces += 1
      onBytes()
      listen()
    })
    opened = true
    onOpen()
    listen()
    cancelOverdue = clock.after(overdueMs, stop)
    for await (const line of lines) onLine(line)
    return 'ended'
  } catch (error) {
    if (failure !== undefined) throw failure
    if (controller.signal.aborted) return 'ended'
    if (!opened || error instanceof ApiError || error instanceof ConnectionError) throw error
    return 'cut'
  } finally {
    cancelSilence()
    cancelOverdue()
    signal.removeEventListener('abort', stop)
    stop()
  }
}
