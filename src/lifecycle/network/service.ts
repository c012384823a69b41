import type { WatchRequest } from '../../cluster/feed.ts'
import type { EndpointSlice, KubeObject, Pod, Service, ServicePort } from '../../cluster/objects.ts'
import { milestonesOf } from '../../plan/milestones.ts'
import { type Problem, problemOf } from '../../reasons/reasons.ts'
import type { Assessment, Awaited, Milestone } from '../assessment.ts'
import { conclude, createdMilestone, nameOf, type Rule } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'
import { earliest, examinePod, isReplaced, readiness } from '../workloads/pod-state.ts'
import { endpointCount, walkChecklist } from './service-checklist.ts'
import { isSelectedBy, isSliceOf, podsMetadata, targetPortIn, type Workload } from './service-pods.ts'

/** What makes pods that a Service may select. */
const workloadKinds = ['Deployment', 'StatefulSet', 'ReplicaSet', 'DaemonSet'] as const

/**
 * A Service: https://kubernetes.io/docs/concepts/services-networking/service/
 *
 * Ready when for each port one endpoint is ready that its pod still earns: the pod matches the present selector, is ready
 * and settled, the port is the present targetPort, and, where a gated workload is behind it, the pod belongs to the revision
 * that is gated. A LoadBalancer needs its address too. Headless, ExternalName and selectorless Services have nothing to wait
 * for; nor has one before which there is no pod, and whose every workload is scaled to zero.
 */
export const serviceRule: Rule = {
  milestones: milestonesOf({ apiVersion: 'v1', kind: 'Service' }),
  concernedBy: ['EndpointSlice', 'Pod', ...workloadKinds],
  readsGatedPods: true,
  quietWhileAwaiting: ['no-endpoints'],
  relatives: (object) =>
    hasEndpoints(object as Service)
      ? [sliceRequest(object), podRequest(object as Service), ...workloadRequests(object)]
      : [],
  isConcernedBy: (object, other, last) =>
    // Whose selector matches nothing is told what it may have meant, which any of them may be.
    last?.problems.some(({ reason }) => reason === 'selector-matches-nothing') === true ||
    isBehind(object as Service, other),
  assess: (object, context) => assessService(object as Service, context),
}

