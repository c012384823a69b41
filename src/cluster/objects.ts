/**
 * The fields of Kubernetes objects that the gate reads, as JSON of the API (timestamps are strings).
 * Every field may be absent: clusters may have any version, and objects are untrusted.
 */

/** A kind, of one version of its group. */
export interface KindName {
  readonly apiVersion: string
  readonly kind: string
}

/** The name of one object; without `namespace`, of a cluster-scoped one. */
export interface ObjectName extends KindName {
  readonly namespace?: string
  readonly name: string
}

export interface OwnerReference {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
}

/** An entry of `metadata.managedFields`, without its field set. */
export interface ManagedFields {
  manager?: string
  operation?: string
  subresource?: string
  time?: string
  /** The pointers of the fields that it owns; only of objects whose records are kept (`Redactor.keepRecordsOf`). */
  ownedFields?: readonly string[]
}

export interface ObjectMeta {
  name: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: OwnerReference[]
  finalizers?: string[]
  managedFields?: ManagedFields[]
  /** What was applied last: a keyed hash of each leaf by its pointer; only of objects whose records are kept. */
  applied?: Readonly<Record<string, string>>
}

/** Any object; the interfaces below narrow `spec` and `status`. */
export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  spec?: object
  status?: object
}

export function nameOf({ apiVersion, kind, metadata: { namespace, name } }: KubeObject): ObjectName {
  return { apiVersion, kind, name, namespace }
}

/** `apps` of `apps/v1`, empty for the core group. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/')
  return slash < 0 ? '' : apiVersion.slice(0, slash)
}

/** An object that a statement is about. It becomes text only where it is rendered, by `subjectText`. */
export interface Subject {
  readonly group: string
  readonly kind: string
  readonly namespace?: string | undefined
  readonly name: string
}

export function subjectOf({ apiVersion, kind, metadata: { namespace, name } }: KubeObject): Subject {
  return { group: groupOf(apiVersion), kind, namespace, name }
}

/** `pod/web-x`. */
export function subjectText({ kind, name }: Pick<Subject, 'kind' | 'name'>): string {
  return `${kind.toLowerCase()}/${name}`
}

export function isPodSubject({ group, kind }: Subject): boolean {
  return group === '' && kind === 'Pod'
}

/** Whether two subjects are the same object. */
export function isSameSubject(a: Subject, b: Subject): boolean {
  return a.name === b.name && a.kind === b.kind && a.group === b.group && a.namespace === b.namespace
}

/** The short name for logs and messages: `deployment/web`. */
export function shortName({ kind, metadata }: { kind: string; metadata: { name: string } }): string {
  return `${kind.toLowerCase()}/${metadata.name}`
}

export interface Condition {
  type: string
  status: string
  reason?: string
  message?: string
  lastTransitionTime?: string
  lastUpdateTime?: string
  observedGeneration?: number | string
}

export interface LabelSelector {
  matchLabels?: Record<string, string>
  matchExpressions?: { key: string; operator: string; values?: string[] }[]
}

export interface EnvVar {
  name: string
  value?: string
  valueFrom?: object
}

export interface Probe {
  initialDelaySeconds?: number
  periodSeconds?: number
  timeoutSeconds?: number
  failureThreshold?: number
  successThreshold?: number
  httpGet?: { port?: number | string; path?: string; scheme?: string }
  tcpSocket?: { port?: number | string }
  exec?: { command?: string[] }
  grpc?: { port?: number }
}

export interface Container {
  name: string
  lifecycle?: { postStart?: object }
  image?: string
  imagePullPolicy?: string
  command?: string[]
  args?: string[]
  env?: EnvVar[]
  envFrom?: object[]
  ports?: { name?: string; containerPort: number; protocol?: string }[]
  resources?: { limits?: Record<string, string>; requests?: Record<string, string> }
  readinessProbe?: Probe
  livenessProbe?: Probe
  startupProbe?: Probe
  /** `Always` on an init container makes it a sidecar (KEP-753). */
  restartPolicy?: string
  workingDir?: string
  volumeMounts?: { name: string; mountPath: string; subPath?: string }[]
}

