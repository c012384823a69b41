import { tekton, tektonTriggers } from '../../../../src/lifecycle/custom/catalogue/tekton.ts'
import { type SampleObject, testEntries } from './cases.ts'

const run = (kind: string, status: string, reason: string, message = '', spec: object = {}): SampleObject => ({
  apiVersion: 'tekton.dev/v1',
  kind,
  metadata: { generation: 1 },
  spec,
  status: { observedGeneration: 1, conditions: [{ type: 'Succeeded', status, reason, message }] },
})

const progress = 'Tasks Completed: 1 (Failed: 0, Cancelled 0), Incomplete: 2, Skipped: 0'

testEntries(tekton, [
  ...(['PipelineRun', 'TaskRun', 'CustomRun', 'Run'] as const).flatMap(
    (kind) =>
      [
        [`a ${kind} that succeeded is ready`, run(kind, 'True', 'Succeeded'), { verdict: 'ready' }],
        [
          `a running ${kind} progresses, as long as it runs`,
          run(kind, 'Unknown', 'Running', progress),
          { verdict: 'progressing', mentions: progress, isHeld: true },
        ],
        [
          `a ${kind} that waits for what it refers to progresses`,
          run(kind, 'Unknown', 'ResolvingTaskRef', 'Waiting for a remote resolution'),
          { verdict: 'progressing', mentions: 'Waiting for a remote resolution', isHeld: false },
        ],
        [
          `a failed ${kind} quotes its result`,
          run(kind, 'False', 'Failed', 'exited with code 1'),
          { verdict: 'failed', mentions: 'exited with code 1' },
        ],
      ] as const,
  ),
  [
    'a PipelineRun whose last tasks were skipped is ready',
    run('PipelineRun', 'True', 'Completed'),
    { verdict: 'ready' },
  ],
  [
    'a PipelineRun whose Pipeline does not exist has failed',
    run('PipelineRun', 'False', 'CouldntGetPipeline', 'pipelines.tekton.dev "release" not found'),
    { verdict: 'failed', mentions: '"release" not found' },
  ],
  [
    'a pending PipelineRun waits for a person',
    run('PipelineRun', 'Unknown', 'PipelineRunPending', '', { status: 'PipelineRunPending' }),
    { verdict: 'suspended', hint: 'kubectl patch pipelinerun sample -n shop' },
  ],
  [
    'a pending TaskRun waits for a person',
    run('TaskRun', 'Unknown', 'TaskRunPending', '', { status: 'TaskRunPending' }),
    { verdict: 'suspended', hint: 'kubectl patch taskrun sample -n shop' },
  ],
  [
    'a TaskRun that is repeated progresses',
    run('TaskRun', 'Unknown', 'ToBeRetried', '"step-test" exited with code 1'),
    { verdict: 'progressing', mentions: 'exited with code 1', isHeld: false },
  ],
  [
    'a TaskRun whose image cannot be pulled has failed',
    run('TaskRun', 'False', 'TaskRunImagePullFailed', 'the step "test" failed to pull the image'),
    { verdict: 'failed', mentions: 'failed to pull the image' },
  ],
  ...(['Pipeline', 'Task', 'ClusterTask', 'StepAction'] as const).map(
    (kind) =>
      [
        `a ${kind} is configuration, and ready without a status`,
        { apiVersion: 'tekton.dev/v1', kind, spec: {} },
        { verdict: 'ready' },
      ] as const,
  ),
])

const listener = (status: string, message: string): SampleObject => ({
  apiVersion: 'triggers.tekton.dev/v1beta1',
  kind: 'EventListener',
  spec: {},
  status: {
    conditions: [
      { type: 'Ready', status, message },
      { type: 'Service', status: 'True', message: 'Service exists' },
    ],
  },
})

testEntries(tektonTriggers, [
  ['an EventListener with its Deployment is ready', listener('True', 'EventListener is ready'), { verdict: 'ready' }],
  [
    'an EventListener whose Deployment is not available progresses',
    listener(
      'False',
      'Condition Available has status: False with message: Deployment does not have minimum availability.',
    ),
    { verdict: 'progressing', mentions: 'Deployment does not have minimum availability.' },
  ],
  ...['Trigger', 'TriggerTemplate', 'TriggerBinding', 'ClusterTriggerBinding', 'Interceptor', 'ClusterInterceptor'].map(
    (kind) =>
      [
        `a ${kind} is configuration, and ready without a status`,
        { apiVersion: 'triggers.tekton.dev/v1beta1', kind, spec: {} },
        { verdict: 'ready' },
      ] as const,
  ),
])
