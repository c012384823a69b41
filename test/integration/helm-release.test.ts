import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ApiResource } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { displayName } from '../../src/plan/target.ts'
import { type ApiServer, startApiServer } from '../support/api-server.ts'
import { runCommand } from '../support/command.ts'
import { EventLoopClock } from '../support/event-loop-clock.ts'
import { gateInVirtualTime } from '../support/gate-rollout.ts'
import { BUILT_IN_RESOURCES } from '../support/resources.ts'

const widgets: ApiResource = {
  group: 'acme.example',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
  status: false,
  verbs: ['get', 'list', 'watch'],
}

let folder: string
let server: ApiServer

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'helm-'))
  server = await startApiServer({ resources: [...BUILT_IN_RESOURCES, widgets] })
})

afterEach(async () => {
  await server.close()
  rmSync(folder, { recursive: true })
})

/** An object as Helm creates it, with what its kind needs to be ready at once. */
function released(apiVersion: string, kind: string, name: string, release = 'web'): KubeObject {
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace: 'shop',
      labels: { 'app.kubernetes.io/managed-by': 'Helm' },
      annotations: { 'meta.helm.sh/release-name': release, 'meta.helm.sh/release-namespace': 'shop' },
    },
    ...(kind === 'Service' && { spec: { type: 'ExternalName', externalName: 'example.com' } }),
    ...(kind === 'PersistentVolumeClaim' && { spec: {}, status: { phase: 'Bound' } }),
  }
}

const chart = [
  released('v1', 'Service', 'web'),
  released('v1', 'PersistentVolumeClaim', 'data'),
  released('acme.example/v1', 'Widget', 'w'),
]

async function gateRelease(inputs: Readonly<Record<string, string>> = {}) {
  const all = { kubeconfig: server.kubeconfig(), resources: 'helm/web', namespace: 'shop', ...inputs }
  const { outcome, reason, targets } = await gateInVirtualTime(all, new EventLoopClock(Date.now(), 20))
  return { outcome, reason, targets: targets.map(displayName) }
}

/** The Secret of a revision, as Helm writes it (`newSecretsObject`, pkg/storage/driver/secrets.go of Helm). */
function revision(number: number, status: string, name = 'web'): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: `sh.helm.release.v1.${name}.v${number}`,
      namespace: 'shop',
      labels: { modifiedAt: '1795616305', name, owner: 'helm', status, version: `${number}` },
    },
    data: { release: 'SDRzSUFBQUFBQUFDLzZ4V' },
  } as KubeObject
}

test('a Helm release is gated by its live objects of built-in and custom kinds, without the data of a Secret', async () => {
  for (const object of [...chart, released('v1', 'PersistentVolumeClaim', 'other', 'api')]) server.apply(object)
  const { outcome, targets } = await gateRelease()
  expect(outcome).toBe('ready')
  expect(targets.toSorted()).toEqual(['persistentvolumeclaim/data', 'service/web', 'widget/w'])
  const ofSecrets = server.requests.filter(({ path }) => path.endsWith('/secrets'))
  expect(ofSecrets.every(({ headers }) => headers['accept']?.includes('PartialObjectMetadata'))).toBe(true)
})

test('a kind that may not be listed, and a kind whose webhook is down, do not keep a Helm release from ready', async () => {
  for (const object of chart) server.apply(object)
  server.deny({ verb: 'list', resource: 'widgets', group: 'acme.example' })
  server.failNext(Infinity, 500, { filter: ({ path }) => path.endsWith('/ingresses') })
  const { outcome, targets } = await gateRelease()
  expect(outcome).toBe('ready')
  expect(targets.toSorted()).toEqual(['persistentvolumeclaim/data', 'service/web'])
})

test('a Helm release without objects ends as not found', async () => {
  expect(await gateRelease()).toEqual({ outcome: 'failed', reason: 'not-found', targets: ['helm/web'] })
})

test('a Helm release whose last revision is deployed has no other targets than its objects', async () => {
  for (const object of [...chart, revision(6, 'superseded'), revision(7, 'deployed')]) server.apply(object)
  const { outcome, targets } = await gateRelease()
  expect(outcome).toBe('ready')
  expect(targets).toHaveLength(chart.length)
})

