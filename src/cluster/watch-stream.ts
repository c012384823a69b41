import { errorText } from '../errors.ts'
import { maxWatchLineBytes, watchSilenceMs } from '../thresholds.ts'
import type { Client } from './client.ts'
import type { Clock } from './clock.ts'
import { ApiError, ConnectionError } from './failures.ts'

interface WatchOptions {
  readonly client: Client
  readonly clock: Clock
  readonly path: string
  /** The form of the objects; by default, all of their JSON. */
  readonly accept: string | undefined
  /** When aborted, the watch ends. */
  readonly signal: AbortSignal
  /** Time limit for opening the watch. */
  readonly openTimeoutMs: number
  /** If the server has not ended the watch this long after its opening, it is ended here. */
  readonly overdueMs: number
  /** A small request after a silence. If it succeeds, the watch ends normally; else it fails with that error. */
  readonly probe: (signal: AbortSignal) => Promise<unknown>
  readonly onOpen: () => void
  /** Called for each chunk. */
  readonly onBytes: () => void
}

/** The connection of an open watch broke. */
export class WatchCutError extends Error {}

/**
 * Yields the complete lines of one watch. Ends normally if the watch ends, the signal is aborted, or the watch is overdue.
 * Throws a `WatchCutError` if an open connection breaks, and the original error if the opening or the probe fails. Never
 * hangs: a dead connection is detected because it is silent, at the latest when the watch is overdue.
 */
export async function* watchLines(options: WatchOptions): AsyncGenerator<Buffer> {
  const { client, clock, path, accept, signal, openTimeoutMs, overdueMs, probe, onOpen, onBytes } = options
  const controller = new AbortController()
  const stop = () => controller.abort()
  let isOpen = false
  let chunks = 0
  let probeError: unknown
  let cancelSilence = () => {}
  let cancelOverdue = () => {}

  const restartSilence = () => {
    cancelSilence()
    cancelSilence = clock.after(watchSilenceMs, check)
  }
  const check = async () => {
    const before = chunks
    try {
      await probe(controller.signal)
      // The server answers, so only this connection may be dead. The next watch continues from here.
      if (chunks === before) stop()
    } catch (error) {
      if (chunks !== before || controller.signal.aborted) return
      probeError = error
      stop()
    }
  }

  if (signal.aborted) stop()
  signal.addEventListener('abort', stop)
  try {
    const stream = await client.stream(path, { accept, signal: controller.signal, timeoutMs: openTimeoutMs })
    isOpen = true
    onOpen()
    restartSilence()
    cancelOverdue = clock.after(overdueMs, stop)
    let pending: Buffer[] = []
    let length = 0
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks += 1
      onBytes()
      restartSilence()
      let start = 0
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        const part = chunk.subarray(start, end)
        yield pending.length === 0 ? part : Buffer.concat([...pending, part])
        pending = []
        length = 0
        start = end + 1
      }
      pending.push(chunk.subarray(start))
      length += chunk.length - start
      if (length > maxWatchLineBytes) throw new ConnectionError('E2BIG', 'a line of the watch is too long')
    }
  } catch (error) {
    if (probeError !== undefined) throw probeError
    if (controller.signal.aborted) return
    if (!isOpen || error instanceof ApiError || error instanceof ConnectionError) throw error
    throw new WatchCutError(errorText(error))
  } finally {
    cancelSilence()
    cancelOverdue()
    signal.removeEventListener('abort', stop)
    stop()
  }
}
