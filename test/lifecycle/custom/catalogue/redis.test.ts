import { opstreeRedis, redisEnterprise, spotahomeRedis } from '../../../../src/lifecycle/custom/catalogue/redis.ts'
import { type SampleObject, testEntries } from './cases.ts'

const opstree = (kind: string, status: object | undefined, metadata: SampleObject['metadata'] = {}): SampleObject => ({
  apiVersion: 'redis.redis.opstreelabs.in/v1beta2',
  kind,
  metadata,
  spec: { clusterSize: 3 },
  ...(status === undefined ? {} : { status }),
})
const cluster = (status: object, metadata: SampleObject['metadata'] = {}) =>
  opstree('RedisCluster', { state: 'Ready', readyLeaderReplicas: 3, readyFollowerReplicas: 3, ...status }, metadata)

testEntries(opstreeRedis, [
  ['a RedisCluster in the state Ready is ready', cluster({}), { verdict: 'ready' }],
  [
    'a RedisCluster whose slots are assigned progresses',
    cluster({ state: 'Bootstrap', reason: 'RedisCluster is bootstrapping' }),
    { verdict: 'progressing', mentions: 'RedisCluster is bootstrapping' },
  ],
  [
    'a RedisCluster that is to grow has a stale status',
    cluster({ readyLeaderReplicas: 2 }),
    { verdict: 'progressing' },
  ],
  [
    'a RedisCluster with unhealthy nodes is repaired',
    cluster({ state: 'Failed', reason: 'RedisCluster has unhealthy nodes' }),
    { verdict: 'progressing', mentions: 'unhealthy nodes' },
  ],
  [
    'a RedisCluster that the operator skips is suspended',
    cluster({}, { annotations: { 'rediscluster.opstreelabs.in/skip-reconcile': 'true' } }),
    { verdict: 'suspended' },
  ],
  [
    'a RedisReplication with a master is ready',
    opstree('RedisReplication', { masterNode: 'cache-0' }),
    { verdict: 'ready' },
  ],
  ['a RedisReplication without a master progresses', opstree('RedisReplication', {}), { verdict: 'progressing' }],
  ['a Redis never has a status', opstree('Redis', undefined), { verdict: 'ready' }],
  ['a RedisSentinel never has a status', opstree('RedisSentinel', undefined), { verdict: 'ready' }],
])

testEntries(spotahomeRedis, [
  [
    'a RedisFailover never has a status',
    { apiVersion: 'databases.spotahome.com/v1', kind: 'RedisFailover', spec: {} },
    { verdict: 'ready' },
  ],
])

const enterprise = (kind: string, status: object): SampleObject => ({
  apiVersion: 'app.redislabs.com/v1',
  kind,
  spec: {},
  status,
})

testEntries(redisEnterprise, [
  [
    'a cluster that runs is ready',
    enterprise('RedisEnterpriseCluster', { state: 'Running', specStatus: 'Valid' }),
    { verdict: 'ready' },
  ],
  [
    'a cluster whose first pod starts progresses',
    enterprise('RedisEnterpriseCluster', { state: 'BootstrappingFirstPod' }),
    { verdict: 'progressing' },
  ],
  [
    'an invalid cluster has failed',
    enterprise('RedisEnterpriseCluster', { state: 'Running', specStatus: 'Invalid' }),
    { verdict: 'failed' },
  ],
  [
    'an active database is ready',
    enterprise('RedisEnterpriseDatabase', { status: 'active', specStatus: 'Valid' }),
    { verdict: 'ready' },
  ],
  [
    'a pending database progresses',
    enterprise('RedisEnterpriseDatabase', { status: 'pending', specStatus: 'Valid' }),
    { verdict: 'progressing' },
  ],
  [
    'a database that could not be created yet progresses',
    enterprise('RedisEnterpriseDatabase', { status: 'creation-failed' }),
    { verdict: 'progressing', mentions: 'creation-failed' },
  ],
  [
    'an active database of several clusters is ready',
    enterprise('RedisEnterpriseActiveActiveDatabase', { status: 'active', specStatus: 'Valid' }),
    { verdict: 'ready' },
  ],
  [
    'an invalid database of several clusters has failed',
    enterprise('RedisEnterpriseActiveActiveDatabase', { status: 'active', specStatus: 'Invalid' }),
    { verdict: 'failed' },
  ],
])
