import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { stringify } from 'yaml'
import { parseJson, shareEqualParts } from '../src/cluster/compact.ts'
import type { FeedEvent, Observation } from '../src/cluster/feed.ts'
import type { KubeObject, PodStatus } from '../src/cluster/objects.ts'
import { createRedactor } from '../src/cluster/redact.ts'
import { Gate } from '../src/gate/gate.ts'
import { gateSettings } from '../src/gate/settings.ts'
import { readInputs } from '../src/inputs.ts'
import { type ApiServer, startApiServer } from '../test/support/api-server.ts'
import { EventLoopClock } from '../test/support/event-loop-clock.ts'
import { gateInVirtualTime } from '../test/support/gate-rollout.ts'
import { createDeployment, createPod, createReplicaSet, createWorkloads, podStages } from './bench-objects.ts'

/**
 * The processes that `bench.ts` starts beside the measured ones:
 *
 *     bench-workers.ts server          an API server with TLS; orders and answers are messages to the parent
 *     bench-workers.ts pages           an API server with TLS that answers each list of Deployments in 90 pages of a second
 *     bench-workers.ts writes          an API server with TLS, in which each order is one write
 *     bench-workers.ts simulate PODS   a rollout on the virtual clock; prints its cost as JSON
 *     bench-workers.ts soak HOURS      a rollout that does not end, on the virtual clock; prints the heap's size as JSON
 */

const [task, count] = process.argv.slice(2)
if (task === 'server') await serve()
if (task === 'pages') await servePages()
if (task === 'writes') await serveWrites()
if (task === 'simulate') simulate(Number(count))
if (task === 'soak') await soak(Number(count))

/** A kubeconfig as `kubectl config view --raw` prints it, in YAML. */
function kubeconfigOf(server: ApiServer): string {
  return stringify(JSON.parse(server.kubeconfig({ token: 'token-of-the-bench', namespace: 'team-0' })))
}

/** A request of `bench.ts` to the server: one rollout. */
export interface RolloutOrder {
  readonly deployments: number
  readonly pods: number
  /** How long the rollout takes; 0: it is finished from the start. */
  readonly durationMs: number
}

async function serve(): Promise<void> {
  const server = await startApiServer({ tls: true })
  const send = (message: object) => process.send?.(message)
  process.once('disconnect', () => process.exit())
  process.on('message', async ({ deployments, pods, durationMs }: RolloutOrder) => {
    const workloads = createWorkloads(deployments, pods / deployments)
    const isFinished = durationMs === 0
    const time = () => new Date(isFinished ? Date.now() - 600_000 : Date.now()).toISOString()
    for (const workload of workloads) {
      server.apply(createDeployment(workload, isFinished ? workload.replicas : 0, time()))
      server.apply(createReplicaSet(workload, time()))
      for (let index = 0; isFinished && index < workload.replicas; index += 1)
        server.apply(createPod(workload, index, 'ready', time()))
    }
    const before = server.requests.length
    send({ kubeconfig: kubeconfigOf(server), workloads })
    if (isFinished) return
    await server.until(({ openWatches }) => openWatches.filter(({ plural }) => plural === 'pods').length > 0)
    const end = await writePods()
    send({ ...end, requests: server.requests.length - before })

    /** All pods pass each stage before the next one begins. */
    async function writePods() {
      const startedAt = Date.now()
      let lastWriteAt = startedAt
      const steps = podStages.flatMap((stage) =>
        workloads.flatMap((workload) =>
          Array.from({ length: workload.replicas }, (_, index) => ({ workload, index, stage })),
        ),
      )
      let done = 0
      while (done < steps.length) {
        const due = Math.ceil((steps.length * Math.min(durationMs, Date.now() - startedAt + 50)) / durationMs)
        for (; done < due; done += 1) {
          const step = steps[done]
          if (step === undefined) break
          const { workload, index, stage } = step
          server.apply(createPod(workload, index, stage, time()))
          // The status changes with every fifth of the pods, as that of a controller does.
          const ready = index + 1
          if (stage === 'ready' && (ready % 5 === 0 || ready === workload.replicas))
            server.apply(createDeployment(workload, ready, time()))
          lastWriteAt = Date.now()
        }
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      return { lastWriteAt, tookMs: Date.now() - startedAt, podEvents: steps.length }
    }
  })
  send({ started: true })
}

/** A server whose list of Deployments takes longer than the timeout of the gate, although each of its pages is an answer. */
async function servePages(): Promise<void> {
  const server = await startApiServer({ tls: true })
  process.once('disconnect', () => process.exit())
  server.intercept(async ({ path, query }, response) => {
    if (!path.endsWith('/deployments') || query.has('watch')) return 'answer'
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    const page = 1 + Number(query.get('continue') ?? 0)
    const metadata = { resourceVersion: '1', ...(page < 90 ? { continue: String(page) } : {}) }
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify({ kind: 'DeploymentList', metadata, items: [] }))
    return 'answered'
  })
  process.send?.({ kubeconfig: kubeconfigOf(server), workloads: createWorkloads(1, 1) })
}

