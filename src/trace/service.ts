import type { EndpointSlice, Pod, Service } from '../cluster/objects.ts'
import { declaredPorts, isSelectedBy, isSliceOf, isUndeclared } from '../lifecycle/network/service-pods.ts'
import { age, colored, dim, emptyLine, heading, type Line, line, type Mark, mark, volatile } from './line.ts'
import { type PodSummary, summarizePod } from './pod.ts'
import { type Candidate, candidatesOf, foreignEndpoints, nearMisses, targetOf } from './service-pods.ts'
import type { TracedObject } from './trace.ts'

/** How a Service is reached, and which pods get its traffic, or why they do not. */
export function serviceLines(service: Service, traced: TracedObject): readonly Line[] {
  const { namespace } = service.metadata
  const pods = traced.context.list('Pod', namespace) as readonly Pod[]
  const slices = traced.context.list('EndpointSlice', namespace).filter((slice) => isSliceOf(service, slice))
  return [
    emptyLine,
    line(0, heading('reached at')),
    ...addressLines(service, pods),
    ...(isAlias(service) ? [] : endpointLines(service, pods, slices, traced)),
  ]
}

/** The pods that a Service selects now. */
export function selectedPods(service: Service, { context }: TracedObject): readonly Pod[] {
  const pods = context.list('Pod', service.metadata.namespace) as readonly Pod[]
  return pods.filter((pod) => isSelectedBy(service, pod))
}

/** `ClusterIP 10.0.0.12`, `headless`, `ExternalName`: what kind of Service it is. */
export function serviceType({ spec = {} }: Service): string {
  const { type = 'ClusterIP', clusterIP } = spec
  if (type === 'ExternalName') return 'ExternalName'
  if (clusterIP === 'None') return 'headless'
  return clusterIP ? `${type} ${clusterIP}` : type
}

function addressLines(service: Service, pods: readonly Pod[]): readonly Line[] {
  const { spec = {}, metadata, status } = service
  const name = `${metadata.name}.${metadata.namespace ?? 'default'}.svc`
  if (isAlias(service)) {
    return [line(2, mark('✓'), name, dim('→'), spec.externalName ?? '?', dim('(a DNS alias: no ports, no endpoints)'))]
  }
  const ports = spec.ports ?? []
  const selected = pods.filter((pod) => isSelectedBy(service, pod))
  const target = (port: (typeof ports)[number]) =>
    dim(`→ port ${targetOf(port, selected)} of ${spec.selector ? 'the pods' : 'the endpoints'}`)
  const isHeadless = spec.clusterIP === 'None'
  const all = ports.map((port) => {
    const label = `${port.port}/${port.protocol ?? 'TCP'}${port.name ? ` (${port.name})` : ''}`
    return { port, label, nodePort: (port as { nodePort?: number }).nodePort }
  })
  const external = (status?.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) => ip ?? hostname ?? [])
  return [
    ...all.map(({ port, label }) =>
      line(
        2,
        mark('·'),
        name,
        label,
        target(port),
        isUndeclared(port, selected) ? colored('· which none of their containers declares', '!') : undefined,
        isHeadless ? dim('· DNS names the pods themselves') : undefined,
      ),
    ),
    ...(ports.length === 0
      ? [line(2, mark('·'), name, dim(isHeadless ? 'DNS names the pods themselves' : 'no ports'))]
      : []),
    ...all.flatMap(({ port, label, nodePort }) =>
      nodePort === undefined
        ? []
        : [line(2, mark('·'), 'every node', `${nodePort}/${port.protocol ?? 'TCP'}`, dim(`→ ${label}`))],
    ),
    ...[...(spec.externalIPs ?? []), ...external].map((address) =>
      line(2, mark('✓'), 'outside', { text: address, style: 'bold' }, dim(all.map(({ label }) => label).join(', '))),
    ),
    ...(spec.type === 'LoadBalancer' && external.length === 0
      ? [line(2, mark('…'), 'outside', colored('no address yet: a load balancer controller has to assign one', '…'))]
      : []),
  ]
}

