import type { WatchRequest } from '../cluster/feed.ts'
import { isOfKind, type KubeObject, type Pod } from '../cluster/objects.ts'
import { type Change, covers, type Store } from '../cluster/store.ts'

/** What an assessment needs a list for. */
export type Need =
  /** To judge the target: there is no verdict before the list is complete or refused, and the access to it is required. */
  | 'needed'
  /** Only to warn: the first assessment waits for the list as long as the server may answer. */
  | 'optional'
  /** To explain the state of the target: no verdict waits for the list, and it may be refused. */
  | 'explaining'
  /** For the advice after a failure: nothing waits for it. */
  | 'undo'

/** Whether an object of a list counts: pure over the object and what was known when the list was read. */
type Where = (object: KubeObject) => boolean

/**
 * What an assessment has read. Only a change of what was read concerns its target: everything else leaves the assessment as
 * it is.
 */
export class Reads {
  readonly #lists = new Map<string, Where[]>()
  /** The uids of objects that were read alone, and of those whose Events were read. */
  readonly #subjects = new Set<string>()
  readonly #owners = new Set<string>()
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
    const key = listKey(kind, namespace)
    const counts: Where = name === undefined ? where : (object) => object.metadata.name === name && where(object)
    const known = this.#lists.get(key)
    if (known === undefined) this.#lists.set(key, [counts])
    else known.push(counts)
  }

  /** Whether the list of a request is complete. */
  state(request: WatchRequest): void {
    this.#states.push(request)
  }

  /** The objects of a kind, or of every kind, that this uid owns. */
  owned(uid: string | undefined, kind = ''): void {
    if (uid !== undefined) this.#owners.add(ownerKey(uid, kind))
  }

  /** The Events about an object; without a uid, those of its name. */
  events({ kind, metadata: { uid, namespace, name } }: KubeObject): void {
    this.#subjects.add(uid ?? subjectKey({ kind, namespace, name }))
  }

  /** The history of a pod, which depends on its controller and on the revisions of its workload. */
  history({ metadata: { uid = '', ownerReferences = [] } }: Pod, store: Store): void {
    this.#subjects.add(uid)
    const controller = ownerReferences.find((each) => each.controller)
    if (controller === undefined || this.#subjects.has(controller.uid)) return
    this.#subjects.add(controller.uid)
    const replicaSet = controller.kind === 'ReplicaSet' ? store.withUid(controller.uid) : undefined
    const workload = replicaSet?.metadata.ownerReferences?.find((each) => each.controller)
    if (controller.kind === 'ReplicaSet') this.owned(workload?.uid, 'ReplicaSet')
    else this.owned(controller.uid, 'ControllerRevision')
  }

  /** Whether a change concerns the target. */
  concerns({ before, after }: Change): boolean {
    return [before, after].some((object) => object !== undefined && this.#contains(object))
  }

  #contains(object: KubeObject): boolean {
    if (isOfKind(object, 'Event')) {
      const { uid, kind = '', namespace, name = '' } = object.involvedObject ?? {}
      return (uid !== undefined && this.#subjects.has(uid)) || this.#subjects.has(subjectKey({ kind, namespace, name }))
    }
    const { kind, metadata } = object
    const { uid, namespace, ownerReferences = [] } = metadata
    return (
      (uid !== undefined && this.#subjects.has(uid)) ||
      ownerReferences.some(
        (owner) => this.#owners.has(ownerKey(owner.uid, '')) || this.#owners.has(ownerKey(owner.uid, kind)),
      ) ||
      (this.#lists.get(listKey(kind, namespace))?.some((where) => where(object)) ?? false)
    )
  }

  /** Whether the target was assessed by the state of a list, which is complete now. */
  awaits(list: WatchRequest): boolean {
    return this.#states.some((request) => covers(list, request))
  }
}

function listKey(kind: string, namespace: string | undefined): string {
  return `${kind} ${namespace ?? ''}`
}

function ownerKey(uid: string, kind: string): string {
  return `${uid} ${kind}`
}

function subjectKey({ kind, namespace, name }: Pick<WatchRequest, 'kind' | 'namespace' | 'name'>): string {
  return `${kind} ${namespace ?? ''} ${name}`
}
