import {
  jobSet,
  kueue,
  leaderWorkerSet,
  volcanoBatch,
  volcanoFlow,
  volcanoScheduling,
} from '../../../../src/lifecycle/custom/catalogue/batch.ts'
import { type SampleObject, testEntries } from './cases.ts'

const condition = (type: string, status: string, reason = '', message = '') => ({ type, status, reason, message })

const jobs = (conditions: readonly object[], counts: object = {}, spec: object = {}, labels = {}): SampleObject => ({
  apiVersion: 'jobset.x-k8s.io/v1alpha2',
  kind: 'JobSet',
  metadata: { labels },
  spec: { replicatedJobs: [{ name: 'workers', replicas: 2 }], ...spec },
  status: {
    conditions,
    restarts: 0,
    replicatedJobsStatus: [{ name: 'workers', ready: 0, succeeded: 0, failed: 0, active: 0, suspended: 0, ...counts }],
  },
})

const suspended = condition('Suspended', 'True', 'SuspendedJobs', 'jobset is suspended')

testEntries(jobSet, [
  [
    'a completed JobSet is ready',
    jobs([condition('Completed', 'True', 'AllJobsCompleted')], { succeeded: 2 }),
    { verdict: 'ready' },
  ],
  [
    'a JobSet whose Jobs run progresses, as long as they run',
    jobs([condition('StartupPolicyCompleted', 'True')], { ready: 2, active: 2 }),
    { verdict: 'progressing', isHeld: true },
  ],
  ['a JobSet whose pods do not start progresses', jobs([], { active: 2 }), { verdict: 'progressing', isHeld: false }],
  [
    'a JobSet that restarts its Jobs progresses',
    jobs([condition('RestartingJobSet', 'True', 'Restarting')], { failed: 1 }),
    { verdict: 'progressing' },
  ],
  [
    'a JobSet without restarts left has failed',
    jobs([condition('Failed', 'True', 'ReachedMaxRestarts', 'jobset failed due to reaching max number of restarts')]),
    { verdict: 'failed', mentions: 'reaching max number of restarts' },
  ],
  [
    'a suspended JobSet waits for a person',
    jobs([suspended], {}, { suspend: true }),
    { verdict: 'suspended', hint: 'kubectl patch jobset sample -n shop' },
  ],
  [
    'a JobSet that Kueue has not admitted progresses: no person has to act',
    jobs([suspended], {}, { suspend: true }, { 'kueue.x-k8s.io/queue-name': 'team-a' }),
    { verdict: 'progressing', mentions: 'jobset is suspended' },
  ],
])

const leaders = (conditions: readonly object[], observedGeneration = 2): SampleObject => ({
  apiVersion: 'leaderworkerset.x-k8s.io/v1',
  kind: 'LeaderWorkerSet',
  metadata: { generation: 2 },
  spec: { replicas: 2 },
  status: { observedGeneration, replicas: 2, readyReplicas: 2, updatedReplicas: 1, conditions },
})

testEntries(leaderWorkerSet, [
  [
    'a LeaderWorkerSet whose groups are ready is ready',
    leaders([condition('Available', 'True', 'AllGroupsReady'), condition('Progressing', 'False')]),
    { verdict: 'ready' },
  ],
  [
    'a LeaderWorkerSet that is being updated progresses',
    leaders([
      condition('Available', 'False'),
      condition('UpdateInProgress', 'True', 'GroupsUpdating', 'Rolling Upgrade is in progress'),
      condition('Progressing', 'True', 'GroupsProgressing', 'Replicas are progressing'),
    ]),
    { verdict: 'progressing', mentions: 'Rolling Upgrade is in progress' },
  ],
  [
    'a LeaderWorkerSet that was available with its older spec progresses',
    leaders([condition('Available', 'True')], 1),
    { verdict: 'progressing' },
  ],
])

const queued = (kind: string, conditions: readonly object[], spec: object = {}, more: object = {}): SampleObject => ({
  apiVersion: 'kueue.x-k8s.io/v1beta1',
  kind,
  metadata: { generation: 2 },
  spec,
  status: { conditions: conditions.map((each) => ({ observedGeneration: 2, ...each })), ...more },
})

const missingFlavor = "Can't admit new workloads: references missing ResourceFlavor(s): spot."

