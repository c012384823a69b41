import type { Pod, ReplicaSet } from '../../cluster/objects.ts'
import { milestonesOf } from '../../plan/milestones.ts'
import type { Problem } from '../../reasons/reasons.ts'
import type { Assessment } from '../assessment.ts'
import { podRequest } from '../network/selector.ts'
import { conclude, createdMilestone, isObserved, observedMilestone, type Rule } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'
import { condition, earliest } from './pod-state.ts'
import { byImportance, examinePods, notesOf, settledByPods, settledUnseen } from './pods.ts'
import { creationProblem } from './replica-failure.ts'
import { countMilestone, podMilestones, pods, settlingMilestone, stallHold } from './replicas.ts'

/**
 * A ReplicaSet or a ReplicationController of the user's own:
 * https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/
 *
 * Ready when the present generation is observed, all replicas are there and available, and all have settled. Both have
 * no revisions: pods of an older template stay, and count.
 */
export const replicaSetRule: Rule = {
  milestones: milestonesOf({ apiVersion: 'apps/v1', kind: 'ReplicaSet' }),
  relatives: (object) => [podRequest(object as ReplicaSet)],
  assess: (object, context) => assessReplicaSet(object as ReplicaSet, context),
}

function assessReplicaSet(set: ReplicaSet, context: RuleContext): Assessment {
  const replicas = set.spec?.replicas ?? 1
  const available = set.status?.availableReplicas ?? 0
  const owned = context.owned(set.metadata.uid, 'Pod') as readonly Pod[]
  const state =
    context.listState(podRequest(set)) === 'complete'
      ? examinePods(owned, context, context.lostPods(set.metadata.uid))
      : undefined
  const isComplete =
    isObserved(set) &&
    (set.status?.replicas ?? 0) === replicas &&
    available >= replicas &&
    condition(set, 'ReplicaFailure')?.status !== 'True'
  const settled = state === undefined ? settledUnseen(context) : settledByPods(state, replicas, context)
  const problems: readonly Problem[] = [...(state?.problems ?? []), ...creationProblem(set, context)].sort(byImportance)
  const failure = state?.failure ?? problems.find((problem) => problem.proven && !problem.subject.startsWith('pod/'))
  const ready = isObserved(set)
    ? state === undefined
      ? available
      : Math.min(available, state.pods.filter((pod) => pod.settled).length)
    : 0
  const hold = stallHold(state, owned, set.spec?.minReadySeconds, context)
  return conclude(set, context, {
    ready: isComplete && settled.done,
    readyMessage: `${available} of ${pods(replicas)} available`,
    milestones: [
      createdMilestone,
      observedMilestone(set),
      ...podMilestones(state, replicas),
      settlingMilestone(
        {
          ...countMilestone('ready', ready, replicas, 'ready and available'),
          state: isComplete && settled.done ? 'done' : 'open',
        },
        state,
        replicas,
      ),
    ],
    problems,
    ...(failure === undefined ? {} : { failure }),
    ...hold,
    ...earliest([state?.recheckAt, settled.at, hold.recheckAt]),
    pods: new Set(owned.flatMap((pod) => pod.metadata.uid ?? [])),
    notes: notesOf(state, isComplete && settled.done),
  })
}
