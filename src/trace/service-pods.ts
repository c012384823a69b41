import type { EndpointSlice, Pod, Service, ServicePort } from '../cluster/objects.ts'
import { isSelectedBy, targetPortIn } from '../lifecycle/network/service-pods.ts'

/** Where one pod stands on its way into a Service. */
export interface Candidate {
  readonly pod: Pod
  /** `10.1.2.3:8080`, of the endpoint if there is one, else of the pod as far as it is known. */
  readonly address: string
  readonly endpoint?: Endpoint
  /** The Service's traffic goes to it, by its EndpointSlice. */
  readonly getsTraffic: boolean
  /** Target ports that are named, and that no container of this pod declares. */
  readonly missingPorts: readonly string[]
}

type Endpoint = NonNullable<EndpointSlice['endpoints']>[number]

/** The pods that a Service selects, with the endpoint that was made of each, if any. */
export function candidatesOf(
  service: Service,
  pods: readonly Pod[],
  slices: readonly EndpointSlice[],
): readonly Candidate[] {
  return pods
    .filter((pod) => isSelectedBy(service, pod))
    .map((pod) => {
      const found = endpointOf(pod, slices)
      const ip = found?.endpoint.addresses?.[0] ?? (pod.status as { podIP?: string } | undefined)?.podIP ?? ''
      const port = found?.slice.ports?.[0]?.port
      return {
        pod,
        address: ip !== '' && port !== undefined ? `${bracketed(ip)}:${port}` : ip,
        ...(found === undefined ? {} : { endpoint: found.endpoint }),
        getsTraffic: found !== undefined && carriesTraffic(service, found),
        missingPorts: namedPorts(service).flatMap((port) =>
          targetPortIn(pod, port) === undefined ? String(port.targetPort) : [],
        ),
      }
    })
}

/** Endpoints that stand for no pod: made by hand, or by another controller. */
export function foreignEndpoints(slices: readonly EndpointSlice[]): readonly string[] {
  return slices.flatMap((slice) =>
    (slice.endpoints ?? [])
      .filter(({ targetRef }) => targetRef?.kind !== 'Pod')
      .flatMap(({ addresses = [] }) => addresses)
      .map((address) => {
        const port = slice.ports?.[0]?.port
        return port === undefined ? address : `${bracketed(address)}:${port}`
      }),
  )
}

/** What the pods around a selector that matches nothing carry instead: `app=web2 (3 pods)`, for each key asked for. */
export function nearMisses({ spec }: Service, pods: readonly Pod[]): readonly string[] {
  const most = 3
  return Object.keys(spec?.selector ?? {}).map((key) => {
    const values = Map.groupBy(pods, ({ metadata }) => metadata.labels?.[key])
    const named = [...values].filter(([value]) => value !== undefined).sort(([, a], [, b]) => b.length - a.length)
    if (named.length === 0) return `no pod has a label ${key}`
    const shown = named.slice(0, most).map(([value, { length }]) => `${key}=${value} (${length})`)
    return `pods have ${shown.join(', ')}${named.length > most ? ' …' : ''}`
  })
}

/** A target port as it is written, with the number that a pod gives to its name. */
export function targetOf(servicePort: ServicePort, pods: readonly Pod[]): string {
  const { targetPort = servicePort.port } = servicePort
  if (typeof targetPort !== 'string') return String(targetPort ?? '?')
  const numbers = new Set(pods.flatMap((pod) => targetPortIn(pod, servicePort) ?? []))
  return numbers.size === 0 ? `"${targetPort}"` : `${[...numbers].join(' or ')} ("${targetPort}")`
}

/**
 * A missing condition counts as true (https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#ready). A
 * pod without the named target ports stands in a slice without ports.
 */
function carriesTraffic({ spec }: Service, { slice, endpoint }: { slice: EndpointSlice; endpoint: Endpoint }): boolean {
  const needsPorts = (spec?.ports ?? []).length > 0
  return endpoint.conditions?.ready !== false && (!needsPorts || (slice.ports ?? []).length > 0)
}

function endpointOf(
  { metadata }: Pod,
  slices: readonly EndpointSlice[],
): { slice: EndpointSlice; endpoint: Endpoint } | undefined {
  for (const slice of slices) {
    const endpoint = slice.endpoints?.find(
      ({ targetRef }) =>
        targetRef?.kind === 'Pod' &&
        (targetRef.uid === undefined ? targetRef.name === metadata.name : targetRef.uid === metadata.uid),
    )
    if (endpoint !== undefined) return { slice, endpoint }
  }
  return undefined
}

function namedPorts({ spec }: Service): readonly ServicePort[] {
  return (spec?.ports ?? []).filter(({ targetPort }) => typeof targetPort === 'string')
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address
}
