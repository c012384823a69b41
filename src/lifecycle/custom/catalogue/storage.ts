import { type CatalogueGroup, pods, statefulSets } from './entry.ts'
import { allOf } from './expressions.ts'

const snapshotSource = 'https://github.com/kubernetes-csi/external-snapshotter/blob/master/client/apis'

/**
 * The controllers retry after every error, and remove it after a success
 * (https://github.com/kubernetes-csi/external-snapshotter/blob/master/pkg/sidecar-controller/snapshot_controller.go).
 */
const snapshot = (documentation: string) => ({
  documentation: `${snapshotSource}/${documentation}`,
  current: `status.readyToUse`,
  inProgress: `!status.?readyToUse.orValue(false) && has(status.error)`,
  cause: [`status.error.message`],
})

/** Snapshots of volumes. */
export const volumeSnapshots: CatalogueGroup = {
  group: 'snapshot.storage.k8s.io',
  entries: [
    { kind: 'VolumeSnapshot', ...snapshot('volumesnapshot/v1/types.go') },
    { kind: 'VolumeSnapshotContent', ...snapshot('volumesnapshot/v1/types.go') },
  ],
}

/** Snapshots of groups of volumes. */
export const volumeGroupSnapshots: CatalogueGroup = {
  group: 'groupsnapshot.storage.k8s.io',
  entries: [
    { kind: 'VolumeGroupSnapshot', ...snapshot('volumegroupsnapshot/v1/types.go') },
    { kind: 'VolumeGroupSnapshotContent', ...snapshot('volumegroupsnapshot/v1/types.go') },
  ],
}

/** MinIO. */
export const minio: CatalogueGroup = {
  group: 'minio.min.io',
  entries: [
    {
      kind: 'Tenant',
      documentation: 'https://github.com/minio/operator/blob/master/pkg/controller/main-controller.go',
      // The status has no observedGeneration: the number of pools shows whether it is old.
      current: allOf(
        `status.currentState == 'Initialized'`,
        `status.?healthStatus.orValue('green') == 'green'`,
        `status.pools.size() == spec.pools.size()`,
        `status.pools.all(p, p.state == 'PoolInitialized')`,
      ),
      // The operator does not repeat these (`return nil so we don't re-queue`), or only a change of the spec helps.
      failed: `status.currentState in ['Another MinIO Tenant already exists in the namespace',
        'Statefulset not controlled by operator', 'Pool Decommissioning Not Allowed']`,
      cause: [`status.currentState == 'Initialized' ? '' : status.currentState`, `status.healthMessage`],
      owns: [statefulSets, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
  ],
}
