import { maxEventsOfObject } from '../thresholds.ts'
import { isAccessDenied, isCredentialRefusal, isMissing, isUnavailable } from './failures.ts'
import { type Failure, type FeedEvent, type LogText, requestKey, type TimedAnswer, type WatchRequest } from './feed.ts'
import {
  compareLastOccurrence,
  compareResourceVersions,
  type EventObject,
  groupOf,
  type KindName,
  type KubeObject,
  nameOf,
  type ObjectName,
  type ObjectOf,
} from './objects.ts'

/* The last known state of all objects, built from the events of the feed. */

/**
 * Whether the store contains all objects of a request. `pending`: the first list is missing. `unknown`: access is
 * denied or nothing watches the request, so objects may exist that the store does not contain.
 */
export type ListState = 'pending' | 'complete' | 'unknown'

/** A value, with the number of the event that reported the value. */
type Numbered<T> = T & { readonly number: number }

/** An object before and after a change. `before` is missing for a new object, `after` for a deleted one. */
export type Change =
  | { readonly before?: KubeObject; readonly after: KubeObject }
  | { readonly before: KubeObject; readonly after?: undefined }

/** Shared by all objects without Events. Callers compare arrays by identity to find changes. */
const noEvents: readonly EventObject[] = []

/**
 * Stores the last known state of every object, and the Events about each object. The content depends only on the events
 * of the feed and their order, so a replay gives the same content.
 */
export class Store {
  readonly #objects = new Map<string, KubeObject>()
  readonly #byUid = new Map<string, KubeObject>()
  readonly #owned = new Map<string, Map<string, KubeObject>>()
  readonly #byKind = new Map<string, Map<string, KubeObject>>()
  /** The Events about each object, by the uid and by the name of the object, sorted by their last occurrence. */
  readonly #events = new Map<string, readonly EventObject[]>()
  /** The last state of each deleted object, by name. Used to ignore late events about older versions of the object. */
  readonly #deleted = new Map<string, KubeObject>()
  /** The requests whose lists are complete. Grouped by kind and namespace, so that a search is fast. */
  readonly #synced = new Map<string, Numbered<WatchRequest>[]>()
  /** Caches the results of `#lastListNumber`, because each assessment needs them for all lists of its target. */
  #lastListNumbers = new WeakMap<WatchRequest, number>()
  /** The last failure of each request. Only another 403 replaces a 403. */
  readonly #refused = new Map<string, Numbered<Failure>>()
  /** The number of events that were applied. */
  #applied = 0
  readonly #willSync: (request: WatchRequest) => boolean
  readonly #watched: WatchedRequests
  readonly #logs = new Map<string, LogText>()
  /** Answers to `http-checks`, by the index of the check and the uid of the pod. */
  readonly #answers = new Map<string, TimedAnswer[]>()
  /** By group and kind: whether discovery lists a status subresource. */
  readonly #statuses = new Map<string, boolean>()

  /**
   * @param willSync returns whether the first list of a request will arrive, because the request is watched or recorded
   * @param watched the requests that are or were watched
   */
  constructor(willSync: (request: WatchRequest) => boolean, watched = new WatchedRequests()) {
    this.#willSync = willSync
    this.#watched = watched
  }

  /**
   * Applies an event and returns the changes. A repeated or outdated version of an object causes no change: two watches
   * may report the same object. An object with a new uid causes two changes: the old object is removed, the new one is
   * added.
   */
  apply(event: FeedEvent): readonly Change[] {
    this.#applied++
    switch (event.type) {
      case 'ADDED':
      case 'MODIFIED':
        return this.#putObject(event.object)
      case 'DELETED':
        return this.#deleteObject(event.object)
      case 'DISCOVERY':
        for (const { group, kind, status } of event.resources) {
          // Discovery lists each version of a kind. A status subresource in one version counts for all versions.
          const key = `${group}/${kind}`
          this.#statuses.set(key, status || this.#statuses.get(key) === true)
        }
        return []
      case 'SYNCED': {
        const place = kindKey(event.kind, event.namespace)
        this.#synced.set(place, [...(this.#synced.get(place) ?? []), { ...event, number: this.#applied }])
        this.#lastListNumbers = new WeakMap()
        return []
      }
      case 'ERROR':
        if (event.kind !== undefined) this.#storeRefusal(event)
        return []
      case 'LOG':
        this.#putLog(event)
        return []
      case 'ANSWER':
        this.#putAnswer(event)
        return []
      default:
        return []
    }
  }

  /** The object with this group, kind, namespace and name, in any version of the group. */
  get(reference: ObjectName): KubeObject | undefined {
    return this.#objects.get(objectKey(reference))
  }

