import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { run } from '../cluster/command.ts'

/** Git repositories on the loopback address, served by `git http-backend`. */
export interface GitServer {
  /** Replaces all files of a repository by a commit on its branch `main`. Returns the repository's URL. */
  commit(repository: string, files: Readonly<Record<string, string>>): Promise<string>
}

let shared: Promise<GitServer> | undefined

/** The server of this process, which is started by the first call and ends with the process. */
export function gitServer(): Promise<GitServer> {
  shared ??= start()
  return shared
}

/** The URL of a repository whose first answer to each request for its references takes this long. */
export function slowly(url: string, seconds: number): string {
  return url.replace(/(:\d+)\//, `$1/slow-${seconds}/`)
}

async function start(): Promise<GitServer> {
  const folder = mkdtempSync(join(tmpdir(), 'rollout-gate-git-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const server = createServer((request, response) => void serve(folder, request, response))
  server.listen(0, '127.0.0.1').unref()
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  return {
    commit: async (repository, files) => {
      const place = join(folder, repository)
      rmSync(place, { recursive: true, force: true })
      for (const [path, content] of Object.entries(files)) {
        mkdirSync(dirname(join(place, path)), { recursive: true })
        writeFileSync(join(place, path), content)
      }
      const author = ['-c', 'user.name=tests', '-c', 'user.email=tests@example.com']
      await run('git', ['init', '--quiet', '--initial-branch=main'], { cwd: place })
      await run('git', ['add', '--all'], { cwd: place })
      await run('git', [...author, 'commit', '--quiet', '--message=tests'], { cwd: place })
      return `http://127.0.0.1:${port}/${repository}/.git`
    },
  }
}

async function serve(folder: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '', 'http://127.0.0.1')
  const [, seconds = '0', path = url.pathname] = /^\/slow-(\d+)(\/.*)$/.exec(url.pathname) ?? []
  if (path.endsWith('/info/refs')) await setTimeout(Number(seconds) * 1000)
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: request.method,
      PATH_INFO: path,
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  request.pipe(backend.stdin)
  const chunks: Buffer[] = []
  for await (const chunk of backend.stdout) chunks.push(chunk)
  const answer = Buffer.concat(chunks)
  const end = answer.indexOf('\r\n\r\n')
  const headers = answer.subarray(0, end).toString().split('\r\n')
  for (const header of headers) {
    const [name = '', value = ''] = header.split(': ')
    if (name === 'Status') response.statusCode = Number.parseInt(value, 10)
    else response.setHeader(name, value)
  }
  response.end(answer.subarray(end + 4))
}
