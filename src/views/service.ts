import { hasEnded, type Pod, type Service, type ServicePort } from '../cluster/objects.ts'
import { loadBalancerAddresses } from '../lifecycle/network/backend.ts'
import {
  declaredPortsText,
  isPodSelected,
  isPortMissing,
  isUndeclaredPort,
  type ReachedPods,
  reachedPods,
  type SelectedPod,
  type ServiceEndpoint,
  targetPortIn,
} from '../lifecycle/network/endpoints.ts'
import type { Reader } from '../lifecycle/reader.ts'
import { podRequest } from '../lifecycle/selector.ts'
import { counted, labelsText } from '../reasons/wording.ts'
import { colored, dim, type Line, line, type Mark, mark, type Span, titledLines, volatile } from './line.ts'
import { type PodSummary, summarizePod } from './pod.ts'

/* Renders a Service as lines of a view: its addresses, and which pods get its traffic. */

/** The addresses of a Service, and which pods get its traffic, or why not. */
export function serviceLines(service: Service, reader: Reader): readonly Line[] {
  const reached = reachedPods(service, reader)
  const pods = reached.pods.map(({ pod }) => pod)
  return [
    ...titledLines('reached at', addressLines(service, pods)),
    ...(isExternalName(service) ? [] : titledLines('endpoints', endpointLines(service, reached, reader))),
  ]
}

/** The pods that match the selector of a Service now. */
export function selectedPods(service: Service, reader: Reader): readonly Pod[] {
  const pods = reader.listKnown(podRequest(service))
  return pods.filter((pod) => isPodSelected(service, pod))
}

/** The type of a Service with its address: `ClusterIP 10.0.0.12`, `headless` or `ExternalName`. */
export function serviceType({ spec = {} }: Service): string {
  const { type = 'ClusterIP', clusterIP } = spec
  if (type === 'ExternalName') return 'ExternalName'
  if (clusterIP === 'None') return 'headless'
  return clusterIP ? `${type} ${clusterIP}` : type
}

function addressLines(service: Service, selected: readonly Pod[]): readonly Line[] {
  const { spec = {}, metadata } = service
  const name = `${metadata.name}.${metadata.namespace ?? 'default'}.svc`
  if (isExternalName(service)) {
    return [line(2, mark('✓'), name, dim('→'), spec.externalName ?? '?', dim('(a DNS alias: no ports, no endpoints)'))]
  }
  const ports = spec.ports ?? []
  const target = (port: ServicePort) =>
    dim(`→ port ${formatTargetPort(port, selected)} of ${spec.selector ? 'the pods' : 'the endpoints'}`)
  const all = ports.map((port) => {
    const label = `${port.port}/${port.protocol ?? 'TCP'}${port.name ? ` (${port.name})` : ''}`
    return { port, label, nodePort: port.nodePort }
  })
  return [
    ...all.map(({ port, label }) => {
      const isUndeclared = isUndeclaredPort(port, selected)
      const remark = isUndeclared ? colored('· which none of their containers declares', '!') : undefined
      return line(2, mark('·'), name, label, target(port), remark)
    }),
    ...(ports.length === 0 ? [line(2, mark('·'), name, dim('no ports'))] : []),
    ...all.flatMap(({ port, label, nodePort }) =>
      nodePort === undefined
        ? []
        : [line(2, mark('·'), 'every node', `${nodePort}/${port.protocol ?? 'TCP'}`, dim(`→ ${label}`))],
    ),
    ...[...(spec.externalIPs ?? []), ...loadBalancerAddresses(service)].map((address) =>
      line(2, mark('✓'), 'outside', { text: address, style: 'bold' }, dim(all.map(({ label }) => label).join(', '))),
    ),
  ]
}

/** The number of a target port. A named port has its number in the pods: `8080 (http)`. */
function formatTargetPort(port: ServicePort, pods: readonly Pod[]): string {
  const { targetPort = port.port } = port
  if (typeof targetPort !== 'string') return String(targetPort ?? '?')
  const numbers = new Set(pods.flatMap((pod) => targetPortIn(pod, port) ?? []))
  return numbers.size === 0 ? `"${targetPort}"` : `${[...numbers].join(' or ')} (${targetPort})`
}

function endpointLines(service: Service, reached: ReachedPods, reader: Reader): readonly Line[] {
  const { pods, endpoints } = reached
  const width = {
    name: Math.max(0, ...pods.map(({ pod }) => pod.metadata.name.length)),
    address: Math.max(0, ...pods.map((selected) => podAddress(selected).length)),
  }
  return [
    ...selectorLines(service, reached, reader.listKnown(podRequest(service)).length),
    ...pods.map((selected) => podLine(service, selected, width, reader)),
    ...endpoints
      .filter(({ endpoint }) => endpoint.targetRef?.kind !== 'Pod')
      .map((each) => line(4, mark('✓'), addressText(each), dim('· no pod of this selector'))),
  ]
}

