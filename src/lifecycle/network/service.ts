import type { WatchRequest } from '../../cluster/feed.ts'
import {
  controllerUidOf,
  desiredReplicasOf,
  type EndpointSlice,
  nameOf,
  type Pod,
  type Service,
  type ServicePort,
  shortName,
} from '../../cluster/objects.ts'
import { otherAddressText } from '../../reasons/network.ts'
import { counted } from '../../reasons/wording.ts'
import { addressMovesMs } from '../../thresholds.ts'
import type { Milestone } from '../assessment.ts'
import type { Reader, RuleReader } from '../reader.ts'
import type { Judgement, Rule } from '../rule.ts'
import { podRequest } from '../selector.ts'
import { lastWrittenAt } from '../stale-status.ts'
import { objectProblemFields } from '../status-problems.ts'
import { isReplaced } from '../workloads/pod-fields.ts'
import { waitOfPod } from '../workloads/pod-state.ts'
import { loadBalancerAddresses, missingAddressReport } from './backend.ts'
import {
  endpointSliceRequest,
  isPodSelected,
  type ReachedPods,
  reachedPods,
  type ServiceEndpoint,
  selectedWorkloads,
  targetPortIn,
  workloadRequests,
} from './endpoints.ts'
import { noReadyEndpointsProblem } from './no-ready-endpoints.ts'

/**
 * Judges Services: https://kubernetes.io/docs/concepts/services-networking/service/
 *
 * A Service is ready when each port has a ready endpoint. The pod of the endpoint must match the present selector, be
 * ready and settled, and have the present targetPort. If the gate checks its workload too, the pod must belong to the
 * new revision. A LoadBalancer also needs an address: the requested one, unless the load balancer ignores the request.
 * The gate does not wait for endpoints if the Service is headless, ExternalName or selectorless, or if all workloads
 * behind it are scaled to zero.
 */
export const serviceRule: Rule<Service> = {
  milestones: ['created', 'endpoints', 'ready', 'address'],
  judge: judgeService,
  serving: {
    ports: ({ spec }) =>
      (spec?.ports ?? []).flatMap(({ name, port, targetPort, protocol = 'TCP' }) =>
        protocol !== 'TCP' || port === undefined ? [] : [{ name, port, target: targetPort || port }],
      ),
    selects: isPodSelected,
    pods: selectedNewPods,
    isEmpty: areWorkloadsScaledToZero,
  },
}

function judgeService(service: Service, reader: RuleReader): Judgement {
  const text = noEndpointsText(service)
  const { ready, message, awaits } =
    text === undefined ? judgeEndpoints(service, reader) : judgeWithoutEndpoints(text, reader)
  const address = judgeAddress(service, reader)
  reader.milestone(address)
  return {
    ready: address.state !== 'open' && ready,
    message: address.state === 'skipped' ? message : `${message}, ${address.message}`,
    awaits,
  }
}

/** Why the gate does not wait for endpoints of a Service; undefined if it waits. */
function noEndpointsText(service: Service): string | undefined {
  const { type, clusterIP, externalName = 'an external name' } = service.spec ?? {}
  if (type === 'ExternalName') return `points to ${externalName}`
  if (clusterIP === 'None') return 'headless'
  return hasPodSelector(service) ? undefined : 'has no selector'
}

function hasPodSelector({ spec = {} }: Service): boolean {
  return spec.type !== 'ExternalName' && Object.keys(spec.selector ?? {}).length > 0
}

/** Judges a Service as ready, because the gate does not wait for its endpoints. */
function judgeWithoutEndpoints(message: string, reader: RuleReader): Judgement {
  for (const name of ['endpoints', 'ready'])
    reader.milestone({ name, state: 'skipped', message: 'has no endpoints to wait for' })
  return { ready: true, message }
}

/** An endpoint that gets traffic, or will once its pod has settled. All endpoints of a pod count as one. */
interface ServingEndpoint {
  readonly ports: readonly ServicePort[]
  /** When its pod has settled, in milliseconds on the runner's clock; 0 if the pod is unknown. */
  readonly settledAt: number
}

