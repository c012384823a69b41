import { type KubeObject, oncePerObject } from '../../cluster/objects.ts'
import type { HealthCheck } from '../../plan/health-check-entries.ts'
import { type Problem, problemOf } from '../../reasons/reasons.ts'
import { signalsText, signalText } from '../../reasons/status.ts'
import { reportedFailureMs } from '../../thresholds.ts'
import { fieldsOf, isEmpty, withoutCondition } from '../conditions.ts'
import type { Reader, RuleReader } from '../reader.ts'
import { commonMilestones, type Judgement, type Rule } from '../rule.ts'
import { isAboutPresentSpec, isStale, isStatusStale, observedMilestone, specChangedAt } from '../status-age.ts'
import { conditionProblem, notReconciled, ownProblem } from '../status-problems.ts'
import { genericRule, progressCounters, progressStates } from './generic.ts'
import { isUnobserved, readSignals, type SignalSummary, specSuspension, summarizeSignals } from './status.ts'

/** The key in a rule's `failures`. */
const failedKey = 'failed'

/**
 * A health check of the user, evaluated as in Flux
 * (https://fluxcd.io/flux/components/kustomize/kustomizations/#health-check-expressions), or an entry of the catalogue of
 * operators. `HealthCheckEntry` describes how it decides. In a check of the user, a status without `observedGeneration` may
 * count as stale for the settle time after a change.
 */
export function healthCheckRule(check: HealthCheck): Rule {
  return {
    milestones: withStages(check.milestones),
    failures: (object) => {
      const read = check.isUsers ? object : withoutStaleConditions(object)
      const hasFailed = isObservedBy(object, check) && check.failed?.(read).holds === true
      const others = check.isUsers ? [] : (genericRule.failures?.(object) ?? [])
      return [...(hasFailed ? [failedKey] : []), ...others]
    },
    states: progressStates,
    judge: (object, reader) => (check.isUsers ? judgeByUser : judgeByEntry)(object, check, reader),
  }
}

/** The names of the milestones of a kind whose operator has these stages. */
export function withStages(stages: readonly Pick<StageOf, 'name'>[] = []): Rule['milestones'] {
  const [created, observed, ready] = commonMilestones
  return [created, observed, ...stages.map(({ name }) => name), ready]
}

type StageOf = HealthCheck['milestones'][number]

/** Whether the status is about the present generation. In the catalogue, the generations of its conditions count too. */
function isObservedBy(object: KubeObject, { ignoresGeneration, isUsers }: HealthCheck): boolean {
  return ignoresGeneration === true || !(isUsers ? isStatusStale(object) : isUnobserved(object))
}

/** The object without conditions of older generations, as the catalogue reads it. */
const withoutStaleConditions = oncePerObject((object: KubeObject): KubeObject => {
  const { conditions } = (object.status ?? {}) as { conditions?: unknown }
  if (!Array.isArray(conditions)) return object
  const { generation } = object.metadata
  const stale = fieldsOf(conditions).filter(({ observedGeneration }) => isStale(observedGeneration, generation))
  if (stale.length === 0) return object
  return { ...object, status: { ...object.status, conditions: conditions.filter((each) => !stale.includes(each)) } }
})

/** Judges an object by a health check of the user. */
function judgeByUser(object: KubeObject, check: HealthCheck, reader: RuleReader): Judgement {
  const isObserved = isObservedBy(object, check)
  const verdict = verdictOf(object, check, isObserved)
  const ready = verdict === 'current'
  const { error } = check.current(object)
  const explanation = explain(object, check)
  if (verdict === 'failed') reader.problem(failedProblem(object, { healthCheck: 'failed', ...explanation }, reader))
  else if (verdict === 'suspended') reader.problem(suspendedProblem(object, explanation, check, reader))
  else if (!ready && explanation.cause !== undefined)
    reader.problem(conditionProblem(object, [], reader, explanation.cause))
  const unmet =
    error === undefined ? 'its health check is not met yet' : `its health check cannot be evaluated yet: ${error}`
  const message = ready ? 'its health check is met' : unmet
  reader.milestone(observedMilestone(object, isObserved))
  stateStages(object, check, { isObserved, ready, message }, reader)
  reader.hold(isHeldBy(object, check, isObserved))
  return { ready, message, readyConditions: [undefined], copiesOthers: check.isWorkload }
}

/** What stops the stall clock, by the expression `stallHold`. */
function isHeldBy(object: KubeObject, check: HealthCheck, isObserved: boolean): string | undefined {
  return isObserved && check.stallHold?.(object).holds === true ? 'its status states how long this takes' : undefined
}

