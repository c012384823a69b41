import type { FeedEvent, Observation } from '../src/cluster/feed.ts'
import { createRedactor } from '../src/cluster/redact.ts'
import { Gate } from '../src/gate/gate.ts'
import { gateSettings } from '../src/gate/settings.ts'
import { readInputs } from '../src/inputs.ts'
import { startApiServer } from '../test/support/api-server.ts'
import { createDeployment, createPod, createReplicaSet, createWorkloads, podStages } from './bench-objects.ts'

/**
 * The processes that `bench.ts` starts beside the measured ones:
 *
 *     bench-workers.ts server          an API server with TLS; orders and answers are messages to the parent
 *     bench-workers.ts simulate PODS   a rollout on the virtual clock; prints its cost as JSON
 */

const [task, count] = process.argv.slice(2)
if (task === 'server') await serve()
if (task === 'simulate') simulate(Number(count))

/** What `bench.ts` orders from the server. */
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
    send({ kubeconfig: server.kubeconfig({ token: 'token-of-the-bench', namespace: 'team-0' }), workloads })
    if (isFinished) return
    await server.until(({ openWatches }) => openWatches.filter(({ plural }) => plural === 'pods').length > 0)
    const end = await play()
    send({ ...end, requests: server.requests.length - before })

    /** All pods pass each stage before the next one begins. */
    async function play() {
      const startedAt = Date.now()
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
          // Like the controller, a fifth of the pods at a time.
          const ready = index + 1
          if (stage === 'ready' && (ready % 5 === 0 || ready === workload.replicas))
            server.apply(createDeployment(workload, ready, time()))
        }
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      return { lastWriteAt: Date.now(), tookMs: Date.now() - startedAt, podEvents: steps.length }
    }
  })
  send({ started: true })
}

/** Plays the rollout of many pods into the gate, 25 of each Deployment, as the cluster's objects arrive: redacted. */
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
  const play = () => {
    const before = process.cpuUsage()
    for (const each of batch) {
      at = each.at
      handle({ type: each.type, object: redact(JSON.parse(each.line)) })
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
  play()
  for (const request of gate.requests) handle({ type: 'SYNCED', ...request })
  for (const stage of podStages) {
    for (const workload of workloads) {
      at += 20_000 / podStages.length / workloads.length
      for (let index = 0; index < workload.replicas; index += 1) {
        put(stage === 'pending' ? 'ADDED' : 'MODIFIED', createPod(workload, index, stage, time()))
        events += 1
        if (stage === 'ready' && (index + 1) % 5 === 0) put('MODIFIED', createDeployment(workload, index + 1, time()))
      }
      play()
    }
  }
  const outcome = gate.verdict?.outcome
  console.log(
    JSON.stringify({ pods, events, outcome, cpuMs: cpuUs / 1000, rssMb: process.resourceUsage().maxRSS / 1024 }),
  )
}
