import type { WatchRequest } from '../cluster/feed.ts'
import { controllerOf, type EventObject, isOfKind, type KubeObject, type Pod } from '../cluster/objects.ts'
import { type Change, isSupersetOf, type Store } from '../cluster/store.ts'
import { workloadUid } from './pods.ts'

/**
 * What an assessment needs a list for.
 * `needed`: to judge the target. There is no verdict before the list is complete or refused, and the access is required.
 * `optional`: only to warn. The first assessment waits for the list as long as the server may answer.
 * `explaining`: to explain the state of the target. No verdict waits for the list, and it may be refused.
 * `undo`: for the advice after a failure. Nothing waits for the list.
 */
export type Need = 'needed' | 'optional' | 'explaining' | 'undo'

/** Whether an object of a list counts: a pure function of the object, and of values known when the list was read. */
type Where = (object: KubeObject) => boolean

/** A change, and keys for what it changes: objects, lists, the objects of an owner, the events about an object. */
export interface KeyedChange {
  readonly versions: readonly KubeObject[]
  /** The pod whose history an Event changes. */
  readonly pod: Pod | undefined
  readonly keys: readonly string[]
}

/** The keys of a change, found once for all targets. @param pod if an Event changes the history of a pod: this pod */
export function toKeyedChange({ before, after }: Change, pod: Pod | undefined): KeyedChange {
  const versions = [before, after, pod].filter((object) => object !== undefined)
  return { versions, pod, keys: [...new Set(versions.flatMap(keysOfObject))] }
}

function keysOfObject(object: KubeObject): readonly string[] {
  if (isOfKind(object, 'Event')) {
    const { uid, kind = '', namespace, name = '' } = object.involvedObject ?? {}
    const named = subjectKey({ kind, namespace, name })
    return uid === undefined ? [named] : [uid, named]
  }
  const { kind, metadata } = object
  const { uid = '', namespace, ownerReferences = [] } = metadata
  const owners = ownerReferences.flatMap((owner) => [ownerKey(owner.uid, ''), ownerKey(owner.uid, kind)])
  return [uid, listKey(kind, namespace), ...owners]
}

/** Records what an assessment has read, by the keys of `KeyedChange`: only its change requires a new assessment. */
export class Reads {
  /** The keys of what was read, each with what counts of it: at least one of these functions must apply. */
  readonly #keys = new Map<string, Where[]>()
  readonly #states: WatchRequest[] = []
  readonly #requests: Readonly<Record<Need, WatchRequest[]>> = { needed: [], optional: [], explaining: [], undo: [] }
  /** The indexes of the targets whose assessed pods were used: a change of these pods requires a new assessment. */
  readonly podOwners = new Set<number>()
  /** The assessment has read whether other targets progress, or when one became ready. */
  readsOthers = false

  /** The watches that were asked for. */
  get requests(): Readonly<Record<Need, readonly WatchRequest[]>> {
    return this.#requests
  }

  /** Records that a watch was asked for. */
  recordRequest(request: WatchRequest, need: Need): void {
    const known = this.#requests[need]
    if (!known.includes(request)) known.push(request)
  }

  /** Records that the objects of a kind in a namespace were read. */
  recordList({ kind, namespace, name }: WatchRequest, where: Where): void {
    const counts: Where = name === undefined ? where : (object) => object.metadata.name === name && where(object)
    this.#addKey(listKey(kind, namespace), counts)
  }

  #addKey(key: string, counts: Where = () => true): void {
    const known = this.#keys.get(key)
    if (known === undefined) this.#keys.set(key, [counts])
    else known.push(counts)
  }

  /** Records that it was read whether the list of a request is complete. */
  recordListState(request: WatchRequest): void {
    this.#states.push(request)
  }

  /** Records that the objects of a kind, or of every kind, that this uid owns were read. */
  recordOwned(uid: string | undefined, kind = ''): void {
    if (uid !== undefined) this.#addKey(ownerKey(uid, kind))
  }

  /** Records that the Events about an object were read. Those about a pod count as changes of the pod. */
  recordEvents({ kind, metadata: { uid, namespace, name } }: KubeObject, where: (event: EventObject) => boolean): void {
    if (kind === 'Pod') return
    const counts: Where = (object) => isOfKind(object, 'Event') && where(object)
    this.#addKey(uid ?? subjectKey({ kind, namespace, name }), counts)
  }

  /** Records that the history of a pod was read. It depends on its controller and on the revisions of its workload. */
  recordHistory(pod: Pod, store: Store): void {
    const controller = controllerOf(pod)
    if (controller === undefined || this.#keys.has(controller)) return
    this.#addKey(controller)
    const workload = workloadUid(controller, store)
    for (const kind of ['ReplicaSet', 'ControllerRevision']) this.recordOwned(workload, kind)
  }

  /** Whether a change requires a new assessment. */
  isAffectedBy({ versions, keys }: KeyedChange): boolean {
    return keys.some((key) => this.#keys.get(key)?.some((where) => versions.some(where)))
  }

  get keys(): Iterable<string> {
    return this.#keys.keys()
  }

  hasKey(key: string): boolean {
    return this.#keys.has(key)
  }

  /** Whether the assessment has read if this list is complete, which it is now. */
  hasReadListState(list: WatchRequest): boolean {
    return this.#states.some((request) => isSupersetOf(list, request))
  }
}

/** Finds the targets whose assessments have read what a change changes, without asking each target. */
export class ReadIndex<Target> {
  readonly #byKey = new Map<string, Set<Target>>()

  /** Replaces what a target has read. */
  replace(target: Target, before: Reads | undefined, after: Reads): void {
    for (const key of before?.keys ?? []) if (!after.hasKey(key)) this.#byKey.get(key)?.delete(target)
    for (const key of after.keys) {
      // Most assessments read the same as the assessment before.
      if (before?.hasKey(key)) continue
      const targets = this.#byKey.get(key)
      if (targets === undefined) this.#byKey.set(key, new Set([target]))
      else targets.add(target)
    }
  }

  /** The targets that have read something with a key of the change. `Reads.isAffectedBy` then decides about each. */
  targetsAffectedBy({ keys }: KeyedChange): ReadonlySet<Target> {
    return new Set(keys.flatMap((key) => [...(this.#byKey.get(key) ?? [])]))
  }
}

function listKey(kind: string, namespace: string | undefined): string {
  return `${kind} ${namespace ?? ''}`
}

function ownerKey(uid: string, kind: string): string {
  return `${uid} owns ${kind}`
}

function subjectKey({ kind, namespace, name }: Pick<WatchRequest, 'kind' | 'namespace' | 'name'>): string {
  return `events ${kind} ${namespace ?? ''} ${name}`
}
