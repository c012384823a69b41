import type { EndpointSlice, KubeObject, Pod, Service } from '../../src/cluster/objects.ts'
import { serviceRule } from '../../src/lifecycle/network/service.ts'
import { is, iso, make, moment, podIs } from '../kit/objects.ts'
import { type ContextOptions, concerns, read } from '../kit/rule.ts'

function webPod(name: string, status = podIs.ready(1), metadata: object = {}): Pod {
  const containers = [make.container({ ports: [{ name: 'http', containerPort: 8080 }] })]
  return make.pod({ metadata: { name, ...metadata }, spec: { containers }, status })
}

function judge(service: Service, objects: readonly KubeObject[] = [], options: ContextOptions = {}) {
  return read({ ...options, objects }, serviceRule, service)
}

const a = webPod('a')
const b = webPod('b')

it.each([
  ['SyncLoadBalancerFailed', 'Error syncing load balancer: could not find any suitable subnets for creating the ELB'],
  ['AllocationFailed', 'Failed to allocate IP for "shop/web": no available IPs'],
  ['FailedDeployModel', 'Failed deploy model due to AccessDenied'],
])(
  'a Service is ready with a load balancer only when it has its address: the Warning %s says why it has none',
  (reason, message) => {
    const service = make.service({ spec: { type: 'LoadBalancer' } })
    const warned = (about: { reason: string; message: string }) => make.event(service, { type: 'Warning', ...about })
    const events = [
      warned({ reason, message }),
      warned({ reason: 'FailedToUpdateEndpointSlices', message: 'conflict' }),
    ]
    expect(judge(service, events).problems).toContainEqual(
      expect.objectContaining({
        reason: 'address-pending',
        message: `has no load balancer address yet: ${message}`,
      }),
    )
  },
)

it.each(['metallb.io/loadBalancerIPs', 'kube-vip.io/loadbalancerIPs', 'lbipam.cilium.io/ips'])(
  'a Service with a load balancer requests its address by the annotation %s',
  (name) => {
    const annotations = { [name]: '192.0.2.7, 2001:db8::7' }
    const managedFields = [
      { manager: 'kubectl', time: iso(0) },
      { manager: 'cloud', subresource: 'status', time: iso(10) },
    ]
    const objects = [a, make.slice([a])]
    const service = (ip: string) =>
      make.service({
        metadata: { annotations, managedFields },
        spec: { type: 'LoadBalancer' },
        status: { loadBalancer: { ingress: [{ ip }] } },
      })
    expect(judge(service('2001:db8::7'), objects).warnings).toEqual([])
    expect(judge(service('192.0.2.1'), objects).warnings).toEqual([
      'its address is 192.0.2.1, and not 192.0.2.7 or 2001:db8::7 as requested',
    ])
  },
)

describe('a Service of several ports', () => {
  const ports = [
    { name: 'http', port: 80, targetPort: 'http' },
    { name: 'grpc', port: 81, targetPort: 'grpc' },
  ]
  const service = make.service({ spec: { ports } })
  const podWith = (name: string, containerPort: number, status?: Pod['status']) =>
    make.pod({
      metadata: { name },
      spec: { containers: [make.container({ ports: [{ name, containerPort }] })] },
      status: status ?? podIs.ready(1),
    })
  /** The controller makes one slice for each set of ports that pods have. */
  const sliceOf = (pod: Pod, containerPort: number, ready = true): EndpointSlice => ({
    ...make.slice([pod], ready),
    metadata: { ...make.slice([]).metadata, name: `web-${pod.metadata.name}`, uid: `${pod.metadata.name}-slice` },
    ports: [{ name: pod.metadata.name, port: containerPort, protocol: 'TCP' }],
  })
  const [http, grpc] = [podWith('http', 8080), podWith('grpc', 8081)]

  it('is ready when each port has an endpoint, even of another pod', () => {
    expect(judge(service, [http, grpc, sliceOf(http, 8080), sliceOf(grpc, 8081)])).toMatchObject({
      status: 'ready',
      message: '2 endpoints ready',
    })
  })

  it('is not ready while one port has no endpoint, and names the port', () => {
    expect(judge(service, [http, sliceOf(http, 8080)]).problems).toMatchObject([
      {
        message:
          'has no ready endpoint for port grpc: no container of the pods that it selects has a port named "grpc"',
      },
    ])
    const crashing = podWith('grpc', 8081, podIs.dead(1, 50))
    expect(
      judge(service, [http, crashing, sliceOf(http, 8080), sliceOf(crashing, 8081, false)]).problems,
    ).toMatchObject([
      {
        message: expect.stringMatching(
          /^has no ready endpoint for port grpc: selects 1 pod, which is not ready: container app of pod\/grpc exited/,
        ),
      },
    ])
  })
})

