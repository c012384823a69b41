import type { Condition, Fields, KubeObject } from '../cluster/objects.ts'
import type { StatusSignal } from '../reasons/status.ts'

/* Reads the conditions of an object of any kind. */

/** The objects in a list. Empty if the value is not a list. */
export function objectsIn(value: unknown): readonly Fields[] {
  if (!Array.isArray(value)) return []
  return value.filter((each): each is Fields => typeof each === 'object' && each !== null)
}

/** Whether a value is absent, empty, or contains only empty values. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  return typeof value === 'object' && Object.values(value).every(isEmpty)
}

const optionalTexts = ['reason', 'message', 'lastTransitionTime'] as const

/**
 * The conditions in a list: the items with a type and a status. Some custom resources write the status `true` instead
 * of `'True'`, or a reason that is null.
 */
export function conditionsIn(list: unknown): readonly Condition[] {
  return objectsIn(list).flatMap(({ status, ...rest }) => {
    const condition = { ...rest, status: typeof status === 'boolean' ? (status ? 'True' : 'False') : status }
    if (!isCondition(condition)) return []
    for (const name of optionalTexts) if (typeof condition[name] !== 'string') delete condition[name]
    return [condition]
  })
}

/** The valid conditions of an object, of any generation. */
export function conditionsOf({ status }: KubeObject): readonly Condition[] {
  return conditionsIn((status as Fields | undefined)?.['conditions'])
}

/** The condition with this type if its status is True. Only for built-in kinds: their condition types are unique. */
export function trueCondition(
  { status }: { readonly status?: { readonly conditions?: readonly Condition[] } },
  type: string,
): Condition | undefined {
  return status?.conditions?.find((each) => each.type === type && each.status === 'True')
}

function isCondition(value: unknown): value is Condition {
  const { type, status } = value as Partial<Condition>
  return typeof type === 'string' && typeof status === 'string'
}

/** A signal in a status. `condition`: the condition, if the signal is a condition. */
export interface ConditionSignal extends StatusSignal {
  readonly condition?: Condition | undefined
}

export type StatusCondition = ConditionSignal & { readonly condition: Condition }

/** Converts a condition to a signal. @param part the part of the object with this condition: `listener https` */
export function conditionSignal(condition: Condition, part?: string): StatusCondition {
  const { type, status, reason, message } = condition
  return { part, name: type, value: status, reason, message, condition }
}

/** The signal without its condition, as problems contain it. */
export function toStatusSignal({ part, name, value, reason, message }: ConditionSignal): StatusSignal {
  return { part, name, value, reason, message }
}
