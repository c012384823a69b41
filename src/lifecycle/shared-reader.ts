import type { RequestOf, WatchRequest } from '../cluster/feed.ts'
import type { KubeObject, ObjectName, ObjectOf } from '../cluster/objects.ts'
import type { Change, Store } from '../cluster/store.ts'
import { createMoment, type GateTime } from './proof.ts'
import { createWatchFunctions, type LifecycleSettings, type Reader } from './reader.ts'
import { type KeyedChange, type Need, Reads, toKeyedChange } from './reads.ts'
import { PodHistories } from './workloads/pod-histories.ts'

/* Creates readers, which read the store and the histories of the pods. */

type SharedReader = Omit<Reader, 'history' | 'othersProgress' | 'othersReadyAt' | 'revisionOf'>

/** Creates the part of the readers that all targets share. It reads the store and the histories of the pods. */
export interface SharedReaders {
  /**
   * Updates the histories of the pods. Must be called with every change, after the store has applied the change.
   * @returns the change with its keys; see `Reads.isAffectedBy`
   */
  observe(change: Change, now: number): KeyedChange
  /** Creates the shared part of a reader for an assessment at `now`. */
  at(now: number): SharedReader
}

export function createSharedReaders(store: Store, gateTime: GateTime, settings: LifecycleSettings): SharedReaders {
  const histories = new PodHistories(store, gateTime)
  const { startedAt, time } = gateTime
  const createReader = (now: number): SharedReader => {
    const reads = new Reads()
    const listState = (request: WatchRequest) => {
      reads.recordListState(request)
      return store.listState(request)
    }
    const watch = (request: WatchRequest, need: Need = 'needed') => {
      reads.recordRequest(request, need)
      return listState(request)
    }
    const listKnown: Reader['listKnown'] = (request, where = () => true) => {
      reads.recordList(request, where as (object: KubeObject) => boolean)
      return listFromStore(store, request).filter(where)
    }
    const listKnownOwned: Reader['listKnownOwned'] = (uid, kind) => {
      reads.recordOwned(uid, kind)
      return store.listOwned(uid, kind)
    }
    return {
      startedAt,
      settings,
      time,
      ...createMoment(now),
      reads,
      ...createWatchFunctions(watch, { listKnown, listKnownOwned }),
      listState,
      listKnownOwned,
      endedPods: (uid, phase) => {
        reads.recordOwned(uid, 'Pod')
        return histories.endedPods(uid, phase)
      },
      removedAt: (uid, revision) => {
        reads.recordOwned(uid, 'Pod')
        return histories.removedAt(uid, revision)
      },
      listKnown,
      events: (object, where) => {
        reads.recordEvents(object, where ?? (() => true))
        const events = store.eventsOf(object)
        return where === undefined ? events : events.filter(where)
      },
      podView: (pod) => {
        reads.recordHistory(pod, store)
        return histories.viewOf(pod, now)
      },
      answers: (check, pod) => store.answersOf(check, pod),
      declaresStatus: (kind) => store.hasStatusSubresource(kind),
    }
  }
  return { observe: (change, now) => toKeyedChange(change, histories.observe(change, now)), at: createReader }
}

/** Lists the objects in the store with the kind, namespace and name in a request. */
function listFromStore<Kind extends string>(store: Store, request: RequestOf<Kind>): readonly ObjectOf<Kind>[] {
  const { kind, namespace, name } = request
  if (name === undefined) return store.list(kind, namespace)
  const found = store.get(request as ObjectName) as ObjectOf<Kind> | undefined
  return found === undefined ? [] : [found]
}
