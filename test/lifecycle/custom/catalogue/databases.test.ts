import {
  clickHouse,
  clickHouseKeeper,
  cockroachDb,
  kubeBlocks,
  kubeBlocksDataProtection,
  kubeBlocksOperations,
  tidb,
} from '../../../../src/lifecycle/custom/catalogue/databases.ts'
import { type SampleObject, testEntries } from './cases.ts'

const installation = (status: object, spec: object = {}): SampleObject => ({
  apiVersion: 'clickhouse.altinity.com/v1',
  kind: 'ClickHouseInstallation',
  spec,
  status: { hosts: 2, ...status },
})

testEntries(clickHouse, [
  ['a completed installation is ready', installation({ status: 'Completed' }), { verdict: 'ready' }],
  [
    'an installation in progress progresses',
    installation({ status: 'InProgress', hostsCompleted: 1 }),
    { verdict: 'progressing' },
  ],
  [
    'an aborted installation has failed',
    installation({ status: 'Aborted', errors: ['FAILED to reconcile StatefulSet chi-logs-0-0'] }),
    { verdict: 'failed', mentions: 'FAILED to reconcile StatefulSet' },
  ],
  [
    'a suspended installation is suspended',
    installation({ status: 'Completed' }, { suspend: 'yes' }),
    { verdict: 'suspended' },
  ],
])

const keeper = (status: string): SampleObject => ({
  ...installation({ status }),
  apiVersion: 'clickhouse-keeper.altinity.com/v1',
  kind: 'ClickHouseKeeperInstallation',
})

testEntries(clickHouseKeeper, [
  ['a completed Keeper is ready', keeper('Completed'), { verdict: 'ready' }],
  ['an aborted Keeper has failed', keeper('Aborted'), { verdict: 'failed' }],
])

const tidbCluster = (status: string, reason: string, message: string, spec: object = {}): SampleObject => ({
  apiVersion: 'pingcap.com/v1alpha1',
  kind: 'TidbCluster',
  spec,
  status: { conditions: [{ type: 'Ready', status, reason, message }] },
})

testEntries(tidb, [
  [
    'a cluster that is up is ready',
    tidbCluster('True', 'Ready', 'TiDB cluster is fully up and running'),
    { verdict: 'ready' },
  ],
  [
    'a cluster during a rolling update progresses',
    tidbCluster('False', 'StatefulSetNotUpToDate', 'Statefulset(s) are in progress'),
    { verdict: 'progressing', mentions: 'Statefulset(s) are in progress' },
  ],
  ['a paused cluster is paused', tidbCluster('True', 'Ready', '', { paused: true }), { verdict: 'suspended' }],
])

const crdb = (clusterStatus: string, ...operatorActions: readonly object[]): SampleObject => ({
  apiVersion: 'crdb.cockroachlabs.com/v1alpha1',
  kind: 'CrdbCluster',
  spec: {},
  status: { clusterStatus, operatorActions, conditions: [{ type: 'Initialized', status: 'True' }] },
})

testEntries(cockroachDb, [
  ['a cluster whose actions finished is ready', crdb('Finished'), { verdict: 'ready' }],
  ['a cluster that starts progresses', crdb('Starting'), { verdict: 'progressing' }],
  [
    'an action that failed is tried again',
    crdb('Failed', { type: 'Deploy', status: 'Failed', message: 'pods are not running' }),
    { verdict: 'progressing', mentions: 'pods are not running' },
  ],
])

const block = (group: string, kind: string, status: object): SampleObject => ({
  apiVersion: `${group}.kubeblocks.io/v1`,
  kind,
  metadata: { generation: 2 },
  spec: {},
  status: { observedGeneration: 2, ...status },
})

testEntries(kubeBlocks, [
  ['a cluster that runs is ready', block('apps', 'Cluster', { phase: 'Running' }), { verdict: 'ready' }],
  ['a cluster that is updated progresses', block('apps', 'Cluster', { phase: 'Updating' }), { verdict: 'progressing' }],
  [
    'a failed cluster may recover, and its condition is quoted',
    block('apps', 'Cluster', {
      phase: 'Failed',
      conditions: [
        { type: 'Ready', status: 'False', reason: 'NotReady', message: 'cluster has unavailable components' },
      ],
    }),
    { verdict: 'progressing', mentions: 'unavailable components' },
  ],
  [
    'a cluster of the older generation progresses',
    block('apps', 'Cluster', { observedGeneration: 1, phase: 'Running' }),
    { verdict: 'progressing' },
  ],
  ['a component that runs is ready', block('apps', 'Component', { phase: 'Running' }), { verdict: 'ready' }],
  ['a component that starts progresses', block('apps', 'Component', { phase: 'Starting' }), { verdict: 'progressing' }],
  ['a stopped cluster is suspended', block('apps', 'Cluster', { phase: 'Stopped' }), { verdict: 'suspended' }],
])

testEntries(kubeBlocksOperations, [
  [
    'an operation that succeeded is ready',
    block('operations', 'OpsRequest', { phase: 'Succeed' }),
    { verdict: 'ready' },
  ],
  [
    'a running operation progresses',
    block('operations', 'OpsRequest', { phase: 'Running' }),
    { verdict: 'progressing' },
  ],
  [
    'a cancelled operation has failed',
    block('operations', 'OpsRequest', { phase: 'Cancelled' }),
    { verdict: 'failed' },
  ],
])

testEntries(kubeBlocksDataProtection, [
  ['a completed backup is ready', block('dataprotection', 'Backup', { phase: 'Completed' }), { verdict: 'ready' }],
  [
    'a failed backup has failed',
    block('dataprotection', 'Backup', { phase: 'Failed', failureReason: 'no backup repository' }),
    { verdict: 'failed', mentions: 'no backup repository' },
  ],
])
