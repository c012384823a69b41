import { type CatalogueGroup, jobs, pods, statefulSets } from './entry.ts'
import { allOf, anyOf, hasCondition, isFalse, isTrue, messageOf } from './expressions.ts'

/** Kueue suspends the work of its queues until it admits the work; no user has to act. */
const isSuspended = `spec.suspend == true && !metadata.?labels[?'kueue.x-k8s.io/queue-name'].hasValue()`

export const jobSet: CatalogueGroup = {
  group: 'jobset.x-k8s.io',
  entries: [
    {
      kind: 'JobSet',
      documentation: 'https://github.com/kubernetes-sigs/jobset/blob/main/api/jobset/v1alpha2/jobset_types.go',
      // The controller writes no generation: the template of a JobSet cannot change.
      current: isTrue('Completed'),
      failed: isTrue('Failed'),
      suspended: isSuspended,
      resume: `kubectl patch jobset {name} -n {namespace} --type merge -p '{"spec":{"suspend":false}}'`,
      // The pods of a Job are ready or have completed; the Job decides when it fails.
      stallHold: `status.replicatedJobsStatus.exists(each, each.ready > 0)`,
      cause: [
        messageOf('Failed', 'False'),
        messageOf('Suspended', 'False'),
        messageOf('StartupPolicyInProgress', 'False'),
      ],
      owns: [jobs, pods],
    },
  ],
}

export const leaderWorkerSet: CatalogueGroup = {
  group: 'leaderworkerset.x-k8s.io',
  entries: [
    {
      kind: 'LeaderWorkerSet',
      documentation: 'https://github.com/kubernetes-sigs/lws/blob/main/pkg/controllers/leaderworkerset_controller.go',
      current: allOf(
        isTrue('Available'),
        `!status.conditions.exists(c, c.type in ['Progressing', 'UpdateInProgress'] && c.status == 'True')`,
      ),
      cause: [messageOf('UpdateInProgress', 'False'), messageOf('Progressing', 'False')],
      owns: [statefulSets, pods],
      isWorkload: true,
    },
  ],
}

const kueueTypes = 'https://github.com/kubernetes-sigs/kueue/blob/main/apis/kueue/v1beta1'
const hasNotSucceeded = isTrue('Finished', 'Failed', 'OutOfSync', 'FailedToStart', 'OwnerNotFound')
const activeQueue = {
  current: isTrue('Active'),
  // The references of an inactive queue may appear.
  suspended: `spec.stopPolicy in ['Hold', 'HoldAndDrain']`,
  cause: [messageOf('Active')],
}

export const kueue: CatalogueGroup = {
  group: 'kueue.x-k8s.io',
  entries: [
    {
      kind: 'Workload',
      documentation: `${kueueTypes}/workload_types.go`,
      current: allOf(isTrue('Finished'), `!${hasNotSucceeded}`),
      failed: hasNotSucceeded,
      suspended: `spec.active == false`,
      resume: `kubectl patch workload {name} -n {namespace} --type merge -p '{"spec":{"active":true}}'`,
      stallHold: isTrue('PodsReady'),
      cause: [
        messageOf('Finished', 'False'),
        messageOf('Evicted', 'False'),
        `status.admissionChecks.filter(each, each.state != 'Ready').map(each, each.name + ' is ' + each.state + ': ' + each.message)`,
        messageOf('QuotaReserved'),
        messageOf('Admitted'),
        messageOf('PodsReady'),
      ],
    },
    {
      kind: 'ClusterQueue',
      documentation: `${kueueTypes}/clusterqueue_types.go`,
      ...activeQueue,
      resume: `kubectl patch clusterqueue {name} --type merge -p '{"spec":{"stopPolicy":"None"}}'`,
    },
    {
      kind: 'LocalQueue',
      documentation: `${kueueTypes}/localqueue_types.go`,
      ...activeQueue,
      resume: `kubectl patch localqueue {name} -n {namespace} --type merge -p '{"spec":{"stopPolicy":"None"}}'`,
    },
    {
      kind: 'AdmissionCheck',
      documentation: `${kueueTypes}/admissioncheck_types.go`,
      current: isTrue('Active'),
      cause: [messageOf('Active')],
    },
    {
      kind: 'MultiKueueCluster',
      documentation: `${kueueTypes}/multikueue_types.go`,
      current: isTrue('Active'),
      cause: [messageOf('Active')],
    },
    // Its status is written for fair sharing only.
    { kind: 'Cohort', documentation: `${kueueTypes}/cohort_types.go`, current: 'true' },
  ],
}

