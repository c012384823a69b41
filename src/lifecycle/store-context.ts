import type { Store } from '../cluster/store.ts'
import type { GateTime } from './gate-time.ts'
import type { LifecycleSettings, RuleContext } from './rule-context.ts'
import type { PodHistories } from './workloads/pod-history.ts'

/** The part of a rule context that every target shares, for the gate and for `trace`. */
export function storeContext(
  store: Store,
  pods: PodHistories,
  { startedAt, time }: GateTime,
  { settleMs, maxRestarts }: LifecycleSettings,
  now: number,
): Omit<RuleContext, 'history' | 'othersProgress' | 'othersReadyAt' | 'isOfGatedRevision'> {
  return {
    now,
    startedAt,
    settings: { settleMs, maxRestarts },
    time,
    owned: (uid, kind) => store.ownedBy(uid, kind),
    lostPods: (uid) => pods.lost(uid),
    list: (kind, namespace) => store.list(kind, namespace),
    events: (object) => store.eventsOf(object),
    podHistory: (pod) => pods.of(pod, now),
    declaresStatus: (kind) => store.declaresStatus(kind),
    listState: (request) => store.listState(request),
  }
}
