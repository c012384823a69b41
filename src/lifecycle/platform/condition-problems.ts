import type { Condition, KubeObject } from '../../cluster/objects.ts'
import type { Problem } from '../../reasons/reasons.ts'
import { conditionWords, isStale } from '../conditions.ts'
import { type Proof, prove } from '../proof.ts'
import type { RuleContext } from '../rule-context.ts'

/** How long a resource's own word of failure must stand before it is believed. */
export const reportedMs = 10_000

/** Slow: a bare False, which many controllers set while they are still at work. */
export function conditionProblem(
  object: KubeObject,
  found: Condition,
  context: RuleContext,
): Problem<'condition-false'> {
  const firstSeenAt = Math.min(context.time(found.lastTransitionTime) ?? context.history.firstSeenAt, context.now)
  return { ...ownProblem(object, firstSeenAt), reason: 'condition-false', detail: { text: conditionWords(found) } }
}

/**
 * Strike: an object's own word of failure about its present generation, when it has stood for ten seconds.
 * @param key under which the rule's `failures` contain it
 */
export function reportedProblem(
  object: KubeObject,
  key: string,
  found: Condition,
  context: RuleContext,
): Problem<'reported-failed'> {
  const since = failingSince(object, key, found, context)
  return {
    ...ownProblem(object, since),
    reason: 'reported-failed',
    detail: { text: conditionWords(found) },
    ...proveReported(since, reportedMs, context.now),
  }
}

/**
 * Whether a failure that an object itself reports is certain: it has to stand for a while, since controllers retry. Their
 * report of the present generation needs no second one.
 */
export function proveReported(since: number, atLeastMs: number, now: number): Proof {
  return prove({ seen: 1, needed: 1, since, atLeastMs, isCurrent: true }, now)
}

/**
 * Since when an object reports a failure, in milliseconds since the epoch on the runner's clock. A condition's own time
 * counts where the object names the generation that the condition is about. Else the condition may be left from the spec
 * before, and counts from its first sight; so does one that is dated in the future, by a clock that is ahead.
 * @param key under which the rule's `failures` contain it
 */
export function failingSince(
  object: KubeObject,
  key: string,
  condition: Condition | undefined,
  { history, now, time }: Pick<RuleContext, 'history' | 'now' | 'time'>,
): number {
  const seenAt = history.failures.get(key) ?? now
  const changedAt = time(condition?.lastTransitionTime)
  if (changedAt === undefined || changedAt > now) return seenAt
  const { observedGeneration } = (object.status ?? {}) as { observedGeneration?: unknown }
  const isDated = (condition?.observedGeneration ?? observedGeneration) !== undefined
  return isDated && !isStale(observedGeneration, object.metadata.generation) ? changedAt : Math.max(changedAt, seenAt)
}

/** Slow: no controller has written a status yet. */
export function notReconciled(object: KubeObject, context: RuleContext): Problem<'not-reconciled'> {
  return {
    ...ownProblem(object, context.history.firstSeenAt),
    reason: 'not-reconciled',
    detail: { text: 'has no status yet: no controller has acted on it' },
  }
}

/** What the slow problems of an object about itself have in common. */
export function ownProblem({ kind, metadata }: KubeObject, firstSeenAt: number) {
  const subject = `${kind.toLowerCase()}/${metadata.name}`
  return { subject, count: 1, firstSeenAt, proven: false } as const
}
