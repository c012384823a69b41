import {
  apmServer,
  beats,
  elasticAgent,
  elasticMaps,
  elasticsearch,
  enterpriseSearch,
  kibana,
  logstash,
  stackConfigPolicy,
} from '../../../../src/lifecycle/custom/catalogue/elastic.ts'
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

const cluster = (status: object, metadata: SampleObject['metadata'] = {}, nodeSets: readonly object[] = threeNodes) =>
  resource('Elasticsearch', { phase: 'Ready', health: 'green', availableNodes: 3, ...status }, metadata, { nodeSets })
const threeNodes = [
  { name: 'masters', count: 1 },
  { name: 'data', count: 2 },
]

testEntries(elasticsearch, [
  ['a green cluster with all nodes is ready', cluster({}), { verdict: 'ready' }],
  ['a green cluster without its new nodes progresses', cluster({ availableNodes: 2 }), { verdict: 'progressing' }],
  [
    'a yellow cluster progresses: replicas of shards are recovered',
    cluster({ health: 'yellow' }),
    { verdict: 'progressing' },
  ],
  [
    'a yellow cluster of one node is ready: its replicas have no other node',
    cluster({ health: 'yellow', availableNodes: 1 }, {}, [{ name: 'all', count: 1 }]),
    { verdict: 'ready' },
  ],
  [
    'a red cluster may recover: its only node has restarted, and its shards are not allocated yet',
    cluster({ health: 'red' }),
    { verdict: 'progressing' },
  ],
  [
    'a new cluster is red while its nodes start',
    cluster({ phase: 'ApplyingChanges', health: 'red', availableNodes: 0 }),
    { verdict: 'progressing' },
  ],
  [
    'a green cluster during a rolling upgrade progresses',
    cluster({ phase: 'ApplyingChanges', ...incomplete('Nodes upgrade in progress') }),
    { verdict: 'progressing', mentions: 'Nodes upgrade in progress' },
  ],
  ['an invalid cluster has failed', cluster({ phase: 'Invalid', health: 'unknown' }), { verdict: 'failed' }],
  [
    'a cluster with a status of the older generation progresses',
    cluster({ observedGeneration: 1 }),
    { verdict: 'progressing' },
  ],
  [
    'a cluster that the operator does not manage is suspended',
    cluster({ observedGeneration: 1 }, { annotations: { 'eck.k8s.elastic.co/managed': 'false' } }),
    { verdict: 'suspended' },
  ],
])

const kibanaOf = (status: object) =>
  resource('Kibana', { health: 'green', count: 2, availableNodes: 2, ...status }, {}, { count: 2 })

testEntries(kibana, [
  ['a green Kibana with all instances is ready', kibanaOf({ associationStatus: 'Established' }), { verdict: 'ready' }],
  ['a green Kibana during a rolling update progresses', kibanaOf({ count: 3 }), { verdict: 'progressing' }],
  [
    'a Kibana whose Elasticsearch is missing progresses',
    kibanaOf({ elasticsearchAssociationStatus: 'Pending' }),
    { verdict: 'progressing' },
  ],
  ['a red Kibana progresses', kibanaOf({ health: 'red', availableNodes: 0 }), { verdict: 'progressing' }],
])

for (const [group, kind] of [
  [apmServer, 'ApmServer'],
  [enterpriseSearch, 'EnterpriseSearch'],
  [elasticMaps, 'ElasticMapsServer'],
] as const)
  testEntries(group, [
    [
      `a green ${kind} is ready`,
      resource(kind, { health: 'green', count: 1, availableNodes: 1 }, {}, { count: 1 }),
      { verdict: 'ready' },
    ],
    [
      `a red ${kind} progresses: its pods start`,
      resource(kind, { health: 'red' }, {}, { count: 1 }),
      { verdict: 'progressing' },
    ],
  ])

for (const [group, kind] of [
  [beats, 'Beat'],
  [elasticAgent, 'Agent'],
  [logstash, 'Logstash'],
] as const)
  testEntries(group, [
    [
      `a ${kind} on all nodes is ready`,
      resource(kind, { health: 'green', availableNodes: 5, expectedNodes: 5 }),
      { verdict: 'ready' },
    ],
    [
      `a ${kind} on some nodes progresses`,
      resource(kind, { health: 'yellow', availableNodes: 3, expectedNodes: 5 }),
      { verdict: 'progressing' },
    ],
    [
      `a ${kind} is red while its pods start`,
      resource(kind, { health: 'red', expectedNodes: 5 }),
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
  ['an invalid policy has failed', resource('StackConfigPolicy', { phase: 'Invalid' }), { verdict: 'failed' }],
  [
    'a policy with a conflict waits for a change of the other policy, and the conflict is quoted',
    resource('StackConfigPolicy', {
      phase: 'Conflict',
      details: {
        elasticsearch: { 'shop/main': { phase: 'Conflict', error: { message: 'conflict with policy "base"' } } },
        kibana: { 'shop/main': { phase: 'Ready' } },
      },
    }),
    { verdict: 'progressing', mentions: 'conflict with policy "base"' },
  ],
])
