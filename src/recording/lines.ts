import { createReadStream } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { createGunzip } from 'node:zlib'

/** Called with the number of a line (the first is 1) and what is wrong with it. */
export type OnInvalidLine = (line: number, why: string) => void

/** The text of a file in chunks; gunzipped if the name ends in `.gz`. Yields all readable text before an error. */
export async function* readText(path: string): AsyncGenerator<string> {
  const decoder = new StringDecoder()
  for await (const bytes of path.endsWith('.gz') ? unpack(path) : (createReadStream(path) as AsyncIterable<Buffer>)) {
    yield decoder.write(bytes)
  }
  yield decoder.end()
}

/** The lines of a file, without their line breaks. A last line that an error cuts off is omitted. */
export async function* readLines(path: string): AsyncGenerator<string> {
  let rest = ''
  for await (const text of readText(path)) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
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
  gunzip.on('end', () => proceed())
  gunzip.on('error', (error) => {
    failure ??= error
    proceed()
  })
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      for (let start = 0; start < chunk.length && failure === undefined; start += chunkBytes) {
        await new Promise<void>((resolve) => {
          proceed = resolve
          gunzip.write(chunk.subarray(start, start + chunkBytes), () => resolve())
        })
        yield* ready.splice(0)
      }
    }
    if (failure === undefined) {
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
