import { velero } from '../../../../src/lifecycle/custom/catalogue/velero.ts'
import { type SampleObject, testEntries } from './cases.ts'

/** Velero writes neither a generation nor conditions. */
const object = (kind: string, phase: string, more: object = {}): SampleObject => ({
  apiVersion: 'velero.io/v1',
  kind,
  spec: {},
  status: { phase, ...more },
})

testEntries(velero, [
  ...(['Backup', 'Restore', 'PodVolumeBackup', 'PodVolumeRestore', 'DataUpload', 'DataDownload'] as const).flatMap(
    (kind) =>
      [
        [`a completed ${kind} is ready`, object(kind, 'Completed'), { verdict: 'ready' }],
        [`a new ${kind} progresses`, object(kind, 'New'), { verdict: 'progressing', isHeld: false }],
        [
          `a ${kind} in progress progresses, as long as it takes`,
          object(kind, 'InProgress'),
          { verdict: 'progressing', isHeld: true },
        ],
        [
          `a failed ${kind} quotes the failure`,
          object(kind, 'Failed', { message: 'error to expose snapshot' }),
          { verdict: 'failed', mentions: 'error to expose snapshot' },
        ],
      ] as const,
  ),
  [
    'a Backup that waits for its plugins progresses, as long as they take',
    object('Backup', 'WaitingForPluginOperationsPartiallyFailed', { errors: 1 }),
    { verdict: 'progressing', isHeld: true },
  ],
  [
    'a partially failed Backup has failed',
    object('Backup', 'PartiallyFailed', { errors: 3, warnings: 1 }),
    { verdict: 'failed', mentions: '3 errors, 1 warnings' },
  ],
  [
    'an invalid Restore has failed',
    object('Restore', 'FailedValidation', { validationErrors: ['backup "nightly" not found'] }),
    { verdict: 'failed', mentions: 'backup "nightly" not found' },
  ],
  ['a new Schedule progresses', object('Schedule', 'New'), { verdict: 'progressing' }],
  ['an enabled Schedule is ready', object('Schedule', 'Enabled'), { verdict: 'ready' }],
  [
    'a Schedule with an invalid expression has failed',
    object('Schedule', 'FailedValidation', { validationErrors: ['invalid schedule: expected exactly 5 fields'] }),
    { verdict: 'failed', mentions: 'expected exactly 5 fields' },
  ],
  ['an available BackupStorageLocation is ready', object('BackupStorageLocation', 'Available'), { verdict: 'ready' }],
  [
    'an unavailable BackupStorageLocation is validated again',
    object('BackupStorageLocation', 'Unavailable', { message: 'NoSuchBucket: the bucket does not exist' }),
    { verdict: 'progressing', mentions: 'NoSuchBucket' },
  ],
  ['a connected BackupRepository is ready', object('BackupRepository', 'Ready'), { verdict: 'ready' }],
  [
    'a BackupRepository that is not connected is tried again',
    object('BackupRepository', 'NotReady', { message: 'error to connect to backup repo' }),
    { verdict: 'progressing', mentions: 'error to connect to backup repo' },
  ],
])
