import { type CatalogueGroup, daemonSets, pods } from './entry.ts'
import { allOf, anyOf, isTrue, messageOf } from './expressions.ts'

const source = 'https://github.com/longhorn/longhorn-manager/blob/master/k8s/pkg/apis/longhorn/v1beta2'
const desiredState = `status.currentState == spec.desireState`
const instanceManagers = { apiVersion: 'longhorn.io/v1beta2', kind: 'InstanceManager' }

/** Longhorn. Its statuses have no `observedGeneration`. */
export const longhorn: CatalogueGroup = {
  group: 'longhorn.io',
  entries: [
    {
      kind: 'Volume',
      documentation: `${source}/volume.go`,
      // Only an attached volume has replicas that run. Longhorn rebuilds a degraded volume, and can salvage a faulted one.
      current: anyOf(
        `status.state == 'attached' && status.robustness == 'healthy'`,
        allOf(
          `status.state == 'detached'`,
          `spec.?nodeID.orValue('') == ''`,
          `status.?robustness.orValue('unknown') != 'faulted'`,
          `!status.?restoreRequired.orValue(false)`,
        ),
      ),
      // A copy has ten attempts (controller/volume_controller.go); older versions have one, and do not count.
      failed: `status.cloneStatus.state == 'failed' && status.cloneStatus.?attemptCount.orValue(10) >= 10`,
      cause: [messageOf('Scheduled'), messageOf('WaitForBackingImage', 'False'), messageOf('Restore', 'False')],
      owns: [
        { apiVersion: 'longhorn.io/v1beta2', kind: 'Engine' },
        { apiVersion: 'longhorn.io/v1beta2', kind: 'Replica' },
      ],
    },
    {
      kind: 'Engine',
      documentation: `${source}/engine.go`,
      current: desiredState,
      cause: [messageOf('InstanceCreation'), `status.snapshotsError`],
    },
    {
      kind: 'Replica',
      documentation: `${source}/replica.go`,
      current: desiredState,
      cause: [messageOf('InstanceCreation'), messageOf('WaitForBackingImage', 'False')],
    },
    {
      kind: 'Node',
      documentation: `${source}/node.go`,
      current: allOf(
        isTrue('Ready'),
        `status.?diskStatus.orValue({}).all(d, status.diskStatus[d].conditions.exists(c, c.type == 'Ready' && c.status == 'True'))`,
      ),
      cause: [
        messageOf('Ready'),
        `status.diskStatus.map(d, status.diskStatus[d].conditions.filter(c, c.type == 'Ready' && c.status != 'True'))
          .filter(found, found.size() > 0).map(found, found[0].message)`,
      ],
      owns: [instanceManagers],
    },
    {
      kind: 'InstanceManager',
      documentation: `${source}/instancemanager.go`,
      current: `status.currentState == 'running'`,
      cause: [messageOf('PodReady'), messageOf('NodeReady')],
      owns: [pods],
      isWorkload: true,
    },
    {
      kind: 'EngineImage',
      documentation: `${source}/engineimage.go`,
      current: `status.state == 'deployed'`,
      failed: `status.incompatible`,
      cause: [messageOf('ready')],
      owns: [daemonSets, pods],
      isWorkload: true,
    },
    {
      kind: 'BackupTarget',
      documentation: `${source}/backuptarget.go`,
      // Without an address, it is never available.
      current: anyOf(`status.available`, `spec.?backupTargetURL.orValue('') == '' && has(status.ownerID)`),
      cause: [messageOf('Unavailable', 'False')],
    },
    {
      kind: 'BackingImage',
      documentation: `${source}/backingimage.go`,
      // Longhorn downloads a failed file again.
      current: allOf(
        `status.diskFileStatusMap.size() > 0`,
        `status.diskFileStatusMap.all(d, status.diskFileStatusMap[d].state == 'ready')`,
      ),
      cause: [`status.diskFileStatusMap.map(d, status.diskFileStatusMap[d].?message.orValue(''))`],
    },
    {
      kind: 'Snapshot',
      documentation: `${source}/snapshot.go`,
      current: `status.readyToUse`,
      cause: [`status.error`],
    },
    {
      kind: 'Backup',
      documentation: `${source}/backup.go`,
      current: `status.state == 'Completed'`,
      failed: `status.state == 'Error'`,
      cause: [`status.error`],
    },
    {
      kind: 'SystemBackup',
      documentation: `${source}/systembackup.go`,
      current: `status.state == 'Ready'`,
      failed: `status.state == 'Error'`,
      cause: [messageOf('Error', 'False')],
    },
    {
      kind: 'SystemRestore',
      documentation: `${source}/systemrestore.go`,
      current: `status.state == 'Completed'`,
      failed: `status.state == 'Error'`,
      cause: [messageOf('Error', 'False')],
    },
    {
      kind: 'ShareManager',
      documentation: `${source}/sharemanager.go`,
      // Stopped while no pod mounts the volume.
      current: `status.state in ['running', 'stopped']`,
      owns: [pods],
    },
    { kind: 'RecurringJob', documentation: `${source}/recurringjob.go`, current: `has(status.ownerID)` },
  ],
}
