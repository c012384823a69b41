import { ray, spark } from '../../../../src/lifecycle/custom/catalogue/batch.ts'
import { type SampleObject, testEntries } from './cases.ts'

const condition = (type: string, status: string, reason = '', message = '') => ({ type, status, reason, message })

const object = (kind: string, status: object, spec: object = {}): SampleObject => ({
  apiVersion: 'ray.io/v1',
  kind,
  metadata: { generation: 2 },
  spec,
  status,
})

/** The controller leaves out counts of zero. */
const cluster = (status: object, spec: object = {}) =>
  object('RayCluster', { observedGeneration: 2, desiredWorkerReplicas: 3, ...status }, spec)
const headReady = condition('HeadPodReady', 'True', 'HeadPodRunningAndReady')

testEntries(ray, [
  [
    'a RayCluster with its head and its workers is ready',
    cluster({ state: 'ready', readyWorkerReplicas: 3, availableWorkerReplicas: 3, conditions: [headReady] }),
    { verdict: 'ready' },
  ],
  [
    'a RayCluster of a version without conditions is ready',
    cluster({ state: 'ready', availableWorkerReplicas: 3 }),
    { verdict: 'ready' },
  ],
  [
    'a RayCluster whose workers start progresses, although its state is still ready',
    cluster({ state: 'ready', readyWorkerReplicas: 1, availableWorkerReplicas: 3, conditions: [headReady] }),
    { verdict: 'progressing' },
  ],
  [
    'a RayCluster whose head is not ready quotes its pod',
    cluster({
      state: 'ready',
      readyWorkerReplicas: 3,
      conditions: [
        condition('HeadPodReady', 'False', 'ContainersNotReady', 'containers with unready status: [ray-head]'),
      ],
    }),
    { verdict: 'progressing', mentions: 'containers with unready status: [ray-head]' },
  ],
  [
    'a RayCluster whose pods cannot be created quotes the API server',
    cluster({
      conditions: [condition('ReplicaFailure', 'True', 'FailedCreateWorkerPod', 'pods is forbidden: exceeded quota')],
    }),
    { verdict: 'progressing', mentions: 'exceeded quota' },
  ],
  [
    'a RayCluster that was ready with its older spec progresses',
    cluster({ observedGeneration: 1, state: 'ready', readyWorkerReplicas: 3 }),
    { verdict: 'progressing' },
  ],
  [
    'a suspended RayCluster waits for a person',
    cluster({ state: 'suspended' }, { suspend: true }),
    { verdict: 'suspended', hint: 'kubectl patch raycluster sample -n shop' },
  ],
])

const rayJob = (jobDeploymentStatus: string, jobStatus: string, more: object = {}) =>
  object('RayJob', { jobDeploymentStatus, jobStatus, ...more })

testEntries(ray, [
  ['a RayJob that succeeded is ready', rayJob('Complete', 'SUCCEEDED'), { verdict: 'ready' }],
  ['a RayJob whose cluster starts progresses', rayJob('Initializing', ''), { verdict: 'progressing', isHeld: false }],
  [
    'a running RayJob progresses, as long as it runs',
    rayJob('Running', 'RUNNING'),
    { verdict: 'progressing', isHeld: true },
  ],
  ['a RayJob that is tried again progresses', rayJob('Retrying', 'FAILED'), { verdict: 'progressing' }],
  [
    'a RayJob whose application failed has failed',
    rayJob('Failed', 'FAILED', { reason: 'AppFailed', message: 'Job entrypoint command failed with exit code 1' }),
    { verdict: 'failed', mentions: 'exit code 1' },
  ],
  ['a stopped RayJob has failed', rayJob('Complete', 'STOPPED'), { verdict: 'failed' }],
  [
    'a RayJob with an invalid spec has failed',
    rayJob('ValidationFailed', '', { reason: 'ValidationFailed', message: 'the RayJob spec is invalid' }),
    { verdict: 'failed', mentions: 'the RayJob spec is invalid' },
  ],
  [
    'a suspended RayJob waits for a person',
    object('RayJob', { jobDeploymentStatus: 'Suspended' }, { suspend: true }),
    { verdict: 'suspended' },
  ],
])

const service = (conditions: readonly object[], status: object = {}) =>
  object('RayService', { observedGeneration: 2, conditions, ...status }, {})
