import type { Ingress, KubeObject, Service } from '../../cluster/objects.ts'
import type { Problem } from '../../reasons/reasons.ts'
import type { Reader } from '../reader.ts'
import type { Need } from '../reads.ts'
import { namespaceRequest } from '../selector.ts'
import { objectProblemFields } from '../status-problems.ts'

/* The backends of Ingresses and routes, and the addresses of load balancers. */

/** Reasons of Events that do not concern an address: of the controllers of endpoints, and of audits by Kyverno. */
const otherEvent = /Endpoint|^PolicyViolation$/

/** Why an object has no address: the message of the newest Warning about the object. */
export function missingAddressReport(object: KubeObject, reader: Reader): string | undefined {
  const last = reader.events(object, ({ type, reason }) => type === 'Warning' && !otherEvent.test(reason ?? '')).at(-1)
  return last && (last.message || last.reason)?.trim()
}

/** The addresses of a load balancer: IP addresses or host names. */
export function loadBalancerAddresses({ status }: Pick<Service | Ingress, 'status'>): readonly string[] {
  return (status?.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) => ip ?? hostname ?? [])
}

/** A Service in the namespace of an Ingress or route, and its port by name or number. */
export interface Backend {
  readonly service: string
  readonly port?: string | number | undefined
}

/** The missing Services and ports of an object's backends, as problems; undefined if Services cannot be read. */
export function backendProblems(
  object: KubeObject,
  backends: readonly Backend[],
  reader: Reader,
  need?: Need,
): readonly Problem<'backend-missing'>[] | undefined {
  const names = new Set(backends.map(({ service }) => service))
  const request = namespaceRequest('v1', 'Service', object)
  const services = reader.list(request, ({ metadata }) => names.has(metadata.name), need)
  if (reader.listState(request) !== 'complete') return undefined
  const missing = backends.flatMap((backend) => missingBackendPart(backend, services))
  const distinct = new Map(missing.map((detail) => [JSON.stringify(detail), detail])).values()
  const own = objectProblemFields(object, reader.history.firstSeenAt)
  return [...distinct].map((detail) => ({ ...own, reason: 'backend-missing', detail }))
}

/** The missing Service or port of a backend; empty if both exist. */
function missingBackendPart(
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
