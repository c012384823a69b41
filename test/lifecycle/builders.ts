import type { WatchRequest } from '../../src/cluster/feed.ts'
import type {
  Condition,
  Container,
  ContainerState,
  ContainerStateTerminated,
  ContainerStatus,
  Deployment,
  EndpointSlice,
  EventObject,
  KubeObject,
  ObjectMeta,
  OwnerReference,
  Pod,
  PodSpec,
  PodStatus,
  PodTemplate,
  ReplicaSet,
  Subject,
} from '../../src/cluster/objects.ts'
import { Store } from '../../src/cluster/store.ts'
import type { GateTime } from '../../src/lifecycle/gate-time.ts'
import type { PodHistory } from '../../src/lifecycle/pod-history.ts'
import type { LifecycleSettings, RuleContext } from '../../src/lifecycle/rule-context.ts'
import { ruleOf } from '../../src/lifecycle/rules.ts'
import { observeTarget, type TargetHistory } from '../../src/lifecycle/target-history.ts'
import {
  historyOf,
  observePod,
  observePodEvents,
  type PodObservations,
} from '../../src/lifecycle/workloads/observe-pods.ts'
import { classOf, messageOf, type ReasonCode } from '../../src/reasons/reasons.ts'
import type { ProblemClass } from '../../src/reasons/spec.ts'

/** Start of every gate in these tests; other moments are seconds since then. */
export const start = Date.UTC(2025, 0, 15, 12, 0, 0)

export function moment(seconds: number): number {
  return start + seconds * 1_000
}

/** A timestamp as in the API, without a fraction for whole seconds. */
export function iso(seconds: number): string {
  return new Date(moment(seconds)).toISOString().replace('.000Z', 'Z')
}

export const minute = 60

/** Fields of an object that a test sets; the others have healthy defaults. */
export interface Overrides<Spec, Status> {
  readonly metadata?: Partial<ObjectMeta>
  readonly spec?: Partial<Spec>
  readonly status?: Status
}

export function createContainer(overrides: Partial<Container> = {}): Container {
  return { name: 'app', image: 'acme/web:v1', ...overrides }
}

export function createTemplate(overrides: Partial<PodSpec> = {}, labels: Record<string, string> = {}): PodTemplate {
  return { metadata: { labels: { app: 'web', ...labels } }, spec: { containers: [createContainer()], ...overrides } }
}

/** `web`, one replica, generation 1, without a status. */
export function createDeployment({ metadata, spec, status }: Overrides<Deployment['spec'], Deployment['status']> = {}) {
  const deployment: Deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop', uid: 'web-uid', generation: 1, ...metadata },
    spec: { replicas: 1, selector: { matchLabels: { app: 'web' } }, template: createTemplate(), ...spec },
  }
  return status === undefined ? deployment : { ...deployment, status }
}

/** Status of a Deployment whose replicas are all updated and available. */
export function complete(replicas = 1, rest: Deployment['status'] = {}): Deployment['status'] {
  return {
    observedGeneration: 1,
    replicas,
    updatedReplicas: replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
    ...rest,
  }
}

export function ownedBy({ apiVersion, kind, metadata }: KubeObject): OwnerReference[] {
  return [{ apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true }]
}

/** A ControllerRevision; with a template, as its controller stores it. Its uid is its name. */
export function createRevision(
  owner: KubeObject,
  name: string,
  revision: number,
  metadata: Partial<ObjectMeta> = {},
  template?: PodTemplate,
): KubeObject {
  const data = template && { spec: { template: { ...template, $patch: 'replace' } } }
  const own = { name, namespace: 'shop', uid: name, ownerReferences: ownedBy(owner), ...metadata }
  const object = { apiVersion: 'apps/v1', kind: 'ControllerRevision', metadata: own, data, revision }
  return object as KubeObject
}

