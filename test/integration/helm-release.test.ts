import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { displayName } from '../../src/plan/target.ts'
import { patterns, readData, requireOptions } from '../kit/rows.ts'
import { runCommand } from '../support/command.ts'
import { EventLoopClock } from '../support/event-loop-clock.ts'
import { folder } from '../support/fresh-folder.ts'
import { server } from '../support/fresh-server.ts'
import { gateInVirtualTime } from '../support/gate-rollout.ts'
import { guessResource } from '../support/resources.ts'

beforeEach(() => server.discovery.serve({ ...guessResource('acme.example/v1', 'Widget'), status: false }))

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

/** The Secret of a revision, as Helm writes it (`newSecretsObject`, pkg/storage/driver/secrets.go of Helm). */
function revision(number: string, status: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: `sh.helm.release.v1.web.v${number}`,
      namespace: 'shop',
      labels: { modifiedAt: '1795616305', name: 'web', owner: 'helm', status, version: number },
    },
    data: { release: 'SDRzSUFBQUFBQUFDLzZ4V' },
  } as KubeObject
}

const hookJob = (status: object = {}): KubeObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'migrate', namespace: 'shop', annotations: { 'helm.sh/hook': 'pre-upgrade' } },
  spec: { selector: { matchLabels: { job: 'migrate' } } },
  status,
})

const exhausted = { type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', message: 'no more tries' }

/** The objects that a file of cases names. */
const objects: Readonly<Record<string, readonly KubeObject[]>> = {
  chart: [
    released('v1', 'Service', 'web'),
    released('v1', 'PersistentVolumeClaim', 'data'),
    released('acme.example/v1', 'Widget', 'w'),
  ],
  'service web': [released('v1', 'Service', 'web')],
  'service other of api': [released('v1', 'Service', 'other', 'api')],
  'claim other of api': [released('v1', 'PersistentVolumeClaim', 'other', 'api')],
  'running hook': [hookJob()],
  'failed hook': [hookJob({ conditions: [exhausted] })],
}

/** Does what the words say: objects, revisions and their deletions. */
function apply(words: readonly string[]): void {
  for (const each of words) {
    const [, number = '', status = ''] = /^(\d+) (\S+)$/.exec(each) ?? []
    const name = `sh.helm.release.v1.web.v${each.slice(1)}`
    if (number !== '') server.apply(revision(number, status))
    else if (each.startsWith('-')) server.remove({ apiVersion: 'v1', kind: 'Secret', namespace: 'shop', name })
    else if (objects[each] === undefined) throw new Error(`there is no object "${each}"`)
    else for (const object of objects[each]) server.apply(object)
  }
}

/** @param finish called once the log reports that a revision is pending */
async function gateRelease(inputs: Readonly<Record<string, string>> = {}, finish = () => {}) {
  const record = join(folder, 'gate.ndjson')
  const entries: string[] = []
  const heads: number[] = []
  const { targets, startedAt, finishedAt, ...verdict } = await gateInVirtualTime(
    { kubeconfig: server.kubeconfig(), resources: 'helm/web', namespace: 'shop', record, ...inputs },
    new EventLoopClock(Date.now(), 20),
    {
      onStart: (present) => heads.push(present().targets.length),
      onEntry: ({ text }) => {
        if (text.includes('pending') && !entries.some((each) => each.includes('pending'))) finish()
        entries.push(text)
      },
    },
  )
  return {
    ...verdict,
    names: targets.map(displayName).toSorted(),
    hints: Object.fromEntries(targets.map(({ name, hint }) => [name, hint])),
    minutes: Math.round((finishedAt - startedAt) / 60_000),
    log: entries.join('\n'),
    heads,
    replayed: await replayed(record),
  }
}

async function replayed(record: string) {
  return JSON.parse((await runCommand(['replay', record, '--json'])).stdout)
}

interface Case {
  readonly before?: readonly string[]
  readonly pending?: 'install' | 'upgrade'
  readonly then?: readonly string[]
  readonly inputs?: Readonly<Record<string, string>>
  /** What may not be listed. */
  readonly denied?: string
  readonly ends: { readonly among?: string }
}

const data = import.meta.filename.replace('.test.ts', '.yaml')

test.each(Object.entries(readData(data) as Record<string, Case>))('%s', async (title, given) => {
  requireOptions(given, ['before', 'pending', 'then', 'inputs', 'denied', 'ends'], [data, title])
  const { before = [], pending, then = [], inputs, denied } = given
  const { among, ...ends } = given.ends
  apply([...before, ...(pending === undefined ? [] : [`7 pending-${pending}`])])
  if (denied !== undefined) server.deny({ verb: 'list', resource: denied })
  const ended = await gateRelease(inputs, () => apply(then))
  expect(ended).toMatchObject(patterns(ends))
  if (among !== undefined) expect(ended.names).toContain(among)
})

test('a Helm release is gated by its live objects of built-in and custom kinds, without the data of a Secret', async () => {
  apply(['chart', 'claim other of api'])
  const { outcome, names } = await gateRelease()
  expect(outcome).toBe('ready')
  expect(names).toEqual(['persistentvolumeclaim/data', 'service/web', 'widget/w'])
  const ofSecrets = server.requests.filter(({ path }) => path.endsWith('/secrets'))
  expect(ofSecrets.every(({ headers }) => headers['accept']?.includes('PartialObjectMetadata'))).toBe(true)
})

test('a kind that may not be listed, and a kind whose webhook is down, do not keep a Helm release from ready', async () => {
  apply(['chart'])
  server.deny({ verb: 'list', resource: 'widgets', group: 'acme.example' })
  server.failNext(Infinity, 500, { filter: ({ path }) => path.endsWith('/ingresses') })
  const { outcome, names } = await gateRelease()
  expect(outcome).toBe('ready')
  expect(names).toEqual(['persistentvolumeclaim/data', 'service/web'])
})

test('the command why for a Helm release shows its objects and its pending revision', async () => {
  apply(['chart', '7 pending-upgrade'])
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
  expect(targets).toHaveLength(4)
})

test('a recorded Helm release replays with and without the targets in the header', async () => {
  apply(['chart'])
  await gateRelease()
  const record = join(folder, 'gate.ndjson')
  const [header = '', ...events] = readFileSync(record, 'utf8').split('\n')
  const { targets: _, ...rest } = JSON.parse(header)
  const without = join(folder, 'without-targets.ndjson')
  writeFileSync(without, [JSON.stringify(rest), ...events].join('\n'))
  for (const path of [record, without]) {
    const { outcome, targets } = await replayed(path)
    expect(outcome).toBe('ready')
    expect(targets.map((each: { target: string }) => each.target).toSorted()).toEqual([
      'persistentvolumeclaim/data',
      'service/web',
      'widget.acme.example/w',
    ])
  }
})
