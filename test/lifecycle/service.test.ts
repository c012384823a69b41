import type { EndpointSlice, KubeObject, ObjectMeta, Pod, Service, ServiceSpec } from '../../src/cluster/objects.ts'
import { serviceRule } from '../../src/lifecycle/network/service.ts'
import { condition, is, iso, make, moment, podIs } from '../kit/objects.ts'
import { type ContextOptions, read } from '../kit/rule.ts'

function createService(spec: object = {}, status: Service['status'] = {}): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'shop', uid: 'web-svc-uid' },
    spec: {
      type: 'ClusterIP',
      clusterIP: '10.0.0.1',
      selector: { app: 'web' },
      ports: [{ port: 80, targetPort: 'http' }],
      ...spec,
    },
    status,
  }
}

function webPod(name: string, status = podIs.ready(1), metadata: object = {}): Pod {
  const containers = [make.container({ ports: [{ name: 'http', containerPort: 8080 }] })]
  return make.pod({ metadata: { name, ...metadata }, spec: { containers }, status })
}

function judge(service: Service, objects: readonly KubeObject[] = [], options: ContextOptions = {}) {
  return read({ ...options, objects }, serviceRule, service)
}

const a = webPod('a')
const b = webPod('b')

describe('a Service is ready', () => {
  it('when one endpoint is', () => {
    expect(judge(createService(), [a, b, make.slice([a, b])])).toMatchObject({
      status: 'ready',
      message: '2 endpoints ready',
    })
  })

  it.each([
    ['headless', createService({ clusterIP: 'None' })],
    ['points to api.example.com', createService({ type: 'ExternalName', externalName: 'api.example.com' })],
    ['has no selector', createService({ selector: {} })],
  ])('at once when it %s', (message, service) => {
    expect(judge(service)).toMatchObject({ status: 'ready', message })
  })

  it('without endpoints when every workload behind it is scaled to zero', () => {
    const idle = make.deployment({ spec: { replicas: 0 } })
    const message = 'has no endpoints: every workload behind it is scaled to zero (deployment/web)'
    expect(judge(createService(), [idle])).toMatchObject({ status: 'ready', message, notes: [] })
    const busy = make.deployment({ metadata: { name: 'busy', uid: 'busy-uid' } })
    expect(judge(createService(), [idle, busy]).status).toBe('progressing')
  })

  it.each(['Deployment', 'StatefulSet'])('not as scaled to zero while each %s is not listed', (kind) => {
    const idle = make.deployment({ spec: { replicas: 0 } })
    expect(judge(createService(), [idle], { unseen: [kind] }).message).not.toContain('scaled to zero')
  })

  it('once it exists where endpoints cannot be read, with a note', () => {
    expect(judge(createService(), [], { unseen: ['EndpointSlice'] })).toMatchObject({
      status: 'ready',
      notes: [expect.stringContaining('cannot be read')],
    })
  })

  it('with a load balancer when it has its address too', () => {
    const spec = { type: 'LoadBalancer' }
    const objects = [a, make.slice([a])]
    expect(judge(createService(spec), objects)).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'address-pending', class: 'slow' }],
    })
    const addressed = createService(spec, { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } })
    expect(judge(addressed, objects)).toMatchObject({ status: 'ready', message: '1 endpoint ready, address 192.0.2.1' })
    expect(judge(createService(spec, { loadBalancer: { ingress: [{}] } }), objects).status).toBe('ready')
  })

  it.each([
    ['SyncLoadBalancerFailed', 'Error syncing load balancer: could not find any suitable subnets for creating the ELB'],
    ['AllocationFailed', 'Failed to allocate IP for "shop/web": no available IPs'],
    ['FailedDeployModel', 'Failed deploy model due to AccessDenied'],
  ])('with a load balancer only when it has its address: the Warning %s says why it has none', (reason, message) => {
    const service = createService({ type: 'LoadBalancer' })
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
  })

  describe('with a load balancer whose address it requests', () => {
    const written = (specAt: number, statusAt: number) => ({
      managedFields: [
        { manager: 'kubectl', time: iso(specAt) },
        { manager: 'cloud', subresource: 'status', time: iso(statusAt) },
      ],
    })
    const requesting = (
      address: { ip?: string; hostname?: string },
      spec: Partial<ServiceSpec> = { loadBalancerIP: '192.0.2.7' },
      metadata: Partial<ObjectMeta> = written(0, -60),
    ) => {
      const service = createService({ type: 'LoadBalancer', ...spec }, { loadBalancer: { ingress: [address] } })
      return { ...service, metadata: { ...service.metadata, ...metadata } }
    }
    const objects = [a, make.slice([a])]
    const warnings = ['its address is 192.0.2.1, and not 192.0.2.7 as requested']

    it('when it has that address, or only a name', () => {
      for (const address of [{ ip: '192.0.2.7' }, { hostname: 'lb.example.com' }])
        expect(judge(requesting(address), objects)).toMatchObject({ status: 'ready', warnings: [] })
    })

    it('not within two minutes of the request while it has the previous address', () => {
      const judged = judge(requesting({ ip: '192.0.2.1' }), objects)
      expect(judged).toMatchObject({
        status: 'progressing',
        recheckAt: moment(120),
        problems: [{ reason: 'address-pending', message: 'has the address 192.0.2.1, and not 192.0.2.7 as requested' }],
      })
    })

    it('with a warning later, as some load balancers ignore the request', () => {
      expect(judge(requesting({ ip: '192.0.2.1' }), objects, { now: 120 })).toMatchObject({ status: 'ready', warnings })
    })

    it('with a warning at once if its address was written after the request', () => {
      const service = requesting({ ip: '192.0.2.1' }, undefined, written(0, 10))
      expect(judge(service, objects)).toMatchObject({ status: 'ready', warnings })
    })

    it.each(['metallb.io/loadBalancerIPs', 'kube-vip.io/loadbalancerIPs', 'lbipam.cilium.io/ips'])(
      'by the annotation %s',
      (name) => {
        const annotations = { [name]: '192.0.2.7, 2001:db8::7' }
        const service = (ip: string) => requesting({ ip }, {}, { ...written(0, 10), annotations })
        expect(judge(service('2001:db8::7'), objects).warnings).toEqual([])
        expect(judge(service('192.0.2.1'), objects).warnings).toEqual([
          'its address is 192.0.2.1, and not 192.0.2.7 or 2001:db8::7 as requested',
        ])
      },
    )
  })
})

