import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pullRequestEnvironment } from '../github/action-contexts.ts'
import { startGitHub } from '../github/github-server.ts'
import { type ApiServer, startApiServer } from '../support/api-server.ts'
import { playAll } from '../support/play-recording.ts'
import { programPath } from '../support/program.ts'
import { type ActionRun, startAction } from '../support/runner.ts'

/**
 * The action as a process that Node confines: it may read its own folder and the job's, write the job's, and start no
 * program (https://nodejs.org/api/permissions.html). A module that is loaded first writes down each connection.
 */
let folder: string
let server: ApiServer

beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'confined-')))
  server = await startApiServer({ tls: true })
})

afterEach(async () => {
  await server.close()
  rmSync(folder, { recursive: true })
})

const recorder = `
import { appendFileSync } from 'node:fs'
import net from 'node:net'
const connect = net.Socket.prototype.connect
net.Socket.prototype.connect = function (...args) {
  const [options] = Array.isArray(args[0]) ? args[0] : args
  appendFileSync(process.env.CONNECTIONS, (options.host ?? options.path ?? options) + ':' + (options.port ?? '') + '\\n')
  return connect.apply(this, args)
}
`

interface Confined extends ActionRun {
  /** The addresses to which it opened connections, without duplicates. */
  readonly connections: readonly string[]
}

async function runConfined(
  name: string,
  inputs: Record<string, string> = {},
  env: NodeJS.ProcessEnv = {},
): Promise<Confined> {
  const namespace = await playAll(server, name)
  const program = realpathSync(programPath('index.js'))
  const [preload, connections] = [join(folder, 'recorder.mjs'), join(folder, 'connections.txt')]
  writeFileSync(preload, recorder)
  writeFileSync(connections, '')
  const permissions = [
    `--permission --allow-fs-read=${dirname(program)} --allow-fs-read=${folder} --allow-fs-write=${folder}`,
    // Node searches the module type of a file in the folders above it.
    `--allow-fs-read=${join(import.meta.dirname, '../../package.json')}`,
  ]
  const all = { kubeconfig: server.kubeconfig(), resources: 'deployment/web', namespace, ...inputs }
  const ended = await startAction(program, folder, all, {
    env: { ...env, CONNECTIONS: connections, NODE_OPTIONS: `${permissions.join(' ')} --import=${preload}` },
  }).ended
  return { ...ended, connections: [...new Set(readFileSync(connections, 'utf8').split('\n').filter(Boolean))] }
}

const addressOf = (url: string) => `${new URL(url).hostname}:${new URL(url).port}`

test('the action reads only its own files and those of the job, and connects only to the API server', async () => {
  const record = join(folder, 'recording.ndjson.gz')
  const ended = await runConfined('already-finished', { record })
  expect(ended).toMatchObject({ exitCode: 0, outputs: { outcome: 'ready' } })
  expect(ended.connections).toEqual([addressOf(server.url)])
})

test('the action explains a failure without further files or connections', async () => {
  const ended = await runConfined('image-name-invalid')
  expect(ended).toMatchObject({ exitCode: 1, outputs: { outcome: 'failed', reason: 'image-name-invalid' } })
  expect(ended.connections).toEqual([addressOf(server.url)])
})

test('with an extra, the action also connects to the GitHub server of the job', async () => {
  const github = await startGitHub()
  try {
    const inputs = { 'github-token': 'ghs_sesame0123456789', 'report-to': 'commit-status' }
    const ended = await runConfined('already-finished', inputs, pullRequestEnvironment(folder, github.url))
    expect(ended).toMatchObject({ exitCode: 0, outputs: { outcome: 'ready' } })
    expect(ended.connections.toSorted()).toEqual([addressOf(server.url), addressOf(github.url)].toSorted())
  } finally {
    await github.close()
  }
})
