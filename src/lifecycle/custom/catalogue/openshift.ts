import { type CatalogueEntry, type CatalogueGroup, deployments, pods } from './entry.ts'
import { allOf, anyOf, hasCondition, isTrue, messageOf } from './expressions.ts'

const lifecycleSource = 'https://github.com/operator-framework/operator-lifecycle-manager/blob/master'
const lifecycleApi = 'https://github.com/operator-framework/api/blob/master/pkg/operators/v1alpha1'

/** With manual approval, a version stays installed while a later one waits: that is what `startingCSV` requests. */
const isPinned = 'status.installedCSV == spec.startingCSV'

/**
 * AtLatestKnown: the newest ClusterServiceVersion of the channel exists; whether it works is in its own phase. After a
 * change, the state stays that of the version before until the new one is resolved and its bundle unpacked, which the
 * conditions report for every Subscription of the namespace. An InstallPlan that failed is not repeated. Unresolved
 * dependencies are resolved again when a catalogue changes.
 */
const subscription: CatalogueEntry = {
  kind: 'Subscription',
  documentation: `${lifecycleSource}/pkg/controller/operators/catalog/operator.go`,
  inProgress: anyOf(
    isTrue('BundleUnpacking'),
    isTrue('BundleUnpackFailed'),
    hasCondition(
      'ResolutionFailed',
      "c.status == 'True'",
      "(c.message + ' ').contains('subscription ' + metadata.name + ' ')",
    ),
  ),
  suspended: allOf(
    hasCondition('InstallPlanPending', "c.status == 'True'", "c.reason == 'RequiresApproval'"),
    "status.?installedCSV.orValue('none') != spec.?startingCSV.orValue('')",
  ),
  failed: anyOf(isTrue('InstallPlanFailed'), "status.state == 'UpgradeFailed'"),
  current: anyOf("status.state == 'AtLatestKnown'", isPinned),
  cause: [
    messageOf('InstallPlanFailed', 'False'),
    messageOf('BundleUnpackFailed', 'False'),
    messageOf('ResolutionFailed', 'False'),
    messageOf('CatalogSourcesUnhealthy', 'False'),
    messageOf('InstallPlanPending', 'False'),
  ],
  owns: [{ apiVersion: 'operators.coreos.com/v1alpha1', kind: 'InstallPlan' }],
  awaits: {
    apiVersion: 'operators.coreos.com/v1alpha1',
    kind: 'ClusterServiceVersion',
    name: 'status.installedCSV',
  },
}

/** Failed ends when a requirement is met or a Deployment becomes available, except with one reason. */
const clusterServiceVersion: CatalogueEntry = {
  kind: 'ClusterServiceVersion',
  documentation: `${lifecycleApi}/clusterserviceversion_types.go`,
  failed: "status.phase == 'Failed' && status.reason == 'InstallComponentFailedNoRetry'",
  current: "status.phase == 'Succeeded'",
  cause: [
    "status.requirementStatus.filter(r, r.status != 'Present').map(r, r.kind + ' ' + r.name + ': ' + r.message)",
    'status.message',
  ],
  owns: [deployments, pods],
}

const installPlan: CatalogueEntry = {
  kind: 'InstallPlan',
  documentation: `${lifecycleApi}/installplan_types.go`,
  suspended: "status.phase == 'RequiresApproval'",
  resume: `kubectl patch installplan.operators.coreos.com {name} -n {namespace} --type merge -p '{"spec":{"approved":true}}'`,
  failed: "status.phase == 'Failed'",
  current: "status.phase == 'Complete'",
  cause: [messageOf('Installed'), 'status.message'],
}

const catalogSource: CatalogueEntry = {
  kind: 'CatalogSource',
  documentation: `${lifecycleApi}/catalogsource_types.go`,
  current: "status.connectionState.lastObservedState == 'READY'",
  cause: ['status.message'],
  owns: [pods],
}

/** Its conditions are mistakes. While one is True, no operator of the namespace is installed. */
const isMistaken = "c.type in ['MultipleOperatorGroup', 'OperatorGroupServiceAccount'] && c.status == 'True'"
const operatorGroup: CatalogueEntry = {
  kind: 'OperatorGroup',
  documentation: `${lifecycleSource}/pkg/controller/operators/olm/operatorgroup.go`,
  inProgress: `status.conditions.exists(c, ${isMistaken})`,
  current: 'has(status.lastUpdated)',
  cause: [`status.conditions.filter(c, ${isMistaken}).map(c, c.message)`],
}

/** Operator Lifecycle Manager, on any cluster. */
export const operatorLifecycle: CatalogueGroup = {
  group: 'operators.coreos.com',
  entries: [subscription, clusterServiceVersion, installPlan, catalogSource, operatorGroup],
}

