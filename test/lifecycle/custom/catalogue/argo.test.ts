import { argo } from '../../../../src/lifecycle/custom/catalogue/argo.ts'
import { type EntryCase, type SampleObject, testEntries } from './cases.ts'

const canary = { canary: { steps: [{ setWeight: 20 }, { pause: { duration: '30s' } }, { pause: {} }] } }

/** The controller writes generations as strings, and counts of zero not at all. */
const rollout = (status: object, spec: object = {}, metadata: object = {}): SampleObject => ({
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'Rollout',
  metadata: { generation: 3, ...metadata },
  spec: { replicas: 4, strategy: canary, ...spec },
  status: { observedGeneration: '3', ...status },
})

const promoted = { replicas: 4, updatedReplicas: 4, readyReplicas: 4, currentPodHash: 'new', stableRS: 'new' }
const canaryPods = { replicas: 4, updatedReplicas: 1, readyReplicas: 4, currentPodHash: 'new', stableRS: 'old' }

function pause(reason: string) {
  const startTime = '2026-01-01T00:00:00Z'
  return { phase: 'Paused', message: reason, controllerPause: true, pauseConditions: [{ reason, startTime }] }
}

testEntries(argo, [
  [
    'a promoted Rollout is ready',
    rollout({ phase: 'Healthy', ...promoted, currentStepIndex: 3 }),
    { verdict: 'ready', reached: ['observed', 'updated', 'promoted', 'ready'] },
  ],
  [
    'a Rollout at a step progresses',
    rollout({ phase: 'Progressing', message: 'more replicas need to be updated', ...canaryPods, currentStepIndex: 0 }),
    {
      verdict: 'progressing',
      mentions: 'more replicas need to be updated',
      isHeld: false,
      reached: ['observed'],
    },
  ],
  [
    'a Rollout whose new pods cannot be created quotes the API server',
    rollout({
      phase: 'Progressing',
      message: 'more replicas need to be updated',
      conditions: [
        { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'pods "web" is forbidden: quota' },
      ],
    }),
    { verdict: 'progressing', mentions: 'pods "web" is forbidden: quota' },
  ],
  [
    'a Rollout that was healthy with its older spec progresses',
    rollout({ phase: 'Healthy', ...promoted, observedGeneration: '2' }),
    { verdict: 'progressing' },
  ],
  [
    'a Rollout that was healthy with the older spec of the Deployment that it references progresses',
    rollout(
      { phase: 'Healthy', ...promoted, workloadObservedGeneration: '1' },
      {},
      {
        annotations: { 'rollout.argoproj.io/workload-generation': '2' },
      },
    ),
    { verdict: 'progressing' },
  ],
  [
    'a Rollout at a pause step with a duration continues by itself',
    rollout({ ...pause('CanaryPauseStep'), ...canaryPods, currentStepIndex: 1 }),
    { verdict: 'progressing', isHeld: true },
  ],
  [
    'a Rollout at a pause step without a duration waits for a person',
    rollout({ ...pause('CanaryPauseStep'), ...canaryPods, currentStepIndex: 2 }),
    { verdict: 'suspended', hint: 'kubectl argo rollouts promote sample -n shop', isHeld: false },
  ],
  [
    'a Rollout whose analysis was inconclusive waits for a person, also at a step with a duration',
    rollout({
      ...pause('InconclusiveAnalysisRun'),
      ...canaryPods,
      currentStepIndex: 1,
    }),
    { verdict: 'suspended', mentions: 'InconclusiveAnalysisRun' },
  ],
  [
    'a blue-green Rollout with autoPromotionSeconds continues by itself',
    rollout(
      { ...pause('BlueGreenPause'), ...canaryPods },
      { strategy: { blueGreen: { activeService: 'web', autoPromotionSeconds: 60 } } },
    ),
    { verdict: 'progressing', isHeld: true },
  ],
  [
    'a blue-green Rollout without automatic promotion waits for a person',
    rollout(
      { ...pause('BlueGreenPause'), ...canaryPods },
      { strategy: { blueGreen: { activeService: 'web', autoPromotionEnabled: false } } },
    ),
    { verdict: 'suspended' },
  ],
  [
    'a Rollout that a person has just resumed progresses',
    rollout({ phase: 'Paused', message: 'CanaryPauseStep', controllerPause: true, ...canaryPods, currentStepIndex: 2 }),
    { verdict: 'progressing' },
  ],
  [
    'a Rollout that its spec pauses waits for a person',
    rollout({ phase: 'Paused', message: 'manually paused', ...canaryPods }, { paused: true }),
    { verdict: 'suspended', mentions: 'manually paused' },
  ],
  [
    'a Rollout whose step is an analysis takes as long as the analysis',
    rollout({
      phase: 'Progressing',
      message: 'more replicas need to be updated',
      ...canaryPods,
      currentStepIndex: 0,
      canary: { currentStepAnalysisRunStatus: { name: 'web-2-0', status: 'Running' } },
    }),
    { verdict: 'progressing', isHeld: true },
  ],
  [
    'a Rollout that exceeded its progress deadline has failed',
    rollout({ phase: 'Degraded', message: 'ProgressDeadlineExceeded: ReplicaSet "web-1" has timed out progressing.' }),
    { verdict: 'failed', mentions: 'has timed out progressing' },
  ],
  [
    'an aborted Rollout has failed',
    rollout({ phase: 'Degraded', abort: true, message: 'RolloutAborted: metric "errors" assessed Failed' }),
    { verdict: 'failed', mentions: 'metric "errors" assessed Failed' },
  ],
  [
    'a Rollout with an invalid spec has failed',
    rollout({ phase: 'Degraded', message: 'InvalidSpec: The Rollout "web" is invalid: spec.strategy: required' }),
    { verdict: 'failed', mentions: 'spec.strategy: required' },
  ],
  [
    'a Rollout whose Service is not created yet is checked again every 20 seconds',
    rollout({ phase: 'Degraded', message: 'InvalidSpec: The Rollout "web" is invalid: service "web" not found' }),
    { verdict: 'progressing', mentions: 'service "web" not found' },
  ],
  ...[
    'Service "web" has unmatch label "app" in rollout',
    'ingress `web` has no rules using service web backend',
    'Istio VirtualService has invalid HTTP routes. Error: Stable Service must be referenced',
    'AnalysisTemplate errors has metric rate which runs indefinitely',
  ].map(
    (message): EntryCase => [
      `a Rollout that refers to an object that is not correct yet is checked again: ${message}`,
      rollout({ phase: 'Degraded', message: `InvalidSpec: The Rollout "web" is invalid: spec.strategy: ${message}` }),
      { verdict: 'progressing', mentions: message },
    ],
  ),
  // Versions before 1.0 wrote neither a phase nor, until 0.10, the generation.
  [
    'a promoted Rollout of an old version is ready',
    rollout({ ...promoted, availableReplicas: 4, observedGeneration: '7bcdbf7bd9' }),
    { verdict: 'ready' },
  ],
  [
    'a Rollout of an old version with pods of the older revision progresses',
    rollout({ ...promoted, availableReplicas: 5, replicas: 5, observedGeneration: '7bcdbf7bd9' }),
    { verdict: 'progressing' },
  ],
  [
    'a Rollout of an old version that is not promoted progresses',
    rollout({ ...promoted, availableReplicas: 4, stableRS: 'old' }),
    { verdict: 'progressing' },
  ],
  [
    'an aborted Rollout of an old version has failed',
    rollout({
      ...canaryPods,
      conditions: [{ type: 'Progressing', status: 'False', reason: 'RolloutAborted', message: 'Rollout is aborted' }],
    }),
    { verdict: 'failed', mentions: 'Rollout is aborted' },
  ],
  [
    'a Rollout of an old version at a pause step without a duration waits for a person',
    rollout({ ...pause('CanaryPauseStep'), phase: undefined, ...canaryPods, currentStepIndex: 2 }),
    { verdict: 'suspended' },
  ],
])

