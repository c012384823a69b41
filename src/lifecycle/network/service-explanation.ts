import type { RequestOf, WatchRequest } from '../../cluster/feed.ts'
import {
  type EndpointSlice,
  type KubeObject,
  oncePerObject,
  type Pod,
  type PodTemplate,
  type Service,
  type ServicePort,
  shortName,
} from '../../cluster/objects.ts'
import { describeFinding, type NetworkDetails, unmatchedSelector } from '../../reasons/network.ts'
import { type Check, type Problem, problemSentence } from '../../reasons/reasons.ts'
import { counted } from '../../reasons/wording.ts'
import type { Reader } from '../reader.ts'
import type { Labelled } from '../rule.ts'
import { podRequest, podsMetadata } from '../selector.ts'
import { ownProblem } from '../status-problems.ts'
import { condition, isReady, isReplaced } from '../workloads/pod-fields.ts'
import { examinePod } from '../workloads/pod-state.ts'
import { byImportance } from '../workloads/revision-pods.ts'
import { declaredPorts, isPortMissing, isUndeclaredPort, targetPortIn, targetPortNumbers } from './ports.ts'

/** The watch of the EndpointSlices of a Service. Always the same request for an object. */
export const endpointSliceRequest = oncePerObject(
  ({ metadata }: KubeObject): RequestOf<'EndpointSlice'> => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    namespace: metadata.namespace,
    labelSelector: `kubernetes.io/service-name=${metadata.name}`,
  }),
)

/** The watches of workloads that may be behind it, to find those scaled to zero. Always the same requests for an object. */
export const workloadRequests = oncePerObject(({ metadata }: KubeObject): readonly WatchRequest[] =>
  workloadKinds.map((kind) => ({ apiVersion: 'apps/v1', kind, namespace: metadata.namespace })),
)

/** A workload that creates pods: Deployment, StatefulSet, DaemonSet or ReplicaSet. */
export type Workload = KubeObject & { readonly spec?: { readonly replicas?: number; readonly template?: PodTemplate } }

const workloadKinds = ['Deployment', 'StatefulSet', 'ReplicaSet', 'DaemonSet'] as const

type Endpoint = NonNullable<EndpointSlice['endpoints']>[number]

/** An endpoint of a Service, with the slice that contains it. */
export interface ServiceEndpoint {
  readonly endpoint: Endpoint
  readonly slice: EndpointSlice
  /** `10.1.2.3:8080`; without a port if the slice has none. */
  readonly address: string
  /**
   * With publishNotReadyAddresses, every endpoint is marked as ready; then `serving` shows whether its pod is ready.
   */
  readonly isReady: boolean
}

/** A pod that a Service selects, and how the Service reaches it. */
export interface SelectedPod {
  readonly pod: Pod
  /** The endpoints of the pod: one for each type of address and each set of ports. */
  readonly endpoints: readonly ServiceEndpoint[]
  /** The address of its first endpoint; without an endpoint, the pod's IP address, if known. */
  readonly address: string
  /** Whether its EndpointSlice sends traffic to it; the pod itself may no longer be ready. */
  readonly getsTraffic: boolean
  /**
   * The present ports of the Service that a ready endpoint serves: a slice may be older than the last change of the Service.
   */
  readonly servedPorts: readonly ServicePort[]
  /** Named target ports that no container of the pod declares. */
  readonly missingPorts: readonly string[]
}

/** How a Service reaches pods. */
export interface ServiceExplanation {
  readonly slices: readonly EndpointSlice[]
  readonly endpoints: readonly ServiceEndpoint[]
  /** The pods that the selector matches. */
  readonly pods: readonly SelectedPod[]
}

/** Finds the endpoints of each pod that a Service selects. */
export function explainService(service: Service, { list }: Pick<Reader, 'list'>): ServiceExplanation {
  const slices = list(endpointSliceRequest(service), (each) => isSliceOf(service, each))
  const endpoints = slices.flatMap((slice) => (slice.endpoints ?? []).map((endpoint) => toEndpoint(endpoint, slice)))
  const ofPods = Map.groupBy(
    endpoints.filter(({ endpoint }) => endpoint.targetRef?.kind === 'Pod'),
    ({ endpoint }) => endpoint.targetRef?.name,
  )
  const pods = list(podRequest(service), (pod) => isSelectedBy(service, pod)).map((pod) => {
    const { name, uid } = pod.metadata
    // A StatefulSet's next pod has the same name; the previous pod's endpoint may still exist.
    const own = (ofPods.get(name) ?? []).filter(({ endpoint }) => (endpoint.targetRef?.uid ?? uid) === uid)
    return explainPod(service, pod, own)
  })
  return { slices, endpoints, pods }
}

