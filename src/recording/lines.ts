import { createReadStream } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { createGunzip } from 'node:zlib'

/** Gets the number of a line, counted from 1, and what is wrong with it. */
export type OnLine = (line: number, why: string) => void

/** The text of a file in pieces; gunzipped where the name ends in `.gz`. All that can be read comes before an error. */
export async function* readText(path: string): AsyncGenerator<string> {
  const decoder = new StringDecoder()
  for await (const bytes of path.endsWith('.gz') ? unpack(path) : (createReadStream(path) as AsyncIterable<Buffer>)) {
    yield decoder.write(bytes)
  }
  yield decoder.end()
}

/** The lines of a file without their breaks, without a last line that an error cuts off. */
export async function* readLines(path: string): AsyncGenerator<string> {
  let rest = ''
  for await (const text of readText(path)) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}

/** About one compressed line: at most this much before a damaged byte is lost. */
const pieceBytes = 256

/**
 * The bytes of a gzip file. A stream that fails drops its buffer, so the file is fed to it in small pieces: a damaged file
 * gives everything before the damage, then the error.
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
      for (let start = 0; start < chunk.length && failure === undefined; start += pieceBytes) {
        await new Promise<void>((resolve) => {
          proceed = resolve
          gunzip.write(chunk.subarray(start, start + pieceBytes), () => resolve())
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
