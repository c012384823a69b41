import type { KubeObject } from './api.ts'
import { until } from './command.ts'
import type { Stage } from './stage.ts'

/** Every node that tests play carries it, so that what belongs on all real nodes can stay away. */
export const playedLabel = 'rollout-gate-tests/played'

/** What a pod must tolerate to be put on the stage's own node. */
export const ownNodeToleration = (stage: Stage) => ({
  key: 'dedicated',
  value: stage.namespace,
  operator: 'Equal',
})

/**
 * A node of the stage's own, without a kubelet: what is scheduled there never starts, unless `reportPod` says so. Its
 * taint keeps all others off. Nobody sends its heartbeats, so the cluster gives it up for lost after 50 s.
 */
export async function addNode(stage: Stage): Promise<void> {
  const name = stage.namespace
  const labels = { pool: name, 'kubernetes.io/hostname': name, [playedLabel]: 'true' }
  const taint = { key: 'dedicated', value: name, effect: 'NoSchedule' }
  await stage.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels }, spec: { taints: [taint] } })
  const capacity = { cpu: '4', memory: '8Gi', pods: '10' }
  const conditions = [{ type: 'Ready', status: 'True', reason: 'Tests', lastHeartbeatTime: new Date().toISOString() }]
  await stage.api.patch(`${stage.path('Node', name)}/status`, {
    status: { capacity, allocatable: capacity, conditions },
  })
  await until('the new node is taken for ready', 30, async () => {
    const { spec } = await stage.api.get(stage.path('Node', name))
    return spec.taints.length === 1
  })
}

export function removeNode(stage: Stage): Promise<void> {
  return stage.remove('Node', stage.namespace)
}

/** The pod that the scheduler has put on the stage's own node. */
export function podOnNode(stage: Stage): Promise<KubeObject> {
  return stage.until('a pod is on the other node', (view) =>
    view.all('Pod').find(({ spec, metadata }) => spec.nodeName === stage.namespace && !metadata.deletionTimestamp),
  )
}

/** Says of a pod on that node what its kubelet would: that its container runs, and whether it is ready. */
export async function reportPod(stage: Stage, { metadata, spec }: KubeObject, isReady: boolean): Promise<void> {
  const at = new Date().toISOString().replace(/\.\d+/, '')
  const condition = (type: string, holds = true) => ({
    type,
    status: holds ? 'True' : 'False',
    lastTransitionTime: at,
    ...(holds ? {} : { reason: 'ContainersNotReady' }),
  })
  const { name, image } = spec.containers[0]
  const imageID = `sha256:${'0'.repeat(64)}`
  const state = { running: { startedAt: at } }
  await stage.api.patch(`${stage.path('Pod', metadata.name)}/status`, {
    status: {
      phase: 'Running',
      startTime: at,
      conditions: [
        condition('PodScheduled'),
        condition('Initialized'),
        condition('ContainersReady', isReady),
        condition('Ready', isReady),
      ],
      containerStatuses: [{ name, image, imageID, ready: isReady, started: true, restartCount: 0, state }],
    },
  })
}

/** Says of a pod on that node what its kubelet would when it evicts the pod (pkg/kubelet/eviction). */
export async function reportEviction(stage: Stage, name: string): Promise<void> {
  const message = 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 84Mi. '
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+/, '')
  const conditions = [
    { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message, lastTransitionTime },
  ]
  const status = { phase: 'Failed', reason: 'Evicted', message, conditions }
  await stage.api.patch(`${stage.path('Pod', name)}/status`, { status })
}

/** Waits until the cluster no longer holds the node for ready, as nothing was heard of it. */
export function nodeLost(stage: Stage): Promise<void> {
  return until('the node is given up for lost', 90, async () => {
    const { status } = await stage.api.get(stage.path('Node', stage.namespace))
    return status.conditions.some((each: Condition) => each.type === 'Ready' && each.status !== 'True')
  })
}

interface Condition {
  type: string
  status: string
}
