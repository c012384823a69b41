import { longhorn } from '../../../../src/lifecycle/custom/catalogue/longhorn.ts'
import { type SampleObject, testEntries } from './cases.ts'

const resource = (kind: string, status: object, spec: object = {}): SampleObject => ({
  apiVersion: 'longhorn.io/v1beta2',
  kind,
  metadata: { namespace: 'longhorn-system' },
  spec,
  status: { ownerID: 'node-1', ...status },
})
const condition = (type: string, status: string, message = '', reason = '') => ({ type, status, reason, message })

testEntries(longhorn, [
  [
    'an attached, healthy Volume is ready',
    resource('Volume', { state: 'attached', robustness: 'healthy' }, { nodeID: 'node-1' }),
    { verdict: 'ready' },
  ],
  [
    'a Volume that no pod uses is detached, and ready',
    resource('Volume', { state: 'detached', robustness: 'unknown' }, { nodeID: '' }),
    { verdict: 'ready' },
  ],
  [
    'a Volume that is to be attached progresses',
    resource('Volume', { state: 'detached', robustness: 'unknown' }, { nodeID: 'node-1' }),
    { verdict: 'progressing' },
  ],
  [
    'a degraded Volume is rebuilt, and its cause is quoted',
    resource(
      'Volume',
      {
        state: 'attached',
        robustness: 'degraded',
        conditions: [condition('Scheduled', 'False', 'insufficient storage', 'ReplicaSchedulingFailure')],
      },
      { nodeID: 'node-1' },
    ),
    { verdict: 'progressing', mentions: 'insufficient storage' },
  ],
  [
    'a faulted Volume is not ready, and may be salvaged',
    resource('Volume', { state: 'detached', robustness: 'faulted' }, { nodeID: '' }),
    { verdict: 'progressing' },
  ],
  [
    'a Volume whose copy failed has failed',
    resource('Volume', { state: 'detached', robustness: 'unknown', cloneStatus: { state: 'failed' } }),
    { verdict: 'failed' },
  ],
  [
    'a Volume whose copy has attempts left progresses',
    resource('Volume', { state: 'attached', robustness: 'unknown', cloneStatus: { state: 'failed', attemptCount: 3 } }),
    { verdict: 'progressing' },
  ],
  [
    'a Volume whose copy has no attempt left has failed',
    resource('Volume', {
      state: 'attached',
      robustness: 'unknown',
      cloneStatus: { state: 'failed', attemptCount: 10 },
    }),
    { verdict: 'failed' },
  ],
  [
    'an Engine that runs is ready',
    resource('Engine', { currentState: 'running' }, { desireState: 'running' }),
    { verdict: 'ready' },
  ],
  [
    'an Engine that stopped as it should is ready',
    resource('Engine', { currentState: 'stopped' }, { desireState: 'stopped' }),
    { verdict: 'ready' },
  ],
  [
    'a Replica that does not start progresses, with the cause',
    resource(
      'Replica',
      { currentState: 'stopped', conditions: [condition('InstanceCreation', 'False', 'no space left on device')] },
      { desireState: 'running' },
    ),
    { verdict: 'progressing', mentions: 'no space left on device' },
  ],
  [
    'a Node with its disks is ready',
    resource('Node', {
      conditions: [condition('Ready', 'True')],
      diskStatus: { 'disk-1': { conditions: [condition('Ready', 'True')] } },
    }),
    { verdict: 'ready' },
  ],
  [
    'a Node with a bad disk is not ready, and the message of the disk is quoted',
    resource('Node', {
      conditions: [condition('Ready', 'True')],
      diskStatus: { 'disk-1': { conditions: [condition('Ready', 'False', 'record diskUUID does not match')] } },
    }),
    { verdict: 'progressing', mentions: 'record diskUUID does not match' },
  ],
  [
    'an available BackupTarget is ready',
    resource('BackupTarget', { available: true }, { backupTargetURL: 's3://b@eu/' }),
    { verdict: 'ready' },
  ],
  [
    'a BackupTarget that cannot be reached progresses, with the cause',
    resource(
      'BackupTarget',
      { available: false, conditions: [condition('Unavailable', 'True', 'access denied', 'Unavailable')] },
      { backupTargetURL: 's3://b@eu/' },
    ),
    { verdict: 'progressing', mentions: 'access denied' },
  ],
  [
    'a BackupTarget without an address is ready',
    resource('BackupTarget', { available: false }, { backupTargetURL: '' }),
    { verdict: 'ready' },
  ],
  [
    'a BackingImage on all disks is ready',
    resource('BackingImage', { diskFileStatusMap: { a: { state: 'ready' }, b: { state: 'ready' } } }),
    { verdict: 'ready' },
  ],
  [
    'a BackingImage whose download failed is downloaded again',
    resource('BackingImage', { diskFileStatusMap: { a: { state: 'failed', message: '404 Not Found' } } }),
    { verdict: 'progressing', mentions: '404 Not Found' },
  ],
  ['a completed Backup is ready', resource('Backup', { state: 'Completed' }), { verdict: 'ready' }],
  [
    'a Backup with an error has failed',
    resource('Backup', { state: 'Error', error: 'snapshot is gone' }),
    { verdict: 'failed', mentions: 'snapshot is gone' },
  ],
  ['a Snapshot that can be used is ready', resource('Snapshot', { readyToUse: true }), { verdict: 'ready' }],
  [
    'a Snapshot that cannot be used yet progresses',
    resource('Snapshot', { readyToUse: false }),
    { verdict: 'progressing' },
  ],
  ['an EngineImage on all nodes is ready', resource('EngineImage', { state: 'deployed' }), { verdict: 'ready' }],
  [
    'an incompatible EngineImage has failed',
    resource('EngineImage', { state: 'incompatible', incompatible: true }),
    { verdict: 'failed' },
  ],
  [
    'an InstanceManager that runs is ready',
    resource('InstanceManager', { currentState: 'running' }),
    { verdict: 'ready' },
  ],
  [
    'an InstanceManager whose pod does not start progresses',
    resource('InstanceManager', {
      currentState: 'starting',
      conditions: [condition('PodReady', 'False', 'pod is pending')],
    }),
    { verdict: 'progressing', mentions: 'pod is pending' },
  ],
  [
    'a ShareManager without a user is stopped, and ready',
    resource('ShareManager', { state: 'stopped' }),
    { verdict: 'ready' },
  ],
  [
    'a ShareManager with an error is started again',
    resource('ShareManager', { state: 'error' }),
    { verdict: 'progressing' },
  ],
  ['a SystemBackup that is ready is ready', resource('SystemBackup', { state: 'Ready' }), { verdict: 'ready' }],
  [
    'a SystemBackup with an error has failed',
    resource('SystemBackup', { state: 'Error', conditions: [condition('Error', 'True', 'upload failed', 'Upload')] }),
    { verdict: 'failed', mentions: 'upload failed' },
  ],
  ['a completed SystemRestore is ready', resource('SystemRestore', { state: 'Completed' }), { verdict: 'ready' }],
  ['a SystemRestore with an error has failed', resource('SystemRestore', { state: 'Error' }), { verdict: 'failed' }],
  ['a RecurringJob has no state', resource('RecurringJob', { executionCount: 0 }), { verdict: 'ready' }],
])
