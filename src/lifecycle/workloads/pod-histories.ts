import type { EventObject, KubeObject, Pod } from '../../cluster/objects.ts'
import type { Change, Store } from '../../cluster/store.ts'
import type { GateTime } from '../gate-time.ts'
import { historyOf, observePod, observePodEvents, type PodHistory, type PodSeen, type PodTerms } from './history.ts'
import { templateChangedAt } from './template-change.ts'

/** Kinds whose objects own pods and have a minReadySeconds. */
const controllers: ReadonlySet<string> = new Set(['ReplicaSet', 'ReplicationController', 'StatefulSet', 'DaemonSet'])

/** What was seen of every pod since it was first seen, fed with every change that the store takes. */
export class PodHistories {
  readonly #store: Store
  readonly #gateTime: GateTime
  readonly #seen = new Map<string, PodSeen>()
  /** When the template of each controller of pods was last changed, until its revisions change. */
  readonly #changes = new Map<string, number | undefined>()
  /** By their controller. */
  readonly #lost = new Map<string, Map<string, Pod>>()
  /** What counts of what was seen: asked for several times at each look, and the same until one of both changes. */
  #counted = new WeakMap<PodSeen, PodHistory>()

  constructor(store: Store, gateTime: GateTime) {
    this.#store = store
    this.#gateTime = gateTime
  }

  /** Takes a change of any object, seen at `now`, once the store has taken it. */
  observe({ before, after }: Change, now: number): void {
    const { kind } = (after ?? before) as KubeObject
    if (kind === 'ReplicaSet' || kind === 'ControllerRevision') this.#changes.clear()
    if (kind === 'ReplicaSet' || kind === 'ControllerRevision' || minReadySeconds(before) !== minReadySeconds(after)) {
      this.#counted = new WeakMap()
    } else if (kind === 'Pod' && after !== undefined) this.#observePod(after as Pod, now)
    else if (kind === 'Event') this.#observeEvents((after ?? before) as EventObject, now)
  }

  /** The history of a pod; of one that nobody observed, what can be told from its present state. */
  of(pod: Pod, now: number): PodHistory {
    const seen = this.#seen.get(pod.metadata.uid ?? '') ?? observePod(undefined, pod, now, this.#gateTime)
    const history = this.#counted.get(seen) ?? historyOf(seen, pod, this.#termsOf(pod), this.#gateTime)
    this.#counted.set(seen, history)
    return history
  }

  #termsOf({ metadata: { namespace, ownerReferences = [] } }: Pod): PodTerms {
    const owner = ownerReferences.find(({ controller }) => controller)
    if (owner === undefined) return { changedAt: undefined, minReadyMs: 0 }
    if (!this.#changes.has(owner.uid))
      this.#changes.set(owner.uid, this.#gateTime.time(templateChangedAt(owner, namespace, this.#store)))
    const { apiVersion, kind, name } = owner
    const found = this.#store.get({ apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) })
    return { changedAt: this.#changes.get(owner.uid), minReadyMs: (minReadySeconds(found) ?? 0) * 1_000 }
  }

  /** The pods of a controller that were seen to have ended in failure, gone by now or not; none that was being deleted. */
  lost(controller: string | undefined): readonly Pod[] {
    return [...(this.#lost.get(controller ?? '')?.values() ?? [])]
  }

  #observePod(pod: Pod, now: number): void {
    const { uid, deletionTimestamp, ownerReferences = [] } = pod.metadata
    const owner = ownerReferences.find(({ controller }) => controller)?.uid
    if (pod.status?.phase === 'Failed' && deletionTimestamp === undefined && owner !== undefined && uid !== undefined)
      this.#lost.set(owner, (this.#lost.get(owner) ?? new Map<string, Pod>()).set(uid, pod))
    if (uid !== undefined) this.#seen.set(uid, observePod(this.#seen.get(uid), pod, now, this.#gateTime))
  }

  #observeEvents({ involvedObject: { uid, kind } = {} }: EventObject, now: number): void {
    if (kind !== 'Pod' || uid === undefined) return
    const events = this.#store.eventsOf({ apiVersion: 'v1', kind: 'Pod', metadata: { name: '', uid } })
    this.#seen.set(uid, observePodEvents(this.#seen.get(uid), events, now, this.#gateTime))
  }
}

/** The minReadySeconds of a controller of pods; undefined for any other object. */
function minReadySeconds(object: KubeObject | undefined): number | undefined {
  if (object === undefined || !controllers.has(object.kind)) return undefined
  const seconds = (object.spec as { minReadySeconds?: unknown } | undefined)?.minReadySeconds
  return typeof seconds === 'number' ? seconds : 0
}
