import { type CatalogueEntry, type CatalogueGroup, configuration, daemonSets, deployments, pods } from './entry.ts'
import { allOf, isFalse, isTrue, messageOf } from './expressions.ts'

/**
 * Istio writes the status of its configuration only if the distribution to the proxies is reported (Reconciled) or an
 * analyzer is enabled, both of which are off by default. Messages of an analyzer are advice: the configuration is used.
 */
function istioConfiguration(group: string): CatalogueGroup {
  const entry: CatalogueEntry = {
    kind: '*',
    documentation: 'https://istio.io/latest/docs/reference/config/config-status/',
    inProgress: isFalse('Reconciled'),
    current: 'true',
    cause: [messageOf('Reconciled')],
  }
  return { group, entries: [entry] }
}

export const istioNetworking = istioConfiguration('networking.istio.io')
export const istioSecurity = istioConfiguration('security.istio.io')
export const istioTelemetry = istioConfiguration('telemetry.istio.io')
export const istioExtensions = istioConfiguration('extensions.istio.io')

/** The installation by istio.io's operator, which retries after an error. The worst state of the components is the whole's. */
export const istioInstallation: CatalogueGroup = {
  group: 'install.istio.io',
  entries: [
    {
      kind: 'IstioOperator',
      documentation: 'https://istio.io/latest/docs/reference/config/istio.operator.v1alpha1/#InstallStatus-Status',
      current: "status.status == 'HEALTHY'",
      cause: ['status.message'],
      owns: [deployments, pods],
    },
  ],
}

/** The Sail operator. Reconciled: the objects of the active revision are written, with retries. Ready: its pods are ready. */
function sailEntry(kind: string, file: string): CatalogueEntry {
  return {
    kind,
    documentation: `https://github.com/istio-ecosystem/sail-operator/blob/main/api/v1/${file}`,
    current: allOf(isTrue('Reconciled'), isTrue('Ready')),
    cause: [messageOf('Reconciled'), messageOf('Ready'), messageOf('DependenciesHealthy')],
    owns: [{ apiVersion: 'sailoperator.io/v1', kind: 'IstioRevision' }, deployments, daemonSets, pods],
  }
}

export const sailOperator: CatalogueGroup = {
  group: 'sailoperator.io',
  entries: [
    sailEntry('Istio', 'istio_types.go'),
    sailEntry('IstioRevision', 'istiorevision_types.go'),
    sailEntry('IstioCNI', 'istiocni_types.go'),
    sailEntry('ZTunnel', 'ztunnel_types.go'),
  ],
}

/** A list of texts: why an ancestor does not accept a policy. */
const ancestorMessages =
  "status.ancestors.filter(a, a.conditions.exists(c, c.type == 'Accepted' && c.status != 'True'))" +
  ".map(a, a.conditions.filter(c, c.type == 'Accepted')[0].message)"

/**
 * A policy of the Gateway API (GEP-713). Each ancestor, mostly a Gateway, accepts it or not. What it names may be created
 * later, so that a policy that is not accepted may become so. Other conditions are information: Overridden, Warning.
 */
function policy(kind: string, documentation: string): CatalogueEntry {
  return {
    kind,
    documentation,
    current: allOf(
      'size(status.ancestors) > 0',
      "status.ancestors.all(a, a.conditions.exists(c, c.type == 'Accepted' && c.status == 'True'))",
      "status.ancestors.all(a, a.conditions.all(c, !(c.type in ['Programmed', 'ResolvedRefs']) || c.status == 'True'))",
    ),
    cause: [
      ancestorMessages,
      "status.ancestors.map(a, a.conditions.filter(c, c.status == 'False').map(c, c.message)[0])",
    ],
  }
}

const gatewayApi = 'https://gateway-api.sigs.k8s.io/reference/spec'

const listenerSet: CatalogueEntry = {
  kind: 'ListenerSet',
  documentation: 'https://gateway-api.sigs.k8s.io/geps/gep-1713/',
  current: allOf(isTrue('Accepted'), isTrue('Programmed')),
  cause: [messageOf('Accepted'), messageOf('Programmed')],
}

