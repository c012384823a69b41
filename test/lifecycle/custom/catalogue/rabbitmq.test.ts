import { rabbitMq } from '../../../../src/lifecycle/custom/catalogue/rabbitmq.ts'
import { type SampleObject, testEntries } from './cases.ts'

const resource = (kind: string, status: object, metadata: SampleObject['metadata'] = {}): SampleObject => ({
  apiVersion: 'rabbitmq.com/v1beta1',
  kind,
  metadata: { generation: 2, ...metadata },
  spec: {},
  status: { observedGeneration: 2, ...status },
})

const condition = (type: string, isTrue: boolean, rest: object = {}) => ({
  type,
  status: isTrue ? 'True' : 'False',
  reason: isTrue ? 'Success' : 'Error',
  message: '',
  ...rest,
})
const replicas = condition('AllReplicasReady', true)
const reconciled = condition('ReconcileSuccess', true)
const notAll = condition('AllReplicasReady', false, { reason: 'NotAllPodsReady', message: '2/3 Pods ready' })

testEntries(rabbitMq, [
  [
    'a cluster that is reconciled with all replicas is ready',
    resource('RabbitmqCluster', { conditions: [replicas, condition('NoWarnings', true), reconciled] }),
    { verdict: 'ready' },
  ],
  [
    'a warning does not keep a cluster from ready',
    resource('RabbitmqCluster', { conditions: [replicas, condition('NoWarnings', false), reconciled] }),
    { verdict: 'ready' },
  ],
  [
    'a cluster with replicas that start progresses',
    resource('RabbitmqCluster', { conditions: [notAll, reconciled] }),
    { verdict: 'progressing', mentions: '2/3 Pods ready' },
  ],
  [
    'a cluster that is scaled to zero is ready',
    resource('RabbitmqCluster', {
      conditions: [condition('AllReplicasReady', false, { reason: 'ScaledToZero' }), reconciled],
    }),
    { verdict: 'ready' },
  ],
  [
    'a cluster that cannot be reconciled progresses, with the reason',
    resource('RabbitmqCluster', {
      conditions: [replicas, condition('ReconcileSuccess', false, { message: 'Failed to get CA certificate secret' })],
    }),
    { verdict: 'progressing', mentions: 'Failed to get CA certificate secret' },
  ],
  [
    'a new cluster with an invalid configuration has failed',
    resource('RabbitmqCluster', {
      observedGeneration: undefined,
      conditions: [condition('ReconcileSuccess', false, { reason: 'InvalidConfiguration', message: 'bad envConfig' })],
    }),
    { verdict: 'failed', mentions: 'bad envConfig' },
  ],
  [
    'a cluster during a rolling update keeps its old generation, and progresses',
    resource('RabbitmqCluster', { observedGeneration: 1, conditions: [replicas, reconciled] }),
    { verdict: 'progressing' },
  ],
  [
    'a cluster whose reconciliation is paused is paused',
    resource(
      'RabbitmqCluster',
      { observedGeneration: 1, conditions: [replicas, reconciled] },
      { labels: { 'rabbitmq.com/pauseReconciliation': 'true' } },
    ),
    { verdict: 'suspended', hint: 'kubectl label rabbitmqcluster sample' },
  ],
  ['a declared Queue is ready', resource('Queue', { conditions: [condition('Ready', true)] }), { verdict: 'ready' }],
  [
    'a Vhost that cannot be declared yet progresses',
    resource('Vhost', {
      observedGeneration: 0,
      conditions: [condition('Ready', false, { message: 'dial tcp: refused' })],
    }),
    { verdict: 'progressing' },
  ],
  [
    'a new User without its cluster progresses with the message',
    resource('User', {
      observedGeneration: undefined,
      conditions: [condition('Ready', false, { message: 'no cluster' })],
    }),
    { verdict: 'progressing', mentions: 'no cluster' },
  ],
])