function toEndpoint(endpoint: Endpoint, slice: EndpointSlice): ServiceEndpoint {
  const { conditions, addresses: [ip = ''] = [] } = endpoint
  const port = slice.ports?.[0]?.port
  return {
    endpoint,
    slice,
    address: ip === '' || port === undefined ? ip : `${ip.includes(':') ? `[${ip}]` : ip}:${port}`,
    isReady: conditions?.ready !== false && conditions?.serving !== false,
  }
}

function explainPod({ spec }: Service, pod: Pod, endpoints: readonly ServiceEndpoint[]): SelectedPod {
  const ports = spec?.ports ?? []
  const ready = endpoints.filter(({ isReady }) => isReady)
  return {
    pod,
    endpoints,
    address: endpoints[0]?.address || (pod.status?.podIP ?? ''),
    // An absent condition is true: https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#ready
    getsTraffic: endpoints.some(
      ({ endpoint, slice }) =>
        endpoint.conditions?.ready !== false && (ports.length === 0 || (slice.ports ?? []).length > 0),
    ),
    servedPorts: ports.filter((port) => ready.some(({ slice }) => carriesPort(slice, pod, port))),
    missingPorts: ports.filter((port) => isPortMissing(pod, port)).map(({ targetPort }) => String(targetPort)),
  }
}

function carriesPort(slice: EndpointSlice, pod: Pod, port: ServicePort): boolean {
  const wanted = targetPortIn(pod, port)
  return (
    wanted !== undefined &&
    (slice.ports ?? []).some((each) => (each.name ?? '') === (port.name ?? '') && each.port === wanted)
  )
}

/**
 * Why no endpoint is ready for some ports of a Service. Follows the order of
 * https://kubernetes.io/docs/tasks/debug/debug-application/debug-service/ (Service, selector, pods, ports, scheduling,
 * readiness, endpoints) to the first answer that explains the rest; each answer is a check.
 * @param unserved the ports without a ready endpoint
 * @param canReadPods whether pods may be read
 */
export function explainUnserved(
  service: Service,
  { pods: all, endpoints }: ServiceExplanation,
  unserved: readonly ServicePort[],
  canReadPods: boolean,
  reader: Reader,
): Problem {
  const checks: Check[] = [
    service.metadata.deletionTimestamp === undefined
      ? passed('the Service exists')
      : failed('the Service is being deleted'),
  ]
  const own = ownProblem(service, reader.history.firstSeenAt)
  const isPartial = unserved.length < (service.spec?.ports ?? []).length
  const end = (finding: NetworkDetails['no-endpoints']['finding'], cause?: Problem): Problem => {
    const ports = isPartial ? unserved.map(({ name, port }) => name ?? port ?? '') : undefined
    checks.push(failed(describeFinding(finding, cause && problemSentence(cause)).check))
    return { ...own, reason: 'no-endpoints', detail: { finding, ports }, checks, cause }
  }
  if (!canReadPods) {
    checks.push(remark('its pods cannot be read'))
    return end({ type: 'pods-unreadable', endpoints: endpoints.length })
  }

  const selector = formatLabels(service.spec?.selector ?? {})
  // If pods have different ports, those with an unserved port count.
  const able = all.filter(({ pod }) => unserved.some((port) => targetPortIn(pod, port) !== undefined))
  const selected = (isPartial && able.length > 0 ? able : all).map(({ pod }) => pod)
  const workloads = selected.length > 0 ? [] : standaloneWorkloads(service, reader)
  const behind = workloads.filter((workload) => isSelectedBy(service, podsMetadata(workload)))
  if (selected.length === 0 && behind.length === 0) {
    const detail = { selector, present: presentLabels(service, reader.list(podRequest(service)), workloads) }
    checks.push(failed(unmatchedSelector(detail)))
    return { ...own, reason: 'selector-matches-nothing', detail, checks }
  }
  if (selected.length === 0) {
    const names = behind.map((each) => ({ name: shortName(each), replicas: each.spec?.replicas }))
    checks.push(passed(`selector ${selector} matches the pods of ${names.map(({ name }) => name).join(', ')}`))
    return end({ type: 'no-pods', workloads: names })
  }
  checks.push(passed(`selector ${selector} matches ${counted(selected.length, 'pod')}`))

  const missing = unserved.find((port) => selected.every((pod) => isPortMissing(pod, port)))
  checks.push(...unserved.flatMap((port) => portCheck(port, selected)))
  if (missing !== undefined) {
    const declared = [...new Set(selected.map(declaredPorts))].filter((ports) => ports !== '')
    return end({ type: 'port-name-missing', port: String(missing.targetPort), declared })
  }

  const staying = selected.filter((pod) => !isReplaced(pod))
  const ended = selected.length - staying.length
  if (staying.length === 0) {
    const areAllDeleted = selected.every(({ metadata }) => metadata.deletionTimestamp !== undefined)
    return end({ type: 'pods-ended', pods: ended, areAllDeleted })
  }
  if (ended > 0) checks.push(remark(`${ended} of them failed or being deleted`))

  const states = staying.map((pod) => examinePod(pod, reader))
  // During an update the new pods count; the old ones only if there are no others.
  const newPods = staying.filter((pod) => reader.revisionOf(pod) !== 'other')
  const [cause] = states
    .flatMap(({ pod, problems }) => (newPods.length === 0 || newPods.includes(pod) ? problems : []))
    .sort(byImportance)
  const counts = { pods: staying.length, newPods: newPods.length }
  const unscheduled = states.filter(({ scheduled }) => !scheduled).length
  if (unscheduled === staying.length) return end({ type: 'pods-not-ready', ...counts, isNoneScheduled: true }, cause)
  checks.push(
    unscheduled === 0
      ? passed(`${staying.length === 1 ? 'it is' : 'all of them are'} scheduled to a node`)
      : failed(`${unscheduled} of them not scheduled to a node`),
  )
  const readyPods = newPods.filter(isReady).length
  if (readyPods > 0) return end({ type: 'endpoints-not-made', ...counts, readyPods, endpoints: endpoints.length })
  const [podMessage] = staying.flatMap((pod) => {
    const message = condition(pod, 'Ready')?.message
    return message ? [`pod/${pod.metadata.name} has ${message}`] : []
  })
  return end({ type: 'pods-not-ready', ...counts, isOldReady: staying.some(isReady), podMessage }, cause)
}

