/** Expressions in CEL about `status.conditions`, which most entries of the catalogue need. */

/** The condition is True; with reasons, for one of them. */
export function isTrue(type: string, ...reasons: readonly string[]): string {
  return hasCondition(type, `c.status == 'True'`, ...reasonIn(reasons))
}

/** The condition is False; with reasons, for one of them. */
export function isFalse(type: string, ...reasons: readonly string[]): string {
  return hasCondition(type, `c.status == 'False'`, ...reasonIn(reasons))
}

/** The condition exists, and the predicates about it are true; they call it `c`. */
export function hasCondition(type: string, ...predicates: readonly string[]): string {
  return `status.conditions.exists(c, ${[`c.type == '${type}'`, ...predicates].join(' && ')})`
}

function reasonIn(reasons: readonly string[]): readonly string[] {
  return reasons.length === 0 ? [] : [`c.reason in [${reasons.map((each) => `'${each}'`).join(', ')}]`]
}

/** A text: the message of the condition while its status is not `good`. */
export function messageOf(type: string, good: 'True' | 'False' = 'True'): string {
  return `status.conditions.filter(c, c.type == '${type}' && c.status != '${good}').map(c, c.message)`
}

/** All of the expressions are true. */
export function allOf(...expressions: readonly string[]): string {
  return expressions.map((each) => (/ \|\| | \? /.test(each) ? `(${each})` : each)).join(' && ')
}

/** One of the expressions is true. If none is, and one reads a missing field, the result is an error, which counts as false. */
export function anyOf(...expressions: readonly string[]): string {
  return expressions.map((each) => (/ \? /.test(each) ? `(${each})` : each)).join(' || ')
}

/** The annotation exists; with a value, it has this value. */
export function isAnnotated(annotation: string, value?: string): string {
  const key = `metadata.?annotations[?'${annotation}']`
  return value === undefined ? `${key}.hasValue()` : `${key}.orValue('') == '${value}'`
}
