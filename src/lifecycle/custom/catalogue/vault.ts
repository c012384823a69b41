import { type CatalogueGroup, deployments, pods, statefulSets } from './entry.ts'
import { allOf, anyOf, isTrue, messageOf } from './expressions.ts'

const source = 'https://github.com/hashicorp/vault-secrets-operator/blob/main'

const isUnsynced = `status.?conditions.orValue([]).exists(c, c.type == 'SecretSynced' && c.status != 'True')`

/** A synchronization that failed is retried. Operators before 0.10 write no conditions. */
const secret = {
  current: anyOf(isTrue('SecretSynced'), allOf(`!${isUnsynced}`, `status.secretMAC != ''`)),
  inProgress: `status.lastGeneration < metadata.generation`,
  cause: [messageOf('SecretSynced'), messageOf('Ready'), messageOf('Healthy'), `status.error`],
}

/** A configuration that the operator checks at intervals. */
const configuration = {
  documentation: `${source}/controllers/vaultauth_controller.go`,
  current: `status.valid`,
  cause: [`status.error`, messageOf('Ready'), messageOf('Healthy')],
}

/** Vault Secrets Operator of HashiCorp. */
export const vaultSecrets: CatalogueGroup = {
  group: 'secrets.hashicorp.com',
  entries: [
    {
      kind: 'VaultStaticSecret',
      documentation: `${source}/controllers/vaultstaticsecret_controller.go`,
      ...secret,
    },
    {
      kind: 'VaultDynamicSecret',
      documentation: `${source}/controllers/vaultdynamicsecret_controller.go`,
      ...secret,
    },
    {
      kind: 'VaultPKISecret',
      documentation: `${source}/controllers/vaultpkisecret_controller.go`,
      ...secret,
      current: allOf(`status.valid`, `!${isUnsynced}`),
    },
    {
      kind: 'HCPVaultSecretsApp',
      documentation: `${source}/controllers/hcpvaultsecretsapp_controller.go`,
      ...secret,
    },
    { kind: 'VaultAuth', ...configuration },
    { kind: 'VaultAuthGlobal', ...configuration },
    { kind: 'VaultConnection', ...configuration },
    { kind: 'HCPAuth', ...configuration },
    { kind: 'SecretTransformation', ...configuration },
  ],
}

/** Vault operator of Bank-Vaults. */
export const bankVaults: CatalogueGroup = {
  group: 'vault.banzaicloud.com',
  entries: [
    {
      kind: 'Vault',
      documentation: 'https://github.com/bank-vaults/vault-operator/blob/main/pkg/controller/vault/vault_controller.go',
      // The status has no observedGeneration: the number of pods shows whether it is old.
      current: allOf(isTrue('Healthy'), `status.leader != ''`, `status.nodes.size() >= spec.?size.orValue(1)`),
      cause: [`status.conditions.filter(c, c.status != 'True').map(c, c.?error.orValue(''))`],
      owns: [statefulSets, deployments, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
  ],
}
