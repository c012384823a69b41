import {
  cilium,
  contour,
  envoyGateway,
  gatewayApiExperimental,
  gatewayApiPolicies,
  istioExtensions,
  istioInstallation,
  istioNetworking,
  istioSecurity,
  istioTelemetry,
  metallb,
  sailOperator,
  traefik,
  traefikContainous,
} from '../../../../src/lifecycle/custom/catalogue/traffic.ts'
import { type EntryCase, testEntries } from './cases.ts'

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

const istioCases: readonly EntryCase[] = [
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
]

for (const group of [istioNetworking, istioSecurity, istioTelemetry, istioExtensions]) testEntries(group, istioCases)

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

const sail = (kind: string, observedGeneration: number, ...conditions: readonly object[]) =>
  object('sailoperator.io/v1', kind, { observedGeneration, state: 'Healthy', conditions })

testEntries(
  sailOperator,
  ['Istio', 'IstioRevision', 'IstioCNI', 'ZTunnel'].flatMap((kind): readonly EntryCase[] => [
    [
      `a ${kind} that is reconciled and ready is ready`,
      sail(kind, 2, condition('Reconciled', 'True'), condition('Ready', 'True')),
      { verdict: 'ready' },
    ],
    [
      `a ${kind} whose pods are not ready progresses`,
      sail(kind, 2, condition('Reconciled', 'True'), condition('Ready', 'False', 'NotReady', 'not all pods are ready')),
      { verdict: 'progressing', mentions: 'not all pods are ready' },
    ],
    [
      `a ${kind} whose older generation is ready progresses`,
      sail(kind, 1, { type: 'Reconciled', status: 'True' }, { type: 'Ready', status: 'True' }),
      { verdict: 'progressing' },
    ],
  ]),
)

const policy = (kind: string, ...ancestors: readonly (readonly object[])[]) =>
  object('gateway.envoyproxy.io/v1alpha1', kind, {
    ancestors: ancestors.map((conditions) => ({ ancestorRef: { name: 'web' }, conditions })),
  })
const accepted = condition('Accepted', 'True')

/** Cases of a policy that its ancestors accept. */
const policyCases = (kinds: readonly string[]) =>
  kinds.flatMap((kind): readonly EntryCase[] => [
    [
      `a ${kind} that all ancestors accept is ready, also when another one overrides it`,
      policy(kind, [accepted], [accepted, condition('Overridden', 'True')]),
      { verdict: 'ready' },
    ],
    [
      `a ${kind} that one ancestor does not accept progresses, and names the reason`,
      policy(kind, [accepted], [condition('Accepted', 'False', 'Invalid', 'secret shop/oidc does not exist')]),
      { verdict: 'progressing', mentions: 'secret shop/oidc does not exist' },
    ],
    [
      `a ${kind} that is accepted and whose references are not resolved progresses`,
      policy(kind, [accepted, condition('ResolvedRefs', 'False', 'InvalidCACertificateRef', 'no ConfigMap ca')]),
      { verdict: 'progressing', mentions: 'no ConfigMap ca' },
    ],
    [
      `a ${kind} whose older generation was accepted progresses`,
      policy(kind, [condition('Accepted', 'True', 'Accepted', '', 1)]),
      { verdict: 'progressing' },
    ],
    [`a ${kind} without an ancestor progresses`, policy(kind), { verdict: 'progressing' }],
  ])

const backend = (status: string, message = '') =>
  object('gateway.envoyproxy.io/v1alpha1', 'Backend', {
    conditions: [condition('Accepted', status, 'Invalid', message)],
  })

testEntries(envoyGateway, [
  ...policyCases([
    'BackendTrafficPolicy',
    'ClientTrafficPolicy',
    'SecurityPolicy',
    'EnvoyExtensionPolicy',
    'EnvoyPatchPolicy',
  ]),
  [
    'a patch that is accepted and not programmed progresses',
    policy('EnvoyPatchPolicy', [
      accepted,
      condition('Programmed', 'False', 'Invalid', 'unable to find the xds resource'),
    ]),
    { verdict: 'progressing', mentions: 'unable to find the xds resource' },
  ],
  ['an accepted Backend is ready', backend('True'), { verdict: 'ready' }],
  [
    'an invalid Backend progresses, and names the reason',
    backend('False', 'hostname is invalid'),
    { verdict: 'progressing', mentions: 'hostname is invalid' },
  ],
  ...['EnvoyProxy', 'HTTPRouteFilter'].map(
    (kind): EntryCase => [
      `a ${kind} is ready without a status`,
      object('gateway.envoyproxy.io/v1alpha1', kind),
      { verdict: 'ready' },
    ],
  ),
])

/** Cases of a set of listeners. */
const listenerCases = (kind: string): readonly EntryCase[] => [
  [
    `a ${kind} that is programmed is ready`,
    object('gateway.networking.k8s.io/v1', kind, { conditions: [accepted, condition('Programmed', 'True')] }),
    { verdict: 'ready' },
  ],
  [
    `a ${kind} that is not programmed progresses`,
    object('gateway.networking.k8s.io/v1', kind, {
      conditions: [accepted, condition('Programmed', 'False', 'Invalid', 'a listener has no certificate')],
    }),
    { verdict: 'progressing', mentions: 'a listener has no certificate' },
  ],
]

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
  ...policyCases(['BackendTLSPolicy']),
  ...listenerCases('ListenerSet'),
])

testEntries(gatewayApiExperimental, [...policyCases(['XBackendTrafficPolicy']), ...listenerCases('XListenerSet')])

const proxy = (currentStatus: string, description: string, conditions: readonly object[] = []) =>
  object('projectcontour.io/v1', 'HTTPProxy', { currentStatus, description, conditions })

testEntries(contour, [
  [
    'a valid ExtensionService is ready',
    object('projectcontour.io/v1alpha1', 'ExtensionService', { conditions: [condition('Valid', 'True')] }),
    { verdict: 'ready' },
  ],
  [
    'an invalid ExtensionService progresses, since its Service may be created',
    object('projectcontour.io/v1alpha1', 'ExtensionService', {
      conditions: [condition('Valid', 'False', 'ErrorPresent', 'service "shop/auth" not found')],
    }),
    { verdict: 'progressing', mentions: 'service "shop/auth" not found' },
  ],
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

const networkPolicy = (kind: string, status: string, message: string) =>
  object('cilium.io/v2', kind, { conditions: [{ type: 'Valid', status, message }] })

testEntries(
  cilium,
  ['CiliumNetworkPolicy', 'CiliumClusterwideNetworkPolicy'].flatMap((kind): readonly EntryCase[] => [
    [`a valid ${kind} is ready`, networkPolicy(kind, 'True', 'Policy validation succeeded'), { verdict: 'ready' }],
    [
      `an invalid ${kind} has failed`,
      networkPolicy(kind, 'False', 'the port is not a number'),
      { verdict: 'failed', mentions: 'the port is not a number' },
    ],
  ]),
)

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

const ingressRoute: readonly EntryCase[] = [
  ['an IngressRoute is ready when it exists', object('traefik.io/v1alpha1', 'IngressRoute'), { verdict: 'ready' }],
]

for (const group of [traefik, traefikContainous]) testEntries(group, ingressRoute)
