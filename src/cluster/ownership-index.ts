import type { EventObject, KubeObject } from './objects.ts'
import type { Store } from './store.ts'

/**
 * Which objects belong to which target: the target's own object, and what it owns by uid along the whole chain. Objects stay
 * in the index after their deletion.
 */
export class OwnershipIndex<Target> {
  readonly #targets = new Map<string, Set<Target>>()
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** Adds an object that belongs to a target, and all that the store knows it to own. */
  assign(uid: string | undefined, target: Target): void {
    if (uid === undefined) return
    const targets = this.#targets.get(uid) ?? new Set()
    if (targets.has(target)) return
    this.#targets.set(uid, targets.add(target))
    for (const owned of this.#store.allOwnedBy(uid)) this.assign(owned.metadata.uid, target)
  }

  /** Adds an object where one of its owners belongs to a target. */
  add(object: KubeObject): void {
    for (const { uid } of object.metadata.ownerReferences ?? [])
      for (const target of this.#targets.get(uid) ?? []) this.assign(object.metadata.uid, target)
  }

  /** The targets that an object belongs to; of an Event, those that its subject belongs to. */
  targetsOf(object: KubeObject): ReadonlySet<Target> {
    const uids = [subjectUid(object), ...(object.metadata.ownerReferences ?? []).map(({ uid }) => uid)]
    return new Set(uids.flatMap((uid) => [...(this.#targets.get(uid ?? '') ?? [])]))
  }
}

function subjectUid(object: KubeObject): string | undefined {
  return object.kind === 'Event' ? (object as EventObject).involvedObject?.uid : object.metadata.uid
}