/** Why an object is not ready, by its own status. */
interface Explanation {
  readonly signals: SignalSummary['signals']
  /** The operator's own sentence, which replaces the signals in messages. */
  readonly cause?: string
}

/** The signals that decided by the general conventions, and one with a message if they have none. */
function explain(object: KubeObject, check?: HealthCheck, signals = readSignals(object)): Explanation {
  let cause: string | undefined
  for (const each of check?.cause ?? []) cause ??= each(object)
  const summary = summarizeSignals(signals)
  const decisive = summary.meaning === 'ready' ? [] : summary.signals
  const detailed = signals.find((each) => each.meaning !== 'ready' && each.message)
  const isDetailed = detailed === undefined || decisive.some(({ message }) => message)
  return { signals: isDetailed ? decisive : [...decisive, detailed], cause }
}

function textOf({ signals, cause }: Explanation): string {
  return cause ?? signalsText(signals)
}

/** Judges an object by the catalogue's entry of its kind. */
function judgeByEntry(object: KubeObject, check: HealthCheck, reader: RuleReader): Judgement {
  const isObserved = isObservedBy(object, check)
  const signals = isObserved ? readSignals(object) : []
  const summary = isObserved ? summarizeSignals(signals) : undefined
  const present = withoutStaleConditions(object)
  const verdict = verdictOf(present, check, isObserved)
  const isStatic = verdict === 'current' && needsNoStatus(present, check)
  const ready = verdict === 'current' && !(isStatic && awaitsStatus(object, check, reader))
  const isOtherVersion = verdict === 'undescribed' && summary?.meaning !== undefined
  if (isOtherVersion && reader.passed(fieldsSettledSince(reader) + reader.settings.settleTimeMs))
    return judgeByConventions(object, check, reader)
  const isAwaited = isObserved && isEmpty(object.status) && verdict !== 'current' && verdict !== 'suspended'
  const explanation = isObserved ? explain(present, check, signals) : { signals: [] }
  const problem = isAwaited
    ? notReconciled(object, reader)
    : problemOfVerdict(object, verdict, explanation, check, reader)
  const good = summary?.meaning === 'ready' ? summary.signals : undefined
  const message = ready
    ? readyText(good, isStatic)
    : textOf(explanation) || 'waiting for its controller to report that it is ready'
  if (problem !== undefined) reader.problem(problem)
  reader.milestone(observedMilestone(object, isStatic || (isObserved && !isAwaited)))
  stateStages(present, check, { isObserved, ready, message }, reader)
  reader.hold(isHeldBy(present, check, isObserved))
  if (check.stallHold === undefined && summary?.isReconciling) reader.hold('its controller is reconciling it')
  return {
    ready,
    message,
    readyConditions: isStatic ? undefined : (good?.map(({ condition }) => condition) ?? [undefined]),
    copiesOthers: check.isWorkload,
    counters: isObserved ? progressCounters(object) : undefined,
  }
}

/** The message of a ready object: what its status reports, if it does. */
function readyText(good: SignalSummary['signals'] = [], isStatic: boolean): string {
  return signalsText(good) || (isStatic ? 'exists; no status is needed' : 'its status is that of a ready object')
}

/** Whether the gate waits for the status of an object that may get none, after a change of its spec. */
function awaitsStatus(object: KubeObject, { statusFields }: HealthCheck, reader: Reader): boolean {
  const mayGetStatus = statusFields.length > 0 && (isEmpty(object.status) || isInitialStatus(object))
  return mayGetStatus && !reader.passed(specChangedAt(object, reader) + reader.settings.settleTimeMs)
}

/** When the spec or the set of status fields last changed. */
function fieldsSettledSince({ history }: Reader): number {
  return Math.max(history.fieldsMovedAt, history.specSeenAt)
}

/**
 * The general conventions decide about a status that the entry does not describe. While the status gets new fields, the
 * operator may still write those that the entry reads.
 */
function judgeByConventions(object: KubeObject, check: HealthCheck, reader: RuleReader): Judgement {
  const judgement = genericRule.judge(object, reader)
  stateStages(object, check, { isObserved: true, ...judgement }, reader)
  return judgement
}

/** `undescribed`: the status has no field that the entry reads. Another version of the operator may have written it. */
type Verdict = 'progressing' | 'suspended' | 'failed' | 'current' | 'undescribed'

