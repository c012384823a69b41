import type {
  Container,
  KubeObject,
  ObjectMeta,
  Pod,
  PodTemplate,
  Service,
  ServicePort,
} from '../../cluster/objects.ts'

/** What makes pods: a Deployment, StatefulSet or DaemonSet. */
export type Workload = KubeObject & { readonly spec?: { readonly replicas?: number; readonly template?: PodTemplate } }

/** Whether a Service's selector selects a pod, by its labels; an empty selector selects nothing. */
export function isSelectedBy(
  { spec }: Service,
  { metadata }: { readonly metadata: Pick<ObjectMeta, 'labels'> },
): boolean {
  const { selector = {} } = spec ?? {}
  const wanted = Object.keys(selector)
  return wanted.length > 0 && wanted.every((key) => metadata.labels?.[key] === selector[key])
}

/** The labels that a workload gives to its pods, as the metadata of one. */
export function podsMetadata({ spec }: Workload): { readonly metadata: Pick<ObjectMeta, 'labels'> } {
  return { metadata: spec?.template?.metadata ?? {} }
}

/** Labels as people write them: `app=web,tier=front`. */
export function labelWords(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
}

/** Whether an EndpointSlice is a Service's: https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#ownership */
export function isSliceOf({ metadata }: Service, { metadata: { labels } }: KubeObject): boolean {
  return labels?.['kubernetes.io/service-name'] === metadata.name
}

/**
 * The number of a Service's target port in a pod; undefined where no container declares a port of that name and protocol
 * (FindPort, k8s.io/endpointslice).
 */
export function targetPortIn(pod: Pod, { port, targetPort = port, protocol = 'TCP' }: ServicePort): number | undefined {
  if (typeof targetPort !== 'string') return targetPort
  return portsOf(pod).find((each) => each.name === targetPort && (each.protocol ?? 'TCP') === protocol)?.containerPort
}

/**
 * Whether a target port is a number that no container of these pods declares although they declare others. Traffic may
 * still arrive: declaring a port only informs.
 */
export function isUndeclared({ port, targetPort = port }: ServicePort, pods: readonly Pod[]): boolean {
  const declared = pods.flatMap(portsOf).map(({ containerPort }) => containerPort)
  return typeof targetPort === 'number' && declared.length > 0 && !declared.includes(targetPort)
}

/** What ports the containers of a pod declare: `8080 ("http"), 9090`. */
export function declaredPorts(pod: Pod): string {
  return portsOf(pod)
    .map(({ name, containerPort }) => `${containerPort}${name ? ` ("${name}")` : ''}`)
    .join(', ')
}

/** The ports of its containers and sidecars; an init container that ends serves nobody. */
function portsOf({ spec }: Pod): NonNullable<Container['ports']> {
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')
  return [...(spec?.containers ?? []), ...sidecars].flatMap(({ ports = [] }) => ports)
}
