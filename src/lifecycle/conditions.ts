import { type Condition, type Fields, type KubeObject, subjectOf } from '../cluster/objects.ts'
import type { Problem } from '../reasons/reasons.ts'
import type { StatusSignal } from '../reasons/status.ts'
import { reportedFailureMs } from '../thresholds.ts'
import { lastWriteOf } from './gate-time.ts'
import type { RuleContext } from './rule-context.ts'

/** The value if it is a list, else an empty list. */
function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The objects in a list; empty for other values. */
export function fieldsOf(value: unknown): readonly Fields[] {
  return listOf(value).filter((each): each is Fields => typeof each === 'object' && each !== null)
}

/** Whether a value is absent, or contains only empty lists, objects and texts. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  return typeof value === 'object' && Object.values(value).every(isEmpty)
}

/** The conditions of the present generation; malformed ones are skipped. */
export function presentConditions(object: KubeObject): readonly Condition[] {
  const { conditions } = (object.status ?? {}) as { conditions?: unknown }
  return conditionsIn(conditions).filter((each) => isOfPresentGeneration(each, object))
}

const optionalTexts = ['reason', 'message', 'lastTransitionTime'] as const

/**
 * The conditions in a list: each item with a type and a status. Some custom resources write a status as `true` instead of
 * `'True'`, or a reason that is null.
 */
export function conditionsIn(list: unknown): readonly Condition[] {
  return fieldsOf(list).flatMap(({ status, ...rest }) => {
    const condition = { ...rest, status: typeof status === 'boolean' ? (status ? 'True' : 'False') : status }
    if (!isCondition(condition)) return []
    for (const name of optionalTexts) if (typeof condition[name] !== 'string') delete condition[name]
    return [condition]
  })
}

function isCondition(value: unknown): value is Condition {
  const { type, status } = value as Partial<Condition>
  return typeof type === 'string' && typeof status === 'string'
}

/** Whether a condition is about the present generation, or has no `observedGeneration`. */
export function isOfPresentGeneration({ observedGeneration }: Condition, { metadata }: KubeObject): boolean {
  return !isStale(observedGeneration, metadata.generation)
}

/**
 * Whether an observed generation is older than the object's. A string is read as a number. Some controllers write a
 * hash, which is never older, and neither is what is no number at all.
 */
export function isStale(observed: unknown, generation = 0): boolean {
  return (typeof observed === 'number' || typeof observed === 'string') && Number(observed) < generation
}

/** Status fields that contain the generation that the status describes. */
const generationKeys =
  /^(?:observed|reconciled|last(?:Observed|Evaluated|Reconciled|Processed|Handled|Applied)?)Generation$/
/** The same in the field `generations`, which some controllers have: `generations.reconciled`. */
const generationNames = /^(?:observed|reconciled)$/

/** The generations that the status is about. */
export function observedGenerations({ status }: KubeObject): readonly unknown[] {
  const fields = (status ?? {}) as Fields
  const valuesOf = (value: unknown, names: RegExp) =>
    Object.entries((value ?? {}) as Fields).flatMap(([key, each]) => (names.test(key) ? [each] : []))
  return [...valuesOf(fields, generationKeys), ...valuesOf(fields['generations'], generationNames)]
}

/** A signal of an object's status, with its condition. */
export interface ConditionSignal extends StatusSignal {
  readonly condition?: Condition
}

/** A condition of a status, as a signal. */
export type StatusCondition = ConditionSignal & { readonly condition: Condition }

/** @param part the part of the object that the condition is about: `listener https` */
export function conditionSignal(condition: Condition, part?: string): StatusCondition {
  const { type, status, reason, message } = condition
  return { part, name: type, value: status, reason, message, condition }
}

/** The key of a signal in a rule's `failures`, stable while the failure lasts: `Ready=False`. */
export function signalKey({ part, name, value }: StatusSignal): string {
  return `${part === undefined ? '' : `${part}: `}${name}${value === undefined ? '' : `=${value}`}`
}