/** `web-1` of the Deployment `web`, with the Deployment's template and the controller's hash label. */
export function createReplicaSet(
  { metadata, spec, status }: Overrides<ReplicaSet['spec'], ReplicaSet['status']> = {},
  owner: KubeObject | undefined = createDeployment(),
) {
  const name = metadata?.name ?? 'web-1'
  const template = (owner?.spec as Deployment['spec'] | undefined)?.template ?? createTemplate()
  const labels = { ...template.metadata?.labels, 'pod-template-hash': name }
  const set: ReplicaSet = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name,
      namespace: 'shop',
      uid: `${name}-uid`,
      generation: 1,
      creationTimestamp: iso(0),
      annotations: { 'deployment.kubernetes.io/revision': '1' },
      ...(owner === undefined ? {} : { ownerReferences: ownedBy(owner) }),
      ...metadata,
    },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: 'web' } },
      template: { ...template, metadata: { ...template.metadata, labels } },
      ...spec,
    },
  }
  return status === undefined ? set : { ...set, status }
}

/** The creation of a pod with this status: at the start of the gate, but not after the start of a container. */
function createdWith({ containerStatuses = [] }: PodStatus = {}): string {
  const starts = containerStatuses.flatMap(({ state }) => state?.running?.startedAt ?? [])
  return [iso(0), ...starts].sort()[0] ?? iso(0)
}

/** `web-1-a` of the ReplicaSet `web-1`, scheduled, without statuses of its containers. */
export function createPod(
  { metadata, spec, status }: Overrides<PodSpec, PodStatus> = {},
  owner: KubeObject | undefined = createReplicaSet(),
): Pod {
  const name = metadata?.name ?? 'web-1-a'
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'shop',
      uid: `${name}-uid`,
      creationTimestamp: createdWith(status),
      labels: { app: 'web' },
      ...(owner === undefined ? {} : { ownerReferences: ownedBy(owner) }),
      ...metadata,
    },
    spec: { nodeName: 'node-1', containers: [createContainer()], ...spec },
    status: { phase: 'Pending', ...status },
  }
}

/** A pod without an owner. */
export function createBarePod({ metadata, ...rest }: Overrides<PodSpec, PodStatus> = {}): Pod {
  const { ownerReferences: _, ...own } = createPod(rest).metadata
  return { ...createPod(rest), metadata: { ...own, name: 'once', uid: 'once-uid', ...metadata } }
}

/** The EndpointSlice of a Service with these pods. */
export function createSlice(
  pods: readonly Pick<Pod, 'metadata'>[],
  ready = true,
  port = 8080,
  service = 'web',
): EndpointSlice {
  const labels = { 'kubernetes.io/service-name': service }
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `${service}-x`, namespace: 'shop', uid: 'slice-uid', labels },
    ports: [{ port }],
    endpoints: pods.map(({ metadata: { name, uid = '' } }) => ({
      conditions: { ready },
      targetRef: { kind: 'Pod', name, uid },
    })),
  }
}

/** The HPA of the Deployment `web`, with this status of `ScalingActive`. */
export function createAutoscaler(active: string): KubeObject {
  const conditions = [
    condition('AbleToScale', 'True'),
    condition('ScalingActive', active, { reason: 'FailedGetResourceMetric' }),
  ]
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'web', namespace: 'shop', uid: 'hpa-uid' },
    spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
    status: { conditions },
  }
}

export function condition(type: string, status: string, rest: Partial<Condition> = {}): Condition {
  return { type, status, ...rest }
}

export function running(startedAt = 1): ContainerState {
  return { running: { startedAt: iso(startedAt) } }
}

export function waiting(reason: string, message?: string): ContainerState {
  return { waiting: { reason, ...(message === undefined ? {} : { message }) } }
}

export function terminated(exitCode: number, finishedAt: number, rest: Partial<ContainerStateTerminated> = {}) {
  const startedAt = iso(finishedAt - 1)
  const reason = exitCode === 0 ? 'Completed' : 'Error'
  return { terminated: { exitCode, reason, startedAt, finishedAt: iso(finishedAt), ...rest } } satisfies ContainerState
}

export function createStatus(overrides: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name: 'app', ready: false, restartCount: 0, state: waiting('ContainerCreating'), ...overrides }
}

/** The status of a pod whose containers run and are ready since `startedAt`. */
export function readyStatus(startedAt = 1, rest: Partial<ContainerStatus> = {}): PodStatus {
  return {
    phase: 'Running',
    conditions: [condition('Initialized', 'True'), condition('Ready', 'True', { lastTransitionTime: iso(startedAt) })],
    containerStatuses: [createStatus({ ready: true, started: true, state: running(startedAt), ...rest })],
  }
}

