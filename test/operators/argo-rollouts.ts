import type { KubeObject } from '../cluster/api.ts'
import { type ClusterState, containerDied, pullRefused, secondsAfterStart } from '../cluster/cluster-states.ts'
import type { Fixture } from '../cluster/fixture.ts'
import { registryAddress } from '../cluster/images.ts'
import { type ContainerOptions, deployment, scriptJob, slowStart, template } from '../cluster/objects.ts'
import type { Operator, OperatorScenario } from './operator.ts'
import { whileStopped } from './states.ts'

const name = 'argo-rollouts'

export const argoRollouts: Operator = {
  name,
  module: 'github.com/argoproj/argo-rollouts@v1.10.1',
  program: 'cmd/rollouts-controller',
  definitions: ['manifests/crds'],
  kinds: ['Rollout', 'AnalysisTemplate', 'AnalysisRun', 'Experiment'],
  args: (kubeconfig) => [`--kubeconfig=${kubeconfig}`, '--metricsPort=0', '--healthzPort=0', '--leader-elect=false'],
  started: /Started controller/,
}

/** A Rollout of two pods; a canary without steps unless `spec` has another strategy. */
function rollout(options: ContainerOptions = {}, spec: object = {}): KubeObject {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Rollout',
    metadata: { name: 'web' },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'web' } },
      strategy: { canary: {} },
      ...template('web', options, {}),
      ...spec,
    },
  }
}

/** The Deployment whose template a Rollout has, with no pods of its own. */
const referenced = (image: string) => deployment('web', { image }, { replicas: 0 })

/** A Rollout whose template is that of a Deployment. */
function referringRollout(): KubeObject {
  const { apiVersion, kind, metadata } = rollout()
  const workloadRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
  return { apiVersion, kind, metadata, spec: { replicas: 2, strategy: { canary: {} }, workloadRef } }
}

/** An AnalysisRun of one Job that runs a script. */
function analysisRun(script: string): KubeObject {
  const { spec } = scriptJob('smoke', script, { backoffLimit: 0 })
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'AnalysisRun',
    metadata: { name: 'smoke' },
    spec: { metrics: [{ name: 'answers', provider: { job: { spec } } }] },
  }
}

/** All pods have this image, and the controller has finished with the present generation. */
function completeWith(image: string): ClusterState {
  return (informer) => {
    const { metadata, spec, status }: Partial<KubeObject> = informer.get('Rollout', 'web') ?? {}
    const isComplete =
      status?.phase === 'Healthy' &&
      status.observedGeneration === String(metadata?.generation) &&
      spec.template.spec.containers[0].image.endsWith(`:${image}`)
    return isComplete ? Date.now() : undefined
  }
}

async function complete(fixture: Fixture): Promise<void> {
  await fixture.apply(rollout())
  await fixture.until('the Rollout is complete', completeWith('v1'))
}

/** The Rollout is complete with the present generation of its Deployment, and its Deployment has this image. */
function completeWithReferenced(image: string): ClusterState {
  return (informer) => {
    const { status }: Partial<KubeObject> = informer.get('Rollout', 'web') ?? {}
    const { metadata, spec }: Partial<KubeObject> = informer.get('Deployment', 'web') ?? {}
    const isComplete =
      status?.phase === 'Healthy' &&
      status.workloadObservedGeneration === String(metadata?.generation) &&
      spec.template.spec.containers[0].image.endsWith(`:${image}`)
    return isComplete ? Date.now() : undefined
  }
}

async function completeReferring(fixture: Fixture): Promise<void> {
  await fixture.apply(referenced('v1'), referringRollout())
  await fixture.until('the Rollout is complete', completeWithReferenced('v1'))
}

const common = { operator: name, inputs: { resources: 'rollout/web' } } as const
const steps = (...list: object[]) => ({ strategy: { canary: { steps: list } } })

