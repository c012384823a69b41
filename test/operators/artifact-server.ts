import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { run } from '../cluster/command.ts'

const archives = new Map<string, Buffer>()
let port: Promise<number> | undefined

/**
 * Serves files as an archive on the loopback address, as Flux' source-controller does, until the process ends.
 *
 * @returns the fields of `status.artifact` that describe the archive
 */
export async function publish(
  name: string,
  files: Readonly<Record<string, string>>,
): Promise<{ url: string; path: string; digest: string; size: number }> {
  port ??= listen()
  const folder = mkdtempSync(join(tmpdir(), 'rollout-gate-artifact-'))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  const path = `${name}.tar.gz`
  await run('tar', [
    '-czf',
    join(folder, path),
    '-C',
    folder,
    ...new Set(Object.keys(files).map((file) => dirname(file))),
  ])
  const archive = readFileSync(join(folder, path))
  rmSync(folder, { recursive: true })
  archives.set(`/${path}`, archive)
  const digest = `sha256:${createHash('sha256').update(archive).digest('hex')}`
  return { url: `http://127.0.0.1:${await port}/${path}`, path, digest, size: archive.length }
}

async function listen(): Promise<number> {
  const server = createServer((request, response) => {
    const archive = archives.get(request.url ?? '')
    response.writeHead(archive ? 200 : 404).end(archive)
  })
  server.listen(0, '127.0.0.1').unref()
  await new Promise((resolve) => server.once('listening', resolve))
  return (server.address() as { port: number }).port
}
