import type { KubeObject } from '../../src/cluster/objects.ts'
import { ruleOf } from '../../src/lifecycle/rules.ts'
import { complete, condition, is, iso, make, podIs } from '../kit/objects.ts'
import { type ContextOptions, found, seenPod, seenTarget } from '../kit/rule.ts'

/** The assessment of an object with its relatives, a minute after the gate's start. */
function judge(object: KubeObject, relatives: readonly KubeObject[] = [], options: ContextOptions = {}) {
  const history = seenTarget([0, object])
  const { status, failure, stallHold } = found(
    { now: 60, history, ...options, objects: [object, ...relatives] },
    (given) => ruleOf(object).assess(object, given),
  )
  return { status, failure: failure?.reason, stallHold }
}

function workload(kind: string, spec: object, status: object, generation = 2): KubeObject {
  const metadata = { name: 'web', namespace: 'shop', uid: 'web-uid', generation }
  const selector = { matchLabels: { app: 'web' } }
  return {
    apiVersion: kind === 'Job' ? 'batch/v1' : 'apps/v1',
    kind,
    metadata,
    spec: { selector, template: make.template(), ...spec },
    status: { observedGeneration: generation, ...status },
  }
}

const old = make.replicaSet(
  { metadata: { name: 'web-0' } },
  make.deployment({ spec: { template: make.template({ serviceAccountName: 'old' }) } }),
)
const current = make.replicaSet()
const crashed = make.pod({ metadata: { name: 'o' }, status: podIs.looping(9, 50) }, old)
const crashes = seenPod([1, crashed], [30, { ...crashed, status: podIs.looping(12, 40) }])

/** A pod of a set, of the revision of this hash. */
function podOf(owner: KubeObject, name: string, hash: string, status = podIs.ready(1), spec: object = {}) {
  return make.pod({ metadata: { name, labels: { app: 'web', 'controller-revision-hash': hash } }, spec, status }, owner)
}

/** States that the controllers pass through, which neither make a workload ready too early nor fail it. */
describe('while its controller', () => {
  const set = (status: object, spec: object = {}) =>
    workload('StatefulSet', { replicas: 2, ...spec }, { replicas: 2, readyReplicas: 2, ...status })
  const daemonSet = (status: object, generation = 2) =>
    workload(
      'DaemonSet',
      { updateStrategy: { rollingUpdate: { maxSurge: 1 } } },
      { desiredNumberScheduled: 1, currentNumberScheduled: 1, numberReady: 1, numberAvailable: 1, ...status },
      generation,
    )
  const job = (status: object, spec: object = {}) => workload('Job', spec, status)
  const revision = (owner: KubeObject, hash: string, number: number) =>
    make.revision(owner, `web-${hash}`, number, { uid: hash, labels: { 'controller-revision-hash': hash } })

  it.each<[string, () => ReturnType<typeof judge>]>([
    [
      // isScalingEvent comes before the rollout (pkg/controller/deployment/sync.go).
      'scales the old ReplicaSet first, as template and replicas were changed together',
      () => {
        const status = complete(3, { observedGeneration: 2, updatedReplicas: 0 })
        const deployment = make.deployment({ metadata: { generation: 2 }, spec: { replicas: 3 }, status })
        return judge(deployment, [old, crashed], { podHistories: new Map([['o-uid', crashes]]) })
      },
    ],
    [
      // calculateStatus counts a pod as available once it has been ready for minReadySeconds.
      'counts a pod anew that was not ready for a moment, with minReadySeconds',
      () => {
        const status = complete(1, { availableReplicas: 0 })
        const deployment = make.deployment({ spec: { minReadySeconds: 30 }, status })
        return judge(deployment, [current, make.pod({ status: podIs.ready(55) }, current)], { minReadySeconds: 30 })
      },
    ],
    [
      // The node lifecycle controller writes only the condition of the pod, whose containers seem to run on.
      'has lost the node of a pod, and waits for the eviction',
      () => {
        const lost = { ...podIs.ready(1), conditions: [condition('Ready', 'False', { lastTransitionTime: iso(40) })] }
        const deployment = make.deployment({ status: complete(1, { readyReplicas: 0, availableReplicas: 0 }) })
        return judge(deployment, [current, make.pod({ status: lost }, current)])
      },
    ],
    [
      // currentRevision remains the previous one until all pods are of the updated one (completeRollingUpdate).
      'goes back to the current revision, with pods of the one between',
      () => {
        const status = { updatedReplicas: 1, currentReplicas: 1, currentRevision: 'web-a', updateRevision: 'web-a' }
        const back = set(status)
        return judge(back, [podOf(back, 'web-0', 'web-a'), podOf(back, 'web-1', 'web-b')])
      },
    ],
    [
      'updates several pods of a StatefulSet at once (maxUnavailable)',
      () => {
        const revisions = { currentRevision: 'web-a', updateRevision: 'web-b' }
        const spec = { updateStrategy: { rollingUpdate: { maxUnavailable: 2 } } }
        const rolling = set({ ...revisions, readyReplicas: 0, updatedReplicas: 2 }, spec)
        const creating = podIs.unready({}, { phase: 'Pending' })
        return judge(
          rolling,
          ['web-0', 'web-1'].map((name) => podOf(rolling, name, 'web-b', creating)),
        )
      },
    ],
    [
      // Of the two pods of a node it counts the oldest (updateDaemonSetStatus).
      'has surged a pod of a DaemonSet beside the old one',
      () => {
        const surged = daemonSet({ updatedNumberScheduled: 0 })
        const pods = [podOf(surged, 'a', 'old'), podOf(surged, 'b', 'new')]
        return judge(surged, [revision(surged, 'old', 1), revision(surged, 'new', 2), ...pods])
      },
    ],
    [
      // It raises observedGeneration only after it has observed its own creations and deletions (syncDaemonSet).
      'has not acted on the generation of a DaemonSet, but writes its counts',
      () => judge({ ...daemonSet({ updatedNumberScheduled: 1, observedGeneration: 1 }, 2) }),
    ],
    [
      'waits for the other pods of a Job without completions, one of which has succeeded',
      () => judge(job({ succeeded: 1, active: 1 })),
    ],
    [
      'removes the other pods of a Job whose success policy is met',
      () => judge(job({ succeeded: 1, conditions: [condition('SuccessCriteriaMet', 'True')] }, { completions: 2 })),
    ],
    [
      'runs the other indexes of a Job of which one has failed (backoffLimitPerIndex)',
      () => judge(job({ active: 1, failed: 1, failedIndexes: '0' }, { completions: 2, backoffLimitPerIndex: 0 })),
    ],
  ])('%s, it is neither ready nor failed', (_, state) => {
    expect(state()).toMatchObject({ status: 'progressing', failure: undefined })
  })

  it.each<[string, () => ReturnType<typeof judge>]>([
    [
      // No new ReplicaSet is created while nothing is to run (getNewReplicaSet without createIfNotExisted).
      'has scaled a Deployment to zero whose template was changed with it',
      () => {
        const status = { observedGeneration: 2, conditions: [condition('Available', 'True')] }
        return judge(make.deployment({ metadata: { generation: 2 }, spec: { replicas: 0 }, status }), [old])
      },
    ],
    [
      // collisionCount goes into the hash (getNewReplicaSet): the name of a ReplicaSet does not follow from its template.
      'has named the new ReplicaSet anew after a collision of its hash',
      () => {
        const deployment = make.deployment({ status: complete(1, { collisionCount: 1 } as object) })
        const renamed = make.replicaSet({ metadata: { name: 'web-other' } })
        return judge(deployment, [renamed, make.pod({ status: podIs.ready(1) }, renamed)])
      },
    ],
    [
      'writes no condition Progressing, for want of a deadline',
      () => judge(make.deployment({ status: complete() }), [current, make.pod({ status: podIs.ready(1) }, current)]),
    ],
  ])('%s, it is ready', (_, state) => {
    expect(state()).toMatchObject({ status: 'ready' })
  })

  it('takes down the pods of a Job that has failed (FailureTarget), it is failed', () => {
    const conditions = [condition('FailureTarget', 'True', { reason: 'PodFailurePolicy' })]
    expect(judge(job({ conditions }))).toMatchObject({ status: 'failed', failure: 'job-failed' })
  })
})