const held = (isHeld: boolean) => ({ verdict: 'progressing', isHeld }) as const

const analysis = (kind: string, status: object, spec: object = {}): SampleObject => ({
  apiVersion: 'argoproj.io/v1alpha1',
  kind,
  spec,
  status,
})

testEntries(argo, [
  ['a successful AnalysisRun is ready', analysis('AnalysisRun', { phase: 'Successful' }), { verdict: 'ready' }],
  ['an AnalysisRun that waits progresses', analysis('AnalysisRun', { phase: 'Pending' }), held(false)],
  ['an Experiment whose pods start progresses', analysis('Experiment', { phase: 'Pending' }), held(false)],
  [
    'an AnalysisRun that measures progresses',
    analysis('AnalysisRun', { phase: 'Running', metricResults: [{ name: 'errors', phase: 'Running', count: 2 }] }),
    { verdict: 'progressing', isHeld: true },
  ],
  [
    'a failed AnalysisRun quotes its metric',
    analysis('AnalysisRun', { phase: 'Error', metricResults: [{ phase: 'Error', message: 'dial tcp: no such host' }] }),
    { verdict: 'failed', mentions: 'dial tcp: no such host' },
  ],
  [
    'an inconclusive AnalysisRun is not repeated, and has failed',
    analysis('AnalysisRun', { phase: 'Inconclusive', message: 'metric "errors" assessed Inconclusive' }),
    { verdict: 'failed' },
  ],
  ['a successful Experiment is ready', analysis('Experiment', { phase: 'Successful' }), { verdict: 'ready' }],
  [
    'an Experiment with a duration progresses until it ends',
    analysis('Experiment', { phase: 'Running' }, { duration: '5m' }),
    { verdict: 'progressing', isHeld: true },
  ],
  [
    'an Experiment without an end is ready when it runs',
    analysis('Experiment', { phase: 'Running' }, { analyses: [{ name: 'errors' }] }),
    { verdict: 'ready' },
  ],
  [
    'an Experiment that waits for an analysis progresses',
    analysis('Experiment', { phase: 'Running' }, { analyses: [{ name: 'errors', requiredForCompletion: true }] }),
    { verdict: 'progressing' },
  ],
  [
    'a failed Experiment quotes its template',
    analysis('Experiment', { phase: 'Failed', templateStatuses: [{ name: 'canary', message: 'has timed out' }] }),
    { verdict: 'failed', mentions: 'has timed out' },
  ],
])

