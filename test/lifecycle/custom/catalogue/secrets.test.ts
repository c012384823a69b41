import {
  externalSecrets,
  externalSecretsGenerators,
  sealedSecrets,
} from '../../../../src/lifecycle/custom/catalogue/secrets.ts'
import { type EntryCase, testEntries } from './cases.ts'

const apiVersion = 'external-secrets.io/v1'
const metadata = { generation: 2 }
const synced = { type: 'Ready', status: 'True', reason: 'SecretSynced', message: 'secret synced' }
const refused = {
  type: 'Ready',
  status: 'False',
  reason: 'SecretSyncedError',
  message: 'could not get secret data from provider',
}

const externalSecret = (syncedResourceVersion: string | undefined, condition: object, spec: object = {}) => ({
  apiVersion,
  kind: 'ExternalSecret',
  metadata,
  spec: { refreshInterval: '1h0m0s', secretStoreRef: { name: 'vault', kind: 'SecretStore' }, ...spec },
  status: { syncedResourceVersion, refreshTime: '2026-01-01T00:00:00Z', conditions: [condition] },
})
const ready = (kind: string, status: object) => ({ apiVersion, kind, metadata, spec: {}, status })

testEntries(externalSecrets, [
  ['a synced ExternalSecret is ready', externalSecret('2-6c2b1d', synced), { verdict: 'ready' }],
  [
    'an ExternalSecret progresses while the provider has no such entry, which may be created',
    externalSecret(undefined, refused),
    { verdict: 'progressing', mentions: 'could not get secret data from provider' },
  ],
  [
    'an ExternalSecret whose older spec was synced progresses',
    externalSecret('1-6c2b1d', synced),
    { verdict: 'progressing' },
  ],
  [
    'generation 2 is not that of version 21',
    externalSecret('21-6c2b1d', synced, { refreshPolicy: 'OnChange' }),
    { verdict: 'progressing' },
  ],
  [
    'an ExternalSecret that is synced once keeps the version of its first spec',
    externalSecret('1-6c2b1d', synced, { refreshPolicy: 'CreatedOnce' }),
    { verdict: 'ready' },
  ],
  [
    'an ExternalSecret without a refresh interval keeps the version of its first spec',
    externalSecret('1-6c2b1d', synced, { refreshInterval: '0' }),
    { verdict: 'ready' },
  ],
  [
    'an ExternalSecret that syncs on change is synced anew without a refresh interval',
    externalSecret('1-6c2b1d', synced, { refreshPolicy: 'OnChange', refreshInterval: '0' }),
    { verdict: 'progressing' },
  ],
  [
    'an ExternalSecret whose Secret was deleted with the data of the provider is not ready',
    externalSecret('2-6c2b1d', { ...synced, reason: 'SecretDeleted', message: 'secret deleted due to DeletionPolicy' }),
    { verdict: 'progressing', mentions: 'secret deleted due to DeletionPolicy' },
  ],
  [
    'a ClusterExternalSecret that wrote to all namespaces is ready',
    ready('ClusterExternalSecret', {
      provisionedNamespaces: ['shop'],
      conditions: [{ type: 'Ready', status: 'True' }],
    }),
    { verdict: 'ready' },
  ],
  [
    'a ClusterExternalSecret that cannot write to a namespace names it',
    ready('ClusterExternalSecret', {
      failedNamespaces: [{ namespace: 'billing', reason: 'external secret already exists in namespace' }],
      conditions: [{ type: 'Ready', status: 'False', message: 'one or more namespaces failed' }],
    }),
    { verdict: 'progressing', mentions: 'billing: external secret already exists in namespace' },
  ],
  ...['SecretStore', 'ClusterSecretStore'].flatMap((kind): readonly EntryCase[] => [
    [
      `a validated ${kind} is ready`,
      ready(kind, { conditions: [{ type: 'Ready', status: 'True', reason: 'Valid' }] }),
      { verdict: 'ready' },
    ],
    [
      `a ${kind} whose credentials are refused progresses`,
      ready(kind, {
        conditions: [
          { type: 'Ready', status: 'False', reason: 'InvalidProviderConfig', message: 'unable to validate store' },
        ],
      }),
      { verdict: 'progressing', mentions: 'unable to validate store' },
    ],
  ]),
  [
    'a PushSecret is ready when its present spec is pushed',
    ready('PushSecret', {
      syncedResourceVersion: '2-aa',
      conditions: [{ type: 'Ready', status: 'True', reason: 'Synced' }],
    }),
    { verdict: 'ready' },
  ],
  [
    'a PushSecret whose older spec was pushed progresses',
    ready('PushSecret', {
      syncedResourceVersion: '1-aa',
      conditions: [{ type: 'Ready', status: 'True', reason: 'Synced' }],
    }),
    { verdict: 'progressing' },
  ],
  [
    'a PushSecret with a missing source progresses',
    ready('PushSecret', {
      conditions: [{ type: 'Ready', status: 'False', reason: 'Errored', message: 'could not get source secret' }],
    }),
    { verdict: 'progressing', mentions: 'could not get source secret' },
  ],
])

testEntries(externalSecretsGenerators, [
  [
    'a generator is ready without a status, which no controller writes',
    { apiVersion: 'generators.external-secrets.io/v1alpha1', kind: 'Password', metadata, spec: { length: 42 } },
    { verdict: 'ready' },
  ],
])

const sealedSecret = (observedGeneration: number, status: string, message?: string) => ({
  apiVersion: 'bitnami.com/v1alpha1',
  kind: 'SealedSecret',
  metadata,
  spec: { encryptedData: {} },
  status: { observedGeneration, conditions: [{ type: 'Synced', status, message }] },
})

testEntries(sealedSecrets, [
  ['an unsealed SealedSecret is ready', sealedSecret(2, 'True'), { verdict: 'ready' }],
  [
    'a SealedSecret that no key decrypts has failed',
    sealedSecret(2, 'False', 'no key could decrypt secret (password)'),
    { verdict: 'failed', mentions: 'no key could decrypt secret (password)' },
  ],
  [
    'a SealedSecret whose older spec could not be unsealed progresses',
    sealedSecret(1, 'False', 'no key could decrypt secret (password)'),
    { verdict: 'progressing' },
  ],
])