export const argoRolloutsScenarios: readonly OperatorScenario[] = [
  {
    ...common,
    name: `${name}-healthy`,
    state: 'healthy',
    note: 'the first revision of a canary',
    setup: (fixture) => fixture.apply(rollout()),
    expect: { outcome: 'ready' },
    decidedBy: completeWith('v1'),
    takesSeconds: 6,
  },
  {
    ...common,
    name: `${name}-failing`,
    state: 'failing',
    note: 'the image of an update does not exist',
    setup: async (fixture) => {
      await complete(fixture)
      await fixture.apply(rollout({ image: `${registryAddress}/missing:v1` }, { progressDeadlineSeconds: 40 }))
    },
    expect: { outcome: 'failed' },
    cause: 'missing:v1',
    decidedBy: pullRefused('missing', 2),
    takesSeconds: 35,
  },
  {
    ...common,
    name: `${name}-crashing`,
    state: 'failing',
    note: 'the containers of an update exit at once',
    setup: async (fixture) => {
      await complete(fixture)
      await fixture.apply(rollout({ script: 'echo no database; exit 3' }, { progressDeadlineSeconds: 60 }))
    },
    expect: { outcome: 'failed' },
    cause: 'exited with code 3',
    decidedBy: containerDied(3),
    takesSeconds: 50,
  },
  {
    ...common,
    name: `${name}-aborted`,
    state: 'failing',
    note: 'the update is aborted while the gate waits; the pods of the previous revision serve',
    setup: async (fixture) => {
      await complete(fixture)
      await fixture.apply(rollout({ image: 'v2' }, steps({ setWeight: 50 }, { pause: { duration: '1h' } })))
    },
    during: async (fixture) => {
      await fixture.wait(4)
      await fixture.api.patch(`${fixture.path('Rollout', 'web')}/status`, { status: { abort: true } })
      fixture.markDecided()
    },
    expect: { outcome: 'failed' },
    cause: 'aborted',
    takesSeconds: 26,
  },
  {
    ...common,
    name: `${name}-corrected`,
    state: 'slow',
    note: 'the update before has exceeded its deadline; its image is corrected',
    setup: async (fixture) => {
      await complete(fixture)
      await fixture.apply(rollout({ image: `${registryAddress}/missing:v1` }, { progressDeadlineSeconds: 5 }))
      await fixture.until(
        'the Rollout is degraded',
        (informer) => informer.get('Rollout', 'web')?.['status'].phase === 'Degraded',
      )
      await fixture.apply(rollout({ image: 'v2', script: slowStart(4) }))
    },
    expect: { outcome: 'ready' },
    decidedBy: completeWith('v2'),
    takesSeconds: 30,
  },
  {
    ...common,
    name: `${name}-slow`,
    state: 'slow',
    note: 'steps with timed pauses, longer than the stall timeout in all',
    inputs: { ...common.inputs, 'stall-timeout': '15s' },
    setup: async (fixture) => {
      await complete(fixture)
      const pause = { pause: { duration: '8s' } }
      await fixture.apply(rollout({ image: 'v2' }, steps({ setWeight: 25 }, pause, { setWeight: 50 }, pause, pause)))
    },
    expect: { outcome: 'ready' },
    decidedBy: completeWith('v2'),
    takesSeconds: 35,
  },
  {
    ...common,
    name: `${name}-stale`,
    state: 'stale',
    note: 'the controller is stopped while the update is applied',
    ...whileStopped(name, complete, (fixture) => fixture.apply(rollout({ image: 'v2' }))),
    expect: { outcome: 'ready' },
    decidedBy: completeWith('v2'),
    takesSeconds: 26,
  },
  {
    ...common,
    name: `${name}-workload-stale`,
    state: 'stale',
    note: 'the controller is stopped while the Deployment that the Rollout refers to is updated',
    ...whileStopped(name, completeReferring, (fixture) => fixture.apply(referenced('v2'))),
    expect: { outcome: 'ready' },
    decidedBy: completeWithReferenced('v2'),
    takesSeconds: 26,
  },
  {
    ...common,
    name: `${name}-suspended`,
    state: 'suspended',
    note: 'a pause without a duration',
    inputs: { ...common.inputs, 'stall-timeout': '10s' },
    setup: async (fixture) => {
      await complete(fixture)
      await fixture.apply(rollout({ image: 'v2' }, steps({ setWeight: 50 }, { pause: {} })))
    },
    expect: { outcome: 'stalled', reason: 'paused' },
    cause: 'CanaryPauseStep',
    decidedBy: secondsAfterStart(10),
    takesSeconds: 16,
  },
  {
    ...common,
    name: `${name}-changed-during`,
    state: 'changed-during',
    note: 'a third revision is applied during the update',
    setup: async (fixture) => {
      await complete(fixture)
      await fixture.apply(rollout({ image: 'v2', script: slowStart(20) }))
    },
    during: async (fixture) => {
      await fixture.wait(4)
      await fixture.apply(rollout({ image: 'v3' }))
      fixture.markDecided()
    },
    expect: { outcome: 'superseded' },
    takesSeconds: 8,
  },
  {
    ...common,
    name: `${name}-analysis-slow`,
    state: 'slow',
    note: 'an AnalysisRun whose Job takes 12 s',
    inputs: { resources: 'analysisrun/smoke' },
    setup: (fixture) => fixture.apply(analysisRun('sleep 12')),
    expect: { outcome: 'ready' },
    decidedBy: (informer) =>
      informer.get('AnalysisRun', 'smoke')?.['status']?.phase === 'Successful' ? Date.now() : undefined,
    takesSeconds: 20,
  },
  {
    ...common,
    name: `${name}-analysis-failing`,
    state: 'failing',
    note: 'an AnalysisRun whose Job fails',
    inputs: { resources: 'analysisrun/smoke' },
    setup: (fixture) => fixture.apply(analysisRun('sleep 3; echo no answer; exit 4')),
    expect: { outcome: 'failed' },
    cause: 'exited with code 4',
    decidedBy: (informer) =>
      informer.get('AnalysisRun', 'smoke')?.['status']?.phase === 'Failed' ? Date.now() : undefined,
    takesSeconds: 24,
  },
]
