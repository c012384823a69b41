import type { Condition, KubeObject } from '../cluster/objects.ts'
import type { Problem } from './assessment.ts'
import { conditionWords } from './conditions.ts'
import type { View } from './view.ts'

/** How long a resource's own word of failure must stand before it is believed. */
export const reportedMs = 10_000

/** Slow: a bare False, which many controllers set while they are still at work. */
export function conditionProblem(object: KubeObject, found: Condition, view: View): Problem {
  const firstSeenAt = Math.min(view.time(found.lastTransitionTime) ?? view.history.firstSeenAt, view.now)
  return { ...ownProblem(object, firstSeenAt), reason: 'condition-false', message: conditionWords(found) }
}

/** Strike: an object's own word of failure about its present generation, when it has stood for ten seconds. */
export function reportedProblem(object: KubeObject, found: Condition, view: View): Problem {
  const since = Math.min(view.now, view.time(found.lastTransitionTime) ?? view.history.firstSeenAt)
  return {
    ...ownProblem(object, since),
    class: 'strike',
    reason: 'reported-failed',
    message: conditionWords(found),
    proven: view.now >= since + reportedMs,
  }
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