/** A volume of a pod with its source. */
interface Volume {
  name: string
  secret?: { secretName?: string }
  configMap?: { name?: string }
  persistentVolumeClaim?: { claimName?: string }
  ephemeral?: object
  image?: { reference?: string }
}

export interface PodSpec {
  /** Of the pod as a whole (KEP-2837). */
  resources?: Container['resources']
  resourceClaims?: { name: string; resourceClaimName?: string; resourceClaimTemplateName?: string }[]
  containers?: Container[]
  initContainers?: Container[]
  restartPolicy?: string
  nodeName?: string
  hostNetwork?: boolean
  serviceAccountName?: string
  terminationGracePeriodSeconds?: number
  readinessGates?: { conditionType: string }[]
  schedulerName?: string
  schedulingGates?: { name: string }[]
  tolerations?: Toleration[]
  volumes?: Volume[]
}

export interface ContainerStateTerminated {
  exitCode?: number
  signal?: number
  reason?: string
  message?: string
  startedAt?: string
  finishedAt?: string
}

export interface ContainerState {
  waiting?: { reason?: string; message?: string }
  running?: { startedAt?: string }
  terminated?: ContainerStateTerminated
}

export interface ContainerStatus {
  name: string
  ready?: boolean
  started?: boolean
  restartCount?: number
  image?: string
  imageID?: string
  state?: ContainerState
  lastState?: ContainerState
}

export interface PodStatus {
  phase?: string
  reason?: string
  message?: string
  startTime?: string
  observedGeneration?: number
  conditions?: Condition[]
  containerStatuses?: ContainerStatus[]
  initContainerStatuses?: ContainerStatus[]
}

export interface Pod extends KubeObject {
  spec?: PodSpec
  status?: PodStatus
}

export interface PodTemplate {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> }
  spec?: PodSpec
}

/** Common to the specs of Deployment, ReplicaSet, StatefulSet and DaemonSet. */
interface WorkloadSpec {
  replicas?: number
  minReadySeconds?: number
  selector?: LabelSelector
  template?: PodTemplate
}

/** Common to the statuses of Deployment, ReplicaSet and StatefulSet. */
export interface WorkloadStatus {
  observedGeneration?: number
  replicas?: number
  readyReplicas?: number
  updatedReplicas?: number
  availableReplicas?: number
  conditions?: Condition[]
}

export interface Deployment extends KubeObject {
  spec?: WorkloadSpec & { strategy?: { type?: string }; paused?: boolean; progressDeadlineSeconds?: number }
  status?: WorkloadStatus & { unavailableReplicas?: number; terminatingReplicas?: number }
}

export interface ReplicaSet extends KubeObject {
  spec?: WorkloadSpec
  status?: WorkloadStatus
}

export interface StatefulSet extends KubeObject {
  spec?: WorkloadSpec & {
    serviceName?: string
    podManagementPolicy?: string
    ordinals?: { start?: number }
    updateStrategy?: { type?: string; rollingUpdate?: { partition?: number; maxUnavailable?: number | string } }
  }
  status?: WorkloadStatus & { currentReplicas?: number; currentRevision?: string; updateRevision?: string }
}

export interface DaemonSet extends KubeObject {
  spec?: WorkloadSpec & {
    updateStrategy?: { type?: string; rollingUpdate?: { maxUnavailable?: number | string; maxSurge?: number | string } }
  }
  status?: {
    observedGeneration?: number
    desiredNumberScheduled?: number
    currentNumberScheduled?: number
    updatedNumberScheduled?: number
    numberReady?: number
    numberAvailable?: number
    numberMisscheduled?: number
    conditions?: Condition[]
  }
}

/** A core/v1 Event; controllers set either `count` or `series.count`. */
export interface EventObject extends KubeObject {
  involvedObject?: {
    apiVersion?: string
    kind?: string
    namespace?: string
    name?: string
    uid?: string
    fieldPath?: string
  }
  type?: string
  reason?: string
  message?: string
  count?: number
  firstTimestamp?: string | null
  lastTimestamp?: string | null
  eventTime?: string | null
  series?: { count?: number; lastObservedTime?: string } | null
  source?: { component?: string; host?: string }
  reportingComponent?: string
}

