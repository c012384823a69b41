import {
  perconaMongoDb,
  perconaMySql,
  perconaPostgres,
  perconaXtraDb,
} from '../../../../src/lifecycle/custom/catalogue/percona.ts'
import { type SampleObject, testEntries } from './cases.ts'

const xtraDb = (kind: string, status: object, spec: object = {}): SampleObject => ({
  apiVersion: 'pxc.percona.com/v1',
  kind,
  metadata: { generation: 2 },
  spec,
  status,
})
const history = ['initializing', 'ready', 'error'].map((type) => ({ type, status: 'True' }))

testEntries(perconaXtraDb, [
  [
    'a cluster in the state ready is ready, although its history has an error',
    xtraDb('PerconaXtraDBCluster', { state: 'ready', observedGeneration: 2, ready: 6, size: 6, conditions: history }),
    { verdict: 'ready' },
  ],
  [
    'a cluster in the state initializing progresses, and its first message is quoted',
    xtraDb('PerconaXtraDBCluster', {
      state: 'initializing',
      observedGeneration: 2,
      message: ['pxc: pxc: Back-off pulling image "percona/pxc:8.5"; '],
    }),
    { verdict: 'progressing', mentions: 'Back-off pulling image' },
  ],
  [
    'a reconciliation that failed is repeated',
    xtraDb('PerconaXtraDBCluster', {
      state: 'error',
      observedGeneration: 2,
      message: ['Error: get secret: not found'],
    }),
    { verdict: 'progressing', mentions: 'get secret: not found' },
  ],
  [
    'a cluster with a status of the older generation progresses',
    xtraDb('PerconaXtraDBCluster', { state: 'ready', observedGeneration: 1 }),
    { verdict: 'progressing' },
  ],
  [
    'a paused cluster is paused',
    xtraDb('PerconaXtraDBCluster', { state: 'paused', observedGeneration: 2 }, { pause: true }),
    { verdict: 'suspended' },
  ],
  [
    'a backup that succeeded is ready',
    xtraDb('PerconaXtraDBClusterBackup', { state: 'Succeeded' }),
    { verdict: 'ready' },
  ],
  [
    'a backup that runs progresses',
    xtraDb('PerconaXtraDBClusterBackup', { state: 'Running' }),
    { verdict: 'progressing' },
  ],
  [
    'a backup that failed has failed',
    xtraDb('PerconaXtraDBClusterBackup', { state: 'Failed', error: 'no such storage' }),
    { verdict: 'failed', mentions: 'no such storage' },
  ],
  [
    'a restore that failed has failed, with its comment',
    xtraDb('PerconaXtraDBClusterRestore', { state: 'Failed', comments: 'backup is not found' }),
    { verdict: 'failed', mentions: 'backup is not found' },
  ],
])

const mongoDb = (status: object, kind = 'PerconaServerMongoDB'): SampleObject => ({
  apiVersion: 'psmdb.percona.com/v1',
  kind,
  metadata: { generation: 2 },
  spec: {},
  status: { observedGeneration: 2, ...status },
})

testEntries(perconaMongoDb, [
  ['a cluster in the state ready is ready', mongoDb({ state: 'ready', size: 3, ready: 3 }), { verdict: 'ready' }],
  [
    'a cluster whose smart update has not started progresses',
    mongoDb({ state: 'ready', conditions: [{ type: 'pendingSmartUpdate', status: 'True' }] }),
    { verdict: 'progressing' },
  ],
  [
    'a cluster with an error progresses, with its message',
    mongoDb({ state: 'error', message: 'Error: create mongos' }),
    { verdict: 'progressing', mentions: 'Error: create mongos' },
  ],
  [
    'a backup in the state error has failed',
    mongoDb({ state: 'error', error: 'starting deadline exceeded' }, 'PerconaServerMongoDBBackup'),
    { verdict: 'failed', mentions: 'starting deadline exceeded' },
  ],
  [
    'a restore that waits progresses',
    mongoDb({ state: 'waiting' }, 'PerconaServerMongoDBRestore'),
    { verdict: 'progressing' },
  ],
])

