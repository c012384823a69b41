import type { IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ConnectionError } from './failures.ts'

/**
 * The whole body of an answer as text, unpacked where it is gzipped (the API server does so above 128 KiB).
 * Throws when it grows beyond `maxBytes`: an answer must not be able to fill the runner's memory.
 */
export async function readBody(
  response: IncomingMessage,
  maxBytes: number,
  onBytes: () => void = () => {},
): Promise<string> {
  const zipped = response.headers['content-encoding'] === 'gzip'
  // A failure of either side destroys the other, so that reading it tells.
  const stream: AsyncIterable<Buffer> = zipped ? pipeline(response, createGunzip(), () => {}) : response
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stream) {
    onBytes()
    length += chunk.length
    if (length > maxBytes) {
      response.destroy()
      throw new ConnectionError('E2BIG', `the answer is larger than ${maxBytes >> 20} MiB`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** No object in etcd is larger than 1.5 MiB; this leaves room for what the API server adds. */
const longestLine = 16 << 20

/** The lines of a stream as they become complete; an unfinished last line is dropped. `onBytes` hears of every chunk. */
export async function* readLines(response: IncomingMessage, onBytes: () => void): AsyncGenerator<string> {
  let pending: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    onBytes()
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      pending.push(chunk.subarray(start, end))
      yield Buffer.concat(pending).toString('utf8')
      pending = []
      length = 0
      start = end + 1
    }
    pending.push(chunk.subarray(start))
    length += chunk.length - start
    if (length > longestLine) throw new ConnectionError('E2BIG', 'a line of the watch is too long')
  }
}
