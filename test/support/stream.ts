import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** A streamed response (a watch or a followed log) with network faults. */
export class Stream {
  /** If set, text is sent in chunks of this size, each in its own turn, even in the middle of a character. */
  chunkBytes: number | undefined
  readonly #response: ServerResponse
  #queue: string[] = []
  #silent = false
  #ended = false
  #sending = false

  constructor(response: ServerResponse, contentType: string) {
    this.#response = response
    response.writeHead(200, { 'Content-Type': contentType })
    response.flushHeaders()
  }

  onClose(listener: () => void): void {
    this.#response.once('close', listener)
  }

  /** Queues text; text after the end is dropped. */
  write(text: string): void {
    if (!this.#ended) this.#queue.push(text)
    void this.#send()
  }

  /** Ends the response after the queued text. */
  end(): void {
    this.#ended = true
    void this.#send()
  }

  /** While silent nothing is sent, not even the end; afterwards everything is sent. */
  silence(on: boolean): void {
    this.#silent = on
    void this.#send()
  }

  /** Resets the connection, after sending `parting`. */
  cut(parting?: string): void {
    this.#queue = []
    const socket = this.#response.socket
    if (parting === undefined) resetConnection(socket)
    else this.#response.write(parting, () => socket?.destroy())
  }

  async #send(): Promise<void> {
    if (this.#sending) return
    this.#sending = true
    while (!this.#silent && this.#queue.length > 0 && !this.#response.destroyed) {
      const text = this.#queue.shift() ?? ''
      if (this.chunkBytes === undefined) this.#response.write(text)
      else await this.#sendInChunks(Buffer.from(text), this.chunkBytes)
    }
    this.#sending = false
    if (this.#ended && !this.#silent) this.#response.end()
  }

  async #sendInChunks(bytes: Buffer, size: number): Promise<void> {
    for (let start = 0; start < bytes.length && !this.#response.destroyed; start += size) {
      this.#response.write(bytes.subarray(start, start + size))
      await nextTurn()
    }
  }
}

/** Breaks a connection as in a crash: by a TCP reset, unless the connection uses TLS. */
export function resetConnection(socket: Socket | null): void {
  if (socket?.constructor === Socket) socket.resetAndDestroy()
  else socket?.destroy()
}