const postgres = (status: object, kind = 'PerconaPGCluster'): SampleObject => ({
  apiVersion: 'pgv2.percona.com/v2',
  kind,
  metadata: { generation: 2 },
  spec: {},
  status,
})

testEntries(perconaPostgres, [
  ['a cluster in the state ready is ready', postgres({ state: 'ready', observedGeneration: 2 }), { verdict: 'ready' }],
  [
    'a cluster in the state initializing progresses',
    postgres({ state: 'initializing', observedGeneration: 2 }),
    { verdict: 'progressing' },
  ],
  [
    'a cluster with a status of the older generation progresses',
    postgres({ state: 'ready', observedGeneration: 1 }),
    { verdict: 'progressing' },
  ],
  [
    'a backup that failed has failed',
    postgres({ state: 'Failed', error: 'no repo1' }, 'PerconaPGBackup'),
    { verdict: 'failed', mentions: 'no repo1' },
  ],
  ['a restore that succeeded is ready', postgres({ state: 'Succeeded' }, 'PerconaPGRestore'), { verdict: 'ready' }],
])

const mySql = (status: object, kind = 'PerconaServerMySQL'): SampleObject => ({
  apiVersion: 'ps.percona.com/v1',
  kind,
  spec: { mysql: { size: 3 } },
  status,
})

testEntries(perconaMySql, [
  [
    'a cluster in the state ready is ready',
    mySql({ state: 'ready', mysql: { size: 3, ready: 3 } }),
    { verdict: 'ready' },
  ],
  [
    'a ready state of fewer pods than the spec is stale',
    mySql({ state: 'ready', mysql: { size: 1, ready: 1 } }),
    { verdict: 'progressing' },
  ],
  [
    'a reconciliation that failed is repeated',
    mySql({
      state: 'error',
      conditions: [{ type: 'error', status: 'True', reason: 'ErrorReconcile', message: 'no Secret' }],
    }),
    { verdict: 'progressing', mentions: 'no Secret' },
  ],
  [
    'a full cluster crash waits for a person',
    mySql({
      state: 'error',
      conditions: [
        { type: 'error', status: 'True', reason: 'FullClusterCrashDetected', message: 'Full cluster crash detected' },
      ],
    }),
    { verdict: 'failed', mentions: 'Full cluster crash detected' },
  ],
  [
    'a full cluster crash that the operator recovers from progresses',
    {
      ...mySql({
        state: 'error',
        conditions: [
          { type: 'error', status: 'True', reason: 'FullClusterCrashDetected', message: 'Full cluster crash detected' },
        ],
      }),
      spec: { mysql: { size: 3, autoRecovery: true } },
    },
    { verdict: 'progressing', mentions: 'Full cluster crash detected' },
  ],
  [
    'a backup that could not start has failed',
    mySql({ state: 'Error', stateDescription: 'no storage s3' }, 'PerconaServerMySQLBackup'),
    { verdict: 'failed', mentions: 'no storage s3' },
  ],
  [
    'a restore whose cluster does not exist yet is tried again',
    mySql({ state: 'Error', stateDescription: 'PerconaServerMySQL main is not found' }, 'PerconaServerMySQLRestore'),
    { verdict: 'progressing', mentions: 'main is not found' },
  ],
  [
    'a restore whose Job failed has failed',
    mySql({ state: 'Failed', stateDescription: 'job failed' }, 'PerconaServerMySQLRestore'),
    { verdict: 'failed', mentions: 'job failed' },
  ],
  [
    'a restore that runs progresses',
    mySql({ state: 'Running' }, 'PerconaServerMySQLRestore'),
    { verdict: 'progressing' },
  ],
])
