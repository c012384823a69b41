import { setImmediate as settled } from 'node:timers/promises'
import type { Cluster } from '../../src/cluster/cluster.ts'
import { ConnectionError } from '../../src/cluster/failures.ts'
import type { LogLine, LogStreamRequest } from '../../src/cluster/logs.ts'

interface Instance {
  readonly lines: LogLine[]
  isOver: boolean
}

interface Reader {
  readonly request: LogStreamRequest
  readonly wake: () => void
  failure: Error | undefined
}

/** The log of one container as a kubelet returns it: by whole seconds, of the present run or the one before it. */
export class Kubelet implements Pick<Cluster, 'followLog'> {
  readonly requests: LogStreamRequest[] = []
  readonly #instances: Instance[] = [{ lines: [], isOver: false }]
  readonly #readers = new Set<Reader>()
  readonly #refusals: Error[] = []
  /** While true, no request is answered. */
  isHanging = false

  /** The container writes a line, at a time in seconds. */
  write(at: number, text: string): void {
    this.#instances.at(-1)?.lines.push({ at: at * 1000, text })
    this.#wake()
  }

  exit(): void {
    const present = this.#instances.at(-1)
    if (present !== undefined) present.isOver = true
    this.#wake()
  }

  restart(): void {
    this.exit()
    this.#instances.push({ lines: [], isOver: false })
  }

  /** Breaks every stream. */
  cut(): void {
    for (const reader of this.#readers) {
      reader.failure = new ConnectionError('ECONNRESET', 'aborted')
      reader.wake()
    }
  }

  /** The next requests fail with these errors. */
  refuse(...errors: Error[]): void {
    this.#refusals.push(...errors)
  }

  get open(): number {
    return this.#readers.size
  }

  async followLog(request: LogStreamRequest, signal: AbortSignal): Promise<AsyncIterable<LogLine>> {
    this.requests.push(request)
    const refusal = this.#refusals.shift()
    if (refusal !== undefined) throw refusal
    return this.#read(request, signal)
  }

  async *#read(request: LogStreamRequest, signal: AbortSignal): AsyncGenerator<LogLine> {
    const instance = this.#instances.at(request.previous ? -2 : -1)
    if (instance === undefined) return
    let wake = () => {}
    const reader: Reader = { request, wake: () => wake(), failure: undefined }
    this.#readers.add(reader)
    signal.addEventListener('abort', reader.wake)
    try {
      const since = Math.floor(request.since / 1000) * 1000
      for (let next = 0; ; ) {
        if (signal.aborted) throw signal.reason
        if (reader.failure !== undefined) throw reader.failure
        const line = this.isHanging ? undefined : instance.lines[next]
        if (line !== undefined) {
          next += 1
          if ((line.at ?? 0) >= since) yield line
        } else if (!this.isHanging && (instance.isOver || !request.follow)) return
        else
          await new Promise<void>((resolve) => {
            wake = resolve
          })
      }
    } finally {
      this.#readers.delete(reader)
      signal.removeEventListener('abort', reader.wake)
    }
  }

  #wake(): void {
    for (const { wake } of this.#readers) wake()
  }
}

/** Runs all pending work that needs no time. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await settled()
}
