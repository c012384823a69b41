import { createReadStream } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { createGunzip } from 'node:zlib'
import { mapArray, mapObject } from '../cluster/compact.ts'

/** Called with the number of a line (the first is 1) and what is wrong with it. */
export type OnInvalidLine = (line: number, why: string) => void

/** The text of a file in chunks; gunzipped if the name ends in `.gz`. Yields all readable text before an error. */
async function* readText(path: string): AsyncGenerator<string> {
  const decoder = new StringDecoder()
  for await (const bytes of path.endsWith('.gz') ? unpack(path) : (createReadStream(path) as AsyncIterable<Buffer>)) {
    yield decoder.write(bytes)
  }
  yield decoder.end()
}

/** An object has at most 1.5 MiB in etcd. A short compressed file may contain an endless line. */
const maxLineLength = 16 << 20

/** Far more than a gate of a week on a large cluster writes: a short compressed file may contain endless lines. */
const maxLines = 1_000_000
const maxLength = 1 << 30

/**
 * The lines of a file, without their line breaks. A last line that an error cuts off is omitted.
 * @throws Error after the lines before one that is longer than 16 Mi characters, and beyond 1,000,000 lines or 1 Gi characters
 */
export async function* readLines(path: string): AsyncGenerator<string> {
  let parts: string[] = []
  let length = 0
  let allLines = 0
  let allLength = 0
  for await (const text of readText(path)) {
    const [end = '', ...others] = text.split('\n')
    allLines += others.length
    allLength += text.length
    if (allLines > maxLines) throw new Error(`the file has more than ${maxLines.toLocaleString('en')} lines`)
    if (allLength > maxLength) throw new Error(`the file is longer than ${maxLength >> 30} GiB`)
    parts.push(end)
    length += end.length
    if (length > maxLineLength) throw new Error(`the line is longer than ${maxLineLength >> 20} MiB`)
    const rest = others.pop()
    if (rest === undefined) continue
    yield parts.join('')
    yield* others
    parts = [rest]
    length = rest.length
  }
  const last = parts.join('')
  if (last !== '') yield last
}

/** Above the limits of a redacted object, so that a recording is replayed as it was written. */
const maxTextLength = 16_384
const maxDepth = 1_000

/**
 * An object of a file, which may contain anything: without what is beyond the first 16,384 characters of a text, or nested
 * deeper than 1,000 levels.
 */
export function limitObject(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.slice(0, maxTextLength)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= maxDepth) return '…'
  const limit = (item: unknown) => limitObject(item, depth + 1)
  return Array.isArray(value) ? mapArray(value, limit) : mapObject(value as Record<string, unknown>, limit)
}

/** The file is decompressed in chunks of this size, about one line. A damaged byte loses no more than its chunk. */
const chunkBytes = 256

/**
 * The decompressed bytes of a gzip file. When the gunzip stream fails, it loses the bytes that it has not returned yet.
 * The file is therefore written to it in small chunks: everything before the damage is yielded, then the error.
 */
async function* unpack(path: string): AsyncGenerator<Buffer> {
  const gunzip = createGunzip()
  const ready: Buffer[] = []
  let failure: Error | undefined
  let proceed = () => {}
  gunzip.on('data', (bytes: Buffer) => ready.push(bytes))
  // Bytes after the end of the data are ignored; gunzip would never report that they were written.
  let hasEnded = false
  gunzip.on('end', () => {
    hasEnded = true
    proceed()
  })
  gunzip.on('error', (error) => {
    failure ??= error
    proceed()
  })
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      for (let start = 0; start < chunk.length && failure === undefined && !hasEnded; start += chunkBytes) {
        await new Promise<void>((resolve) => {
          proceed = resolve
          gunzip.write(chunk.subarray(start, start + chunkBytes), () => resolve())
        })
        yield* ready.splice(0)
      }
    }
    if (failure === undefined && !hasEnded) {
      await new Promise<void>((resolve) => {
        proceed = resolve
        gunzip.end()
      })
      yield* ready.splice(0)
    }
    if (failure !== undefined) throw failure
  } finally {
    gunzip.destroy()
  }
}