const source = { repoURL: 'https://git.example.com/apps', path: 'web', targetRevision: 'main' }
const sync = { status: 'Synced', comparedTo: { source, destination: {} }, revision: 'a1b2' }
const healthy = { sync, health: { status: 'Healthy' }, reconciledAt: '2026-01-01T00:01:00Z' }
const sourced = { source: { ...source, directory: { jsonnet: {} } } }

const application = (status: object, spec: object = {}, rest: object = {}): SampleObject => ({
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'Application',
  metadata: { generation: 12 },
  spec: { source, destination: {}, syncPolicy: { automated: {} }, ...spec },
  status,
  ...rest,
})

const operation = (phase: string, more: object = {}) => ({
  operationState: {
    phase,
    startedAt: '2026-01-01T00:00:10Z',
    finishedAt: '2026-01-01T00:00:40Z',
    message: 'one or more objects failed to apply',
    syncResult: { revision: 'a1b2', source },
    ...more,
  },
})

testEntries(argo, [
  ['a synced and healthy Application is ready', application(healthy), { verdict: 'ready' }],
  [
    'an Application is ready although its status contains defaults of its source',
    application({ ...healthy, sync: { ...sync, comparedTo: sourced } }),
    { verdict: 'ready' },
  ],
  [
    'an Application whose parameters changed after the comparison progresses',
    application(healthy, { source: { ...source, helm: { parameters: [{ name: 'image.tag', value: 'v2' }] } } }),
    { verdict: 'progressing' },
  ],
  [
    'an Application whose values changed after the comparison progresses',
    application(healthy, { source: { ...source, helm: { valuesObject: { image: { tag: 'v2' } } } } }),
    { verdict: 'progressing' },
  ],
  [
    'an Application of several sources whose revision changed after the comparison progresses',
    application(
      { ...healthy, sync: { ...sync, comparedTo: { sources: [source, { ...source, path: 'db' }] } } },
      { source: undefined, sources: [source, { ...source, path: 'db', targetRevision: 'v2' }] },
    ),
    { verdict: 'progressing' },
  ],
  [
    'an Application of several compared sources is ready',
    application(
      { ...healthy, sync: { ...sync, comparedTo: { sources: [source, { ...source, path: 'db' }] } } },
      { source: undefined, sources: [source, { ...source, path: 'db' }] },
    ),
    { verdict: 'ready' },
  ],
  [
    'an Application with a requested sync progresses',
    application(healthy, {}, { operation: { sync: { revision: 'a1b2' } } }),
    { verdict: 'progressing' },
  ],
  [
    'an Application with a requested refresh progresses',
    application(healthy, {}, { metadata: { annotations: { 'argocd.argoproj.io/refresh': 'normal' } } }),
    { verdict: 'progressing' },
  ],
  [
    'an Application that is being synced progresses, whatever its health was',
    application({ ...healthy, health: { status: 'Degraded' }, ...operation('Running', { finishedAt: undefined }) }),
    { verdict: 'progressing', mentions: 'one or more objects failed to apply' },
  ],
  [
    'an Application that was not reconciled since its sync progresses',
    application({ ...healthy, reconciledAt: '2026-01-01T00:00:20Z', ...operation('Succeeded') }),
    { verdict: 'progressing' },
  ],
  [
    'an Application whose sync failed has failed',
    application({ ...healthy, sync: { ...sync, status: 'OutOfSync' }, ...operation('Failed') }),
    { verdict: 'failed', mentions: 'one or more objects failed to apply' },
  ],
  [
    'a failed sync of an older revision does not count',
    application({
      ...healthy,
      sync: { ...sync, status: 'OutOfSync' },
      ...operation('Failed', { syncResult: { revision: '9f9f', source } }),
    }),
    { verdict: 'progressing' },
  ],
  [
    'a degraded Application names its resource',
    application({
      ...healthy,
      health: { status: 'Degraded' },
      resources: [
        { kind: 'Service', name: 'web', health: { status: 'Healthy' } },
        { kind: 'Job', name: 'migrate', health: { status: 'Degraded', message: 'BackoffLimitExceeded' } },
      ],
    }),
    { verdict: 'failed', mentions: 'Job/migrate is Degraded: BackoffLimitExceeded' },
  ],
  ...(
    [
      ['an HPA without metrics', 'HorizontalPodAutoscaler', 'FailedGetResourceMetric: no metrics', 'progressing'],
      ['a Rollout whose Service follows', 'Rollout', 'InvalidSpec: service "web" not found', 'progressing'],
      ['a Rollout that was aborted', 'Rollout', 'RolloutAborted: metric "errors" assessed Failed', 'failed'],
      ['a Deployment', 'Deployment', 'Deployment "web" exceeded its progress deadline', 'failed'],
    ] as const
  ).map(
    ([name, kind, message, verdict]): EntryCase => [
      `an Application degraded by ${name} has the verdict: ${verdict}`,
      application({
        ...healthy,
        health: { status: 'Degraded' },
        resources: [{ kind, name: 'web', health: { status: 'Degraded', message } }],
      }),
      { verdict, mentions: message },
    ],
  ),
  [
    'a degraded Application whose status does not contain the health of its resources may recover',
    application({ ...healthy, health: { status: 'Degraded' } }),
    { verdict: 'progressing', mentions: 'Degraded' },
  ],
  ...(
    [
      ['Failed last sync attempt to [a1b2]: one or more objects failed to apply', 'failed'],
      ['Skipping sync attempt to [a1b2]: auto-sync will wipe out all resources', 'failed'],
      ['Operation cannot be fulfilled: the object has been modified', 'progressing'],
    ] as const
  ).map(
    ([message, verdict]): EntryCase => [
      `an Application with this error of its automatic sync has the verdict ${verdict}: ${message}`,
      application({ ...healthy, sync: { ...sync, status: 'OutOfSync' }, conditions: [{ type: 'SyncError', message }] }),
      { verdict, mentions: message },
    ],
  ),
  [
    'an Application whose manifests cannot be made is compared again',
    application({
      ...healthy,
      sync: { ...sync, status: 'Unknown' },
      conditions: [{ type: 'ComparisonError', message: 'app path does not exist' }],
    }),
    { verdict: 'progressing', mentions: 'app path does not exist' },
  ],
  [
    'an Application that is not synced automatically waits for a person',
    application({ ...healthy, sync: { ...sync, status: 'OutOfSync' } }, { syncPolicy: {} }),
    { verdict: 'suspended' },
  ],
  [
    'an Application with a paused Rollout waits for a person',
    application({ ...healthy, health: { status: 'Suspended' } }),
    { verdict: 'suspended' },
  ],
])

