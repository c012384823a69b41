import type { KubeObject, Pod, StatefulSet } from '../../cluster/objects.ts'
import { milestonesOf } from '../../plan/milestones.ts'
import type { Problem } from '../../reasons/reasons.ts'
import type { Assessment } from '../assessment.ts'
import { podRequest, selectedRequest } from '../network/selector.ts'
import { conclude, createdMilestone, isObserved, observedMilestone, type Rule } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'
import { earliest, isReplaced } from './pod-state.ts'
import { byImportance, examinePods, type PodsState, type Settled, settledByPods, settledUnseen } from './pods.ts'
import { creationProblem } from './replica-failure.ts'
import { countMilestone, podMilestones, pods, settlingMilestone, stallHold } from './replicas.ts'
import { findRevision } from './revision.ts'
import { stuckPods } from './stuck-termination.ts'
import { templateMadeAt } from './template-change.ts'

const hashLabel = 'controller-revision-hash'

/**
 * A StatefulSet: https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/
 *
 * Ready as `kubectl rollout status` has it: the present generation observed, all replicas ready, and as many updated as
 * the partition lets through; beyond it, the pods of the new revision available and settled. With OnDelete nothing is
 * rolled out: all existing pods must be ready, and old ones are told.
 *
 * The status counts all pods that exist (updateStatus, pkg/controller/statefulset): also those that terminate, those below
 * the partition, and those outside the ordinals, which the controller removes. Where the pods may be read, they are left out.
 */
export const statefulSetRule: Rule = {
  milestones: milestonesOf({ apiVersion: 'apps/v1', kind: 'StatefulSet' }),
  relatives: (object) => [
    podRequest(object as StatefulSet),
    selectedRequest('apps/v1', 'ControllerRevision', object as StatefulSet),
  ],
  assess: (object, context) => assessStatefulSet(object as StatefulSet, context),
}

function assessStatefulSet(set: StatefulSet, context: RuleContext): Assessment {
  const { spec = {}, status = {} } = set
  const replicas = spec.replicas ?? 1
  const isOnDelete = spec.updateStrategy?.type === 'OnDelete'
  const observed = isObserved(set)
  const owned = context.owned(set.metadata.uid, 'Pod') as readonly Pod[]
  const wanted = owned.filter((pod) => isWithinOrdinals(pod, set))
  const present = presentRevision(set, context)
  const revision = status.updateRevision ?? present?.metadata.name
  const counted = updatedReplicas(set, revision, owned, context)
  const isNew = (pod: Pod) =>
    revision === undefined ? counted >= owned.length : pod.metadata.labels?.[hashLabel] === revision
  const gated = observed ? wanted.filter((pod) => isOnDelete || isNew(pod)) : []
  const lost = observed ? context.lostPods(set.metadata.uid).filter(isNew) : []
  const seesPods = context.listState(podRequest(set)) === 'complete'
  const state = seesPods ? examinePods(gated, context, lost) : undefined
  const toUpdate = isOnDelete ? 0 : replicasToUpdate(set, seesPods)
  const isNewCounted = (pod: Pod) => pod.metadata.deletionTimestamp === undefined && isNew(pod)
  const newBelow = wanted.filter((pod) => isNewCounted(pod) && isBelowPartition(pod, set)).length
  const newOutside = owned.filter((pod) => isNewCounted(pod) && !wanted.includes(pod)).length
  const updated = Math.max(0, counted - newBelow - newOutside)

  const isReady = observed && (status.readyReplicas ?? 0) >= replicas && (status.replicas ?? 0) <= replicas
  const isUpdated = observed && (isOnDelete || updated >= toUpdate)
  const isAvailable = (spec.minReadySeconds ?? 0) === 0 || (status.availableReplicas ?? 0) >= replicas
  const settled: Settled =
    state === undefined
      ? settledUnseen(context)
      : settledByPods(state, isOnDelete ? replicas : toUpdate + newBelow, context, owned.length - wanted.length)
  const old = wanted.filter((pod) => !isReplaced(pod) && !isNew(pod))
  // Only pods of the new revision fail it (DESIGN §2); with OnDelete the old ones stay, and are among those that count.
  const current = isOnDelete && seesPods && observed ? examinePods(wanted.filter(isNew), context, lost) : state
  const ready = isReady && isUpdated && isAvailable && settled.done
  const stuck = stuckPods(owned, context)
  const problems = [
    ...(current?.problems ?? []),
    ...(ready ? [] : stuck.problems),
    ...(isUpdated && !isOnDelete ? [] : blockingProblems(old, isOnDelete, context)),
    ...creationProblem(
      set,
      context,
      observed && (status.replicas ?? 0) < replicas,
      templateMadeAt(set, present, context),
    ),
  ].toSorted(byImportance)
  const failure =
    failureOf(set, current) ?? problems.find((problem) => problem.proven && !problem.subject.startsWith('pod/'))
  const hold = stallHold(state, owned, spec.minReadySeconds, context)
  const total = isOnDelete ? replicas : toUpdate
  const settledCount =
    state === undefined ? (observed ? (status.readyReplicas ?? 0) : 0) : state.pods.filter((pod) => pod.settled).length

  return conclude(set, context, {
    ready,
    readyMessage: `${status.readyReplicas ?? 0} of ${pods(replicas)} ready`,
    milestones: [
      createdMilestone,
      observedMilestone(set),
      // An ordered rollout makes its pods one after another: those that are there show how far each one comes.
      ...podMilestones(state, Math.min(total, Math.max(1, gated.length))),
      isReady && isUpdated && settled.done
        ? { ...countMilestone('ready', settledCount, total, 'ready'), state: 'done' }
        : settlingMilestone(countMilestone('ready', settledCount, total, 'ready'), state, total),
      {
        ...countMilestone('updated', updated, toUpdate, 'updated'),
        state: isUpdated ? 'done' : 'open',
      },
    ],
    problems,
    ...(failure === undefined ? {} : { failure }),
    ...hold,
    ...earliest([state?.recheckAt, settled.at, hold.recheckAt, stuck.recheckAt]),
    pods: new Set(gated.flatMap((pod) => pod.metadata.uid ?? [])),
    keptPods: new Set(old.flatMap((pod) => (isBelowPartition(pod, set) ? (pod.metadata.uid ?? []) : []))),
    notes: notesOf(set, old.length, isOnDelete),
  })
}