/** The status of a pod with one container that is not ready. */
export function podStatus(container: Partial<ContainerStatus>, rest: Partial<PodStatus> = {}): PodStatus {
  return {
    phase: 'Running',
    startTime: iso(1),
    conditions: [condition('Initialized', 'True'), condition('Ready', 'False')],
    containerStatuses: [createStatus(container)],
    ...rest,
  }
}

/** The status of a pod whose container died for the nth time at `finishedAt` and is not yet restarted. */
export function deadStatus(nth: number, finishedAt: number, rest: Partial<ContainerStateTerminated> = {}): PodStatus {
  return podStatus({ restartCount: nth - 1, state: terminated(3, finishedAt, rest) })
}

/** The status of a pod whose container died for the nth time at `finishedAt` and waits for its restart. */
export function crashLoopStatus(nth: number, finishedAt: number, exitCode = 3): PodStatus {
  return podStatus({
    restartCount: nth - 1,
    state: waiting('CrashLoopBackOff', 'back-off restarting failed container'),
    lastState: terminated(exitCode, finishedAt),
  })
}

/** An event about an object, or about one of its containers. */
export function createEvent(
  about: KubeObject,
  { container, ...overrides }: Partial<EventObject> & { container?: string; reason: string },
): EventObject {
  const { name, namespace = '', uid = '' } = about.metadata
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name}.${overrides.reason}.${container ?? ''}`, namespace },
    involvedObject: {
      apiVersion: about.apiVersion,
      kind: about.kind,
      namespace,
      name,
      uid,
      ...(container === undefined ? {} : { fieldPath: `spec.containers{${container}}` }),
    },
    type: 'Warning',
    count: 1,
    firstTimestamp: iso(0),
    lastTimestamp: iso(0),
    ...overrides,
  }
}

export interface ContextOptions {
  /** Seconds since the start of the gate. */
  readonly now?: number
  readonly objects?: readonly KubeObject[]
  /** Kinds that are forbidden or not listed. */
  readonly unseen?: readonly string[]
  readonly settings?: Partial<LifecycleSettings>
  readonly othersProgress?: boolean
  /** Seconds since the start of the gate. */
  readonly othersReadyAt?: number
  /** Whether discovery lists a status subresource for the kind; unknown by default. */
  readonly declaresStatus?: boolean
  /** History of the target; by default it is observed for the first time now. */
  readonly history?: TargetHistory
  /** Histories of pods by uid; by default each pod is observed for the first time now. */
  readonly podHistories?: ReadonlyMap<string, PodHistory>
  /** Of the workload that the pods belong to. */
  readonly minReadySeconds?: number
  /** Server's clock minus the runner's. */
  readonly serverOffsetMs?: number
  /** Which pods belong to the revision of a gated workload; by default none belongs to any. */
  readonly revisionOf?: RuleContext['revisionOf']
}

export function createGateTime({ serverOffsetMs = 0, settleTimeMs = 10_000 } = {}): GateTime {
  return {
    startedAt: start,
    settleTimeMs,
    time: (timestamp) => (timestamp ? Date.parse(timestamp) - serverOffsetMs : undefined),
  }
}

/** The rule context of these objects. */
export function context(options: ContextOptions = {}): RuleContext {
  const { objects = [], unseen = [], podHistories = new Map(), othersProgress = false } = options
  const now = moment(options.now ?? 0)
  const settings = { settleTimeMs: 10_000, maxRestarts: 2, ...options.settings }
  const gateTime = createGateTime({ serverOffsetMs: options.serverOffsetMs ?? 0, settleTimeMs: settings.settleTimeMs })
  const store = new Store(() => false)
  for (const object of objects) store.apply({ at: now, type: 'ADDED', object })
  const isSeen = ({ kind }: WatchRequest) => !unseen.includes(kind)
  return {
    now,
    startedAt: start,
    settings,
    history: options.history ?? observeTarget(undefined, createDeployment(), now),
    othersProgress,
    ...(options.othersReadyAt === undefined ? {} : { othersReadyAt: moment(options.othersReadyAt) }),
    time: gateTime.time,
    owned: (uid, kind) => store.ownedBy(uid, kind),
    lostPods: (uid) =>
      (store.ownedBy(uid, 'Pod') as readonly Pod[]).filter(
        ({ metadata, status }) => status?.phase === 'Failed' && metadata.deletionTimestamp === undefined,
      ),
    removedAt: () => undefined,
    succeededPods: (uid) =>
      (store.ownedBy(uid, 'Pod') as readonly Pod[]).filter(({ status }) => status?.phase === 'Succeeded'),
    list: (kind, namespace) => store.list(kind, namespace),
    revisionOf: options.revisionOf ?? (() => undefined),
    events: (object) => store.eventsOf(object),
    podHistory: (pod) =>
      podHistories.get(pod.metadata.uid ?? '') ??
      historyOf(
        observePodEvents(observePod(undefined, pod, now, gateTime), store.eventsOf(pod), now, gateTime),
        pod,
        { changedAt: undefined, minReadyMs: (options.minReadySeconds ?? 0) * 1_000 },
        gateTime,
      ),
    declaresStatus: () => options.declaresStatus,
    listState: (request) => (isSeen(request) ? 'complete' : 'unknown'),
  }
}

/** Observations of a pod with these versions, each at its second. */
export function sightings(...versions: readonly (readonly [seconds: number, pod: Pod])[]): PodObservations {
  const seen = versions.reduce<PodObservations | undefined>(
    (before, [seconds, pod]) => observePod(before, pod, moment(seconds), createGateTime()),
    undefined,
  )
  if (seen === undefined) throw new Error('A pod that was never seen has no history.')
  return seen
}

/** History of a pod with these versions, each at its second; the time of the last template change is unknown. */
export function seenPod(...versions: readonly (readonly [seconds: number, pod: Pod])[]): PodHistory {
  return counted(sightings(...versions), versions.at(-1)?.[1])
}

/** History of a pod from its observations; `changedAt` is the second of the last template change, if known. */
export function counted(seen: PodObservations, pod = createPod(), changedAt?: number, minReadySeconds = 0): PodHistory {
  const terms = {
    changedAt: changedAt === undefined ? undefined : moment(changedAt),
    minReadyMs: minReadySeconds * 1_000,
  }
  return historyOf(seen, pod, terms, createGateTime())
}

/** History of a target with these versions, each at its second. */
export function seenTarget(...versions: readonly (readonly [seconds: number, object: KubeObject])[]): TargetHistory {
  const seen = versions.reduce<TargetHistory | undefined>((history, [seconds, object]) => {
    const rule = ruleOf(object)
    return observeTarget(history, object, moment(seconds), rule.failures?.(object), rule.states?.(object))
  }, undefined)
  if (seen === undefined) throw new Error('A target that was never seen has no history.')
  return seen
}

/** A problem, or what contains problems, with each problem's class and message as they are reported. */
export type Reported<Value> = Value extends { readonly subject: Subject; readonly reason: ReasonCode }
  ? Value & { readonly class: ProblemClass; readonly message: string }
  : Value extends readonly (infer Each)[]
    ? readonly Reported<Each>[]
    : Value extends object
      ? {
          [Key in keyof Value]: Key extends 'problem' | 'problems' | 'failure' | 'cause'
            ? Reported<Value[Key]>
            : Value[Key]
        }
      : Value

/** Adds class and message to each problem of a finding, a list or an assessment. */
export function reported<Value>(value: Value): Reported<Value> {
  if (Array.isArray(value)) return value.map(reported) as Reported<Value>
  if (typeof value !== 'object' || value === null) return value as Reported<Value>
  const isProblem = 'subject' in value && 'reason' in value
  const own = isProblem ? { class: classOf(value as never), message: messageOf(value as never) } : {}
  const inner = Object.entries(value).flatMap(([key, each]) => {
    if (each === undefined) return []
    if (key === 'detail') return isProblem ? detailBesidesText(each) : [[key, each]]
    return [[key, ['problem', 'problems', 'failure', 'cause'].includes(key) ? reported(each) : each]]
  })
  return { ...Object.fromEntries(inner), ...own }
}

/** The detail without its `text`, which repeats the message; empty if nothing else remains. */
function detailBesidesText({ text: _, ...detail }: Record<string, unknown>): [string, unknown][] {
  const facts = Object.entries(detail).filter(([, value]) => value !== undefined && value !== false)
  return facts.length === 0 ? [] : [['detail', Object.fromEntries(facts)]]
}