/** A request of `bench.ts` to the server of writes: the next state of the rollout with this index. */
export interface WriteOrder {
  readonly index: number
  /** `created`: answered when the gate watches the rollout. */
  readonly state: 'created' | 'running' | 'ready' | 'failed'
}

/** Rollouts of one pod. Each order is answered with the time of its write. */
async function serveWrites(): Promise<void> {
  const server = await startApiServer({ tls: true })
  const send = (message: object) => process.send?.(message)
  process.once('disconnect', () => process.exit())
  const workloads = createWorkloads(100, 1)
  process.on('message', async ({ index, state }: WriteOrder) => {
    const workload = workloads[index]
    if (workload === undefined) return
    const time = new Date().toISOString()
    if (state === 'created') {
      server.apply(createDeployment(workload, 0, time))
      server.apply(createReplicaSet(workload, time))
      server.apply(createPod(workload, 0, 'scheduled', time))
      // The watches of Deployments, ReplicaSets, pods and events; those of the previous gate are closed.
      await server.until(({ openWatches }) => openWatches.length === 4)
      send({})
      return
    }
    const pod = createPod(workload, 0, state === 'failed' ? 'scheduled' : state, time)
    const writtenAt = Date.now()
    server.apply(state === 'failed' ? withInvalidImage(pod) : pod)
    if (state === 'ready') server.apply(createDeployment(workload, 1, time))
    send({ writtenAt })
  })
  send({ kubeconfig: kubeconfigOf(server), workloads })
}

/** The pod with the waiting reason that fails a rollout at once. */
function withInvalidImage(pod: KubeObject): KubeObject {
  const { containerStatuses: [container] = [], ...status } = pod.status as PodStatus
  const waiting = { reason: 'InvalidImageName', message: 'Failed to apply default image tag: invalid reference format' }
  return { ...pod, status: { ...status, containerStatuses: [{ ...container, state: { waiting } }] } } as KubeObject
}

