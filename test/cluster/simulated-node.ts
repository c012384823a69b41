import type { KubeObject } from './api.ts'
import { until } from './command.ts'
import type { Fixture } from './fixture.ts'

/** Label of simulated nodes, to exclude them from DaemonSets for real nodes. */
export const simulatedLabel = 'rollout-gate-tests/simulated'

/** Toleration for the fixture's simulated node. */
export const ownNodeToleration = (fixture: Fixture) => ({
  key: 'dedicated',
  value: fixture.namespace,
  operator: 'Equal',
})

/**
 * Adds a node without a kubelet. Its pods start only by `reportPod`, and its taint excludes pods of other scenarios. The
 * node sends no heartbeats, so the node controller marks it as not ready after 50 s.
 */
export async function addNode(fixture: Fixture): Promise<void> {
  const name = fixture.namespace
  const labels = { pool: name, 'kubernetes.io/hostname': name, [simulatedLabel]: 'true' }
  const taint = { key: 'dedicated', value: name, effect: 'NoSchedule' }
  await fixture.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels }, spec: { taints: [taint] } })
  const capacity = { cpu: '4', memory: '8Gi', pods: '10' }
  const conditions = [{ type: 'Ready', status: 'True', reason: 'Tests', lastHeartbeatTime: new Date().toISOString() }]
  await fixture.api.patch(`${fixture.path('Node', name)}/status`, {
    status: { capacity, allocatable: capacity, conditions },
  })
  await until('the new node is ready', 30, async () => {
    const { spec } = await fixture.api.get(fixture.path('Node', name))
    return spec.taints.length === 1
  })
}

export function removeNode(fixture: Fixture): Promise<void> {
  return fixture.remove('Node', fixture.namespace)
}

/** Waits for a pod on the simulated node. */
export function podOnNode(fixture: Fixture): Promise<KubeObject> {
  return fixture.until('a pod is on the simulated node', (informer) =>
    informer
      .all('Pod')
      .find(({ spec, metadata }) => spec.nodeName === fixture.namespace && !metadata.deletionTimestamp),
  )
}

/** Writes the status that a kubelet would report: the container runs, and is ready or not. */
export async function reportPod(fixture: Fixture, { metadata, spec }: KubeObject, isReady: boolean): Promise<void> {
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
  await fixture.api.patch(`${fixture.path('Pod', metadata.name)}/status`, {
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

/** Writes the status that a kubelet reports when it evicts the pod (pkg/kubelet/eviction). */
export async function reportEviction(fixture: Fixture, name: string): Promise<void> {
  const message = 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 84Mi. '
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+/, '')
  const conditions = [
    { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message, lastTransitionTime },
  ]
  const status = { phase: 'Failed', reason: 'Evicted', message, conditions }
  await fixture.api.patch(`${fixture.path('Pod', name)}/status`, { status })
}

/** Waits until the node controller marks the node as not ready because of missing heartbeats. */
export function nodeLost(fixture: Fixture): Promise<void> {
  return until('the node is marked as not ready', 90, async () => {
    const { status } = await fixture.api.get(fixture.path('Node', fixture.namespace))
    return status.conditions.some((each: Condition) => each.type === 'Ready' && each.status !== 'True')
  })
}

interface Condition {
  type: string
  status: string
}
