import type { CatalogueEntry, CatalogueGroup } from './entry.ts'
import { allOf, anyOf, isAnnotated, isTrue, messageOf } from './expressions.ts'

const source = 'https://github.com/kubernetes-sigs/cluster-api/blob/main'

const machines = { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'Machine' } as const
const machineSets = { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'MachineSet' } as const
const machineDeployments = { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'MachineDeployment' } as const
const controlPlanes = { apiVersion: 'controlplane.cluster.x-k8s.io/v1beta1', kind: 'KubeadmControlPlane' } as const

/**
 * No controller works on a paused object: by its annotation, or because its cluster is paused, which the condition Paused
 * reports since v1.9.
 */
const isPaused = anyOf(isAnnotated('cluster.x-k8s.io/paused'), isTrue('Paused'))

/** A failure that the provider cannot repair, in v1beta1 only; v1beta2 keeps it under `deprecated`. */
const hasFailed = anyOf('has(status.failureMessage)', 'has(status.deprecated.v1beta1.failureMessage)')
const failureMessages = ['status.failureMessage', 'status.deprecated.v1beta1.failureMessage']

/** Changes in progress; they are conditions of v1beta2, and Available stays True during the change. */
const isChanging =
  "status.conditions.exists(c, c.type in ['RollingOut', 'ScalingUp', 'ScalingDown'] && c.status == 'True')"
const changeMessages =
  "status.conditions.filter(c, c.type in ['RollingOut', 'ScalingUp', 'ScalingDown'] && c.status == 'True').map(c, c.message)"

/** The summary is Available in v1beta2 and Ready in v1beta1. */
const cluster: CatalogueEntry = {
  kind: 'Cluster',
  documentation: `${source}/api/core/v1beta2/cluster_types.go`,
  inProgress: isChanging,
  suspended: anyOf('spec.paused', isPaused),
  resume: `kubectl patch cluster.cluster.x-k8s.io {name} -n {namespace} --type merge -p '{"spec":{"paused":false}}'`,
  failed: hasFailed,
  current: allOf("status.phase == 'Provisioned'", anyOf(isTrue('Available'), isTrue('Ready'))),
  cause: [...failureMessages, changeMessages, messageOf('Available'), messageOf('Ready')],
  milestones: [
    { name: 'infrastructure', done: isTrue('InfrastructureReady') },
    { name: 'controlplane', done: anyOf(isTrue('ControlPlaneAvailable'), isTrue('ControlPlaneReady')) },
  ],
  owns: [controlPlanes, machineDeployments, machineSets, machines],
}

/**
 * Available in v1beta2 is True with fewer replicas than wanted (`maxUnavailable`), and during a rollout, so the counts
 * decide. The number of updated machines is `upToDateReplicas` in v1beta2 and `updatedReplicas` in v1beta1; zero may be
 * omitted.
 */
const allReplicas = (updated: string) =>
  allOf(
    'status.?replicas.orValue(0) == spec.replicas',
    `${updated} == spec.replicas`,
    'status.?readyReplicas.orValue(0) == spec.replicas',
  )
const upToDate = 'status.?upToDateReplicas.orValue(status.?updatedReplicas.orValue(0))'

const machineDeployment: CatalogueEntry = {
  kind: 'MachineDeployment',
  documentation: `${source}/core/reconcilers/machinedeployment/machinedeployment_status.go`,
  inProgress: isTrue('RollingOut'),
  suspended: anyOf('spec.paused', isPaused),
  failed: "status.phase == 'Failed'",
  current: allOf('has(status.phase)', allReplicas(upToDate), 'status.?availableReplicas.orValue(0) == spec.replicas'),
  cause: [changeMessages, messageOf('MachinesReady'), messageOf('Available'), messageOf('Ready')],
  owns: [machineSets, machines],
}

/** A MachineSet does not replace its machines, so that their number and readiness decide. */
const machineSet: CatalogueEntry = {
  kind: 'MachineSet',
  documentation: `${source}/api/core/v1beta2/machineset_types.go`,
  suspended: isPaused,
  failed: hasFailed,
  current: allOf('has(status.replicas)', allReplicas('status.?availableReplicas.orValue(0)')),
  cause: [...failureMessages, changeMessages, messageOf('MachinesReady'), messageOf('Ready')],
  owns: [machines],
}

