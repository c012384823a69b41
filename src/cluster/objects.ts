import { isDeepStrictEqual } from 'node:util'
import type * as api from '@kubernetes/client-node/dist/gen/models/all.js'

/* Types of Kubernetes objects as JSON, and functions for any kind. Every field may be absent: objects are untrusted. */

/** A kind in one version of its API group. */
export interface KindName {
  readonly apiVersion: string
  readonly kind: string
}

/** The name of one object. Without `namespace`, the object is cluster-scoped. */
export interface ObjectName extends KindName {
  readonly namespace?: string
  readonly name: string
}

/** An entry of `metadata.managedFields` without its field set. */
export interface ManagedFields {
  manager?: string
  operation?: string
  subresource?: string
  time?: string
  /** Pointers to the fields that the manager owns. Only in objects whose records are kept (`keepRecordsOf`). */
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
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: OwnerReference[]
  finalizers?: string[]
  managedFields?: ManagedFields[]
  /** The values that kubectl applied last: pointers to the fields, with keyed hashes. Only if records are kept. */
  applied?: Readonly<Record<string, string>>
}

/** An object of any kind. The types below define `spec` and `status` of single kinds. */
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

/** The uid of the controller that owns an object, from its owner references. */
export function controllerUidOf({ metadata }: Pick<KubeObject, 'metadata'>): string | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller)?.uid
}

/** The group of an API version: `apps` for `apps/v1`. Empty for the core group. */
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

/** The short name of a subject for messages: `pod/web-x`. */
export function subjectText({ kind, name }: Pick<Subject, 'kind' | 'name'>): string {
  return `${kind.toLowerCase()}/${name}`
}

export function isPodSubject({ group, kind }: Subject): boolean {
  return group === '' && kind === 'Pod'
}

export function isSameSubject(a: Subject, b: Subject): boolean {
  return a.name === b.name && a.kind === b.kind && a.group === b.group && a.namespace === b.namespace
}

/** The desired number of pods (`spec.replicas`). Undefined for a DaemonSet, which has no such field. */
export function desiredReplicasOf({ spec }: KubeObject): number | undefined {
  return (spec as { readonly replicas?: number } | undefined)?.replicas
}

/** Whether a pod has ended: no container runs, and none will start again. */
export function hasEnded({ status }: Pick<Pod, 'status'>): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
}

/** The short name of an object for logs and messages: `deployment/web`. */
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

/** Required fields that identify the entries of a list. Rules read these fields. */
type EntryName = 'conditionType' | 'containerPort' | 'key' | 'mountPath' | 'name' | 'operator'

/** The JSON of a client-node model: times are strings, and any field may be absent. */
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

/** An object of one kind, with the metadata of `KubeObject`. */
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
export type Service = JsonOfKind<api.V1Service>
export type EndpointSlice = JsonOfKind<api.V1EndpointSlice>
export type PersistentVolumeClaim = JsonOfKind<api.V1PersistentVolumeClaim>
export type Taint = Json<api.V1Taint>
export type Toleration = Json<api.V1Toleration>
export type Node = JsonOfKind<api.V1Node>
export type Ingress = JsonOfKind<api.V1Ingress>
type StorageClass = JsonOfKind<api.V1StorageClass>

/** The status fields that Deployments, ReplicaSets and StatefulSets have in common. */
export type WorkloadStatus = Pick<
  NonNullable<StatefulSet['status']>,
  'observedGeneration' | 'replicas' | 'readyReplicas' | 'updatedReplicas' | 'availableReplicas' | 'conditions'
>

/** A Deployment, ReplicaSet, StatefulSet, DaemonSet or ReplicationController. The last has a bare map as selector. */
export type Workload = KubeObject & {
  spec?: Pick<NonNullable<Deployment['spec']>, 'minReadySeconds' | 'paused' | 'replicas'> &
    Pick<NonNullable<StatefulSet['spec']>, 'podManagementPolicy'> & {
      selector?: LabelSelector | Record<string, string>
      template?: PodTemplate
      updateStrategy?: { type?: string }
    }
  status?: { conditions?: Condition[]; desiredNumberScheduled?: number }
}

/** An Event. Controllers set either `count` or `series.count`. */
export type EventObject = JsonOfKind<api.CoreV1Event>

/** The kinds whose objects have a type here. `explainWrongType` checks the fields when an object arrives. */
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

/** A part of an object whose fields have no type here. */
export type Fields = Readonly<Record<string, unknown>>

