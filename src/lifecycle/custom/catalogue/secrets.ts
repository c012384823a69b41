import type { CatalogueEntry, CatalogueGroup } from './entry.ts'
import { allOf, anyOf, isFalse, isTrue, messageOf } from './expressions.ts'

const externalSecretsSource = 'https://github.com/external-secrets/external-secrets/blob/main'

/**
 * External Secrets writes `<generation>-<hash>` of the object that it has synced last. It does so only after a success,
 * while an older Ready condition stays.
 */
const isOlderVersionSynced = "!status.syncedResourceVersion.startsWith(string(metadata.generation) + '-')"

/** The controller syncs the object only once, so the synced version remains the version of the first spec. */
const isSyncedOnce = anyOf(
  "spec.?refreshPolicy.orValue('Periodic') == 'CreatedOnce'",
  "spec.?refreshPolicy.orValue('Periodic') == 'Periodic' && spec.?refreshInterval.orValue('1h0m0s') in ['0', '0s', '0m', '0h']",
)

/**
 * Errors are retried, since the entry in the provider or the store may be created later. The controller also reports Ready
 * when it has no Secret to write: the provider has no data (`deletionPolicy: Delete`), or the Secret to merge into does not
 * exist.
 */
const externalSecret: CatalogueEntry = {
  kind: 'ExternalSecret',
  documentation: `${externalSecretsSource}/pkg/controllers/externalsecret/externalsecret_controller.go`,
  inProgress: anyOf(
    allOf(isOlderVersionSynced, `!(${isSyncedOnce})`),
    isTrue('Ready', 'SecretDeleted', 'SecretMissing', 'ResourceDeleted', 'ResourceMissing'),
  ),
  current: isTrue('Ready'),
  cause: [
    messageOf('Ready'),
    "status.conditions.filter(c, c.reason in ['SecretDeleted', 'SecretMissing']).map(c, c.message)",
  ],
}

/** Ready when the ExternalSecrets of all selected namespaces are written; these report their own state. */
const clusterExternalSecret: CatalogueEntry = {
  kind: 'ClusterExternalSecret',
  documentation: `${externalSecretsSource}/pkg/controllers/clusterexternalsecret/clusterexternalsecret_controller.go`,
  current: isTrue('Ready'),
  cause: ['status.failedNamespaces.map(each, each.namespace + ": " + each.reason)', messageOf('Ready')],
  owns: [{ apiVersion: 'external-secrets.io/v1', kind: 'ExternalSecret' }],
}

/** Validated again at an interval: credentials may be created later, so an error is never final. */
function store(kind: string): CatalogueEntry {
  return {
    kind,
    documentation: `${externalSecretsSource}/pkg/controllers/secretstore/common.go`,
    current: isTrue('Ready'),
    cause: [messageOf('Ready')],
  }
}

/** Errors are retried. A changed object is pushed again whatever its refresh interval is. */
const pushSecret: CatalogueEntry = {
  kind: 'PushSecret',
  documentation: `${externalSecretsSource}/pkg/controllers/pushsecret/pushsecret_controller.go`,
  inProgress: isOlderVersionSynced,
  current: isTrue('Ready'),
  cause: [messageOf('Ready')],
}

export const externalSecrets: CatalogueGroup = {
  group: 'external-secrets.io',
  entries: [externalSecret, clusterExternalSecret, store('SecretStore'), store('ClusterSecretStore'), pushSecret],
}

/** Generators are parameters that an ExternalSecret names. They declare a status that no controller writes. */
export const externalSecretsGenerators: CatalogueGroup = {
  group: 'generators.external-secrets.io',
  entries: [
    {
      kind: '*',
      documentation: `${externalSecretsSource}/apis/generators/v1alpha1/types_password.go`,
      current: 'true',
    },
  ],
}

/**
 * The controller retries for less than a second, and then not before the object changes. A missing key is the usual
 * cause, and the message names it.
 */
const sealedSecret: CatalogueEntry = {
  kind: 'SealedSecret',
  documentation: 'https://github.com/bitnami-labs/sealed-secrets/blob/main/pkg/controller/controller.go',
  current: isTrue('Synced'),
  failed: isFalse('Synced'),
  cause: [messageOf('Synced')],
}

export const sealedSecrets: CatalogueGroup = { group: 'bitnami.com', entries: [sealedSecret] }
