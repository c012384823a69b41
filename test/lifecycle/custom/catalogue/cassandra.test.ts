import {
  cassandraTasks,
  cassOperator,
  k8ssandra,
  scylla,
} from '../../../../src/lifecycle/custom/catalogue/cassandra.ts'
import { type EntryCase, type SampleObject, testEntries } from './cases.ts'

const ready = { type: 'Ready', status: 'True', reason: '', message: '' }
const datacenter = (status: object, spec: object = {}): SampleObject => ({
  apiVersion: 'cassandra.datastax.com/v1beta1',
  kind: 'CassandraDatacenter',
  metadata: { generation: 2 },
  spec: { size: 3, ...spec },
  status: { observedGeneration: 2, cassandraOperatorProgress: 'Ready', conditions: [ready], ...status },
})

testEntries(cassOperator, [
  ['a datacenter that is reconciled is ready', datacenter({}), { verdict: 'ready' }],
  [
    'a datacenter that is updated progresses',
    datacenter({ cassandraOperatorProgress: 'Updating' }),
    { verdict: 'progressing' },
  ],
  [
    'a datacenter with the older generation progresses',
    datacenter({ observedGeneration: 1 }),
    { verdict: 'progressing' },
  ],
  [
    'an invalid datacenter has failed',
    datacenter({
      cassandraOperatorProgress: 'Updating',
      conditions: [
        { type: 'Valid', status: 'False', reason: 'shrinkingDataVolumeNotSupported', message: 'the PVC cannot shrink' },
      ],
    }),
    { verdict: 'failed', mentions: 'the PVC cannot shrink' },
  ],
  [
    'a datacenter whose claim is not resized yet progresses: the driver tries again',
    datacenter({
      cassandraOperatorProgress: 'Updating',
      conditions: [{ type: 'Valid', status: 'False', reason: 'pvcResizeFailed', message: 'PVC resize failed' }],
    }),
    { verdict: 'progressing', mentions: 'PVC resize failed' },
  ],
  [
    'a stopped datacenter is suspended',
    datacenter({ observedGeneration: 1 }, { stopped: true }),
    { verdict: 'suspended' },
  ],
])

const task = (conditions: readonly object[]): SampleObject => ({
  apiVersion: 'control.k8ssandra.io/v1alpha1',
  kind: 'CassandraTask',
  spec: {},
  status: { conditions },
})

testEntries(cassandraTasks, [
  [
    'a task that is complete is ready',
    task([{ type: 'Complete', status: 'True', reason: '', message: '' }]),
    { verdict: 'ready' },
  ],
  [
    'a task that runs progresses',
    task([{ type: 'Running', status: 'True', reason: '', message: '' }]),
    { verdict: 'progressing' },
  ],
  [
    'a task that failed has failed',
    task([
      { type: 'Complete', status: 'True', reason: '', message: '' },
      { type: 'Failed', status: 'True', reason: '', message: 'no management API' },
    ]),
    { verdict: 'failed', mentions: 'no management API' },
  ],
])

const cluster = (status: object): SampleObject => ({
  apiVersion: 'k8ssandra.io/v1alpha1',
  kind: 'K8ssandraCluster',
  metadata: { generation: 2 },
  spec: { cassandra: { datacenters: [{}, {}] } },
  status: { observedGeneration: 2, error: 'None', ...status },
})
const progress = (cassandraOperatorProgress: string) => ({ cassandra: { cassandraOperatorProgress } })

testEntries(k8ssandra, [
  [
    'a cluster whose datacenters are ready is ready',
    cluster({ datacenters: { dc1: progress('Ready'), dc2: progress('Ready') } }),
    { verdict: 'ready' },
  ],
  [
    'a cluster with a datacenter that is updated progresses',
    cluster({ datacenters: { dc1: progress('Ready'), dc2: progress('Updating') } }),
    { verdict: 'progressing' },
  ],
  [
    'a cluster without its second datacenter progresses',
    cluster({ datacenters: { dc1: progress('Ready') } }),
    { verdict: 'progressing' },
  ],
  [
    'a cluster with an error progresses, with the error',
    cluster({ error: 'failed to reconcile secrets', datacenters: {} }),
    { verdict: 'progressing', mentions: 'failed to reconcile secrets' },
  ],
])

const scyllaCluster = (
  available: string,
  progressing: string,
  degraded: string,
  message = '',
  kind = 'ScyllaCluster',
): SampleObject => ({
  apiVersion: 'scylla.scylladb.com/v1',
  kind,
  metadata: { generation: 2 },
  spec: {},
  status: {
    observedGeneration: 2,
    conditions: [
      { type: 'Available', status: available, reason: 'AsExpected', message: '', observedGeneration: 2 },
      { type: 'Progressing', status: progressing, reason: 'AsExpected', message, observedGeneration: 2 },
      { type: 'Degraded', status: degraded, reason: 'AsExpected', message: '', observedGeneration: 2 },
    ],
  },
})

testEntries(scylla, [
  ['an available cluster without a change is ready', scyllaCluster('True', 'False', 'False'), { verdict: 'ready' }],
  [
    'an available cluster with a change progresses',
    scyllaCluster('True', 'True', 'False', 'Waiting for StatefulSet "shop/db-rack-a" to roll out.'),
    { verdict: 'progressing', mentions: 'to roll out' },
  ],
  ...['ScyllaDBCluster', 'ScyllaDBDatacenter', 'ScyllaDBMonitoring', 'NodeConfig'].flatMap(
    (kind): readonly EntryCase[] => [
      [
        `an available ${kind} without a change is ready`,
        scyllaCluster('True', 'False', 'False', '', kind),
        { verdict: 'ready' },
      ],
      [
        `a ${kind} with a change progresses`,
        scyllaCluster('True', 'True', 'False', '', kind),
        { verdict: 'progressing' },
      ],
    ],
  ),
  ['a degraded cluster is not ready', scyllaCluster('True', 'False', 'True'), { verdict: 'progressing' }],
])
