import type { ReplicaSet } from '../../cluster/objects.ts'
import type { Pods } from '../pods.ts'
import type { RuleReader } from '../reader.ts'
import { podRequest } from '../selector.ts'
import { isObserved, lastWrittenAt } from '../stale-status.ts'
import { findCondition } from './pod-fields.ts'
import { hasImagesOf } from './pod-template.ts'
import { podCreationProblems } from './replica-failure.ts'
import { podCountText, readyText } from './revision-pods.ts'
import { examineWorkloadPods, type WorkloadFacts, workloadMilestones, workloadRule } from './workload.ts'

/**
 * Judges ReplicaSets without a Deployment, and ReplicationControllers:
 * https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/
 *
 * Ready when the present generation is observed, and all replicas exist, are available and have settled. These kinds
 * have no revisions: pods of an older template stay and count, with a warning.
 */
export const replicaSetRule = workloadRule<ReplicaSet>({ milestones: workloadMilestones, facts: replicaSetFacts })

function replicaSetFacts(set: ReplicaSet, reader: RuleReader): WorkloadFacts {
  const { metadata, status = {} } = set
  const replicas = set.spec?.replicas ?? 1
  const available = status.availableReplicas ?? 0
  const owned = reader.owned(podRequest(set), metadata.uid)
  const failedPods = reader.endedPods(metadata.uid, 'Failed')
  const examined = examineWorkloadPods(set, owned, { revisionOf: () => 'new', failedPods }, reader)
  warnOfOutdatedPods(set, examined.pods, reader)
  return {
    examined,
    isComplete:
      isObserved(set) &&
      (status.replicas ?? 0) === replicas &&
      available >= replicas &&
      findCondition(set, 'ReplicaFailure')?.status !== 'True',
    wanted: replicas,
    counted: isObserved(set) ? available : 0,
    created: replicas,
    message: readyText(available, replicas, 'available'),
    removedAt: reader.removedAt(metadata.uid),
    problems: podCreationProblems(set, reader),
  }
}

/**
 * Warns about pods that are older than the last write of the ReplicaSet and have other images than its template. Newer
 * pods do not count: an admission webhook may have changed their images.
 */
function warnOfOutdatedPods(set: ReplicaSet, pods: Pods, reader: RuleReader): void {
  const writtenAt = lastWrittenAt(set, reader.time) ?? -Infinity
  const outdated = pods.new.filter(
    (pod) =>
      (reader.time(pod.metadata.creationTimestamp) ?? Infinity) < writtenAt && !hasImagesOf(set.spec?.template, pod),
  ).length
  if (outdated === 0) return
  const are = outdated === 1 ? 'is older than the template and differs' : 'are older than the template and differ'
  reader.warning(`${podCountText(outdated)} ${are} from it: a ${set.kind} replaces no existing pod`)
}
