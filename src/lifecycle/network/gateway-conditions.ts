import type { Condition, KubeObject } from '../../cluster/objects.ts'
import type { Problem } from '../../reasons/reasons.ts'
import { conditionsIn, conditionWords, isPresent } from '../conditions.ts'
import { conditionProblem, reportedProblem } from '../platform/condition-problems.ts'
import type { RuleContext } from '../rule-context.ts'

/** A condition of the Gateway API, and of which part of the object it speaks: `listener https: `; empty for the whole. */
export interface PartCondition {
  readonly where: string
  readonly condition: Condition
}

/** They are True of a part that serves what was asked of it; `Scheduled` and `Ready` are older names (Gateway API 0.5). */
const goodTypes = new Set(['Accepted', 'Programmed', 'ResolvedRefs', 'Ready', 'Scheduled'])
/** They are True of a part of which something is left out; `Detached` is the older opposite of Accepted. */
const badTypes = new Set(['Conflicted', 'PartiallyInvalid', 'Detached'])

/**
 * Reasons by which an implementation says that the object itself asks for what it cannot do, now or later: only another
 * apply changes its answer. All others may mend when a Gateway, a Service, a Secret or a ReferenceGrant comes.
 */
const certainReasons = new Set([
  'UnsupportedValue',
  'IncompatibleFilters',
  'InvalidKind',
  'InvalidRouteKinds',
  'UnsupportedAddress',
])

/**
 * The conditions of the object's present generation, without those that the API server itself puts there when a Gateway is
 * made: Unknown since 1970, "Waiting for controller".
 */
export function spokenConditions(object: KubeObject, conditions: unknown): readonly Condition[] {
  return conditionsIn(conditions).filter(
    (each) => isPresent(each, object) && Date.parse(each.lastTransitionTime ?? '') !== 0,
  )
}

/** Whether a condition says that a part does not serve, or not wholly, what was asked of it. */
export function isAgainst({ condition: { type, status } }: PartCondition): boolean {
  return goodTypes.has(type) ? status !== 'True' : badTypes.has(type) && status === 'True'
}

/** Whether a condition says that only another apply of its object changes it. */
function isCertain({ condition: { reason = '' } }: PartCondition): boolean {
  return certainReasons.has(reason)
}

function keyOf({ where, condition: { type, status } }: PartCondition): string {
  return `${where}${type}=${status}`
}

/** The conditions that fail an object once they have stood for ten seconds, as a rule's `failures`. */
export function failuresAgainst(parts: readonly PartCondition[]): readonly string[] {
  return parts.filter((each) => isAgainst(each) && isCertain(each)).map(keyOf)
}

/** What the conditions that stand against an object come to; undefined when there are none. */
export function againstProblem(
  object: KubeObject,
  against: readonly PartCondition[],
  context: RuleContext,
): Problem | undefined {
  const certain = against.filter(isCertain)
  const [first] = [...certain, ...against]
  if (first === undefined) return undefined
  const told = certain.length > 0 ? certain : against
  const detail = { text: told.map(({ where, condition }) => `${where}${conditionWords(condition)}`).join(', ') }
  return certain.length === 0
    ? { ...conditionProblem(object, first.condition, context), detail }
    : { ...reportedProblem(object, keyOf(first), first.condition, context), detail }
}