/** The selector of a Service, and how many pods match and get traffic. */
function selectorLines(service: Service, { endpoints, pods }: ReachedPods, allPods: number): readonly Line[] {
  const labels = labelsText(service.spec?.selector ?? {})
  if (labels === '') {
    const text = endpoints.length === 0 ? 'and no endpoints were created for it' : 'its endpoints are created by others'
    return [line(2, mark(endpoints.length === 0 ? '!' : '·'), 'no selector:', text)]
  }
  const selector: Span = { text: labels, style: 'bold' }
  if (pods.length === 0) {
    const { namespace = 'default' } = service.metadata
    const text = `matches none of ${counted(allPods, 'pod')} in ${namespace}`
    return [line(2, mark('✗'), 'selector', selector, colored(text, '✗'))]
  }
  const served = pods.filter((selected) => hasTraffic(service, selected)).length
  const as: Mark = served === 0 ? '✗' : served < pods.length ? '…' : '✓'
  const share = `· traffic for ${served} of ${pods.length}`
  return [line(2, mark(as), 'selector', selector, `matches ${counted(pods.length, 'pod')}`, colored(share, as))]
}

/** The address of a pod's first endpoint. If it has none, its IP address, which may be empty. */
function podAddress({ pod, endpoints: [first] }: SelectedPod): string {
  return (first && addressText(first)) || (pod.status?.podIP ?? '')
}

/** The address of an endpoint: `10.1.2.3:8080`. If its slice has no port, only the IP address. */
function addressText({ endpoint, slice }: ServiceEndpoint): string {
  const [ip = ''] = endpoint.addresses ?? []
  const port = slice.ports?.[0]?.port
  return ip === '' || port === undefined ? ip : `${ip.includes(':') ? `[${ip}]` : ip}:${port}`
}

/** Whether an EndpointSlice sends traffic to a pod. The pod itself may no longer be ready. */
function hasTraffic({ spec }: Service, { endpoints }: SelectedPod): boolean {
  const hasPorts = (spec?.ports ?? []).length > 0
  // A missing condition means ready: https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#ready
  return endpoints.some(
    ({ endpoint, slice }) => endpoint.conditions?.ready !== false && (!hasPorts || (slice.ports ?? []).length > 0),
  )
}

function podLine(
  service: Service,
  selected: SelectedPod,
  width: { readonly name: number; readonly address: number },
  reader: Reader,
): Line {
  const { pod } = selected
  const address = podAddress(selected)
  const { mark: as, text, timeLeft } = podTraffic(service, selected, reader)
  return line(
    4,
    mark(as),
    { text: pod.metadata.name, width: width.name },
    width.address === 0 ? undefined : { text: address, width: width.address, style: 'dim' },
    colored(text, as),
    timeLeft === undefined ? undefined : volatile(`· ${timeLeft}`),
  )
}

/** Whether a pod gets the traffic of the Service that selects it, otherwise why not. */
function podTraffic(service: Service, selected: SelectedPod, reader: Reader): PodSummary {
  const { pod, endpoints } = selected
  const state = summarizePod(pod, reader)
  const isTerminating = pod.metadata.deletionTimestamp !== undefined
  if (hasTraffic(service, selected)) {
    return state.mark === '✓'
      ? { mark: '✓', text: 'gets traffic' }
      : { ...state, text: `still gets traffic: ${state.text}` }
  }
  if (hasEnded(pod)) return { ...state, mark: '·' }
  const missingPort = service.spec?.ports?.find((port) => isPortMissing(pod, port))?.targetPort
  if (missingPort !== undefined && !isTerminating) {
    const declared = declaredPortsText(pod) || 'none'
    return {
      mark: '✗',
      text: `gets none: no container declares a port named "${missingPort}" (they declare ${declared})`,
    }
  }
  const isServing = endpoints.some(({ endpoint }) => endpoint.conditions?.serving)
  if (isTerminating) return isServing ? { ...state, text: 'terminating, serves to the end' } : state
  if (state.mark !== '✓') return { ...state, text: `gets none yet: ${state.text}` }
  return { mark: '…', text: 'ready, but there is no ready endpoint of it yet' }
}

function isExternalName({ spec }: Service): boolean {
  return spec?.type === 'ExternalName'
}
