import { isDeepStrictEqual } from 'node:util'
import type * as api from '@kubernetes/client-node/dist/gen/models/all.js'

/** Kubernetes objects as JSON. Every field may be absent: clusters have any version, and objects are untrusted. */

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

/** An entry of `metadata.managedFields`, without its field set. */
export interface ManagedFields {
  manager?: string
  operation?: string
  subresource?: string
  time?: string
  /** The pointers of the fields that the manager owns; only in objects whose records are kept (`keepRecordsOf`). */
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
  /** What kubectl applied last: a keyed hash of each leaf by its pointer; only in objects whose records are kept. */
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

/** The uid of the controller that owns an object. */
export function controllerOf({ metadata }: Pick<KubeObject, 'metadata'>): string | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller)?.uid
}

/** `apps` of `apps/v1`, empty for the core group. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/')
  return slash < 0 ? '' : apiVersion.slice(0, slash)
}

/** The object that a problem is about. Renderers convert it to text (`subjectText`). */
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

export function isSameSubject(a: Subject, b: Subject): boolean {
  return a.name === b.name && a.kind === b.kind && a.group === b.group && a.namespace === b.namespace
}

/** The number of pods that an object wants (`spec.replicas`); a DaemonSet has no such field. */
export function desiredReplicasOf({ spec }: KubeObject): number | undefined {
  return (spec as { readonly replicas?: number } | undefined)?.replicas
}

/** Whether the containers of a pod have ended, and none of them is started again. */
export function hasEnded({ status }: Pick<Pod, 'status'>): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
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

/** The fields that identify the entries of a list. The API requires them, and rules read them. */
type EntryName = 'conditionType' | 'containerPort' | 'key' | 'mountPath' | 'name' | 'operator'

/** A model of the API's client as JSON: times are strings, and fields may be absent that the API requires. */
type Json<Model> = Model extends Date
  ? string
  : Model extends readonly (infer Item)[]
    ? Json<Item>[]
    : Model extends { type: string; status: string }
      ? Condition
      : Model extends object
        ? JsonObject<Model>
        : Model

type JsonObject<Model> = string extends keyof Model
  ? Model
  : { [Field in keyof Model as Extract<Field, EntryName>]: Json<Model[Field]> } & {
      [Field in keyof Model as Exclude<Field, EntryName>]?: Json<Model[Field]>
    }

/** An object of a kind. Its metadata are those of any kind. */
type JsonOfKind<Model> = KubeObject & Omit<JsonObject<Model>, 'apiVersion' | 'kind' | 'metadata'>

export type OwnerReference = api.V1OwnerReference
export type LabelSelector = Json<api.V1LabelSelector>
export type Probe = Json<api.V1Probe>
export type Container = Json<api.V1Container>
export type ContainerState = Json<api.V1ContainerState>
export type ContainerStateTerminated = Json<api.V1ContainerStateTerminated>
export type ContainerStatus = Json<api.V1ContainerStatus>
export type PodSpec = Json<api.V1PodSpec>
export type PodStatus = Json<api.V1PodStatus>
export type PodTemplate = Json<api.V1PodTemplateSpec>
export type Pod = JsonOfKind<api.V1Pod>
export type Deployment = JsonOfKind<api.V1Deployment>
export type ReplicaSet = JsonOfKind<api.V1ReplicaSet>
export type StatefulSet = JsonOfKind<api.V1StatefulSet>
export type DaemonSet = JsonOfKind<api.V1DaemonSet>
export type Job = JsonOfKind<api.V1Job>
export type ServicePort = Json<api.V1ServicePort>
export type ServiceSpec = Json<api.V1ServiceSpec>
export type Service = JsonOfKind<api.V1Service>
export type EndpointSlice = JsonOfKind<api.V1EndpointSlice>
export type PersistentVolumeClaim = JsonOfKind<api.V1PersistentVolumeClaim>
export type Taint = Json<api.V1Taint>
export type Toleration = Json<api.V1Toleration>
export type Node = JsonOfKind<api.V1Node>
export type Ingress = JsonOfKind<api.V1Ingress>
type StorageClass = JsonOfKind<api.V1StorageClass>

/** Common to the statuses of Deployment, ReplicaSet and StatefulSet. */
export type WorkloadStatus = Pick<
  NonNullable<StatefulSet['status']>,
  'observedGeneration' | 'replicas' | 'readyReplicas' | 'updatedReplicas' | 'availableReplicas' | 'conditions'
>

/** The fields of the kinds that keep pods running. The selector of a ReplicationController is a bare map. */
export type Workload = KubeObject & {
  spec?: Pick<NonNullable<Deployment['spec']>, 'minReadySeconds' | 'paused' | 'replicas'> &
    Pick<NonNullable<StatefulSet['spec']>, 'podManagementPolicy'> & {
      selector?: LabelSelector | Record<string, string>
      template?: PodTemplate
      updateStrategy?: { type?: string }
    }
  status?: { conditions?: Condition[]; desiredNumberScheduled?: number }
}

