import { maxEventsOfObject } from '../thresholds.ts'
import {
  type Failure,
  type FeedEvent,
  isAccessDenied,
  type LogText,
  requestKey,
  type TimedAnswer,
  type WatchRequest,
} from './feed.ts'
import {
  compareLastOccurrence,
  type EventObject,
  groupOf,
  type KindName,
  type KubeObject,
  nameOf,
  type ObjectName,
  type ObjectOf,
} from './objects.ts'

/**
 * Whether the store contains all objects of a request: `pending` until the first list, then `complete`. `unknown` if
 * access is refused or the request is not watched: an object that is not in the store may then exist.
 */
export type ListState = 'pending' | 'complete' | 'unknown'

/** A value with the number of the event that reported it. */
type Numbered<T> = T & { readonly number: number }

/** An object that changed: its state before and after; one of them may be missing. */
export type Change =
  | { readonly before?: KubeObject; readonly after: KubeObject }
  | { readonly before: KubeObject; readonly after?: undefined }

/** The events about one object: by their names, and in the order of their last occurrence. */
interface EventsAbout {
  readonly byName: Map<string, EventObject>
  sorted: readonly EventObject[]
}

/** Always the same array, so that readers can compare arrays to find that nothing changed. */
const noEvents: readonly EventObject[] = []

function noEventsAbout(): EventsAbout {
  return { byName: new Map(), sorted: noEvents }
}

/**
 * The last known state of every object, indexed by name and owner, and the events about each object. The state depends only
 * on the sequence of events, so a replay has the same state as the live run.
 */
export class Store {
  readonly #objects = new Map<string, KubeObject>()
  readonly #byUid = new Map<string, KubeObject>()
  readonly #owned = new Map<string, Map<string, KubeObject>>()
  readonly #byKind = new Map<string, Map<string, KubeObject>>()
  /** Every event whose involved object has a uid is stored twice: by that uid, and by the object's kind and name. */
  readonly #eventsByUid = new MapByUid<EventsAbout>()
  readonly #eventsByName = new Map<string, EventsAbout>()
  /** The last state of each deleted object, by name: a late event must not restore the object. */
  readonly #deleted = new Map<string, KubeObject>()
  /** The requests whose lists are complete, grouped by kind so that a search is fast. */
  readonly #synced = new Map<string, Numbered<WatchRequest>[]>()
  /** Caches the number of each request's list: each assessment asks for the lists of its target. */
  #syncedNumbers = new WeakMap<WatchRequest, number>()
  /** The last refusal of each request. A 403 is replaced only by another 403. */
  readonly #refused = new Map<string, Numbered<Failure>>()
  /** How many events were applied. */
  #applied = 0
  readonly #willSync: (request: WatchRequest) => boolean
  readonly #watched: WatchedRequests
  readonly #logs = new Map<string, LogText>()
  /** The answers of each pod to each line of `http-checks`, by the index of the line and the uid of the pod. */
  readonly #answers = new Map<string, TimedAnswer[]>()
  /** Whether discovery lists a status subresource, by group and kind. */
  readonly #statuses = new Map<string, boolean>()

  /**
   * @param willSync whether the first list of a request will come: its watch was started, or the recording contains it
   * @param watched the requests that are or were watched
   */
  constructor(willSync: (request: WatchRequest) => boolean, watched = new WatchedRequests()) {
    this.#willSync = willSync
    this.#watched = watched
  }

