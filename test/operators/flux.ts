import { stringify } from 'yaml'
import type { KubeObject } from '../cluster/api.ts'
import { type ClusterState, secondsAfterStart } from '../cluster/cluster-states.ts'
import type { Fixture } from '../cluster/fixture.ts'
import { registryAddress } from '../cluster/images.ts'
import { deployment, slowStart } from '../cluster/objects.ts'
import { publish } from './artifact-server.ts'
import type { Operator, OperatorScenario } from './operator.ts'
import { isCurrent, whileStopped } from './states.ts'

const name = 'kustomize-controller'

export const kustomizeController: Operator = {
  name,
  module: 'github.com/fluxcd/kustomize-controller@v1.7.3',
  program: '.',
  definitions: ['config/crd/bases', 'github.com/fluxcd/source-controller@v1.9.6/config/crd/bases'],
  kinds: ['Kustomization', 'GitRepository'],
  args: () => ['--metrics-addr=127.0.0.1:0', '--health-addr=127.0.0.1:0', '--watch-all-namespaces=true'],
  env: { RUNTIME_NAMESPACE: 'default' },
  started: /Starting workers/,
}

/** A Kustomization of a folder of the repository; `spec` overrides fields. */
function kustomization({ namespace }: Fixture, path: string, spec: object = {}): KubeObject {
  return {
    apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
    kind: 'Kustomization',
    metadata: { name: 'web' },
    spec: {
      interval: '1m',
      retryInterval: '20s',
      prune: true,
      wait: true,
      timeout: '40s',
      targetNamespace: namespace,
      sourceRef: { kind: 'GitRepository', name: 'web' },
      path,
      ...spec,
    },
  }
}

const folders = {
  'one/web.yaml': stringify(deployment('web')),
  'two/web.yaml': stringify(deployment('web', { image: 'v2' })),
  'slow/web.yaml': stringify(deployment('web', { script: slowStart(14) })),
  'broken/web.yaml': stringify(deployment('web', { image: `${registryAddress}/missing:v1` })),
}

/** The folder is applied. */
function applied(path: string): ClusterState {
  return (informer) =>
    informer.get('Kustomization', 'web')?.['spec'].path === path
      ? isCurrent('Kustomization', 'web', 'Ready')(informer)
      : undefined
}

/** A GitRepository whose artifact is these folders; its controller is not started, so its status is written here. */
async function withSource(fixture: Fixture): Promise<void> {
  const source = { apiVersion: 'source.toolkit.fluxcd.io/v1', kind: 'GitRepository', metadata: { name: 'web' } }
  await fixture.apply({ ...source, spec: { interval: '1m', url: 'http://127.0.0.1/web', ref: { branch: 'main' } } })
  const artifact = await publish(fixture.namespace, folders)
  const now = new Date().toISOString().replace(/\.\d+/, '')
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'Succeeded',
    message: 'stored artifact',
    lastTransitionTime: now,
  }
  const status = {
    observedGeneration: 1,
    conditions: [{ ...ready, observedGeneration: 1 }],
    artifact: { ...artifact, revision: `main@sha1:${'0'.repeat(40)}`, lastUpdateTime: now },
  }
  await fixture.api.patch(`${fixture.path('GitRepository', 'web')}/status`, { status })
}

const common = { operator: name, inputs: { resources: 'kustomization/web' } } as const

export const fluxScenarios: readonly OperatorScenario[] = [
  {
    ...common,
    name: `${name}-healthy`,
    state: 'healthy',
    note: 'a Kustomization that waits for its Deployment',
    setup: async (fixture) => {
      await withSource(fixture)
      await fixture.apply(kustomization(fixture, './one'))
    },
    expect: { outcome: 'ready' },
    decidedBy: applied('./one'),
    takesSeconds: 8,
  },
  {
    ...common,
    name: `${name}-failing`,
    state: 'failing',
    note: 'the image of its Deployment does not exist',
    inputs: { ...common.inputs, 'stall-timeout': '30s' },
    setup: async (fixture) => {
      await withSource(fixture)
      await fixture.apply(kustomization(fixture, './broken', { timeout: '12s' }))
    },
    expect: { outcome: ['failed', 'stalled'] },
    cause: 'health check failed',
    decidedBy: secondsAfterStart(0),
    takesSeconds: 40,
  },
  {
    ...common,
    name: `${name}-path-missing`,
    state: 'failing',
    note: 'the path does not exist',
    inputs: { ...common.inputs, 'stall-timeout': '15s' },
    setup: async (fixture) => {
      await withSource(fixture)
      await fixture.apply(kustomization(fixture, './absent'))
    },
    expect: { outcome: ['stalled', 'failed'] },
    cause: 'absent',
    decidedBy: secondsAfterStart(0),
    takesSeconds: 20,
  },
  {
    ...common,
    name: `${name}-slow`,
    state: 'slow',
    note: 'its Deployment starts after 14 s',
    setup: async (fixture) => {
      await withSource(fixture)
      await fixture.apply(kustomization(fixture, './slow'))
    },
    expect: { outcome: 'ready' },
    decidedBy: applied('./slow'),
    takesSeconds: 26,
  },
  {
    ...common,
    name: `${name}-stale`,
    state: 'stale',
    note: 'the controller is stopped while another path is applied',
    ...whileStopped(
      name,
      async (fixture) => {
        await withSource(fixture)
        await fixture.apply(kustomization(fixture, './one'))
        await fixture.until('the Kustomization is applied', applied('./one'))
      },
      (fixture) => fixture.apply(kustomization(fixture, './two')),
    ),
    expect: { outcome: 'ready' },
    decidedBy: applied('./two'),
    takesSeconds: 28,
  },
  {
    ...common,
    name: `${name}-suspended`,
    state: 'suspended',
    note: 'suspended from the start',
    inputs: { ...common.inputs, 'stall-timeout': '10s' },
    setup: async (fixture) => {
      await withSource(fixture)
      await fixture.apply(kustomization(fixture, './one', { suspend: true }))
    },
    expect: { outcome: 'stalled', reason: 'suspended' },
    cause: 'suspend',
    decidedBy: secondsAfterStart(10),
    takesSeconds: 18,
  },
  {
    ...common,
    name: `${name}-changed-during`,
    state: 'changed-during',
    note: 'the path is corrected',
    setup: async (fixture) => {
      await withSource(fixture)
      await fixture.apply(kustomization(fixture, './absent'))
    },
    during: async (fixture) => {
      await fixture.wait(6)
      await fixture.apply(kustomization(fixture, './one'))
    },
    expect: { outcome: 'ready' },
    decidedBy: applied('./one'),
    takesSeconds: 16,
  },
]