/** Whether a value is a JSON object, not a list or null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Like `Array.map`, but returns the same array if nothing changed. */
export function mapArray(values: unknown[], map: (value: unknown) => unknown): unknown[] {
  let changed: unknown[] | undefined
  values.forEach((value, index) => {
    const mapped = map(value)
    if (mapped === value) return
    changed ??= [...values]
    changed[index] = mapped
  })
  return changed ?? values
}

/** Like `mapArray`, for the fields of an object. A field `__proto__` stays a field and never sets the prototype. */
export function mapObject(
  object: Record<string, unknown>,
  map: (value: unknown, name: string) => unknown,
): Record<string, unknown> {
  let changed: Record<string, unknown> | undefined
  for (const name of Object.keys(object)) {
    const value = object[name]
    const mapped = map(value, name)
    if (mapped === value) continue
    changed ??= { ...object }
    changed[name] = mapped
  }
  return changed ?? object
}

/** Removes the fields `toString` and `valueOf`: they break conversions in JavaScript, and Kubernetes does not use them. */
export function withoutConversionMethods(object: Record<string, unknown>): Record<string, unknown> {
  if (!Object.hasOwn(object, 'toString') && !Object.hasOwn(object, 'valueOf')) return object
  const { toString: _, valueOf: __, ...others } = object
  return others
}

/** Caches the result of `read` for each object. The gate never changes an object, but replaces it by a new version. */
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

/** Compares timestamps for `sort`: absent first, then the earliest. `localeCompare` needs 6 ms for its first call. */
export function compareTimestamps(a = '', b = ''): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/**
 * When an event last occurred: an RFC 3339 timestamp, or undefined. Legacy events have `lastTimestamp`. Events of
 * events.k8s.io have `eventTime` and, if the event is repeated, `series.lastObservedTime`.
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
  // Nearly every event has only one timestamp. Without sorting, hundreds of events can be read after each change.
  const [latest] = timestamps.length > 1 ? timestamps.toSorted((a, b) => Date.parse(b) - Date.parse(a)) : timestamps
  return latest ?? firstTimestamp ?? metadata.creationTimestamp
}

/** When an event first occurred: an RFC 3339 timestamp, or undefined. */
export function firstOccurrence({ firstTimestamp, eventTime, metadata }: EventObject): string | undefined {
  return (firstTimestamp || eventTime || metadata.creationTimestamp) ?? undefined
}

/**
 * Compares two events for `sort`, by their last occurrence, the earliest first. Some timestamps contain only whole
 * seconds, so events of the same second are sorted by resource version.
 */
export function compareLastOccurrence(a: EventObject, b: EventObject): number {
  return secondOfEvent(a) - secondOfEvent(b) || (compareResourceVersions(a, b) ?? 0)
}

function secondOfEvent(event: EventObject): number {
  const at = Date.parse(lastOccurrence(event) ?? '')
  return Number.isNaN(at) ? 0 : Math.floor(at / 1000)
}

/** Negative if the resource version of the first object is older. Undefined if the versions cannot be compared. */
export function compareResourceVersions(a: KubeObject, b: KubeObject): number | undefined {
  const difference = resourceVersionNumber(a) - resourceVersionNumber(b)
  return Number.isNaN(difference) ? undefined : difference
}

function resourceVersionNumber({ metadata: { resourceVersion } }: KubeObject): number {
  const version = Number(resourceVersion ?? Number.NaN)
  return Number.isSafeInteger(version) ? version : Number.NaN
}

/**
 * The names of the clients that created or changed an object, such as `kubelet (status)`. They come from the new or
 * changed entries of `managedFields`. Undefined if no entry changed.
 *
 * Each entry contains the time of the client's last change, in whole seconds
 * (https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers). If a client writes twice within one
 * second, the entry stays the same. A scale, a binding or a deletion changes no entry.
 */
export function authorsOf(before: KubeObject | undefined, after: KubeObject): string | undefined {
  return managerNames(changedEntries(before, after))
}

/** Like `authorsOf`, but only the clients that changed an object outside its status. */
export function specAuthorsOf(before: KubeObject, after: KubeObject): string | undefined {
  return managerNames(
    changedEntries(before, after).filter(
      ({ manager, subresource }) => subresource !== 'status' && manager !== 'unknown',
    ),
  )
}

function changedEntries(before: KubeObject | undefined, after: KubeObject): readonly ManagedFields[] {
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

/** Whether two versions of an object differ only in the status and in metadata that every write changes. */
export function hasOnlyStatusChanges(before: KubeObject, after: KubeObject): boolean {
  const withoutStatus = ({ status: _status, metadata, ...object }: KubeObject) => {
    const { resourceVersion: _version, managedFields: _fields, ...others } = metadata
    return { ...object, metadata: others }
  }
  return isDeepStrictEqual(withoutStatus(before), withoutStatus(after))
}
