import type { Client } from './client.ts'
import type { Clock } from './clock.ts'
import { ApiError, ConnectionError, messageOf } from './failures.ts'

/** After this time without a byte the server gets a small list request, and the watch is opened again. */
const silenceMs = 30_000

/** No object in etcd is larger than 1.5 MiB; this leaves room for what the API server adds. */
const longestLine = 16 << 20

export interface WatchOptions {
  readonly client: Client
  readonly clock: Clock
  readonly path: string
  /** Ends the watch. */
  readonly signal: AbortSignal
  /** How long the server may take to open it. */
  readonly openTimeoutMs: number
  /** When the watch is ended here, because the server did not end it. */
  readonly overdueMs: number
  /** A small request after a silence. When it succeeds the watch ends in order, when it fails the watch fails with its error. */
  readonly probe: (signal: AbortSignal) => Promise<unknown>
  readonly onOpen: () => void
  /** Called for each piece, a whole line or not. */
  readonly onBytes: () => void
}

/** The connection of an open watch broke. */
export class WatchCutError extends Error {}

/**
 * The complete lines of one watch until it ends in order: also by its signal, or when it is overdue. Throws a `WatchCutError` when
 * the established connection broke, and the failure when it could not be opened or the probe failed.
 * Never hangs: a dead connection is noticed by its silence, and at the latest when it is overdue.
 */
export async function* watchLines(options: WatchOptions): AsyncGenerator<string> {
  const { client, clock, path, signal, openTimeoutMs, overdueMs, probe, onOpen, onBytes } = options
  const controller = new AbortController()
  const stop = () => controller.abort()
  let isOpen = false
  let pieces = 0
  let probeError: unknown
  let cancelSilence = () => {}
  let cancelOverdue = () => {}

  const restartSilence = () => {
    cancelSilence()
    cancelSilence = clock.after(silenceMs, check)
  }
  const check = async () => {
    const before = pieces
    try {
      await probe(controller.signal)
      // The server answers: only this connection may be dead. The next watch starts where this one was.
      if (pieces === before) stop()
    } catch (error) {
      if (pieces !== before || controller.signal.aborted) return
      probeError = error
      stop()
    }
  }

  if (signal.aborted) stop()
  signal.addEventListener('abort', stop)
  try {
    const stream = await client.stream(path, { signal: controller.signal, timeoutMs: openTimeoutMs })
    isOpen = true
    onOpen()
    restartSilence()
    cancelOverdue = clock.after(overdueMs, stop)
    let pending: Buffer[] = []
    let length = 0
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      pieces += 1
      onBytes()
      restartSilence()
      let start = 0
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        yield Buffer.concat([...pending, chunk.subarray(start, end)]).toString('utf8')
        pending = []
        length = 0
        start = end + 1
      }
      pending.push(chunk.subarray(start))
      length += chunk.length - start
      if (length > longestLine) throw new ConnectionError('E2BIG', 'a line of the watch is too long')
    }
  } catch (error) {
    if (probeError !== undefined) throw probeError
    if (controller.signal.aborted) return
    if (!isOpen || error instanceof ApiError || error instanceof ConnectionError) throw error
    throw new WatchCutError(messageOf(error))
  } finally {
    cancelSilence()
    cancelOverdue()
    signal.removeEventListener('abort', stop)
    stop()
  }
}