testEntries(kueue, [
  [
    'a Workload whose job succeeded is ready',
    queued('Workload', [condition('Finished', 'True', 'Succeeded'), condition('Admitted', 'True')]),
    { verdict: 'ready' },
  ],
  [
    'an admitted Workload with ready pods progresses, as long as they run',
    queued('Workload', [condition('Admitted', 'True'), condition('PodsReady', 'True')]),
    { verdict: 'progressing', isHeld: true },
  ],
  [
    'a Workload without quota quotes what is missing',
    queued('Workload', [
      condition(
        'QuotaReserved',
        'False',
        'Pending',
        "couldn't assign flavors to pod set main: insufficient quota for cpu",
      ),
    ]),
    { verdict: 'progressing', mentions: 'insufficient quota for cpu', isHeld: false },
  ],
  [
    'a Workload that waits for an admission check names it',
    queued(
      'Workload',
      [condition('QuotaReserved', 'True')],
      {},
      {
        admissionChecks: [{ name: 'budget', state: 'Pending', message: 'waits for approval' }],
      },
    ),
    { verdict: 'progressing', mentions: 'budget is Pending: waits for approval' },
  ],
  [
    'a Workload whose job failed has failed',
    queued('Workload', [condition('Finished', 'True', 'Failed', 'Job has reached the specified backoff limit')]),
    { verdict: 'failed', mentions: 'backoff limit' },
  ],
  [
    'a deactivated Workload waits for a person',
    queued('Workload', [], { active: false }),
    { verdict: 'suspended', hint: 'kubectl patch workload sample -n shop' },
  ],
  ...(['ClusterQueue', 'LocalQueue', 'AdmissionCheck', 'MultiKueueCluster'] as const).flatMap(
    (kind) =>
      [
        [`an active ${kind} is ready`, queued(kind, [condition('Active', 'True', 'Ready')]), { verdict: 'ready' }],
        [
          `an inactive ${kind} progresses: what it refers to may appear`,
          queued(kind, [condition('Active', 'False', 'FlavorNotFound', missingFlavor)]),
          { verdict: 'progressing', mentions: missingFlavor },
        ],
        [
          `a ${kind} that was active with its older spec progresses`,
          queued(kind, [{ ...condition('Active', 'True'), observedGeneration: 1 }]),
          { verdict: 'progressing' },
        ],
      ] as const,
  ),
  [
    'a stopped ClusterQueue waits for a person',
    queued('ClusterQueue', [condition('Active', 'False', 'Stopped')], { stopPolicy: 'HoldAndDrain' }),
    { verdict: 'suspended', hint: 'kubectl patch clusterqueue sample' },
  ],
  [
    'a stopped LocalQueue waits for a person',
    queued('LocalQueue', [condition('Active', 'False', 'Stopped')], { stopPolicy: 'Hold' }),
    { verdict: 'suspended', hint: 'kubectl patch localqueue sample -n shop' },
  ],
  [
    'a Cohort needs no status',
    { apiVersion: 'kueue.x-k8s.io/v1beta1', kind: 'Cohort', spec: {} },
    { verdict: 'ready' },
  ],
])

const held = (isHeld: boolean) => ({ verdict: 'progressing', isHeld }) as const

const volcano = (group: string, kind: string, status: object): SampleObject => ({
  apiVersion: `${group}.volcano.sh/v1alpha1`,
  kind,
  spec: {},
  status,
})
const job = (phase: string, message?: string) => volcano('batch', 'Job', { state: { phase, message }, minAvailable: 2 })

testEntries(volcanoBatch, [
  ['a completed Job is ready', job('Completed'), { verdict: 'ready' }],
  ['a running Job progresses, as long as it runs', job('Running'), { verdict: 'progressing', isHeld: true }],
  ['a Job that waits in its queue progresses', job('Pending'), { verdict: 'progressing', isHeld: false }],
  ['a Job that restarts progresses', job('Restarting'), { verdict: 'progressing' }],
  ['a Job without restarts left has failed', job('Failed', 'PodFailed'), { verdict: 'failed', mentions: 'PodFailed' }],
  ['an aborted Job has failed', job('Aborted'), { verdict: 'failed' }],
])

testEntries(volcanoScheduling, [
  ['a Queue without a state progresses', volcano('scheduling', 'Queue', { pending: 0 }), { verdict: 'progressing' }],
  ['an open Queue is ready', volcano('scheduling', 'Queue', { state: 'Open' }), { verdict: 'ready' }],
  [
    'a closed Queue waits for a person',
    volcano('scheduling', 'Queue', { state: 'Closed' }),
    { verdict: 'suspended', hint: 'vcctl queue operate --action open --name sample' },
  ],
  ['a PodGroup whose pods run is ready', volcano('scheduling', 'PodGroup', { phase: 'Running' }), { verdict: 'ready' }],
  [
    'a PodGroup that cannot be scheduled quotes the scheduler',
    volcano('scheduling', 'PodGroup', {
      phase: 'Inqueue',
      conditions: [condition('Unschedulable', 'True', 'NotEnoughResources', '2/2 tasks in gang unschedulable')],
    }),
    { verdict: 'progressing', mentions: '2/2 tasks in gang unschedulable' },
  ],
])

testEntries(volcanoFlow, [
  [
    'a JobFlow that succeeded is ready',
    volcano('flow', 'JobFlow', { state: { phase: 'Succeed' } }),
    { verdict: 'ready' },
  ],
  ['a pending JobFlow progresses', volcano('flow', 'JobFlow', { state: { phase: 'Pending' } }), held(false)],
  [
    'a running JobFlow takes as long as its Jobs',
    volcano('flow', 'JobFlow', { state: { phase: 'Running' } }),
    held(true),
  ],
  [
    'a failed JobFlow names its Jobs',
    volcano('flow', 'JobFlow', { state: { phase: 'Failed' }, failedJobs: ['flow-a'] }),
    { verdict: 'failed', mentions: 'flow-a' },
  ],
])
