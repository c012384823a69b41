import { isDeepStrictEqual } from 'node:util'
import {
  controllerUidOf,
  type EventObject,
  hasEnded,
  isOfKind,
  type KubeObject,
  type Pod,
} from '../../cluster/objects.ts'
import { type Change, type Store, uidKey } from '../../cluster/store.ts'
import type { PodView } from '../pod-view.ts'
import { workloadUid } from '../pods.ts'
import type { GateTime } from '../proof.ts'
import { createPodView } from './create-pod-view.ts'
import type { WorkloadTiming } from './death-count.ts'
import { observePod, type PodObservations } from './observe-pods.ts'
import { hashLabel, isRevisionUnchanged, templateChangedAt } from './revision.ts'

/** The observed history of each pod, and the pod views that rules read. `observe` handles every change in the store. */
export class PodHistories {
  readonly #store: Store
  readonly #gateTime: GateTime
  readonly #observations = new Map<string, PodObservations>()
  /** The timing of each workload, by the uid of the pods' controller; cleared when it may have changed. */
  readonly #timings = new Map<string, WorkloadTiming>()
  /** The pods that ended before their deletion, by the uid of their controller and then by their own uid. */
  readonly #ended = new Map<string, Map<string, Pod>>()
  /** When the last deletion of a pod began, by controller and revision. */
  readonly #removed = new Map<string, number>()
  #views = new WeakMap<Pod, CachedView>()

  constructor(store: Store, gateTime: GateTime) {
    this.#store = store
    this.#gateTime = gateTime
  }

  /**
   * Observes a change of any object at `now`, after the store has applied it.
   * @returns the pod whose view an Event changes. Most Events change no view: they repeat an earlier Event or a status
   */
  observe({ before, after }: Change, now: number): Pod | undefined {
    const object = after ?? before
    const { kind } = object
    const isRevisionChanged =
      (kind === 'ReplicaSet' || kind === 'ControllerRevision') && !isRevisionUnchanged(before, after)
    if (isRevisionChanged || minReadySeconds(before) !== minReadySeconds(after)) {
      this.#timings.clear()
      this.#views = new WeakMap()
    } else {
      if (isOfKind(before, 'Pod')) this.#observeRemoval(before, after, now)
      if (isOfKind(after, 'Pod')) this.#observePod(after, now)
    }
    const uid = isOfKind(object, 'Event') ? object.involvedObject?.uid : undefined
    const pod = uid === undefined ? undefined : this.#store.getByUid(uid)
    if (!isOfKind(pod, 'Pod')) return undefined
    return this.#views.get(pod)?.view === this.viewOf(pod, now) ? undefined : pod
  }

  /** The view of a pod. The returned object stays the same until a fact that rules read changes. */
  viewOf(pod: Pod, now: number): PodView {
    const { uid = '', namespace } = pod.metadata
    const observations = this.#observations.get(uidKey(uid, namespace))
    const events = this.#store.eventsOf(pod)
    const known = this.#views.get(pod)
    if (known !== undefined && known.observations === observations && known.events === events) return known.view
    const seen = observations ?? observePod(undefined, pod, now, this.#gateTime)
    const found = createPodView(pod, seen, events, this.#timingOf(pod), this.#gateTime)
    const view = isDeepStrictEqual(found, known?.view) && known !== undefined ? known.view : found
    this.#views.set(pod, { observations, events, view })
    return view
  }

  #timingOf(pod: Pod): WorkloadTiming {
    const controller = controllerUidOf(pod)
    if (controller === undefined) return { changedAt: undefined, minReadyMs: 0 }
    const known = this.#timings.get(controller)
    if (known !== undefined) return known
    const workload = workloadUid(controller, this.#store)
    const changedAt = templateChangedAt(workload, (uid, kind) => this.#store.listOwned(uid, kind))
    const seconds = [controller, workload].map((uid) => minReadySeconds(this.#store.getByUid(uid)))
    const timing = { changedAt: this.#gateTime.time(changedAt), minReadyMs: Math.max(...seconds) * 1_000 }
    this.#timings.set(controller, timing)
    return timing
  }

  /** See `Reader.endedPods`. */
  endedPods(controller: string | undefined, phase: 'Failed' | 'Succeeded'): readonly Pod[] {
    return [...(this.#ended.get(controller ?? '')?.values() ?? [])].filter(({ status }) => status?.phase === phase)
  }

  /** See `Reader.removedAt`. */
  removedAt(controller: string | undefined, revision = ''): number | undefined {
    return this.#removed.get(`${controller} ${revision}`)
  }

  #observeRemoval(before: Pod, after: KubeObject | undefined, now: number): void {
    const owner = controllerUidOf(before)
    const begins = after === undefined || after.metadata.deletionTimestamp !== undefined
    if (owner === undefined || !begins || before.metadata.deletionTimestamp !== undefined) return
    this.#removed.set(`${owner} ${before.metadata.labels?.[hashLabel] ?? ''}`, now)
  }

  #observePod(pod: Pod, now: number): void {
    const { uid, namespace, deletionTimestamp } = pod.metadata
    const owner = controllerUidOf(pod)
    if (hasEnded(pod) && deletionTimestamp === undefined && owner !== undefined && uid !== undefined)
      this.#ended.set(owner, (this.#ended.get(owner) ?? new Map<string, Pod>()).set(uid, pod))
    if (uid === undefined) return
    const before = this.#observations.get(uidKey(uid, namespace))
    this.#observations.set(uidKey(uid, namespace), observePod(before, pod, now, this.#gateTime))
  }
}

/** A cached view, and the inputs from which it was created. */
interface CachedView {
  readonly observations: PodObservations | undefined
  readonly events: readonly EventObject[]
  readonly view: PodView
}

/** The minReadySeconds of a workload; 0 for any other object. */
function minReadySeconds(object: KubeObject | undefined): number {
  const seconds = (object?.spec as { minReadySeconds?: unknown } | undefined)?.minReadySeconds
  return typeof seconds === 'number' ? seconds : 0
}
