import type { KubeObject, Pod, StatefulSet } from '../../cluster/objects.ts'
import type { Problem } from '../../reasons/reasons.ts'
import { gatedPods } from '../pods.ts'
import { toExplanation } from '../proof.ts'
import type { Reader, RuleReader } from '../reader.ts'
import { controllerRevisionRequest, podRequest } from '../selector.ts'
import { isObserved } from '../stale-status.ts'
import { podCreationProblems } from './replica-failure.ts'
import { findRevision, hashLabel, templateCreatedAt } from './revision.ts'
import { examinePods, podCountText, readyText } from './revision-pods.ts'
import {
  type ExaminedPods,
  examineWorkloadPods,
  stallHoldOfPods,
  updatedMilestone,
  type WorkloadFacts,
  workloadMilestones,
  workloadRule,
} from './workload.ts'

/**
 * Judges StatefulSets: https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/
 *
 * A StatefulSet is ready under the conditions of `kubectl rollout status`: the present generation is observed, all
 * replicas are ready, and those with an ordinal from the partition on are updated. In addition, the pods of the new
 * revision are available and settled. With OnDelete, all existing pods must be ready, and pods of an older revision are
 * reported. The status also counts terminating pods, pods below the partition, and pods outside the ordinals
 * (updateStatus, pkg/controller/statefulset). If the gate can read pods, these do not count.
 */
export const statefulSetRule = workloadRule<StatefulSet>({
  milestones: [...workloadMilestones, 'updated'],
  presentRevision: findUpdateRevision,
  facts: statefulSetFacts,
})

function statefulSetFacts(set: StatefulSet, reader: RuleReader): WorkloadFacts {
  const { spec = {}, status = {} } = set
  const replicas = spec.replicas ?? 1
  const readyReplicas = status.readyReplicas ?? 0
  const existing = status.replicas ?? 0
  const isOnDelete = spec.updateStrategy?.type === 'OnDelete'
  const observed = isObserved(set)
  const { examined, updateRevision, revision, updated, newBelow, unwanted } = findPods(set, reader)
  const old = [...examined.pods.old, ...examined.pods.kept]
  const toUpdate = isOnDelete ? 0 : replicasToUpdate(set, examined.state !== undefined)
  const total = isOnDelete ? replicas : toUpdate
  const isUpdated = observed && updated >= toUpdate
  const oldPods = examinePods(old, reader)
  const isAvailable = (spec.minReadySeconds ?? 0) === 0 || (status.availableReplicas ?? 0) >= replicas
  reader.milestone(updatedMilestone(examined.pods, { done: updated, total, isDone: isUpdated }))
  if (!isOnDelete) notePodsBelowPartition(set, old.length, reader)
  // Until an old pod is ready again, the controller does not continue the update.
  reader.hold(stallHoldOfPods(oldPods, [], reader))
  return {
    examined,
    isComplete:
      isUpdated &&
      readyReplicas >= replicas &&
      existing <= replicas &&
      isAvailable &&
      // Below the partition, a scale creates pods of the older revision, which must settle too.
      oldPods.settled.length === oldPods.pods.length,
    wanted: total,
    counted: observed ? readyReplicas : 0,
    // An ordered rollout creates one pod after another, so only the pods that exist so far are expected.
    created: Math.min(total, Math.max(1, gatedPods(examined.pods).length)),
    message: readyText(readyReplicas, replicas, 'ready'),
    toSettle: isOnDelete ? replicas : toUpdate + newBelow,
    unwanted,
    removedAt: reader.removedAt(set.metadata.uid, revision),
    problems: [
      ...oldPodProblems(oldPods.problems, isOnDelete ? 'stays' : isUpdated ? undefined : 'blocks-update'),
      ...podCreationProblems(
        set,
        reader,
        observed && existing < replicas,
        templateCreatedAt(set, updateRevision, reader),
      ),
    ],
    isScale: isTemplateRolledOut(set) && old.length === 0,
    // An update replaces one pod after another even if the policy is Parallel (updateStatefulSet).
    isOrdered: spec.podManagementPolicy !== 'Parallel' || examined.pods.old.length > 0,
  }
}

/** The pods of a set by their revision and ordinal. */
interface SetPods {
  readonly examined: ExaminedPods
  readonly updateRevision: KubeObject | undefined
  /** The name of the update revision, also if its ControllerRevision cannot be read. */
  readonly revision: string | undefined
  /** The number of updated pods from the partition on. */
  readonly updated: number
  /** The number of updated pods below the partition. */
  readonly newBelow: number
  /** The number of pods with an ordinal that the StatefulSet does not want. */
  readonly unwanted: number
}

