import { stringify } from 'yaml'
import type { KubeObject } from '../cluster/api.ts'
import { type ClusterState, secondsAfterStart } from '../cluster/cluster-states.ts'
import type { Fixture } from '../cluster/fixture.ts'
import { registryAddress } from '../cluster/images.ts'
import { deployment, slowStart } from '../cluster/objects.ts'
import { gitServer, slowly } from './git-server.ts'
import type { Operator, OperatorScenario } from './operator.ts'
import { isCurrent, whileStopped } from './states.ts'

const source = 'source-controller'
const kustomize = 'kustomize-controller'

const addresses = ['--metrics-addr=127.0.0.1:0', '--health-addr=127.0.0.1:0', '--watch-all-namespaces=true']
const env = { RUNTIME_NAMESPACE: 'default' }

export const sourceController: Operator = {
  name: source,
  module: 'github.com/fluxcd/source-controller@v1.9.6',
  program: '.',
  definitions: ['config/crd/bases'],
  kinds: ['GitRepository'],
  args: ({ folder, port }) => [
    ...addresses,
    `--storage-path=${folder}`,
    `--storage-addr=127.0.0.1:${port}`,
    `--storage-adv-addr=127.0.0.1:${port}`,
  ],
  env,
  started: /Starting workers/,
}

export const kustomizeController: Operator = {
  name: kustomize,
  module: 'github.com/fluxcd/kustomize-controller@v1.9.6',
  program: '.',
  definitions: ['config/crd/bases'],
  kinds: ['Kustomization'],
  args: () => addresses,
  env,
  started: /Starting workers/,
}

function gitRepository(url: string, branch: string, spec: object = {}): KubeObject {
  return {
    apiVersion: 'source.toolkit.fluxcd.io/v1',
    kind: 'GitRepository',
    metadata: { name: 'web' },
    spec: { interval: '1m', url, ref: { branch }, ...spec },
  }
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

/** A repository of the scenario with these files. Returns its URL. */
async function repository({ namespace }: Fixture, files: Record<string, string> = folders): Promise<string> {
  return (await gitServer()).commit(namespace, files)
}

/** The GitRepository has an artifact of this branch. */
function fetched(branch: string): ClusterState {
  return (informer) =>
    informer.get('GitRepository', 'web')?.['spec'].ref.branch === branch
      ? isCurrent('GitRepository', 'web', 'Ready')(informer)
      : undefined
}

/** The folder is applied. */
function applied(path: string): ClusterState {
  return (informer) =>
    informer.get('Kustomization', 'web')?.['spec'].path === path
      ? isCurrent('Kustomization', 'web', 'Ready')(informer)
      : undefined
}

async function withSource(fixture: Fixture): Promise<void> {
  await fixture.apply(gitRepository(await repository(fixture), 'main'))
  await fixture.until('the GitRepository has an artifact', fetched('main'))
}

const git = { operator: source, inputs: { resources: 'gitrepository/web' } } as const

const gitScenarios: readonly OperatorScenario[] = [
  {
    ...git,
    name: `${source}-healthy`,
    state: 'healthy',
    note: 'a GitRepository',
    setup: async (fixture) => fixture.apply(gitRepository(await repository(fixture), 'main')),
    expect: { outcome: 'ready' },
    decidedBy: fetched('main'),
    takesSeconds: 4,
  },
  {
    ...git,
    name: `${source}-failing`,
    state: 'failing',
    note: 'the branch does not exist',
    inputs: { ...git.inputs, 'stall-timeout': '15s' },
    setup: async (fixture) => fixture.apply(gitRepository(await repository(fixture), 'none')),
    expect: { outcome: ['stalled', 'failed'] },
    cause: "couldn't find remote ref",
    decidedBy: secondsAfterStart(0),
    withinSeconds: 30,
    takesSeconds: 20,
  },
  {
    ...git,
    name: `${source}-slow`,
    state: 'slow',
    note: 'the git server answers after 14 s',
    setup: async (fixture) => fixture.apply(gitRepository(slowly(await repository(fixture), 14), 'main')),
    expect: { outcome: 'ready' },
    decidedBy: fetched('main'),
    takesSeconds: 24,
  },
  {
    ...git,
    name: `${source}-stale`,
    state: 'stale',
    note: 'the controller is stopped while a branch that does not exist is applied',
    inputs: { ...git.inputs, 'stall-timeout': '25s' },
    ...whileStopped(source, withSource, async (fixture) =>
      fixture.apply(gitRepository(await repository(fixture), 'none')),
    ),
    expect: { outcome: ['stalled', 'failed'] },
    cause: "couldn't find remote ref",
    decidedBy: secondsAfterStart(16),
    withinSeconds: 40,
    takesSeconds: 45,
  },
  {
    ...git,
    name: `${source}-suspended`,
    state: 'suspended',
    note: 'suspended from the start',
    inputs: { ...git.inputs, 'stall-timeout': '10s' },
    setup: async (fixture) => fixture.apply(gitRepository(await repository(fixture), 'main', { suspend: true })),
    expect: { outcome: 'stalled', reason: 'suspended' },
    cause: 'suspend',
    decidedBy: secondsAfterStart(10),
    takesSeconds: 16,
  },
  {
    ...git,
    name: `${source}-changed-during`,
    state: 'changed-during',
    note: 'the branch is corrected',
    setup: async (fixture) => fixture.apply(gitRepository(await repository(fixture), 'none')),
    during: async (fixture) => {
      await fixture.wait(6)
      await fixture.apply(gitRepository(await repository(fixture), 'main'))
    },
    expect: { outcome: 'ready' },
    decidedBy: fetched('main'),
    takesSeconds: 12,
  },
]

const folder = { operator: kustomize, needs: [source], inputs: { resources: 'kustomization/web' } } as const

const kustomizationScenarios: readonly OperatorScenario[] = [
  {
    ...folder,
    name: `${kustomize}-healthy`,
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
    ...folder,
    name: `${kustomize}-failing`,
    state: 'failing',
    note: 'the image of its Deployment does not exist',
    inputs: { ...folder.inputs, 'stall-timeout': '30s' },
    setup: async (fixture) => {
      await withSource(fixture)
      await fixture.apply(kustomization(fixture, './broken', { timeout: '12s' }))
    },
    expect: { outcome: ['failed', 'stalled'] },
    cause: 'health check failed',
    decidedBy: secondsAfterStart(0),
    withinSeconds: 50,
    takesSeconds: 40,
  },
  {
    ...folder,
    name: `${kustomize}-path-missing`,
    state: 'failing',
    note: 'the path does not exist',
    inputs: { ...folder.inputs, 'stall-timeout': '15s' },
    setup: async (fixture) => {
      await withSource(fixture)
      await fixture.apply(kustomization(fixture, './absent'))
    },
    expect: { outcome: ['stalled', 'failed'] },
    cause: 'absent',
    decidedBy: secondsAfterStart(0),
    withinSeconds: 30,
    takesSeconds: 20,
  },
  {
    ...folder,
    name: `${kustomize}-slow`,
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
    ...folder,
    name: `${kustomize}-stale`,
    state: 'stale',
    note: 'the controller is stopped while another path is applied',
    ...whileStopped(
      kustomize,
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
    ...folder,
    name: `${kustomize}-suspended`,
    state: 'suspended',
    note: 'suspended from the start',
    inputs: { ...folder.inputs, 'stall-timeout': '10s' },
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
    ...folder,
    name: `${kustomize}-changed-during`,
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

export const fluxScenarios: readonly OperatorScenario[] = [...gitScenarios, ...kustomizationScenarios]
