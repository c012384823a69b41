import { kruise, kruiseRollouts } from '../../../../src/lifecycle/custom/catalogue/kruise.ts'
import { type SampleObject, testEntries } from './cases.ts'

const object = (kind: string, spec: object, status: object): SampleObject => ({
  apiVersion: 'apps.kruise.io/v1alpha1',
  kind,
  metadata: { generation: 2 },
  spec,
  status: { observedGeneration: 2, ...status },
})

const three = { replicas: 3, readyReplicas: 3, availableReplicas: 3 }
const updated = { ...three, updatedReplicas: 3, updatedAvailableReplicas: 3, expectedUpdatedReplicas: 3 }
const cloneSet = (status: object, updateStrategy: object = {}) =>
  object('CloneSet', { replicas: 3, updateStrategy }, status)

testEntries(kruise, [
  ['an updated CloneSet is ready', cloneSet(updated), { verdict: 'ready' }],
  [
    'a CloneSet of a version that does not count updated available pods is ready',
    cloneSet({ ...three, updatedReplicas: 3, expectedUpdatedReplicas: 3 }),
    { verdict: 'ready' },
  ],
  [
    'a CloneSet with pods of the older revision progresses',
    cloneSet({ ...updated, updatedReplicas: 2, updatedAvailableReplicas: 2 }),
    { verdict: 'progressing' },
  ],
  [
    'a CloneSet whose updated pods are not available progresses',
    cloneSet({ ...updated, availableReplicas: 2, updatedAvailableReplicas: 2 }),
    { verdict: 'progressing' },
  ],
  [
    'a CloneSet with a partition is ready when the pods above it are updated',
    cloneSet(
      { ...three, updatedReplicas: 1, updatedAvailableReplicas: 1, expectedUpdatedReplicas: 1 },
      { partition: 2 },
    ),
    { verdict: 'ready' },
  ],
  [
    'a paused CloneSet waits for a person',
    cloneSet({ ...updated, updatedReplicas: 1, updatedAvailableReplicas: 1 }, { paused: true }),
    { verdict: 'suspended', hint: 'kubectl kruise rollout resume cloneset/sample -n shop' },
  ],
  [
    'a CloneSet that exceeded its progress deadline has failed',
    cloneSet({
      ...updated,
      updatedAvailableReplicas: 0,
      conditions: [
        {
          type: 'Progressing',
          status: 'False',
          reason: 'ProgressDeadlineExceeded',
          message: 'has timed out progressing',
        },
      ],
    }),
    { verdict: 'failed', mentions: 'has timed out progressing' },
  ],
  [
    'a CloneSet whose pods cannot be created quotes the API server',
    cloneSet({
      ...updated,
      replicas: 2,
      conditions: [{ type: 'FailedScale', status: 'True', message: 'pods is forbidden: exceeded quota' }],
    }),
    { verdict: 'progressing', mentions: 'exceeded quota' },
  ],
  [
    'a CloneSet that was updated to its older spec progresses',
    cloneSet({ ...updated, observedGeneration: 1 }),
    { verdict: 'progressing' },
  ],
])

const statefulSet = (updatedReplicas: number, updateStrategy: object = {}) =>
  object('StatefulSet', { replicas: 3, updateStrategy }, { ...three, updatedReplicas })
const daemonSet = (counts: object, rollingUpdate: object = {}) =>
  object('DaemonSet', { updateStrategy: { rollingUpdate } }, { desiredNumberScheduled: 3, ...counts })

testEntries(kruise, [
  ['an updated StatefulSet is ready', statefulSet(3), { verdict: 'ready' }],
  ['a StatefulSet with pods of the older revision progresses', statefulSet(1), { verdict: 'progressing' }],
  [
    'a StatefulSet with a partition is ready when the pods above it are updated',
    statefulSet(1, { rollingUpdate: { partition: 2 } }),
    { verdict: 'ready' },
  ],
  [
    'a StatefulSet with the strategy OnDelete is ready with pods of the older revision',
    statefulSet(0, { type: 'OnDelete' }),
    { verdict: 'ready' },
  ],
  [
    'a paused StatefulSet waits for a person',
    statefulSet(1, { rollingUpdate: { paused: true } }),
    { verdict: 'suspended', hint: 'kubectl patch statefulsets.apps.kruise.io sample -n shop' },
  ],
  ['an updated DaemonSet is ready', daemonSet({ updatedNumberScheduled: 3, numberAvailable: 3 }), { verdict: 'ready' }],
  [
    'a DaemonSet with pods of the older revision progresses',
    daemonSet({ updatedNumberScheduled: 1, numberAvailable: 3 }),
    { verdict: 'progressing' },
  ],
  [
    'a DaemonSet with a percentage as its partition is ready when its pods are available',
    daemonSet({ updatedNumberScheduled: 1, numberAvailable: 3 }, { partition: '60%' }),
    { verdict: 'ready' },
  ],
])

testEntries(kruise, [
  [
    'a DaemonSet that its spec pauses waits for a person',
    daemonSet({ updatedNumberScheduled: 1, numberAvailable: 3 }, { paused: true }),
    { verdict: 'suspended', hint: 'kubectl patch daemonsets.apps.kruise.io sample -n shop' },
  ],
  [
    'a paused DaemonSet whose pods are updated is ready',
    daemonSet({ updatedNumberScheduled: 3, numberAvailable: 3 }, { paused: true }),
    { verdict: 'ready' },
  ],
  [
    'a paused StatefulSet whose pods are updated is ready',
    statefulSet(3, { rollingUpdate: { paused: true } }),
    { verdict: 'ready' },
  ],
])