const volcanoTypes = 'https://github.com/volcano-sh/apis/blob/master/pkg/apis'

export const volcanoBatch: CatalogueGroup = {
  group: 'batch.volcano.sh',
  entries: [
    {
      kind: 'Job',
      documentation: `${volcanoTypes}/batch/v1alpha1/job.go`,
      current: `status.state.phase == 'Completed'`,
      failed: `status.state.phase in ['Failed', 'Terminated', 'Aborted']`,
      stallHold: `status.state.phase == 'Running'`,
      cause: [`status.state.message`, `status.state.reason`],
      owns: [pods],
    },
  ],
}

export const volcanoScheduling: CatalogueGroup = {
  group: 'scheduling.volcano.sh',
  entries: [
    {
      kind: 'Queue',
      documentation: `${volcanoTypes}/scheduling/v1beta1/types.go`,
      current: `status.state == 'Open'`,
      suspended: `status.state in ['Closed', 'Closing']`,
      resume: 'vcctl queue operate --action open --name {name}',
    },
    {
      kind: 'PodGroup',
      documentation: `${volcanoTypes}/scheduling/v1beta1/types.go`,
      current: `status.phase in ['Running', 'Completed']`,
      cause: [messageOf('Unschedulable', 'False')],
    },
  ],
}

export const volcanoFlow: CatalogueGroup = {
  group: 'flow.volcano.sh',
  entries: [
    {
      kind: 'JobFlow',
      documentation: `${volcanoTypes}/flow/v1alpha1/jobflow_types.go`,
      current: `status.state.phase == 'Succeed'`,
      failed: `status.state.phase == 'Failed'`,
      stallHold: `status.state.phase == 'Running'`,
      cause: [`'failed jobs: ' + status.failedJobs.join(', ')`],
      owns: [{ apiVersion: 'batch.volcano.sh/v1alpha1', kind: 'Job' }, pods],
    },
  ],
}

const rayTypes = 'https://github.com/ray-project/kuberay/blob/master/ray-operator/apis/ray/v1'

/** The first application that does not run. */
const rayApplications = (holder: string) =>
  `status.${holder}.applicationStatuses.filter(name, status.${holder}.applicationStatuses[name].status != 'RUNNING').map(name,
    name + ' is ' + status.${holder}.applicationStatuses[name].status + ': ' + status.${holder}.applicationStatuses[name].?message.orValue('no message'))`

