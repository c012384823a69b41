import type { Observation } from '../../src/cluster/feed.ts'
import { added, allSynced, at, createTarget, modified, progressing, run, synced } from '../kit/gate.ts'
import { complete, condition, is, make, podIs } from '../kit/objects.ts'

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'shop', uid: 'service-uid' },
  spec: { type: 'ClusterIP', clusterIP: '10.0.0.1', selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
}

const slice = (ready: boolean) => make.slice([{ metadata: { name: 'web-1-a', uid: 'web-1-a-uid' } }], ready)

// Its startup probe gives it a quarter of an hour; it takes 7 minutes.
const startupProbe = { periodSeconds: 10, failureThreshold: 90 }
const slow = podIs.unready({ state: is.running(1), ready: false, started: false })
const pod = (status = slow) => make.pod({ spec: { containers: [make.container({ startupProbe })] }, status })
const workload = [make.deployment({ status: progressing }), make.replicaSet(), pod()]

const targets = {
  deployment: createTarget(),
  service: createTarget({ apiVersion: 'v1', kind: 'Service' }),
  autoscaler: createTarget({ apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' }),
}
const lists: Observation[] = [
  ...allSynced,
  ...synced('Service'),
  { type: 'SYNCED', apiVersion: 'apps/v1', kind: 'StatefulSet', namespace: 'shop' },
  { type: 'SYNCED', apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', namespace: 'shop' },
  { type: 'SYNCED', apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', namespace: 'shop' },
]
const begin = at(0, added(service, slice(false), make.autoscaler('False'), ...workload), lists)
const up = at(420, modified(pod(podIs.ready(1, { started: true })), make.deployment({ status: complete() })))

describe('a target that cannot be ready without another one', () => {
  it('does not stall while the Deployment behind a Service starts as slowly as its probe allows', () => {
    const steps = [begin, up, at(421, modified(slice(true)))]
    expect(run(steps, { targets: [targets.service, targets.deployment] })).toMatchObject({
      outcome: 'ready',
      seconds: 421,
    })
  })

  it('does not stall while the Deployment behind a Service is not gated, and starts slowly', () => {
    const steps = [begin, up, at(421, modified(slice(true)))]
    expect(run(steps, { targets: [targets.service] })).toMatchObject({ outcome: 'ready', seconds: 421 })
  })

  it('does not stall while an autoscaler has no metric because its pods are not ready', () => {
    const steps = [begin, up, at(450, modified(make.autoscaler('True')))]
    expect(run(steps, { targets: [targets.deployment, targets.autoscaler] })).toMatchObject({
      outcome: 'ready',
      seconds: 450,
    })
  })

  it('has its own clock again once the other target is ready', () => {
    expect(run([begin, up], { targets: [targets.service, targets.deployment] })).toMatchObject({
      outcome: 'timed-out',
      reason: 'no-endpoints',
      seconds: 600,
    })
    const patient = { targets: [targets.service, targets.deployment], settings: { timeoutMs: 0 } }
    expect(run([begin, up], patient)).toMatchObject({ outcome: 'stalled', reason: 'no-endpoints', seconds: 720 })
  })

  it('does not stall when the other target, its cause, stalls', () => {
    const unschedulable = condition('PodScheduled', 'False', { reason: 'Unschedulable', message: '0/1 nodes' })
    const pending = make.pod({ spec: { nodeName: '' }, status: { conditions: [unschedulable] } })
    const steps = [at(0, added(service, ...workload.slice(0, 2), pending), lists)]
    const { outcome, reason, targets: ends } = run(steps, { targets: [targets.service, targets.deployment] })
    expect({ outcome, reason }).toEqual({ outcome: 'stalled', reason: 'unschedulable' })
    expect(ends.map((end) => end.outcome)).toEqual(['progressing', 'stalled'])
  })

  it('is ended by its own clock if the user set that clock', () => {
    const settings = { stallTimeoutMs: 60_000, stallIsLiteral: true }
    const { targets: ends } = run([begin], { targets: [targets.service, targets.deployment], settings })
    expect(ends[0]).toMatchObject({ outcome: 'stalled', seconds: 60 })
  })
})

describe('a Service whose pods are not ready yet', () => {
  const allUp = modified(slice(true), pod(podIs.ready(1, { started: true })), make.deployment({ status: complete() }))
  const steps = [begin, at(420, allUp)]
  const problems = (over: readonly (typeof targets)[keyof typeof targets][]) =>
    run(steps, { targets: [...over] }).entries.filter((entry) => entry.includes(' problem '))

  it('is not logged as a problem while the workload behind it is gated and progresses', () => {
    expect(problems([targets.service, targets.deployment])).toEqual([])
  })

  it('is logged at once if nothing else is awaited', () => {
    expect(problems([targets.service])).toEqual([
      expect.stringContaining('0 problem selects 1 pod, which is not ready'),
    ])
  })
})
