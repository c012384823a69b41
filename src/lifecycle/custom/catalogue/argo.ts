import { type CatalogueGroup, deployments, jobs, pods, replicaSets, statefulSets } from './entry.ts'
import { allOf, anyOf, isFalse, isTrue } from './expressions.ts'

const isPaused = `status.?pauseConditions.orValue([]).size() > 0`

/** A pause step with a duration, or a blue-green promotion that follows by itself. */
const isTimedPause = anyOf(
  allOf(
    `status.pauseConditions.all(pause, pause.reason == 'CanaryPauseStep')`,
    `spec.strategy.?canary.?steps[?status.?currentStepIndex.orValue(0)].?pause.?duration.hasValue()`,
  ),
  allOf(
    `status.pauseConditions.all(pause, pause.reason == 'BlueGreenPause')`,
    `spec.strategy.?blueGreen.?autoPromotionEnabled.orValue(true)`,
    `spec.strategy.?blueGreen.?autoPromotionSeconds.orValue(0) > 0`,
  ),
)

/** A step that takes its own time without moving a counter: an analysis, an experiment, a plugin. */
const isLongStep = anyOf(
  `status.canary.currentStepAnalysisRunStatus.status in ['Pending', 'Running']`,
  `status.blueGreen.prePromotionAnalysisRunStatus.status in ['Pending', 'Running']`,
  `status.blueGreen.postPromotionAnalysisRunStatus.status in ['Pending', 'Running']`,
  `spec.strategy.?canary.?steps[?status.?currentStepIndex.orValue(0)].?experiment.hasValue()`,
  `status.canary.stepPluginStatuses.exists(plugin, plugin.index == status.currentStepIndex && plugin.phase == 'Running')`,
)

/**
 * A rollout is also invalid while an object that it refers to does not exist or does not fit it. The controller checks it
 * every 20 seconds (https://github.com/argoproj/argo-rollouts/blob/master/pkg/apis/rollouts/validation/validation_references.go).
 */
const isReferenceInvalid = allOf(
  `status.message.startsWith('InvalidSpec')`,
  `status.message.matches('not found|Service "|ingress .|VirtualService|AnalysisTemplate|AppMesh|Ambassador')`,
)

/** Controllers before version 1.0 write no phase, which clients calculate. */
const hasNoPhase = `!has(status.phase)`
const isHealthyWithoutPhase = allOf(
  hasNoPhase,
  `status.?updatedReplicas.orValue(0) >= spec.replicas`,
  `status.?availableReplicas.orValue(0) >= status.?updatedReplicas.orValue(0)`,
  `status.?stableRS.orValue(status.?canary.?stableRS.orValue(status.currentPodHash)) == status.currentPodHash`,
  anyOf(
    `status.blueGreen.activeSelector == status.currentPodHash`,
    `has(spec.strategy.canary) && status.replicas <= status.updatedReplicas`,
  ),
)
const isDegradedWithoutPhase = allOf(
  hasNoPhase,
  `status.conditions.exists(c, c.type == 'InvalidSpec' || c.?reason.orValue('') in ['RolloutAborted', 'ProgressDeadlineExceeded'])`,
)

/** The parts of a source that a deployment changes, as one text. */
const sourceText = (source: string) =>
  [
    ...['repoURL', 'path', 'chart', 'targetRevision'].map((field) => `${source}.?${field}.orValue('')`),
    `${source}.?helm.?parameters.orValue([]).map(p, p.?name.orValue('') + '=' + p.?value.orValue('')).join(' ')`,
    `${source}.?helm.?values.orValue('')`,
    `${source}.?kustomize.?images.orValue([]).join(' ')`,
  ].join(` + ' ' + `)

/** A refresh, a sync or the reconciliation after it is pending, or another source was compared. */
const isApplicationStale = anyOf(
  `operation != null`,
  `'argocd.argoproj.io/refresh' in metadata.annotations`,
  `status.operationState.phase in ['Running', 'Terminating']`,
  `timestamp(status.reconciledAt) < timestamp(status.operationState.finishedAt)`,
  `${sourceText('spec.source')} != ${sourceText('status.sync.comparedTo.source')}`,
  `spec.source.?helm.?valuesObject.orValue({}) != status.sync.comparedTo.source.?helm.?valuesObject.orValue({})`,
  `spec.sources.map(each, ${sourceText('each')}) != status.sync.comparedTo.sources.map(each, ${sourceText('each')})`,
)

/**
 * The health is calculated again with every change of a resource: an HPA is degraded until it has metrics, a pod while its
 * container restarts. Degraded resources of these kinds have given up.
 */
const hasGivenUp = `status.resources.exists(each, each.?health.?status.orValue('') == 'Degraded'
  && each.kind in ['Deployment', 'Job', 'Rollout', 'Workflow'] && !each.health.?message.orValue('').startsWith('InvalidSpec'))`

