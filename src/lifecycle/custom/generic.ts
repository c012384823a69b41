import type { KubeObject } from '../../cluster/objects.ts'
import type { HealthCheck } from '../../plan/health-checks.ts'
import { isBuiltIn } from '../../plan/kinds.ts'
import { buildProblem, type Problem } from '../../reasons/reasons.ts'
import { signalsText, signalText } from '../../reasons/status.ts'
import { unclearSettles } from '../../thresholds.ts'
import { isEmpty } from '../conditions.ts'
import type { Reader, RuleReader } from '../reader.ts'
import { commonMilestones, type Judgement, type Rule } from '../rule.ts'
import { observedMilestone } from '../stale-status.ts'
import { conditionProblem, notReconciledProblem, objectProblemFields, reportedProblem } from '../status-problems.ts'
import {
  hasRetriesLeft,
  isRunToCompletion,
  isSchedule,
  isUnobserved,
  progressCounters,
  progressStates,
  readSignals,
  suspensionSignals,
} from './status.ts'
import { isBadHealth, type Signal, type SignalSummary, summarizeSignals } from './status-conditions.ts'
import type { Meaning } from './words.ts'

/**
 * The rule for every kind without its own rule. It reads the status: the observed generation, conditions, `phase`,
 * `state`, `health`, flags, errors and counts. Based on kstatus and the conventions of the Kubernetes API
 * (https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties).
 *
 * An object whose status contains no signal is ready once it exists, unless its controller still has to write the
 * status.
 */
export const genericRule: Rule = {
  milestones: commonMilestones,
  judge: (object, reader) => applyDecision(object, decideByConventions(object, reader), reader),
}

/** Interprets the status of an object by the general conventions. */
function decideByConventions(object: KubeObject, reader: RuleReader): Decision {
  const isObserved = !isUnobserved(object)
  // If the status is of an older generation, only a suspension in the present spec counts.
  const summary = summarizeSignals(isObserved ? readSignals(object) : suspensionSignals(object))
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
    message:
      text ||
      (meaning === 'ready'
        ? 'exists; it gives no readiness signal, so nothing more can be known'
        : 'waiting for its controller to report its state'),
    readyConditions: summary.meaning === 'ready' ? summary.signals.map(({ condition }) => condition) : undefined,
    copiesOthers: !isBuiltIn(object.apiVersion),
  }
}

/** The meaning of a status of the present generation. A failure counts only if the controller has given up. */
function meaningOfSummary(object: KubeObject, { meaning, signals: [first] }: SignalSummary, reader: Reader): Meaning {
  if (meaning === undefined) return isSignalAwaited(object, reader) ? 'progressing' : 'ready'
  return meaning === 'failed' && !(first && hasGivenUp(first, object)) ? 'progressing' : meaning
}

/**
 * Whether the gate waits for the first status of an object: its kind has a status subresource. If this is unknown (a
 * short recording), a custom object with a `spec` or an empty status is assumed to have a controller. A schedule may
 * have no status until its first run.
 */
function isStatusAwaited(object: KubeObject, reader: Reader): boolean {
  if (!isEmpty(object.status) || isSchedule(object) || isBuiltIn(object.apiVersion)) return false
  const { apiVersion: _, kind: __, metadata: ___, ...content } = object
  // An object without any content may have a controller too: all fields of its spec have defaults.
  const isBare = Object.keys(content).length === 0
  return reader.declaresStatus(object) ?? (isBare || object.spec !== undefined || object.status !== undefined)
}

/**
 * Whether the gate waits for a signal in the status: many controllers write other fields first. The wait ends when the
 * fields and states have not changed for the settle time, or nothing has written the object for this time.
 */
function isSignalAwaited(object: KubeObject, reader: Reader): boolean {
  // Work without a status has not started, even if its kind declares none.
  if ((isEmpty(object.status) && !isRunToCompletion(object)) || isBuiltIn(object.apiVersion)) return false
  const { time, history, settings } = reader
  const writes = (object.metadata.managedFields ?? []).map((entry) => time(entry.time) ?? Infinity)
  const lastWrite = writes.length === 0 ? Infinity : Math.max(...writes)
  const since = Math.min(lastWrite, Math.max(history.fieldsMovedAt, history.statesMovedAt, history.specSeenAt))
  // The status contains states with unknown meanings: `Applied=True`, `mode: Leader`.
  const isUnclear = progressStates(object).length > 0
  return !reader.passed(since + settings.settleTimeMs * (isUnclear ? unclearSettles : 1))
}

/**
 * Whether the controller has given up, by convention: Stalled=True, or the failed end of a Job-like object. Bad health is no
 * end, nor is Failure=True: after it, operators that are made with Ansible try again.
 */
function hasGivenUp(first: Signal, object: KubeObject): boolean {
  if (first.scope !== 'whole') return first.scope === 'summary'
  return isRunToCompletion(object) && !hasRetriesLeft(object) && !isBadHealth(first) && first.name !== 'Failure'
}

/** The interpretation of a status, by the general conventions or by a health check. */
export interface Decision extends Explanation, Pick<Judgement, 'message' | 'readyConditions' | 'copiesOthers'> {
  readonly meaning: Meaning
  /** The status describes the present generation, or the object needs no status. */
  readonly isObserved: boolean
  /** A controller still has to write a status. */
  readonly isAwaited: boolean
}

/** Why an object is not ready, by its own status. */
export interface Explanation {
  readonly signals: readonly Signal[]
  /** A sentence of the operator, which replaces the signals in messages. */
  readonly cause?: string | undefined
}

/** The text of an explanation. Empty if the status shows no reason. */
export function explanationText({ signals, cause }: Explanation): string {
  return cause ?? signalsText(signals)
}

/** States the problem and the milestone that follow from a decision. @param check the health check that decided */
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

/** The problem `reported-failed` if the expression `failed` of a health check is true. */
function failedProblem(
  object: KubeObject,
  { signals, cause }: Explanation,
  { isUsers }: HealthCheck,
  reader: Reader,
): Problem<'reported-failed'> {
  // The expression of a user may describe another condition than the failed one.
  const failed = isUsers ? undefined : signals.find(({ meaning }) => meaning === 'failed')
  const problem = reportedProblem(object, signals, reader, { condition: failed?.condition })
  return { ...problem, detail: { ...problem.detail, cause, ...(isUsers && { healthCheck: 'failed' }) } }
}

/** The problem `paused` or `suspended`: the controller does nothing until a user resumes the object. */
function suspendedProblem(
  object: KubeObject,
  explanation: Explanation,
  check: HealthCheck | undefined,
  { history }: Reader,
): Problem {
  const [requested] = suspensionSignals(object).map(signalText)
  const shown = explanation.cause ?? requested ?? signalsText(explanation.signals)
  const isPaused = (check !== undefined && requested === undefined) || /pause/i.test(requested ?? shown)
  return buildProblem({
    ...objectProblemFields(object, history.firstSeenAt),
    reason: isPaused ? 'paused' : 'suspended',
    detail: { signals: shown || 'its controller waits until it is resumed', resume: check?.resume },
  })
}
