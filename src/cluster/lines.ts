/* Splits a stream into lines. */

interface LineLimits {
  /** At most this much of each line is kept. */
  readonly maxBytes: number
  /** Called for a longer line. May throw to end the lines. */
  readonly onExcess?: () => void
  /** Whether the text after the last line break is a line too. */
  readonly isRestLine: boolean
}

/** The lines of a stream, without their line breaks. */
export async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  { maxBytes, onExcess, isRestLine }: LineLimits,
): AsyncGenerator<string> {
  let kept: Buffer[] = []
  let keptBytes = 0
  const keep = (piece: Buffer) => {
    if (keptBytes + piece.length > maxBytes) onExcess?.()
    const start = piece.subarray(0, maxBytes - keptBytes)
    keptBytes += start.length
    // An empty part is not kept: it would hold its whole chunk in memory.
    if (start.length > 0) kept.push(start)
  }
  const takeLine = () => {
    const text = Buffer.concat(kept).toString('utf8')
    kept = []
    keptBytes = 0
    return text
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      keep(chunk.subarray(start, end))
      yield takeLine()
      start = end + 1
    }
    keep(chunk.subarray(start))
  }
  if (isRestLine && keptBytes > 0) yield takeLine()
}
