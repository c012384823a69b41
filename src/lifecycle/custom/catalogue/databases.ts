import type { KindName } from '../../../cluster/objects.ts'
import { type CatalogueEntry, type CatalogueGroup, jobs, pods, statefulSets } from './entry.ts'
import { allOf, isTrue, messageOf } from './expressions.ts'

const kubeBlocksSource = 'https://github.com/apecloud/kubeblocks/blob/main/apis'

const clickHouseInstallation = {
  documentation:
    'https://github.com/Altinity/clickhouse-operator/blob/master/pkg/apis/clickhouse.altinity.com/v1/type_status.go',
  // The status has no observedGeneration. An aborted reconciliation is not repeated before the next change.
  current: `status.status == 'Completed'`,
  failed: `status.status == 'Aborted'`,
  suspended: `string(spec.suspend).lowerAscii() in ['true', 'yes', 'on', '1', 'enable', 'enabled']`,
  cause: [`status.error`, `status.errors`],
  owns: [statefulSets, pods],
  isWorkload: true,
} as const

/** ClickHouse operator of Altinity. */
export const clickHouse: CatalogueGroup = {
  group: 'clickhouse.altinity.com',
  entries: [{ kind: 'ClickHouseInstallation', ...clickHouseInstallation }],
}

/** ClickHouse operator of Altinity: Keeper. */
export const clickHouseKeeper: CatalogueGroup = {
  group: 'clickhouse-keeper.altinity.com',
  entries: [{ kind: 'ClickHouseKeeperInstallation', ...clickHouseInstallation }],
}

/** TiDB Operator, version 1. */
export const tidb: CatalogueGroup = {
  group: 'pingcap.com',
  entries: [
    {
      kind: 'TidbCluster',
      documentation:
        'https://github.com/pingcap/tidb-operator/blob/release-1.6/pkg/controller/tidbcluster/tidb_cluster_condition_updater.go',
      current: isTrue('Ready'),
      suspended: `spec.paused`,
      cause: [messageOf('Ready')],
      owns: [statefulSets, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
  ],
}

/** CockroachDB operator. */
export const cockroachDb: CatalogueGroup = {
  group: 'crdb.cockroachlabs.com',
  entries: [
    {
      kind: 'CrdbCluster',
      documentation: 'https://github.com/cockroachdb/cockroach-operator/blob/master/apis/v1alpha1/cluster_types.go',
      current: allOf(`status.clusterStatus == 'Finished'`, isTrue('Initialized')),
      // Actions that failed are tried again.
      cause: [`status.operatorActions.filter(a, a.status == 'Failed').map(a, a.?message.orValue(''))`],
      owns: [statefulSets, jobs, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
  ],
}

/** A phase that a cluster and its components share. Failed and Abnormal end when the pods are ready again. */
function phaseEntry(kind: string, owns: readonly KindName[]): CatalogueEntry {
  return {
    kind,
    documentation: `${kubeBlocksSource}/apps/v1/cluster_types.go`,
    current: `status.phase == 'Running'`,
    suspended: `status.phase == 'Stopped'`,
    cause: [messageOf('Ready'), messageOf('ApplyResources'), `status.message`],
    owns,
    isWorkload: true,
  }
}
const instanceSets = { apiVersion: 'workloads.kubeblocks.io/v1', kind: 'InstanceSet' }

/** KubeBlocks. */
export const kubeBlocks: CatalogueGroup = {
  group: 'apps.kubeblocks.io',
  entries: [
    phaseEntry('Cluster', [{ apiVersion: 'apps.kubeblocks.io/v1', kind: 'Component' }, instanceSets, pods]),
    phaseEntry('Component', [instanceSets, pods]),
  ],
}

/** KubeBlocks: operations on a cluster. */
export const kubeBlocksOperations: CatalogueGroup = {
  group: 'operations.kubeblocks.io',
  entries: [
    {
      kind: 'OpsRequest',
      documentation: `${kubeBlocksSource}/operations/v1alpha1/type.go`,
      current: `status.phase == 'Succeed'`,
      failed: `status.phase in ['Failed', 'Cancelled', 'Aborted']`,
      cause: [`status.conditions.filter(c, c.type == 'Failed').map(c, c.message)`],
    },
  ],
}

/** KubeBlocks: backups. */
export const kubeBlocksDataProtection: CatalogueGroup = {
  group: 'dataprotection.kubeblocks.io',
  entries: ['Backup', 'Restore'].map((kind) => ({
    kind,
    documentation: `${kubeBlocksSource}/dataprotection/v1alpha1/backup_types.go`,
    current: `status.phase == 'Completed'`,
    failed: `status.phase == 'Failed'`,
    cause: [`status.failureReason`],
    owns: [jobs, pods],
  })),
}