/** Controllers set either `count` or `series.count`. */
export type EventObject = JsonOfKind<api.CoreV1Event>

/** The kinds whose objects have a type here. The fields that are read are checked when they arrive (`explainWrongType`). */
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
 * A function that calls `read` once for each object: an object never changes, but is read again after changes of
 * others.
 */
export function cachePerObject<Result, Of extends object = KubeObject>(
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

/**
 * Compares two timestamps of the API server, for `sort`: the earliest first, an absent one before all. `localeCompare` would load the
 * collation rules of ICU at its first call, which takes 6 ms.
 */
export function compareTimestamps(a = '', b = ''): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/**
 * When an event last occurred: an RFC 3339 timestamp of the server. Legacy events have `lastTimestamp`; events of
 * events.k8s.io have `eventTime` and, if repeated, `series.lastObservedTime`. Undefined if no timestamp is set.
 * https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
 */
export function lastOccurrence({
  series,
  lastTimestamp,
  eventTime,
  firstTimestamp,
  metadata,
}: EventObject): string | undefined {
  const timestamps = [series?.lastObservedTime, lastTimestamp, eventTime].flatMap((timestamp) => timestamp || [])
  // Nearly every event has only one of them, and needs no sorting: hundreds of events may be read after each change.
  const [latest] = timestamps.length > 1 ? timestamps.toSorted((a, b) => Date.parse(b) - Date.parse(a)) : timestamps
  return latest ?? firstTimestamp ?? metadata.creationTimestamp
}

/** When an event first occurred: an RFC 3339 timestamp of the server; undefined if no timestamp is set. */
export function firstOccurrence({ firstTimestamp, eventTime, metadata }: EventObject): string | undefined {
  return (firstTimestamp || eventTime || metadata.creationTimestamp) ?? undefined
}

/**
 * Sorts events by their last occurrence, earliest first. Some timestamps have only whole seconds, so events of the same
 * second are sorted by resource version.
 */
export function compareLastOccurrence(a: EventObject, b: EventObject): number {
  return secondOfEvent(a) - secondOfEvent(b) || resourceVersionNumber(a) - resourceVersionNumber(b)
}

function secondOfEvent(event: EventObject): number {
  const at = Date.parse(lastOccurrence(event) ?? '')
  return Number.isNaN(at) ? 0 : Math.floor(at / 1000)
}

function resourceVersionNumber({ metadata: { resourceVersion } }: EventObject): number {
  const version = Number(resourceVersion ?? 0)
  return Number.isSafeInteger(version) ? version : 0
}

/**
 * The names of the clients that wrote an object or changed it, from its `managedFields`: `kubelet (status)`,
 * `kubectl-client-side-apply`. Undefined if they do not show the author.
 *
 * Each entry has the time of its client's last change, in whole seconds
 * (https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers). If a client writes twice within one second,
 * its entry stays the same. A scale, a binding and a deletion leave no entry with a time.
 */
export function authorsOf(before: KubeObject | undefined, after: KubeObject): string | undefined {
  return managerNames(writtenEntries(before, after))
}

/** The clients that changed an object outside its status, as in `authorsOf`. */
export function specAuthorsOf(before: KubeObject, after: KubeObject): string | undefined {
  return managerNames(
    writtenEntries(before, after).filter(
      ({ manager, subresource }) => subresource !== 'status' && manager !== 'unknown',
    ),
  )
}

function writtenEntries(before: KubeObject | undefined, after: KubeObject): readonly ManagedFields[] {
  const known = new Map((before?.metadata.managedFields ?? []).map((entry) => [managerKey(entry), entry.time]))
  return (after.metadata.managedFields ?? []).filter(
    (entry) => !known.has(managerKey(entry)) || known.get(managerKey(entry)) !== entry.time,
  )
}

function managerNames(entries: readonly ManagedFields[]): string | undefined {
  return entries.length === 0 ? undefined : [...new Set(entries.map(managerText))].join(', ')
}

function managerText({ manager = 'somebody', operation, subresource }: ManagedFields): string {
  const how = [...(operation === 'Apply' ? ['server-side apply'] : []), ...(subresource ? [subresource] : [])]
  return how.length === 0 ? manager : `${manager} (${how.join(', ')})`
}

function managerKey({ manager, operation, subresource }: ManagedFields): string {
  return JSON.stringify([manager, operation, subresource])
}

/** Whether two versions of an object are equal apart from the status and from what each write changes. */
export function hasOnlyStatusChanges(before: KubeObject, after: KubeObject): boolean {
  const rest = ({ status: _status, metadata, ...object }: KubeObject) => {
    const { resourceVersion: _version, managedFields: _fields, ...others } = metadata
    return { ...object, metadata: others }
  }
  return isDeepStrictEqual(rest(before), rest(after))
}
