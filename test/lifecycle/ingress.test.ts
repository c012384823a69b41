import type { Ingress, KubeObject } from '../../src/cluster/objects.ts'
import { ingressRule } from '../../src/lifecycle/network/ingress.ts'
import { iso, make } from '../kit/objects.ts'
import { type ContextOptions, read } from '../kit/rule.ts'

function createIngress(backends: readonly { name: string }[], addresses: readonly object[] = []): Ingress {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'web', namespace: 'shop', uid: 'web-uid' },
    spec: { rules: [{ http: { paths: backends.map((service) => ({ path: '/', backend: { service } })) } }] },
    status: { loadBalancer: { ingress: [...addresses] } },
  }
}

function service(name: string, spec: object = { ports: [{ name: 'http', port: 80 }] }): KubeObject {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'shop', uid: `${name}-uid` }, spec }
}

function judge(ingress: Ingress, objects: readonly KubeObject[], options: ContextOptions = {}) {
  return read({ ...options, objects }, ingressRule, ingress)
}

const byNumber = { name: 'api', port: { number: 80 } }

describe('an Ingress', () => {
  it('is ready when its backends exist, and reports a missing address', () => {
    expect(judge(createIngress([byNumber]), [service('api')])).toMatchObject({
      status: 'ready',
      message: 'its backend exists',
      notes: ['it has no address yet'],
    })
  })

  it('reports why it has no address, as the controller of its load balancer does', () => {
    const ingress = createIngress([byNumber])
    const message = "Failed build model due to couldn't auto-discover subnets"
    const event = make.event(ingress, { type: 'Warning', reason: 'FailedBuildModel', message })
    expect(judge(ingress, [service('api'), event])).toMatchObject({
      status: 'ready',
      notes: [`it has no address yet: ${message}`],
    })
  })

  it('reports its address', () => {
    const ingress = createIngress([byNumber], [{ hostname: 'lb.example.com' }])
    expect(judge(ingress, [service('api')])).toMatchObject({
      message: 'its backend exists, address lb.example.com',
      notes: [],
    })
  })

  it.each([
    ['service that is not there', byNumber, [], 'its backend service/api does not exist'],
    [
      'port that is not there',
      { name: 'api', port: { number: 81 } },
      [service('api')],
      'its backend service/api has no port 81',
    ],
    [
      'port of no such name',
      { name: 'api', port: { name: 'grpc' } },
      [service('api')],
      'its backend service/api has no port named "grpc"',
    ],
  ])('waits for a %s', (_, backend, objects, message) => {
    expect(judge(createIngress([backend]), objects)).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'backend-missing', class: 'slow', message }],
    })
  })

  it('waits for another Service if the Service of its backend is being deleted', () => {
    const leaving = service('api')
    leaving.metadata.deletionTimestamp = iso(1)
    expect(judge(createIngress([byNumber]), [leaving])).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'backend-missing', message: 'its backend service/api is being deleted' }],
    })
  })

  it('has no Services to wait for if its only backend is a resource', () => {
    const defaultBackend = { resource: { apiGroup: 'example.com', kind: 'Bucket', name: 'assets' } }
    const ingress = { ...createIngress([]), spec: { defaultBackend } } as Ingress
    expect(judge(ingress, [])).toMatchObject({
      status: 'ready',
      message: 'names no Service as its backend',
    })
  })

  it('waits for its default backend too', () => {
    const ingress = createIngress([byNumber])
    const defaultBackend = { service: { name: 'fallback', port: { number: 80 } } }
    const both: Ingress = { ...ingress, spec: { ...ingress.spec, defaultBackend } }
    expect(judge(both, [service('api')]).problems).toMatchObject([
      { message: 'its backend service/fallback does not exist' },
    ])
    expect(judge(both, [service('api'), service('fallback')])).toMatchObject({ message: 'its 2 backends exist' })
  })

  it.each([
    ['by the name of a port', { name: 'api', port: { name: 'http' } }, service('api')],
    ['outside the cluster, whatever the port', byNumber, service('api', { type: 'ExternalName' })],
  ])('finds a backend %s', (_, backend, found) => {
    expect(judge(createIngress([backend]), [found]).status).toBe('ready')
  })

  it('reports each missing backend once', () => {
    expect(judge(createIngress([byNumber, byNumber]), []).problems).toHaveLength(1)
  })

  it('is judged by its address if Services cannot be read', () => {
    const unseen = { unseen: ['Service'] }
    expect(judge(createIngress([byNumber]), [], unseen).problems).toMatchObject([{ reason: 'address-pending' }])
    expect(judge(createIngress([byNumber], [{ ip: '192.0.2.1' }]), [], unseen)).toMatchObject({
      status: 'ready',
      message: 'its backends cannot be read, address 192.0.2.1',
    })
  })
})

describe('an Ingress warns of', () => {
  const named = (kind: string, name: string): KubeObject => ({
    apiVersion: kind === 'IngressClass' ? 'networking.k8s.io/v1' : 'v1',
    kind,
    metadata: { name, uid: name, ...(kind === 'IngressClass' ? {} : { namespace: 'shop' }) },
  })
  const withSpec = (spec: Ingress['spec']): Ingress => {
    const ingress = createIngress([byNumber], [{ ip: '192.0.2.1' }])
    return { ...ingress, spec: { ...ingress.spec, ...spec } }
  }
  const warningsOf = (spec: Ingress['spec'], others: readonly KubeObject[], options: ContextOptions = {}) => {
    const judged = judge(withSpec(spec), [service('api'), ...others], options)
    expect(judged.status).toBe('ready')
    return judged.warnings
  }

  it('a class without an IngressClass, which no controller may serve', () => {
    const spec = { ingressClassName: 'nginy' }
    expect(warningsOf(spec, [named('IngressClass', 'nginx')])).toEqual([
      'no IngressClass is named nginy: most controllers ignore it',
    ])
    expect(warningsOf(spec, [named('IngressClass', 'nginy')])).toEqual([])
  })

  it('no class that Google Cloud serves without an IngressClass', () => {
    for (const ingressClassName of ['gce', 'gce-internal', 'gce-multi-cluster'])
      expect(warningsOf({ ingressClassName }, [])).toEqual([])
  })

  it('each missing TLS Secret, once', () => {
    const tls = [{ secretName: 'web-tls' }, { secretName: 'web-tls' }, { secretName: 'api-tls' }, {}]
    expect(warningsOf({ tls }, [named('SecretName', 'api-tls')])).toEqual(['its TLS Secret web-tls does not exist'])
  })

  it('nothing that it may not read', () => {
    const spec = { ingressClassName: 'nginy', tls: [{ secretName: 'web-tls' }] }
    expect(warningsOf(spec, [], { unseen: ['IngressClass', 'SecretName'] })).toEqual([])
  })

  it('what its watches show, and reads nothing else', () => {
    const ingress = withSpec({ ingressClassName: 'nginx', tls: [{ secretName: 'web-tls' }, {}] })
    expect(ingressRule.optionalRelatives?.(ingress)).toEqual([
      { apiVersion: 'networking.k8s.io/v1', kind: 'IngressClass' },
      { apiVersion: 'v1', kind: 'SecretName', namespace: 'shop', name: 'web-tls' },
    ])
    expect(ingressRule.optionalRelatives?.(createIngress([byNumber]))).toEqual([])
  })
})
