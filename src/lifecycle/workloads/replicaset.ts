import type { ReplicaSet } from '../../cluster/objects.ts'
import type { Pods } from '../pods.ts'
import type { Reader, RuleReader } from '../reader.ts'
import type { Judgement, Rule } from '../rule.ts'
import { podRequest } from '../selector.ts'
import { isObserved, lastWriteOf, specWrittenAt } from '../status-age.ts'
import { condition } from './pod-fields.ts'
import { creationProblem } from './replica-failure.ts'
import { notesOf, sortPods } from './revision-pods.ts'
import { workloadServing } from './serving.ts'
import { hasContainersOf } from './template.ts'
import {
  countSettled,
  examineWorkloadPods,
  haveSettled,
  judgeWorkload,
  podCount,
  readyMilestone,
  readyText,
  workloadMilestones,
} from './workload.ts'

/**
 * A ReplicaSet without a Deployment, or a ReplicationController:
 * https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/
 *
 * Ready when the present generation is observed, and all replicas exist, are available and have settled. These kinds
 * have no revisions: pods of an older template stay, and count, with a warning.
 */
export const replicaSetRule: Rule<ReplicaSet> = {
  milestones: workloadMilestones,
  serving: workloadServing,
  changedAt: specWrittenAt,
  judge: judgeReplicaSet,
}

function judgeReplicaSet(set: ReplicaSet, reader: RuleReader): Judgement {
  const { status = {} } = set
  const replicas = set.spec?.replicas ?? 1
  const available = status.availableReplicas ?? 0
  const pods = sortPods(reader.owned(podRequest(set), set.metadata.uid), () => 'new', {
    gone: reader.lostPods(set.metadata.uid),
  })
  const examined = examineWorkloadPods(set, pods, { waitsForTermination: false }, reader)
  const areSettled = haveSettled(examined, replicas, reader, { removedAt: reader.removedAt(set.metadata.uid) })
  const ready =
    isObserved(set) &&
    (status.replicas ?? 0) === replicas &&
    available >= replicas &&
    condition(set, 'ReplicaFailure')?.status !== 'True' &&
    areSettled
  const readyPods = isObserved(set) ? Math.min(available, countSettled(examined, available)) : 0
  reader.milestone(readyMilestone(examined, readyPods, replicas, ready, 'ready and available'))
  for (const text of notesOf(examined.state, ready)) reader.note(text)
  for (const text of outdatedPodWarnings(set, pods, reader)) reader.warning(text)
  const message = readyText(available, replicas, 'available')
  return judgeWorkload(
    set,
    examined,
    { ready, message, created: replicas, problems: creationProblem(set, reader) },
    reader,
  )
}

/**
 * The pods that are older than the last write of the ReplicaSet, and differ from its template. An admission webhook may have
 * changed a younger pod.
 */
function outdatedPodWarnings(set: ReplicaSet, pods: Pods, reader: Reader): readonly string[] {
  const writtenAt = lastWriteOf(set, reader.time) ?? -Infinity
  const outdated = pods.new.filter(
    (pod) =>
      (reader.time(pod.metadata.creationTimestamp) ?? Infinity) < writtenAt &&
      !hasContainersOf(set.spec?.template, pod),
  ).length
  if (outdated === 0) return []
  const are = outdated === 1 ? 'is older than the template and differs' : 'are older than the template and differ'
  return [`${podCount(outdated)} ${are} from it: a ${set.kind} replaces no existing pod`]
}
