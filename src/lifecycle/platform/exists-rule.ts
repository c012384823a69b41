import type { KubeObject } from '../../cluster/objects.ts'
import { milestonesOf } from '../../plan/milestones.ts'
import { conclude, createdMilestone, type Rule } from '../rule.ts'

/**
 * Kinds that are ready once they exist: what they do happens later (CronJob) or elsewhere (ConfigMap, Secret, RBAC,
 * NetworkPolicy …), so there is nothing to wait for.
 */
export const seenRule: Rule = {
  milestones: milestonesOf({ apiVersion: 'v1', kind: 'ConfigMap' }),
  relatives: () => [],
  assess: (object, context) =>
    conclude(object, context, {
      ready: true,
      readyMessage: words(object),
      milestones: [
        createdMilestone,
        { name: 'observed', state: 'skipped', message: 'nothing has to observe it' },
        { name: 'ready', state: 'done', message: '' },
      ],
      problems: [],
      notes: [],
    }),
}

function words({ kind, spec }: KubeObject): string {
  if (kind !== 'CronJob') return 'exists'
  const { suspend, schedule } = (spec ?? {}) as { suspend?: boolean; schedule?: string }
  return suspend ? 'exists, and is suspended' : `exists, runs at "${schedule ?? '?'}"`
}
