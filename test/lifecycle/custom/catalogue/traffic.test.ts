import {
  cilium,
  contour,
  envoyGateway,
  gatewayApiExperimental,
  gatewayApiPolicies,
  istioInstallation,
  istioNetworking,
  metallb,
  sailOperator,
  traefik,
} from '../../../../src/lifecycle/custom/catalogue/traffic.ts'
import { testEntries } from './cases.ts'

const metadata = { generation: 2 }
const object = (apiVersion: string, kind: string, status?: object) => ({
  apiVersion,
  kind,
  metadata,
  spec: {},
  ...(status === undefined ? {} : { status }),
})
const condition = (type: string, status: string, reason = type, message = '', observedGeneration = 2) => ({
  type,
  status,
  reason,
  message,
  observedGeneration,
})

const virtualService = (status?: object) => object('networking.istio.io/v1', 'VirtualService', status)

testEntries(istioNetworking, [
  [
    'a VirtualService without a status is ready, since Istio writes none by default',
    virtualService(),
    { verdict: 'ready' },
  ],
  [
    'a VirtualService whose distribution is reported progresses until all proxies have it',
    virtualService({
      observedGeneration: '2',
      conditions: [{ type: 'Reconciled', status: 'False', message: '1/2 proxies up to date.' }],
    }),
    { verdict: 'progressing', mentions: '1/2 proxies up to date' },
  ],
  [
    'a VirtualService whose older generation is distributed progresses',
    virtualService({ observedGeneration: '1', conditions: [{ type: 'Reconciled', status: 'True' }] }),
    { verdict: 'progressing' },
  ],
  [
    'a VirtualService with a message of an analyzer is ready',
    virtualService({ validationMessages: [{ type: { code: 'IST0101' }, level: 'ERROR' }] }),
    { verdict: 'ready' },
  ],
])

testEntries(istioInstallation, [
  [
    'a healthy IstioOperator is ready',
    object('install.istio.io/v1alpha1', 'IstioOperator', { status: 'HEALTHY' }),
    { verdict: 'ready' },
  ],
  [
    'an IstioOperator that updates its components progresses',
    object('install.istio.io/v1alpha1', 'IstioOperator', { status: 'RECONCILING' }),
    { verdict: 'progressing' },
  ],
])

const istio = (observedGeneration: number, ...conditions: readonly object[]) =>
  object('sailoperator.io/v1', 'Istio', { observedGeneration, state: 'Healthy', conditions })

testEntries(sailOperator, [
  [
    'an Istio that is reconciled and ready is ready',
    istio(2, condition('Reconciled', 'True'), condition('Ready', 'True')),
    { verdict: 'ready' },
  ],
  [
    'an Istio whose istiod is not ready progresses',
    istio(
      2,
      condition('Reconciled', 'True'),
      condition('Ready', 'False', 'IstiodNotReady', 'not all istiod pods are ready'),
    ),
    { verdict: 'progressing', mentions: 'not all istiod pods are ready' },
  ],
  [
    'an Istio whose older generation is ready progresses',
    istio(1, { type: 'Reconciled', status: 'True' }, { type: 'Ready', status: 'True' }),
    { verdict: 'progressing' },
  ],
])

const policy = (kind: string, ...ancestors: readonly (readonly object[])[]) =>
  object('gateway.envoyproxy.io/v1alpha1', kind, {
    ancestors: ancestors.map((conditions) => ({ ancestorRef: { name: 'web' }, conditions })),
  })
const accepted = condition('Accepted', 'True')

testEntries(envoyGateway, [
  [
    'a policy that all ancestors accept is ready, also when another one overrides it',
    policy('SecurityPolicy', [accepted], [accepted, condition('Overridden', 'True')]),
    { verdict: 'ready' },
  ],
  [
    'a policy that one ancestor does not accept progresses, and names the reason',
    policy(
      'SecurityPolicy',
      [accepted],
      [condition('Accepted', 'False', 'Invalid', 'secret shop/oidc does not exist')],
    ),
    { verdict: 'progressing', mentions: 'secret shop/oidc does not exist' },
  ],
  [
    'a policy whose older generation was accepted progresses',
    policy('BackendTrafficPolicy', [condition('Accepted', 'True', 'Accepted', '', 1)]),
    { verdict: 'progressing' },
  ],
  ['a policy without an ancestor progresses', policy('ClientTrafficPolicy'), { verdict: 'progressing' }],
  [
    'a patch that is accepted and not programmed progresses',
    policy('EnvoyPatchPolicy', [
      accepted,
      condition('Programmed', 'False', 'Invalid', 'unable to find the xds resource'),
    ]),
    { verdict: 'progressing', mentions: 'unable to find the xds resource' },
  ],
  [
    'an invalid Backend progresses, and names the reason',
    object('gateway.envoyproxy.io/v1alpha1', 'Backend', {
      conditions: [condition('Accepted', 'False', 'Invalid', 'hostname is invalid')],
    }),
    { verdict: 'progressing', mentions: 'hostname is invalid' },
  ],
  [
    'an EnvoyProxy is ready without a status',
    object('gateway.envoyproxy.io/v1alpha1', 'EnvoyProxy'),
    { verdict: 'ready' },
  ],
])

