import type { ApiResource } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'

const ALL_VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

type Traits = Partial<Pick<ApiResource, 'categories' | 'namespaced' | 'shortNames' | 'status' | 'verbs'>>

function resource(groupVersion: string, kind: string, plural: string, traits: Traits = {}): ApiResource {
  const [group, version] = splitGroupVersion(groupVersion)
  return {
    group,
    version,
    kind,
    plural,
    singular: kind.toLowerCase(),
    namespaced: true,
    status: false,
    verbs: ALL_VERBS,
    ...traits,
  }
}

/** `apps/v1` → `['apps', 'v1']`, `v1` → `['', 'v1']`. */
export function splitGroupVersion(apiVersion: string): [group: string, version: string] {
  const slash = apiVersion.indexOf('/')
  return slash === -1 ? ['', apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)]
}

/** Built-in kinds that matter for rollouts, as in the discovery of Kubernetes 1.34. */
export const BUILT_IN_RESOURCES: readonly ApiResource[] = [
  resource('v1', 'ConfigMap', 'configmaps', { shortNames: ['cm'] }),
  resource('v1', 'Endpoints', 'endpoints', { shortNames: ['ep'] }),
  resource('v1', 'Event', 'events', { shortNames: ['ev'] }),
  resource('v1', 'Namespace', 'namespaces', { namespaced: false, status: true, shortNames: ['ns'] }),
  resource('v1', 'Node', 'nodes', { namespaced: false, status: true, shortNames: ['no'] }),
  resource('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims', { status: true, shortNames: ['pvc'] }),
  resource('v1', 'PersistentVolume', 'persistentvolumes', { namespaced: false, status: true, shortNames: ['pv'] }),
  resource('v1', 'Pod', 'pods', { status: true, shortNames: ['po'], categories: ['all'] }),
  resource('v1', 'ReplicationController', 'replicationcontrollers', {
    status: true,
    shortNames: ['rc'],
    categories: ['all'],
  }),
  resource('v1', 'ResourceQuota', 'resourcequotas', { status: true, shortNames: ['quota'] }),
  resource('v1', 'Secret', 'secrets'),
  resource('v1', 'ServiceAccount', 'serviceaccounts', { shortNames: ['sa'] }),
  resource('v1', 'Service', 'services', { status: true, shortNames: ['svc'], categories: ['all'] }),
  resource('apiregistration.k8s.io/v1', 'APIService', 'apiservices', {
    namespaced: false,
    status: true,
    categories: ['api-extensions'],
  }),
  resource('apps/v1', 'ControllerRevision', 'controllerrevisions'),
  resource('apps/v1', 'DaemonSet', 'daemonsets', { status: true, shortNames: ['ds'], categories: ['all'] }),
  resource('apps/v1', 'Deployment', 'deployments', { status: true, shortNames: ['deploy'], categories: ['all'] }),
  resource('apps/v1', 'ReplicaSet', 'replicasets', { status: true, shortNames: ['rs'], categories: ['all'] }),
  resource('apps/v1', 'StatefulSet', 'statefulsets', { status: true, shortNames: ['sts'], categories: ['all'] }),
  resource('authorization.k8s.io/v1', 'SelfSubjectAccessReview', 'selfsubjectaccessreviews', {
    namespaced: false,
    verbs: ['create'],
  }),
  resource('authorization.k8s.io/v1', 'SelfSubjectRulesReview', 'selfsubjectrulesreviews', {
    namespaced: false,
    verbs: ['create'],
  }),
  resource('autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', {
    status: true,
    shortNames: ['hpa'],
    categories: ['all'],
  }),
  resource('autoscaling/v1', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', {
    status: true,
    shortNames: ['hpa'],
    categories: ['all'],
  }),
  resource('batch/v1', 'CronJob', 'cronjobs', { status: true, shortNames: ['cj'], categories: ['all'] }),
  resource('batch/v1', 'Job', 'jobs', { status: true, categories: ['all'] }),
  resource('networking.k8s.io/v1', 'IngressClass', 'ingressclasses', { namespaced: false }),
  resource('networking.k8s.io/v1', 'Ingress', 'ingresses', { status: true, shortNames: ['ing'] }),
  resource('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies', { shortNames: ['netpol'] }),
  resource('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets', { status: true, shortNames: ['pdb'] }),
  resource('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings'),
  resource('rbac.authorization.k8s.io/v1', 'Role', 'roles'),
  resource('storage.k8s.io/v1', 'StorageClass', 'storageclasses', { namespaced: false, shortNames: ['sc'] }),
  resource('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', {
    namespaced: false,
    status: true,
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
  }),
  resource('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices'),
]

const BUILT_IN_GROUPS = new Set(BUILT_IN_RESOURCES.map(({ group }) => group))

/** Whether the kind is built in, not defined by a CRD; some responses differ between the two. */
export function isBuiltIn({ group }: { group: string }): boolean {
  return BUILT_IN_GROUPS.has(group)
}

/** A namespaced resource with a status for an unknown kind, with the English plural. */
export function guessResource(apiVersion: string, kind: string): ApiResource {
  const singular = kind.toLowerCase()
  const plural = /(s|x|z|ch|sh)$/.test(singular)
    ? `${singular}es`
    : /[^aeiou]y$/.test(singular)
      ? `${singular.slice(0, -1)}ies`
      : `${singular}s`
  return resource(apiVersion, kind, plural, { status: true })
}

/** The object in this version of its resource. */
export function served(resource: ApiResource, object: KubeObject): KubeObject {
  const { apiVersion: _, kind: __, ...rest } = object
  return { kind: resource.kind, apiVersion: apiVersionOf(resource), ...rest }
}

/**
 * Whether a client asks for the metadata of objects alone
 * (https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches).
 */
export function asksForMetadata(accept: string): boolean {
  return accept.includes(';as=PartialObjectMetadata')
}

/** The metadata of an object, in lists and watches (asPartialObjectMetadata, apiserver `endpoints/handlers/response.go`). */
export function metadataOf({ metadata }: KubeObject): KubeObject {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata }
}

/** `apps/v1`, or `v1` in the core group. */
export function apiVersionOf({ group, version }: Pick<ApiResource, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`
}
