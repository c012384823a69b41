import { type CatalogueGroup, pods, statefulSets } from './entry.ts'
import { allOf } from './expressions.ts'

const source = 'https://github.com/mongodb/mongodb-kubernetes/blob/master'

/** The operator repeats a reconciliation that failed after ten seconds. */
const resource = {
  documentation: `${source}/api/mongodb/v1/status/phase.go`,
  failed: `status.phase == 'Unsupported'`,
  cause: [`status.message`],
}
const deployment = {
  ...resource,
  current: `status.phase == 'Running'`,
  suspended: `status.phase == 'Disabled'`,
  owns: [statefulSets, pods],
  isWorkload: true,
} as const

/** MongoDB Community. */
export const mongoDbCommunity: CatalogueGroup = {
  group: 'mongodbcommunity.mongodb.com',
  entries: [
    {
      kind: 'MongoDBCommunity',
      documentation:
        'https://github.com/mongodb/mongodb-kubernetes-operator/blob/master/controllers/replica_set_controller.go',
      // The status has no observedGeneration. A new version and a new number of members show that it is old.
      current: allOf(
        `status.phase == 'Running'`,
        `status.?version.orValue(spec.version) == spec.version`,
        `status.currentMongoDBMembers == spec.members`,
      ),
      failed: `status.phase == 'Failed' && status.message.startsWith('error validating new Spec')`,
      cause: [`status.message`],
      owns: [statefulSets, pods],
      isWorkload: true,
    },
  ],
}

/** MongoDB Controllers for Kubernetes. */
export const mongoDb: CatalogueGroup = {
  group: 'mongodb.com',
  entries: [
    { kind: 'MongoDB', ...deployment },
    { kind: 'MongoDBMultiCluster', ...deployment },
    { kind: 'MongoDBSearch', ...deployment },
    {
      kind: 'MongoDBOpsManager',
      documentation: `${source}/api/mongodb/v1/om/opsmanager_types.go`,
      current: allOf(
        `status.opsManager.phase == 'Running'`,
        `status.applicationDatabase.phase == 'Running'`,
        `status.?backup.?phase.orValue('Disabled') in ['Running', 'Disabled']`,
      ),
      // Each part has its own generation.
      inProgress: `status.opsManager.observedGeneration < metadata.generation
        || status.applicationDatabase.observedGeneration < metadata.generation`,
      cause: [`[status.?opsManager, status.?applicationDatabase, status.?backup].map(p, p.?message.orValue(''))`],
      owns: [statefulSets, pods],
      isWorkload: true,
    },
    { kind: 'MongoDBUser', ...resource, current: `status.phase == 'Updated'` },
  ],
}