function judgeEndpoints(service: Service, reader: RuleReader): Judgement {
  const canReadPods = reader.watch(podRequest(service)) === 'complete'
  const workloads = selectedWorkloads(service, reader)
  if (reader.watch(endpointSliceRequest(service)) !== 'complete') {
    if (service.metadata.deletionTimestamp === undefined)
      reader.note('its endpoints cannot be read: only its existence is checked')
    return judgeWithoutEndpoints('exists; its endpoints cannot be read', reader)
  }
  const reached = reachedPods(service, reader)
  const serving = servingEndpoints(service, reached, canReadPods, reader)
  const endpoints = new Set(reached.endpoints.map(endpointKey)).size
  const selected = reached.pods.map(({ pod }) => pod)
  const hasPods = canReadPods ? selected.some(shouldHaveEndpoint) : endpoints > 0
  if (serving.length === 0 && !hasPods && areWorkloadsScaledToZero(service, reader)) {
    const names = workloads.map(shortName)
    const text = `has no endpoints: every workload behind it is scaled to zero (${names.join(', ')})`
    return judgeWithoutEndpoints(text, reader)
  }
  const { ports = [] } = service.spec ?? {}
  const settled = serving.filter(({ settledAt }) => reader.passed(settledAt))
  const count = { done: settled.length, total: Math.max(1, endpoints) }
  reader.milestone(
    endpoints > 0
      ? { name: 'endpoints', state: 'done', message: `${counted(endpoints, 'endpoint')} created` }
      : { name: 'endpoints', state: 'open', message: 'waiting for endpoints' },
  )
  const servedAt = allPortsServedAt(ports, serving)
  if (reader.passed(servedAt)) {
    const message = `${counted(settled.length, 'endpoint')} ready`
    reader.milestone({ name: 'ready', state: 'done', count, message })
    return { ready: true, message }
  }
  const message =
    servedAt === undefined
      ? `${settled.length} of ${counted(endpoints, 'endpoint')} ready`
      : `${counted(serving.length, 'endpoint')} ready, settling`
  reader.milestone({ name: 'ready', state: 'open', count, message, settlesAt: servedAt })
  const unserved = ports.filter((port) => !settled.some((each) => each.ports.includes(port)))
  if (servedAt === undefined) reader.problem(noReadyEndpointsProblem(service, reached, unserved, canReadPods, reader))
  const staying = selected.filter((pod) => !isReplaced(pod))
  // The pods may need a long time to pull an image or to pass a probe.
  for (const pod of staying) reader.hold(waitOfPod(reader.podView(pod), reader).stallHold)
  return { ready: false, message, awaits: [...staying, ...workloads].map(nameOf) }
}

/** When each port has an endpoint with a settled pod, in milliseconds; undefined if a port has no endpoint. */
function allPortsServedAt(ports: readonly ServicePort[], serving: readonly ServingEndpoint[]): number | undefined {
  const earliestSettledAt = (candidates: readonly ServingEndpoint[]) =>
    Math.min(...candidates.map(({ settledAt }) => settledAt))
  const at =
    ports.length === 0
      ? earliestSettledAt(serving)
      : Math.max(...ports.map((port) => earliestSettledAt(serving.filter((each) => each.ports.includes(port)))))
  return Number.isFinite(at) ? at : undefined
}

/** The endpoints that get traffic. If pods cannot be read, each ready endpoint counts for all ports. */
function servingEndpoints(
  { spec }: Service,
  { endpoints, pods }: ReachedPods,
  canReadPods: boolean,
  reader: Reader,
): readonly ServingEndpoint[] {
  const { ports = [] } = spec ?? {}
  const ofPods = pods.flatMap(({ pod, endpoints }): readonly ServingEndpoint[] => {
    const ready = endpoints.filter(({ isReady }) => isReady)
    // A slice may be older than the last change of the Service.
    const served = ports.filter((port) => ready.some(({ slice }) => hasTargetPort(slice, pod, port)))
    if (ready.length === 0 || (served.length === 0 && ports.length > 0)) return []
    if (isReplaced(pod) || reader.revisionOf(pod) === 'other') return []
    // The endpoint may be older than its pod's status.
    const { ready: isPodReady, settledAt } = reader.podView(pod)
    return isPodReady ? [{ ports: served, settledAt }] : []
  })
  const withoutKnownPod = endpoints.filter(
    ({ endpoint, isReady }) => isReady && (!canReadPods || endpoint.targetRef?.kind !== 'Pod'),
  )
  return [
    ...(canReadPods ? ofPods : []),
    ...[...new Set(withoutKnownPod.map(endpointKey))].map((): ServingEndpoint => ({ ports, settledAt: 0 })),
  ]
}

