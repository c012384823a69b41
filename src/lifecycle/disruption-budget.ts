import { milestonesOf } from '../plan/milestones.ts'
import { conclude, createdMilestone, isObserved, observedMilestone, type Rule } from './rule.ts'

/**
 * A PodDisruptionBudget: ready when its controller has observed it. Whether it allows a disruption now says nothing of
 * what was applied. https://kubernetes.io/docs/tasks/run-application/configure-pdb/
 */
export const disruptionBudgetRule: Rule = {
  milestones: milestonesOf({ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget' }),
  relatives: () => [],
  assess: (object, view) => {
    const ready = isObserved(object)
    return conclude(object, view, {
      ready,
      readyMessage: 'observed',
      milestones: [
        createdMilestone,
        observedMilestone(object),
        { name: 'ready', state: ready ? 'done' : 'open', message: '' },
      ],
      problems: [],
      notes: [],
    })
  },
}
