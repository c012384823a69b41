import type { KubeObject } from '../../cluster/objects.ts'
import type { HealthCheck } from '../../plan/health-checks.ts'
import { isBuiltIn } from '../../plan/kinds.ts'
import { type Problem, problemOf } from '../../reasons/reasons.ts'
import { signalsText, signalText } from '../../reasons/status.ts'
import { unclearSettles } from '../../thresholds.ts'
import { isEmpty } from '../conditions.ts'
import type { Reader, RuleReader } from '../reader.ts'
import { commonMilestones, type Judgement, type Rule } from '../rule.ts'
import { observedMilestone } from '../status-age.ts'
import { conditionProblem, notReconciledProblem, ownProblem, reportedProblem } from '../status-problems.ts'
import {
  isRunToCompletion,
  isSchedule,
  isUnobserved,
  progressCounters,
  progressStates,
  readSignals,
  specSuspension,
} from './status.ts'
import { type Signal, type SignalSummary, summarizeSignals } from './status-conditions.ts'
import type { Meaning } from './words.ts'

/**
 * The rule for every kind without a rule of its own. It reads the object's status: the observed generation, conditions,
 * `phase`, `state` and `health`, flags, errors and counts. Based on the conventions of the Kubernetes API
 * (https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties)
 * and kstatus; `status.ts` reads the signals.
 *
 * An object without a signal is ready once it exists, and its message reports that nothing more can be known. Exception: its
 * controller still has to write the status.
 */
export const genericRule: Rule = {
  milestones: commonMilestones,
  judge: (object, reader) => applyDecision(object, decideByConventions(object, reader), reader),
}

/** What the status of an object means by the general conventions. */
function decideByConventions(object: KubeObject, reader: RuleReader): Decision {
  const isObserved = !isUnobserved(object)
  // If the status is of an older generation, only a suspension counts, because the present spec requests it.
  const summary = summarizeSignals(isObserved ? readSignals(object) : specSuspension(object))
  const isAwaited = isObserved && summary.meaning === undefined && isStatusAwaited(object, reader)
  const meaning =
    isAwaited || !isObserved ? (summary.meaning ?? 'progressing') : meaningOfSummary(object, summary, reader)
  const text = signalsText(summary.signals)
  if (summary.isReconciling) reader.hold('its controller is reconciling it')
  return {
    meaning,
    isObserved,
    isAwaited,
    signals: summary.signals,
    message: text || (meaning === 'ready' ? unknownText : 'waiting for its controller to report its state'),
    readyConditions: summary.meaning === 'ready' ? summary.signals.map(({ condition }) => condition) : undefined,
    copiesOthers: !isBuiltIn(object.apiVersion),
  }
}

/**
 * The meaning of a status of the present generation. Only a controller that has given up fails an object: many controllers
 * retry after any other failure.
 */
function meaningOfSummary(object: KubeObject, { meaning, signals: [first] }: SignalSummary, reader: Reader): Meaning {
  if (meaning === undefined) return isSignalAwaited(object, reader) ? 'progressing' : 'ready'
  return meaning === 'failed' && !(first && hasGivenUp(first, object)) ? 'progressing' : meaning
}

/** The message of a ready object without a signal. */
const unknownText = 'exists; it gives no readiness signal, so nothing more can be known'

/** Whether a status without a signal contains states, whose meaning is unknown: `Applied=True`, `mode: Leader`. */
function hasUnknownStates(object: KubeObject): boolean {
  return progressStates(object).length > 0
}

/**
 * Whether a controller has not written a status yet. Discovery shows whether the kind has the status subresource.
 * Without discovery (a short recording), a custom object with a `spec` or an empty status is assumed to have a
 * controller: a false "ready" costs more than the wait. A schedule may have no status until its first run.
 */
function isStatusAwaited(object: KubeObject, reader: Reader): boolean {
  if (!isEmpty(object.status) || isSchedule(object) || isBuiltIn(object.apiVersion)) return false
  const { apiVersion: _, kind: __, metadata: ___, ...content } = object
  // Without any content, the spec has only defaults.
  const isBare = Object.keys(content).length === 0
  return reader.declaresStatus(object) ?? (isBare || object.spec !== undefined || object.status !== undefined)
}

/**
 * Whether the gate waits for a status to get a signal: many controllers write other fields before the state. The status
 * is complete when, during the settle time, its set of fields and its states did not change, or nothing wrote the object.
 */
function isSignalAwaited(object: KubeObject, reader: Reader): boolean {
  if (isEmpty(object.status) || isBuiltIn(object.apiVersion)) return false
  const { time, history, settings } = reader
  const writes = (object.metadata.managedFields ?? []).map((entry) => time(entry.time) ?? Infinity)
  const lastWrite = writes.length === 0 ? Infinity : Math.max(...writes)
  const since = Math.min(lastWrite, Math.max(history.fieldsMovedAt, history.statesMovedAt, history.specSeenAt))
  return !reader.passed(since + settings.settleTimeMs * (hasUnknownStates(object) ? unclearSettles : 1))
}

/** Whether the controller has given up, by convention: Stalled=True, or the failed end of a Job-like object. */
function hasGivenUp({ scope }: Signal, object: KubeObject): boolean {
  return scope === 'summary' || (scope === 'whole' && isRunToCompletion(object))
}

/** What the status of an object means, by the general conventions or by a health check. */
export interface Decision extends Explanation, Pick<Judgement, 'message' | 'readyConditions' | 'copiesOthers'> {
  readonly meaning: Meaning
  /** Whether the status is about the present generation, or none is needed. */
  readonly isObserved: boolean
  /** Whether a controller still has to write a status. */
  readonly isAwaited: boolean
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

/**
 * States what was decided about an object.
 * @param check the health check that decided; absent if the general conventions did
 */
export function applyDecision(
  object: KubeObject,
  decision: Decision,
  reader: RuleReader,
  check?: HealthCheck,
): Judgement {
  const { meaning, isObserved, isAwaited, message, readyConditions, copiesOthers } = decision
  const problem = decisionProblem(object, decision, reader, check)
  if (problem !== undefined) reader.problem(problem)
  reader.milestone(observedMilestone(object, isObserved && !isAwaited))
  const counters = isObserved ? progressCounters(object) : undefined
  return { ready: meaning === 'ready', message, readyConditions, copiesOthers, counters }
}

function decisionProblem(
  object: KubeObject,
  { meaning, isAwaited, ...explanation }: Decision,
  reader: Reader,
  check: HealthCheck | undefined,
): Problem | undefined {
  const { signals, cause } = explanation
  if (isAwaited) return notReconciledProblem(object, reader)
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
  // The expression of a user may not be about the condition that has failed.
  const failed = isUsers ? undefined : signals.find(({ meaning }) => meaning === 'failed')
  const problem = reportedProblem(object, signals, reader, { condition: failed?.condition })
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
