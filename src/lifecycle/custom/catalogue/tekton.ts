import { type CatalogueEntry, type CatalogueGroup, configuration, deployments, pods } from './entry.ts'
import { hasCondition, isFalse, isTrue, messageOf } from './expressions.ts'

const types = 'https://github.com/tektoncd/pipeline/blob/main/pkg/apis/pipeline/v1'

/** A run ends with the condition Succeeded; until then it is Unknown, also while a failed task is repeated. */
function run(kind: string, documentation: string, more: Partial<CatalogueEntry> = {}): CatalogueEntry {
  return {
    kind,
    documentation,
    current: isTrue('Succeeded'),
    failed: isFalse('Succeeded'),
    // Every run has a timeout, of one hour by default.
    stallHold: hasCondition('Succeeded', `c.status == 'Unknown'`, `c.reason in ['Started', 'Running']`),
    cause: [messageOf('Succeeded')],
    ...more,
  }
}

export const tekton: CatalogueGroup = {
  group: 'tekton.dev',
  entries: [
    run('PipelineRun', `${types}/pipelinerun_types.go`, {
      suspended: `spec.status == 'PipelineRunPending'`,
      resume: `kubectl patch pipelinerun {name} -n {namespace} --type merge -p '{"spec":{"status":null}}'`,
      owns: [
        { apiVersion: 'tekton.dev/v1', kind: 'TaskRun' },
        { apiVersion: 'tekton.dev/v1beta1', kind: 'CustomRun' },
        pods,
      ],
    }),
    run('TaskRun', `${types}/taskrun_types.go`, {
      suspended: `spec.status == 'TaskRunPending'`,
      resume: `kubectl patch taskrun {name} -n {namespace} --type merge -p '{"spec":{"status":null}}'`,
      owns: [pods],
    }),
    run('CustomRun', 'https://github.com/tektoncd/pipeline/blob/main/pkg/apis/pipeline/v1beta1/customrun_types.go'),
    run('Run', 'https://github.com/tektoncd/pipeline/blob/main/docs/customruns.md'),
    configuration('Pipeline', `${types}/pipeline_types.go`),
    configuration('Task', `${types}/task_types.go`),
    configuration('ClusterTask', 'https://github.com/tektoncd/pipeline/blob/main/docs/tasks.md'),
    configuration('StepAction', 'https://github.com/tektoncd/pipeline/blob/main/docs/stepactions.md'),
  ],
}

const triggers = 'https://github.com/tektoncd/triggers/blob/main'

export const tektonTriggers: CatalogueGroup = {
  group: 'triggers.tekton.dev',
  entries: [
    {
      kind: 'EventListener',
      documentation: `${triggers}/pkg/apis/triggers/v1beta1/event_listener_types.go`,
      current: isTrue('Ready'),
      cause: [
        messageOf('Ready'),
        `status.conditions.filter(c, c.status == 'False' && c.?message.hasValue()).map(c, c.message)`,
      ],
      owns: [deployments, pods],
      awaitsWorkloads: true,
    },
    ...['Trigger', 'TriggerBinding', 'TriggerTemplate', 'ClusterTriggerBinding', 'Interceptor'].map((kind) =>
      configuration(kind, `${triggers}/docs/README.md`),
    ),
    // Its address is in its status, but an interceptor with a URL of its own has none.
    configuration('ClusterInterceptor', `${triggers}/docs/clusterinterceptors.md`),
  ],
}
