import { createReadStream } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { unpack } from './unpack.ts'

/** The text of a file in pieces, unpacked by its name. All that can be read comes before the error of a damage. */
export async function* readText(path: string): AsyncGenerator<string> {
  const decoder = new StringDecoder()
  for await (const bytes of path.endsWith('.gz') ? unpack(path) : (createReadStream(path) as AsyncIterable<Buffer>)) {
    yield decoder.write(bytes)
  }
  yield decoder.end()
}

/** Its lines without their breaks; one that a damage cuts off is not among them. */
export async function* readLines(path: string): AsyncGenerator<string> {
  let rest = ''
  for await (const text of readText(path)) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}