/** Whether a slice sends the traffic of a Service's port to the present target port of a pod. */
function hasTargetPort({ ports = [] }: EndpointSlice, pod: Pod, port: ServicePort): boolean {
  const wanted = targetPortIn(pod, port)
  return wanted !== undefined && ports.some((each) => (each.name ?? '') === (port.name ?? '') && each.port === wanted)
}

/** A key that is equal for all endpoints of a pod. A pod has one endpoint for each address type. */
function endpointKey({ endpoint: { targetRef, addresses } }: ServiceEndpoint): string | undefined {
  return targetRef?.uid ?? targetRef?.name ?? addresses?.[0]
}

/** Whether a selected pod should have an endpoint: it has not ended, or is a failed pod that no controller replaces. */
function shouldHaveEndpoint({ metadata, status }: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined || status?.phase === 'Succeeded') return false
  return status?.phase !== 'Failed' || controllerUidOf({ metadata }) === undefined
}

/** The pods that a Service selects, without old pods of workloads in the same gate. */
function selectedNewPods(service: Service, _: unknown, reader: Reader): readonly Pod[] {
  if (!hasPodSelector(service)) return []
  for (const request of workloadRequests(service)) reader.watch(request)
  return reader
    .list(podRequest(service), (pod) => isPodSelected(service, pod))
    .filter((pod) => (reader.revisionOf(pod) ?? 'gated') === 'gated')
}

/** Whether all workloads behind a Service are scaled to zero. Unreadable ReplicaSets and DaemonSets are ignored. */
function areWorkloadsScaledToZero(service: Service, reader: Reader): boolean {
  const isListed = (request: WatchRequest) => reader.listState(request) === 'complete'
  const needed = workloadRequests(service).filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
  if (!needed.every(isListed)) return false
  const behind = selectedWorkloads(service, reader)
  return behind.length > 0 && behind.every((each) => desiredReplicasOf(each) === 0)
}

/** The milestone `address`. States a problem while the Service waits for its address. */
function judgeAddress(service: Service, reader: RuleReader): Milestone {
  const name = 'address'
  if (service.spec?.type !== 'LoadBalancer') return { name, state: 'skipped', message: 'no load balancer' }
  const entries = service.status?.loadBalancer?.ingress ?? []
  const has = loadBalancerAddresses(service)
  const requested = requestedAddresses(service)
  // A host name may stand for the requested address.
  const isOther =
    requested.length > 0 && entries.length > 0 && entries.every(({ ip = '' }) => !requested.includes(ip) && ip !== '')
  const other = isOther ? { has, requested } : undefined
  if (entries.length === 0 || (isOther && mayAddressChange(service, reader))) {
    reader.problem({
      ...objectProblemFields(service, reader.history.firstSeenAt),
      reason: 'address-pending',
      detail: { isLoadBalancer: true, other, report: missingAddressReport(service, reader) },
    })
    return { name, state: 'open', message: 'waiting for the load balancer’s address' }
  }
  if (other !== undefined) reader.warning(`its address is ${otherAddressText(other)}`)
  return { name, state: 'done', message: has.length > 0 ? `address ${has.join(', ')}` : 'load balancer provided' }
}

/**
 * Annotations that request addresses of a load balancer: https://metallb.io/usage/#requesting-specific-ips,
 * https://kube-vip.io/docs/usage/kubernetes-services/, https://docs.cilium.io/en/stable/network/lb-ipam/#requesting-ips
 */
const addressAnnotations = ['metallb.io/loadBalancerIPs', 'kube-vip.io/loadbalancerIPs', 'lbipam.cilium.io/ips']

function requestedAddresses({ metadata: { annotations = {} }, spec = {} }: Service): readonly string[] {
  const texts = [spec.loadBalancerIP ?? '', ...addressAnnotations.map((name) => annotations[name] ?? '')]
  return texts.flatMap((text) => text.split(',').map((each) => each.trim())).filter((each) => each !== '')
}

/**
 * Whether a load balancer may still replace its address by the requested one. A status that is newer than the request
 * shows that the load balancer ignores the request, which the API permits (`loadBalancerIP`, k8s.io/api/core/v1).
 */
function mayAddressChange(service: Service, reader: Reader): boolean {
  const requestedAt = lastWrittenAt(service, reader.time) ?? -Infinity
  const isAnswered = (lastWrittenAt(service, reader.time, 'status') ?? Infinity) > requestedAt
  return !isAnswered && !reader.passed(requestedAt + addressMovesMs)
}
