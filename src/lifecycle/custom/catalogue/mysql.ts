import { type CatalogueGroup, deployments, jobs, pods, statefulSets } from './entry.ts'
import { allOf, anyOf, hasCondition, isFalse, isTrue, messageOf } from './expressions.ts'

const mariaDbSource = 'https://github.com/mariadb-operator/mariadb-operator/blob/main'

/** An object inside a database. A failed reconciliation is retried. */
const sqlObject = {
  documentation: `${mariaDbSource}/api/v1alpha1/condition_types.go`,
  current: isTrue('Ready'),
  cause: [messageOf('Ready')],
}

/**
 * Complete is True when the Job has ended, also if it has failed. Before, it is False with the reason Failed while
 * something is missing, such as a MariaDB that is ready, which is checked again.
 */
const jobObject = {
  documentation: `${mariaDbSource}/pkg/condition/complete.go`,
  current: anyOf(isTrue('Complete'), allOf(`has(spec.schedule)`, hasCondition('Complete'))),
  failed: isTrue('Complete', 'JobFailed'),
  cause: [`status.conditions.filter(c, c.type == 'Complete').map(c, c.reason + ': ' + c.message)`],
  owns: [jobs, pods],
}

/** The MariaDB operator. */
export const mariaDb: CatalogueGroup = {
  group: 'k8s.mariadb.com',
  entries: [
    {
      kind: 'MariaDB',
      documentation: `${mariaDbSource}/internal/controller/mariadb_controller_status.go`,
      // Conditions have no observedGeneration. A new number of replicas shows that they are old.
      current: allOf(isTrue('Ready'), `status.?replicas.orValue(0) == spec.?replicas.orValue(1)`),
      inProgress: allOf(isFalse('Updated'), `!(spec.?updateStrategy.?type.orValue('') in ['OnDelete', 'Never'])`),
      suspended: anyOf(`spec.suspend`, isFalse('Ready', 'Suspended'), isFalse('Updated', 'PendingUpdate')),
      cause: [messageOf('Ready'), messageOf('GaleraReady'), messageOf('Updated')],
      owns: [statefulSets, jobs, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
    {
      kind: 'MaxScale',
      documentation: `${mariaDbSource}/internal/controller/maxscale_controller.go`,
      current: allOf(isTrue('Ready'), `status.?replicas.orValue(0) == spec.?replicas.orValue(1)`),
      suspended: anyOf(`spec.suspend`, isFalse('Ready', 'Suspended')),
      cause: [messageOf('Ready')],
      owns: [statefulSets, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
    { kind: 'Database', ...sqlObject },
    { kind: 'User', ...sqlObject },
    { kind: 'Grant', ...sqlObject },
    { kind: 'Connection', ...sqlObject },
    { kind: 'ExternalMariaDB', ...sqlObject },
    { kind: 'Backup', ...jobObject },
    { kind: 'Restore', ...jobObject },
    { kind: 'SqlJob', ...jobObject },
  ],
}

/** MySQL Operator of Oracle. */
export const oracleMySql: CatalogueGroup = {
  group: 'mysql.oracle.com',
  entries: [
    {
      kind: 'InnoDBCluster',
      documentation: 'https://github.com/mysql/mysql-operator/blob/trunk/mysqloperator/controller/diagnose.py',
      // The status has no observedGeneration. A new number of instances shows that it is old.
      current: `status.cluster.status == 'ONLINE' && status.cluster.onlineInstances >= spec.?instances.orValue(1)`,
      failed: `status.cluster.status == 'INVALID'`,
      cause: [`'cluster.status is ' + status.cluster.status`],
      owns: [statefulSets, deployments, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
    {
      kind: 'MySQLBackup',
      documentation: 'https://github.com/mysql/mysql-operator/blob/trunk/mysqloperator/controller/backup/backup_api.py',
      current: `status.status == 'Completed'`,
      failed: `status.status == 'Error'`,
      cause: [`status.message`],
      owns: [jobs, pods],
    },
  ],
}

/** MySQL operator of Bitpoke, before of Presslabs. */
export const bitpokeMySql: CatalogueGroup = {
  group: 'mysql.presslabs.org',
  entries: [
    {
      kind: 'MysqlCluster',
      documentation:
        'https://github.com/bitpoke/mysql-operator/blob/master/pkg/apis/mysql/v1alpha1/mysqlcluster_types.go',
      current: allOf(isTrue('Ready'), `status.?readyNodes.orValue(0) == spec.?replicas.orValue(1)`),
      cause: [messageOf('Ready')],
      owns: [statefulSets, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
    {
      kind: 'MysqlBackup',
      documentation:
        'https://github.com/bitpoke/mysql-operator/blob/master/pkg/apis/mysql/v1alpha1/mysqlbackup_types.go',
      current: isTrue('Complete'),
      failed: isTrue('Failed'),
      cause: [`status.conditions.filter(c, c.type == 'Failed').map(c, c.message)`],
      owns: [jobs, pods],
    },
  ],
}
