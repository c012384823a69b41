import { type CatalogueGroup, daemonSets, deployments, pods, statefulSets } from './entry.ts'
import { allOf, anyOf, isFalse, messageOf } from './expressions.ts'

const apis = 'https://github.com/openkruise/kruise/blob/master/apis/apps'

/** The pods that a partition, which is a number or a percentage of `total`, leaves at the old revision. */
const partitionOf = (partition: string, total: string) =>
  `(type(${partition}.orValue(0)) == int ? ${partition}.orValue(0) : ${total})`

const statefulPartition = partitionOf(`spec.?updateStrategy.?rollingUpdate.?partition`, `0`)
const daemonPartition = partitionOf(`spec.?updateStrategy.?rollingUpdate.?partition`, `status.desiredNumberScheduled`)
const sidecarPartition = partitionOf(`spec.?updateStrategy.?partition`, `status.matchedPods`)
const isPaused = `spec.?updateStrategy.?paused.orValue(false) || spec.?updateStrategy.?rollingUpdate.?paused.orValue(false)`

export const kruise: CatalogueGroup = {
  group: 'apps.kruise.io',
  entries: [
    {
      kind: 'CloneSet',
      documentation: `${apis}/v1alpha1/cloneset_types.go`,
      // The controller calculates from the partition how many pods are to be updated.
      current: allOf(
        `status.replicas == spec.replicas`,
        `status.availableReplicas >= spec.replicas`,
        `status.updatedReplicas >= status.?expectedUpdatedReplicas.orValue(0)`,
        // Versions before 1.5 do not count the updated pods that are available.
        anyOf(
          `status.?updatedAvailableReplicas.orValue(0) >= status.?expectedUpdatedReplicas.orValue(0)`,
          `status.updatedReplicas == status.replicas`,
        ),
      ),
      failed: isFalse('Progressing', 'ProgressDeadlineExceeded'),
      suspended: allOf(isPaused, `status.?updatedReplicas.orValue(0) < status.?expectedUpdatedReplicas.orValue(0)`),
      resume: `kubectl kruise rollout resume cloneset/{name} -n {namespace}`,
      cause: [messageOf('FailedScale', 'False'), messageOf('FailedUpdate', 'False'), messageOf('Progressing')],
      owns: [pods],
      isWorkload: true,
      revision: `status.updateRevision`,
    },
    {
      kind: 'StatefulSet',
      documentation: `${apis}/v1beta1/statefulset_types.go`,
      current: allOf(
        `status.replicas == spec.replicas`,
        `status.?availableReplicas.orValue(status.readyReplicas) >= spec.replicas`,
        anyOf(
          `spec.?updateStrategy.?type.orValue('') == 'OnDelete'`,
          `status.updatedReplicas >= spec.replicas - ${statefulPartition}`,
        ),
      ),
      suspended: allOf(isPaused, `status.?updatedReplicas.orValue(0) < spec.replicas - ${statefulPartition}`),
      resume: `kubectl patch statefulsets.apps.kruise.io {name} -n {namespace} --type merge -p '{"spec":{"updateStrategy":{"rollingUpdate":{"paused":false}}}}'`,
      cause: [messageOf('FailedCreatePod', 'False'), messageOf('FailedUpdatePod', 'False')],
      owns: [pods],
      isWorkload: true,
      revision: `status.updateRevision`,
    },
    {
      kind: 'DaemonSet',
      documentation: `${apis}/v1alpha1/daemonset_types.go`,
      current: allOf(
        `status.?numberAvailable.orValue(0) >= status.desiredNumberScheduled`,
        anyOf(
          `spec.?updateStrategy.?type.orValue('') == 'OnDelete'`,
          `status.updatedNumberScheduled >= status.desiredNumberScheduled - ${daemonPartition}`,
        ),
      ),
      suspended: allOf(
        isPaused,
        `status.?updatedNumberScheduled.orValue(0) < status.?desiredNumberScheduled.orValue(1) - ${daemonPartition}`,
      ),
      resume: `kubectl patch daemonsets.apps.kruise.io {name} -n {namespace} --type merge -p '{"spec":{"updateStrategy":{"rollingUpdate":{"paused":false}}}}'`,
      owns: [pods],
      isWorkload: true,
      revision: `status.?updateRevision.orValue(status.?daemonSetHash.orValue(''))`,
    },
    {
      kind: 'BroadcastJob',
      documentation: `${apis}/v1alpha1/broadcastjob_types.go`,
      // A set that never completes runs a pod on each node, also on new ones.
      current: anyOf(
        `status.phase == 'completed' && status.failed == 0`,
        `spec.completionPolicy.type == 'Never' && status.phase == 'running' && status.active + status.succeeded >= status.desired`,
      ),
      failed: anyOf(`status.phase == 'failed'`, `status.phase == 'completed' && status.failed > 0`),
      suspended: `spec.paused == true`,
      resume: `kubectl patch broadcastjob {name} -n {namespace} --type merge -p '{"spec":{"paused":false}}'`,
      cause: [messageOf('Failed', 'False')],
      owns: [pods],
    },
    {
      kind: 'SidecarSet',
      documentation: `${apis}/v1alpha1/sidecarset_types.go`,
      current: allOf(
        `has(status.matchedPods)`,
        anyOf(
          `spec.?updateStrategy.?type.orValue('') == 'NotUpdate'`,
          `status.updatedPods >= status.matchedPods - ${sidecarPartition}`,
        ),
      ),
      suspended: allOf(isPaused, `status.?updatedPods.orValue(0) < status.?matchedPods.orValue(1)`),
      resume: `kubectl patch sidecarset {name} --type merge -p '{"spec":{"updateStrategy":{"paused":false}}}'`,
    },
    {
      kind: 'UnitedDeployment',
      documentation: `${apis}/v1alpha1/uniteddeployment_types.go`,
      current: allOf(
        `status.replicas == spec.replicas`,
        `status.updatedReplicas >= spec.replicas`,
        `status.?updatedReadyReplicas.orValue(0) >= spec.replicas`,
      ),
      cause: [`status.conditions.filter(c, c.status == 'False' && c.?message.hasValue()).map(c, c.message)`],
      owns: [pods],
    },
    {
      kind: 'ImagePullJob',
      documentation: `${apis}/v1alpha1/imagepulljob_types.go`,
      current: `status.succeeded >= status.desired && status.completionTime != null`,
      failed: `status.failed > 0 && status.completionTime != null`,
      cause: [`status.message`],
    },
    {
      kind: 'ResourceDistribution',
      documentation: `${apis}/v1alpha1/resourcedistribution_types.go`,
      current: `status.?succeeded.orValue(0) >= status.desired`,
      cause: [
        `status.conditions.filter(c, c.status == 'True' && c.?reason.hasValue()).map(c, c.type + ': ' + c.reason)`,
      ],
    },
  ],
}