test('a Helm release whose last revision has failed is not ready, although its objects are, and names the hook', async () => {
  const hook = hookJob({
    conditions: [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', message: 'no more tries' }],
  })
  for (const object of [...chart, revision(6, 'deployed'), revision(7, 'failed'), hook]) server.apply(object)
  const all = { kubeconfig: server.kubeconfig(), resources: 'helm/web', namespace: 'shop' }
  const { targets, ...verdict } = await gateInVirtualTime(all, new EventLoopClock(Date.now(), 20))
  expect(verdict).toMatchObject({ outcome: 'failed', reason: 'reported-failed' })
  expect(verdict.message).toContain(
    'helm/web.v7: Helm reports revision 7 as failed: its hook job/migrate failed: no more tries',
  )
  expect(targets.find(({ outcome }) => outcome === 'failed')?.hint).toContain('kubectl logs job/migrate -n shop')
})

/**
 * Gates a release whose revision 7 is pending.
 * @param finish called once the log reports that it is pending
 */
async function gatePending(
  finish: () => void,
  status = 'pending-upgrade',
  inputs: Readonly<Record<string, string>> = {},
) {
  server.apply(revision(7, status))
  const record = join(folder, 'gate.ndjson')
  const entries: string[] = []
  const heads: number[] = []
  const { targets, startedAt, finishedAt, ...verdict } = await gateInVirtualTime(
    { kubeconfig: server.kubeconfig(), resources: 'helm/web', namespace: 'shop', record, ...inputs },
    new EventLoopClock(Date.now(), 20),
    {
      onStart: (present) => heads.push(present().targets.length),
      onEntry: ({ text }) => {
        if (!entries.some((each) => each.includes('pending'))) if (text.includes('pending')) finish()
        entries.push(text)
      },
    },
  )
  const { stdout } = await runCommand(['replay', record, '--json'])
  const names = targets.map(displayName)
  const minutes = Math.round((finishedAt - startedAt) / 60_000)
  return { verdict, targets, names, entries, heads, minutes, replayed: JSON.parse(stdout) }
}

const hookJob = (status: object = {}): KubeObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'migrate', namespace: 'shop', annotations: { 'helm.sh/hook': 'pre-upgrade' } },
  spec: { selector: { matchLabels: { job: 'migrate' } } },
  status,
})

test('a gate that begins while an upgrade is pending finds the objects of the release once Helm has deployed it', async () => {
  server.apply(released('v1', 'Service', 'web'))
  const { verdict, names, entries, heads, replayed } = await gatePending(() => {
    for (const object of [...chart, revision(7, 'deployed')]) server.apply(object)
  })
  expect(verdict.outcome).toBe('ready')
  expect(names.toSorted()).toEqual(['persistentvolumeclaim/data', 'service/web', 'widget/w'])
  expect(entries.join('\n')).toMatch(/^revision 7 is pending-upgrade since \d\d:\d\d UTC$/m)
  expect(heads).toEqual([1, 3])
  expect(replayed).toMatchObject({ outcome: 'ready' })
})

describe('with await-change', () => {
  const inputs = { 'await-change': '1m' }

  test.each([
    ['deployed', 'ready', 'ready'],
    ['failed', 'failed', 'failed'],
  ])(
    'a pending revision is the change, also of objects that it has written before the gate: %s',
    async (status, outcome, replayed) => {
      for (const object of chart) server.apply(object)
      const run = await gatePending(() => server.apply(revision(7, status)), 'pending-upgrade', inputs)
      expect(run.verdict.outcome).toBe(outcome)
      expect(run.heads).toEqual([1, status === 'failed' ? chart.length + 1 : chart.length])
      expect(run.replayed).toMatchObject({ outcome: replayed })
    },
  )

  test('the other targets of a gate with a pending revision still wait for their change', async () => {
    for (const object of [...chart, released('v1', 'Service', 'other', 'api')]) server.apply(object)
    const { verdict } = await gatePending(() => server.apply(revision(7, 'deployed')), 'pending-upgrade', {
      ...inputs,
      resources: 'helm/web\nservice/other',
    })
    expect(verdict).toMatchObject({ outcome: 'stalled', reason: 'change-not-seen' })
    expect(verdict.message).toContain('service/other')
  })

  test('a revision that is over when the gate begins is no change', async () => {
    for (const object of [...chart, revision(7, 'failed')]) server.apply(object)
    expect(await gateRelease(inputs)).toMatchObject({ outcome: 'stalled', reason: 'change-not-seen' })
  })
})

test('the first install of a Helm release is awaited while it is pending', async () => {
  const { verdict, names } = await gatePending(() => {
    for (const object of [...chart, revision(7, 'deployed')]) server.apply(object)
  }, 'pending-install')
  expect(verdict.outcome).toBe('ready')
  expect(names).toHaveLength(chart.length)
})

test('an upgrade of a Helm release that fails is reported with the objects that it has applied', async () => {
  for (const object of chart) server.apply(object)
  const { verdict, names, replayed } = await gatePending(() => server.apply(revision(7, 'failed')))
  expect(verdict).toMatchObject({ outcome: 'failed', reason: 'reported-failed' })
  expect(names.toSorted()).toEqual(['helm/web.v7', 'persistentvolumeclaim/data', 'service/web', 'widget/w'])
  expect(replayed).toMatchObject({ outcome: 'failed', reason: 'reported-failed' })
})

