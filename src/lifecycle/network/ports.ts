import type { Pod, ServicePort } from '../../cluster/objects.ts'
import type { ServedPort } from '../rule.ts'
import { portsOf } from '../workloads/pod-fields.ts'

/*
 * The ports of pods. Of a pod, those of its containers and sidecars count: init containers that end serve no traffic.
 */

/** The port of a Service as far as it names one of its pods. */
type TargetPort = Pick<ServicePort, 'port' | 'targetPort' | 'protocol'>

/**
 * The number of a Service's target port in a pod; undefined if no container declares this name and protocol (FindPort,
 * k8s.io/endpointslice).
 */
export function targetPortIn(pod: Pod, { port, targetPort = port, protocol = 'TCP' }: TargetPort): number | undefined {
  if (typeof targetPort !== 'string') return targetPort
  return portsOf(pod).find((each) => each.name === targetPort && (each.protocol ?? 'TCP') === protocol)?.containerPort
}

/** The numbers of a named target port in these pods. */
export function targetPortNumbers(pods: readonly Pod[], port: ServicePort): readonly number[] {
  return [...new Set(pods.flatMap((pod) => targetPortIn(pod, port) ?? []))]
}

export function isPortMissing(pod: Pod, port: ServicePort): boolean {
  return typeof port.targetPort === 'string' && targetPortIn(pod, port) === undefined
}

/**
 * Whether a target port is a number that the containers do not declare, although they declare others. Traffic may still
 * arrive: declared ports are only information.
 */
export function isUndeclaredPort({ port, targetPort = port }: ServicePort, pods: readonly Pod[]): boolean {
  const declared = pods.flatMap(portsOf).map(({ containerPort }) => containerPort)
  return typeof targetPort === 'number' && declared.length > 0 && !declared.includes(targetPort)
}

/** The declared ports of a pod's containers: `8080 (http), 9090`. */
export function declaredPorts(pod: Pod): string {
  return portsOf(pod)
    .map(({ name, containerPort }) => portText({ name, port: containerPort }))
    .join(', ')
}

/** A port with its name, if it has one: `8080 (http)`. */
export function portText({ name, port }: Pick<ServedPort, 'name' | 'port'>): string {
  return name ? `${port} (${name})` : String(port)
}
