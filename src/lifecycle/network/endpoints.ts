import type { RequestOf, WatchRequest } from '../../cluster/feed.ts'
import {
  cachePerObject,
  type EndpointSlice,
  type KubeObject,
  type Pod,
  type Service,
  type ServicePort,
} from '../../cluster/objects.ts'
import type { Reader } from '../reader.ts'
import type { Labelled, ServedPort } from '../rule.ts'
import { podRequest, podTemplateMetadata } from '../selector.ts'
import { portsOf } from '../workloads/pod-fields.ts'

/*
 * How a Service reaches pods: the pods that it selects, their endpoints, and the workloads with such pods.
 */

/** The watch of the EndpointSlices of a Service. */
export const endpointSliceRequest = cachePerObject(
  ({ metadata }: KubeObject): RequestOf<'EndpointSlice'> => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    namespace: metadata.namespace,
    labelSelector: `kubernetes.io/service-name=${metadata.name}`,
  }),
)

/** An endpoint of a Service, with the slice that contains it. */
export interface ServiceEndpoint {
  readonly endpoint: NonNullable<EndpointSlice['endpoints']>[number]
  readonly slice: EndpointSlice
  /** Whether the pod is ready. With publishNotReadyAddresses, `ready` is always true, and only `serving` shows this. */
  readonly isReady: boolean
}

/** A pod that a Service selects, with its endpoints: one for each address type and each set of ports. */
export interface SelectedPod {
  readonly pod: Pod
  readonly endpoints: readonly ServiceEndpoint[]
}

/** All endpoints of a Service, and the pods that its selector matches. */
export interface ReachedPods {
  readonly endpoints: readonly ServiceEndpoint[]
  readonly pods: readonly SelectedPod[]
}

/** The endpoints of a Service, and the pods that it selects. Asks for the watches of both. */
export function reachedPods(service: Service, { list }: Pick<Reader, 'list'>): ReachedPods {
  // The label names the Service: https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#ownership
  const isOfService = ({ metadata: { labels } }: KubeObject) =>
    labels?.['kubernetes.io/service-name'] === service.metadata.name
  const endpoints = list(endpointSliceRequest(service), isOfService).flatMap((slice) =>
    (slice.endpoints ?? []).map((endpoint): ServiceEndpoint => {
      const { ready, serving } = endpoint.conditions ?? {}
      return { endpoint, slice, isReady: ready !== false && serving !== false }
    }),
  )
  const ofPods = Map.groupBy(
    endpoints.filter(({ endpoint }) => endpoint.targetRef?.kind === 'Pod'),
    ({ endpoint }) => endpoint.targetRef?.name,
  )
  const pods = list(podRequest(service), (pod) => isPodSelected(service, pod)).map((pod) => {
    const { name, uid } = pod.metadata
    // The next pod of a StatefulSet has the same name, and an endpoint of the previous pod may still exist.
    const podEndpoints = (ofPods.get(name) ?? []).filter(({ endpoint }) => (endpoint.targetRef?.uid ?? uid) === uid)
    return { pod, endpoints: podEndpoints }
  })
  return { endpoints, pods }
}

/** Whether the selector of a Service matches the labels of a pod. An empty selector matches nothing. */
export function isPodSelected({ spec }: Service, { metadata }: Labelled): boolean {
  const { selector = {} } = spec ?? {}
  const wanted = Object.keys(selector)
  return wanted.length > 0 && wanted.every((key) => metadata.labels?.[key] === selector[key])
}

/** The watches of the workloads in a Service's namespace. They also show workloads without pods. */
export const workloadRequests = cachePerObject(({ metadata }: KubeObject): readonly WatchRequest[] =>
  ['Deployment', 'StatefulSet', 'ReplicaSet', 'DaemonSet'].map((kind) => ({
    apiVersion: 'apps/v1',
    kind,
    namespace: metadata.namespace,
  })),
)

/** The workloads in the namespace of a Service, without the ReplicaSets of Deployments. */
export function standaloneWorkloads(
  service: Service,
  { list }: Pick<Reader, 'list'>,
  where: (workload: KubeObject) => boolean = () => true,
): readonly KubeObject[] {
  const isStandalone = ({ metadata: { ownerReferences = [] } }: KubeObject) =>
    !ownerReferences.some(({ kind, controller }) => controller && kind === 'Deployment')
  return workloadRequests(service).flatMap((request) => list(request, (each) => isStandalone(each) && where(each)))
}

/** The workloads whose pod template a Service selects. */
export function selectedWorkloads(service: Service, reader: Pick<Reader, 'list'>): readonly KubeObject[] {
  return standaloneWorkloads(service, reader, (each) => isPodSelected(service, podTemplateMetadata(each)))
}

/*
 * The ports of pods. Ports of init containers do not count, because these containers serve no traffic.
 */

/** The fields of a Service's port that determine the port of a pod. */
type TargetPort = Pick<ServicePort, 'port' | 'targetPort' | 'protocol'>

/** The number of a Service's target port in a pod; undefined if no container declares its name (FindPort). */
export function targetPortIn(pod: Pod, { port, targetPort = port, protocol = 'TCP' }: TargetPort): number | undefined {
  if (typeof targetPort !== 'string') return targetPort
  return portsOf(pod).find((each) => each.name === targetPort && (each.protocol ?? 'TCP') === protocol)?.containerPort
}

/** Whether the target port is a name that no container of the pod declares. */
export function isPortMissing(pod: Pod, port: ServicePort): boolean {
  return typeof port.targetPort === 'string' && targetPortIn(pod, port) === undefined
}

/**
 * Whether the target port is a number that the containers do not declare, although they declare other ports. Traffic
 * may still arrive: declared ports are only information.
 */
export function isUndeclaredPort({ port, targetPort = port }: ServicePort, pods: readonly Pod[]): boolean {
  const declared = pods.flatMap(portsOf).map(({ containerPort }) => containerPort)
  return typeof targetPort === 'number' && declared.length > 0 && !declared.includes(targetPort)
}

/** The declared ports of a pod's containers: `8080 (http), 9090`. */
export function declaredPortsText(pod: Pod): string {
  return portsOf(pod)
    .map(({ name, containerPort }) => portText({ name, port: containerPort }))
    .join(', ')
}

/** A port with its name, if it has one: `8080 (http)`. */
export function portText({ name, port }: Pick<ServedPort, 'name' | 'port'>): string {
  return name ? `${port} (${name})` : String(port)
}