/** Feeds the gate with the rollout of many pods, 25 of each Deployment, in the form in which the cluster's objects arrive. */
function simulate(pods: number): void {
  const workloads = createWorkloads(Math.max(1, pods / 25), Math.min(25, pods))
  const start = Date.UTC(2025, 0, 15, 12)
  const settings = gateSettings(readInputs({ resources: 'deployment/app-0' }).inputs, {
    startedAt: start,
    context: 'bench',
    serverVersion: 'v1.34.4',
    serverOffsetMs: 0,
  })
  const targets = workloads.map(({ namespace, name }) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    namespace,
    name,
    clocks: {},
  }))
  const redact = createRedactor()
  const siblings = new Map<string, KubeObject>()
  let cpuUs = 0
  let batch: { readonly at: number; readonly type: 'ADDED' | 'MODIFIED'; readonly line: string }[] = []
  const gate = new Gate(targets, settings, () => true)
  let at = start
  let events = 0
  let version = 0
  const handle = (observation: Observation) => {
    for (let next = gate.nextDeadline(); next !== undefined && next.at < at; next = gate.nextDeadline())
      gate.advance(next.at)
    gate.handle({ ...observation, at } as FeedEvent)
  }
  const put = (type: 'ADDED' | 'MODIFIED', object: Parameters<typeof redact>[0]) => {
    version += 1
    const line = JSON.stringify({ ...object, metadata: { ...object.metadata, resourceVersion: String(version) } })
    batch.push({ at, type, line })
  }
  /** Measures whole batches, since reading the CPU time takes long itself. */
  const handleBatch = () => {
    const before = process.cpuUsage()
    for (const each of batch) {
      at = each.at
      const object = redact(parseJson(Buffer.from(each.line)) as KubeObject)
      const { apiVersion, kind, metadata } = object
      const controller = metadata.ownerReferences?.[0]?.uid ?? ''
      const known = gate.store.get({ apiVersion, kind, ...metadata }) ?? siblings.get(controller)
      const compact = shareEqualParts(object, known)
      siblings.set(controller, compact)
      handle({ type: each.type, object: compact })
    }
    const { user, system } = process.cpuUsage(before)
    cpuUs += user + system
    batch = []
  }
  const time = () => new Date(at).toISOString()
  for (const workload of workloads) {
    put('ADDED', createDeployment(workload, 0, time()))
    put('ADDED', createReplicaSet(workload, time()))
  }
  handleBatch()
  for (const request of gate.requests) handle({ type: 'SYNCED', ...request })
  for (const stage of podStages) {
    for (const workload of workloads) {
      at += 20_000 / podStages.length / workloads.length
      for (let index = 0; index < workload.replicas; index += 1) {
        put(stage === 'pending' ? 'ADDED' : 'MODIFIED', createPod(workload, index, stage, time()))
        events += 1
        if (stage === 'ready' && (index + 1) % 5 === 0) put('MODIFIED', createDeployment(workload, index + 1, time()))
      }
      handleBatch()
    }
  }
  // The watches have answered.
  gate.advance(at)
  const outcome = gate.verdict?.outcome
  console.log(
    JSON.stringify({ pods, events, outcome, cpuMs: cpuUs / 1000, rssMb: process.resourceUsage().maxRSS / 1024 }),
  )
}

/**
 * Follows a rollout that does not end, on the virtual clock and over real connections. Watches are renewed each minute, and
 * expire each hour. Each minute a pod changes, and each hour a pod is replaced.
 */
async function soak(hours: number): Promise<void> {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const server = await startApiServer()
  const [workload] = createWorkloads(1, 10)
  if (workload === undefined) throw new Error('There is no workload.')
  const startedAt = Date.now()
  const end = new AbortController()
  const heapMb: { readonly hour: number; readonly mb: number }[] = []
  const indexes = Array.from({ length: workload.replicas }, (_, index) => index)
  let minutes = 0
  let requests = 0
  const advance = (now: number) => {
    server.clockOffsetMs = now - Date.now()
    for (; now >= startedAt + minutes * 60_000; minutes += 1) changePods(new Date(now).toISOString())
  }
  const changePods = (time: string) => {
    const hour = minutes / 60
    const slot = minutes % workload.replicas
    const index = indexes[slot] ?? 0
    server.apply(createPod(workload, index, minutes % 20 < 10 ? 'running' : 'ready', time))
    if (!Number.isInteger(hour)) return
    const { apiVersion, kind, metadata } = createPod(workload, index, 'running', time)
    server.remove({ apiVersion, kind, namespace: metadata.namespace ?? '', name: metadata.name })
    indexes[slot] = index + workload.replicas
    // The server of the bench keeps all requests and changes.
    requests += server.requests.splice(0).length
    server.compact()
    collectGarbage()
    heapMb.push({ hour, mb: getHeapStatistics().used_heap_size / (1 << 20) })
    if (hour === hours) end.abort()
  }
  const clock = new EventLoopClock(startedAt, 500, advance)
  server.apply(createDeployment(workload, 0, new Date(startedAt).toISOString()))
  server.apply(createReplicaSet(workload, new Date(startedAt).toISOString()))
  const inputs = {
    resources: `deployment/${workload.name} -n ${workload.namespace}`,
    timeout: '0',
    'stall-timeout': '0',
    kubeconfig: server.kubeconfig(),
  }
  const timeline = await gateInVirtualTime(inputs, clock, { cancelled: end.signal })
  await server.close()
  console.log(JSON.stringify({ outcome: timeline.verdict.outcome, entries: timeline.entries.length, requests, heapMb }))
}