const condition = (type: string, status: string, reason = '', message = '') => ({ type, status, reason, message })
const withConditions = (kind: string, ...conditions: readonly object[]): SampleObject => ({
  apiVersion: 'argoproj.io/v1alpha1',
  kind,
  spec: {},
  status: { conditions },
})

testEntries(argo, [
  [
    'an ApplicationSet whose Applications are up to date is ready',
    withConditions('ApplicationSet', condition('ErrorOccurred', 'False'), condition('ResourcesUpToDate', 'True')),
    { verdict: 'ready' },
  ],
  [
    'an ApplicationSet that syncs its Applications in steps progresses',
    withConditions(
      'ApplicationSet',
      condition('ResourcesUpToDate', 'True'),
      condition(
        'RolloutProgressing',
        'True',
        'ApplicationSetModified',
        'ApplicationSet is performing rollout of step 1',
      ),
    ),
    { verdict: 'progressing', mentions: 'performing rollout of step 1' },
  ],
  [
    'an ApplicationSet whose generator cannot read its repository is tried again',
    withConditions(
      'ApplicationSet',
      condition('ErrorOccurred', 'True', 'ApplicationGenerationFromParamsError', 'repository not accessible'),
      condition('ResourcesUpToDate', 'False', 'ErrorOccurred'),
    ),
    { verdict: 'progressing', mentions: 'repository not accessible' },
  ],
  [
    'an ApplicationSet whose template cannot be rendered is rendered again: its generators may return other parameters',
    withConditions(
      'ApplicationSet',
      condition('ErrorOccurred', 'True', 'RenderTemplateParamsError', 'map has no entry for key "cluster"'),
    ),
    { verdict: 'progressing', mentions: 'map has no entry for key "cluster"' },
  ],
])