const api = 'https://github.com/openshift/api/blob/master'

/** Each router admits a Route or not; a host that another Route has claimed may become free. */
const route: CatalogueEntry = {
  kind: 'Route',
  documentation: `${api}/route/v1/types.go`,
  current: allOf(
    'size(status.ingress) > 0',
    "status.ingress.all(i, i.conditions.exists(c, c.type == 'Admitted' && c.status == 'True'))",
  ),
  cause: [
    "status.ingress.map(i, i.conditions.filter(c, c.type == 'Admitted' && c.status != 'True').map(c, c.message)).filter(m, size(m) > 0)[0]",
  ],
}

export const openshiftRoutes: CatalogueGroup = { group: 'route.openshift.io', entries: [route] }

const replicationControllers = { apiVersion: 'v1', kind: 'ReplicationController' } as const

/**
 * Progressing has the reason NewReplicationControllerAvailable at the end, and is False after a failed deployment. Its
 * message names the ReplicationController. The creation of a ReplicationController is repeated. The controller observes a generation while the image of a trigger is not
 * resolved, which is a blank until then, and keeps the conditions of the deployment before.
 */
const deploymentConfig: CatalogueEntry = {
  kind: 'DeploymentConfig',
  documentation:
    'https://github.com/openshift/openshift-controller-manager/blob/main/pkg/apps/deploymentconfig/deploymentconfig_controller.go',
  inProgress: anyOf(
    "spec.template.spec.containers.exists(c, c.?image.orValue('').matches('^ *$'))",
    hasCondition(
      'Progressing',
      "c.status == 'False'",
      `c.message.contains('replication controller "')`,
      `!c.message.contains('"' + metadata.name + '-' + string(status.latestVersion) + '"')`,
    ),
  ),
  suspended: 'spec.paused',
  resume: 'oc rollout resume deploymentconfig/{name} -n {namespace}',
  failed: hasCondition('Progressing', "c.status == 'False'", "c.reason != 'ReplicationControllerCreateError'"),
  current: allOf(
    isTrue('Available'),
    isTrue('Progressing', 'NewReplicationControllerAvailable'),
    'status.updatedReplicas == spec.replicas',
    'status.availableReplicas == spec.replicas',
    'status.replicas == spec.replicas',
  ),
  cause: [messageOf('Progressing'), messageOf('ReplicaFailure', 'False'), messageOf('Available')],
  owns: [replicationControllers, pods],
  isWorkload: true,
}

export const openshiftApps: CatalogueGroup = { group: 'apps.openshift.io', entries: [deploymentConfig] }

/** A BuildConfig is configuration: its status counts its builds. */
export const openshiftBuilds: CatalogueGroup = {
  group: 'build.openshift.io',
  entries: [
    { kind: 'BuildConfig', documentation: `${api}/build/v1/types.go`, current: 'true' },
    {
      kind: 'Build',
      documentation: `${api}/build/v1/types.go`,
      failed: "status.phase in ['Failed', 'Error', 'Cancelled']",
      current: "status.phase == 'Complete'",
      cause: ['status.message', 'status.logSnippet'],
      milestones: [{ name: 'started', done: 'has(status.startTimestamp)' }],
      owns: [pods],
    },
  ],
}

/** Available stays True during an update, while Progressing is True. Degraded may end by itself. */
function clusterPart(kind: string, file: string, isBad: string): CatalogueEntry {
  return {
    kind,
    documentation: `${api}/config/v1/${file}`,
    inProgress: anyOf(isTrue('Progressing'), isTrue(isBad)),
    current: isTrue('Available'),
    cause: [messageOf(isBad, 'False'), messageOf('Progressing', 'False'), messageOf('Available')],
  }
}

export const openshiftConfig: CatalogueGroup = {
  group: 'config.openshift.io',
  entries: [
    clusterPart('ClusterOperator', 'types_cluster_operator.go', 'Degraded'),
    clusterPart('ClusterVersion', 'types_cluster_version.go', 'Failing'),
  ],
}

const machineConfigPool: CatalogueEntry = {
  kind: 'MachineConfigPool',
  documentation: `${api}/machineconfiguration/v1/types.go`,
  inProgress: anyOf(isTrue('Updating'), isTrue('Degraded')),
  suspended: 'spec.paused',
  resume: `kubectl patch machineconfigpool {name} --type merge -p '{"spec":{"paused":false}}'`,
  current: allOf(isTrue('Updated'), 'status.updatedMachineCount == status.machineCount'),
  cause: [messageOf('NodeDegraded', 'False'), messageOf('RenderDegraded', 'False'), messageOf('Updating', 'False')],
}

export const openshiftMachines: CatalogueGroup = {
  group: 'machineconfiguration.openshift.io',
  entries: [machineConfigPool],
}