test.each([
  ['pending-rollback', 'Helm restores an earlier version as revision 8.'],
  ['deployed', 'Revision 8 is what Helm has deployed now.'],
])(
  'an upgrade that fails is reported as failed, with what runs now, if the next revision is %s',
  async (status, hint) => {
    for (const object of chart) server.apply(object)
    const { verdict, targets, names, replayed } = await gatePending(() => {
      for (const object of [revision(7, 'failed'), revision(8, status)]) server.apply(object)
    })
    expect(verdict).toMatchObject({ outcome: 'failed', reason: 'reported-failed' })
    expect(verdict.message).toContain(`helm/web.v7: Helm reports revision 7 as failed; revision 8 is ${status}`)
    expect(targets.find(({ name }) => name === 'web.v7')?.hint).toContain(hint)
    expect(names.toSorted()).toEqual(['helm/web.v7', 'persistentvolumeclaim/data', 'service/web', 'widget/w'])
    expect(replayed).toMatchObject({ outcome: 'failed', reason: 'reported-failed' })
  },
)

test('a first install that fails and is uninstalled again is reported as failed', async () => {
  const { verdict, names } = await gatePending(() => {
    server.apply(revision(7, 'failed'))
    server.remove({ apiVersion: 'v1', kind: 'Secret', namespace: 'shop', name: 'sh.helm.release.v1.web.v7' })
  }, 'pending-install')
  expect(verdict).toMatchObject({ outcome: 'failed' })
  expect(names).toEqual(['helm/web.v7'])
})

test.each([
  ['that Helm has replaced', () => [revision(7, 'superseded')], 'superseded'],
  ['that a rollback follows', () => [revision(8, 'pending-rollback')], 'rolled-back'],
  ['that another upgrade follows', () => [revision(8, 'pending-upgrade')], 'superseded'],
  [
    'that another upgrade follows at once',
    () => [revision(7, 'deployed'), revision(8, 'pending-upgrade')],
    'superseded',
  ],
])('a pending revision of a Helm release %s ends the gate', async (_, next, reason) => {
  for (const object of chart) server.apply(object)
  const { verdict, names, replayed } = await gatePending(() => {
    for (const object of next()) server.apply(object)
  })
  expect(verdict).toMatchObject({ outcome: 'superseded', reason })
  expect(names).toContain('helm/web.v7')
  expect(replayed).toMatchObject({ outcome: 'superseded', reason })
})

test('a pending revision of a Helm release that is deleted fails, although an earlier version is ready', async () => {
  for (const object of [...chart, revision(6, 'deployed')]) server.apply(object)
  const { verdict } = await gatePending(() =>
    server.remove({ apiVersion: 'v1', kind: 'Secret', namespace: 'shop', name: 'sh.helm.release.v1.web.v7' }),
  )
  expect(verdict).toMatchObject({ outcome: 'failed', reason: 'deleted' })
})

test('a revision that a killed Helm left pending stalls, and the hint has the rollback', async () => {
  for (const object of chart) server.apply(object)
  const { verdict, targets, minutes, replayed } = await gatePending(() => {})
  expect(verdict).toMatchObject({ outcome: 'stalled', reason: 'condition-false' })
  expect(verdict.message).toContain('revision 7 is pending-upgrade since')
  expect(targets[0]?.hint).toContain('`helm rollback web -n shop`')
  expect(minutes).toBe(5)
  expect(replayed).toMatchObject({ outcome: 'stalled', reason: 'condition-false' })
})

test('the stall clock of a pending revision stands still while the Job of a hook runs', async () => {
  for (const object of [...chart, hookJob()]) server.apply(object)
  const { verdict, minutes } = await gatePending(() => {})
  expect(verdict.outcome).toBe('timed-out')
  expect(minutes).toBe(10)
})

test('why of a Helm release shows the objects of the release and its pending revision', async () => {
  for (const object of [...chart, revision(7, 'pending-upgrade')]) server.apply(object)
  const { stdout } = await runCommand([
    'why',
    'helm/web',
    '-n',
    'shop',
    '--json',
    `--kubeconfig=${server.kubeconfig()}`,
  ])
  const { targets } = JSON.parse(stdout)
  expect(targets.map((each: { target: string }) => each.target)).toContain('helm/web.v7')
  expect(targets).toHaveLength(chart.length + 1)
})

test('without permission to list Secrets, a Helm release consists only of its objects', async () => {
  for (const object of [...chart, revision(7, 'failed')]) server.apply(object)
  server.deny({ verb: 'list', resource: 'secrets' })
  expect(await gateRelease()).toMatchObject({ outcome: 'ready' })
})

test('a recorded Helm release replays with and without the targets in the header', async () => {
  for (const object of chart) server.apply(object)
  const record = join(folder, 'gate.ndjson')
  await gateRelease({ record })
  const [header = '', ...events] = readFileSync(record, 'utf8').split('\n')
  const { targets: _, ...rest } = JSON.parse(header)
  const without = join(folder, 'without-targets.ndjson')
  writeFileSync(without, [JSON.stringify(rest), ...events].join('\n'))
  for (const path of [record, without]) {
    const { stdout } = await runCommand(['replay', path, '--json'])
    const { outcome, targets } = JSON.parse(stdout)
    expect(outcome).toBe('ready')
    expect(targets.map((each: { target: string }) => each.target).toSorted()).toEqual([
      'persistentvolumeclaim/data',
      'service/web',
      'widget.acme.example/w',
    ])
  }
})
