import type { KubeObject } from '../cluster/api.ts'
import { type ClusterState, secondsAfterStart } from '../cluster/cluster-states.ts'
import type { Fixture } from '../cluster/fixture.ts'
import type { Operator, OperatorScenario } from './operator.ts'
import { isCurrent, whileStopped } from './states.ts'

const name = 'external-secrets'
const path = 'github.com/external-secrets/external-secrets'

/** The Go file that registers plug-ins: only these, since the clients of all clouds take too long to build. */
function register(...packages: string[]): string {
  return `package register\n\nimport (\n${packages.map((each) => `\t_ "${path}/pkg/${each}"\n`).join('')})\n`
}

export const externalSecrets: Operator = {
  name,
  // Later releases consist of modules that are not published.
  module: `${path}@v0.20.4`,
  program: '.',
  files: {
    'pkg/provider/register/register.go': register('provider/fake'),
    'pkg/generator/register/register.go': register('generator/fake'),
  },
  definitions: ['config/crds/bases'],
  kinds: ['ExternalSecret', 'SecretStore'],
  args: () => ['--metrics-addr=127.0.0.1:0', '--live-addr=127.0.0.1:0', '--loglevel=info'],
  started: /Starting workers/,
}

/** A store that contains the keys `one` and `two`. */
const store: KubeObject = {
  apiVersion: 'external-secrets.io/v1',
  kind: 'SecretStore',
  metadata: { name: 'vault' },
  spec: { provider: { fake: { data: ['one', 'two'].map((key) => ({ key, value: 'tests', version: 'v1' })) } } },
}

function externalSecret(key: string): KubeObject {
  return {
    apiVersion: 'external-secrets.io/v1',
    kind: 'ExternalSecret',
    metadata: { name: 'web' },
    spec: {
      refreshInterval: '1m',
      secretStoreRef: { name: 'vault', kind: 'SecretStore' },
      target: { name: 'web' },
      data: [{ secretKey: 'password', remoteRef: { key, version: 'v1' } }],
    },
  }
}

/** The Secret is synced from this key; the version that was synced begins with the generation. */
function syncedFrom(key: string): ClusterState {
  return (informer) => {
    const { metadata, spec, status }: Partial<KubeObject> = informer.get('ExternalSecret', 'web') ?? {}
    const isSynced = String(status?.syncedResourceVersion).startsWith(`${metadata?.generation}-`)
    return spec?.data[0].remoteRef.key === key && isSynced
      ? isCurrent('ExternalSecret', 'web', 'Ready')(informer)
      : undefined
  }
}

async function synced(fixture: Fixture): Promise<void> {
  await fixture.apply(store, externalSecret('one'))
  await fixture.until('the ExternalSecret is synced', syncedFrom('one'))
}

const common = { operator: name, inputs: { resources: 'externalsecret/web' } } as const
const stalling = { ...common.inputs, 'stall-timeout': '12s' }

export const externalSecretsScenarios: readonly OperatorScenario[] = [
  {
    ...common,
    name: `${name}-healthy`,
    state: 'healthy',
    note: 'an ExternalSecret of a SecretStore',
    inputs: { resources: 'externalsecret/web\nsecretstore/vault' },
    setup: (fixture) => fixture.apply(store, externalSecret('one')),
    expect: { outcome: 'ready' },
    decidedBy: syncedFrom('one'),
    takesSeconds: 5,
  },
  {
    ...common,
    name: `${name}-key-missing`,
    state: 'failing',
    note: 'the store does not contain the key',
    inputs: stalling,
    setup: (fixture) => fixture.apply(store, externalSecret('three')),
    expect: { outcome: ['stalled', 'failed'] },
    cause: 'key: three',
    decidedBy: secondsAfterStart(0),
    takesSeconds: 20,
  },
  {
    ...common,
    name: `${name}-slow`,
    state: 'slow',
    note: 'the SecretStore is created later',
    setup: (fixture) => fixture.apply(externalSecret('one')),
    during: async (fixture) => {
      await fixture.wait(12)
      await fixture.apply(store)
    },
    expect: { outcome: 'ready' },
    decidedBy: syncedFrom('one'),
    takesSeconds: 40,
  },
  {
    ...common,
    name: `${name}-stale`,
    state: 'stale',
    note: 'the controller is stopped while another key is applied',
    ...whileStopped(name, synced, (fixture) => fixture.apply(externalSecret('two'))),
    expect: { outcome: 'ready' },
    decidedBy: syncedFrom('two'),
    takesSeconds: 26,
  },
  {
    ...common,
    name: `${name}-changed-during`,
    state: 'changed-during',
    note: 'the key is corrected',
    setup: (fixture) => fixture.apply(store, externalSecret('three')),
    during: async (fixture) => {
      await fixture.wait(6)
      await fixture.apply(externalSecret('two'))
    },
    expect: { outcome: 'ready' },
    decidedBy: syncedFrom('two'),
    takesSeconds: 12,
  },
]