function passed(text: string): Check {
  return { state: 'passed', text }
}

function failed(text: string): Check {
  return { state: 'failed', text }
}

function remark(text: string): Check {
  return { state: 'remark', text }
}

/** The workloads of the namespace of a Service, without the ReplicaSets of Deployments. */
function standaloneWorkloads(
  service: Service,
  { list }: Pick<Reader, 'list'>,
  where: (workload: Workload) => boolean = () => true,
): readonly Workload[] {
  const isStandalone = ({ metadata: { ownerReferences = [] } }: Workload) =>
    !ownerReferences.some(({ kind, controller }) => controller && kind === 'Deployment')
  return workloadRequests(service).flatMap((request) => list(request, (each) => isStandalone(each) && where(each)))
}

/** The workloads whose pods a Service selects, even without pods. */
export function workloadsBehind(service: Service, reader: Pick<Reader, 'list'>): readonly Workload[] {
  return standaloneWorkloads(service, reader, (each) => isSelectedBy(service, podsMetadata(each)))
}

/** Whether a Service's selector selects a pod, by its labels; an empty selector selects nothing. */
export function isSelectedBy({ spec }: Service, { metadata }: Labelled): boolean {
  const { selector = {} } = spec ?? {}
  const wanted = Object.keys(selector)
  return wanted.length > 0 && wanted.every((key) => metadata.labels?.[key] === selector[key])
}

/** Labels as in kubectl: `app=web,tier=front`. */
export function formatLabels(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
}

/** Whether a slice is a Service's: https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#ownership */
function isSliceOf({ metadata }: Service, { metadata: { labels } }: KubeObject): boolean {
  return labels?.['kubernetes.io/service-name'] === metadata.name
}

/** The ports of the containers and sidecars; init containers that end serve no traffic. */
function portCheck(port: ServicePort, pods: readonly Pod[]): readonly Check[] {
  const { targetPort = port.port } = port
  if (typeof targetPort === 'string') {
    const numbers = targetPortNumbers(pods, port)
    return numbers.length === 0 ? [] : [passed(`port "${targetPort}" is ${numbers.join(' or ')} of the pods`)]
  }
  if (targetPort === undefined) return []
  if (isUndeclaredPort(port, pods)) {
    const declared = [...new Set(pods.map(declaredPorts))].join(' or ')
    const text = `port ${targetPort}: no container declares it (they declare ${declared}), which is no mistake if one listens there`
    return [remark(text)]
  }
  return pods.some((pod) => declaredPorts(pod) !== '') ? [passed(`port ${targetPort} is declared by the pods`)] : []
}

/** The labels of its selector's keys that pods and the pod templates of workloads have, the most common first. */
function presentLabels({ spec }: Service, pods: readonly Pod[], workloads: readonly Workload[]): readonly string[] {
  const keys = Object.keys(spec?.selector ?? {})
  const labels = [...pods.filter((pod) => !isReplaced(pod)), ...workloads.map(podsMetadata)]
    .map(({ metadata }) =>
      keys.flatMap((key) => (metadata.labels?.[key] === undefined ? [] : [[key, metadata.labels[key]]])),
    )
    .filter((present) => present.length > 0)
    .map((present) => formatLabels(Object.fromEntries(present)))
  const sets = Map.groupBy(labels, (each) => each)
  return [...sets].sort(([, a], [, b]) => b.length - a.length).map(([each]) => each)
}
