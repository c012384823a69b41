import { setTimeout as pause } from 'node:timers/promises'
import { stringify } from 'yaml'
import type { KubeObject, PodStatus } from '../src/cluster/objects.ts'
import { startApiServer } from '../test/support/api-server.ts'
import { createDeployment, createPod, createReplicaSet, createWorkloads, podStages } from './bench-objects.ts'

/** An order of `bench.ts` to its API server, a process of its own. Each is answered with one message. */
export type Order =
  /** Creates Deployments and ReplicaSets; `finished`: with ready pods. */
  | { readonly type: 'create'; readonly deployments: number; readonly replicas: number; readonly finished?: true }
  /** Rolls all of them out, once the gate watches pods. All pods pass each stage before the next one begins. */
  | { readonly type: 'roll-out'; readonly durationMs: number }
  /** The next state of the single pod of a Deployment. `scheduled`: answered once the gate has four watches. */
  | { readonly type: 'write'; readonly index: number; readonly state: 'scheduled' | 'running' | 'ready' | 'failed' }

const server = await startApiServer({ tls: true })
let workloads = createWorkloads(0, 0)
const kubeconfig = JSON.parse(server.kubeconfig({ token: 'token-of-the-bench', namespace: 'team-0' }))
process.once('disconnect', () => process.exit())
process.on('message', async (order: Order) => process.send?.(await obey(order)))
// As `kubectl config view --raw` prints it.
process.send?.({ kubeconfig: stringify(kubeconfig) })

async function obey(order: Order): Promise<object> {
  if (order.type === 'roll-out') return rollOut(order.durationMs)
  if (order.type === 'write') return write(order)
  workloads = createWorkloads(order.deployments, order.replicas)
  const time = new Date(Date.now() - (order.finished ? 600_000 : 0)).toISOString()
  for (const workload of workloads) {
    server.apply(createDeployment(workload, order.finished ? workload.replicas : 0, time))
    server.apply(createReplicaSet(workload, time))
    for (let index = 0; order.finished && index < workload.replicas; index += 1)
      server.apply(createPod(workload, index, 'ready', time))
  }
  return { workloads }
}

async function rollOut(durationMs: number): Promise<object> {
  const before = server.requests.length
  await server.until(({ openWatches }) => openWatches.some(({ plural }) => plural === 'pods'))
  const startedAt = Date.now()
  let lastWriteAt = startedAt
  const steps = podStages.flatMap((stage) =>
    workloads.flatMap((workload) =>
      Array.from({ length: workload.replicas }, (_, index) => ({ workload, index, stage })),
    ),
  )
  for (let done = 0; done < steps.length; await pause(20)) {
    const due = Math.ceil((steps.length * Math.min(durationMs, Date.now() - startedAt + 50)) / durationMs)
    for (const { workload, index, stage } of steps.slice(done, due)) {
      const time = new Date().toISOString()
      server.apply(createPod(workload, index, stage, time))
      // The status changes with every fifth of the pods, as that of a controller does.
      const ready = index + 1
      if (stage === 'ready' && (ready % 5 === 0 || ready === workload.replicas))
        server.apply(createDeployment(workload, ready, time))
      lastWriteAt = Date.now()
    }
    done = due
  }
  return { lastWriteAt, podEvents: steps.length, requests: server.requests.length - before }
}

async function write({ index, state }: Order & { type: 'write' }): Promise<object> {
  const workload = workloads[index]
  if (workload === undefined) throw new Error(`There is no workload ${index}.`)
  const time = new Date().toISOString()
  const pod = createPod(workload, 0, state === 'failed' ? 'scheduled' : state, time)
  const writtenAt = Date.now()
  server.apply(state === 'failed' ? withInvalidImage(pod) : pod)
  if (state === 'ready') server.apply(createDeployment(workload, 1, time))
  if (state === 'scheduled') await server.until(({ openWatches }) => openWatches.length === 4)
  return { writtenAt }
}

/** The pod with the waiting reason that fails a rollout at once. */
function withInvalidImage(pod: KubeObject): KubeObject {
  const { containerStatuses: [container] = [], ...status } = pod.status as PodStatus
  const waiting = { reason: 'InvalidImageName', message: 'Failed to apply default image tag: invalid reference format' }
  return { ...pod, status: { ...status, containerStatuses: [{ ...container, state: { waiting } }] } } as KubeObject
}
