import type { WatchRequest } from '../cluster/feed.ts'
import type { EndpointSlice, KubeObject, Pod, Service } from '../cluster/objects.ts'
import { milestonesOf } from '../plan/milestones.ts'
import type { Assessment, Awaited, Milestone, Problem } from './assessment.ts'
import { earliest, examinePod, isReplaced } from './pod-state.ts'
import { conclude, createdMilestone, nameOf, type Rule } from './rule.ts'
import { endpointCount, walkChecklist } from './service-checklist.ts'
import { isSelectedBy, isSliceOf, podsMetadata, targetPortIn, type Workload } from './service-pods.ts'
import type { View } from './view.ts'

/** What makes pods that a Service may select. */
const workloadKinds = ['Deployment', 'StatefulSet', 'ReplicaSet', 'DaemonSet'] as const

/**
 * A Service: https://kubernetes.io/docs/concepts/services-networking/service/
 *
 * Ready when one endpoint is ready that its pod still earns: the pod matches the present selector, the port is the present
 * targetPort, the pod has settled, and, where a gated workload is behind it, it is of the revision that is gated. A LoadBalancer
 * needs its address too. Headless, ExternalName and selectorless Services have nothing to wait for; nor has one before
 * which there is no pod, and whose every workload is scaled to zero.
 */
export const serviceRule: Rule = {
  milestones: milestonesOf({ apiVersion: 'v1', kind: 'Service' }),
  concernedBy: ['EndpointSlice', 'Pod', ...workloadKinds],
  relatives: (object) =>
    hasEndpoints(object as Service)
      ? [sliceRequest(object), podRequest(object as Service), ...workloadRequests(object)]
      : [],
  isConcernedBy: (object, other, last) =>
    // Whose selector matches nothing is told what it may have meant, which any of them may be.
    last?.problems.some(({ reason }) => reason === 'selector-matches-nothing') === true ||
    isBehind(object as Service, other),
  assess: (object, view) => assessService(object as Service, view),
}

function assessService(service: Service, view: View): Assessment {
  const { spec = {}, metadata } = service
  const entries = service.status?.loadBalancer?.ingress ?? []
  const addresses = entries.flatMap(({ ip, hostname }) => ip ?? hostname ?? [])
  const needsAddress = spec.type === 'LoadBalancer'
  const hasAddress = !needsAddress || entries.length > 0
  const addressWords = addresses.length > 0 ? `address ${addresses.join(', ')}` : 'load balancer provided'
  const address: Milestone = needsAddress
    ? {
        name: 'address',
        state: hasAddress ? 'done' : 'open',
        message: hasAddress ? addressWords : 'waiting for the load balancer’s address',
      }
    : { name: 'address', state: 'skipped', message: 'no load balancer' }
  const behind = hasEndpoints(service) ? examineEndpoints(service, view) : undefined
  const problems: readonly Problem[] = [
    ...(behind?.problems ?? []),
    ...(hasAddress ? [] : [slow(service, view, 'address-pending', 'has no load balancer address yet')]),
  ]
  return conclude(service, view, {
    ready: hasAddress && (behind?.ready ?? true),
    readyMessage: [behind?.message ?? quietWords(service), ...(needsAddress ? [addressWords] : [])].join(', '),
    milestones: [createdMilestone, ...(behind?.milestones ?? withoutEndpoints), address],
    problems,
    ...(behind?.patience === undefined ? {} : { patience: behind.patience }),
    ...(behind?.recheckAt === undefined ? {} : { recheckAt: behind.recheckAt }),
    ...(behind?.awaits === undefined ? {} : { awaits: behind.awaits }),
    notes: metadata.deletionTimestamp === undefined ? (behind?.notes ?? []) : [],
  })
}

const withoutEndpoints: readonly Milestone[] = ['endpoints', 'ready'].map((name) => ({
  name,
  state: 'skipped',
  message: 'has no endpoints to wait for',
}))

interface Behind {
  readonly ready: boolean
  readonly message: string
  readonly milestones: readonly Milestone[]
  readonly problems: readonly Problem[]
  readonly notes: readonly string[]
  readonly patience?: string
  readonly recheckAt?: number
  readonly awaits?: readonly Awaited[]
}