export const ray: CatalogueGroup = {
  group: 'ray.io',
  entries: [
    {
      kind: 'RayCluster',
      documentation: `${rayTypes}/raycluster_types.go`,
      // The state stays `ready` while workers are added.
      current: allOf(
        `status.state == 'ready'`,
        `!${hasCondition('HeadPodReady', `c.status == 'False'`)} || !has(status.conditions)`,
        `status.?readyWorkerReplicas.orValue(status.?availableWorkerReplicas.orValue(0)) >= status.?desiredWorkerReplicas.orValue(0)`,
      ),
      suspended: isSuspended,
      resume: `kubectl patch raycluster {name} -n {namespace} --type merge -p '{"spec":{"suspend":false}}'`,
      cause: [
        messageOf('ReplicaFailure', 'False'),
        messageOf('HeadPodReady'),
        `status.reason`,
        messageOf('RayClusterProvisioned'),
      ],
      owns: [pods],
      isWorkload: true,
    },
    {
      kind: 'RayJob',
      documentation: `${rayTypes}/rayjob_types.go`,
      current: `status.jobDeploymentStatus == 'Complete' && status.jobStatus == 'SUCCEEDED'`,
      // A failed attempt with attempts left is `Retrying`.
      failed: anyOf(
        `status.jobDeploymentStatus in ['Failed', 'ValidationFailed']`,
        `status.jobDeploymentStatus == 'Complete' && status.jobStatus in ['FAILED', 'STOPPED']`,
      ),
      suspended: isSuspended,
      resume: `kubectl patch rayjob {name} -n {namespace} --type merge -p '{"spec":{"suspend":false}}'`,
      stallHold: `status.jobStatus == 'RUNNING'`,
      cause: [`status.message`, `status.reason`],
      owns: [{ apiVersion: 'ray.io/v1', kind: 'RayCluster' }, jobs, pods],
    },
    {
      kind: 'RayService',
      documentation: `${rayTypes}/rayservice_types.go`,
      // Ready stays True from the previous cluster and configuration.
      current: allOf(
        anyOf(isTrue('Ready'), `!has(status.conditions) && status.serviceStatus == 'Running'`),
        `!status.?conditions.orValue([]).exists(c, c.type == 'UpgradeInProgress' && c.status != 'False')`,
        `status.?activeServiceStatus.?applicationStatuses.orValue({}).all(name,
          status.activeServiceStatus.applicationStatuses[name].status == 'RUNNING')`,
      ),
      failed: isFalse('Ready', 'InitializingTimeout', 'ValidationFailed'),
      suspended: isSuspended,
      resume: `kubectl patch rayservice {name} -n {namespace} --type merge -p '{"spec":{"suspend":false}}'`,
      cause: [
        ...['ValidationFailed', 'InitializingTimeout'].map(
          (reason) => `status.conditions.filter(c, c.type == 'Ready' && c.reason == '${reason}').map(c, c.message)`,
        ),
        rayApplications('pendingServiceStatus'),
        rayApplications('activeServiceStatus'),
        messageOf('Ready'),
        messageOf('UpgradeInProgress', 'False'),
      ],
      owns: [{ apiVersion: 'ray.io/v1', kind: 'RayCluster' }, pods],
      revision: `status.?pendingServiceStatus.?rayClusterName.orValue(status.?activeServiceStatus.?rayClusterName.orValue(''))`,
    },
  ],
}

export const spark: CatalogueGroup = {
  group: 'sparkoperator.k8s.io',
  entries: [
    {
      kind: 'SparkApplication',
      documentation: 'https://github.com/kubeflow/spark-operator/blob/master/api/v1beta2/sparkapplication_types.go',
      // An application that is always restarted does not end.
      current: anyOf(
        `status.applicationState.state == 'COMPLETED'`,
        `status.applicationState.state == 'RUNNING' && spec.restartPolicy.type == 'Always'`,
      ),
      // Other failures, such as SUBMISSION_FAILED, are followed by a retry or by FAILED.
      failed: `status.applicationState.state == 'FAILED'`,
      suspended: `spec.suspend == true`,
      resume: `kubectl patch sparkapplication {name} -n {namespace} --type merge -p '{"spec":{"suspend":false}}'`,
      stallHold: `status.applicationState.state == 'RUNNING'`,
      cause: [`status.applicationState.errorMessage`],
      owns: [pods],
    },
    {
      kind: 'ScheduledSparkApplication',
      documentation:
        'https://github.com/kubeflow/spark-operator/blob/master/api/v1beta2/scheduledsparkapplication_types.go',
      // The controller writes no status of a suspended object.
      current: anyOf(`status.scheduleState == 'Scheduled'`, `spec.suspend == true`),
      failed: `status.scheduleState == 'FailedValidation'`,
      cause: [`status.reason`],
    },
  ],
}