const node = (type: string, phase: string, more: object = {}) => ({ type, phase, displayName: 'step', ...more })
const workflow = (phase: string, nodes: object = {}, spec: object = {}, more: object = {}): SampleObject => ({
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'Workflow',
  spec: {
    templates: [
      { name: 'wait', suspend: { duration: '20s' } },
      { name: 'approve', suspend: {} },
    ],
    ...spec,
  },
  status: { phase, nodes, ...more },
})

testEntries(argo, [
  ['a Workflow that succeeded is ready', workflow('Succeeded'), { verdict: 'ready' }],
  [
    'a Workflow with a running pod progresses',
    workflow('Running', { a: node('Pod', 'Running') }),
    { verdict: 'progressing', isHeld: true },
  ],
  [
    'a Workflow quotes the pod that cannot start',
    workflow('Running', { a: node('Pod', 'Pending', { message: 'ImagePullBackOff: Back-off pulling image' }) }),
    { verdict: 'progressing', mentions: 'step: ImagePullBackOff', isHeld: false },
  ],
  [
    'a Workflow that repeats a failed pod progresses',
    workflow('Running', { a: node('Pod', 'Failed', { message: 'main: exit code 1' }), b: node('Pod', 'Running') }),
    { verdict: 'progressing' },
  ],
  [
    'a failed Workflow quotes its pod',
    workflow(
      'Failed',
      { a: node('Pod', 'Failed', { message: 'main: Error (exit code 1)' }) },
      {},
      { message: 'child failed' },
    ),
    { verdict: 'failed', mentions: 'main: Error (exit code 1)' },
  ],
  [
    'a Workflow with invalid templates has failed',
    workflow('Error', {}, {}, { message: 'invalid spec: templates.main: undefined variable' }),
    { verdict: 'failed', mentions: 'undefined variable' },
  ],
  [
    'a Workflow at a suspend template with a duration continues by itself',
    workflow('Running', { a: node('Suspend', 'Running', { templateName: 'wait' }) }),
    { verdict: 'progressing', isHeld: true },
  ],
  [
    'a Workflow at a suspend template without a duration waits for a person',
    workflow('Running', { a: node('Suspend', 'Running', { templateName: 'approve' }) }),
    { verdict: 'suspended', hint: 'argo resume sample -n shop', isHeld: false },
  ],
  [
    'a Workflow at a suspend template of its WorkflowTemplate waits for a person',
    workflow(
      'Running',
      { a: node('Suspend', 'Running', { templateName: 'ask' }) },
      { templates: undefined },
      {
        storedWorkflowTemplateSpec: { templates: [{ name: 'ask', suspend: {} }] },
      },
    ),
    { verdict: 'suspended' },
  ],
  [
    'a Workflow that its spec suspends waits for a person',
    workflow('Running', {}, { suspend: true }),
    { verdict: 'suspended' },
  ],
  [
    'a CronWorkflow is ready before its first run',
    { apiVersion: 'argoproj.io/v1alpha1', kind: 'CronWorkflow', spec: { schedules: ['0 * * * *'] } },
    { verdict: 'ready' },
  ],
  [
    'a CronWorkflow of a version that writes only its last run is ready',
    {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'CronWorkflow',
      spec: { schedules: ['0 * * * *'] },
      status: { lastScheduledTime: '2026-01-01T00:00:00Z' },
    },
    { verdict: 'ready' },
  ],
  [
    'a CronWorkflow with an invalid spec has failed',
    withConditions('CronWorkflow', condition('SpecError', 'True', '', 'cron schedule is malformed')),
    { verdict: 'failed', mentions: 'cron schedule is malformed' },
  ],
  [
    'a CronWorkflow whose last run could not be submitted is ready: the next one may succeed',
    withConditions('CronWorkflow', condition('SubmissionError', 'True', '', 'quota')),
    { verdict: 'ready' },
  ],
  [
    'a deployed EventBus is ready',
    withConditions('EventBus', condition('Configured', 'True'), condition('Deployed', 'True')),
    { verdict: 'ready' },
  ],
  [
    'an EventBus whose resources cannot be created is tried again',
    withConditions('EventBus', condition('Configured', 'True'), condition('Deployed', 'False', '', 'exceeded quota')),
    { verdict: 'progressing', mentions: 'exceeded quota' },
  ],
  [
    'an EventBus with an invalid spec has failed',
    withConditions(
      'EventBus',
      condition('Configured', 'False', 'InvalidSpec', 'either "nats" or "jetstream" needs to be specified'),
      condition('Deployed', 'Unknown'),
    ),
    { verdict: 'failed', mentions: 'needs to be specified' },
  ],
  ...(['EventSource', 'Sensor'] as const).flatMap((kind) => {
    const provided = kind === 'Sensor' ? ['DependenciesProvided', 'TriggersProvided'] : ['SourcesProvided']
    return [
      [
        `a deployed ${kind} is ready`,
        withConditions(kind, condition('Deployed', 'True'), ...provided.map((type) => condition(type, 'True'))),
        { verdict: 'ready' },
      ],
      [
        `a ${kind} that waits for its EventBus progresses`,
        withConditions(
          kind,
          condition('Deployed', 'False', 'EventBusNotFound', 'EventBus not found.'),
          ...provided.map((type) => condition(type, 'True')),
        ),
        { verdict: 'progressing', mentions: 'EventBus not found.' },
      ],
      [
        `a ${kind} with an invalid spec has failed`,
        withConditions(kind, condition(provided[0] ?? '', 'False', 'Invalid', 'no name is given')),
        { verdict: 'failed', mentions: 'no name is given' },
      ],
    ] as const
  }),
])