function assessService(service: Service, context: RuleContext): Assessment {
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
  const behind = hasEndpoints(service) ? examineEndpoints(service, context) : undefined
  const problems: readonly Problem[] = [
    ...(behind?.problems ?? []),
    ...(hasAddress ? [] : [slow(service, context, 'address-pending', 'has no load balancer address yet')]),
  ]
  return conclude(service, context, {
    ready: hasAddress && (behind?.ready ?? true),
    readyMessage: [behind?.message ?? quietWords(service), ...(needsAddress ? [addressWords] : [])].join(', '),
    milestones: [createdMilestone, ...(behind?.milestones ?? withoutEndpoints), address],
    problems,
    ...(behind?.stallHold === undefined ? {} : { stallHold: behind.stallHold }),
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
  readonly stallHold?: string
  readonly recheckAt?: number
  readonly awaits?: readonly Awaited[]
}

type Endpoint = NonNullable<EndpointSlice['endpoints']>[number]

/** An endpoint to which traffic of some ports goes, or will as soon as its pod has settled. */
interface Backend {
  readonly endpoint: Endpoint
  readonly ports: readonly ServicePort[]
  /** When its pod is settled, in milliseconds on the runner's clock; 0 for what is no pod, or is not seen. */
  readonly settledAt: number
}

function examineEndpoints(service: Service, context: RuleContext): Behind {
  const slices = context
    .list('EndpointSlice', service.metadata.namespace)
    .filter((slice) => isSliceOf(service, slice)) as readonly EndpointSlice[]
  if (context.listState(sliceRequest(service)) !== 'complete') return unseen
  const seesPods = context.listState(podRequest(service)) === 'complete'
  const matching = (context.list('Pod', service.metadata.namespace) as readonly Pod[]).filter((pod) =>
    isSelectedBy(service, pod),
  )
  const selected = matching.filter((pod) => !isReplaced(pod))
  const backends = backendsOf(service, slices, seesPods ? selected : undefined, context)
  const endpoints = countOf(slices.flatMap((slice) => slice.endpoints ?? []))
  const hasPods = seesPods ? matching.some(needsEndpoint) : endpoints > 0
  if (backends.length === 0 && !hasPods && isScaledToZero(service, context)) {
    const message = 'every workload behind it is scaled to zero'
    return { ready: true, message, milestones: withoutEndpoints, problems: [], notes: [message] }
  }
  const { ports = [] } = service.spec ?? {}
  const settled = backends.filter(({ settledAt }) => settledAt <= context.now)
  const done = countOf(settled.map(({ endpoint }) => endpoint))
  const count = { done, total: Math.max(1, endpoints) }
  const created: Milestone =
    endpoints > 0
      ? { name: 'endpoints', state: 'done', message: `${endpointCount(endpoints)} created` }
      : { name: 'endpoints', state: 'open', message: 'waiting for endpoints' }
  const servedAt = servedFrom(ports, backends)
  if (servedAt !== undefined && servedAt <= context.now) {
    const message = `${endpointCount(done)} ready`
    const milestones: readonly Milestone[] = [created, { name: 'ready', state: 'done', count, message }]
    return { ready: true, message, milestones, problems: [], notes: [] }
  }
  const unserved = ports.filter((port) => !settled.some((backend) => backend.ports.includes(port)))
  const message =
    servedAt === undefined
      ? `${done} of ${endpointCount(endpoints)} ready`
      : `${endpointCount(countOf(backends.map(({ endpoint }) => endpoint)))} ready, settling`
  const settlesAt = servedAt === undefined ? {} : { settlesAt: servedAt }
  return {
    ready: false,
    message,
    milestones: [created, { name: 'ready', state: 'open', count, message, ...settlesAt }],
    problems: servedAt === undefined ? [explain(service, unserved, slices, seesPods, context)] : [],
    notes: [],
    ...stallHoldOf(selected, context),
    awaits: [...selected, ...workloadsBehind(service, context)].map(nameOf),
  }
}

/** When each port has an endpoint whose pod is settled, if nothing happens; undefined where one has no endpoint at all. */
function servedFrom(ports: readonly ServicePort[], backends: readonly Backend[]): number | undefined {
  const first = (some: readonly Backend[]) => Math.min(...some.map(({ settledAt }) => settledAt))
  const at =
    ports.length === 0
      ? first(backends)
      : Math.max(...ports.map((port) => first(backends.filter((backend) => backend.ports.includes(port)))))
  return Number.isFinite(at) ? at : undefined
}

/**
 * The endpoints that are ready, with the ports of the Service that they serve.
 * @param selected the pods that the Service selects; undefined where pods may not be read
 */
function backendsOf(
  service: Service,
  slices: readonly EndpointSlice[],
  selected: readonly Pod[] | undefined,
  context: RuleContext,
): readonly Backend[] {
  const podByName = new Map(selected?.map((pod) => [pod.metadata.name, pod]))
  const { ports = [] } = service.spec ?? {}
  return slices.flatMap((slice) =>
    (slice.endpoints ?? []).flatMap((endpoint): readonly Backend[] => {
      // With publishNotReadyAddresses every endpoint is ready, and `serving` contains whether its pod is.
      if (endpoint.conditions?.ready === false || endpoint.conditions?.serving === false) return []
      if (selected === undefined || endpoint.targetRef?.kind !== 'Pod') return [{ endpoint, ports, settledAt: 0 }]
      const { name = '', uid } = endpoint.targetRef
      const pod = podByName.get(name)
      // A StatefulSet's next pod has the name of the one before, whose endpoint may still be there.
      if (pod === undefined || (uid ?? pod.metadata.uid) !== pod.metadata.uid) return []
      if (context.isOfGatedRevision(pod) === false) return []
      const served = ports.filter((port) => carriesPort(slice, pod, port))
      if (served.length === 0 && ports.length > 0) return []
      // The endpoint lags behind its pod.
      const { ready, settledAt } = readiness(pod, context)
      return ready ? [{ endpoint, ports: served, settledAt }] : []
    }),
  )
}

/** How many endpoints these are: a pod has one for each type of address. */
function countOf(endpoints: readonly Endpoint[]): number {
  return new Set(endpoints.map(({ targetRef, addresses }) => targetRef?.uid ?? targetRef?.name ?? addresses?.[0])).size
}

/** It waits for its pods, whose images may be large and whose probes may be patient, until their own time is up. */
function stallHoldOf(pods: readonly Pod[], context: RuleContext): Pick<Behind, 'stallHold' | 'recheckAt'> {
  const states = pods.map((pod) => examinePod(pod, context))
  const stallHold = states.map((state) => state.stallHold).find((words) => words !== undefined)
  return { ...(stallHold === undefined ? {} : { stallHold }), ...earliest(states.map(({ recheckAt }) => recheckAt)) }
}

/** Nobody may look at the endpoints: the Service exists, and that is all that can be said. */
const unseen: Behind = {
  ready: true,
  message: 'exists; its endpoints cannot be seen',
  milestones: withoutEndpoints,
  problems: [],
  notes: ['its endpoints cannot be seen: only that it exists is known'],
}

/** Why no endpoint is ready for some of its ports. */
function explain(
  service: Service,
  unserved: readonly ServicePort[],
  slices: readonly EndpointSlice[],
  seesPods: boolean,
  context: RuleContext,
): Problem {
  const { namespace } = service.metadata
  const all = context.list('Pod', namespace) as readonly Pod[]
  const isPartial = unserved.length < (service.spec?.ports ?? []).length
  // Of the pods, those that have such a port; where none has, that is why.
  const able = all.filter((pod) => unserved.some((port) => targetPortIn(pod, port) !== undefined))
  const pods = isPartial && able.some((pod) => isSelectedBy(service, pod)) ? able : all
  const { reason, message, ...finding } = walkChecklist(
    isPartial ? { ...service, spec: { ...service.spec, ports: [...unserved] } } : service,
    {
      pods: seesPods ? pods : undefined,
      workloads: workloadKinds.flatMap((kind) => context.list(kind, namespace) as Workload[]).filter(isStandalone),
      slices,
    },
    context,
  )
  const words = unserved.map(({ name, port }) => name ?? port).join(', ')
  return {
    ...slow(service, context, reason, isPartial ? `has no ready endpoint for port ${words}: ${message}` : message),
    ...finding,
  }
}

function slow(service: Service, context: RuleContext, reason: Problem['reason'], message: string): Problem {
  return problemOf({
    reason,
    subject: `service/${service.metadata.name}`,
    detail: { text: message },
    count: 1,
    firstSeenAt: context.history.firstSeenAt,
    proven: false,
  })
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

/** Whether a pod that the Service selects should have an endpoint: it has not ended, or no controller makes another. */
function needsEndpoint({ metadata, status }: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined || status?.phase === 'Succeeded') return false
  return status?.phase !== 'Failed' || !metadata.ownerReferences?.some(({ controller }) => controller)
}

/**
 * Whether every workload behind it is scaled to zero. Where ReplicaSets or DaemonSets may not be read, the pods that they
 * have made show them.
 */
function isScaledToZero(service: Service, context: RuleContext): boolean {
  const isListed = (request: WatchRequest) => context.listState(request) === 'complete'
  const needed = workloadRequests(service).filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
  if (!needed.every(isListed)) return false
  const behind = workloadsBehind(service, context)
  return behind.length > 0 && behind.every(({ spec }) => spec?.replicas === 0)
}

/** The workloads whose pods the Service selects, whether they have any yet or not. */
function workloadsBehind(service: Service, context: RuleContext): readonly Workload[] {
  return workloadKinds
    .flatMap((kind) => context.list(kind, service.metadata.namespace) as readonly Workload[])
    .filter((workload) => isStandalone(workload) && isSelectedBy(service, podsMetadata(workload)))
}

/** Whether no Deployment decides how many pods a workload has. */
function isStandalone({ metadata }: Workload): boolean {
  return !metadata.ownerReferences?.some(({ kind, controller }) => controller && kind === 'Deployment')
}

/** Whether a slice carries a port as the Service has it today: a slice lags behind a change of the Service. */
function carriesPort(slice: EndpointSlice, pod: Pod, port: ServicePort): boolean {
  const wanted = targetPortIn(pod, port)
  return (
    wanted !== undefined &&
    (slice.ports ?? []).some((each) => (each.name ?? '') === (port.name ?? '') && each.port === wanted)
  )
}
