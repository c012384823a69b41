import type { RequestOf } from '../../cluster/feed.ts'
import type { Ingress, KubeObject, Service } from '../../cluster/objects.ts'
import type { Problem } from '../../reasons/reasons.ts'
import type { Reader } from '../reader.ts'
import { namespaceRequest } from '../selector.ts'

/** Events of the controllers of endpoints are about the pods of a Service, not about its address. */
const endpointEvent = /Endpoint/

/** Why a controller assigns no address to an object: the message of its newest Warning about the object. */
export function addressReport(object: KubeObject, reader: Reader): string | undefined {
  const last = reader
    .events(object)
    .findLast(({ type, reason = '' }) => type === 'Warning' && !endpointEvent.test(reason))
  return last && (last.message || last.reason)?.trim()
}

/** The addresses of a load balancer, IP addresses or names. */
export function addressesOf({ status }: Pick<Service | Ingress, 'status'>): readonly string[] {
  return (status?.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) => ip ?? hostname ?? [])
}

/** A Service in the namespace of an Ingress or route, and its port by name or number. */
export interface Backend {
  readonly service: string
  readonly port?: string | number | undefined
}

/** The watch of all Services in the namespace of an object. */
export function servicesRequest(object: KubeObject): RequestOf<'Service'> {
  return namespaceRequest('v1', 'Service', object)
}

/** What is missing of the backends of an object, each part once. Call it only if its Services can be read. */
export function missingBackends(
  object: KubeObject,
  backends: readonly Backend[],
  reader: Reader,
): readonly Problem<'backend-missing'>['detail'][] {
  const names = new Set(backends.map(({ service }) => service))
  const services = reader.known(servicesRequest(object), ({ metadata }) => names.has(metadata.name))
  const missing = backends.flatMap((backend) => missingPart(backend, services))
  return [...new Map(missing.map((detail) => [JSON.stringify(detail), detail])).values()]
}

/** The missing Service or port of a backend; empty if both exist. */
function missingPart(
  { service, port }: Backend,
  services: readonly Service[],
): readonly Problem<'backend-missing'>['detail'][] {
  const found = services.find(({ metadata }) => metadata.name === service)
  if (found === undefined) return [{ service, state: 'missing' }]
  if (found.metadata.deletionTimestamp !== undefined) return [{ service, state: 'terminating' }]
  if (found.spec?.type === 'ExternalName' || port === undefined) return []
  const hasPort = (found.spec?.ports ?? []).some((each) => (typeof port === 'number' ? each.port : each.name) === port)
  return hasPort ? [] : [{ service, state: 'port-missing', port }]
}
