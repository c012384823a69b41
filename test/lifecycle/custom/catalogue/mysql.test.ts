import { bitpokeMySql, mariaDb, oracleMySql } from '../../../../src/lifecycle/custom/catalogue/mysql.ts'
import { type EntryCase, type SampleObject, testEntries } from './cases.ts'

const condition = (type: string, status: string, reason: string, message: string = reason) => ({
  type,
  status,
  reason,
  message,
})
const maria = (kind: string, status: object, spec: object = {}): SampleObject => ({
  apiVersion: 'k8s.mariadb.com/v1alpha1',
  kind,
  metadata: { generation: 2 },
  spec,
  status,
})
const running = condition('Ready', 'True', 'StatefulSetReady', 'Running')
const updated = condition('Updated', 'True', 'Updated')

testEntries(mariaDb, [
  [
    'a MariaDB that runs is ready',
    maria('MariaDB', { replicas: 3, conditions: [running, updated] }, { replicas: 3 }),
    { verdict: 'ready' },
  ],
  [
    'a MariaDB whose pods start progresses',
    maria(
      'MariaDB',
      { conditions: [condition('Ready', 'False', 'StatefulSetNotReady', 'Not ready')] },
      { replicas: 3 },
    ),
    { verdict: 'progressing', mentions: 'Not ready' },
  ],
  [
    'a MariaDB that runs during a rolling update progresses',
    maria(
      'MariaDB',
      { replicas: 3, conditions: [running, condition('Updated', 'False', 'Updating')] },
      { replicas: 3 },
    ),
    { verdict: 'progressing' },
  ],
  [
    'a MariaDB whose update waits for its pods to be deleted is suspended',
    maria(
      'MariaDB',
      { replicas: 3, conditions: [running, condition('Updated', 'False', 'PendingUpdate', 'Pending update')] },
      { replicas: 3, updateStrategy: { type: 'OnDelete' } },
    ),
    { verdict: 'suspended', mentions: 'Pending update' },
  ],
  [
    'a MariaDB with fewer replicas than its spec has a stale status',
    maria('MariaDB', { replicas: 1, conditions: [running, updated] }, { replicas: 3 }),
    { verdict: 'progressing' },
  ],
  [
    'a suspended MariaDB is suspended',
    maria('MariaDB', { conditions: [condition('Ready', 'False', 'Suspended')] }, { suspend: true }),
    { verdict: 'suspended' },
  ],
  [
    'a Database that is created is ready',
    maria('Database', { conditions: [condition('Ready', 'True', 'Created')] }),
    { verdict: 'ready' },
  ],
  [
    'a User whose MariaDB is not ready progresses',
    maria('User', { conditions: [condition('Ready', 'False', 'Failed', 'MariaDB not ready')] }),
    { verdict: 'progressing', mentions: 'MariaDB not ready' },
  ],
  [
    'a Backup that is complete is ready',
    maria('Backup', { conditions: [condition('Complete', 'True', 'JobComplete', 'Success')] }),
    { verdict: 'ready' },
  ],
  [
    'a Backup whose Job runs progresses',
    maria('Backup', { conditions: [condition('Complete', 'False', 'JobRunning', 'Running')] }),
    { verdict: 'progressing' },
  ],
  [
    'a Backup whose Job failed has failed, although Complete is True',
    maria('Backup', { conditions: [condition('Complete', 'True', 'JobFailed', 'Failed')] }),
    { verdict: 'failed', mentions: 'JobFailed' },
  ],
  [
    'a Backup whose MariaDB is not ready yet is tried again',
    maria('Backup', { conditions: [condition('Complete', 'False', 'Failed', 'MariaDB not ready')] }),
    { verdict: 'progressing', mentions: 'MariaDB not ready' },
  ],
  [
    'a scheduled Backup is ready before its first run',
    maria(
      'Backup',
      { conditions: [condition('Complete', 'False', 'CronJobScheduled', 'Scheduled')] },
      { schedule: { cron: '@daily' } },
    ),
    { verdict: 'ready' },
  ],
  ...['Database', 'User', 'Grant', 'Connection', 'ExternalMariaDB'].flatMap((kind): readonly EntryCase[] => [
    [
      `a ${kind} that is Ready is ready`,
      maria(kind, { conditions: [condition('Ready', 'True', 'Created')] }),
      { verdict: 'ready' },
    ],
    [
      `a ${kind} that failed is tried again`,
      maria(kind, { conditions: [condition('Ready', 'False', 'Failed', 'connection refused')] }),
      { verdict: 'progressing', mentions: 'connection refused' },
    ],
  ]),
  ...['Restore', 'SqlJob'].flatMap((kind): readonly EntryCase[] => [
    [
      `a ${kind} that is complete is ready`,
      maria(kind, { conditions: [condition('Complete', 'True', 'JobComplete')] }),
      { verdict: 'ready' },
    ],
    [
      `a ${kind} whose Job failed has failed`,
      maria(kind, { conditions: [condition('Complete', 'True', 'JobFailed')] }),
      { verdict: 'failed' },
    ],
  ]),
  [
    'a MaxScale that runs is ready',
    maria('MaxScale', { replicas: 2, conditions: [running] }, { replicas: 2 }),
    { verdict: 'ready' },
  ],
  [
    'a MaxScale with fewer replicas than its spec progresses',
    maria('MaxScale', { replicas: 1, conditions: [running] }, { replicas: 2 }),
    { verdict: 'progressing' },
  ],
])