/** The last sync failed, with the source and the revision that the present comparison has. It is not repeated. */
const hasSyncFailed = allOf(
  `status.operationState.phase in ['Failed', 'Error']`,
  `status.operationState.syncResult.source == status.sync.comparedTo.?source.orValue({})`,
  `status.operationState.syncResult.?revision.orValue('') == status.sync.?revision.orValue('')`,
  `status.operationState.syncResult.?revisions.orValue([]) == status.sync.?revisions.orValue([])`,
)

const isSuspendNode = `status.nodes[id].type == 'Suspend' && status.nodes[id].phase == 'Running'`
/** The template of a suspend node has a duration. */
const isTimedNode = `(spec.?templates.orValue([]) + status.?storedWorkflowTemplateSpec.?templates.orValue([])).exists(template,
  template.name == status.nodes[id].?templateName.orValue('') && template.?suspend.?duration.hasValue())`

/** Argo Rollouts, Argo CD, Argo Workflows and Argo Events share this API group. */
export const argo: CatalogueGroup = {
  group: 'argoproj.io',
  entries: [
    {
      kind: 'Rollout',
      documentation: 'https://github.com/argoproj/argo-rollouts/blob/master/utils/rollout/rolloututil.go',
      current: anyOf(`status.phase == 'Healthy'`, isHealthyWithoutPhase),
      suspended: anyOf(
        `spec.paused == true`,
        allOf(`status.?phase.orValue('Paused') == 'Paused'`, isPaused, `!(${isTimedPause})`),
      ),
      resume: 'kubectl argo rollouts promote {name} -n {namespace}',
      failed: anyOf(allOf(`status.phase == 'Degraded'`, `!(${isReferenceInvalid})`), isDegradedWithoutPhase),
      stallHold: anyOf(allOf(isPaused, isTimedPause), isLongStep),
      cause: [
        `status.conditions.filter(c, c.type == 'ReplicaFailure' && c.status == 'True')[0].message`,
        `status.message`,
      ],
      milestones: [
        { name: 'updated', done: `status.?updatedReplicas.orValue(0) >= spec.replicas` },
        { name: 'promoted', done: `status.stableRS == status.currentPodHash` },
      ],
      owns: [
        replicaSets,
        { apiVersion: 'argoproj.io/v1alpha1', kind: 'AnalysisRun' },
        { apiVersion: 'argoproj.io/v1alpha1', kind: 'Experiment' },
        jobs,
        pods,
      ],
      isWorkload: true,
      // The label rollouts-pod-template-hash of its ReplicaSets, pods and AnalysisRuns.
      revision: 'status.currentPodHash',
      // With a `workloadRef`, the template is that of the workload.
      follows: {
        kinds: [deployments, replicaSets, { apiVersion: 'v1', kind: 'PodTemplate' }],
        kind: 'spec.workloadRef.kind',
        name: 'spec.workloadRef.name',
        generation: 'status.workloadObservedGeneration',
      },
    },
    {
      kind: 'AnalysisRun',
      documentation:
        'https://github.com/argoproj/argo-rollouts/blob/master/pkg/apis/rollouts/v1alpha1/analysis_types.go',
      current: `status.phase == 'Successful'`,
      failed: `status.phase in ['Failed', 'Error', 'Inconclusive']`,
      stallHold: `status.phase == 'Running'`,
      cause: [
        `status.message`,
        `status.metricResults.filter(each, each.phase in ['Failed', 'Error', 'Inconclusive'] && has(each.message)).map(each, each.message)`,
      ],
      owns: [jobs, pods],
    },
    {
      kind: 'Experiment',
      documentation:
        'https://github.com/argoproj/argo-rollouts/blob/master/pkg/apis/rollouts/v1alpha1/experiment_types.go',
      // An experiment without an end runs until a user ends it.
      current: anyOf(
        `status.phase == 'Successful'`,
        allOf(
          `status.phase == 'Running'`,
          `!has(spec.duration)`,
          `!spec.?analyses.orValue([]).exists(each, each.?requiredForCompletion.orValue(false))`,
        ),
      ),
      failed: `status.phase in ['Failed', 'Error', 'Inconclusive']`,
      stallHold: `status.phase == 'Running'`,
      cause: [`status.message`, `status.templateStatuses.filter(each, has(each.message)).map(each, each.message)`],
      owns: [replicaSets, { apiVersion: 'argoproj.io/v1alpha1', kind: 'AnalysisRun' }, pods],
    },
    {
      kind: 'Application',
      documentation: 'https://github.com/argoproj/argo-cd/blob/master/pkg/apis/application/v1alpha1/types.go',
      current: `status.sync.status == 'Synced' && status.health.status == 'Healthy'`,
      inProgress: isApplicationStale,
      // Something in the application is suspended, or it is not synced automatically.
      suspended: anyOf(
        `status.sync.status == 'Synced' && status.health.status == 'Suspended'`,
        allOf(
          `status.sync.status == 'OutOfSync'`,
          `!spec.?syncPolicy.?automated.hasValue() || !spec.syncPolicy.automated.?enabled.orValue(true)`,
          `!(status.?operationState.?phase.orValue('') in ['Failed', 'Error'])`,
        ),
      ),
      failed: anyOf(
        hasSyncFailed,
        // Other errors are those of a request that is repeated.
        `status.conditions.exists(c, c.type == 'SyncError' && c.message.contains('sync attempt to'))`,
        allOf(`status.sync.status == 'Synced'`, `status.health.status == 'Degraded'`, hasGivenUp),
      ),
      cause: [
        `status.conditions.filter(c, c.type.endsWith('Error')).map(c, c.message)`,
        `status.operationState.phase in ['Failed', 'Error', 'Running'] ? status.operationState.message : ''`,
        `status.resources.filter(each, each.?health.?status.orValue('') in ['Degraded', 'Missing']).map(each,
          each.kind + '/' + each.name + ' is ' + each.health.status + ': ' + each.health.?message.orValue('no message'))`,
        `status.health.message`,
      ],
    },
    {
      kind: 'ApplicationSet',
      documentation:
        'https://github.com/argoproj/argo-cd/blob/master/pkg/apis/application/v1alpha1/applicationset_types.go',
      current: isTrue('ResourcesUpToDate'),
      inProgress: isTrue('RolloutProgressing'),
      // Every error is tried again: the repository and the parameters of the generators may change.
      cause: [
        `status.conditions.filter(c, c.type == 'ErrorOccurred' && c.status == 'True')[0].message`,
        `status.conditions.filter(c, c.type == 'RolloutProgressing' && c.status == 'True')[0].message`,
      ],
      owns: [{ apiVersion: 'argoproj.io/v1alpha1', kind: 'Application' }],
    },
    {
      kind: 'Workflow',
      documentation:
        'https://github.com/argoproj/argo-workflows/blob/main/pkg/apis/workflow/v1alpha1/workflow_phase.go',
      current: `status.phase == 'Succeeded'`,
      failed: `status.phase in ['Failed', 'Error']`,
      suspended: anyOf(
        `spec.suspend == true`,
        allOf(
          `status.nodes.exists(id, ${isSuspendNode} && !${isTimedNode})`,
          `!status.nodes.exists(id, status.nodes[id].type == 'Pod' && status.nodes[id].phase in ['Pending', 'Running'])`,
        ),
      ),
      resume: 'argo resume {name} -n {namespace}',
      stallHold: anyOf(
        `status.nodes.exists(id, status.nodes[id].type == 'Pod' && status.nodes[id].phase == 'Running')`,
        `status.nodes.exists(id, ${isSuspendNode} && ${isTimedNode})`,
      ),
      cause: [
        `status.nodes.filter(id, status.nodes[id].type == 'Pod' && status.nodes[id].phase in ['Failed', 'Error', 'Pending']
          && status.nodes[id].?message.hasValue()).map(id, status.nodes[id].displayName + ': ' + status.nodes[id].message)`,
        `status.message`,
      ],
      owns: [pods],
    },
    {
      // Its status has no subresource, and is empty until it is scheduled.
      kind: 'CronWorkflow',
      documentation:
        'https://github.com/argoproj/argo-workflows/blob/main/pkg/apis/workflow/v1alpha1/cron_workflow_types.go',
      current: 'true',
      failed: `status.conditions.exists(c, c.type == 'SpecError' && c.status == 'True')`,
      cause: [`status.conditions.filter(c, c.type == 'SpecError' && c.status == 'True')[0].message`],
    },
    {
      kind: 'EventBus',
      documentation: 'https://github.com/argoproj/argo-events/blob/master/pkg/apis/events/v1alpha1/eventbus_types.go',
      current: allOf(isTrue('Configured'), isTrue('Deployed')),
      failed: isFalse('Configured', 'InvalidSpec'),
      cause: [`status.conditions.filter(c, c.status == 'False' && has(c.message)).map(c, c.message)`],
      owns: [statefulSets, pods],
      awaitsWorkloads: true,
    },
    {
      kind: 'EventSource',
      documentation:
        'https://github.com/argoproj/argo-events/blob/master/pkg/apis/events/v1alpha1/eventsource_types.go',
      current: allOf(isTrue('SourcesProvided'), isTrue('Deployed')),
      failed: isFalse('SourcesProvided'),
      cause: [`status.conditions.filter(c, c.status == 'False' && has(c.message)).map(c, c.message)`],
      owns: [deployments, replicaSets, pods],
      awaitsWorkloads: true,
    },
    {
      kind: 'Sensor',
      documentation: 'https://github.com/argoproj/argo-events/blob/master/pkg/apis/events/v1alpha1/sensor_types.go',
      current: allOf(isTrue('DependenciesProvided'), isTrue('TriggersProvided'), isTrue('Deployed')),
      failed: anyOf(isFalse('DependenciesProvided'), isFalse('TriggersProvided')),
      cause: [`status.conditions.filter(c, c.status == 'False' && has(c.message)).map(c, c.message)`],
      owns: [deployments, replicaSets, pods],
      awaitsWorkloads: true,
    },
  ],
}
