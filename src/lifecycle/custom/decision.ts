import type { KubeObject } from '../../cluster/objects.ts'
import type { HealthCheck } from '../../plan/health-check-entries.ts'
import { type Problem, problemOf } from '../../reasons/reasons.ts'
import { signalsText, signalText } from '../../reasons/status.ts'
import type { Reader, RuleReader } from '../reader.ts'
import type { Judgement } from '../rule.ts'
import { observedMilestone } from '../status-age.ts'
import { conditionProblem, notReconciled, ownProblem, reportedProblem } from '../status-problems.ts'
import { progressCounters } from './progress.ts'
import { specSuspension } from './status.ts'
import type { Signal } from './status-conditions.ts'
import type { Meaning } from './words.ts'

/** What the status of an object means, by the general conventions or by a health check. */
export interface Decision extends Explanation, Pick<Judgement, 'message' | 'readyConditions' | 'copiesOthers'> {
  readonly meaning: Meaning
  /** Whether the status is about the present generation. */
  readonly isObserved: boolean
  /** Whether a controller still has to write a status. */
  readonly isAwaited: boolean
  /** Whether the object is ready without a status. */
  readonly isStatic?: boolean
  /** Why the stall clock is stopped. */
  readonly stallHold?: string | undefined
}

/** Why an object is not ready, by its own status. */
export interface Explanation {
  readonly signals: readonly Signal[]
  /** The operator's own sentence, which replaces the signals in messages. */
  readonly cause?: string | undefined
}

/** The text of an explanation; empty if the status shows nothing. */
export function explanationText({ signals, cause }: Explanation): string {
  return cause ?? signalsText(signals)
}

/** The key of the expression `failed` in a rule's `failures`. */
export const failedKey = 'failed'

/**
 * States what was decided about an object.
 * @param check the health check that decided; absent if the general conventions did
 */
export function stateDecision(
  object: KubeObject,
  decision: Decision,
  reader: RuleReader,
  check?: HealthCheck,
): Judgement {
  const { meaning, isObserved, isAwaited, isStatic, message, readyConditions, copiesOthers } = decision
  const problem = problemOfDecision(object, decision, reader, check)
  if (problem !== undefined) reader.problem(problem)
  reader.milestone(observedMilestone(object, isStatic || (isObserved && !isAwaited)))
  reader.hold(decision.stallHold)
  const counters = isObserved ? progressCounters(object) : undefined
  return { ready: meaning === 'ready', message, readyConditions, copiesOthers, counters }
}

function problemOfDecision(
  object: KubeObject,
  { meaning, isAwaited, ...explanation }: Decision,
  reader: Reader,
  check: HealthCheck | undefined,
): Problem | undefined {
  const { signals, cause } = explanation
  if (isAwaited) return notReconciled(object, reader)
  switch (meaning) {
    case 'ready':
      return undefined
    case 'failed':
      return check === undefined
        ? reportedProblem(object, signals, reader)
        : failedProblem(object, explanation, check, reader)
    case 'suspended':
      return suspendedProblem(object, explanation, check, reader)
    case 'progressing':
      return explanationText(explanation) === '' ? undefined : conditionProblem(object, signals, reader, cause)
  }
}

/** A strike problem: the expression `failed` has been true for ten seconds. */
function failedProblem(
  object: KubeObject,
  { signals, cause }: Explanation,
  { isUsers }: HealthCheck,
  reader: Reader,
): Problem<'reported-failed'> {
  // A user's expression may be about something else than the condition that has failed.
  const failed = isUsers ? undefined : signals.find(({ meaning }) => meaning === 'failed')
  const problem = reportedProblem(object, signals, reader, { key: failedKey, condition: failed?.condition })
  return { ...problem, detail: { ...problem.detail, cause, ...(isUsers && { healthCheck: 'failed' }) } }
}

/** A slow problem: the controller does nothing until a user acts. */
function suspendedProblem(
  object: KubeObject,
  explanation: Explanation,
  check: HealthCheck | undefined,
  { history }: Reader,
): Problem {
  const [requested] = specSuspension(object).map(signalText)
  const shown = explanation.cause ?? requested ?? signalsText(explanation.signals)
  const isPaused = (check !== undefined && requested === undefined) || /pause/i.test(requested ?? shown)
  return problemOf({
    ...ownProblem(object, history.firstSeenAt),
    reason: isPaused ? 'paused' : 'suspended',
    detail: { signals: shown || 'its controller waits until it is resumed', resume: check?.resume },
  })
}
