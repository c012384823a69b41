import { type CatalogueGroup, deployments, jobs, pods } from './entry.ts'

const source = 'https://github.com/rook/rook/blob/master/pkg/operator/ceph'

/** The operator retries a reconciliation that failed, and writes the generation when one has succeeded. */
const reconciled = { current: `status.phase == 'Ready'`, cause: [`status.message`] }

const types = 'https://github.com/rook/rook/blob/master/pkg/apis/ceph.rook.io/v1/types.go'
/** Kinds with a phase, without pods that a user waits for. */
const phasedKinds = [
  'CephBlockPool',
  'CephBlockPoolRadosNamespace',
  'CephBucketNotification',
  'CephBucketTopic',
  'CephClient',
  'CephFilesystemMirror',
  'CephFilesystemSubVolumeGroup',
  'CephNFS',
  'CephObjectRealm',
  'CephObjectStoreAccount',
  'CephObjectStoreUser',
  'CephObjectZone',
  'CephObjectZoneGroup',
  'CephRBDMirror',
]

/** Rook: Ceph. */
export const rookCeph: CatalogueGroup = {
  group: 'ceph.rook.io',
  entries: [
    {
      kind: 'CephCluster',
      documentation: `${source}/controller/conditions.go`,
      // An external cluster is Connected, and has no observedGeneration.
      current: `(status.phase == 'Ready' || (spec.external.enable && status.phase == 'Connected'))
        && status.?ceph.?health.orValue('HEALTH_OK') != 'HEALTH_ERR'`,
      cause: [
        `status.phase == 'Ready' ? '' : status.message`,
        `status.ceph.details.map(d, status.ceph.details[d].message)`,
      ],
      owns: [deployments, jobs, pods],
      isWorkload: true,
    },
    {
      kind: 'CephFilesystem',
      documentation: `${source}/file/controller.go`,
      ...reconciled,
      owns: [deployments, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
    {
      kind: 'CephObjectStore',
      documentation: `${source}/object/status.go`,
      ...reconciled,
      owns: [deployments, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
    ...phasedKinds.map((kind) => ({ kind, documentation: types, ...reconciled })),
  ],
}