/** Kinds of the Gateway API beside Gateway and the routes, which have rules of their own. */
export const gatewayApiPolicies: CatalogueGroup = {
  group: 'gateway.networking.k8s.io',
  entries: [
    {
      kind: 'GatewayClass',
      documentation: `${gatewayApi}/#gatewayclassstatus`,
      current: isTrue('Accepted'),
      cause: [messageOf('Accepted')],
    },
    policy('BackendTLSPolicy', `${gatewayApi}/#backendtlspolicy`),
    listenerSet,
  ],
}

export const gatewayApiExperimental: CatalogueGroup = {
  group: 'gateway.networking.x-k8s.io',
  entries: [
    { ...listenerSet, kind: 'XListenerSet' },
    policy('XBackendTrafficPolicy', 'https://gateway-api.sigs.k8s.io/geps/gep-3388/'),
  ],
}

const envoyGatewaySource = 'https://github.com/envoyproxy/gateway/blob/main/api/v1alpha1'

/**
 * Envoy Gateway. The settings of proxies and filters are configuration, to which a GatewayClass, Gateway or route
 * refers.
 */
export const envoyGateway: CatalogueGroup = {
  group: 'gateway.envoyproxy.io',
  entries: [
    policy('BackendTrafficPolicy', `${envoyGatewaySource}/backendtrafficpolicy_types.go`),
    policy('ClientTrafficPolicy', `${envoyGatewaySource}/clienttrafficpolicy_types.go`),
    policy('SecurityPolicy', `${envoyGatewaySource}/securitypolicy_types.go`),
    policy('EnvoyExtensionPolicy', `${envoyGatewaySource}/envoyextensionypolicy_types.go`),
    policy('EnvoyPatchPolicy', `${envoyGatewaySource}/envoypatchpolicy_types.go`),
    {
      kind: 'Backend',
      documentation: `${envoyGatewaySource}/backend_types.go`,
      current: isTrue('Accepted'),
      cause: [messageOf('Accepted')],
    },
    configuration('EnvoyProxy', `${envoyGatewaySource}/envoyproxy_types.go`),
    configuration('HTTPRouteFilter', `${envoyGatewaySource}/httproutefilter_types.go`),
  ],
}

const contourSource = 'https://github.com/projectcontour/contour/blob/main'

/**
 * Contour recomputes Valid when a Service, Secret or other HTTPProxy changes, so that an invalid or orphaned HTTPProxy may
 * become valid. The API server writes `NotReconciled` into a new one.
 */
const httpProxy: CatalogueEntry = {
  kind: 'HTTPProxy',
  documentation: `${contourSource}/internal/status/proxystatus.go`,
  current: isTrue('Valid'),
  cause: [
    "status.conditions.filter(c, c.type == 'Valid' && c.status != 'True').map(c, c.errors[0].message)",
    'status.description',
  ],
}

export const contour: CatalogueGroup = {
  group: 'projectcontour.io',
  entries: [
    httpProxy,
    {
      kind: 'ExtensionService',
      documentation: `${contourSource}/internal/status/extensionstatus.go`,
      current: isTrue('Valid'),
      cause: [messageOf('Valid')],
    },
  ],
}

const ciliumSource = 'https://github.com/cilium/cilium/blob/main'

/** The operator of Cilium validates a policy; an invalid one is ignored until it changes. */
function ciliumPolicy(kind: string): CatalogueEntry {
  return {
    kind,
    documentation: `${ciliumSource}/operator/pkg/networkpolicy/validator.go`,
    failed: isFalse('Valid'),
    current: isTrue('Valid'),
    cause: [messageOf('Valid')],
  }
}

export const cilium: CatalogueGroup = {
  group: 'cilium.io',
  entries: [ciliumPolicy('CiliumNetworkPolicy'), ciliumPolicy('CiliumClusterwideNetworkPolicy')],
}

/** The kinds of MetalLB are configuration. An IPAddressPool counts its addresses in its status, others have none. */
export const metallb: CatalogueGroup = {
  group: 'metallb.io',
  entries: [configuration('*', 'https://github.com/metallb/metallb/tree/main/api/v1beta1')],
}

/** The kinds of Traefik are configuration, and have no status. */
function traefikGroup(group: string): CatalogueGroup {
  const documentation = 'https://doc.traefik.io/traefik/reference/dynamic-configuration/kubernetes-crd/'
  return { group, entries: [configuration('*', documentation)] }
}

export const traefik = traefikGroup('traefik.io')
/** The name before Traefik 3. */
export const traefikContainous = traefikGroup('traefik.containo.us')
