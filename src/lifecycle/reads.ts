import type { WatchRequest } from '../cluster/feed.ts'
import { controllerUidOf, type EventObject, isOfKind, type KubeObject, type Pod } from '../cluster/objects.ts'
import { type Change, isSupersetOf, type Store } from '../cluster/store.ts'
import { workloadUid } from './pods.ts'

/* Records what assessments read, to find the targets that a change affects. */

/**
 * Why an assessment needs a list.
 * `needed`: to judge the target. The verdict waits for the list, and read access is required.
 * `optional`: only for warnings. The first assessment waits for the list while the server may answer.
 * `explaining`: to explain the state of the target. No verdict waits for the list, and access may be denied.
 * `undo`: for the advice after a failure. Nothing waits for the list.
 */
export type Need = 'needed' | 'optional' | 'explaining' | 'undo'

/** Whether an object in a list counts. The result must not change later for the same object. */
type Where = (object: KubeObject) => boolean

/** A change with its keys. Each key names a read that the change affects, such as the list of a kind. */
export interface KeyedChange {
  readonly versions: readonly KubeObject[]
  /** The pod whose history the change affects, if the change is an Event. */
  readonly pod: Pod | undefined
  readonly keys: readonly string[]
}

/** Finds the keys of a change. @param pod the pod whose history the change affects, if the change is an Event */
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

/** Records what an assessment has read. Other changes do not require a new assessment. */
export class Reads {
  /** What was read, by key. An object with a key counts if one of the functions of the key returns true. */
  readonly #keys = new Map<string, Where[]>()
  readonly #states: WatchRequest[] = []
  readonly #requests: Readonly<Record<Need, WatchRequest[]>> = { needed: [], optional: [], explaining: [], undo: [] }
  /** The indexes of the targets whose pods were read. A change of their pods requires a new assessment. */
  readonly podOwners = new Set<number>()
  /** The assessment has read the progress of other targets. */
  readsOthers = false
  /** How often the view of a pod was read. */
  podViews = 0

  get requests(): Readonly<Record<Need, readonly WatchRequest[]>> {
    return this.#requests
  }

  recordRequest(request: WatchRequest, need: Need): void {
    const known = this.#requests[need]
    if (!known.includes(request)) known.push(request)
  }

  recordList({ kind, namespace, name }: WatchRequest, where: Where): void {
    const counts: Where = name === undefined ? where : (object) => object.metadata.name === name && where(object)
    this.#addKey(listKey(kind, namespace), counts)
  }

  #addKey(key: string, counts: Where = () => true): void {
    const known = this.#keys.get(key)
    if (known === undefined) this.#keys.set(key, [counts])
    else known.push(counts)
  }

  /** Records that the assessment has read whether the list of a request is complete. */
  recordListState(request: WatchRequest): void {
    this.#states.push(request)
  }

  /** Records the read of the objects that this uid owns, of one kind or of every kind. */
  recordOwned(uid: string | undefined, kind = ''): void {
    if (uid !== undefined) this.#addKey(ownerKey(uid, kind))
  }

  /** Records the read of the Events about an object. Events about a pod already count as changes of the pod. */
  recordEvents({ kind, metadata: { uid, namespace, name } }: KubeObject, where: (event: EventObject) => boolean): void {
    if (kind === 'Pod') return
    const counts: Where = (object) => isOfKind(object, 'Event') && where(object)
    this.#addKey(uid ?? subjectKey({ kind, namespace, name }), counts)
  }

  /** Records the read of a pod's history. The history depends on the controller of the pod and on the revisions. */
  recordHistory(pod: Pod, store: Store): void {
    this.podViews += 1
    const controller = controllerUidOf(pod)
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

  /** Whether the assessment has read the state of this list. */
  hasReadListState(list: WatchRequest): boolean {
    return this.#states.some((request) => isSupersetOf(list, request))
  }
}

/** Finds the targets that a change may affect, by what each target has read. */
export class ReadIndex<Target> {
  readonly #byKey = new Map<string, Set<Target>>()

  replace(target: Target, before: Reads | undefined, after: Reads): void {
    for (const key of before?.keys ?? []) if (!after.hasKey(key)) this.#byKey.get(key)?.delete(target)
    for (const key of after.keys) {
      // Most assessments read the same objects as the previous assessment.
      if (before?.hasKey(key)) continue
      const targets = this.#byKey.get(key)
      if (targets === undefined) this.#byKey.set(key, new Set([target]))
      else targets.add(target)
    }
  }

  /** The targets that have read something with a key of the change. `Reads.isAffectedBy` decides for each target. */
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