/** The infrastructure provider replaces the machines; the phase compares their number. */
const machinePool: CatalogueEntry = {
  kind: 'MachinePool',
  documentation: `${source}/core/reconcilers/machinepool/machinepool_controller_phases.go`,
  suspended: isPaused,
  failed: anyOf("status.phase == 'Failed'", hasFailed),
  current: allOf("status.phase == 'Running'", 'status.?readyReplicas.orValue(0) == spec.replicas'),
  cause: [...failureMessages, messageOf('Available'), messageOf('Ready')],
  owns: [machines],
}

/** Ready includes the health of the node in v1beta2 only; NodeHealthy is a condition of both. */
const machine: CatalogueEntry = {
  kind: 'Machine',
  documentation: `${source}/core/reconcilers/machine/machine_controller_status.go`,
  suspended: isPaused,
  failed: anyOf("status.phase == 'Failed'", hasFailed),
  current: allOf("status.phase == 'Running'", isTrue('Ready'), isTrue('NodeHealthy')),
  cause: [...failureMessages, messageOf('Ready'), messageOf('NodeHealthy')],
  milestones: [
    { name: 'infrastructure', done: isTrue('InfrastructureReady') },
    { name: 'node', done: 'has(status.nodeRef)' },
  ],
}

/** Its policy is in effect once it has counted machines. Unhealthy machines are no failure of the check. */
const machineHealthCheck: CatalogueEntry = {
  kind: 'MachineHealthCheck',
  documentation: `${source}/api/core/v1beta2/machinehealthcheck_types.go`,
  suspended: isPaused,
  current: 'has(status.remediationsAllowed)',
}

/** The variables of the class and the references of its templates are resolved. */
const clusterClass: CatalogueEntry = {
  kind: 'ClusterClass',
  documentation: `${source}/api/core/v1beta2/clusterclass_types.go`,
  suspended: isPaused,
  current: allOf(isTrue('RefVersionsUpToDate'), anyOf(isTrue('VariablesReady'), isTrue('VariablesReconciled'))),
  cause: [messageOf('VariablesReady'), messageOf('VariablesReconciled'), messageOf('RefVersionsUpToDate')],
}

export const clusterApi: CatalogueGroup = {
  group: 'cluster.x-k8s.io',
  entries: [cluster, machineDeployment, machineSet, machinePool, machine, machineHealthCheck, clusterClass],
}

/** A rolling update replaces one machine after another, and Available stays True. */
const kubeadmControlPlane: CatalogueEntry = {
  kind: 'KubeadmControlPlane',
  documentation: `${source}/controlplane/kubeadm/reconcilers/kubeadmcontrolplane/status.go`,
  inProgress: isChanging,
  suspended: isPaused,
  failed: hasFailed,
  current: allOf(anyOf(isTrue('Available'), isTrue('Ready')), allReplicas(upToDate)),
  cause: [...failureMessages, changeMessages, messageOf('Available'), messageOf('Ready')],
  owns: [machines],
}

/**
 * A kind of a provider, which follows a contract. `done` is the field of the contract: in v1beta1 it is `ready`. A provider
 * may also report the condition Ready. A template is configuration.
 */
function providerKind(contract: string, done: string): CatalogueEntry {
  return {
    kind: '*',
    documentation: `${source}/docs/book/src/developer/providers/contracts/${contract}.md`,
    suspended: isPaused,
    failed: hasFailed,
    current: anyOf(
      "kind.endsWith('Template')",
      "kind.endsWith('Identity')",
      allOf(
        // Other kinds than those of the contract have only the condition.
        anyOf(
          'status.?ready.orValue(false)',
          `status.?initialization.?${done}.orValue(false)`,
          allOf("!['Cluster', 'Machine', 'MachinePool', 'ControlPlane'].exists(s, kind.endsWith(s))", isTrue('Ready')),
        ),
        "!status.?conditions.orValue([]).exists(c, c.type == 'Ready' && c.status != 'True')",
      ),
    ),
    cause: [...failureMessages, messageOf('Ready')],
  }
}

export const clusterApiControlPlanes: CatalogueGroup = {
  group: 'controlplane.cluster.x-k8s.io',
  entries: [kubeadmControlPlane, providerKind('control-plane', 'controlPlaneInitialized')],
}

/** The Secret with the data for a machine exists. */
export const clusterApiBootstrap: CatalogueGroup = {
  group: 'bootstrap.cluster.x-k8s.io',
  entries: [providerKind('bootstrap-config', 'dataSecretCreated')],
}

/** The clusters, machines and pools of machines of cloud providers. */
export const clusterApiInfrastructure: CatalogueGroup = {
  group: 'infrastructure.cluster.x-k8s.io',
  entries: [providerKind('infra-machine', 'provisioned')],
}
