import type { EventObject, KubeObject } from './objects.ts'
import type { Store } from './store.ts'

/**
 * Which objects belong to which target: the target's own object and all objects that it owns by uid, directly or
 * indirectly. Deleted objects stay in the index.
 */
export class OwnershipIndex<Target> {
  readonly #targets = new Map<string, Set<Target>>()
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** Adds an object that belongs to a target, and the objects that it owns. */
  assign(uid: string | undefined, target: Target): void {
    if (uid === undefined) return
    const targets = this.#targets.get(uid) ?? new Set()
    if (targets.has(target)) return
    this.#targets.set(uid, targets.add(target))
    for (const owned of this.#store.ownedBy(uid)) this.assign(owned.metadata.uid, target)
  }

  /** Adds an object if one of its owners belongs to a target. */
  add(object: KubeObject): void {
    for (const { uid } of object.metadata.ownerReferences ?? [])
      for (const target of this.#targets.get(uid) ?? []) this.assign(object.metadata.uid, target)
  }

  /** The targets that an object belongs to; for an Event, those of its involved object. */
  targetsOf(object: KubeObject): ReadonlySet<Target> {
    const uids = [involvedUid(object), ...(object.metadata.ownerReferences ?? []).map(({ uid }) => uid)]
    return new Set(uids.flatMap((uid) => [...(this.#targets.get(uid ?? '') ?? [])]))
  }
}

function involvedUid(object: KubeObject): string | undefined {
  return object.kind === 'Event' ? (object as EventObject).involvedObject?.uid : object.metadata.uid
}