  /** The last known state of an object, which may be deleted. */
  lastKnown(reference: ObjectName): KubeObject | undefined {
    const key = objectKey(reference)
    return this.#objects.get(key) ?? this.#deleted.get(key)
  }

  /** The object with this uid; undefined if the object does not exist or was deleted. */
  getByUid(uid: string): KubeObject | undefined {
    return this.#byUid.get(uid)
  }

  /** All objects of a kind in a namespace, in the order of arrival. Without `namespace`, cluster-scoped objects. */
  list<Kind extends string>(kind: Kind, namespace: string | undefined): readonly ObjectOf<Kind>[]
  list(kind: string, namespace: string | undefined): readonly KubeObject[] {
    return [...(this.#byKind.get(kindKey(kind, namespace))?.values() ?? [])]
  }

  /**
   * All objects with an owner reference to this uid, in the order of arrival. Without `kind`, objects of every kind. An
   * owner reference to an object in another namespace is invalid and ignored
   * (https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/#owner-references-in-object-specifications).
   */
  listOwned<Kind extends string>(uid: string | undefined, kind?: Kind): readonly ObjectOf<Kind>[]
  listOwned(uid: string | undefined, kind?: string): readonly KubeObject[] {
    const owned = uid === undefined ? undefined : this.#owned.get(uid)
    if (uid === undefined || owned === undefined) return []
    const namespace = this.#byUid.get(uid)?.metadata.namespace
    return [...owned.values()].filter(
      (object) =>
        (kind === undefined || object.kind === kind) &&
        (namespace === undefined || object.metadata.namespace === namespace),
    )
  }

  /**
   * The Events about an object, sorted by their last occurrence, the latest last. Events about an object without uid
   * are found by kind and name. The object need not be in the store.
   */
  eventsOf(object: KubeObject): readonly EventObject[] {
    const { uid, namespace } = object.metadata
    const key = uid === undefined ? subjectKey(nameOf(object)) : uidKey(uid, namespace)
    return this.#events.get(key) ?? noEvents
  }

  /** The end of a container's log; undefined if the log was not read. */
  logOf(namespace: string, pod: string, container: string, previous: boolean): LogText | undefined {
    return this.#logs.get(`${namespace}/${pod}/${container}/${previous}`)
  }

  /** The answers of a pod to one line of `http-checks`, the oldest first. */
  answersOf(check: number, pod: KubeObject): readonly TimedAnswer[] {
    return this.#answers.get(answersKey(check, pod)) ?? []
  }

  /** The answers of all pods, the oldest first. */
  get allAnswers(): readonly TimedAnswer[] {
    return [...this.#answers.values()].flat().toSorted((a, b) => a.at - b.at)
  }

  /** Whether the store contains all objects of a request. A 404 for the kind means that no objects exist. */
  listState(request: WatchRequest): ListState {
    const refusals = this.#failuresSinceList(request)
    if (refusals.some(isAccessDenied)) return 'unknown'
    if (this.#lastListNumber(request) > 0 || refusals.some(isMissing)) return 'complete'
    return this.#willSync(request) ? 'pending' : 'unknown'
  }

  /** The failure that prevents the reading of a request's objects, preferably a denied access; undefined without one. */
  refusalOf(request: WatchRequest): Failure | undefined {
    const refusals = this.#failuresSinceList(request)
    const isIncluded = (denied: Failure) => isSupersetOf(request, denied)
    return this.deniedAccess.find(isIncluded) ?? refusals.find(isAccessDenied) ?? refusals.at(-1)
  }

  /** The requests to which access is denied since their last complete list, in the order of arrival. */
  get deniedAccess(): readonly Failure[] {
    return [...this.#refused.values()].filter(
      (refused) => isAccessDenied(refused) && refused.number > this.#lastListNumber(refused as WatchRequest),
    )
  }

  /** Whether objects of this kind have a status subresource. Undefined if discovery does not contain the kind. */
  hasStatusSubresource({ apiVersion, kind }: KindName): boolean | undefined {
    return this.#statuses.get(`${groupOf(apiVersion)}/${kind}`)
  }

  /** The failures of a request since its last complete list. */
  #failuresSinceList(request: WatchRequest): readonly Failure[] {
    if (this.#refused.size === 0) return []
    const syncedAt = this.#lastListNumber(request)
    return [...this.#refused.values()].filter(
      (refused) => refused.number > syncedAt && this.#watched.isReportAbout(refused, request),
    )
  }

  /** The number of the last event that reported a complete list of a request; 0 without such an event. */
  #lastListNumber(request: WatchRequest): number {
    const cached = this.#lastListNumbers.get(request)
    if (cached !== undefined) return cached
    const { kind, namespace } = request
    const places = namespace === undefined ? [undefined] : [undefined, namespace]
    const lists = places.map((place) => this.#synced.get(kindKey(kind, place)))
    const number = Math.max(
      0,
      ...lists.map((list) => list?.findLast((synced) => isSupersetOf(synced, request))?.number ?? 0),
    )
    this.#lastListNumbers.set(request, number)
    return number
  }

  #storeRefusal(refusal: Failure): void {
    // That the server is unavailable matters only for requests that read evidence. Such a request has a name.
    if (isCredentialRefusal(refusal) || (isUnavailable(refusal) && refusal.name === undefined)) return
    const key = requestKey(refusal)
    const last = this.#refused.get(key)
    if (isAccessDenied(refusal) || last === undefined || !isAccessDenied(last))
      this.#refused.set(key, { ...refusal, number: this.#applied })
  }

  /** Stores a log. If a log cannot be read again, its stored text stays. */
  #putLog(log: LogText): void {
    const key = `${log.namespace}/${log.pod}/${log.container}/${log.previous}`
    if (log.why === undefined || !this.#logs.get(key)?.text) this.#logs.set(key, log)
  }

  /** Stores an answer if its pod exists. */
  #putAnswer(answer: TimedAnswer): void {
    const { check, namespace, pod: name } = answer
    const pod = this.get({ apiVersion: 'v1', kind: 'Pod', namespace, name })
    if (pod === undefined) return
    const key = answersKey(check, pod)
    const before = this.#answers.get(key)
    if (before === undefined) this.#answers.set(key, [answer])
    else before.push(answer)
  }

  #putObject(object: KubeObject): readonly Change[] {
    if (isEvent(object)) return this.#putEvent(withOriginalMessage(object))
    const key = objectKey(nameOf(object))
    const before = this.#objects.get(key)
    if (before === undefined) {
      const deleted = this.#deleted.get(key)
      if (deleted !== undefined && isEarlier(object, deleted)) return []
      this.#insertObject(key, object)
      return [{ after: object }]
    }
    if (before.metadata.uid !== object.metadata.uid) {
      if (isEarlier(object, before)) return []
      this.#removeObject(key, before)
      this.#insertObject(key, object)
      return [{ before }, { after: object }]
    }
    if (isOutdated(object, before)) return []
    this.#removeFromOwners(key, before, object)
    this.#insertObject(key, object)
    return [{ before, after: object }]
  }

  #deleteObject(object: KubeObject): readonly Change[] {
    const key = objectKey(nameOf(object))
    const before = this.#objects.get(key)
    if (before === undefined || before.metadata.uid !== object.metadata.uid) return []
    this.#removeObject(key, before)
    this.#deleted.set(key, object)
    // The final state may contain a field that the state before lacks, such as `deletionTimestamp`.
    return [{ before: object }]
  }