describe('while the kubelet', () => {
  const ephemeral = {
    ephemeralContainerStatuses: [make.containerStatus({ name: 'debug', state: is.terminated(3, 20) })],
  }
  const node = [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'n', controller: true }]
  const sidecar = make.container({
    name: 'proxy',
    restartPolicy: 'Always',
    startupProbe: { periodSeconds: 10, failureThreshold: 30 },
  })
  const initialising = (restartCount: number, state: object) => {
    const initContainerStatuses = [make.containerStatus({ name: 'migrate', restartCount, state })]
    const status = podIs.unready({ state: is.waiting('PodInitializing') }, { phase: 'Running', initContainerStatuses })
    return make.barePod({ spec: { initContainers: [make.container({ name: 'migrate' })] }, status })
  }

  it.each<[string, KubeObject, object]>([
    [
      'runs a debugging container that has died',
      make.barePod({ status: { ...podIs.ready(1), ...ephemeral } }),
      { status: 'ready' },
    ],
    [
      'reports a static pod',
      make.barePod({ metadata: { ownerReferences: node }, status: podIs.ready(1) }),
      { status: 'ready' },
    ],
    [
      'runs the init containers again in another sandbox',
      initialising(3, is.running(50)),
      { status: 'progressing', failure: undefined },
    ],
    [
      'has run them again in another sandbox',
      initialising(3, is.terminated(0, 50)),
      { status: 'progressing', failure: undefined },
    ],
    [
      'gives a sidecar the time of its startup probe',
      make.barePod({
        spec: { initContainers: [sidecar] },
        status: podIs.unready(
          { state: is.waiting('PodInitializing') },
          {
            phase: 'Pending',
            initContainerStatuses: [make.containerStatus({ name: 'proxy', started: false, state: is.running(1) })],
          },
        ),
      }),
      { status: 'progressing', stallHold: 'probes are within the time they ask for' },
    ],
    [
      'has the phase Unknown',
      make.barePod({ status: { ...podIs.ready(1), phase: 'Unknown' } }),
      { status: 'progressing', failure: undefined },
    ],
  ])('%s, the pod is judged by that', (_, pod, expected) => {
    expect(judge(pod)).toMatchObject(expected)
  })
})
