import type { WatchRequest } from '../cluster/feed.ts'
import { type EventObject, isOfKind, type KubeObject, type Pod } from '../cluster/objects.ts'
import { type Change, covers, type Store } from '../cluster/store.ts'

/**
 * What an assessment needs a list for.
 * `needed`: to judge the target. There is no verdict before the list is complete or refused, and the access is required.
 * `optional`: only to warn. The first assessment waits for the list as long as the server may answer.
 * `explaining`: to explain the state of the target. No verdict waits for the list, and it may be refused.
 * `undo`: for the advice after a failure. Nothing waits for the list.
 */
export const needs = ['needed', 'optional', 'explaining', 'undo'] as const
export type Need = (typeof needs)[number]

/** Whether an object of a list counts: pure over the object and what was known when the list was read. */
type Where = (object: KubeObject) => boolean

/** A change with the keys of what it changes: an object, what its owners own, a list, or the events about an object. */
export interface KeyedChange {
  readonly versions: readonly KubeObject[]
  /** The pod whose history an Event changes. */
  readonly pod: Pod | undefined
  readonly keys: readonly string[]
}

/**
 * Finds the keys of a change once for all targets.
 * @param pod the pod whose history an Event changes: the Event concerns those that have read the pod
 */
export function keyedChange({ before, after }: Change, pod: Pod | undefined): KeyedChange {
  const versions = [before, after, pod].filter((object) => object !== undefined)
  return { versions, pod, keys: [...new Set(versions.flatMap(keysOf))] }
}

function keysOf(object: KubeObject): readonly string[] {
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

/**
 * What an assessment has read. Only a change of what was read concerns its target: everything else leaves the assessment as
 * it is.
 */
export class Reads {
  /** The keys of what was read; for a list, which of its objects count. */
  readonly #keys = new Map<string, Where[] | 'all'>()
  readonly #states: WatchRequest[] = []
  readonly #requests: Readonly<Record<Need, WatchRequest[]>> = { needed: [], optional: [], explaining: [], undo: [] }
  /** The indexes of the targets whose gated pods were read. */
  readonly publishers = new Set<number>()
  /** It was read whether other targets progress, or when one became ready. */
  readsOthers = false

  /** The watches that what was read needs. */
  get requests(): Readonly<Record<Need, readonly WatchRequest[]>> {
    return this.#requests
  }

  /** A watch reports the objects. */
  request(request: WatchRequest, need: Need): void {
    const known = this.#requests[need]
    if (!known.includes(request)) known.push(request)
  }

  /** The objects of a kind in a namespace. */
  list({ kind, namespace, name }: WatchRequest, where: Where): void {
    const counts: Where = name === undefined ? where : (object) => object.metadata.name === name && where(object)
    this.#addKey(listKey(kind, namespace), counts)
  }

  #addKey(key: string, counts: Where): void {
    const known = this.#keys.get(key)
    if (known === undefined) this.#keys.set(key, [counts])
    else if (known !== 'all') known.push(counts)
  }

  /** Whether the list of a request is complete. */
  state(request: WatchRequest): void {
    this.#states.push(request)
  }

  /** The objects of a kind, or of every kind, that this uid owns. */
  owned(uid: string | undefined, kind = ''): void {
    if (uid !== undefined) this.#keys.set(ownerKey(uid, kind), 'all')
  }

  /** The Events about an object; without a uid, those of its name. Those about a pod concern whoever reads the pod. */
  events({ kind, metadata: { uid, namespace, name } }: KubeObject, where: (event: EventObject) => boolean): void {
    if (kind === 'Pod') return
    const counts: Where = (object) => isOfKind(object, 'Event') && where(object)
    this.#addKey(uid ?? subjectKey({ kind, namespace, name }), counts)
  }

  /** The history of a pod, which depends on its controller and on the revisions of its workload. */
  history({ metadata: { ownerReferences = [] } }: Pod, store: Store): void {
    const controller = ownerReferences.find((each) => each.controller)
    if (controller === undefined || this.#keys.has(controller.uid)) return
    this.#keys.set(controller.uid, 'all')
    const replicaSet = controller.kind === 'ReplicaSet' ? store.withUid(controller.uid) : undefined
    const workload = replicaSet?.metadata.ownerReferences?.find((each) => each.controller)
    if (controller.kind === 'ReplicaSet') this.owned(workload?.uid, 'ReplicaSet')
    else this.owned(controller.uid, 'ControllerRevision')
  }

  /** Whether a change concerns the target. */
  concerns({ versions, keys }: KeyedChange): boolean {
    return keys.some((key) => {
      const counts = this.#keys.get(key)
      return counts === 'all' || counts?.some((where) => versions.some(where)) === true
    })
  }

  get keys(): Iterable<string> {
    return this.#keys.keys()
  }

  hasKey(key: string): boolean {
    return this.#keys.has(key)
  }

  /** Whether the target was assessed by the state of a list, which is complete now. */
  awaits(list: WatchRequest): boolean {
    return this.#states.some((request) => covers(list, request))
  }
}

/** Finds the targets that have read what a change changes, among many. */
export class ReadIndex<Target> {
  readonly #byKey = new Map<string, Set<Target>>()

  /** Replaces what a target has read. */
  replace(target: Target, before: Reads | undefined, after: Reads): void {
    for (const key of before?.keys ?? []) if (!after.hasKey(key)) this.#byKey.get(key)?.delete(target)
    for (const key of after.keys) {
      // Most assessments read the same as the one before.
      if (before?.hasKey(key)) continue
      const targets = this.#byKey.get(key)
      if (targets === undefined) this.#byKey.set(key, new Set([target]))
      else targets.add(target)
    }
  }

  /** Those that have read something with a key of the change. `Reads.concerns` decides whether it concerns one of them. */
  of({ keys }: KeyedChange): ReadonlySet<Target> {
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