  #putEvent(event: EventObject): readonly Change[] {
    const { uid, kind = '', namespace = event.metadata.namespace, name = '' } = event.involvedObject ?? {}
    const subject = subjectKey({ kind, name, namespace })
    const keys = uid === undefined ? [subject] : [uidKey(uid, event.involvedObject?.namespace), subject]
    const [key = subject] = keys
    const before = this.#events.get(key)?.find(({ metadata }) => metadata.name === event.metadata.name)
    if (before !== undefined && isOutdated(event, before)) return []
    for (const each of keys) this.#events.set(each, withEvent(this.#events.get(each) ?? noEvents, event))
    return [{ before, after: event }]
  }

  #insertObject(key: string, object: KubeObject): void {
    this.#objects.set(key, object)
    if (object.metadata.uid !== undefined) this.#byUid.set(object.metadata.uid, object)
    const kind = kindKey(object.kind, object.metadata.namespace)
    const same = this.#byKind.get(kind) ?? new Map<string, KubeObject>()
    this.#byKind.set(kind, same.set(key, object))
    for (const owner of object.metadata.ownerReferences ?? []) {
      const owned = this.#owned.get(owner.uid) ?? new Map<string, KubeObject>()
      owned.set(key, object)
      this.#owned.set(owner.uid, owned)
    }
  }

  #removeObject(key: string, object: KubeObject): void {
    this.#objects.delete(key)
    if (object.metadata.uid !== undefined) this.#byUid.delete(object.metadata.uid)
    this.#byKind.get(kindKey(object.kind, object.metadata.namespace))?.delete(key)
    this.#removeFromOwners(key, object)
  }

  /** Removes an object from the lists of owners that the object no longer has. */
  #removeFromOwners(key: string, before: KubeObject, after?: KubeObject): void {
    for (const { uid } of before.metadata.ownerReferences ?? []) {
      if (after?.metadata.ownerReferences?.some((owner) => owner.uid === uid)) continue
      const owned = this.#owned.get(uid)
      owned?.delete(key)
      if (owned?.size === 0) this.#owned.delete(uid)
    }
  }
}