const serving = condition('Ready', 'True', 'NonZeroServeEndpoints')
const noUpgrade = condition('UpgradeInProgress', 'False', 'NoPendingCluster')
const app = (status: string, message?: string) => ({ applicationStatuses: { fruit: { status, message } } })

testEntries(ray, [
  [
    'a RayService whose applications run is ready',
    service([serving, noUpgrade], { activeServiceStatus: app('RUNNING') }),
    { verdict: 'ready' },
  ],
  [
    'a RayService that prepares a new cluster progresses, although the old one serves',
    service([serving, condition('UpgradeInProgress', 'True', 'BothActivePendingClustersExist')], {
      activeServiceStatus: app('RUNNING'),
      pendingServiceStatus: app('DEPLOY_FAILED', 'ModuleNotFoundError: fruit'),
    }),
    { verdict: 'progressing', mentions: 'fruit is DEPLOY_FAILED: ModuleNotFoundError: fruit' },
  ],
  [
    'a RayService that deploys a new configuration in its cluster progresses',
    service([serving, noUpgrade], { activeServiceStatus: app('DEPLOYING') }),
    { verdict: 'progressing' },
  ],
  [
    'a RayService that starts progresses',
    service([condition('Ready', 'False', 'Initializing', 'RayService is initializing')]),
    { verdict: 'progressing', mentions: 'RayService is initializing' },
  ],
  [
    'a RayService that did not start within its timeout has failed',
    service([
      condition('Ready', 'False', 'InitializingTimeout', 'failed to become ready within the configured timeout'),
    ]),
    { verdict: 'failed', mentions: 'within the configured timeout' },
  ],
  [
    'a suspended RayService waits for a person',
    object('RayService', { observedGeneration: 2, conditions: [] }, { suspend: true }),
    { verdict: 'suspended', hint: 'kubectl patch rayservice sample -n shop' },
  ],
  [
    'a RayService that served its older spec progresses',
    service([serving, noUpgrade], { observedGeneration: 1 }),
    { verdict: 'progressing' },
  ],
])

const sparkApp = (state: string, more: object = {}, spec: object = {}): SampleObject => ({
  apiVersion: 'sparkoperator.k8s.io/v1beta2',
  kind: 'SparkApplication',
  spec: { restartPolicy: { type: 'Never' }, ...spec },
  status: { applicationState: { state, ...more } },
})
const schedule = (status: object, spec: object = {}): SampleObject => ({
  apiVersion: 'sparkoperator.k8s.io/v1beta2',
  kind: 'ScheduledSparkApplication',
  spec: { schedule: '@daily', ...spec },
  status,
})

testEntries(spark, [
  ['a completed SparkApplication is ready', sparkApp('COMPLETED'), { verdict: 'ready' }],
  [
    'a running SparkApplication progresses, as long as it runs',
    sparkApp('RUNNING'),
    { verdict: 'progressing', isHeld: true },
  ],
  [
    'a SparkApplication that is always restarted is ready when it runs',
    sparkApp('RUNNING', {}, { restartPolicy: { type: 'Always' } }),
    { verdict: 'ready' },
  ],
  [
    'a SparkApplication whose submission failed is tried again',
    sparkApp('SUBMISSION_FAILED', { errorMessage: 'failed to run spark-submit' }),
    { verdict: 'progressing', mentions: 'failed to run spark-submit', isHeld: false },
  ],
  [
    'a failed SparkApplication has failed',
    sparkApp('FAILED', { errorMessage: 'driver container failed with ExitCode: 1' }),
    { verdict: 'failed', mentions: 'ExitCode: 1' },
  ],
  [
    'a suspended SparkApplication waits for a person',
    sparkApp('SUSPENDED', {}, { suspend: true }),
    { verdict: 'suspended' },
  ],
  [
    'a ScheduledSparkApplication that is scheduled is ready',
    schedule({ scheduleState: 'Scheduled' }),
    { verdict: 'ready' },
  ],
  ['a new ScheduledSparkApplication progresses', schedule({ lastRun: null }), { verdict: 'progressing' }],
  ['a suspended ScheduledSparkApplication is ready', schedule({}, { suspend: true }), { verdict: 'ready' }],
  [
    'a ScheduledSparkApplication with an invalid schedule has failed',
    schedule({ scheduleState: 'FailedValidation', reason: 'expected exactly 5 fields' }),
    { verdict: 'failed', mentions: 'expected exactly 5 fields' },
  ],
])
