import { type CatalogueGroup, deployments, jobs, pods, statefulSets } from './entry.ts'
import { allOf, isTrue } from './expressions.ts'

/**
 * The operators write `state: error` when a reconciliation fails, and retry it: no failure. Then the status keeps its old
 * generation. Their conditions are a history of states, all True.
 */
const cluster = {
  current: `status.state == 'ready'`,
  suspended: `spec.pause`,
  owns: [statefulSets, pods],
  isWorkload: true,
  // The state is written from StatefulSets that may not have observed the change, with the strategy OnDelete.
  awaitsWorkloads: true,
} as const

/** A backup or restore is not retried. */
const job = {
  current: `status.state in ['Succeeded', 'ready']`,
  failed: `status.state in ['Failed', 'Error', 'error', 'rejected']`,
  suspended: `status.state == 'Suspended'`,
  cause: [`status.error`, `status.comments`],
  owns: [jobs, pods],
}

/** Percona XtraDB Cluster. */
export const perconaXtraDb: CatalogueGroup = {
  group: 'pxc.percona.com',
  entries: [
    {
      kind: 'PerconaXtraDBCluster',
      documentation:
        'https://github.com/percona/percona-xtradb-cluster-operator/blob/main/pkg/controller/pxc/status.go',
      ...cluster,
      cause: [`status.message`],
    },
    {
      kind: 'PerconaXtraDBClusterBackup',
      documentation:
        'https://github.com/percona/percona-xtradb-cluster-operator/blob/main/pkg/apis/pxc/v1/pxc_backup_types.go',
      ...job,
    },
    {
      kind: 'PerconaXtraDBClusterRestore',
      documentation:
        'https://github.com/percona/percona-xtradb-cluster-operator/blob/main/pkg/apis/pxc/v1/pxc_prestore_types.go',
      ...job,
    },
  ],
}

/** Percona Server for MongoDB. */
export const perconaMongoDb: CatalogueGroup = {
  group: 'psmdb.percona.com',
  entries: [
    {
      kind: 'PerconaServerMongoDB',
      documentation:
        'https://github.com/percona/percona-server-mongodb-operator/blob/main/pkg/controller/perconaservermongodb/status.go',
      ...cluster,
      // The operator starts its own rolling update after the StatefulSets have changed.
      inProgress: isTrue('pendingSmartUpdate'),
      cause: [`status.message`],
    },
    {
      kind: 'PerconaServerMongoDBBackup',
      documentation:
        'https://github.com/percona/percona-server-mongodb-operator/blob/main/pkg/apis/psmdb/v1/perconaservermongodbbackup_types.go',
      ...job,
    },
    {
      kind: 'PerconaServerMongoDBRestore',
      documentation:
        'https://github.com/percona/percona-server-mongodb-operator/blob/main/pkg/apis/psmdb/v1/perconaservermongodbrestore_types.go',
      ...job,
    },
  ],
}

/** Percona Distribution for PostgreSQL. */
export const perconaPostgres: CatalogueGroup = {
  group: 'pgv2.percona.com',
  entries: [
    {
      kind: 'PerconaPGCluster',
      documentation:
        'https://github.com/percona/percona-postgresql-operator/blob/main/percona/controller/pgcluster/status.go',
      ...cluster,
      // Written from the status of the PostgresCluster, which may be older.
      cause: [`status.conditions.filter(c, c.status == 'False' && c.message != '').map(c, c.message)`],
      owns: [
        { apiVersion: 'postgres-operator.crunchydata.com/v1beta1', kind: 'PostgresCluster' },
        deployments,
        statefulSets,
        jobs,
        pods,
      ],
    },
    {
      kind: 'PerconaPGBackup',
      documentation:
        'https://github.com/percona/percona-postgresql-operator/blob/main/pkg/apis/pgv2.percona.com/v2/perconapgbackup_types.go',
      ...job,
    },
    {
      kind: 'PerconaPGRestore',
      documentation:
        'https://github.com/percona/percona-postgresql-operator/blob/main/pkg/apis/pgv2.percona.com/v2/perconapgrestore_types.go',
      ...job,
    },
  ],
}

/** Percona Server for MySQL. */
export const perconaMySql: CatalogueGroup = {
  group: 'ps.percona.com',
  entries: [
    {
      kind: 'PerconaServerMySQL',
      documentation: 'https://github.com/percona/percona-server-mysql-operator/blob/main/pkg/controller/ps/status.go',
      ...cluster,
      // The status has no observedGeneration. A new size shows that it is old.
      current: `status.state == 'ready' && status.mysql.ready >= spec.?mysql.?size.orValue(0)`,
      // With `autoRecovery`, the operator restarts a cluster whose pods have all crashed (crash_recovery.go).
      failed: allOf(`!spec.?mysql.?autoRecovery.orValue(false)`, isTrue('error', 'FullClusterCrashDetected')),
      cause: [`status.conditions.filter(c, c.type == 'error').map(c, c.message)`],
    },
    {
      kind: 'PerconaServerMySQLBackup',
      documentation:
        'https://github.com/percona/percona-server-mysql-operator/blob/main/api/v1/perconaservermysqlbackup_types.go',
      ...job,
      cause: [`status.stateDescription`],
    },
    {
      kind: 'PerconaServerMySQLRestore',
      documentation:
        'https://github.com/percona/percona-server-mysql-operator/blob/main/api/v1/perconaservermysqlrestore_types.go',
      ...job,
      // Error is tried again (pkg/controller/psrestore/controller.go).
      failed: `status.state == 'Failed'`,
      cause: [`status.stateDescription`],
    },
  ],
}
