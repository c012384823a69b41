import { beats, elasticsearch, kibana, stackConfigPolicy } from '../../../../src/lifecycle/custom/catalogue/elastic.ts'
import { type SampleObject, testEntries } from './cases.ts'

const version = '9.1.0'
const resource = (
  kind: string,
  status: object,
  metadata: SampleObject['metadata'] = {},
  spec: object = {},
): SampleObject => ({
  apiVersion: `${kind.toLowerCase()}.k8s.elastic.co/v1`,
  kind,
  metadata: { generation: 2, ...metadata },
  spec: { version, ...spec },
  status: { observedGeneration: 2, version, ...status },
})

const incomplete = (message: string) => ({
  conditions: [
    { type: 'ReconciliationComplete', status: 'False', message },
    { type: 'ElasticsearchIsReachable', status: 'True', message: 'Service shop/logs has endpoints' },
  ],
})

testEntries(elasticsearch, [
  ['a green cluster is ready', resource('Elasticsearch', { phase: 'Ready', health: 'green' }), { verdict: 'ready' }],
  [
    'a yellow cluster is ready: a single node has no place for replicas',
    resource('Elasticsearch', { phase: 'Ready', health: 'yellow' }),
    { verdict: 'ready' },
  ],
  [
    'a red cluster is not ready',
    resource('Elasticsearch', { phase: 'Ready', health: 'red' }),
    { verdict: 'progressing' },
  ],
  [
    'a green cluster during a rolling upgrade progresses',
    resource('Elasticsearch', {
      phase: 'ApplyingChanges',
      health: 'green',
      ...incomplete('Nodes upgrade in progress'),
    }),
    { verdict: 'progressing', mentions: 'Nodes upgrade in progress' },
  ],
  [
    'an invalid cluster has failed',
    resource('Elasticsearch', { phase: 'Invalid', health: 'unknown' }),
    { verdict: 'failed' },
  ],
  [
    'a cluster with a status of the older generation progresses',
    resource('Elasticsearch', { observedGeneration: 1, phase: 'Ready', health: 'green' }),
    { verdict: 'progressing' },
  ],
  [
    'a cluster that the operator does not manage is suspended',
    resource(
      'Elasticsearch',
      { observedGeneration: 1, phase: 'Ready' },
      { annotations: { 'eck.k8s.elastic.co/managed': 'false' } },
    ),
    { verdict: 'suspended' },
  ],
])

const kibanaOf = (status: object) =>
  resource('Kibana', { health: 'green', count: 2, availableNodes: 2, ...status }, {}, { count: 2 })

testEntries(kibana, [
  ['a green Kibana with all instances is ready', kibanaOf({ associationStatus: 'Established' }), { verdict: 'ready' }],
  ['a green Kibana during a rolling update progresses', kibanaOf({ count: 3 }), { verdict: 'progressing' }],
  ['a green Kibana of the older version progresses', kibanaOf({ version: '9.0.4' }), { verdict: 'progressing' }],
  [
    'a Kibana whose Elasticsearch is missing progresses',
    kibanaOf({ elasticsearchAssociationStatus: 'Pending' }),
    { verdict: 'progressing' },
  ],
  ['a red Kibana progresses', kibanaOf({ health: 'red', availableNodes: 0 }), { verdict: 'progressing' }],
])

testEntries(beats, [
  [
    'a Beat on all nodes is ready',
    resource('Beat', { health: 'green', availableNodes: 5, expectedNodes: 5 }),
    { verdict: 'ready' },
  ],
  [
    'a Beat on some nodes progresses',
    resource('Beat', { health: 'yellow', availableNodes: 3, expectedNodes: 5 }),
    { verdict: 'progressing' },
  ],
])

testEntries(stackConfigPolicy, [
  ['an applied policy is ready', resource('StackConfigPolicy', { phase: 'Ready' }), { verdict: 'ready' }],
  [
    'a policy that is applied progresses',
    resource('StackConfigPolicy', { phase: 'ApplyingChanges' }),
    { verdict: 'progressing' },
  ],
  ['a policy with a conflict has failed', resource('StackConfigPolicy', { phase: 'Conflict' }), { verdict: 'failed' }],
])