function examineEndpoints(service: Service, view: View): Behind {
  const slices = view
    .list('EndpointSlice', service.metadata.namespace)
    .filter((slice) => isSliceOf(service, slice)) as readonly EndpointSlice[]
  if (view.knowledge(sliceRequest(service)) !== 'complete') return unseen
  const seesPods = view.knowledge(podRequest(service)) === 'complete'
  const matching = (view.list('Pod', service.metadata.namespace) as readonly Pod[]).filter((pod) =>
    isSelectedBy(service, pod),
  )
  const selected = matching.filter((pod) => !isReplaced(pod))
  const podByName = new Map(selected.map((pod) => [pod.metadata.name, pod]))
  const endpoints = slices.flatMap((slice) => (slice.endpoints ?? []).map((endpoint) => ({ slice, endpoint })))
  const earned = endpoints.filter(({ slice, endpoint }) => {
    // With publishNotReadyAddresses every endpoint is ready, and `serving` contains whether its pod is.
    if (endpoint.conditions?.ready === false || endpoint.conditions?.serving === false) return false
    if (!seesPods || endpoint.targetRef?.kind !== 'Pod') return true
    const { name = '', uid } = endpoint.targetRef
    const pod = podByName.get(name)
    // A StatefulSet's next pod has the name of the one before, whose endpoint may still be there.
    return (
      pod !== undefined &&
      (uid ?? pod.metadata.uid) === pod.metadata.uid &&
      carriesPorts(service, slice, pod) &&
      view.isOfGatedRevision(pod) !== false
    )
  })
  const hasPods = seesPods ? matching.some(isOwed) : endpoints.length > 0
  if (earned.length === 0 && !hasPods && isScaledToZero(service, view)) {
    const message = 'every workload behind it is scaled to zero'
    return { ready: true, message, milestones: withoutEndpoints, problems: [], notes: [message] }
  }
  const isSettled = ({ endpoint: { targetRef } }: (typeof earned)[number]) => {
    const pod = targetRef?.kind === 'Pod' ? podByName.get(targetRef.name ?? '') : undefined
    return pod === undefined || examinePod(pod, view).settled
  }
  const ready = earned.some(isSettled)
  const isSettling = earned.length > 0 && !ready
  const count = `${endpointCount(earned.length)} ready`
  return {
    ready,
    message: count,
    milestones: [
      endpoints.length > 0 || ready
        ? { name: 'endpoints', state: 'done', message: `${endpointCount(endpoints.length)} created` }
        : { name: 'endpoints', state: 'open', message: 'waiting for endpoints' },
      {
        name: 'ready',
        state: ready ? 'done' : 'open',
        count: { done: earned.length, total: Math.max(1, endpoints.length) },
        message: ready ? count : isSettling ? `${count}, settling` : `0 of ${endpointCount(endpoints.length)} ready`,
      },
    ],
    problems: ready || isSettling ? [] : [explain(service, slices, seesPods, view)],
    notes: [],
    ...(ready
      ? {}
      : { ...patienceOf(selected, view), awaits: [...selected, ...workloadsBehind(service, view)].map(nameOf) }),
  }
}

/** It waits for its pods, whose images may be large and whose probes may be patient, until their own time is up. */
function patienceOf(pods: readonly Pod[], view: View): Pick<Behind, 'patience' | 'recheckAt'> {
  const states = pods.map((pod) => examinePod(pod, view))
  const patience = states.map((state) => state.patience).find((words) => words !== undefined)
  return { ...(patience === undefined ? {} : { patience }), ...earliest(states.map(({ recheckAt }) => recheckAt)) }
}

/** Nobody may look at the endpoints: the Service exists, and that is all that can be said. */
const unseen: Behind = {
  ready: true,
  message: 'exists; its endpoints cannot be seen',
  milestones: withoutEndpoints,
  problems: [],
  notes: ['its endpoints cannot be seen: only that it exists is known'],
}

