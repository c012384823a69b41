import { type CatalogueEntry, type CatalogueGroup, deployments, jobs, pods, statefulSets } from './entry.ts'
import { allOf, anyOf } from './expressions.ts'

const source = 'https://github.com/opensearch-project/opensearch-k8s-operator/blob/main/opensearch-operator'

/** An object inside a cluster. The operator repeats a request that failed. */
const contentKinds = [
  'OpensearchActionGroup',
  'OpensearchComponentTemplate',
  'OpensearchIndexTemplate',
  'OpenSearchISMPolicy',
  'OpensearchRole',
  'OpensearchSnapshotPolicy',
  'OpensearchTenant',
  'OpensearchUser',
  'OpensearchUserRoleBinding',
]

const entries: readonly CatalogueEntry[] = [
  {
    kind: 'OpenSearchCluster',
    documentation: `${source}/controllers/opensearchController.go`,
    // The phase is RUNNING from the start, and the status has no observedGeneration: version and nodes show whether it
    // is old.
    current: allOf(
      `status.phase == 'RUNNING'`,
      `status.initialized`,
      `status.version == spec.general.version`,
      // Old operators do not write health and nodes. A single node stays yellow: its shards have no other node for
      // replicas.
      anyOf(
        `!has(status.health)`,
        allOf(
          `status.health == 'green' || (status.health == 'yellow' && status.availableNodes == 1)`,
          `status.availableNodes >= spec.nodePools.map(p, p.replicas).sum()`,
        ),
      ),
    ),
    inProgress: `status.componentsStatus.exists(c, c.?status.orValue('') in ['Pending', 'InProgress', 'Upgrading'])`,
    cause: [`status.componentsStatus.map(c, c.?description.orValue(''))`],
    owns: [statefulSets, deployments, jobs, pods],
    isWorkload: true,
    awaitsWorkloads: true,
  },
  ...contentKinds.map((kind) => ({
    kind,
    documentation: `${source}/pkg/reconcilers`,
    // An object that exists already, and that the operator does not manage, is ignored.
    current: `status.state == 'CREATED'`,
    suspended: `status.state == 'IGNORED'`,
    cause: [`status.reason`],
  })),
]

/** The OpenSearch operator. */
export const openSearch: CatalogueGroup = { group: 'opensearch.org', entries }

/** The OpenSearch operator, before version 3. */
export const opster: CatalogueGroup = { group: 'opensearch.opster.io', entries }
