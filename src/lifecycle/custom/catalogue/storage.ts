import { type CatalogueGroup, pods, statefulSets } from './entry.ts'
import { allOf } from './expressions.ts'

const snapshotSource = 'https://github.com/kubernetes-csi/external-snapshotter/blob/master/client/apis'

/**
 * The controller retries a failed snapshot, and removes the error after a success. Errors of these codes are expected
 * while a driver works, or while a limit of the storage is reached
 * (https://github.com/container-storage-interface/spec/blob/master/spec.md#error-scheme).
 */
const snapshot = (documentation: string) => ({
  documentation: `${snapshotSource}/${documentation}`,
  current: `status.readyToUse`,
  failed: `!status.?readyToUse.orValue(false)
    && !status.error.message.matches('DeadlineExceeded|Unavailable|Aborted|ResourceExhausted|has been modified')`,
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
      failed: `status.currentState in ['Another MinIO Tenant already exists in the namespace',
        'Statefulset not controlled by operator', 'Pool Decommissioning Not Allowed']`,
      cause: [`status.currentState == 'Initialized' ? '' : status.currentState`, `status.healthMessage`],
      owns: [statefulSets, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
  ],
}