function endpointLines(
  service: Service,
  pods: readonly Pod[],
  slices: readonly EndpointSlice[],
  traced: TracedObject,
): readonly Line[] {
  const candidates = candidatesOf(service, pods, slices)
  const foreign = foreignEndpoints(slices)
  const width = {
    name: Math.max(0, ...candidates.map(({ pod }) => pod.metadata.name.length)),
    address: Math.max(0, ...candidates.map(({ address }) => address.length)),
  }
  return [
    emptyLine,
    line(0, heading('endpoints')),
    ...selectorLines(service, candidates, pods, slices),
    ...candidates.map((candidate) => candidateLine(candidate, width, traced)),
    ...foreign.map((address) => line(4, mark('✓'), address, dim('· no pod of this selector'))),
    ...traced.departed
      .filter(({ from }) => from === service.metadata.uid)
      .map(({ object, at, how }) =>
        line(
          4,
          mark('·'),
          dim(object.metadata.name),
          dim(how === 'deleted' ? 'deleted' : 'released: the selector no longer matches its labels'),
          volatile(`· ${age(traced.context.now - at)} ago`),
        ),
      ),
  ]
}

function selectorLines(
  service: Service,
  candidates: readonly Candidate[],
  pods: readonly Pod[],
  slices: readonly EndpointSlice[],
): readonly Line[] {
  const labels = Object.entries(service.spec?.selector ?? {}).map(([key, value]) => `${key}=${value}`)
  if (labels.length === 0) {
    const words = slices.length === 0 ? 'and nobody has made endpoints for it' : 'its endpoints are made by others'
    return [line(2, mark(slices.length === 0 ? '!' : '·'), 'no selector:', words)]
  }
  const selector: Parameters<typeof line>[1] = { text: labels.join(','), style: 'bold' }
  if (candidates.length === 0) {
    const all = pods.length === 1 ? 'the only pod' : `any of the ${pods.length} pods`
    const words = pods.length === 0 ? 'matches nothing: there is no pod' : `does not match ${all}`
    return [
      line(2, mark('✗'), 'selector', selector, colored(`${words} in ${service.metadata.namespace ?? 'default'}`, '✗')),
      ...(pods.length === 0 ? [] : nearMisses(service, pods).map((words) => line(4, dim(words)))),
    ]
  }
  const taking = candidates.filter(({ getsTraffic }) => getsTraffic).length
  const as: Mark = taking === 0 ? '✗' : taking < candidates.length ? '…' : '✓'
  const matched = candidates.length === 1 ? 'matches 1 pod,' : `matches ${candidates.length} pods,`
  return [line(2, mark(as), 'selector', selector, matched, colored(shareWords(taking, candidates.length), as))]
}

function shareWords(taking: number, all: number): string {
  if (all === 1) return taking === 1 ? 'which gets traffic' : 'which gets no traffic'
  if (taking === all) return 'all of them get traffic'
  return taking === 0 ? 'none of them gets traffic' : `${taking} of them ${taking === 1 ? 'gets' : 'get'} traffic`
}

function candidateLine(
  candidate: Candidate,
  width: { readonly name: number; readonly address: number },
  traced: TracedObject,
): Line {
  const { pod, address } = candidate
  const { mark: as, text, timeLeft } = describeCandidate(candidate, traced)
  return line(
    4,
    mark(as),
    { text: pod.metadata.name, width: width.name },
    width.address === 0 ? undefined : { text: address, width: width.address, style: 'dim' },
    colored(text, as),
    timeLeft === undefined ? undefined : volatile(`· ${timeLeft}`),
  )
}

/** Whether a pod gets traffic, and why not. */
function describeCandidate(
  { pod, endpoint, getsTraffic, missingPorts }: Candidate,
  { context }: TracedObject,
): PodSummary {
  const summary = summarizePod(pod, context)
  const isLeaving = pod.metadata.deletionTimestamp !== undefined
  if (getsTraffic) {
    return summary.mark === '✓'
      ? { mark: '✓', text: 'gets traffic' }
      : { ...summary, text: `still gets traffic: ${summary.text}` }
  }
  if (pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') return { ...summary, mark: '·' }
  if (missingPorts.length > 0 && !isLeaving) {
    const declared = declaredPorts(pod)
    const has = declared === '' ? 'they declare none' : `they declare ${declared}`
    return { mark: '✗', text: `gets none: no container declares a port named "${missingPorts[0]}" (${has})` }
  }
  if (isLeaving) return endpoint?.conditions?.serving ? { ...summary, text: 'terminating, serves to the end' } : summary
  if (summary.mark !== '✓') return { ...summary, text: `gets none yet: ${summary.text}` }
  return { mark: '…', text: 'ready, but there is no ready endpoint of it yet' }
}

function isAlias({ spec }: Service): boolean {
  return spec?.type === 'ExternalName'
}
