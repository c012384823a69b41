import type { CatalogueEntry, CatalogueGroup } from './entry.ts'
import { hasCondition, isTrue, messageOf } from './expressions.ts'

const ackSource = 'https://github.com/aws-controllers-k8s/runtime/blob/main/apis/core/v1alpha1'

/**
 * AWS Controllers for Kubernetes. ACK.Terminal: nothing is synced before the spec changes. ACK.Recoverable: an error that is
 * retried, such as missing permissions. A resource that AWS is still creating or changing is not synced.
 */
const awsResource: CatalogueEntry = {
  kind: '*',
  documentation: `${ackSource}/conditions.go`,
  failed: isTrue('ACK.Terminal'),
  current: isTrue('ACK.ResourceSynced'),
  cause: [
    messageOf('ACK.Terminal', 'False'),
    messageOf('ACK.Recoverable', 'False'),
    messageOf('ACK.ReferencesResolved'),
    messageOf('ACK.ResourceSynced'),
  ],
}

export const awsControllers: CatalogueGroup = { group: '*.services.k8s.aws', entries: [awsResource] }

/** Kinds that every controller of ACK has. A FieldExport and an IAMRoleSelector have conditions only after an error. */
export const awsControllersCore: CatalogueGroup = {
  group: 'services.k8s.aws',
  entries: [
    {
      kind: 'AdoptedResource',
      documentation: `${ackSource}/conditions.go`,
      failed: isTrue('ACK.Terminal'),
      current: isTrue('ACK.Adopted'),
      cause: [messageOf('ACK.Terminal', 'False'), messageOf('ACK.Recoverable', 'False'), messageOf('ACK.Adopted')],
    },
    {
      kind: 'FieldExport',
      documentation: `${ackSource}/field_export.go`,
      inProgress: isTrue('ACK.Recoverable'),
      failed: isTrue('ACK.Terminal'),
      current: 'true',
      cause: [messageOf('ACK.Terminal', 'False'), messageOf('ACK.Recoverable', 'False')],
    },
    { kind: 'IAMRoleSelector', documentation: `${ackSource}/iam_role_selector.go`, current: 'true' },
  ],
}

/**
 * Config Connector. Every error is retried: a dependency, a Secret or a permission may be created later. The reason
 * shows which: Updating, UpdateFailed, DependencyNotReady, DependencyNotFound, DependencyInvalid, ManagementConflict.
 */
const googleResource: CatalogueEntry = {
  kind: '*',
  documentation: 'https://cloud.google.com/config-connector/docs/how-to/monitoring-your-resources',
  current: isTrue('Ready'),
  cause: [messageOf('Ready')],
}

export const configConnector: CatalogueGroup = { group: '*.cnrm.cloud.google.com', entries: [googleResource] }

/** Config Connector itself. */
function connector(kind: string): CatalogueEntry {
  return {
    kind,
    documentation: 'https://cloud.google.com/config-connector/docs/how-to/advanced-install',
    current: 'status.healthy',
    cause: ['status.errors'],
  }
}

export const configConnectorCore: CatalogueGroup = {
  group: 'core.cnrm.cloud.google.com',
  entries: [connector('ConfigConnector'), connector('ConfigConnectorContext')],
}

/**
 * Azure Service Operator. While Ready is not True, its severity shows what happens next: Info, the operator works on it;
 * Warning, it retries; Error, it has given up until the resource changes.
 */
const azureResource: CatalogueEntry = {
  kind: '*',
  documentation: 'https://azure.github.io/azure-service-operator/guide/conditions',
  failed: hasCondition('Ready', "c.status == 'False'", "c.severity == 'Error'"),
  current: isTrue('Ready'),
  cause: [messageOf('Ready')],
}

export const azureServiceOperator: CatalogueGroup = { group: '*.azure.com', entries: [azureResource] }
