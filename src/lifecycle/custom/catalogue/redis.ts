import { type CatalogueGroup, deployments, pods, statefulSets } from './entry.ts'
import { allOf, anyOf, isAnnotated } from './expressions.ts'

const opstreeSource = 'https://github.com/OT-CONTAINER-KIT/redis-operator/blob/main'
const enterpriseDocumentation = 'https://redis.io/docs/latest/operate/kubernetes/reference'

/** Kinds whose status the operator never writes. */
const unreported = {
  current: 'true',
  owns: [statefulSets, deployments, pods],
  isWorkload: true,
  awaitsWorkloads: true,
} as const

/** The operator of Opstree. */
export const opstreeRedis: CatalogueGroup = {
  group: 'redis.redis.opstreelabs.in',
  entries: [
    {
      kind: 'RedisCluster',
      documentation: `${opstreeSource}/internal/controller/rediscluster/rediscluster_controller.go`,
      // The status has no observedGeneration. A new number of replicas shows that it is old. The operator repairs the
      // state Failed.
      current: allOf(
        `status.state == 'Ready'`,
        `status.readyLeaderReplicas == spec.?redisLeader.?replicas.orValue(spec.clusterSize)`,
        `status.?readyFollowerReplicas.orValue(0) == spec.?redisFollower.?replicas.orValue(spec.clusterSize)`,
      ),
      suspended: isAnnotated('rediscluster.opstreelabs.in/skip-reconcile', 'true'),
      cause: [`status.reason`],
      owns: [statefulSets, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
    {
      kind: 'RedisReplication',
      documentation: `${opstreeSource}/internal/controller/redisreplication/redisreplication_controller.go`,
      current: `status.masterNode != ''`,
      suspended: isAnnotated('redisreplication.opstreelabs.in/skip-reconcile', 'true'),
      owns: [statefulSets, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
    {
      kind: 'Redis',
      documentation: `${opstreeSource}/api/redis/v1beta2/redis_types.go`,
      ...unreported,
      suspended: isAnnotated('redis.opstreelabs.in/skip-reconcile', 'true'),
    },
    {
      kind: 'RedisSentinel',
      documentation: `${opstreeSource}/api/redissentinel/v1beta2/redissentinel_types.go`,
      ...unreported,
      suspended: isAnnotated('redissentinel.opstreelabs.in/skip-reconcile', 'true'),
    },
  ],
}

/** The operator of Spotahome. */
export const spotahomeRedis: CatalogueGroup = {
  group: 'databases.spotahome.com',
  entries: [
    {
      kind: 'RedisFailover',
      documentation: 'https://github.com/spotahome/redis-operator/blob/master/api/redisfailover/v1/types.go',
      ...unreported,
    },
  ],
}

/** Redis Enterprise. */
export const redisEnterprise: CatalogueGroup = {
  group: 'app.redislabs.com',
  entries: [
    {
      kind: 'RedisEnterpriseCluster',
      documentation: `${enterpriseDocumentation}/redis_enterprise_cluster_api`,
      current: `status.state == 'Running' && status.?specStatus.orValue('Valid') == 'Valid'`,
      // The documentation does not state that the operator stops after other errors.
      failed: anyOf(`status.specStatus == 'Invalid'`, `status.state == 'InvalidUpgrade'`),
      owns: [statefulSets, pods],
      isWorkload: true,
    },
    {
      kind: 'RedisEnterpriseDatabase',
      documentation: `${enterpriseDocumentation}/redis_enterprise_database_api`,
      current: `status.status == 'active' && status.?specStatus.orValue('Valid') == 'Valid'`,
      failed: `status.specStatus == 'Invalid'`,
    },
    {
      kind: 'RedisEnterpriseActiveActiveDatabase',
      documentation: `${enterpriseDocumentation}/redis_enterprise_active_active_database_api`,
      current: `status.status == 'active' && status.?specStatus.orValue('Valid') == 'Valid'`,
      failed: `status.specStatus == 'Invalid'`,
    },
  ],
}
