import type {
  Condition,
  Container,
  ContainerState,
  ContainerStateTerminated,
  ContainerStatus,
  DaemonSet,
  Deployment,
  EndpointSlice,
  EventObject,
  Job,
  KubeObject,
  Node,
  ObjectMeta,
  OwnerReference,
  Pod,
  PodSpec,
  PodStatus,
  PodTemplate,
  ReplicaSet,
  Service,
  StatefulSet,
} from '../../src/cluster/objects.ts'

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

function createContainer(overrides: Partial<Container> = {}): Container {
  return { name: 'app', image: 'acme/web:v1', ...overrides }
}

function createTemplate(overrides: Partial<PodSpec> = {}, labels: Record<string, string> = {}): PodTemplate {
  return { metadata: { labels: { app: 'web', ...labels } }, spec: { containers: [createContainer()], ...overrides } }
}

/** `web`, one replica, generation 1, without a status. */
function createDeployment({ metadata, spec, status }: Overrides<Deployment['spec'], Deployment['status']> = {}) {
  const deployment: Deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop', uid: 'web-uid', generation: 1, ...metadata },
    spec: { replicas: 1, selector: { matchLabels: { app: 'web' } }, template: createTemplate(), ...spec },
  }
  return status === undefined ? deployment : { ...deployment, status }
}

/** `db`, two replicas, generation 1, without a status. */
function createStatefulSet({ metadata, ...rest }: Overrides<StatefulSet['spec'], StatefulSet['status']> = {}) {
  return createWorkload<StatefulSet>(
    'apps/v1',
    'StatefulSet',
    { replicas: 2, selector: { matchLabels: { app: 'db' } } },
    {
      ...rest,
      metadata: { name: 'db', uid: 'db-uid', ...metadata },
    },
  )
}

/** `agent`, generation 1, without a status. */
function createDaemonSet({ metadata, ...rest }: Overrides<DaemonSet['spec'], DaemonSet['status']> = {}) {
  return createWorkload<DaemonSet>(
    'apps/v1',
    'DaemonSet',
    { selector: { matchLabels: { app: 'agent' } } },
    {
      ...rest,
      metadata: { name: 'agent', uid: 'agent-uid', ...metadata },
    },
  )
}

/** `migrate`, one completion, generation 1, without a status. */
function createJob({ metadata, ...rest }: Overrides<Job['spec'], Job['status']> = {}) {
  return createWorkload<Job>(
    'batch/v1',
    'Job',
    { completions: 1, selector: { matchLabels: { app: 'web' } } },
    {
      ...rest,
      metadata: { name: 'migrate', uid: 'migrate-uid', ...metadata },
    },
  )
}

function createWorkload<Kind extends KubeObject>(
  apiVersion: string,
  kind: string,
  defaults: object,
  { metadata, spec, status }: Overrides<object, object | undefined>,
): Kind {
  return {
    apiVersion,
    kind,
    metadata: { namespace: 'shop', generation: 1, ...metadata },
    spec: { template: createTemplate(), ...defaults, ...spec },
    ...(status === undefined ? {} : { status }),
  } as unknown as Kind
}

/** `web`, which selects app=web and sends port 80 to the port named http. */
function createService({
  metadata,
  spec,
  status = {},
}: Overrides<NonNullable<Service['spec']>, Service['status']> = {}): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'shop', uid: 'web-svc-uid', ...metadata },
    spec: {
      type: 'ClusterIP',
      clusterIP: '10.0.0.1',
      selector: { app: 'web' },
      ports: [{ port: 80, targetPort: 'http' }],
      ...spec,
    },
    status,
  }
}

/** A node that has joined long before the gate. */
function createNode(name: string, { ready = true, cordoned = false, createdAt = -1000, taints = [] as object[] } = {}) {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, uid: `${name}-uid`, creationTimestamp: iso(createdAt) },
    spec: { unschedulable: cordoned, ...(taints.length > 0 && { taints }) },
    status: { conditions: [condition('Ready', ready ? 'True' : 'Unknown')] },
  } as Node
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
function createRevision(
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
function createReplicaSet(
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
function createPod(
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
function createBarePod({ metadata, ...rest }: Overrides<PodSpec, PodStatus> = {}): Pod {
  const { ownerReferences: _, ...own } = createPod(rest).metadata
  return { ...createPod(rest), metadata: { ...own, name: 'once', uid: 'once-uid', ...metadata } }
}

/** The EndpointSlice of a Service with these pods. */
function createSlice(
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
function createAutoscaler(active: string): KubeObject {
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

function running(startedAt = 1): ContainerState {
  return { running: { startedAt: iso(startedAt) } }
}

function waiting(reason: string, message?: string): ContainerState {
  return { waiting: { reason, ...(message === undefined ? {} : { message }) } }
}

function terminated(exitCode: number, finishedAt: number, rest: Partial<ContainerStateTerminated> = {}) {
  const startedAt = iso(finishedAt - 1)
  const reason = exitCode === 0 ? 'Completed' : 'Error'
  return { terminated: { exitCode, reason, startedAt, finishedAt: iso(finishedAt), ...rest } } satisfies ContainerState
}

function createStatus(overrides: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name: 'app', ready: false, restartCount: 0, state: waiting('ContainerCreating'), ...overrides }
}

/** The status of a pod whose containers run and are ready since `startedAt`. */
function readyStatus(startedAt = 1, rest: Partial<ContainerStatus> = {}): PodStatus {
  return {
    phase: 'Running',
    conditions: [condition('Initialized', 'True'), condition('Ready', 'True', { lastTransitionTime: iso(startedAt) })],
    containerStatuses: [createStatus({ ready: true, started: true, state: running(startedAt), ...rest })],
  }
}

/** The status of a pod with one container that is not ready. */
function podStatus(container: Partial<ContainerStatus>, rest: Partial<PodStatus> = {}): PodStatus {
  return {
    phase: 'Running',
    startTime: iso(1),
    conditions: [condition('Initialized', 'True'), condition('Ready', 'False')],
    containerStatuses: [createStatus(container)],
    ...rest,
  }
}

/** The status of a pod whose container died for the nth time at `finishedAt` and is not yet restarted. */
function deadStatus(nth: number, finishedAt: number, rest: Partial<ContainerStateTerminated> = {}): PodStatus {
  return podStatus({ restartCount: nth - 1, state: terminated(3, finishedAt, rest) })
}

/** The status of a pod whose container died for the nth time at `finishedAt` and waits for its restart. */
function crashLoopStatus(nth: number, finishedAt: number, rest: Partial<ContainerStateTerminated> = {}): PodStatus {
  return podStatus({
    restartCount: nth - 1,
    state: waiting('CrashLoopBackOff', 'back-off restarting failed container'),
    lastState: terminated(3, finishedAt, rest),
  })
}

/** An event about an object, or about one of its containers. */
function createEvent(
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

/** Objects of the cluster. */
export const make = {
  autoscaler: createAutoscaler,
  barePod: createBarePod,
  container: createContainer,
  containerStatus: createStatus,
  daemonSet: createDaemonSet,
  deployment: createDeployment,
  event: createEvent,
  job: createJob,
  node: createNode,
  pod: createPod,
  replicaSet: createReplicaSet,
  revision: createRevision,
  service: createService,
  slice: createSlice,
  statefulSet: createStatefulSet,
  template: createTemplate,
}

/** The status of a pod. */
export const podIs = { dead: deadStatus, looping: crashLoopStatus, ready: readyStatus, unready: podStatus }

/** The state of a container. */
export const is = { running, terminated, waiting }
