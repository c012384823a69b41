import { type CatalogueGroup, pods, statefulSets } from './entry.ts'
import { allOf, anyOf, isFalse, isTrue, messageOf } from './expressions.ts'

/** Cass Operator. */
export const cassOperator: CatalogueGroup = {
  group: 'cassandra.datastax.com',
  entries: [
    {
      kind: 'CassandraDatacenter',
      documentation: 'https://github.com/k8ssandra/cass-operator/blob/master/pkg/reconciliation/reconcile_racks.go',
      // The generation is written at the end of a reconciliation.
      current: allOf(`status.cassandraOperatorProgress == 'Ready'`, isTrue('Ready')),
      // The driver tries a failed resize again (pvcResizeFailed), and the operator any other error.
      failed: isFalse('Valid', 'shrinkingDataVolumeNotSupported', 'storageClassDoesNotSupportExpansion'),
      suspended: anyOf(`spec.stopped`, isTrue('Stopped')),
      cause: [messageOf('Valid')],
      owns: [statefulSets, pods],
      isWorkload: true,
    },
  ],
}

/** Cass Operator: tasks on a datacenter. */
export const cassandraTasks: CatalogueGroup = {
  group: 'control.k8ssandra.io',
  entries: [
    {
      kind: 'CassandraTask',
      documentation:
        'https://github.com/k8ssandra/cass-operator/blob/master/apis/control/v1alpha1/cassandratask_types.go',
      current: isTrue('Complete'),
      failed: isTrue('Failed'),
      cause: [`status.conditions.filter(c, c.type == 'Failed').map(c, c.message)`],
    },
  ],
}

/** K8ssandra: a cluster with datacenters in one or more Kubernetes clusters. */
export const k8ssandra: CatalogueGroup = {
  group: 'k8ssandra.io',
  entries: [
    {
      kind: 'K8ssandraCluster',
      documentation:
        'https://github.com/k8ssandra/k8ssandra-operator/blob/main/controllers/k8ssandra/k8ssandracluster_controller.go',
      current: allOf(
        `status.?error.orValue('None') in ['', 'None']`,
        `spec.cassandra.datacenters.size() == status.datacenters.size()`,
        `status.datacenters.all(d, status.datacenters[d].cassandra.cassandraOperatorProgress == 'Ready')`,
      ),
      cause: [`status.error == 'None' ? '' : status.error`],
      owns: [{ apiVersion: 'cassandra.datastax.com/v1beta1', kind: 'CassandraDatacenter' }, statefulSets, pods],
      isWorkload: true,
    },
  ],
}

/** Each condition has an `observedGeneration`. */
const scyllaResource = {
  documentation: 'https://github.com/scylladb/scylla-operator/blob/master/pkg/api/scylla/v1/types_cluster.go',
  current: allOf(isTrue('Available'), isFalse('Progressing'), isFalse('Degraded')),
  cause: [messageOf('Degraded', 'False'), messageOf('Progressing', 'False'), messageOf('Available')],
  owns: [{ apiVersion: 'scylla.scylladb.com/v1alpha1', kind: 'ScyllaDBDatacenter' }, statefulSets, pods],
  isWorkload: true,
} as const

/** Scylla Operator. */
export const scylla: CatalogueGroup = {
  group: 'scylla.scylladb.com',
  entries: [
    { kind: 'ScyllaCluster', ...scyllaResource },
    { kind: 'ScyllaDBCluster', ...scyllaResource },
    { kind: 'ScyllaDBDatacenter', ...scyllaResource },
    { kind: 'ScyllaDBMonitoring', ...scyllaResource },
    { kind: 'NodeConfig', ...scyllaResource },
  ],
}
