import type { Condition, KubeObject } from '../cluster/objects.ts'
import { groupOf } from '../cluster/store.ts'
import { hasObservedGeneration } from './custom/status-generation.ts'
import { lastWriteOf } from './gate-time.ts'
import { provePersisted } from './proof.ts'
import type { RuleContext } from './rule-context.ts'

/**
 * The sync periods of controllers that reconcile by time, in milliseconds. For HorizontalPodAutoscalers:
 * `--horizontal-pod-autoscaler-sync-period` of kube-controller-manager.
 */
const syncPeriodsMs: Readonly<Record<string, number>> = { 'autoscaling/HorizontalPodAutoscaler': 15_000 }

/**
 * Until when the status of an object may be older than its spec. Many controllers do not write the generation of their
 * status: right after an apply, "Ready" may be about the previous spec. If the spec was written after the status, the
 * controller has its sync period, or the settle time, to update the status. This time starts at that write, but not
 * later than the first sight of the present spec, because other writers may have written last.
 * @param signals the conditions that decided; an undefined entry stands for another part of the status
 * @param copiesOthers whether the controller may copy the state of other objects, such as a Deployment, that it read
 * before these observed the change. Then only a state that has changed since the write of the spec is not stale,
 * whatever generation it has.
 * @returns milliseconds since the epoch on the runner's clock; undefined when the status is not stale
 */
export function staleUntil(
  object: KubeObject,
  signals: readonly (Condition | undefined)[],
  { now, time, history, settings }: RuleContext,
  copiesOthers = false,
): number | undefined {
  const { generation, creationTimestamp } = object.metadata
  const isDated = hasObservedGeneration(object) || signals.every((each) => each?.observedGeneration !== undefined)
  if (isDated && !copiesOthers) return undefined
  const statusAt = lastWriteOf(object, time, 'status')
  const specAt = lastWriteOf(object, time) ?? -Infinity
  // A new object has no older status; kinds without a generation are dated by their creation.
  const isNew = generation === undefined ? specAt <= (time(creationTimestamp) ?? -Infinity) : generation <= 1
  // Without a status subresource, the controller cannot be distinguished from the writer of the spec.
  if (isNew || statusAt === undefined) return undefined
  const hasChanged =
    history.statesMovedAt > history.specSeenAt ||
    signals.some((each) => (time(each?.lastTransitionTime) ?? -Infinity) >= specAt)
  if (copiesOthers ? hasChanged : statusAt > specAt) return undefined
  const periodMs = syncPeriodsMs[`${groupOf(object.apiVersion)}/${object.kind}`] ?? settings.settleTimeMs
  return provePersisted(Math.min(specAt, history.specSeenAt), periodMs, now).recheckAt
}