const gatewayClass = (status: string, reason: string, message = '') =>
  object('gateway.networking.k8s.io/v1', 'GatewayClass', {
    conditions: [condition('Accepted', status, reason, message)],
  })

testEntries(gatewayApiPolicies, [
  ['an accepted GatewayClass is ready', gatewayClass('True', 'Accepted'), { verdict: 'ready' }],
  [
    'a GatewayClass that no controller has accepted progresses',
    gatewayClass('Unknown', 'Pending', 'Waiting for controller'),
    { verdict: 'progressing', mentions: 'Waiting for controller' },
  ],
  [
    'a BackendTLSPolicy with unresolved references progresses',
    {
      ...policy('BackendTLSPolicy', [
        accepted,
        condition('ResolvedRefs', 'False', 'InvalidCACertificateRef', 'no ConfigMap ca'),
      ]),
      apiVersion: 'gateway.networking.k8s.io/v1',
    },
    { verdict: 'progressing', mentions: 'no ConfigMap ca' },
  ],
])

testEntries(gatewayApiExperimental, [
  [
    'a set of listeners that is not programmed progresses',
    object('gateway.networking.x-k8s.io/v1alpha1', 'XListenerSet', {
      conditions: [accepted, condition('Programmed', 'False', 'Invalid', 'a listener has no certificate')],
    }),
    { verdict: 'progressing', mentions: 'a listener has no certificate' },
  ],
])

const proxy = (currentStatus: string, description: string, conditions: readonly object[] = []) =>
  object('projectcontour.io/v1', 'HTTPProxy', { currentStatus, description, conditions })

testEntries(contour, [
  ['a valid HTTPProxy is ready', proxy('valid', 'Valid HTTPProxy', [condition('Valid', 'True')]), { verdict: 'ready' }],
  [
    'an HTTPProxy that Contour has not read progresses',
    proxy('NotReconciled', 'Waiting for controller'),
    { verdict: 'progressing', mentions: 'Waiting for controller' },
  ],
  [
    'an HTTPProxy whose Service does not exist progresses, since it may be created',
    proxy('invalid', 'At least one error present, see Errors for details', [
      {
        ...condition('Valid', 'False', 'ErrorPresent', 'At least one error present, see Errors for details'),
        errors: [{ type: 'ServiceError', status: 'True', message: 'service "shop/web" not found' }],
      },
    ]),
    { verdict: 'progressing', mentions: 'service "shop/web" not found' },
  ],
  [
    'an HTTPProxy whose older generation is valid progresses',
    proxy('valid', 'Valid HTTPProxy', [condition('Valid', 'True', 'Valid', '', 1)]),
    { verdict: 'progressing' },
  ],
])

const networkPolicy = (status: string, message: string) =>
  object('cilium.io/v2', 'CiliumNetworkPolicy', { conditions: [{ type: 'Valid', status, message }] })

testEntries(cilium, [
  ['a valid CiliumNetworkPolicy is ready', networkPolicy('True', 'Policy validation succeeded'), { verdict: 'ready' }],
  [
    'an invalid CiliumNetworkPolicy has failed',
    networkPolicy('False', 'rule cannot have NodeSelector'),
    { verdict: 'failed', mentions: 'rule cannot have NodeSelector' },
  ],
])

testEntries(metallb, [
  [
    'an L2Advertisement is ready without a status',
    object('metallb.io/v1beta1', 'L2Advertisement'),
    { verdict: 'ready' },
  ],
  [
    'an IPAddressPool is ready also when all of its addresses are assigned',
    object('metallb.io/v1beta1', 'IPAddressPool', { assignedIPv4: 3, availableIPv4: 0 }),
    { verdict: 'ready' },
  ],
])

testEntries(traefik, [
  ['an IngressRoute is ready when it exists', object('traefik.io/v1alpha1', 'IngressRoute'), { verdict: 'ready' }],
])
