import { openSearch } from '../../../../src/lifecycle/custom/catalogue/opensearch.ts'
import { type SampleObject, testEntries } from './cases.ts'

const cluster = (status: object): SampleObject => ({
  apiVersion: 'opensearch.org/v1',
  kind: 'OpenSearchCluster',
  spec: { general: { version: '3.1.0' }, nodePools: [{ component: 'masters', replicas: 3 }] },
  status: {
    phase: 'RUNNING',
    initialized: true,
    health: 'green',
    version: '3.1.0',
    availableNodes: 3,
    componentsStatus: [],
    ...status,
  },
})
const user = (state: string, reason = ''): SampleObject => ({
  apiVersion: 'opensearch.org/v1',
  kind: 'OpensearchUser',
  spec: {},
  status: { state, reason },
})

testEntries(openSearch, [
  ['a green cluster with all nodes is ready', cluster({}), { verdict: 'ready' }],
  [
    'a cluster of an old operator has no health',
    cluster({ health: undefined, availableNodes: undefined }),
    { verdict: 'ready' },
  ],
  ['a yellow cluster of several nodes progresses', cluster({ health: 'yellow' }), { verdict: 'progressing' }],
  [
    'a new cluster progresses, although its phase is RUNNING',
    cluster({ initialized: false, health: 'unknown', availableNodes: 0 }),
    { verdict: 'progressing' },
  ],
  [
    'a green cluster of the older version has a stale status',
    cluster({ version: '2.19.2' }),
    { verdict: 'progressing' },
  ],
  ['a green cluster without a new node has a stale status', cluster({ availableNodes: 2 }), { verdict: 'progressing' }],
  [
    'a cluster with a node pool that is upgraded progresses',
    cluster({ componentsStatus: [{ component: 'Upgrader', description: 'masters', status: 'Upgrading' }] }),
    { verdict: 'progressing' },
  ],
  ['a user that is created is ready', user('CREATED'), { verdict: 'ready' }],
  [
    'a user whose cluster is not ready progresses',
    user('PENDING', 'waiting for opensearch cluster'),
    { verdict: 'progressing', mentions: 'waiting for opensearch' },
  ],
  [
    'a user with an error is tried again',
    user('ERROR', 'failed to get secret'),
    { verdict: 'progressing', mentions: 'failed to get secret' },
  ],
  [
    'a user that existed before is not managed',
    user('IGNORED', 'user already exists'),
    { verdict: 'suspended', mentions: 'user already exists' },
  ],
])