export interface Job extends KubeObject {
  spec?: {
    parallelism?: number
    managedBy?: string
    completions?: number
    completionMode?: string
    backoffLimit?: number
    backoffLimitPerIndex?: number
    podReplacementPolicy?: string
    activeDeadlineSeconds?: number
    suspend?: boolean
    selector?: LabelSelector
    template?: PodTemplate
  }
  status?: {
    active?: number
    ready?: number
    succeeded?: number
    failed?: number
    /** The indexes that are not retried: `1,4-6`. */
    failedIndexes?: string
    startTime?: string
    completionTime?: string
    conditions?: Condition[]
  }
}

export interface ServicePort {
  name?: string
  port?: number
  targetPort?: number | string
  protocol?: string
}

export interface ServiceSpec {
  type?: string
  clusterIP?: string
  selector?: Record<string, string>
  ports?: ServicePort[]
  externalName?: string
  loadBalancerIP?: string
  externalIPs?: string[]
}

export interface Service extends KubeObject {
  spec?: ServiceSpec
  status?: { loadBalancer?: { ingress?: { ip?: string; hostname?: string }[] }; conditions?: Condition[] }
}

export interface EndpointSlice extends KubeObject {
  endpoints?: {
    addresses?: string[]
    conditions?: { ready?: boolean; serving?: boolean; terminating?: boolean }
    targetRef?: { kind?: string; name?: string; uid?: string }
  }[]
  ports?: { name?: string; port?: number; protocol?: string }[]
}

export interface PersistentVolumeClaim extends KubeObject {
  spec?: { storageClassName?: string; volumeName?: string }
  status?: { phase?: string; conditions?: Condition[] }
}

export interface Taint {
  key: string
  value?: string
  effect?: string
}

/** Without `key`, it tolerates all taints; without `effect`, every effect. */
export interface Toleration {
  key?: string
  operator?: string
  value?: string
  effect?: string
  /** How long it tolerates a taint with the effect NoExecute; absent: without end. */
  tolerationSeconds?: number
}

export interface Node extends KubeObject {
  spec?: { unschedulable?: boolean; taints?: Taint[] }
  status?: { conditions?: Condition[] }
}

export interface Ingress extends KubeObject {
  spec?: {
    ingressClassName?: string
    defaultBackend?: IngressBackend
    tls?: { secretName?: string }[]
    rules?: { host?: string; http?: { paths?: { path?: string; backend?: IngressBackend }[] } }[]
  }
  status?: { loadBalancer?: { ingress?: { ip?: string; hostname?: string }[] } }
}

export interface IngressBackend {
  service?: { name?: string; port?: { name?: string; number?: number } }
}

/** A StorageClass, which has no `spec`: the fields are at the top level. */
interface StorageClass extends KubeObject {
  volumeBindingMode?: string
}

/** The kinds whose objects have a type here. The fields that are read are checked when they arrive (`objectMistake`). */
interface TypedKinds {
  DaemonSet: DaemonSet
  Deployment: Deployment
  EndpointSlice: EndpointSlice
  Event: EventObject
  Job: Job
  Node: Node
  Pod: Pod
  ReplicaSet: ReplicaSet
  Service: Service
  StatefulSet: StatefulSet
  StorageClass: StorageClass
}

export type ObjectOf<Kind> = Kind extends keyof TypedKinds ? TypedKinds[Kind] : KubeObject

/** Whether an object is of a kind. */
export function isOfKind<Kind extends string>(object: KubeObject | undefined, kind: Kind): object is ObjectOf<Kind> {
  return object?.kind === kind
}

/** A part of an object whose fields are only defined by the schema of its kind. */
export type Fields = Readonly<Record<string, unknown>>

/** Whether a value is an object: neither a list nor null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * A function of an object that keeps each result as long as its object. Objects do not change, and are assessed again after
 * changes of others.
 */
export function oncePerObject<Result, Of extends object = KubeObject>(
  read: (object: Of) => Result,
): (object: Of) => Result {
  const known = new WeakMap<Of, { readonly result: Result }>()
  return (object) => {
    let found = known.get(object)
    if (found === undefined) {
      found = { result: read(object) }
      known.set(object, found)
    }
    return found.result
  }
}
