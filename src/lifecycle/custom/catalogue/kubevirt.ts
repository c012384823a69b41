import { type CatalogueEntry, type CatalogueGroup, daemonSets, deployments, pods } from './entry.ts'
import { allOf, anyOf, isTrue, messageOf } from './expressions.ts'

const source = 'https://github.com/kubevirt/kubevirt/blob/main'
const instances = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance' } as const
const dataVolumes = { apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataVolume' } as const

/** The older field `running` means Always or Halted. */
const runStrategy = "spec.?runStrategy.orValue(spec.?running.orValue(false) ? 'Always' : 'Halted')"

/**
 * `observedGeneration` is the generation with which the running instance was started, `desiredGeneration` the
 * generation that its controller observed last: after a change that needs a restart, they differ until the restart.
 * Errors are retried: a missing claim, a failed DataVolume, a crash of the guest.
 */
const virtualMachine: CatalogueEntry = {
  kind: 'VirtualMachine',
  documentation: `${source}/pkg/virt-controller/watch/vm/vm.go`,
  ignoresGeneration: true,
  inProgress: allOf('status.created', 'status.desiredGeneration < metadata.generation'),
  suspended: isTrue('RestartRequired'),
  resume: 'virtctl restart {name} -n {namespace}',
  current: anyOf(
    allOf("status.printableStatus == 'Running'", 'status.ready', `${runStrategy} != 'Halted'`),
    allOf("status.printableStatus == 'Stopped'", `${runStrategy} in ['Halted', 'Manual']`),
    // The guest has shut down; a guest that fails is started again.
    allOf("status.printableStatus == 'Stopped'", "status.runStrategy == 'RerunOnFailure'"),
  ),
  cause: [messageOf('RestartRequired', 'False'), messageOf('Failure', 'False'), messageOf('Ready')],
  owns: [instances, dataVolumes, pods],
}

/** A guest that has shut down has done its work, as a bare pod. */
const virtualMachineInstance: CatalogueEntry = {
  kind: 'VirtualMachineInstance',
  documentation: `${source}/staging/src/kubevirt.io/api/core/v1/types.go`,
  suspended: isTrue('Paused'),
  resume: 'virtctl unpause vmi {name} -n {namespace}',
  failed: "status.phase == 'Failed'",
  current: anyOf(allOf("status.phase == 'Running'", isTrue('Ready')), "status.phase == 'Succeeded'"),
  cause: [messageOf('Synchronized'), messageOf('Ready')],
  milestones: [
    { name: 'scheduled', done: "status.phase in ['Scheduled', 'Running', 'Succeeded']" },
    { name: 'running', done: "status.phase in ['Running', 'Succeeded']" },
  ],
  owns: [pods],
}

/** A set of instances or machines. Zero is omitted. */
function replicas(kind: string, file: string, owns: CatalogueEntry['owns']): CatalogueEntry {
  return {
    kind,
    documentation: `${source}/staging/src/kubevirt.io/api/${file}`,
    suspended: anyOf('spec.paused', isTrue('ReplicaPaused')),
    current: allOf(
      'has(status.labelSelector)',
      'status.?replicas.orValue(0) == spec.?replicas.orValue(1)',
      'status.?readyReplicas.orValue(0) == spec.?replicas.orValue(1)',
    ),
    cause: [messageOf('ReplicaFailure', 'False')],
    owns,
  }
}

const migration: CatalogueEntry = {
  kind: 'VirtualMachineInstanceMigration',
  documentation: `${source}/staging/src/kubevirt.io/api/core/v1/types.go`,
  failed: "status.phase == 'Failed'",
  current: "status.phase == 'Succeeded'",
  cause: ['status.migrationState.failureReason', messageOf('Failed', 'False')],
  owns: [pods],
}

/** An installation by an operator: Available stays True during an update, while Progressing is True. */
function installation(kind: string, documentation: string, isUpdated: string): CatalogueEntry {
  return {
    kind,
    documentation,
    inProgress: anyOf(isTrue('Progressing'), isTrue('Degraded')),
    current: allOf("status.phase == 'Deployed'", isTrue('Available'), isUpdated),
    cause: [messageOf('Degraded', 'False'), messageOf('Progressing', 'False'), messageOf('Available')],
    owns: [deployments, daemonSets, pods],
  }
}

export const kubeVirt: CatalogueGroup = {
  group: 'kubevirt.io',
  entries: [
    virtualMachine,
    virtualMachineInstance,
    replicas('VirtualMachineInstanceReplicaSet', 'core/v1/types.go', [instances, pods]),
    migration,
    installation(
      'KubeVirt',
      `${source}/staging/src/kubevirt.io/api/core/v1/types.go`,
      'status.observedKubeVirtVersion == status.targetKubeVirtVersion',
    ),
  ],
}

export const kubeVirtPools: CatalogueGroup = {
  group: 'pool.kubevirt.io',
  entries: [
    replicas('VirtualMachinePool', 'pool/v1beta1/types.go', [
      { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine' },
      instances,
      pods,
    ]),
  ],
}

const importer = 'https://github.com/kubevirt/containerized-data-importer/blob/main'

/**
 * An import or a clone is repeated until it succeeds; Running contains the error of the last attempt. A volume that
 * binds when a pod uses it waits for its first consumer, as a claim does. An upload waits for data from a user.
 */
const dataVolume: CatalogueEntry = {
  kind: 'DataVolume',
  documentation: `${importer}/doc/datavolumes.md`,
  suspended: "status.phase in ['UploadReady', 'Paused']",
  failed: "status.phase == 'Failed'",
  current: "status.phase in ['Succeeded', 'WaitForFirstConsumer', 'PendingPopulation']",
  cause: [
    "status.conditions.filter(c, c.type == 'Running' && c.reason == 'Error').map(c, c.message)",
    messageOf('Bound'),
  ],
  milestones: [{ name: 'bound', done: isTrue('Bound') }],
  owns: [{ apiVersion: 'v1', kind: 'PersistentVolumeClaim' }, pods],
}

export const dataImporter: CatalogueGroup = {
  group: 'cdi.kubevirt.io',
  entries: [
    dataVolume,
    {
      kind: 'DataSource',
      documentation: `${importer}/doc/os-image-poll-and-update.md`,
      current: isTrue('Ready'),
      cause: [messageOf('Ready')],
    },
    {
      kind: 'DataImportCron',
      documentation: `${importer}/doc/os-image-poll-and-update.md`,
      current: isTrue('UpToDate'),
      cause: [messageOf('UpToDate')],
      owns: [dataVolumes, pods],
    },
    installation('CDI', `${importer}/doc/cdi-config.md`, 'status.observedVersion == status.targetVersion'),
  ],
}