/** Whether the request `wide` lists all objects that `narrow` lists. A missing `apiVersion` means any version. */
export function isSupersetOf(wide: Partial<WatchRequest>, narrow: Partial<WatchRequest>): boolean {
  return (
    wide.kind === narrow.kind &&
    (wide.apiVersion === undefined ||
      narrow.apiVersion === undefined ||
      groupOf(wide.apiVersion) === groupOf(narrow.apiVersion)) &&
    (wide.namespace === undefined || wide.namespace === narrow.namespace) &&
    (wide.name === undefined || wide.name === narrow.name) &&
    (wide.labelSelector === undefined || wide.labelSelector === narrow.labelSelector)
  )
}

/** The requests that are or were watched. */
export class WatchedRequests {
  readonly #keys = new Set<string>()

  add(requests: readonly WatchRequest[]): void {
    for (const request of requests) this.#keys.add(requestKey(request))
  }

  has(request: Partial<WatchRequest>): boolean {
    return this.#keys.has(requestKey(request))
  }

  /**
   * Whether a failure or recovery of `reported` also applies to `request`. A watched request has its own reports,
   * because the server may forbid a wide list and permit a narrow list. A request without a watch depends on a watch
   * that includes its objects.
   */
  isReportAbout(reported: Partial<WatchRequest>, request: WatchRequest): boolean {
    if (reported.kind === undefined) return true
    if (!isSupersetOf(reported, request)) return false
    return requestKey(reported) === requestKey(request) || !this.has(request) || !this.has(reported)
  }
}

/** The Events with one more, by its last occurrence, after Events with the same time. Replaces its older version. */
function withEvent(events: readonly EventObject[], event: EventObject): readonly EventObject[] {
  const others = events.filter(({ metadata }) => metadata.name !== event.metadata.name)
  const place = others.findLastIndex((other) => compareLastOccurrence(event, other) >= 0) + 1
  return others.toSpliced(place, 0, event).slice(-maxEventsOfObject)
}

/** Removes what a component writes before the message of an Event that combines several (client-go, tools/record). */
function withOriginalMessage(event: EventObject): EventObject {
  const message = event.message?.replace(/^\(combined from similar events\):\s*/, '')
  return message === event.message ? event : { ...event, message }
}

function isEvent(object: KubeObject): object is EventObject {
  return object.kind === 'Event' && groupOf(object.apiVersion) === '' && 'involvedObject' in object
}

function objectKey(reference: ObjectName): string {
  return `${groupOf(reference.apiVersion)}|${reference.kind}|${reference.namespace ?? ''}|${reference.name}`
}

function answersKey(check: number, { metadata: { uid, name } }: KubeObject): string {
  return `${check} ${uid ?? name}`
}

function kindKey(kind: string, namespace: string | undefined): string {
  return `${kind}|${namespace ?? ''}`
}

/** The key for the Events about an object. The key omits the API version: an Event may name any version of the kind. */
function subjectKey(subject: { kind: string; namespace?: string; name: string }): string {
  return objectKey({ ...subject, apiVersion: '' })
}

/**
 * The key of an object in a map of facts that other objects state, such as Events. An Event may contain any uid, but is
 * valid only for objects in its own namespace: a user with access to one namespace must not affect objects in other
 * namespaces.
 */
export function uidKey(uid: string, namespace = ''): string {
  return `${namespace}/${uid}`
}

/**
 * Whether an object has the same resource version as the latest known state, or an older one. Resource versions are
 * comparable numbers since Kubernetes 1.35 (KEP-5504), and on every older server with etcd. Else only equality counts.
 */
function isOutdated(object: KubeObject, latest: KubeObject): boolean {
  const version = object.metadata.resourceVersion
  return (
    (version !== undefined && version === latest.metadata.resourceVersion) ||
    (compareResourceVersions(object, latest) ?? 0) < 0
  )
}

/**
 * Whether an object is older than the latest known object with the same name and another uid. Resource versions decide,
 * unless the object was created later, for example after an etcd backup was restored.
 */
function isEarlier(object: KubeObject, latest: KubeObject): boolean {
  const order = compareResourceVersions(object, latest)
  const created = object.metadata.creationTimestamp ?? ''
  const knownCreated = latest.metadata.creationTimestamp ?? ''
  const isDated = created !== '' && knownCreated !== ''
  return order === undefined ? isDated && created < knownCreated : order < 0 && !(isDated && created > knownCreated)
}
