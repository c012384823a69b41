import { type Condition, isSameSubject, type KubeObject, subjectOf } from '../cluster/objects.ts'
import type { Problem, ReasonCode } from '../reasons/reasons.ts'
import type { StatusSignal } from '../reasons/status.ts'
import { reportedFailureMs } from '../thresholds.ts'
import { type ConditionSignal, toStatusSignal } from './conditions.ts'
import type { Reader } from './reader.ts'
import { isAboutPresentSpec } from './status-age.ts'

/** The common fields of a problem that the object itself has. */
export function ownProblem(object: KubeObject, firstSeenAt: number) {
  return { subject: subjectOf(object), count: 1, firstSeenAt, proven: false } as const
}

/** A slow problem: no controller has written a status yet. */
export function notReconciledProblem(
  object: KubeObject,
  { history }: Reader,
  detail: Problem<'not-reconciled'>['detail'] = { awaited: 'status' },
): Problem<'not-reconciled'> {
  return { ...ownProblem(object, history.firstSeenAt), reason: 'not-reconciled', detail }
}

/**
 * A slow problem: a condition is False. That alone is not a failure, because many controllers set it while they work.
 * @param cause the operator's own sentence, which replaces the signals in messages
 */
export function conditionProblem(
  object: KubeObject,
  signals: readonly ConditionSignal[],
  { history, now, time }: Reader,
  cause?: string,
): Problem<'condition-false'> {
  const firstSeenAt = Math.min(time(signals[0]?.condition?.lastTransitionTime) ?? history.firstSeenAt, now)
  // The error of the metrics client (k8s.io/metrics), in the condition of a HorizontalPodAutoscaler. Pods that do not run have
  // no metrics: "no metrics returned from resource metrics API".
  const needsMetricsServer = signals.some(({ message }) =>
    String(message).includes('unable to fetch metrics from resource metrics API'),
  )
  const detail = { signals: signals.map(toStatusSignal), cause, needsMetricsServer }
  return { ...ownProblem(object, firstSeenAt), reason: 'condition-false', detail }
}

/**
 * A strike problem: a reported failure of the present generation that has persisted.
 * @param failure the signal that shows since when the failure is reported
 * @param atLeastMs how long the failure must have been reported
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
    ...ownProblem(object, since),
    reason: 'reported-failed',
    detail: { signals: signals.map(toStatusSignal) },
    proven: reader.passed(since + atLeastMs),
  }
}

/**
 * Since when an object reports a failure, in milliseconds since the epoch on the runner's clock: the time of its
 * condition. If the condition may be about an older spec, the failure does not count before the gate first saw it.
 * Without a condition, or if its time is in the future, the failure counts from when the gate first saw it.
 * @param first the first signal: if it equals that of the last assessment, the failure is the same
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
 * Since when the gate has seen a problem that the object itself has, in milliseconds since the epoch on the runner's
 * clock. A change of the spec may fix it, so it counts anew then.
 * @param isSame whether an earlier problem with this reason is the same, by its detail
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
  // A status may contain a failure before an assessment shows it: a list is pending, or another state decides for a time.
  return Math.max(before?.firstSeenAt ?? history.statusSeenAt, history.specSeenAt)
}
