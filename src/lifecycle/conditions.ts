import type { Condition, KubeObject } from '../cluster/objects.ts'
import { fieldsOf } from './custom/signal.ts'

/** The conditions of an object's status that speak of its present generation; anything malformed is left out. */
export function presentConditions(object: KubeObject): readonly Condition[] {
  const { conditions } = (object.status ?? {}) as { conditions?: unknown }
  return conditionsIn(conditions).filter((each) => isPresent(each, object))
}

/**
 * The conditions in a list. Custom resources hold whatever their schema lets through: only what has a type and a status is
 * a condition, and a status of some is a boolean.
 */
export function conditionsIn(list: unknown): readonly Condition[] {
  return fieldsOf(list).flatMap(({ status, ...rest }) => {
    const condition = { ...rest, status: typeof status === 'boolean' ? (status ? 'True' : 'False') : status }
    return isCondition(condition) ? [condition] : []
  })
}

function isCondition(value: unknown): value is Condition {
  const { type, status } = value as Partial<Condition>
  return typeof type === 'string' && typeof status === 'string'
}

/** Whether a condition speaks of the object's present generation; one without a generation of its own does. */
export function isPresent({ observedGeneration }: Condition, { metadata }: KubeObject): boolean {
  return !isStale(observedGeneration, metadata.generation)
}

/**
 * Whether an observed generation is older than the object's. Some controllers write it as a string, and some write a
 * hash there, which says nothing of the order.
 */
export function isStale(observed: unknown, generation = 0): boolean {
  return observed !== undefined && observed !== null && Number(observed) < generation
}

/** A condition in words: `Ready is False (ImagePullFailed): no such image`. */
export function conditionWords({ type, status, reason, message }: Condition): string {
  return `${type} is ${status}${reason ? ` (${reason})` : ''}${message ? `: ${message}` : ''}`
}
