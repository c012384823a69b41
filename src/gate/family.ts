import type { EventObject, KubeObject } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'

/**
 * Which members of a group (here: tracks) an object concerns: the object itself, whatever it owns by uid along the whole
 * chain, and the events about them.
 */
export class Family<Member> {
  readonly #members = new Map<string, Set<Member>>()

  /** Makes an object, and all that the store knows it to own, a concern of `member`. */
  adopt(uid: string | undefined, member: Member, store: Store): void {
    if (uid === undefined) return
    const members = this.#members.get(uid) ?? new Set()
    if (members.has(member)) return
    this.#members.set(uid, members.add(member))
    for (const owned of store.allOwnedBy(uid)) this.adopt(owned.metadata.uid, member, store)
  }

  /** Whom an object concerns; an object that a concern owns becomes a concern itself. */
  concernedBy(object: KubeObject, store: Store): ReadonlySet<Member> {
    const found = new Set(this.#members.get(subjectUid(object) ?? ''))
    for (const owner of object.metadata.ownerReferences ?? []) {
      for (const member of this.#members.get(owner.uid) ?? []) {
        found.add(member)
        this.adopt(object.metadata.uid, member, store)
      }
    }
    return found
  }
}

function subjectUid(object: KubeObject): string | undefined {
  return object.kind === 'Event' ? (object as EventObject).involvedObject?.uid : object.metadata.uid
}
