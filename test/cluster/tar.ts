/** A file, a symbolic link or a folder of an archive. Files have content, links a target. */
export interface TarEntry {
  path: string
  mode?: number
  content?: Buffer | string
  link?: string
}

/**
 * Writes a tar archive (POSIX ustar) of the entries in their order. Dates and owners are zero, so equal entries give
 * equal bytes and, for an image's layer, an equal digest. An entry without content and link is a folder.
 */
export function tar(entries: readonly TarEntry[]): Buffer {
  const blocks: Buffer[] = []
  for (const entry of entries) {
    const content = Buffer.from(entry.content ?? '')
    blocks.push(header(entry, content.length), content, Buffer.alloc((512 - (content.length % 512)) % 512))
  }
  return Buffer.concat([...blocks, Buffer.alloc(1024)])
}

function header(entry: TarEntry, size: number): Buffer {
  const isFile = entry.content !== undefined
  const type = isFile ? '0' : entry.link ? '2' : '5'
  if (Buffer.byteLength(entry.path) > 100) throw new Error(`too long for this writer of archives: ${entry.path}`)
  const block = Buffer.alloc(512)
  block.write(entry.path, 0)
  block.write(octal(entry.mode ?? (isFile ? 0o644 : 0o755), 8), 100)
  block.write(octal(0, 8), 108)
  block.write(octal(0, 8), 116)
  block.write(octal(size, 12), 124)
  block.write(octal(0, 12), 136)
  block.write(' '.repeat(8), 148)
  block.write(type, 156)
  block.write(entry.link ?? '', 157)
  block.write('ustar\x0000', 257)
  // The checksum is taken over the header with spaces in its own place.
  block.write(
    `${octal(
      block.reduce((sum, byte) => sum + byte, 0),
      7,
    )}\0 `,
    148,
  )
  return block
}

function octal(value: number, width: number): string {
  return value.toString(8).padStart(width - 1, '0')
}
