import { ApiError, type KubeObject } from '../api.ts'
import { deploymentComplete, isComplete, secondsAfterStart } from '../facts.ts'
import { addNode, ownNodeToleration, playedLabel, removeNode, reportEviction } from '../node.ts'
import { deployment, imageName, plain, slowStart, template } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'

const web = { inputs: { resources: 'deployment/web' }, kubectl: 'deployment/web' }
const slowly = { ...web, inputs: { ...web.inputs, 'stall-timeout': '5s' }, takesSeconds: 8 }

/** Rollouts whose pods are not let in, or not everywhere. */
export const placement: Scenario[] = [
  {
    ...slowly,
    name: 'unschedulable-selector',
    setup: (stage) => stage.apply(deployment('web', {}, template('web', {}, { nodeSelector: { disk: 'ssd' } }))),
    expect: { outcome: 'stalled', reason: 'unschedulable' },
    decidedBy: secondsAfterStart(5),
  },
  {
    ...slowly,
    name: 'unschedulable-taint',
    setup: async (stage) => {
      await addNode(stage)
      await stage.apply(deployment('web', {}, template('web', {}, { nodeSelector: { pool: stage.namespace } })))
    },
    after: removeNode,
    expect: { outcome: 'stalled', reason: 'unschedulable' },
    decidedBy: secondsAfterStart(5),
    check: ({ outputs }) =>
      outputs['message']?.includes('taint') ? [] : [`the message does not name the taint: ${outputs['message']}`],
  },
  {
    ...slowly,
    name: 'unschedulable-cpu',
    setup: (stage) => stage.apply(deployment('web', { resources: { requests: { cpu: '900' } } })),
    expect: { outcome: 'stalled', reason: 'unschedulable' },
    decidedBy: secondsAfterStart(5),
  },
  {
    ...slowly,
    name: 'pod-waits-for-its-claim',
    setup: async (stage) => {
      const resources = { requests: { storage: '1Gi' } }
      await stage.apply(plain('PersistentVolumeClaim', 'data', { spec: { accessModes: ['ReadWriteOnce'], resources } }))
      const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]
      await stage.apply(deployment('web', {}, template('web', {}, { volumes })))
    },
    expect: { outcome: 'stalled', reason: 'unschedulable' },
    decidedBy: secondsAfterStart(5),
    check: ({ outputs }) =>
      outputs['message']?.includes('persistentvolumeclaim/data is not bound: no persistent volumes')
        ? []
        : [`the message does not name what the claim lacks: ${outputs['message']}`],
  },
  {
    ...slowly,
    name: 'readiness-gate-not-opened',
    setup: (stage) =>
      stage.apply(
        deployment('web', {}, template('web', {}, { readinessGates: [{ conditionType: 'example.com/lb' }] })),
      ),
    expect: { outcome: 'stalled', reason: 'readiness-gate-pending' },
    decidedBy: secondsAfterStart(5),
  },
  {
    ...slowly,
    name: 'grpc-probe-on-a-wrong-port',
    setup: (stage) => {
      const readinessProbe = { grpc: { port: 5999 }, periodSeconds: 1, failureThreshold: 1 }
      return stage.apply(deployment('web', { readiness: 'none', readinessProbe }))
    },
    expect: { outcome: 'stalled', reason: 'readiness-failing' },
    decidedBy: secondsAfterStart(5),
    check: ({ log }) =>
      log.includes('no gRPC server answers there') ? [] : ['the hint does not say that no gRPC server answers'],
  },
  {
    ...slowly,
    name: 'quota',
    setup: async (stage) => {
      await stage.apply(plain('ResourceQuota', 'small', { spec: { hard: { pods: '1' } } }))
      await stage.until('the quota counts', (view) => view.get('ResourceQuota', 'small')?.['status']?.hard)
      await stage.apply(deployment('web'))
    },
    expect: { outcome: 'stalled', reason: 'quota-exceeded' },
    decidedBy: secondsAfterStart(5),
  },
  {
    ...web,
    name: 'service-account-late',
    setup: (stage) => stage.apply(deployment('web', {}, template('web', {}, { serviceAccountName: 'deployer' }))),
    during: async (stage) => {
      await stage.pass(20)
      await stage.apply(plain('ServiceAccount', 'deployer'))
    },
    expect: { outcome: 'ready', reason: '' },
    decidedBy: deploymentComplete('web'),
    takesSeconds: 45,
  },
  {
    ...slowly,
    // The old pod holds the port until a new one is ready, and there is no second node.
    name: 'host-port-taken',
    setup: async (stage) => {
      const spec = { replicas: 1, strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } } }
      const ports = [{ containerPort: 8080, hostPort: 5997 }]
      await stage.rollOut(deployment('web', { ports }, spec))
      await stage.apply(deployment('web', { ports, image: 'v2' }, spec))
    },
    expect: { outcome: 'stalled', reason: 'unschedulable' },
    decidedBy: secondsAfterStart(5),
  },
  {
    ...web,
    name: 'preempted',
    setup: async (stage) => {
      await addSlots(stage, 2)
      await stage.apply(priorityClass(stage, 'low', 1), priorityClass(stage, 'high', 1000))
      await stage.apply(prioritised(stage, 'web', 'low', 8))
    },
    during: async (stage) => {
      await stage.runningPod(imageName('v1'))
      await stage.apply(prioritised(stage, 'urgent', 'high', 0, { replicas: 1 }))
      await stage.until('the urgent pod is ready', (view) => isComplete(view.get('Deployment', 'urgent')))
      await stage.pass(3)
      await stage.delete('Deployment', 'urgent')
    },
    after: async (stage) => {
      await removeSlots(stage)
      for (const level of ['low', 'high']) await stage.remove('PriorityClass', `${stage.namespace}-${level}`)
    },
    expect: { outcome: 'ready', reason: '' },
    decidedBy: deploymentComplete('web'),
    takesSeconds: 22,
  },
  {
    ...web,
    // One pod after the other, as from a node that is short of memory.
    name: 'evicted-again-and-again',
    inputs: { ...web.inputs, 'stall-timeout': '20s' },
    setup: async (stage) => {
      await addNode(stage)
      const place = { nodeSelector: { pool: stage.namespace }, tolerations: [ownNodeToleration(stage)] }
      await stage.apply(deployment('web', {}, { replicas: 1, ...template('web', {}, place) }))
    },
    during: async (stage) => {
      for (let count = 0; count < 4; count++) {
        const pod = await stage.until('the next pod', (view) =>
          view.all('Pod').find(({ spec, status }) => spec.nodeName === stage.namespace && status.phase === 'Pending'),
        )
        await stage.pass(1)
        const { name } = pod.metadata
        await reportEviction(stage, name)
        await stage.until('the pod has ended', (view) => view.get('Pod', name)?.['status'].phase === 'Failed')
      }
    },
    after: removeNode,
    expect: { outcome: 'stalled', reason: 'evicted' },
    decidedBy: secondsAfterStart(20),
    check: ({ log }) =>
      ['replaced: The node was low', '(2 pods now): The node was low', '(4 pods now): The node was low'].flatMap(
        (words) => (log.includes(words) ? [] : [`the log does not have "${words}"`]),
      ),
    takesSeconds: 30,
  },
  {
    ...web,
    name: 'evicted',
    setup: async (stage) => {
      await stage.rollOut(deployment('web'))
      const budget = { selector: { matchLabels: { app: 'web' } }, minAvailable: 2 }
      await stage.apply({
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name: 'web' },
        spec: budget,
      })
      await stage.apply(deployment('web', { image: 'v2', script: slowStart(6) }))
    },
    during: async (stage) => {
      const { metadata } = await stage.runningPod(imageName('v2'))
      const old = stage.view.all('Pod').find(({ spec }) => spec.containers[0].image === imageName('v1'))
      if (await isEvicted(stage, old?.metadata.name ?? '')) throw new Error('the budget let an old pod go')
      await stage.delete('PodDisruptionBudget', 'web')
      if (!(await isEvicted(stage, metadata.name))) throw new Error('the new pod was not evicted')
    },
    expect: { outcome: 'ready', reason: '' },
    decidedBy: deploymentComplete('web'),
    takesSeconds: 25,
  },
]

