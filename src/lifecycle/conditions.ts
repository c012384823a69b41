import type { Condition, KubeObject } from '../cluster/objects.ts'
import type { Problem } from './assessment.ts'
import type { View } from './view.ts'

/** How long a resource's own word of failure must stand before it is believed. */
export const reportedMs = 10_000

/** The conditions of an object's status that speak of its present generation; anything malformed is left out. */
export function presentConditions(object: KubeObject): readonly Condition[] {
  const { conditions } = (object.status ?? {}) as { conditions?: unknown }
  if (!Array.isArray(conditions)) return []
  return conditions.filter(isCondition).filter((each) => isPresent(each, object))
}

/** Custom resources hold whatever their schema lets through: only what has a type and a status is a condition. */
export function isCondition(value: unknown): value is Condition {
  const { type, status } = (value ?? {}) as Partial<Condition>
  return typeof type === 'string' && typeof status === 'string'
}

/** Whether a condition speaks of the object's present generation; one without a generation of its own does. */
export function isPresent({ observedGeneration }: Condition, { metadata }: KubeObject): boolean {
  return !isStale(observedGeneration, metadata.generation)
}

/**
 * Whether an observed generation is older than the object's. Some controllers write it as a string, and some write a
 * hash there, which says nothing of the order.
 */
export function isStale(observed: unknown, generation = 0): boolean {
  return observed !== undefined && observed !== null && Number(observed) < generation
}

/** A condition in words: `Ready is False (ImagePullFailed): no such image`. */
export function conditionWords({ type, status, reason, message }: Condition): string {
  return `${type} is ${status}${reason ? ` (${reason})` : ''}${message ? `: ${message}` : ''}`
}

/** Slow: a bare False, which many controllers set while they are still at work. */
export function conditionProblem(object: KubeObject, found: Condition, view: View): Problem {
  const firstSeenAt = Math.min(view.time(found.lastTransitionTime) ?? view.history.firstSeenAt, view.now)
  return { ...ownProblem(object, firstSeenAt), reason: 'condition-false', message: conditionWords(found) }
}

/** Slow: no controller has written a status yet. */
export function notReconciled(object: KubeObject, view: View): Problem {
  return {
    ...ownProblem(object, view.history.firstSeenAt),
    reason: 'not-reconciled',
    message: 'has no status yet: no controller has acted on it',
  }
}

/** What the slow problems of an object about itself have in common. */
export function ownProblem({ kind, metadata }: KubeObject, firstSeenAt: number) {
  const subject = `${kind.toLowerCase()}/${metadata.name}`
  return { class: 'slow', subject, count: 1, firstSeenAt, proven: false } as const
}
