import type { Ingress } from '../../src/cluster/objects.ts'
import { ingressRule } from '../../src/lifecycle/network/ingress.ts'
import { make } from '../kit/objects.ts'
import { read, requested } from '../kit/rule.ts'

/** An Ingress that has its address, whose backend is the Service `web`. */
function createIngress(spec: Ingress['spec'] = {}): Ingress {
  const service = { name: 'web', port: { number: 80 } }
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'web', namespace: 'shop', uid: 'web-uid' },
    spec: { rules: [{ http: { paths: [{ path: '/', backend: { service } }] } }], ...spec },
    status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } },
  }
}

it.each(['gce', 'gce-internal', 'gce-multi-cluster'])(
  'an Ingress does not warn about the class %s, which Google Cloud serves without an IngressClass',
  (ingressClassName) => {
    const ingress = createIngress({ ingressClassName })
    expect(read({ objects: [make.service()] }, ingressRule, ingress)).toMatchObject({ status: 'ready', warnings: [] })
  },
)

it('an Ingress reads only the IngressClasses and the TLS Secrets that it names', () => {
  const ingress = createIngress({ ingressClassName: 'nginx', tls: [{ secretName: 'web-tls' }, {}] })
  expect(requested(ingressRule, ingress).optional).toEqual([
    { apiVersion: 'networking.k8s.io/v1', kind: 'IngressClass' },
    { apiVersion: 'v1', kind: 'SecretName', namespace: 'shop', name: 'web-tls' },
  ])
  expect(requested(ingressRule, createIngress()).optional).toEqual([])
})
