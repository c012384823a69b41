import type { Observation } from '../../src/cluster/feed.ts'
import type { KubeObject, PodStatus } from '../../src/cluster/objects.ts'
import { causeOf } from '../../src/gate/run-record.ts'
import type { Target } from '../../src/plan/target.ts'
import {
  added,
  allSynced,
  at,
  createTarget,
  modified,
  progressing,
  type Run,
  type RunOptions,
  run,
} from '../kit/gate.ts'
import { complete, condition, is, iso, make, ownedBy, podIs } from '../kit/objects.ts'

/** Which targets only wait for another one, and what the gate then counts as failed. */

const service = (port: number | string = 8080): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'shop', uid: 'service-uid' },
  spec: { type: 'ClusterIP', clusterIP: '10.0.0.1', selector: { app: 'web' }, ports: [{ port: 80, targetPort: port }] },
})
const slice = make.slice([{ metadata: { name: 'web-1-a', uid: 'web-1-a-uid' } }], false)
const autoscaler = make.autoscaler('False')
const withoutMetrics = condition('ScalingActive', 'False', {
  reason: 'FailedGetResourceMetric',
  message:
    'the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)',
})
const ingress: KubeObject = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { name: 'web', namespace: 'shop', uid: 'ingress-uid', creationTimestamp: iso(0) },
  spec: { defaultBackend: { service: { name: 'web', port: { number: 80 } } } },
}
/** A custom resource that owns the Deployment, and reports that it failed. */
const shop: KubeObject = {
  apiVersion: 'acme.example/v1',
  kind: 'Shop',
  metadata: { name: 'web', namespace: 'shop', uid: 'shop-uid', generation: 1, creationTimestamp: iso(0) },
  spec: {},
  status: {
    observedGeneration: 1,
    conditions: [condition('Ready', 'False', { reason: 'Working', message: 'not yet' })],
  },
}