/** The step at which a rollout of Kruise is; steps count from 1. */
const step = `spec.strategy.?canary.?steps[?status.?currentStepIndex.orValue(0) - 1]`
const blueGreenStep = `spec.strategy.?blueGreen.?steps[?status.?currentStepIndex.orValue(0) - 1]`
const isTimedPause = `${step}.?pause.?duration.hasValue() || ${blueGreenStep}.?pause.?duration.hasValue()`

const workloadRef = (field: string) =>
  `spec.?workloadRef.?${field}.orValue(spec.?objectRef.?workloadRef.?${field}.orValue(''))`

export const kruiseRollouts: CatalogueGroup = {
  group: 'rollouts.kruise.io',
  entries: [
    {
      kind: 'Rollout',
      documentation: 'https://github.com/openkruise/rollouts/blob/master/api/v1beta1/rollout_types.go',
      current: anyOf(`status.phase == 'Healthy'`, `spec.disabled == true && status.phase == 'Disabled'`),
      suspended: anyOf(
        `spec.strategy.paused == true`,
        allOf(`status.phase == 'Progressing' && status.currentStepState == 'StepPaused'`, `!(${isTimedPause})`),
      ),
      resume: 'kubectl kruise rollout approve rollouts.rollouts.kruise.io/{name} -n {namespace}',
      stallHold: allOf(`status.currentStepState == 'StepPaused'`, isTimedPause),
      cause: [`status.canaryStatus.message`, `status.message`, messageOf('Progressing')],
      // A change of its workload starts a rollout; `Healthy` may be about the workload before the change.
      follows: {
        kinds: [deployments, statefulSets, daemonSets, { apiVersion: 'apps.kruise.io/v1alpha1', kind: 'CloneSet' }],
        kind: workloadRef('kind'),
        name: workloadRef('name'),
        generation: `spec.?disabled.orValue(false) ? '' : string(status.?canaryStatus.?observedWorkloadGeneration.orValue(status.?blueGreenStatus.?observedWorkloadGeneration.orValue(0)))`,
      },
    },
  ],
}
