import { type Condition, isSameSubject, type KubeObject, subjectOf } from '../cluster/objects.ts'
import type { Problem, ReasonCode } from '../reasons/reasons.ts'
import type { StatusSignal } from '../reasons/status.ts'
import { reportedFailureMs } from '../thresholds.ts'
import { type ConditionSignal, toStatusSignal } from './conditions.ts'
import type { Reader } from './reader.ts'
import { isAboutPresentSpec } from './stale-status.ts'

/* Creates the problems that the status of an object shows. */

/** The common fields of a problem whose subject is this object. */
export function objectProblemFields(object: KubeObject, firstSeenAt: number) {
  return { subject: subjectOf(object), count: 1, firstSeenAt, proven: false } as const
}

/** The problem `not-reconciled`: no controller has written a status yet. */
export function notReconciledProblem(
  object: KubeObject,
  { history }: Reader,
  detail: Problem<'not-reconciled'>['detail'] = { awaited: 'status' },
): Problem<'not-reconciled'> {
  return { ...objectProblemFields(object, history.firstSeenAt), reason: 'not-reconciled', detail }
}

/**
 * The problem `condition-false`. It never fails a target, because many controllers set False while they work.
 * @param cause a sentence of the operator, which replaces the signals in messages
 */
export function conditionProblem(
  object: KubeObject,
  signals: readonly ConditionSignal[],
  { history, now, time }: Reader,
  cause?: string,
): Problem<'condition-false'> {
  const firstSeenAt = Math.min(time(signals[0]?.condition?.lastTransitionTime) ?? history.firstSeenAt, now)
  // The error of the metrics client (k8s.io/metrics), in the condition of a HorizontalPodAutoscaler. Pods that do not
  // run have no metrics: "no metrics returned from resource metrics API".
  const needsMetricsServer = signals.some(({ message }) =>
    String(message).includes('unable to fetch metrics from resource metrics API'),
  )
  const detail = { signals: signals.map(toStatusSignal), cause, needsMetricsServer }
  return { ...objectProblemFields(object, firstSeenAt), reason: 'condition-false', detail }
}

/**
 * The problem `reported-failed`: the object reports a failure. Proven after the failure has persisted for `atLeastMs`.
 * @param failure the signal whose condition shows when the failure began
 */
export function reportedProblem(
  object: KubeObject,
  signals: readonly ConditionSignal[],
  reader: Reader,
  failure: Pick<ConditionSignal, 'condition'> | undefined = signals[0],
  atLeastMs = reportedFailureMs,
): Problem<'reported-failed'> {
  const since = failingSince(object, signals[0], failure?.condition, reader)
  return {
    ...objectProblemFields(object, since),
    reason: 'reported-failed',
    detail: { signals: signals.map(toStatusSignal) },
    proven: reader.passed(since + atLeastMs),
  }
}

/**
 * Since when an object reports a failure, in milliseconds since the epoch on the runner's clock: the transition time of
 * the condition. If this time is invalid or the condition may describe an older spec, when the gate first saw the
 * failure.
 * @param first the first signal: if the last assessment has an equal signal, the failure is the same
 */
function failingSince(
  object: KubeObject,
  first: StatusSignal | undefined,
  condition: Condition | undefined,
  reader: Reader,
): number {
  const changedAt = reader.time(condition?.lastTransitionTime)
  const isSame = (other: StatusSignal | undefined) =>
    other?.name === first?.name && other?.value === first?.value && other?.part === first?.part
  const seenAt = problemSeenSince(object, 'reported-failed', reader, ({ signals }) => isSame(signals[0]))
  if (condition === undefined || changedAt === undefined || changedAt > reader.now) return seenAt
  return isAboutPresentSpec(object, condition, reader) ? changedAt : Math.max(changedAt, seenAt)
}

/**
 * Since when the gate has seen a problem of an object, in milliseconds since the epoch on the runner's clock. After a
 * change of the spec, the problem counts from that change.
 * @param isSame whether an earlier problem with this reason and this detail is the same problem
 */
export function problemSeenSince<Reason extends ReasonCode>(
  object: KubeObject,
  reason: Reason,
  { history, lastAssessment }: Reader,
  isSame: (detail: Problem<Reason>['detail']) => boolean = () => true,
): number {
  const self = subjectOf(object)
  const before = lastAssessment?.problems.find(
    (each) =>
      each.reason === reason && isSameSubject(each.subject, self) && isSame(each.detail as Problem<Reason>['detail']),
  )
  // A status may contain a failure before an assessment does, for example while a list is pending.
  return Math.max(before?.firstSeenAt ?? history.statusSeenAt, history.specSeenAt)
}