function verdictOf(object: KubeObject, check: HealthCheck, isObserved: boolean): Verdict {
  const holds = (name: 'inProgress' | 'suspended' | 'failed' | 'current') => check[name]?.(object).holds === true
  if (!isObserved) {
    // A controller does not observe a spec that suspends it.
    if (check.suspended?.(withoutStatus(object)).holds === true) return 'suspended'
    return !check.isUsers && isInitialStatus(object) && needsNoStatus(object, check) ? 'current' : 'progressing'
  }
  if (holds('inProgress')) return 'progressing'
  if (holds('suspended')) return 'suspended'
  if (holds('failed')) return 'failed'
  const described = check.isUsers || isDescribed(object, check)
  // Ready without a status; but another version of the operator may have written one that reports a failure.
  const isUnread =
    !described && needsNoStatus(object, check) && summarizeSignals(readSignals(object)).meaning === 'failed'
  if (holds('current') && !isUnread) return 'current'
  return described ? 'progressing' : 'undescribed'
}

function isDescribed({ status }: KubeObject, { statusFields }: HealthCheck): boolean {
  return statusFields.length === 0 || statusFields.some((name) => Object.hasOwn(status ?? {}, name))
}

/** Whether the object is ready by its spec alone, because no controller writes the status of its kind. */
function needsNoStatus(object: KubeObject, check: HealthCheck): boolean {
  return check.current(withoutStatus(object)).holds
}

/** Whether no controller has written the status: the CRDs of Flux set `observedGeneration` to -1 by default. */
function isInitialStatus({ status }: KubeObject): boolean {
  const { observedGeneration, ...rest } = (status ?? {}) as { observedGeneration?: unknown }
  return observedGeneration === -1 && isEmpty(rest)
}

const withoutStatus = oncePerObject(({ status: _, ...rest }: KubeObject): KubeObject => rest)

/** States the stages of an entry. A ready object has skipped those that were not reached. */
function stateStages(
  object: KubeObject,
  check: HealthCheck,
  { isObserved, ready, message }: { readonly isObserved: boolean; readonly ready: boolean; readonly message: string },
  reader: RuleReader,
): void {
  for (const { name, done } of check.milestones) {
    const isDone = isObserved && done(object).holds
    if (ready && !isDone) reader.milestone({ name, state: 'skipped', message: '' })
    else reader.milestone(isDone ? { name, state: 'done', message: name } : { name, state: 'open', message })
  }
}

function problemOfVerdict(
  object: KubeObject,
  verdict: Verdict,
  explanation: Explanation,
  check: HealthCheck,
  reader: Reader,
): Problem | undefined {
  const { signals, cause } = explanation
  switch (verdict) {
    case 'current':
      return undefined
    case 'failed':
      return failedProblem(object, explanation, reader)
    case 'suspended':
      return suspendedProblem(object, explanation, check, reader)
    case 'progressing':
    case 'undescribed':
      return textOf(explanation) === '' ? undefined : conditionProblem(object, signals, reader, cause)
  }
}

/** A strike problem: the `failed` expression has held for ten seconds. */
function failedProblem(
  object: KubeObject,
  { signals, cause, healthCheck }: Explanation & { readonly healthCheck?: 'failed' },
  reader: Reader,
): Problem<'reported-failed'> {
  const { history, now } = reader
  const seenAt = history.failures.get(failedKey) ?? now
  const changedAt = healthCheck === undefined ? failingSince(object, signals, reader) : Infinity
  const since = Math.min(changedAt, seenAt)
  return {
    ...ownProblem(object, since),
    reason: 'reported-failed',
    detail: { signals: signals.map(withoutCondition), cause, healthCheck },
    proven: reader.passed(since + reportedFailureMs),
  }
}

/**
 * When the failed conditions last changed, if they are about the present spec.
 * @returns milliseconds since the epoch on the runner's clock; Infinity if they do not show it
 */
function failingSince(object: KubeObject, signals: SignalSummary['signals'], reader: Reader): number {
  const conditions = signals.flatMap(({ meaning, condition }) => (meaning === 'failed' ? (condition ?? []) : []))
  const isDated = conditions.length > 0 && conditions.every((each) => isAboutPresentSpec(object, each, reader))
  return isDated
    ? Math.max(...conditions.map(({ lastTransitionTime }) => reader.time(lastTransitionTime) ?? Infinity))
    : Infinity
}

/** A slow problem: the operator does nothing until a user acts. */
function suspendedProblem(
  object: KubeObject,
  explanation: Explanation,
  { resume }: HealthCheck,
  { history }: Reader,
): Problem {
  const [requested] = specSuspension(object).map(signalText)
  return problemOf({
    ...ownProblem(object, history.firstSeenAt),
    reason: requested === undefined || /pause/i.test(requested) ? 'paused' : 'suspended',
    detail: {
      signals:
        explanation.cause ??
        requested ??
        (signalsText(explanation.signals) || 'its controller waits until it is resumed'),
      resume,
    },
  })
}