/** The ControllerRevision that the status names; where it names none, the one with the present template. */
function presentRevision({ metadata, spec, status }: StatefulSet, context: RuleContext): KubeObject | undefined {
  const revisions = context.owned(metadata.uid, 'ControllerRevision')
  return status?.updateRevision === undefined
    ? findRevision(spec?.template, revisions)
    : revisions.find(({ metadata: { name } }) => name === status.updateRevision)
}

/**
 * How many pods are of the present revision. Where the current revision is the updated one, `currentReplicas` counts the
 * same pods (pkg/controller/statefulset, `updateStatus`), and stands for it with controllers that leave the other out. A
 * status without revisions says so only of a template that was never changed.
 */
function updatedReplicas(
  { metadata, status = {} }: StatefulSet,
  revision: string | undefined,
  owned: readonly Pod[],
  context: RuleContext,
): number {
  const { updatedReplicas, currentReplicas = 0, currentRevision, updateRevision } = status
  const isUnchanged =
    updateRevision === undefined
      ? metadata.generation === 1 || context.owned(metadata.uid, 'ControllerRevision').length === 1
      : currentRevision === updateRevision
  if (isUnchanged) return Math.max(updatedReplicas ?? 0, currentReplicas)
  if (updatedReplicas !== undefined || revision === undefined || updateRevision !== undefined)
    return updatedReplicas ?? 0
  return owned.filter((pod) => !isReplaced(pod) && pod.metadata.labels?.[hashLabel] === revision).length
}

/**
 * How many replicas the update is to replace. Where the pods may not be read, the counts do not show which of the present
 * revision are below the partition: after an undo of a canary they all come to have it.
 */
function replicasToUpdate({ spec, status = {} }: StatefulSet, seesPods: boolean): number {
  const { currentRevision, updateRevision } = status
  const isForAll = !seesPods && updateRevision !== undefined && currentRevision === updateRevision
  const partition = isForAll ? 0 : (spec?.updateStrategy?.rollingUpdate?.partition ?? 0)
  return Math.max(0, (spec?.replicas ?? 1) - partition)
}

/** The place of a pod among the ordinals of its set, from 0; NaN where its name has none. */
function placeOf({ metadata }: Pod, { spec }: StatefulSet): number {
  return Number(/-(\d+)$/.exec(metadata.name)?.[1]) - (spec?.ordinals?.start ?? 0)
}

/** Whether the set wants a pod: the controller removes others (podInOrdinalRange, pkg/controller/statefulset). */
function isWithinOrdinals(pod: Pod, set: StatefulSet): boolean {
  const place = placeOf(pod, set)
  return Number.isNaN(place) || (place >= 0 && place < (set.spec?.replicas ?? 1))
}

/** The partition counts from the first ordinal of the set (pkg/controller/statefulset, `updateMin`). */
function isBelowPartition(pod: Pod, set: StatefulSet): boolean {
  return placeOf(pod, set) < (set.spec?.updateStrategy?.rollingUpdate?.partition ?? 0)
}

/** In an ordered rollout the next pod waits for the one before it, so the pod that has a problem decides alone. */
function failureOf(set: StatefulSet, state: PodsState | undefined): Problem | undefined {
  if (set.spec?.podManagementPolicy === 'Parallel') return state?.failure
  return state?.problems.find(({ proven }) => proven)
}

/**
 * Slow: the controller waits for every pod to be ready before it updates the next, so a broken pod of the old revision
 * holds the rollout up until somebody deletes it (https://github.com/kubernetes/kubernetes/issues/67250).
 */
function blockingProblems(old: readonly Pod[], isOnDelete: boolean, context: RuleContext): readonly Problem[] {
  return examinePods(old, context).problems.map((problem) => ({
    ...problem,
    proven: false,
    oldRevision: isOnDelete ? 'stays' : 'blocks-update',
  }))
}

function notesOf({ spec }: StatefulSet, old: number, isOnDelete: boolean): readonly string[] {
  if (old === 0) return []
  if (isOnDelete)
    return [`${pods(old)} of an older revision: updateStrategy OnDelete replaces a pod only when it is deleted`]
  return (spec?.updateStrategy?.rollingUpdate?.partition ?? 0) > 0
    ? [`${pods(old)} below the partition ${old === 1 ? 'stays' : 'stay'} on the older revision`]
    : []
}
