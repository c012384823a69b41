import type { LogText } from '../cluster/feed.ts'
import type { EventObject, KubeObject } from '../cluster/objects.ts'
import type { Refusal, Store } from '../cluster/store.ts'
import type { TargetRecord } from '../gate/timeline.ts'
import { findSubject } from '../lifecycle/evidence-snapshot.ts'
import type { Problem } from '../reasons/reasons.ts'

/** What is known of one target: as it stood when its verdict was given, and what was read of it since. */
export class Facts {
  readonly #record: TargetRecord
  readonly #store: Store

  constructor(record: TargetRecord, store: Store) {
    this.#record = record
    this.#store = store
  }

  /** The object of that kind and name; the one that the verdict rests on goes before one that came after. */
  get(reference: Parameters<Store['get']>[0]): KubeObject | undefined {
    const { kind, name, namespace } = reference
    const captured = this.#record.snapshot?.find(
      (object) =>
        object.kind === kind && object.metadata.name === name && (object.metadata.namespace ?? namespace) === namespace,
    )
    return captured ?? this.#store.get(reference)
  }

  /** The revisions that an object owns: its ReplicaSets, its ControllerRevisions. */
  ownedBy(uid: string | undefined, kind: string): readonly KubeObject[] {
    const { snapshot } = this.#record
    if (snapshot === undefined) return this.#store.ownedBy(uid, kind)
    return snapshot.filter(
      (object) => object.kind === kind && object.metadata.ownerReferences?.some((owner) => owner.uid === uid),
    )
  }

  /** The object that a problem is about. */
  subject({ subject }: Problem): KubeObject | undefined {
    return findSubject(subject, this.#record.target, this)
  }

  eventsOf(object: KubeObject): readonly EventObject[] {
    return this.#store.eventsOf(object)
  }

  log(pod: string, container: string, previous: boolean): LogText | undefined {
    return this.#store.log(this.#record.target.namespace ?? 'default', pod, container, previous)
  }

  node(name: string): KubeObject | undefined {
    return this.#store.get({ apiVersion: 'v1', kind: 'Node', name })
  }

  /** The reason of the last event about an object of the target's name, whether it exists or not. */
  get lastEvent(): string | undefined {
    const { apiVersion, kind, namespace, name } = this.#record.target
    const metadata = { name, ...(namespace === undefined ? {} : { namespace }) }
    return this.#store.eventsOf({ apiVersion, kind, metadata }).at(-1)?.reason
  }

  /** What keeps the target's namespace from holding it; undefined where nothing is known to. */
  get namespaceLack(): 'missing' | 'terminating' | undefined {
    const { namespace } = this.#record.target
    if (namespace === undefined) return undefined
    const request = { apiVersion: 'v1', kind: 'Namespace', name: namespace }
    if (this.#store.refusal(request)?.type === 'MISSING') return 'missing'
    return this.#store.get(request)?.metadata.deletionTimestamp === undefined ? undefined : 'terminating'
  }

  /** Why the objects of a core kind in the target's namespace, or one node, could not be read; undefined where nobody was refused. */
  refusal(kind: 'Pod' | 'Event' | 'Node', name?: string): Refusal | undefined {
    const { namespace } = this.#record.target
    const where = kind === 'Node' || namespace === undefined ? {} : { namespace }
    return this.#store.refusal({ apiVersion: 'v1', kind, ...where, ...(name === undefined ? {} : { name }) })
  }
}
