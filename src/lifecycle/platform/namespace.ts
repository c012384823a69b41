import type { KubeObject } from '../../cluster/objects.ts'
import { milestonesOf } from '../../plan/milestones.ts'
import type { Problem } from '../../reasons/reasons.ts'
import { conclude, createdMilestone, type Rule } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'

/**
 * A Namespace: ready while it is Active. One that terminates takes nothing new, and is `terminating` until it is gone.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/
 */
export const namespaceRule: Rule = {
  milestones: milestonesOf({ apiVersion: 'v1', kind: 'Namespace' }),
  relatives: () => [],
  assess: (object, context) => {
    const { phase = 'Active' } = (object.status ?? {}) as { phase?: string }
    const ready = phase === 'Active'
    return conclude(object, context, {
      ready,
      readyMessage: 'active',
      milestones: [
        createdMilestone,
        { name: 'observed', state: 'skipped', message: '' },
        { name: 'ready', state: ready ? 'done' : 'open', message: `phase ${phase}` },
      ],
      problems: ready || object.metadata.deletionTimestamp !== undefined ? [] : [terminating(object, context)],
      notes: [],
    })
  },
}

function terminating({ metadata }: KubeObject, context: RuleContext): Problem {
  return {
    reason: 'terminating',
    subject: `namespace/${metadata.name}`,
    detail: { finalizers: [] },
    count: 1,
    firstSeenAt: context.history.firstSeenAt,
    proven: false,
  }
}