const broadcastJob = (phase: string, counts: object, spec: object = {}) =>
  object('BroadcastJob', spec, { phase, desired: 3, active: 0, succeeded: 0, failed: 0, ...counts })
const sidecarSet = (counts: object, updateStrategy: object = {}) =>
  object('SidecarSet', { updateStrategy }, { matchedPods: 3, updatedPods: 3, readyPods: 3, ...counts })

testEntries(kruise, [
  ['a completed BroadcastJob is ready', broadcastJob('completed', { succeeded: 3 }), { verdict: 'ready' }],
  ['a running BroadcastJob progresses', broadcastJob('running', { active: 3 }), { verdict: 'progressing' }],
  [
    'a BroadcastJob that never completes is ready when its pods run',
    broadcastJob('running', { active: 3 }, { completionPolicy: { type: 'Never' } }),
    { verdict: 'ready' },
  ],
  ['a BroadcastJob with failed pods has failed', broadcastJob('failed', { failed: 1 }), { verdict: 'failed' }],
  ['a paused BroadcastJob waits for a person', broadcastJob('paused', {}, { paused: true }), { verdict: 'suspended' }],
  ['a SidecarSet whose pods are updated is ready', sidecarSet({}), { verdict: 'ready' }],
  ['a SidecarSet that matches no pod is ready', sidecarSet({ matchedPods: 0, updatedPods: 0 }), { verdict: 'ready' }],
  ['a SidecarSet that updates its pods progresses', sidecarSet({ updatedPods: 1 }), { verdict: 'progressing' }],
  [
    'a SidecarSet that updates no existing pod is ready',
    sidecarSet({ updatedPods: 0 }, { type: 'NotUpdate' }),
    { verdict: 'ready' },
  ],
  [
    'a paused SidecarSet waits for a person',
    sidecarSet({ updatedPods: 1 }, { paused: true }),
    { verdict: 'suspended' },
  ],
  [
    'a running ImagePullJob progresses',
    object('ImagePullJob', {}, { desired: 2, active: 1, succeeded: 1, failed: 0 }),
    { verdict: 'progressing' },
  ],
  [
    'an updated UnitedDeployment is ready',
    object('UnitedDeployment', { replicas: 3 }, { ...three, updatedReplicas: 3, updatedReadyReplicas: 3 }),
    { verdict: 'ready' },
  ],
  [
    'a UnitedDeployment whose updated pods are not ready progresses',
    object('UnitedDeployment', { replicas: 3 }, { ...three, updatedReplicas: 3, updatedReadyReplicas: 1 }),
    { verdict: 'progressing' },
  ],
  [
    'an ImagePullJob that has pulled on each node is ready',
    object('ImagePullJob', {}, { desired: 2, succeeded: 2, failed: 0, completionTime: '2026-01-01T00:00:00Z' }),
    { verdict: 'ready' },
  ],
  [
    'an ImagePullJob that ended without the image on a node has failed',
    object(
      'ImagePullJob',
      {},
      {
        desired: 2,
        succeeded: 1,
        failed: 1,
        completionTime: '2026-01-01T00:00:00Z',
        message: 'job has completed with 1 failed node',
      },
    ),
    { verdict: 'failed', mentions: '1 failed node' },
  ],
  [
    'a ResourceDistribution that has reached each namespace is ready',
    object('ResourceDistribution', {}, { desired: 2, succeeded: 2 }),
    { verdict: 'ready' },
  ],
  [
    'a ResourceDistribution with a conflict progresses, and names it',
    object(
      'ResourceDistribution',
      {},
      {
        desired: 2,
        succeeded: 1,
        failed: 1,
        conditions: [{ type: 'ConflictOccurred', status: 'True', reason: 'exists in namespace a' }],
      },
    ),
    { verdict: 'progressing', mentions: 'ConflictOccurred: exists in namespace a' },
  ],
])

const steps = [
  { replicas: '20%', pause: { duration: 60 } },
  { replicas: '50%', pause: {} },
]
const rollout = (status: object, spec: object = {}): SampleObject => ({
  apiVersion: 'rollouts.kruise.io/v1beta1',
  kind: 'Rollout',
  metadata: { generation: 2 },
  spec: { strategy: { canary: { steps } }, ...spec },
  status: { observedGeneration: 2, ...status },
})
const atStep = (currentStepIndex: number, currentStepState: string) =>
  rollout({
    phase: 'Progressing',
    message: `Rollout is in step(${currentStepIndex}/2)`,
    currentStepIndex,
    currentStepState,
  })

testEntries(kruiseRollouts, [
  ['a Rollout of a released workload is ready', rollout({ phase: 'Healthy' }), { verdict: 'ready' }],
  [
    'a Rollout at a step progresses',
    atStep(1, 'StepUpgrade'),
    { verdict: 'progressing', mentions: 'in step(1/2)', isHeld: false },
  ],
  [
    'a Rollout at a pause with a duration continues by itself',
    atStep(1, 'StepPaused'),
    { verdict: 'progressing', isHeld: true },
  ],
  [
    'a Rollout at a pause without a duration waits for a person',
    atStep(2, 'StepPaused'),
    { verdict: 'suspended', hint: 'kubectl kruise rollout approve rollouts.rollouts.kruise.io/sample -n shop' },
  ],
  [
    'a Rollout whose workload does not exist progresses',
    rollout({ phase: 'Initial', message: 'Workload Not Found' }),
    { verdict: 'progressing', mentions: 'Workload Not Found' },
  ],
  ['a disabled Rollout is ready', rollout({ phase: 'Disabled' }, { disabled: true }), { verdict: 'ready' }],
])
