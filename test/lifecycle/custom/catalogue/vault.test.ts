import { bankVaults, vaultSecrets } from '../../../../src/lifecycle/custom/catalogue/vault.ts'
import { type EntryCase, type SampleObject, testEntries } from './cases.ts'

const secret = (kind: string, status: object): SampleObject => ({
  apiVersion: 'secrets.hashicorp.com/v1beta1',
  kind,
  metadata: { generation: 2 },
  spec: {},
  status: { lastGeneration: 2, ...status },
})
const synced = (status: string, message: string, observedGeneration = 2) => ({
  conditions: [{ type: 'SecretSynced', status, reason: 'Synced', message, observedGeneration }],
})

testEntries(vaultSecrets, [
  [
    'a secret that is synchronized is ready',
    secret('VaultStaticSecret', synced('True', 'Secret synced')),
    { verdict: 'ready' },
  ],
  [
    'a secret of an older operator has no conditions',
    secret('VaultStaticSecret', { secretMAC: 'bWFj' }),
    { verdict: 'ready' },
  ],
  [
    'a secret that cannot be read is tried again, with the error',
    secret('VaultStaticSecret', { secretMAC: 'bWFj', ...synced('False', 'permission denied') }),
    { verdict: 'progressing', mentions: 'permission denied' },
  ],
  [
    'a secret that was synchronized before its change progresses',
    secret('VaultStaticSecret', { lastGeneration: 1, secretMAC: 'bWFj' }),
    { verdict: 'progressing' },
  ],
  ...['VaultDynamicSecret', 'HCPVaultSecretsApp'].flatMap((kind): readonly EntryCase[] => [
    [`a synchronized ${kind} is ready`, secret(kind, synced('True', 'Secret synced')), { verdict: 'ready' }],
    [
      `a ${kind} that cannot be read is tried again`,
      secret(kind, synced('False', 'denied')),
      { verdict: 'progressing', mentions: 'denied' },
    ],
  ]),
  ...['VaultAuthGlobal', 'VaultConnection', 'HCPAuth', 'SecretTransformation'].flatMap((kind): readonly EntryCase[] => [
    [`a valid ${kind} is ready`, secret(kind, { valid: true }), { verdict: 'ready' }],
    [
      `an invalid ${kind} is checked again`,
      secret(kind, { valid: false, error: 'no address' }),
      { verdict: 'progressing', mentions: 'no address' },
    ],
  ]),
  ['a certificate that is valid is ready', secret('VaultPKISecret', { valid: true, error: '' }), { verdict: 'ready' }],
  [
    'a certificate that is not valid progresses',
    secret('VaultPKISecret', { valid: false, error: 'no role web' }),
    { verdict: 'progressing', mentions: 'no role web' },
  ],
  ['a VaultAuth that is accepted is ready', secret('VaultAuth', { valid: true, error: '' }), { verdict: 'ready' }],
  [
    'a VaultAuth without its connection progresses',
    secret('VaultAuth', { valid: false, error: 'VaultConnection not found' }),
    { verdict: 'progressing', mentions: 'VaultConnection not found' },
  ],
])

const vault = (leader: string, nodes: readonly string[], error = ''): SampleObject => ({
  apiVersion: 'vault.banzaicloud.com/v1alpha1',
  kind: 'Vault',
  spec: { size: 3 },
  status: { leader, nodes, conditions: [{ type: 'Healthy', status: error === '' ? 'True' : 'False', error }] },
})
const nodes = ['vault-0', 'vault-1', 'vault-2']

testEntries(bankVaults, [
  ['a Vault with a leader and all nodes is ready', vault('vault-0', nodes), { verdict: 'ready' }],
  [
    'a Vault with fewer nodes than its spec has a stale status',
    vault('vault-0', nodes.slice(1)),
    { verdict: 'progressing' },
  ],
  [
    'a sealed Vault progresses, with the error',
    vault('', nodes, 'Vault is sealed'),
    { verdict: 'progressing', mentions: 'Vault is sealed' },
  ],
])
