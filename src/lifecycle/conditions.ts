import type { Condition, Fields, KubeObject } from '../cluster/objects.ts'
import type { StatusSignal } from '../reasons/status.ts'

/** The objects in a list; empty for other values. */
export function objectsIn(value: unknown): readonly Fields[] {
  if (!Array.isArray(value)) return []
  return value.filter((each): each is Fields => typeof each === 'object' && each !== null)
}

/** Whether a value is absent, or contains only empty lists, objects and texts. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  return typeof value === 'object' && Object.values(value).every(isEmpty)
}

const optionalTexts = ['reason', 'message', 'lastTransitionTime'] as const

/**
 * The conditions in a list: each item with a type and a status. Some custom resources write a status as `true` instead of
 * `'True'`, or a reason that is null.
 */
export function conditionsIn(list: unknown): readonly Condition[] {
  return objectsIn(list).flatMap(({ status, ...rest }) => {
    const condition = { ...rest, status: typeof status === 'boolean' ? (status ? 'True' : 'False') : status }
    if (!isCondition(condition)) return []
    for (const name of optionalTexts) if (typeof condition[name] !== 'string') delete condition[name]
    return [condition]
  })
}

/** The conditions of an object, of any generation; malformed ones are skipped. */
export function conditionsOf({ status }: KubeObject): readonly Condition[] {
  return conditionsIn((status as Fields | undefined)?.['conditions'])
}

/** The condition of a type if it is True. Only for built-in kinds, which have at most one condition of a type. */
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

/** A signal of an object's status, with its condition. */
export interface ConditionSignal extends StatusSignal {
  readonly condition?: Condition | undefined
}

/** A condition of a status, as a signal. */
export type StatusCondition = ConditionSignal & { readonly condition: Condition }

/** @param part the part of the object that the condition is about: `listener https` */
export function conditionSignal(condition: Condition, part?: string): StatusCondition {
  const { type, status, reason, message } = condition
  return { part, name: type, value: status, reason, message, condition }
}

/** The signal as problems contain it. */
export function toStatusSignal({ part, name, value, reason, message }: ConditionSignal): StatusSignal {
  return { part, name, value, reason, message }
}
