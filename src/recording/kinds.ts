import type { ApiResource } from '../cluster/feed.ts'
import { groupOf } from '../cluster/store.ts'
import { pluralOf } from '../plan/kinds.ts'

function resource(apiVersion: string, kind: string, plural: string, ...shortNames: string[]): ApiResource {
  return { ...namesOf(apiVersion, kind), plural, shortNames, namespaced: true, status: true }
}

function clusterWide(apiVersion: string, kind: string, plural: string, ...shortNames: string[]): ApiResource {
  return { ...resource(apiVersion, kind, plural, ...shortNames), namespaced: false }
}

function namesOf(apiVersion: string, kind: string) {
  const group = groupOf(apiVersion)
  const version = group === '' ? apiVersion : apiVersion.slice(group.length + 1)
  return { group, version, kind, singular: kind.toLowerCase() }
}

/**
 * The common kinds that are gated or looked at, with their short names, for recordings that do not say what their cluster
 * served (Kubernetes 1.34 and Gateway API 1.4, `kubectl api-resources`).
 */
export const commonKinds: readonly ApiResource[] = [
  resource('v1', 'ConfigMap', 'configmaps', 'cm'),
  resource('v1', 'Event', 'events', 'ev'),
  clusterWide('v1', 'Namespace', 'namespaces', 'ns'),
  resource('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims', 'pvc'),
  resource('v1', 'Pod', 'pods', 'po'),
  resource('v1', 'ReplicationController', 'replicationcontrollers', 'rc'),
  resource('v1', 'Secret', 'secrets'),
  resource('v1', 'Service', 'services', 'svc'),
  resource('v1', 'ServiceAccount', 'serviceaccounts', 'sa'),
  resource('apps/v1', 'ControllerRevision', 'controllerrevisions'),
  resource('apps/v1', 'DaemonSet', 'daemonsets', 'ds'),
  resource('apps/v1', 'Deployment', 'deployments', 'deploy'),
  resource('apps/v1', 'ReplicaSet', 'replicasets', 'rs'),
  resource('apps/v1', 'StatefulSet', 'statefulsets', 'sts'),
  resource('autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', 'hpa'),
  resource('batch/v1', 'CronJob', 'cronjobs', 'cj'),
  resource('batch/v1', 'Job', 'jobs'),
  resource('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices'),
  resource('networking.k8s.io/v1', 'Ingress', 'ingresses', 'ing'),
  resource('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies', 'netpol'),
  resource('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets', 'pdb'),
  resource('rbac.authorization.k8s.io/v1', 'Role', 'roles'),
  resource('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings'),
  clusterWide('rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles'),
  clusterWide('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'clusterrolebindings'),
  resource('gateway.networking.k8s.io/v1', 'Gateway', 'gateways', 'gtw'),
  resource('gateway.networking.k8s.io/v1', 'HTTPRoute', 'httproutes'),
  clusterWide('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', 'crd', 'crds'),
  clusterWide('apiregistration.k8s.io/v1', 'APIService', 'apiservices'),
]

/** A kind of which a recording knows nothing but its name. */
export function guessKind(apiVersion: string, kind: string, namespaced: boolean): ApiResource {
  const names = namesOf(apiVersion, kind)
  return { ...names, plural: pluralOf(names.singular), namespaced, status: true }
}
