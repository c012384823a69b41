import type { Condition, KubeObject } from '../cluster/objects.ts'
import { groupOf } from '../cluster/store.ts'
import { namesGeneration } from './custom/status-signals.ts'
import type { RuleContext } from './rule-context.ts'

/**
 * Controllers that reconcile by the clock, in milliseconds: that of HorizontalPodAutoscalers every 15 s
 * (`--horizontal-pod-autoscaler-sync-period` of kube-controller-manager).
 */
const syncPeriodsMs: Readonly<Record<string, number>> = { 'autoscaling/HorizontalPodAutoscaler': 15_000 }

/**
 * Until when the status of an object may be older than its spec. Many controllers do not name the generation that their
 * status is about: right after an apply, "Ready" is that of the spec before. Where the spec was written after the status, the
 * controller is given its sync period, or the settle time, from that write; at the most from when the present spec was first
 * seen, as other writers are dated alike.
 *
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management: the API server dates each manager's
 * last write, and keeps those of the status subresource apart.
 *
 * @param signals the conditions that are believed; undefined for what the status says otherwise
 * @returns milliseconds since the epoch on the runner's clock; undefined when the status can be believed now
 */
export function staleUntil(
  object: KubeObject,
  signals: readonly (Condition | undefined)[],
  { now, time, history, settings }: RuleContext,
): number | undefined {
  const { generation, creationTimestamp, managedFields = [] } = object.metadata
  if (namesGeneration(object) || signals.every((each) => each?.observedGeneration !== undefined)) return undefined
  const lastOf = (entries: typeof managedFields) => Math.max(...entries.map((entry) => time(entry.time) ?? -Infinity))
  const statusAt = lastOf(managedFields.filter(({ subresource }) => subresource === 'status'))
  const specAt = lastOf(managedFields.filter(({ subresource }) => subresource === undefined))
  // What was only created has no older status; kinds without a generation are dated by their creation.
  const isNew = generation === undefined ? specAt <= (time(creationTimestamp) ?? -Infinity) : generation <= 1
  // A controller that writes no status subresource cannot be told from the writer of the spec.
  if (isNew || statusAt === -Infinity || statusAt > specAt) return undefined
  const periodMs = syncPeriodsMs[`${groupOf(object.apiVersion)}/${object.kind}`] ?? settings.settleMs
  const until = Math.min(specAt, history.specSeenAt) + periodMs
  return until > now ? until : undefined
}
