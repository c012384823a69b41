import type { Condition, KubeObject } from '../../cluster/objects.ts'
import { milestonesOf } from '../../plan/milestones.ts'
import { messageOf } from '../../reasons/reasons.ts'
import type { Assessment, Awaited } from '../assessment.ts'
import { isStale, presentConditions } from '../conditions.ts'
import { conclude, createdMilestone, type Rule } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'
import { conditionProblem, notReconciled, reportedProblem } from './condition-problems.ts'

/** What a kind's conditions mean, beyond that all of the named ones must be True. */
export interface ConditionMeaning {
  /** A status other than True that is fine for a reason of its own. */
  readonly isFine?: (condition: Condition, object: KubeObject, context: RuleContext) => boolean
  /** The object's own word of failure: a strike, when it has stood for ten seconds. */
  readonly isFailure?: (condition: Condition) => boolean
  /** What to say once it is ready, where the conditions' own words mislead. */
  readonly readyWords?: (conditions: readonly Condition[]) => string | undefined
  /** Where the conditions are, if not in the status. */
  readonly conditionsOf?: (object: KubeObject) => readonly Condition[]
  /** The object without which its conditions cannot become True. */
  readonly awaits?: (object: KubeObject) => readonly Awaited[]
}

/** The rule of a kind whose readiness is a few conditions of known names: ready when all of them are True. */
export function conditionRule(
  kind: { apiVersion: string; kind: string },
  types: readonly string[],
  meaning: ConditionMeaning = {},
): Rule {
  return {
    milestones: milestonesOf(kind),
    relatives: () => [],
    failures: (object) => failuresOf(object, meaning).map(failureKey),
    assess: (object, context) => assessConditions(object, types, meaning, context),
  }
}

/** The conditions of the present generation, wherever the kind keeps them. */
function presentOf(object: KubeObject, { conditionsOf = presentConditions }: ConditionMeaning): readonly Condition[] {
  const { observedGeneration } = (object.status ?? {}) as { observedGeneration?: number }
  return isStale(observedGeneration, object.metadata.generation) ? [] : conditionsOf(object)
}

function failuresOf(object: KubeObject, meaning: ConditionMeaning): readonly Condition[] {
  return presentOf(object, meaning).filter((each) => meaning.isFailure?.(each))
}

function failureKey({ type, status }: Condition): string {
  return `${type}=${status}`
}

function assessConditions(
  object: KubeObject,
  types: readonly string[],
  meaning: ConditionMeaning,
  context: RuleContext,
): Assessment {
  const { isFine, readyWords, awaits } = meaning
  const present = presentOf(object, meaning)
  const found = types.map((type) => present.find((each) => each.type === type))
  const holds = (each: Condition | undefined) =>
    each !== undefined && (each.status === 'True' || isFine?.(each, object, context) === true)
  const wrong = found.find((each) => each !== undefined && !holds(each))
  const [failed] = failuresOf(object, meaning)
  const ready = found.every(holds) && failed === undefined
  const spoken = found.filter((each) => each !== undefined)
  const words = readyWords?.(spoken) ?? spoken.map(({ type, status }) => `${type} is ${status}`).join(', ')
  const problem =
    failed !== undefined
      ? reportedProblem(object, failureKey(failed), failed, context)
      : wrong !== undefined
        ? conditionProblem(object, wrong, context)
        : notReconciled(object, context)
  const waiting = problem.reason === 'not-reconciled' ? 'waiting for its controller' : messageOf(problem)
  return conclude(object, context, {
    ready,
    readyMessage: words,
    signals: spoken,
    milestones: [
      createdMilestone,
      {
        name: 'observed',
        state: spoken.length > 0 ? 'done' : 'open',
        message: spoken.length > 0 ? 'observed' : 'waiting for its controller',
      },
      { name: 'ready', state: ready ? 'done' : 'open', message: ready ? words : waiting },
    ],
    problems: ready ? [] : [problem],
    ...(ready || awaits === undefined ? {} : { awaits: awaits(object) }),
    ...(!ready && problem.proven ? { failure: problem } : {}),
    notes: [],
  })
}
