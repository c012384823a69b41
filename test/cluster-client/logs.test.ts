import { readLog } from '../../src/cluster/logs.ts'
import { ref, startWithPod } from './pod.ts'

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

const request = { ...ref, previous: false, tailLines: 25 }

const start = () => startWithPod(endings)

test('the last lines of a container', async () => {
  const { server, client } = await start()
  server.setLog(ref, Array.from({ length: 100 }, (_, line) => `line ${line}\n`).join(''))
  const { text } = await readLog(client, { ...request, tailLines: 2 })
  expect(text).toBe('line 98\nline 99\n')
})

test('of endless lines the end is kept', async () => {
  const { server, client } = await start()
  server.setLog(ref, `${'ä'.repeat(100_000)}\nthe cause\n`)
  expect(await readLog(client, request)).toEqual({ text: 'the cause\n' })
  server.setLog(ref, `${'ä'.repeat(100_000)} the cause`)
  const { text = '' } = await readLog(client, request)
  expect(text.endsWith('ä the cause')).toBe(true)
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(65_536)
  expect(text).not.toContain('\uFFFD')
})

const gone = 'the node no longer has it'

test.each([
  ['unable to retrieve container logs for containerd://0123456789abcdef', gone],
  [
    'failed to try resolving symlinks in path "/var/log/pods/a/app/0.log": lstat /var/log/pods/a/app/0.log: no such file or directory',
    'failed to try resolving symlinks in path "/var/log/pods/a/app/0.log": lstat /var/log/pods/a/app/0.log: no such file or directory',
  ],
  ['rpc error: code = NotFound desc = an error occurred when try to find container "0123"', gone],
])('the error that stands in place of a vanished log is recognised: %.30s', async (said, why) => {
  const { server, client } = await start()
  server.setLog({ ...ref, previous: true }, `${said}\n`)
  expect(await readLog(client, { ...request, previous: true })).toEqual({ text: undefined, why })
})

test('a log that merely speaks of such an error is a log', async () => {
  const { server, client } = await start()
  server.setLog(ref, 'starting\nrpc error: code = Unavailable desc = no database\n')
  expect((await readLog(client, request)).text).toContain('no database')
})

test('a container that never ran before, and a pod that is gone, have no log', async () => {
  const { client } = await start()
  expect(await readLog(client, { ...request, previous: true })).toMatchObject({
    text: undefined,
    why: expect.stringContaining('not found'),
  })
  expect(await readLog(client, { ...request, pod: 'gone' })).toMatchObject({ text: undefined })
})

test('a log that may not be read is an error', async () => {
  const { server, client } = await start()
  server.deny({ verb: 'get', resource: 'pods/log' })
  await expect(readLog(client, request)).rejects.toMatchObject({ status: 403 })
})