describe('a Service whose only ready pod has just started without a readiness probe', () => {
  const young = webPod('a', podIs.ready(55))
  const judgeAt = (now: number) => judge(createService(), [young, make.slice([young])], { now })

  it('is not ready before that pod has settled, as a crash loop looks ready for seconds', () => {
    expect(judgeAt(60)).toMatchObject({
      status: 'progressing',
      problems: [],
      recheckAt: moment(65),
      milestones: expect.arrayContaining([
        expect.objectContaining({ name: 'ready', message: '1 endpoint ready, settling', settlesAt: moment(65) }),
      ]),
    })
  })

  it('is ready once it has', () => {
    expect(judgeAt(65)).toMatchObject({ status: 'ready', message: '1 endpoint ready' })
  })

  it('is ready at once where that pod has a readiness probe', () => {
    const containers = [make.container({ ports: [{ name: 'http', containerPort: 8080 }], readinessProbe: {} })]
    const probed = make.pod({ metadata: { name: 'a' }, spec: { containers }, status: podIs.ready(59) })
    expect(judge(createService(), [probed, make.slice([probed])]).status).toBe('ready')
  })

  it('is not ready by an endpoint whose pod is no longer ready: endpoints may be outdated', () => {
    const dead = webPod('a', podIs.unready({ state: is.terminated(1, 58) }))
    expect(judge(createService(), [dead, make.slice([dead])]).status).toBe('progressing')
  })

  it('is ready at once by another pod that has settled', () => {
    expect(judge(createService(), [young, b, make.slice([young, b])])).toMatchObject({ status: 'ready' })
  })
})

describe('a Service of several ports', () => {
  const ports = [
    { name: 'http', port: 80, targetPort: 'http' },
    { name: 'grpc', port: 81, targetPort: 'grpc' },
  ]
  const service = createService({ ports })
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
    expect(judge(createService({ ports: [{ ...port, protocol: 'TCP' }] }), [pod, slice]).status).toBe('ready')
    expect(judge(createService({ ports: [{ ...port, protocol: 'UDP' }] }), [pod, slice]).status).toBe('progressing')
  })

  it('is not the port of an init container that ends', () => {
    const ports = [{ name: 'http', containerPort: 8080 }]
    const service = createService({ ports: [{ port: 80, targetPort: 'http' }] })
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
    expect(judge(createService(), [a, b, make.slice([a, b]), v6]).message).toBe('2 endpoints ready')
  })

  it('when it has no readiness condition, which means ready', () => {
    const { endpoints = [], ...slice } = make.slice([a])
    const unstated = { ...slice, endpoints: endpoints.map(({ conditions: _, ...rest }) => rest) }
    expect(judge(createService(), [a, unstated]).status).toBe('ready')
  })

  it('when it belongs to no pod: another controller writes it', () => {
    const manual = { ...make.slice([]), endpoints: [{ addresses: ['192.0.2.7'], conditions: { ready: true } }] }
    expect(judge(createService(), [a, manual]).status).toBe('ready')
  })
})

