import type { ApiResource } from '../../src/cluster/feed.ts'

function resource(group: string, version: string, kind: string, plural: string, more: Partial<ApiResource> = {}) {
  return { group, version, kind, plural, singular: kind.toLowerCase(), namespaced: true, status: true, ...more }
}

/** What a server with some custom resources serves, in the order of its discovery. */
export const resources: readonly ApiResource[] = [
  resource('', 'v1', 'Pod', 'pods', { shortNames: ['po'], categories: ['all'] }),
  resource('', 'v1', 'Pod', 'pods/status'),
  resource('', 'v1', 'Service', 'services', { shortNames: ['svc'], categories: ['all'] }),
  resource('', 'v1', 'Endpoints', 'endpoints', { shortNames: ['ep'] }),
  resource('', 'v1', 'Event', 'events', { shortNames: ['ev'] }),
  resource('', 'v1', 'ConfigMap', 'configmaps', { shortNames: ['cm'], status: false }),
  resource('', 'v1', 'Namespace', 'namespaces', { shortNames: ['ns'], namespaced: false }),
  resource('', 'v1', 'PersistentVolumeClaim', 'persistentvolumeclaims', { shortNames: ['pvc'] }),
  resource('apps', 'v1', 'Deployment', 'deployments', { shortNames: ['deploy'], categories: ['all'] }),
  resource('apps', 'v1', 'StatefulSet', 'statefulsets', { shortNames: ['sts'], categories: ['all'] }),
  resource('events.k8s.io', 'v1', 'Event', 'events', { shortNames: ['ev'] }),
  resource('authentication.k8s.io', 'v1', 'TokenReview', 'tokenreviews', { namespaced: false, verbs: ['create'] }),
  resource('autoscaling', 'v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', { shortNames: ['hpa'] }),
  resource('autoscaling', 'v1', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', { shortNames: ['hpa'] }),
  resource('batch', 'v1', 'Job', 'jobs'),
  resource('rbac.authorization.k8s.io', 'v1', 'ClusterRole', 'clusterroles', { namespaced: false, status: false }),
  resource('storage.k8s.io', 'v1', 'StorageClass', 'storageclasses', { shortNames: ['sc'], namespaced: false }),
  resource('cert-manager.io', 'v1', 'Certificate', 'certificates', { shortNames: ['cert', 'certs'] }),
  resource('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition', 'customresourcedefinitions', {
    namespaced: false,
  }),
  resource('serving.knative.dev', 'v1', 'Service', 'services', { shortNames: ['kservice', 'ksvc'] }),
  resource('odd.example.com', 'v1', 'OddThing', 'odds', { singular: 'odd', shortNames: ['deployment'] }),
]
