import { type Condition, type Fields, isObject, type KubeObject } from '../../cluster/objects.ts'
import {
  type ConditionSignal,
  conditionSignal,
  conditionsIn,
  fieldsOf,
  isOfPresentGeneration,
  listOf,
} from '../conditions.ts'
import { isGenerationStale, isReferenceStale, isReporterStale, isRequestOpen } from './status-generation.ts'
import { isKnownType, readCondition, type Signal } from './status-vocabulary.ts'

/** Status fields of the Gateway API that contain the conditions of parts (GEP-713, Route and Gateway). */
export const conditionHolders = ['parents', 'ancestors', 'listeners'] as const

/** The signals of the conditions of the present generation. */
export function readConditions(object: KubeObject, isWork: boolean): readonly Signal[] {
  const signals = presentSignals(object).flatMap((each) => readConditionSignal(each, isWork))
  return [...signals, ...missingAcceptance(object)]
}

/** Whether a condition of the present generation matches. */
export function hasPresentCondition(object: KubeObject, matches: (signal: ConditionSignal) => boolean): boolean {
  return presentSignals(object).some(matches)
}

/** The conditions of an object and its parts, of any generation. */
function conditionSignals(object: KubeObject): readonly ConditionSignal[] {
  const status = (object.status ?? {}) as Fields
  const { conditions, condition, conditionedStatus } = status as Record<string, Fields | undefined>
  const own = [conditions, conditionedStatus?.['conditions'], condition === undefined ? [] : [condition]]
    .flatMap((list) => latestOfEachType(conditionsIn(asList(list))))
    .map((each) => conditionSignal(each))
  const ofParts = conditionHolders.flatMap((holder) =>
    fieldsOf(status[holder]).flatMap(({ conditions: list, name }) => {
      const part = `${holder.slice(0, -1)}${typeof name === 'string' ? ` ${name}` : ''}`
      return conditionsIn(list).map((each) => conditionSignal(each, part))
    }),
  )
  return [...own, ...ofParts]
}

/**
 * Some controllers append a condition for each change instead of replacing the one of its type: then the latest counts, by
 * its time and then by its place. Without times, all of them count.
 */
function latestOfEachType(conditions: readonly Condition[]): readonly Condition[] {
  return [...Map.groupBy(conditions, ({ type }) => type).values()].flatMap((ofType) => {
    const times = ofType.map(timeOf)
    return ofType.length === 1 || times.some(Number.isNaN)
      ? ofType
      : (ofType[times.lastIndexOf(times.reduce((a, b) => Math.max(a, b)))] ?? [])
  })
}

/** When a condition was written, in milliseconds since the epoch; NaN if it contains no time. */
function timeOf(condition: Condition): number {
  const { lastTransitionTime, lastUpdateTime, timestamp } = condition as Condition & Fields
  return Date.parse(String(lastTransitionTime ?? lastUpdateTime ?? timestamp))
}

/** The conditions of the present generation. If the status is older, only those with the present generation. */
function presentSignals(object: KubeObject): readonly ConditionSignal[] {
  const isOld = isGenerationStale(object)
  return conditionSignals(object).filter(
    ({ condition }) =>
      condition !== undefined &&
      isOfPresentGeneration(condition, object) &&
      !(isOld && condition.observedGeneration === undefined),
  )
}

/** Conditions as a list; some kinds have a map by type: `{Ready: {status: 'True'}}`, `{Ready: 'True'}`. */
function asList(conditions: unknown): unknown {
  if (!isObject(conditions)) return conditions
  return Object.entries(conditions).map(([type, value]) =>
    typeof value === 'object' && value !== null ? { ...value, type } : { type, status: value },
  )
}

function readConditionSignal(signal: ConditionSignal, isWork: boolean): readonly Signal[] {
  const reading = signal.condition && readCondition(signal.condition, isWork)
  if (reading === undefined) return []
  const weight = signal.part !== undefined && reading.weight !== 'accepted' ? 'part' : reading.weight
  return [{ ...signal, ...reading, weight }]
}

/** Each parent and ancestor of the Gateway API must report whether it accepts the object. */
function missingAcceptance({ status }: KubeObject): readonly Signal[] {
  return (['parents', 'ancestors'] as const).flatMap((holder): readonly Signal[] => {
    const isMissing = listOf(((status ?? {}) as Fields)[holder]).some(
      (each) => !conditionsIn(((each ?? {}) as Fields)['conditions']).some(({ type }) => type === 'Accepted'),
    )
    const message = 'one of them has not accepted it yet'
    return isMissing ? [{ meaning: 'progressing', weight: 'accepted', name: holder, message }] : []
  })
}

/**
 * A controller that sets `observedGeneration` in its conditions follows the API conventions, which recommend a
 * condition that summarizes the object. While the status contains only conditions of other types, that condition is
 * still missing
 * (https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties).
 */
export function readUnknownConditions(object: KubeObject): readonly Signal[] {
  const present = presentSignals(object)
  const [first] = present
  const isDated = present.some(({ condition }) => condition?.observedGeneration !== undefined)
  const isUnknown = present.every(({ condition }) => condition !== undefined && !isKnownType(condition))
  return first === undefined || !isDated || !isUnknown ? [] : [{ ...first, meaning: 'progressing', weight: 'unknown' }]
}

/**
 * Whether the status is about an older generation. If neither the status nor Ready has the present generation, one
 * condition of an older generation shows that the controller has not reconciled the present one.
 */
export function isUnobserved(object: KubeObject): boolean {
  if (isRequestOpen(object) || isReferenceStale(object) || isReporterStale(object)) return true
  const conditions = conditionSignals(object).flatMap(({ condition }) => condition ?? [])
  const isSummary = ({ type }: { readonly type: string }) => /^(?:Ready|Stalled|Reconciling)$/.test(type)
  const summaries = conditions.filter((each) => isSummary(each) && isOfPresentGeneration(each, object))
  // The generation of a condition overrides that of the status.
  if (isGenerationStale(object)) return summaries.every(({ observedGeneration }) => observedGeneration === undefined)
  const stale = conditions.filter((each) => !isOfPresentGeneration(each, object) && readCondition(each) !== undefined)
  return stale.length > 0 && !summaries.some(({ type }) => type === 'Ready')
}