describe('an endpoint does not count', () => {
  const publishing = make.slice([a])
  const serving = (value: boolean) => ({
    ...publishing,
    endpoints: (publishing.endpoints ?? []).map((each) => ({ ...each, conditions: { ready: true, serving: value } })),
  })

  it('when its pod does not serve, although the Service publishes addresses that are not ready', () => {
    expect(judge(createService({ publishNotReadyAddresses: true }), [a, serving(false)]).status).toBe('progressing')
    expect(judge(createService({ publishNotReadyAddresses: true }), [a, serving(true)]).status).toBe('ready')
  })

  it.each([
    ['when it is not ready', [a, make.slice([a], false)]],
    [
      'when it is terminating, though it still serves',
      [
        a,
        {
          ...make.slice([]),
          endpoints: [
            { conditions: { ready: false, serving: true, terminating: true }, targetRef: { kind: 'Pod', name: 'a' } },
          ],
        },
      ],
    ],
    [
      'when its pod has succeeded',
      [webPod('a', { phase: 'Succeeded', conditions: [condition('Ready', 'False')] }), make.slice([a])],
    ],
    [
      'when its pod does not match the present selector',
      [webPod('a', podIs.ready(1), { labels: { app: 'other' } }), make.slice([a])],
    ],
    [
      'when its pod is being deleted',
      [webPod('a', podIs.ready(1), { deletionTimestamp: '2025-01-15T12:00:30Z' }), make.slice([a])],
    ],
    ['when its port is not the present target port', [a, make.slice([a], true, 9090)]],
    ['when its pod is gone', [make.slice([a])]],
    [
      'when another pod has taken the name of its own',
      [webPod('a', podIs.ready(1), { uid: 'later' }), make.slice([a])],
    ],
  ])('%s', (_, objects) => {
    expect(judge(createService(), objects).status).toBe('progressing')
  })

  it('when its pod is of an older revision of a gated workload', () => {
    const options = { revisionOf: (pod: Pod) => (pod.metadata.name === 'b' ? 'gated' : 'other') } as const
    expect(judge(createService(), [a, b, make.slice([a])], options)).toMatchObject({
      status: 'progressing',
      problems: [{ message: expect.stringContaining('selects 2 pods, 1 of them of an older revision') }],
    })
    expect(judge(createService(), [a, b, make.slice([a, b])], options).status).toBe('ready')
  })
})

describe('a Service without a ready endpoint has a problem', () => {
  it('that is assessed again when the probes of its pods have used up their time', () => {
    const status = podIs.unready({ state: is.running(0), started: true, ready: false })
    const containers = [make.container({ readinessProbe: { periodSeconds: 1, failureThreshold: 2 } })]
    const pod = make.pod({ metadata: { name: 'a' }, spec: { containers }, status })
    const judgeAt = (now: number) => judge(createService({ ports: [] }), [pod, make.slice([pod], false)], { now })
    expect(judgeAt(2)).toMatchObject({
      recheckAt: moment(3),
      problems: [{ message: 'selects 1 pod, which is not ready' }],
    })
    expect(judgeAt(3).problems[0]?.message).toMatch(/^selects 1 pod, which is not ready: container app of pod\/a /)
  })

  it('when its selector matches nothing', () => {
    expect(judge(createService(), []).problems).toMatchObject([
      { reason: 'selector-matches-nothing', class: 'slow', message: 'its selector app=web matches no pod' },
    ])
  })

  it('when no container has the port that it names', () => {
    const service = createService({ ports: [{ port: 80, targetPort: 'grpc' }] })
    expect(judge(service, [a]).problems).toMatchObject([
      { reason: 'no-endpoints', message: expect.stringContaining('a port named "grpc"') },
    ])
  })

  it('when its pods are not ready', () => {
    const crashing = webPod('a', podIs.dead(1, 50))
    expect(judge(createService(), [crashing]).problems).toMatchObject([
      {
        reason: 'no-endpoints',
        message: expect.stringContaining('selects 1 pod, which is not ready: container app of pod/a exited'),
      },
    ])
  })
})

describe('a Service is assessed again', () => {
  const isConcerned = (other: KubeObject, last?: ReturnType<typeof judge>) =>
    serviceRule.isConcernedBy?.(createService(), other, last)

  it('when one of its pods or slices, or a workload changes', () => {
    expect(isConcerned(a)).toBe(true)
    expect(isConcerned(make.deployment())).toBe(true)
    expect(isConcerned(make.slice([a]))).toBe(true)
  })

  it('not when a pod or slice of another Service changes', () => {
    const { metadata, ...slice } = make.slice([a])
    const labels = { 'kubernetes.io/service-name': 'api' }
    expect(isConcerned(webPod('other', podIs.ready(1), { labels: { app: 'api' } }))).toBe(false)
    expect(isConcerned({ ...slice, metadata: { ...metadata, labels } })).toBe(false)
  })

  it('when any pod appears, as long as its selector matches nothing', () => {
    expect(isConcerned(webPod('other', podIs.ready(1), { labels: { app: 'api' } }), judge(createService()))).toBe(true)
  })
})
