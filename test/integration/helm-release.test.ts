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

async function gate(inputs: Readonly<Record<string, string>> = {}) {
  const all = { kubeconfig: server.kubeconfig(), resources: 'helm/web', namespace: 'shop', ...inputs }
  const { verdict, targets } = await gateInVirtualTime(all, new EventLoopClock(Date.now(), 20))
  return { outcome: verdict.outcome, reason: verdict.reason, targets: targets.map(({ target }) => displayName(target)) }
}

test('a Helm release is gated by its live objects of built-in and custom kinds, without reading a Secret', async () => {
  for (const object of [...chart, released('v1', 'PersistentVolumeClaim', 'other', 'api')]) server.apply(object)
  const { outcome, targets } = await gate()
  expect(outcome).toBe('ready')
  expect(targets.toSorted()).toEqual(['persistentvolumeclaim/data', 'service/web', 'widget/w'])
  expect(server.requests.filter(({ url }) => url.includes('/secrets'))).toEqual([])
})

test('a kind that may not be listed, and a kind whose webhook is down, do not keep a Helm release from ready', async () => {
  for (const object of chart) server.apply(object)
  server.deny({ verb: 'list', resource: 'widgets', group: 'acme.example' })
  server.failNext(Infinity, 500, { filter: ({ path }) => path.endsWith('/ingresses') })
  const { outcome, targets } = await gate()
  expect(outcome).toBe('ready')
  expect(targets.toSorted()).toEqual(['persistentvolumeclaim/data', 'service/web'])
})

test('a Helm release without objects ends as not found', async () => {
  expect(await gate()).toEqual({ outcome: 'failed', reason: 'not-found', targets: ['helm/web'] })
})

test('a recorded Helm release replays with and without the targets in the header', async () => {
  for (const object of chart) server.apply(object)
  const record = join(folder, 'gate.ndjson')
  await gate({ record })
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
