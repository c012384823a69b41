import { milestonesOf } from '../../plan/milestones.ts'
import { messageOf } from '../../reasons/reasons.ts'
import { conditionsIn } from '../conditions.ts'
import { conclude, createdMilestone, isObserved, observedMilestone, type Rule } from '../rule.ts'
import { conditionProblem } from './condition-problems.ts'

/**
 * A PodDisruptionBudget: ready when its controller has observed it. Whether it allows a disruption now says nothing of
 * what was applied. Slow: pods that it cannot count, which its controller says before it has observed it (SyncFailed,
 * pkg/controller/disruption). https://kubernetes.io/docs/tasks/run-application/configure-pdb/
 */
export const disruptionBudgetRule: Rule = {
  milestones: milestonesOf({ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget' }),
  relatives: () => [],
  assess: (object, context) => {
    const ready = isObserved(object)
    // The controller dates it with the generation that it observed last (failSafe).
    const { conditions } = (object.status ?? {}) as { conditions?: unknown }
    const failed = conditionsIn(conditions).find(({ reason }) => reason === 'SyncFailed')
    const problems = ready || failed === undefined ? [] : [conditionProblem(object, failed, context)]
    return conclude(object, context, {
      ready,
      readyMessage: 'observed',
      milestones: [
        createdMilestone,
        observedMilestone(object),
        {
          name: 'ready',
          state: ready ? 'done' : 'open',
          message: problems[0] === undefined ? '' : messageOf(problems[0]),
        },
      ],
      problems,
      notes: [],
    })
  },
}
