import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { type ApiServer, startApiServer } from '../support/api-server.ts'
import { rolledOut, unobserved } from './objects.ts'
import { runCli, startCli } from './process.ts'

import.meta.jest.setTimeout(30_000)

let folder: string
let server: ApiServer

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cli-'))
  server = await startApiServer()
  writeFileSync(join(folder, 'kubeconfig'), server.kubeconfig({ namespace: 'shop' }))
})

afterEach(async () => {
  await server.close()
  rmSync(folder, { recursive: true })
})

const options = () => ({ cwd: folder, env: { KUBECONFIG: join(folder, 'kubeconfig') } })

function record(line: string) {
  return startCli(['record', ...line.split(' ')], options())
}

function eventsOf(
  name: string,
): { at?: string; type?: string; kind?: string; object?: { kind: string; data?: object } }[] {
  const bytes = readFileSync(join(folder, name))
  const text = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

async function verdictOf(name: string) {
  return JSON.parse((await runCli(['replay', '--json', name], options())).stdout)
}

test('Ctrl-C ends a recording, which replays to what the gate would have said', async () => {
  server.apply(rolledOut())
  const run = record('deployment/web -o web.ndjson')
  await run.until('✓ ready')
  run.interrupt()
  expect(await run.ended).toMatchObject({
    code: 130,
    stdout: expect.stringMatching(/Recorded \d+ events to web\.ndjson\n$/),
  })
  expect(eventsOf('web.ndjson').at(-1)?.type).toBe('END')
  expect(eventsOf('web.ndjson').some(({ type }) => type === 'CANCEL')).toBe(false)
  expect(await verdictOf('web.ndjson')).toMatchObject({
    outcome: 'ready',
    targets: [{ target: 'deployment.apps/web' }],
  })
})

test('what was seen is in the file at once, whatever becomes of the process', async () => {
  server.apply(unobserved())
  const run = record('deployment/web -o web.ndjson')
  await run.until('1 target')
  await server.until(({ openWatches }) => openWatches.length >= 4)
  expect(eventsOf('web.ndjson').map(({ object }) => object?.kind)).toContain('Deployment')
  run.interrupt()
  await run.ended
})

test('a recording goes on when the gate would be over, for the time that --for says', async () => {
  server.apply(rolledOut())
  const { code } = await record('deployment/web --for=1500ms -o web.ndjson.gz').ended
  expect(code).toBe(0)
  const end = eventsOf('web.ndjson.gz').at(-1)
  const { outcome, finishedAt } = await verdictOf('web.ndjson.gz')
  expect({ outcome, last: end?.type }).toEqual({ outcome: 'ready', last: 'END' })
  expect(Date.parse(end?.at ?? '')).toBeGreaterThan(Date.parse(finishedAt))
})

test('a recording of what does not exist replays to what the gate would have said in time', async () => {
  const run = record('deployment/missing -o gone.ndjson')
  await server.until(({ openWatches }) => openWatches.length > 0)
  run.interrupt()
  await run.ended
  expect(await verdictOf('gone.ndjson')).toMatchObject({ outcome: 'failed', reason: 'not-found' })
})

test('--until-ready ends a recording with the gate, and as wait would', async () => {
  server.apply(rolledOut())
  expect(await record('deployment/web --until-ready -o web.ndjson').ended).toMatchObject({ code: 0 })
  expect(await record('deployment/missing --until-ready --for=300ms -o gone.ndjson').ended).toMatchObject({ code: 1 })
  expect(await verdictOf('gone.ndjson')).toMatchObject({ outcome: 'timed-out', reason: 'not-found' })
})

test('the values of Secrets never enter a recording', async () => {
  server.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'db', namespace: 'shop' },
    data: { password: 'aHVudGVyMg==' },
  })
  await record('secret/db --until-ready -o db.ndjson').ended
  expect(eventsOf('db.ndjson').find(({ object }) => object?.kind === 'Secret')?.object?.data).toEqual({
    password: expect.stringMatching(/^hmac:/),
  })
})

test('a file that cannot be written, or none at all, is a mistake', async () => {
  expect(await record('deployment/web').ended).toMatchObject({
    code: 2,
    stderr: '--output: Say which file to write: -o rollout.ndjson.gz\n',
  })
  writeFileSync(join(folder, 'taken'), '')
  const { code, stderr } = await record('deployment/web -o taken/web.ndjson').ended
  expect(code).toBe(2)
  expect(stderr).toMatch(/^--record: The recording taken\/web\.ndjson could not be written: EEXIST/)
})

test('the folder of the file is made', async () => {
  server.apply(rolledOut())
  const { code } = await record('deployment/web --until-ready -o a/new/folder/web.ndjson').ended
  expect(code).toBe(0)
  expect(eventsOf('a/new/folder/web.ndjson').at(-1)).toMatchObject({ type: 'END' })
})