const targets = {
  deployment: createTarget(),
  service: createTarget({ apiVersion: 'v1', kind: 'Service' }),
  autoscaler: createTarget({ apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' }),
  ingress: createTarget({ apiVersion: 'networking.k8s.io/v1', kind: 'Ingress' }),
  shop: createTarget({ apiVersion: 'acme.example/v1', kind: 'Shop' }),
  secret: createTarget({ apiVersion: 'v1', kind: 'Secret', name: 'database' }),
}

const list = (apiVersion: string, ...kinds: readonly string[]): Observation[] =>
  kinds.map((kind) => ({ type: 'SYNCED', apiVersion, kind, namespace: 'shop' }))
const lists = [
  ...allSynced,
  ...list('v1', 'Service', 'Secret'),
  ...list('apps/v1', 'StatefulSet', 'DaemonSet'),
  ...list('batch/v1', 'Job'),
  ...list('discovery.k8s.io/v1', 'EndpointSlice'),
  ...list('autoscaling/v2', 'HorizontalPodAutoscaler'),
  ...list('networking.k8s.io/v1', 'Ingress', 'IngressClass'),
  ...list('acme.example/v1', 'Shop'),
]

const notFound = 'failed to resolve reference "docker.io/acme/web:v1": docker.io/acme/web:v1: not found'
const waitingFor = (reason: string, message?: string): PodStatus => ({
  phase: 'Pending',
  startTime: iso(1),
  containerStatuses: [make.containerStatus({ state: is.waiting(reason, message) })],
})
const deployment = make.deployment({ status: progressing })
const workload = (status: PodStatus, owner = deployment) => [
  owner,
  make.replicaSet({}, owner),
  make.pod({ status }, make.replicaSet({}, owner)),
]
const pod = (status: PodStatus) => modified(make.pod({ status }))
/** Its image does not exist: it fails at the second refusal, after 15 s. */
const missingImage = [
  at(0, added(service(), slice, autoscaler, ...workload(waitingFor('ErrImagePull', notFound))), lists),
  at(15, pod(waitingFor('ImagePullBackOff', notFound))),
  at(16, pod(waitingFor('ErrImagePull', notFound))),
]

/** `Service/web < Deployment/web`: a target that only waits for another one. */
function causes({ record }: Run): string[] {
  return record.targets.flatMap((judged) => {
    const cause = causeOf(judged, record.targets)
    return cause === undefined ? [] : [`${judged.kind}/${judged.name} < ${cause.kind}/${cause.name}`]
  })
}

const gate = (steps: Parameters<typeof run>[0], over: readonly Target[], settings: RunOptions['settings'] = {}) =>
  run(steps, { targets: over, settings })

it('a Service and an autoscaler only wait for the Deployment whose image does not exist', () => {
  const end = gate(missingImage, [targets.service, targets.autoscaler, targets.deployment])
  expect(end).toMatchObject({ outcome: 'failed', reason: 'image-not-found' })
  expect(causes(end)).toEqual(['Service/web < Deployment/web', 'HorizontalPodAutoscaler/web < Deployment/web'])
})

it('an autoscaler of a cluster without metrics waits for no Deployment, since it fails without it too', () => {
  const changed = { ...autoscaler, status: { conditions: [condition('AbleToScale', 'True'), withoutMetrics] } }
  const steps = [
    at(0, added(service(), slice, changed, ...workload(waitingFor('ErrImagePull', notFound))), lists),
    ...missingImage.slice(1),
  ]
  const end = gate(steps, [targets.service, targets.autoscaler, targets.deployment])
  expect(causes(end)).toEqual(['Service/web < Deployment/web'])
})

it('a Service that its own clock ends later still only waits for the Deployment that failed before', () => {
  const end = gate(missingImage, [targets.service, targets.deployment], { failFast: false })
  expect(end.targets.map(({ outcome }) => outcome)).toEqual(['stalled', 'failed'])
  expect(causes(end)).toEqual(['Service/web < Deployment/web'])
  expect(end.message).not.toContain('more')
})

it('if a Service and its Deployment time out together, the Deployment decides, in any order of the input', () => {
  const steps = [at(0, added(service(), slice, ...workload(waitingFor('ContainerCreating'))), lists)]
  const end = gate(steps, [targets.service, targets.deployment], { timeoutMs: 60_000 })
  expect(end.targets.map(({ outcome }) => outcome)).toEqual(['timed-out', 'timed-out'])
  expect(end.message).toMatch(/^deployment\/web/)
  expect(causes(end)).toEqual(['Service/web < Deployment/web'])
})

it('a Service whose port no container declares has a failure of its own, although its Deployment is broken too', () => {
  const steps = [
    at(0, added(service('http'), slice, ...workload(waitingFor('ErrImagePull', notFound))), lists),
    ...missingImage.slice(1),
  ]
  expect(causes(gate(steps, [targets.service, targets.deployment]))).toEqual([])
})

it('a Service that the user gave a clock of its own fails by itself while its Deployment still progresses', () => {
  const steps = [at(0, added(service(), slice, ...workload(waitingFor('ContainerCreating'))), lists)]
  const literal = { ...targets.service, clocks: { stallTimeoutMs: 60_000 } }
  const end = gate(steps, [literal, targets.deployment])
  expect(end).toMatchObject({ outcome: 'stalled', reason: 'no-endpoints' })
  expect(causes(end)).toEqual([])
})

it('a Service waits for nothing that is ready', () => {
  const steps = [at(0, added(service(), ...workload(podIs.ready(-60), make.deployment({ status: complete() }))), lists)]
  const end = gate(steps, [targets.service, targets.deployment])
  expect(end.targets.map(({ outcome }) => outcome)).toEqual(['stalled', 'ready'])
  expect(causes(end)).toEqual([])
})

it('the heartbeat names the known cause, and which targets only wait for it', () => {
  const pending = condition('PodScheduled', 'False', { reason: 'Unschedulable', message: '0/1 nodes are available' })
  const steps = [at(0, added(service(), slice, ...workload({ conditions: [pending] })), lists)]
  const heartbeat = gate(steps, [targets.service, targets.deployment]).entries.find((entry) =>
    entry.includes('heartbeat'),
  )
  expect(heartbeat).toBe(
    '30 heartbeat still waiting for service/web (waits for deployment/web), deployment/web (no node can take the pods)',
  )
})

it('an Ingress waits for the Service that it names, and does not exist', () => {
  const end = gate([at(0, added(ingress), lists)], [targets.ingress, targets.service])
  expect(end).toMatchObject({ outcome: 'failed', reason: 'not-found' })
  expect(causes(end)).toEqual(['Ingress/web < Service/web'])
})

it('a Deployment waits for the Secret that its container needs, and is gated too', () => {
  const missing = waitingFor('CreateContainerConfigError', 'secret "database" not found')
  const end = gate([at(0, added(...workload(missing)), lists)], [targets.deployment, targets.secret])
  expect(end).toMatchObject({ outcome: 'failed', reason: 'not-found' })
  expect(causes(end)).toEqual(['Deployment/web < Secret/database'])
})

it('a custom resource waits for the Deployment that it owns, and never the Deployment for its owner', () => {
  const owned = make.deployment({ metadata: { ownerReferences: ownedBy(shop) }, status: progressing })
  const steps = [
    at(0, added(shop, ...workload(waitingFor('ErrImagePull', notFound), owned)), lists),
    at(40, pod(waitingFor('ImagePullBackOff', notFound))),
    at(41, pod(waitingFor('ErrImagePull', notFound))),
  ]
  const end = gate(steps, [targets.shop, targets.deployment])
  expect(end).toMatchObject({ outcome: 'failed', reason: 'image-not-found' })
  expect(causes(end)).toEqual(['Shop/web < Deployment/web'])
})

it('two Deployments that fail for themselves are two failures', () => {
  const other = make.deployment({ metadata: { name: 'api', uid: 'api-uid' }, status: progressing })
  const steps = [at(0, added(...workload(waitingFor('InvalidImageName')), other), lists)]
  const end = gate(steps, [targets.deployment, createTarget({ name: 'api' })], { failFast: false })
  expect(causes(end)).toEqual([])
})
