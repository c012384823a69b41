import { type CatalogueGroup, deployments, pods } from './entry.ts'
import { allOf, anyOf } from './expressions.ts'

const source =
  'https://github.com/apache/flink-kubernetes-operator/blob/main/flink-kubernetes-operator-api/src/main/java/org/apache/flink/kubernetes/operator/api'

/**
 * Before the first deployment, every error has the state FAILED (CommonStatus.java): the operator tries again, except an
 * invalid spec. A job that has failed is restarted if the operator is configured so.
 */
const hasFailed = allOf(
  `status.lifecycleState == 'FAILED'`,
  anyOf(`has(status.reconciliationStatus.lastReconciledSpec)`, `status.error.contains('ValidationException')`),
  `string(spec.?flinkConfiguration[?'kubernetes.operator.job.restart.failed'].orValue(false)) != 'true'`,
)

/**
 * DEPLOYED is not the end: the job may still be rolled back to an older spec. If the spec requests a suspension, the
 * suspended job is ready.
 */
const application = {
  documentation: `${source}/lifecycle/ResourceLifecycleState.java`,
  current: anyOf(
    `status.lifecycleState == 'STABLE'`,
    // Old operators write no lifecycle state.
    `!has(status.lifecycleState) && status.jobManagerDeploymentStatus == 'READY' && status.jobStatus.state == 'RUNNING'`,
    `status.jobStatus.state == 'FINISHED'`,
    `status.lifecycleState == 'SUSPENDED' && spec.job.state == 'suspended'`,
  ),
  failed: anyOf(`status.lifecycleState == 'ROLLED_BACK'`, hasFailed),
  inProgress: `status.lifecycleState in ['CREATED', 'UPGRADING', 'ROLLING_BACK']`,
  cause: [`status.error`],
}

/** Apache Flink. */
export const flink: CatalogueGroup = {
  group: 'flink.apache.org',
  entries: [
    {
      kind: 'FlinkDeployment',
      ...application,
      owns: [deployments, pods],
      isWorkload: true,
    },
    { kind: 'FlinkSessionJob', ...application },
    {
      kind: 'FlinkStateSnapshot',
      documentation: `${source}/status/FlinkStateSnapshotStatus.java`,
      current: `status.state == 'COMPLETED'`,
      failed: `status.state in ['FAILED', 'ABANDONED']`,
      cause: [`status.error`],
    },
  ],
}