/** A resource that only the stage's own pods ask for, so that nobody else is in their way. */
const slotsOf = ({ namespace }: Stage) => `tests.example.com/${namespace}`

/** Gives a node with a kubelet so many slots: https://kubernetes.io/docs/tasks/administer-cluster/extended-resource-node/ */
async function addSlots(stage: Stage, count: number): Promise<void> {
  const slots = { [slotsOf(stage)]: `${count}` }
  await stage.api.patch(await statusOfRealNode(stage), { status: { capacity: slots, allocatable: slots } })
}

async function removeSlots(stage: Stage): Promise<void> {
  const gone = { [slotsOf(stage)]: null }
  await stage.api.patch(await statusOfRealNode(stage), { status: { capacity: gone, allocatable: gone } })
}

async function statusOfRealNode(stage: Stage): Promise<string> {
  const real = (await stage.api.list('/api/v1/nodes')).filter(({ metadata }) => !metadata.labels?.[playedLabel])
  const [first] = real.map(({ metadata }) => metadata.name).sort()
  return `${stage.path('Node', first ?? '')}/status`
}

function priorityClass({ namespace }: Stage, level: string, value: number): KubeObject {
  return {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: `${namespace}-${level}` },
    value,
  }
}

/** A Deployment whose pods take a slot each. */
function prioritised(stage: Stage, name: string, level: string, startSeconds: number, spec: object = {}): KubeObject {
  const resources = { limits: { [slotsOf(stage)]: '1' } }
  const pods = { priorityClassName: `${stage.namespace}-${level}` }
  return deployment(name, {}, { ...template(name, { resources, script: slowStart(startSeconds) }, pods), ...spec })
}

/** Whether the API server lets a pod be evicted, as a drain asks it. */
async function isEvicted(stage: Stage, name: string): Promise<boolean> {
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } }
  try {
    await stage.api.create(`${stage.path('Pod', name)}/eviction`, eviction)
    return true
  } catch (error) {
    if (error instanceof ApiError && error.status === 429) return false
    throw error
  }
}