describe('the port of an endpoint', () => {
  it('is found by name and protocol, as the controller does', () => {
    const containers = [
      make.container({ ports: [{ name: 'dns', containerPort: 5353, protocol: 'UDP' }] }),
      make.container({ name: 'tcp', ports: [{ name: 'dns', containerPort: 5300 }] }),
    ]
    const pod = make.pod({ metadata: { name: 'a' }, spec: { containers }, status: podIs.ready(1) })
    const slice = { ...make.slice([pod]), ports: [{ name: 'dns', port: 5300, protocol: 'TCP' }] }
    const port = { name: 'dns', port: 53, targetPort: 'dns' }
    expect(judge(make.service({ spec: { ports: [{ ...port, protocol: 'TCP' }] } }), [pod, slice]).status).toBe('ready')
    expect(judge(make.service({ spec: { ports: [{ ...port, protocol: 'UDP' }] } }), [pod, slice]).status).toBe(
      'progressing',
    )
  })

  it('is not the port of an init container that ends', () => {
    const ports = [{ name: 'http', containerPort: 8080 }]
    const service = make.service({ spec: { ports: [{ port: 80, targetPort: 'http' }] } })
    const podWith = (init: object) =>
      make.pod({
        metadata: { name: 'a' },
        spec: { initContainers: [make.container({ name: 'init', ports, ...init })] },
        status: podIs.ready(1),
      })
    expect(judge(service, [podWith({})]).problems[0]?.message).toContain('a port named "http"')
    const sidecar = podWith({ restartPolicy: 'Always' })
    expect(judge(service, [sidecar, make.slice([sidecar])]).status).toBe('ready')
  })
})

describe('an endpoint counts', () => {
  it('once, however many address types it has', () => {
    const v6 = { ...make.slice([a, b]), metadata: { ...make.slice([]).metadata, name: 'web-y', uid: 'slice-6' } }
    expect(judge(make.service(), [a, b, make.slice([a, b]), v6]).message).toBe('2 endpoints ready')
  })

  it('when it has no readiness condition, which means ready', () => {
    const { endpoints = [], ...slice } = make.slice([a])
    const unstated = { ...slice, endpoints: endpoints.map(({ conditions: _, ...rest }) => rest) }
    expect(judge(make.service(), [a, unstated]).status).toBe('ready')
  })

  it('when it belongs to no pod: another controller writes it', () => {
    const manual = { ...make.slice([]), endpoints: [{ addresses: ['192.0.2.7'], conditions: { ready: true } }] }
    expect(judge(make.service(), [a, manual]).status).toBe('ready')
  })
})

describe('an endpoint does not count', () => {
  const publishing = make.slice([a])
  const serving = (value: boolean) => ({
    ...publishing,
    endpoints: (publishing.endpoints ?? []).map((each) => ({ ...each, conditions: { ready: true, serving: value } })),
  })

  it('when its pod does not serve, although the Service publishes addresses that are not ready', () => {
    expect(judge(make.service({ spec: { publishNotReadyAddresses: true } }), [a, serving(false)]).status).toBe(
      'progressing',
    )
    expect(judge(make.service({ spec: { publishNotReadyAddresses: true } }), [a, serving(true)]).status).toBe('ready')
  })

  it('when it is terminating, though it still serves', () => {
    const conditions = { ready: false, serving: true, terminating: true }
    const slice = { ...make.slice([]), endpoints: [{ conditions, targetRef: { kind: 'Pod', name: 'a' } }] }
    expect(judge(make.service(), [a, slice]).status).toBe('progressing')
  })

  it('when another pod has taken the name of its own', () => {
    const objects = [webPod('a', podIs.ready(1), { uid: 'later' }), make.slice([a])]
    expect(judge(make.service(), objects).status).toBe('progressing')
  })

  it('when its pod is of an older revision of a gated workload', () => {
    const options = { revisionOf: (pod: Pod) => (pod.metadata.name === 'b' ? 'gated' : 'other') } as const
    expect(judge(make.service(), [a, b, make.slice([a])], options)).toMatchObject({
      status: 'progressing',
      problems: [{ message: expect.stringContaining('selects 2 pods, 1 of them of an older revision') }],
    })
    expect(judge(make.service(), [a, b, make.slice([a, b])], options).status).toBe('ready')
  })
})

describe('a Service without a ready endpoint has a problem', () => {
  it('that is assessed again when the probes of its pods have used up their time', () => {
    const status = podIs.unready({ state: is.running(0), started: true, ready: false })
    const containers = [make.container({ readinessProbe: { periodSeconds: 1, failureThreshold: 2 } })]
    const pod = make.pod({ metadata: { name: 'a' }, spec: { containers }, status })
    const judgeAt = (now: number) =>
      judge(make.service({ spec: { ports: [] } }), [pod, make.slice([pod], false)], { now })
    expect(judgeAt(2)).toMatchObject({
      recheckAt: moment(3),
      problems: [{ message: 'selects 1 pod, which is not ready' }],
    })
    expect(judgeAt(3).problems[0]?.message).toMatch(/^selects 1 pod, which is not ready: container app of pod\/a /)
  })
})

describe('a Service is assessed again', () => {
  const isConcerned = (other: KubeObject, ...objects: readonly KubeObject[]) =>
    concerns({ objects }, serviceRule, make.service(), other)

  it('when one of its pods or slices, or a workload changes', () => {
    expect(isConcerned(a)).toBe(true)
    expect(isConcerned(make.deployment())).toBe(true)
    expect(isConcerned(make.slice([a]))).toBe(true)
  })

  it('not when a pod or slice of another Service changes', () => {
    const { metadata, ...slice } = make.slice([a])
    const labels = { 'kubernetes.io/service-name': 'api' }
    expect(isConcerned(webPod('other', podIs.ready(1), { labels: { app: 'api' } }), a)).toBe(false)
    expect(isConcerned({ ...slice, metadata: { ...metadata, labels } }, a)).toBe(false)
  })

  it('when any pod appears, as long as its selector matches nothing', () => {
    expect(isConcerned(webPod('other', podIs.ready(1), { labels: { app: 'api' } }))).toBe(true)
  })
})
