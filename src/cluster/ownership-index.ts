import { isOfKind, type KubeObject } from './objects.ts'
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
    // Not recursive: a chain of owners may be as long as its author likes.
    const found = uid === undefined ? [] : [uid]
    for (const each of found) {
      const targets = this.#targets.get(each) ?? new Set()
      if (targets.has(target)) continue
      this.#targets.set(each, targets.add(target))
      for (const { metadata } of this.#store.ownedBy(each)) if (metadata.uid !== undefined) found.push(metadata.uid)
    }
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
  return isOfKind(object, 'Event') ? object.involvedObject?.uid : object.metadata.uid
}
