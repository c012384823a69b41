import { type CatalogueGroup, deployments, pods, statefulSets } from './entry.ts'
import { allOf, isAnnotated, isTrue, messageOf } from './expressions.ts'

/** KServe. */
export const kserve: CatalogueGroup = {
  group: 'serving.kserve.io',
  entries: [
    {
      kind: 'InferenceService',
      documentation:
        'https://github.com/kserve/kserve/blob/master/pkg/apis/serving/v1beta1/inference_service_status.go',
      // The generation in the status is that of a Deployment or Knative Service, and Ready stays True while it is updated.
      ignoresGeneration: true,
      // An invalid specification is one that does not fit its ServingRuntime, which may be created or changed later.
      inProgress: `status.modelStatus.transitionStatus == 'BlockedByFailedLoad'`,
      current: allOf(
        isTrue('Ready'),
        `status.?modelStatus.?transitionStatus.orValue('') != 'InvalidSpec'`,
        `!status.conditions.exists(c, c.type == 'LatestDeploymentReady' && c.status != 'True')`,
        `status.?components.orValue({}).all(name, status.components[name].?latestCreatedRevision.orValue('')
          == status.components[name].?latestReadyRevision.orValue(''))`,
      ),
      suspended: isTrue('Stopped'),
      resume: 'kubectl annotate inferenceservice {name} -n {namespace} serving.kserve.io/stop-',
      cause: [
        `status.modelStatus.transitionStatus in ['InvalidSpec', 'BlockedByFailedLoad'] ? status.modelStatus.lastFailureInfo.message : ''`,
        messageOf('PredictorReady'),
        `status.modelStatus.transitionStatus == 'BlockedByFailedLoad' ? 'the model cannot be loaded' : ''`,
        messageOf('IngressReady'),
        messageOf('Ready'),
      ],
      owns: [deployments, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
    {
      kind: 'InferenceGraph',
      documentation: 'https://github.com/kserve/kserve/blob/master/pkg/controller/v1alpha1/inferencegraph/raw_ig.go',
      // The generation is that of the Deployment, and Ready is True whatever its condition Available is.
      ignoresGeneration: true,
      current: isTrue('Ready'),
      suspended: isTrue('Stopped'),
      resume: 'kubectl annotate inferencegraph {name} -n {namespace} serving.kserve.io/stop-',
      cause: [messageOf('Ready')],
      owns: [deployments, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
  ],
}

/** Notebooks of Kubeflow. */
export const kubeflow: CatalogueGroup = {
  group: 'kubeflow.org',
  entries: [
    {
      kind: 'Notebook',
      documentation:
        'https://github.com/kubeflow/notebooks/blob/notebooks-v1/components/notebook-controller/controllers/notebook_controller.go',
      // Its pod may have the previous template.
      current: `${isAnnotated('kubeflow-resource-stopped')} ? status.readyReplicas == 0 : status.readyReplicas > 0`,
      cause: [`status.containerState.waiting.message`, messageOf('Ready')],
      owns: [statefulSets, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
  ],
}
