import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { runCommand, startCommand } from '../support/command.ts'
import { server } from '../support/fresh-server.ts'
import { testWithSignals } from '../support/signals.ts'
import { rolledOut, unobserved } from './objects.ts'
import { startCli } from './process.ts'
import { useWorkFolder } from './work-folder.ts'

useWorkFolder(() => server.kubeconfig({ namespace: 'shop' }))

function record(line: string) {
  return startCommand(['record', ...line.split(' ')])
}

function eventsOf(
  name: string,
): { at?: string; type?: string; kind?: string; object?: { kind: string; data?: object } }[] {
  return readFileSync(name, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

async function createVerdict(name: string) {
  return JSON.parse((await runCommand(['replay', '--json', name])).stdout)
}

testWithSignals('Ctrl-C ends the command record, and the recording replays to the verdict of a gate', async () => {
  server.apply(rolledOut())
  const run = startCli(['record', 'deployment/web', '-o', 'web.ndjson'])
  await run.until('✓ ready')
  run.interrupt()
  expect(await run.ended).toMatchObject({
    code: 130,
    stdout: expect.stringMatching(/Recorded to web\.ndjson\n$/),
  })
  expect(eventsOf('web.ndjson').at(-1)?.type).toBe('END')
  expect(eventsOf('web.ndjson').some(({ type }) => type === 'CANCEL')).toBe(false)
  expect(await createVerdict('web.ndjson')).toMatchObject({
    outcome: 'ready',
    targets: [{ target: 'deployment.apps/web' }],
  })
})

test('each event is written to the recording within a second', async () => {
  server.apply(unobserved())
  const run = record('deployment/web -o web.ndjson')
  // A watch is opened after the objects of its list have been handled.
  await server.until(({ openWatches }) => openWatches.some(({ plural }) => plural === 'deployments'))
  await pause(1_000)
  expect(eventsOf('web.ndjson').map(({ object }) => object?.kind)).toContain('Deployment')
  run.cancel()
  await run.ended
})

test('a recording of a missing object replays to the verdict that the gate would have reached', async () => {
  const run = record('deployment/missing -o gone.ndjson')
  await server.until(({ openWatches }) => openWatches.length > 0)
  run.cancel()
  await run.ended
  expect(await createVerdict('gone.ndjson')).toMatchObject({ outcome: 'failed', reason: 'not-found' })
})

test('--until-ready ends the command record with the exit code of wait', async () => {
  server.apply(rolledOut())
  expect(await record('deployment/web --until-ready -o web.ndjson.gz').ended).toMatchObject({ code: 0 })
  expect(await createVerdict('web.ndjson.gz')).toMatchObject({ outcome: 'ready' })
  expect(await record('deployment/missing --until-ready --timeout=300ms -o gone.ndjson').ended).toMatchObject({
    code: 1,
  })
  expect(await createVerdict('gone.ndjson')).toMatchObject({ outcome: 'timed-out', reason: 'not-found' })
})

test('a recording contains no values of Secrets', async () => {
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

test('a missing or unwritable recording file is rejected', async () => {
  expect(await record('deployment/web').ended).toMatchObject({
    code: 2,
    stderr: '--output: Name the file to write: -o rollout.ndjson.gz\n',
  })
  writeFileSync('taken', '')
  const { code, stderr } = await startCli(['record', 'deployment/web', '-o', 'taken/web.ndjson']).ended
  expect(code).toBe(2)
  expect(stderr).toMatch(/^--record: The recording taken\/web\.ndjson could not be written: EEXIST/)
})

test('the folder of the recording is created', async () => {
  server.apply(rolledOut())
  const { code } = await record('deployment/web --until-ready -o a/new/folder/web.ndjson').ended
  expect(code).toBe(0)
  expect(eventsOf('a/new/folder/web.ndjson').at(-1)).toMatchObject({ type: 'END' })
})