function findPods(set: StatefulSet, reader: Reader): SetPods {
  const { metadata, spec, status } = set
  const isOnDelete = spec?.updateStrategy?.type === 'OnDelete'
  const observed = isObserved(set)
  const owned = reader.owned(podRequest(set), metadata.uid)
  const wantedPods = owned.filter((pod) => isWithinOrdinals(pod, set))
  const updateRevision = findUpdateRevision(set, reader)
  const revision = status?.updateRevision ?? updateRevision?.metadata.name
  const counted = updatedReplicaCount(set)
  const isNew = (pod: Pod) =>
    revision === undefined ? counted >= owned.length : pod.metadata.labels?.[hashLabel] === revision
  const revisionOf = (pod: Pod) => {
    if (!isWithinOrdinals(pod, set)) return undefined
    if (isNew(pod)) return observed ? 'new' : undefined
    return isOnDelete || isBelowPartition(pod, set) ? 'kept' : 'old'
  }
  const failedPods = observed ? reader.endedPods(metadata.uid, 'Failed').filter(isNew) : []
  const traits = { revisionOf, failedPods, replacesOnDelete: isOnDelete, waitsForTermination: true }
  const isNewAndNotDeleted = (pod: Pod) => pod.metadata.deletionTimestamp === undefined && isNew(pod)
  const newBelow = wantedPods.filter((pod) => isNewAndNotDeleted(pod) && isBelowPartition(pod, set)).length
  const newOutside = owned.filter((pod) => isNewAndNotDeleted(pod) && !wantedPods.includes(pod)).length
  return {
    examined: examineWorkloadPods(set, owned, traits, reader),
    updateRevision,
    revision,
    updated: Math.max(0, counted - newBelow - newOutside),
    newBelow,
    unwanted: owned.length - wantedPods.length,
  }
}

/** Whether the present template was rolled out before: later changes were to other fields, such as the replicas. */
function isTemplateRolledOut(set: StatefulSet): boolean {
  return isObserved(set) && (set.metadata.generation ?? 0) > 1 && hasOneRevision(set)
}

/** The ControllerRevision that the status names as updateRevision, otherwise the one with the present template. */
function findUpdateRevision(set: StatefulSet, reader: Pick<Reader, 'owned'>): KubeObject | undefined {
  const { metadata, spec, status } = set
  const revisions = reader.owned(controllerRevisionRequest(set), metadata.uid)
  return status?.updateRevision === undefined
    ? findRevision(spec?.template, revisions)
    : revisions.find(({ metadata: { name } }) => name === status.updateRevision)
}

/**
 * The number of pods of the update revision. With only one revision, `updatedReplicas` may be missing (updateStatus,
 * pkg/controller/statefulset). Then `currentReplicas` is the same number.
 */
function updatedReplicaCount(set: StatefulSet): number {
  const { updatedReplicas = 0, currentReplicas = 0 } = set.status ?? {}
  return hasOneRevision(set) ? Math.max(updatedReplicas, currentReplicas) : updatedReplicas
}

/** Whether the current revision is the update revision. Without revisions in the status, true for generation 1. */
function hasOneRevision({ metadata, status: { currentRevision, updateRevision } = {} }: StatefulSet): boolean {
  return updateRevision === undefined ? metadata.generation === 1 : currentRevision === updateRevision
}

/**
 * The number of replicas that the update replaces. If pods cannot be read and only one revision exists, these are all
 * replicas: the counts do not show the partition, as after the undo of a canary.
 */
function replicasToUpdate(set: StatefulSet, canReadPods: boolean): number {
  const { replicas = 1, updateStrategy } = set.spec ?? {}
  const isForAll = !canReadPods && set.status?.updateRevision !== undefined && hasOneRevision(set)
  const partition = isForAll ? 0 : (updateStrategy?.rollingUpdate?.partition ?? 0)
  return Math.max(0, replicas - partition)
}

/** The index of a pod in its set, from 0; NaN if its name has none. */
function podIndex({ metadata }: Pod, { spec }: StatefulSet): number {
  return Number(/-(\d+)$/.exec(metadata.name)?.[1]) - (spec?.ordinals?.start ?? 0)
}

/** Whether a pod has an ordinal of the StatefulSet; the controller deletes other pods (podInOrdinalRange). */
function isWithinOrdinals(pod: Pod, set: StatefulSet): boolean {
  const index = podIndex(pod, set)
  return Number.isNaN(index) || (index >= 0 && index < (set.spec?.replicas ?? 1))
}

/** Whether a pod is below the partition, counted from the first ordinal (updateMin, pkg/controller/statefulset). */
function isBelowPartition(pod: Pod, set: StatefulSet): boolean {
  return podIndex(pod, set) < (set.spec?.updateStrategy?.rollingUpdate?.partition ?? 0)
}

/**
 * The problems of old pods, which never fail the target. A broken old pod blocks the update: the controller updates a
 * pod only while all pods are ready (https://github.com/kubernetes/kubernetes/issues/67250). Below the partition, a pod
 * keeps its revision even after its deletion.
 */
function oldPodProblems(problems: readonly Problem[], oldRevision: Problem['oldRevision']): readonly Problem[] {
  return problems.map((problem) =>
    oldRevision === undefined ? toExplanation(problem) : { ...problem, proven: false, oldRevision },
  )
}

function notePodsBelowPartition({ spec }: StatefulSet, old: number, reader: RuleReader): void {
  if (old > 0 && (spec?.updateStrategy?.rollingUpdate?.partition ?? 0) > 0)
    reader.note(`${podCountText(old)} below the partition ${old === 1 ? 'stays' : 'stay'} on the older revision`)
}
