import type { Condition, KubeObject } from '../cluster/objects.ts'
import type { Problem } from './assessment.ts'
import type { View } from './view.ts'

/** The conditions of an object's status that speak of its present generation; anything malformed is left out. */
export function presentConditions({ metadata, status }: KubeObject): readonly Condition[] {
  const { conditions } = (status ?? {}) as { conditions?: unknown }
  if (!Array.isArray(conditions)) return []
  return (conditions as (Condition | null)[]).filter(
    (each): each is Condition =>
      typeof each?.type === 'string' &&
      (each.observedGeneration === undefined || Number(each.observedGeneration) >= (metadata.generation ?? 0)),
  )
}

/** A condition in words: `Ready is False (ImagePullFailed): no such image`. */
export function conditionWords({ type, status, reason, message }: Condition): string {
  return `${type} is ${status}${reason ? ` (${reason})` : ''}${message ? `: ${message}` : ''}`
}

/** Slow: a bare False, which many controllers set while they are still at work. */
export function conditionProblem(object: KubeObject, found: Condition, view: View): Problem {
  return {
    reason: 'condition-false',
    class: 'slow',
    subject: `${object.kind.toLowerCase()}/${object.metadata.name}`,
    message: conditionWords(found),
    count: 1,
    firstSeenAt: Math.min(view.time(found.lastTransitionTime) ?? view.history.firstSeenAt, view.now),
    proven: false,
  }
}

/** Slow: no controller has written a status yet. */
export function notReconciled(object: KubeObject, view: View): Problem {
  return {
    reason: 'not-reconciled',
    class: 'slow',
    subject: `${object.kind.toLowerCase()}/${object.metadata.name}`,
    message: 'has no status yet: no controller has acted on it',
    count: 1,
    firstSeenAt: view.history.firstSeenAt,
    proven: false,
  }
}