  /**
   * Applies an event. Returns the changes: none for a repeated or outdated version of an object (two watches may report
   * the same object), two if the object was replaced by one with another uid.
   */
  apply(event: FeedEvent): readonly Change[] {
    this.#applied++
    switch (event.type) {
      case 'ADDED':
      case 'MODIFIED':
        return this.#put(event.object)
      case 'DELETED':
        return this.#delete(event.object)
      case 'DISCOVERY':
        for (const { group, kind, status } of event.resources) {
          // Discovery lists a kind once per version; a status subresource in one version counts for all.
          const key = `${group}/${kind}`
          this.#statuses.set(key, status || this.#statuses.get(key) === true)
        }
        return []
      case 'SYNCED': {
        const place = kindKey(event.kind, event.namespace)
        this.#synced.set(place, [...(this.#synced.get(place) ?? []), { ...event, number: this.#applied }])
        this.#syncedNumbers = new WeakMap()
        return []
      }
      case 'UNAVAILABLE':
      case 'REFUSED':
      case 'MISSING':
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

  /** The object of that group, kind, namespace and name, in any version. */
  get(reference: ObjectName): KubeObject | undefined {
    return this.#objects.get(objectKey(reference))
  }

  /** The last known state of an object, also if it was deleted. */
  lastKnown(reference: ObjectName): KubeObject | undefined {
    const key = objectKey(reference)
    return this.#objects.get(key) ?? this.#deleted.get(key)
  }

  /**
   * The object with this name whose kind in lower case is `word`. It is in this namespace or cluster-scoped; without a
   * namespace, it is in any.
   */
  findByName(word: string, name: string, namespace: string | undefined): KubeObject | undefined {
    const isWithin = ({ metadata }: KubeObject) =>
      namespace === undefined || metadata.namespace === undefined || metadata.namespace === namespace
    for (const objects of this.#byKind.values()) {
      const [first] = objects.values()
      if (first?.kind.toLowerCase() !== word || !isWithin(first)) continue
      for (const object of objects.values()) if (object.metadata.name === name) return object
    }
    return undefined
  }

  /** The object with that uid, while it exists. */
  getByUid(uid: string): KubeObject | undefined {
    return this.#byUid.get(uid)
  }

  /** All objects of a kind in a namespace (undefined: cluster-scoped), in the order of arrival. */
  list<Kind extends string>(kind: Kind, namespace: string | undefined): readonly ObjectOf<Kind>[]
  list(kind: string, namespace: string | undefined): readonly KubeObject[] {
    return [...(this.#byKind.get(kindKey(kind, namespace))?.values() ?? [])]
  }

  /**
   * All objects of a kind, or of every kind, whose owner references contain this uid, in the order of arrival. Owner references
   * do not cross namespaces
   * (https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/#owner-references-in-object-specifications):
   * an object in another namespace than its owner has a false reference, and is left out.
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
   * The events about one object in the order of their last occurrence, the latest last. Without a uid, events are found by
   * kind and name, also for an object that is not in the store.
   */
  eventsOf(object: KubeObject): readonly EventObject[] {
    const { uid, namespace } = object.metadata
    const events =
      uid === undefined ? this.#eventsByName.get(subjectKey(nameOf(object))) : this.#eventsByUid.get(uid, namespace)
    return events?.sorted ?? noEvents
  }

  /** The end of a container's log, if it was read. */
  logOf(namespace: string, pod: string, container: string, previous: boolean): LogText | undefined {
    return this.#logs.get(`${namespace}/${pod}/${container}/${previous}`)
  }

  /** The answers of a pod to a line of `http-checks`, the oldest first. */
  answersOf(check: number, pod: KubeObject): readonly TimedAnswer[] {
    return this.#answers.get(answersKey(check, pod)) ?? []
  }

  /** The answers of all pods, the oldest first. */
  get allAnswers(): readonly TimedAnswer[] {
    return [...this.#answers.values()].flat().toSorted((a, b) => a.at - b.at)
  }

  /**
   * Whether the store contains all objects of a request. A 404 for the kind is complete: before the CRD is applied, no
   * objects exist.
   */
  listState(request: WatchRequest): ListState {
    const refusals = this.#refusals(request)
    if (refusals.some(isAccessDenied)) return 'unknown'
    if (this.#syncedNumber(request) > 0 || refusals.some(({ type }) => type === 'MISSING')) return 'complete'
    return this.#willSync(request) ? 'pending' : 'unknown'
  }

  /** Why the objects of a request cannot be read: access is refused, no object exists, or no answer. Else undefined. */
  refusalOf(request: WatchRequest): Failure | undefined {
    const within = [...this.#refused.values()].filter(
      (refused) =>
        isAccessDenied(refused) &&
        refused.number > this.#syncedNumber(refused as WatchRequest) &&
        isSupersetOf(request, refused as WatchRequest),
    )
    const refusals = [...within, ...this.#refusals(request)]
    return refusals.find(isAccessDenied) ?? refusals.at(-1)
  }

  /** The refusals of access since the last complete list of their request, in the order of arrival. */
  get deniedAccess(): readonly Failure[] {
    return [...this.#refused.values()].filter(
      (refused) => isAccessDenied(refused) && refused.number > this.#syncedNumber(refused as WatchRequest),
    )
  }

  /** Whether objects of this kind have a status subresource; undefined without discovery. */
  hasStatusSubresource({ apiVersion, kind }: KindName): boolean | undefined {
    return this.#statuses.get(`${groupOf(apiVersion)}/${kind}`)
  }

  /** The refusals since the last complete list. */
  #refusals(request: WatchRequest): readonly Failure[] {
    if (this.#refused.size === 0) return []
    const syncedAt = this.#syncedNumber(request)
    return [...this.#refused.values()].filter(
      (refused) => refused.number > syncedAt && this.#watched.isReportAbout(refused, request),
    )
  }

  /** The number of the event that last reported a complete list of this request; 0 without one. */
  #syncedNumber(request: WatchRequest): number {
    const cached = this.#syncedNumbers.get(request)
    if (cached !== undefined) return cached
    const { kind, namespace } = request
    const places = namespace === undefined ? [undefined] : [undefined, namespace]
    const lists = places.map((place) => this.#synced.get(kindKey(kind, place)))
    const number = Math.max(
      0,
      ...lists.map((list) => list?.findLast((synced) => isSupersetOf(synced, request))?.number ?? 0),
    )
    this.#syncedNumbers.set(request, number)
    return number
  }

  #storeRefusal(refusal: Failure): void {
    // UNAVAILABLE matters only for requests that read evidence; these have a name.
    if (refusal.type === 'UNAVAILABLE' && refusal.name === undefined) return
    if (refusal.type === 'REFUSED' && refusal.what === 'credentials') return
    const key = requestKey(refusal)
    const last = this.#refused.get(key)
    if (isAccessDenied(refusal) || last === undefined || !isAccessDenied(last))
      this.#refused.set(key, { ...refusal, number: this.#applied })
  }

  /** Stores a log. A failure to read the log again does not replace the stored text. */
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

  #put(object: KubeObject): readonly Change[] {
    if (isEvent(object)) return this.#putEvent(object)
    const key = objectKey(nameOf(object))
    const before = this.#objects.get(key)
    if (before === undefined) {
      const deleted = this.#deleted.get(key)
      if (deleted !== undefined && isEarlier(object, deleted)) return []
      this.#insert(key, object)
      return [{ after: object }]
    }
    if (before.metadata.uid !== object.metadata.uid) {
      if (isEarlier(object, before)) return []
      this.#remove(key, before)
      this.#insert(key, object)
      return [{ before }, { after: object }]
    }
    if (isOutdated(object, before)) return []
    this.#removeFromOwners(key, before, object)
    this.#insert(key, object)
    return [{ before, after: object }]
  }

  #delete(object: KubeObject): readonly Change[] {
    const key = objectKey(nameOf(object))
    const before = this.#objects.get(key)
    if (before === undefined || before.metadata.uid !== object.metadata.uid) return []
    this.#remove(key, before)
    this.#deleted.set(key, object)
    // The final state may contain more than the state before, such as a deletionTimestamp.
    return [{ before: object }]
  }

  #putEvent(event: EventObject): readonly Change[] {
    const { uid, kind = '', namespace = event.metadata.namespace, name = '' } = event.involvedObject ?? {}
    const subject = subjectKey({ kind, name, namespace })
    const within = event.involvedObject?.namespace
    const byName = this.#eventsByName.get(subject) ?? noEventsAbout()
    const byUid = uid === undefined ? byName : (this.#eventsByUid.get(uid, within) ?? noEventsAbout())
    const before = byUid.byName.get(event.metadata.name)
    if (before !== undefined && isOutdated(event, before)) return []
    this.#eventsByName.set(subject, byName)
    if (uid !== undefined) this.#eventsByUid.set(uid, within, byUid)
    for (const events of new Set([byUid, byName])) insertSorted(events, event)
    return [{ before, after: event }]
  }

  #insert(key: string, object: KubeObject): void {
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

  #remove(key: string, object: KubeObject): void {
    this.#objects.delete(key)
    if (object.metadata.uid !== undefined) this.#byUid.delete(object.metadata.uid)
    this.#byKind.get(kindKey(object.kind, object.metadata.namespace))?.delete(key)
    this.#removeFromOwners(key, object)
  }

  /** Removes an object from the index of owners that it no longer has. */
  #removeFromOwners(key: string, before: KubeObject, after?: KubeObject): void {
    for (const { uid } of before.metadata.ownerReferences ?? []) {
      if (after?.metadata.ownerReferences?.some((owner) => owner.uid === uid)) continue
      const owned = this.#owned.get(uid)
      owned?.delete(key)
      if (owned?.size === 0) this.#owned.delete(uid)
    }
  }
}

/**
 * Values by the namespace and uid of an object, for what Events report about the object. An Event can name only its own
 * namespace, but any uid: a user who may write Events in one namespace must not affect objects in another one.
 */
export class MapByUid<Value> {
  readonly #namespaces = new Map<string, Map<string, Value>>()

  get(uid: string, namespace = ''): Value | undefined {
    return this.#namespaces.get(namespace)?.get(uid)
  }

  set(uid: string, namespace = '', value: Value): void {
    const known = this.#namespaces.get(namespace) ?? new Map<string, Value>()
    this.#namespaces.set(namespace, known.set(uid, value))
  }
}

/** Whether `wide` lists everything that `narrow` lists. A missing version means any. */
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

/** The requests that are or were watched. A report about one of them concerns only that one. */
export class WatchedRequests {
  readonly #keys = new Set<string>()

  add(requests: readonly WatchRequest[]): void {
    for (const request of requests) this.#keys.add(requestKey(request))
  }

  has(request: Partial<WatchRequest>): boolean {
    return this.#keys.has(requestKey(request))
  }

  /**
   * Whether a report about `reported` concerns `request`. A watched request has its own reports: a wide list may be refused
   * and a narrow one permitted. A request without a watch depends on the watch that covers it.
   */
  isReportAbout(reported: Partial<WatchRequest>, request: WatchRequest): boolean {
    if (reported.kind === undefined) return true
    if (!isSupersetOf(reported, request)) return false
    return requestKey(reported) === requestKey(request) || !this.has(request) || !this.has(reported)
  }
}

/** Adds an event, sorted by its last occurrence; among equal times it comes last. Replaces its older version. */
function insertSorted(events: EventsAbout, event: EventObject): void {
  const { byName, sorted } = events
  const before = byName.get(event.metadata.name)
  const others = before === undefined ? sorted : sorted.filter((each) => each !== before)
  byName.set(event.metadata.name, event)
  const place = others.findLastIndex((other) => compareLastOccurrence(event, other) >= 0) + 1
  const all = others.toSpliced(place, 0, event)
  for (const { metadata } of all.slice(0, -maxEventsOfObject)) byName.delete(metadata.name)
  events.sorted = all.slice(-maxEventsOfObject)
}

function isEvent(object: KubeObject): object is EventObject {
  return object.kind === 'Event' && 'involvedObject' in object
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

/** The key of the events about an object. It omits the API version, because events may name any version of the kind. */
function subjectKey(subject: { kind: string; namespace?: string; name: string }): string {
  return objectKey({ ...subject, apiVersion: '' })
}

/**
 * Whether an object has the same or an older version. Resource versions are comparable numbers since Kubernetes 1.35
 * (KEP-5504), and before that on every server with etcd; otherwise only equality counts.
 */
function isOutdated(object: KubeObject, latest: KubeObject): boolean {
  const version = object.metadata.resourceVersion
  return (
    (version !== undefined && version === latest.metadata.resourceVersion) || (compareVersions(object, latest) ?? 0) < 0
  )
}

/**
 * Whether an object is older than the last known one with its name. Uids have no order, so resource versions decide,
 * unless the object was created later, for example after the restore of an etcd backup.
 */
function isEarlier(object: KubeObject, latest: KubeObject): boolean {
  const order = compareVersions(object, latest)
  const created = object.metadata.creationTimestamp ?? ''
  const knownCreated = latest.metadata.creationTimestamp ?? ''
  const isDated = created !== '' && knownCreated !== ''
  return order === undefined ? isDated && created < knownCreated : order < 0 && !(isDated && created > knownCreated)
}

/** Negative if the object's resource version is older; undefined if the versions cannot be compared. */
function compareVersions(object: KubeObject, latest: KubeObject): number | undefined {
  const difference = resourceVersionNumber(object) - resourceVersionNumber(latest)
  return Number.isNaN(difference) ? undefined : difference
}

function resourceVersionNumber({ metadata: { resourceVersion } }: KubeObject): number {
  const version = Number(resourceVersion ?? Number.NaN)
  return Number.isSafeInteger(version) ? version : Number.NaN
}
