import type { Condition, KubeObject } from '../cluster/objects.ts'
import { milestonesOf } from '../plan/milestones.ts'
import type { Assessment } from './assessment.ts'
import { conditionProblem, conditionWords, notReconciled, presentConditions } from './conditions.ts'
import { conclude, createdMilestone, type Rule } from './rule.ts'
import type { View } from './view.ts'

/**
 * The rule of a kind whose readiness is a few conditions of known names: ready when all of them are True. `isFine` lets a
 * kind accept another status for a reason of its own.
 */
export function conditionRule(
  kind: { apiVersion: string; kind: string },
  types: readonly string[],
  isFine: (condition: Condition, object: KubeObject) => boolean = () => false,
): Rule {
  return {
    milestones: milestonesOf(kind),
    relatives: () => [],
    assess: (object, view) => assessConditions(object, types, isFine, view),
  }
}

function assessConditions(
  object: KubeObject,
  types: readonly string[],
  isFine: (condition: Condition, object: KubeObject) => boolean,
  view: View,
): Assessment {
  const { observedGeneration } = (object.status ?? {}) as { observedGeneration?: number }
  const isObserved = observedGeneration === undefined || Number(observedGeneration) >= (object.metadata.generation ?? 0)
  const present = presentConditions(object)
  const found = types.map((type) => present.find((each) => each.type === type))
  const holds = (each: Condition | undefined) => each !== undefined && (each.status === 'True' || isFine(each, object))
  const wrong = found.find((each) => each !== undefined && !holds(each))
  const isTerminating = present.some(({ type, status }) => type === 'Terminating' && status === 'True')
  const ready = isObserved && found.every(holds) && !isTerminating
  const words = found
    .flatMap((each) => (each === undefined ? [] : [conditionWords({ type: each.type, status: each.status })]))
    .join(', ')
  return conclude(object, view, {
    ready,
    readyMessage: words,
    milestones: [
      createdMilestone,
      {
        name: 'observed',
        state: isObserved && found.some((each) => each !== undefined) ? 'done' : 'open',
        message: found.some(Boolean) ? 'observed' : 'waiting for its controller',
      },
      { name: 'ready', state: ready ? 'done' : 'open', message: wrong === undefined ? words : conditionWords(wrong) },
    ],
    problems:
      wrong !== undefined ? [conditionProblem(object, wrong, view)] : ready ? [] : [notReconciled(object, view)],
    notes: [],
  })
}
