import { type CatalogueEntry, type CatalogueGroup, pods } from './entry.ts'

const types = 'https://github.com/vmware-tanzu/velero/blob/main/pkg/apis/velero'

/** Work with an end: its phase is `Completed`, or one of the failures, which are not repeated. */
function work(kind: string, file: string, more: Partial<CatalogueEntry> = {}): CatalogueEntry {
  return {
    kind,
    documentation: `${types}/${file}`,
    current: `status.phase == 'Completed'`,
    failed: `status.phase in ['Failed', 'PartiallyFailed', 'FailedValidation', 'Canceled']`,
    // Plugins and the node agent move the data; they have timeouts of hours.
    stallHold: `status.phase.startsWith('WaitingForPluginOperations') || status.phase == 'InProgress'`,
    cause: [
      `status.validationErrors`,
      `status.failureReason`,
      `status.message`,
      `string(status.errors) + ' errors, ' + string(status.?warnings.orValue(0)) + ' warnings'`,
    ],
    ...more,
  }
}

export const velero: CatalogueGroup = {
  group: 'velero.io',
  entries: [
    work('Backup', 'v1/backup_types.go'),
    work('Restore', 'v1/restore_types.go'),
    work('PodVolumeBackup', 'v1/pod_volume_backup_types.go', { owns: [pods] }),
    work('PodVolumeRestore', 'v1/pod_volume_restore_type.go', { owns: [pods] }),
    work('DataUpload', 'v2alpha1/data_upload_types.go', { owns: [pods] }),
    work('DataDownload', 'v2alpha1/data_download_types.go', { owns: [pods] }),
    {
      kind: 'Schedule',
      documentation: `${types}/v1/schedule_types.go`,
      current: `status.phase == 'Enabled'`,
      failed: `status.phase == 'FailedValidation'`,
      cause: [`status.validationErrors`],
    },
    {
      // An unavailable location is validated again every minute.
      kind: 'BackupStorageLocation',
      documentation: `${types}/v1/backupstoragelocation_types.go`,
      current: `status.phase == 'Available'`,
      cause: [`status.message`],
    },
    {
      // A repository that is not ready is connected again.
      kind: 'BackupRepository',
      documentation: `${types}/v1/backup_repository_types.go`,
      current: `status.phase == 'Ready'`,
      cause: [`status.message`],
    },
  ],
}