/**
 * A slow problem: a condition is False. That alone is not a failure, because many controllers set it while they work.
 * @param cause the operator's own sentence, which replaces the signals in messages
 */
export function conditionProblem(
  object: KubeObject,
  signals: readonly ConditionSignal[],
  { history, now, time }: RuleContext,
  cause?: string,
): Problem<'condition-false'> {
  const firstSeenAt = Math.min(time(signals[0]?.condition?.lastTransitionTime) ?? history.firstSeenAt, now)
  // The error of the metrics client (k8s.io/metrics), in the condition of a HorizontalPodAutoscaler. Pods that do not run have
  // no metrics: "no metrics returned from resource metrics API".
  const needsMetricsServer = signals.some(({ message }) =>
    String(message).includes('unable to fetch metrics from resource metrics API'),
  )
  const detail = { signals: signals.map(withoutCondition), cause, needsMetricsServer }
  return { ...ownProblem(object, firstSeenAt), reason: 'condition-false', detail }
}

/**
 * A strike problem: a reported failure of the present generation that has persisted.
 * @param atLeastMs how long the failure must have been reported
 */
export function reportedProblem(
  object: KubeObject,
  signals: readonly [ConditionSignal, ...ConditionSignal[]],
  context: RuleContext,
  atLeastMs = reportedFailureMs,
): Problem<'reported-failed'> {
  const since = failingSince(object, signals[0], context)
  return {
    ...ownProblem(object, since),
    reason: 'reported-failed',
    detail: { signals: signals.map(withoutCondition) },
    proven: context.passed(since + atLeastMs),
  }
}

/** The part of a signal that a problem contains. */
export function withoutCondition({ part, name, value, reason, message }: ConditionSignal): StatusSignal {
  return { part, name, value, reason, message }
}

/**
 * Since when an object reports a failure, in milliseconds since the epoch on the runner's clock. The condition's own
 * time counts if it is about the present spec. Otherwise the condition counts from its first sight at the earliest. So
 * does a time in the future.
 */
function failingSince(object: KubeObject, { condition, ...signal }: ConditionSignal, context: RuleContext): number {
  const { now, time, history } = context
  const seenAt = history.failures.get(signalKey(signal)) ?? now
  const changedAt = time(condition?.lastTransitionTime)
  if (condition === undefined || changedAt === undefined || changedAt > now) return seenAt
  return isAboutPresentSpec(object, condition, context) ? changedAt : Math.max(changedAt, seenAt)
}

/**
 * Whether a condition is about the present spec. It is if it has the generation. If only the status has the generation,
 * a condition that changed before the last write of the spec may be older: some controllers, as that of a
 * DeploymentConfig, write `status.observedGeneration` before they renew the condition.
 */
export function isAboutPresentSpec(object: KubeObject, condition: Condition, { time }: RuleContext): boolean {
  if (condition.observedGeneration !== undefined) return isOfPresentGeneration(condition, object)
  const { observedGeneration } = (object.status ?? {}) as { observedGeneration?: unknown }
  if (observedGeneration === undefined || isStale(observedGeneration, object.metadata.generation)) return false
  return (time(condition.lastTransitionTime) ?? Infinity) >= (lastWriteOf(object, time) ?? -Infinity)
}

/** A slow problem: no controller has written a status yet. */
export function notReconciled(
  object: KubeObject,
  { history }: RuleContext,
  detail: Problem<'not-reconciled'>['detail'] = { awaited: 'status' },
): Problem<'not-reconciled'> {
  return { ...ownProblem(object, history.firstSeenAt), reason: 'not-reconciled', detail }
}

/** The common fields of a problem that the object itself has. */
export function ownProblem(object: KubeObject, firstSeenAt: number) {
  return { subject: subjectOf(object), count: 1, firstSeenAt, proven: false } as const
}
