import { createReadStream } from 'node:fs'
import { createGunzip } from 'node:zlib'

/** About one packed line: so much is lost before a damage at the most. */
const pieceBytes = 256

/**
 * The bytes of a gzip file. A stream that fails drops what it holds, so it is fed piece by piece and emptied after each:
 * of a damaged file comes all that stands before the damage, then the error.
 */
export async function* unpack(path: string): AsyncGenerator<Buffer> {
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
