import type { Change, Store } from '../cluster/store.ts'
import type { GateTime } from './gate-time.ts'
import { type Present, presentAt } from './proof.ts'
import type { LifecycleSettings, RuleContext } from './rule-context.ts'
import { PodHistories } from './workloads/observe-pods.ts'

/** The part of a rule context that all targets share. */
type SharedContext = Omit<RuleContext, 'history' | 'othersProgress' | 'othersReadyAt' | 'revisionOf'>

/** Builds the shared part of rule contexts from the store. */
export interface SharedContexts {
  /** Observes a change of any object at `now`, after the store has applied it. It must receive every change. */
  observe(change: Change, now: number): void
  at(now: number): SharedContext
}

export function createContexts(store: Store, gateTime: GateTime, settings: LifecycleSettings): SharedContexts {
  const pods = new PodHistories(store, gateTime)
  const { startedAt, time } = gateTime
  const timeless: Omit<SharedContext, keyof Present | 'podHistory'> = {
    startedAt,
    settings,
    time,
    owned: (uid, kind) => store.ownedBy(uid, kind),
    lostPods: (uid) => pods.ended(uid, 'Failed'),
    removedAt: (uid, revision) => pods.removedAt(uid, revision),
    succeededPods: (uid) => pods.ended(uid, 'Succeeded'),
    list: (kind, namespace) => store.list(kind, namespace),
    events: (object) => store.eventsOf(object),
    declaresStatus: (kind) => store.declaresStatus(kind),
    listState: (request) => store.listState(request),
  }
  return {
    observe: (change, now) => pods.observe(change, now),
    at: (now) => ({ ...timeless, ...presentAt(now), podHistory: (pod) => pods.of(pod, now) }),
  }
}
