import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { make, podIs } from '../kit/objects.ts'
import type { Intercept } from '../support/api-server.ts'
import { startCommand } from '../support/command.ts'
import { folder } from '../support/fresh-folder.ts'
import { server } from '../support/fresh-server.ts'
import { programPath } from '../support/program.ts'
import { startAction } from '../support/runner.ts'

const password = 'correct-horse-battery-1'
const quoted = `cannot log in with "${password}"`

/** A pod that has failed, with an event, a status and a log that quote the password. */
function applyFailedPod(spec: object = {}): void {
  const pod = make.barePod({
    metadata: { name: 'migrate' },
    spec: { restartPolicy: 'Never', ...spec },
    status: { ...podIs.dead(1, 0, { message: quoted }), phase: 'Failed' },
  })
  server.apply(pod)
  server.apply(make.event(pod, { container: 'app', reason: 'Failed', message: quoted }))
  server.setLog({ namespace: 'shop', pod: 'migrate', container: 'app' }, `${quoted}\n`)
}

const secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'db', namespace: 'shop' },
  data: { password: Buffer.from(password).toString('base64') },
} as KubeObject

/** Answers requests to a path 20 ms later. */
function late(part: string): Intercept {
  return async ({ path }) => {
    await pause(path.includes(part) ? 20 : 0)
    return 'answer' as const
  }
}

/** Everything that the action leaves behind, by its place. */
async function shownBy(resources: string): Promise<Record<string, string>> {
  const record = join(folder, 'recording.ndjson')
  const inputs = { kubeconfig: server.kubeconfig(), namespace: 'shop', resources, record, 'stream-logs': 'pod/migrate' }
  const ended = await startAction(programPath('index.js'), folder, inputs, { env: { NO_COLOR: '1' } }).ended
  const read = (path: string | undefined) => readFileSync(path ?? '', 'utf8')
  return {
    log: ended.log,
    summary: ended.summary,
    report: read(ended.outputs['report']),
    'summary file': read(ended.outputs['summary-file']),
    recording: read(record),
    outputs: JSON.stringify(ended.outputs),
  }
}

function leaks(shown: Readonly<Record<string, string>>): string[] {
  return Object.keys(shown).filter((where) => shown[where]?.includes(password))
}

test('a password is shown nowhere if its Secret is listed 20 ms after the event that quotes it', async () => {
  applyFailedPod()
  server.apply(secret)
  server.intercept(late('/secrets'))
  const shown = await shownBy('pod/migrate secret/db')
  expect(leaks(shown)).toEqual([])
  // The evidence is there, without the password.
  for (const where of ['log', 'summary', 'report', 'recording']) expect(shown[where]).toMatch(/cannot log in with/)
})

test('a password is shown nowhere if the pod template that contains it is listed 20 ms later', async () => {
  applyFailedPod()
  const job = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'migrate', namespace: 'shop', uid: 'job' },
    spec: {
      template: { spec: { containers: [make.container({ env: [{ name: 'DB_PASSWORD', value: password }] })] } },
    },
    status: { conditions: [{ type: 'Failed', status: 'True', reason: 'DeadlineExceeded', message: quoted }] },
  } as unknown as KubeObject
  server.apply(job)
  server.intercept(late('/jobs'))
  expect(leaks(await shownBy('pod/migrate job/migrate'))).toEqual([])
})

test('a list that never answers does not hold the log', async () => {
  applyFailedPod()
  server.apply(secret)
  server.ignore(({ path }) => path.includes('/secrets'))
  const startedAt = Date.now()
  const shown = await shownBy('pod/migrate secret/db')
  expect(shown['log']).toContain('cannot log in with')
  expect(Date.now() - startedAt).toBeLessThan(60_000)
})

test.each(['status', 'changes', 'changes -o json'])(
  'the view %s does not show a password whose Secret is listed 20 ms later',
  async (view) => {
    applyFailedPod()
    server.apply(secret)
    server.intercept(late('/secrets'))
    writeFileSync(join(folder, 'kubeconfig'), server.kubeconfig())
    const argv = `${view} pod/migrate secret/db -n shop --kubeconfig ${join(folder, 'kubeconfig')}`.split(' ')
    const { stdout, ended, cancel } = startCommand(argv)
    await stdout.until('cannot log in with')
    await pause(300)
    cancel()
    await ended
    expect(stdout.text).toMatch(/cannot log in with/)
    expect(stdout.text).not.toContain(password)
  },
)