/** Why no endpoint is ready. */
function explain(service: Service, slices: readonly EndpointSlice[], seesPods: boolean, view: View): Problem {
  const { namespace } = service.metadata
  const { reason, message, ...finding } = walkChecklist(
    service,
    {
      pods: seesPods ? (view.list('Pod', namespace) as readonly Pod[]) : undefined,
      workloads: workloadKinds.flatMap((kind) => view.list(kind, namespace) as Workload[]).filter(isOfItself),
      slices,
    },
    view,
  )
  return { ...slow(service, view, reason, message), ...finding }
}

function slow(service: Service, view: View, reason: Problem['reason'], message: string): Problem {
  return {
    reason,
    class: 'slow',
    subject: `service/${service.metadata.name}`,
    message,
    count: 1,
    firstSeenAt: view.history.firstSeenAt,
    proven: false,
  }
}

function isBehind(service: Service, other: KubeObject): boolean {
  if (other.kind === 'EndpointSlice') return isSliceOf(service, other)
  return isSelectedBy(service, other.kind === 'Pod' ? other : podsMetadata(other))
}

function hasEndpoints({ spec = {} }: Service): boolean {
  return spec.type !== 'ExternalName' && spec.clusterIP !== 'None' && Object.keys(spec.selector ?? {}).length > 0
}

function quietWords({ spec = {} }: Service): string {
  if (spec.type === 'ExternalName') return `stands for ${spec.externalName ?? 'a name outside'}`
  return spec.clusterIP === 'None' ? 'headless' : 'has no selector'
}

function sliceRequest({ metadata }: KubeObject): WatchRequest {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    ...namespaced(metadata.namespace),
    labelSelector: `kubernetes.io/service-name=${metadata.name}`,
  }
}

function podRequest({ metadata, spec }: Service): WatchRequest {
  const selector = Object.entries(spec?.selector ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .sort()
  return { apiVersion: 'v1', kind: 'Pod', ...namespaced(metadata.namespace), labelSelector: selector.join(',') }
}

/** The workloads that may be behind it: whether all of them are scaled to zero. */
function workloadRequests({ metadata }: KubeObject): readonly WatchRequest[] {
  return workloadKinds.map((kind) => ({ apiVersion: 'apps/v1', kind, ...namespaced(metadata.namespace) }))
}

function namespaced(namespace: string | undefined) {
  return namespace === undefined ? {} : { namespace }
}

/** Whether a pod that the Service selects is there to serve, or failed to with no controller that makes another. */
function isOwed({ metadata, status }: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined || status?.phase === 'Succeeded') return false
  return status?.phase !== 'Failed' || !metadata.ownerReferences?.some(({ controller }) => controller)
}

/**
 * Whether every workload behind it is scaled to zero. Where ReplicaSets or DaemonSets may not be read, the pods that they
 * have made show them.
 */
function isScaledToZero(service: Service, view: View): boolean {
  const isListed = (request: WatchRequest) => view.knowledge(request) === 'complete'
  const needed = workloadRequests(service).filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
  if (!needed.every(isListed)) return false
  const behind = workloadsBehind(service, view)
  return behind.length > 0 && behind.every(({ spec }) => spec?.replicas === 0)
}

/** The workloads whose pods the Service selects, whether they have any yet or not. */
function workloadsBehind(service: Service, view: View): readonly Workload[] {
  return workloadKinds
    .flatMap((kind) => view.list(kind, service.metadata.namespace) as readonly Workload[])
    .filter((workload) => isOfItself(workload) && isSelectedBy(service, podsMetadata(workload)))
}

/** Whether a workload decides itself how many pods it has: the ReplicaSets of a Deployment do not. */
function isOfItself({ metadata }: Workload): boolean {
  return !metadata.ownerReferences?.some(({ kind, controller }) => controller && kind === 'Deployment')
}

/** Whether a slice carries the ports that the Service asks for today: a slice lags behind a change of the Service. */
function carriesPorts(service: Service, slice: EndpointSlice, pod: Pod): boolean {
  return (service.spec?.ports ?? []).every((port) => {
    const wanted = targetPortIn(pod, port)
    return (
      wanted !== undefined &&
      (slice.ports ?? []).some((each) => (each.name ?? '') === (port.name ?? '') && each.port === wanted)
    )
  })
}