const innoDb = (status: string, onlineInstances: number): SampleObject => ({
  apiVersion: 'mysql.oracle.com/v2',
  kind: 'InnoDBCluster',
  spec: { instances: 3 },
  status: { cluster: { status, onlineInstances } },
})
const oracleBackup = (status: object): SampleObject => ({
  apiVersion: 'mysql.oracle.com/v2',
  kind: 'MySQLBackup',
  spec: {},
  status,
})

testEntries(oracleMySql, [
  ['a cluster that is online with all instances is ready', innoDb('ONLINE', 3), { verdict: 'ready' }],
  [
    'a cluster with a part of its instances progresses',
    innoDb('ONLINE_PARTIAL', 2),
    { verdict: 'progressing', mentions: 'ONLINE_PARTIAL' },
  ],
  [
    'a cluster that is online with fewer instances than its spec has a stale status',
    innoDb('ONLINE', 1),
    { verdict: 'progressing' },
  ],
  ['an offline cluster is rebooted', innoDb('OFFLINE', 0), { verdict: 'progressing' }],
  ['an invalid cluster has failed', innoDb('INVALID', 0), { verdict: 'failed' }],
  ['a completed backup is ready', oracleBackup({ status: 'Completed' }), { verdict: 'ready' }],
  [
    'a backup with an error has failed',
    oracleBackup({ status: 'Error', message: 'no bucket' }),
    { verdict: 'failed', mentions: 'no bucket' },
  ],
])

const bitpoke = (kind: string, status: object): SampleObject => ({
  apiVersion: 'mysql.presslabs.org/v1alpha1',
  kind,
  spec: { replicas: 2 },
  status,
})

testEntries(bitpokeMySql, [
  [
    'a cluster with all nodes is ready',
    bitpoke('MysqlCluster', { readyNodes: 2, conditions: [running] }),
    { verdict: 'ready' },
  ],
  [
    'a cluster whose StatefulSet is not ready progresses',
    bitpoke('MysqlCluster', {
      conditions: [condition('Ready', 'False', 'StatefulSetNotReady', 'StatefulSet is not ready')],
    }),
    { verdict: 'progressing', mentions: 'StatefulSet is not ready' },
  ],
  [
    'a cluster that is to grow has a stale status',
    bitpoke('MysqlCluster', { readyNodes: 1, conditions: [running] }),
    { verdict: 'progressing' },
  ],
  [
    'a failed backup has failed',
    bitpoke('MysqlBackup', { conditions: [condition('Failed', 'True', 'JobFailed', 'job has failed')] }),
    { verdict: 'failed', mentions: 'job has failed' },
  ],
])
