import type { WatchRequest } from '../cluster/feed.ts'
import type { EventObject, KubeObject, Pod } from '../cluster/objects.ts'
import type { ListState } from '../cluster/store.ts'
import type { PodHistory, TargetHistory } from './workloads/history.ts'

/**
 * All that a lifecycle rule may know besides the object itself: its relatives, what was seen of them before, the time
 * and the user's settings. Built by the gate for each assessment; rules ask and never keep it.
 */
export interface RuleContext {
  /** Now, and when the gate began: milliseconds since the epoch on the runner's clock. */
  readonly now: number
  readonly startedAt: number
  readonly settings: LifecycleSettings
  /** What was seen of the target itself. */
  readonly history: TargetHistory
  /** Another target of the gate still progresses without a problem of its own: a crash may be waiting for it. */
  readonly othersProgress: boolean
  /** When another target last became ready: from then on a container that waited for it can come up. */
  readonly othersReadyAt?: number
  /** A timestamp of the server on the runner's clock; undefined when absent or unreadable. */
  time(timestamp: string | null | undefined): number | undefined
  /** The objects of a kind owned by this uid. */
  owned(uid: string | undefined, kind: string): readonly KubeObject[]
  /** The pods of this controller that were seen to have ended in failure, gone by now or not; none that was being deleted. */
  lostPods(uid: string | undefined): readonly Pod[]
  /** The objects of a kind in a namespace; undefined for kinds without namespaces. */
  list(kind: string, namespace: string | undefined): readonly KubeObject[]
  /**
   * Whether a pod of a gated workload is of the revision that is being gated, or meant to stay; undefined for all other pods.
   * No pod is while a gated workload behind the target has not been judged: which of its pods are new is not known.
   */
  isOfGatedRevision(pod: Pod): boolean | undefined
  /** The events about an object. */
  events(object: KubeObject): readonly EventObject[]
  /** What was seen of a pod since it was first seen. */
  podHistory(pod: Pod): PodHistory
  /** Whether a kind has a status subresource, as discovery says; undefined where nobody asked. */
  declaresStatus(kind: { readonly apiVersion: string; readonly kind: string }): boolean | undefined
  /** Whether the absence of what this request lists proves anything. */
  listState(request: WatchRequest): ListState
}

export interface LifecycleSettings {
  /** How long a container without a readiness probe must have run before it counts as ready. */
  readonly settleMs: number
  /** Restarts forgiven to a container. */
  readonly maxRestarts: number
}
