import { isPodSubject, type KubeObject, type Pod, type Workload } from '../../cluster/objects.ts'
import { classOf, type Problem, traitsOf } from '../../reasons/reasons.ts'
import { leaderChangeMs } from '../../thresholds.ts'
import type { Milestone } from '../assessment.ts'
import { awaitedPods, type Pods } from '../pods.ts'
import { isInFuture, latestMoment, toExplanation } from '../proof.ts'
import type { Reader, RuleReader } from '../reader.ts'
import type { Judgement, Rule, ServedPort, Serving } from '../rule.ts'
import { podRequest } from '../selector.ts'
import { isObserved, observedMilestone } from '../stale-status.ts'
import { portsOf } from './pod-fields.ts'
import { templateBecamePresentAt } from './revision.ts'
import {
  classifyPods,
  compareByImportance,
  countMilestone,
  examinePods,
  failedPodNotes,
  type PodsState,
  podCountText,
  podMilestones,
  stuckPodProblems,
  withMomentReached,
} from './revision-pods.ts'
import { undoRule, watchReleaseHooks } from './undo.ts'

/* The rule that all kinds of workloads share, with the facts that each kind provides. */

/** The milestones that all workloads with pods have; some kinds have more. */
export const workloadMilestones = ['created', 'observed', 'scheduled', 'pulled', 'started', 'ready'] as const

/** What differs between the kinds of workloads. */
interface WorkloadKind<Gated extends Workload> {
  readonly milestones: Rule['milestones']
  /** The revision of the present template, if the controller has created it. Absent for kinds without revisions. */
  presentRevision?(workload: Gated, reader: Reader): KubeObject | undefined
  /** When a rollback restored an older revision; by default, at the last write of the spec. */
  restoredAt?(workload: Gated, present: KubeObject | undefined, reader: Reader): number | undefined
  /** Returns the facts, and states the milestones, notes and warnings that only this kind has. */
  facts(workload: Gated, reader: RuleReader): WorkloadFacts
}

/** The facts by which one rule judges all kinds of workloads. */
export interface WorkloadFacts {
  readonly examined: ExaminedPods
  /** By its counts, the rollout is complete. Its pods may still have to settle. */
  readonly isComplete: boolean
  /** How many new pods have to be ready. */
  readonly wanted: number
  /** How many new pods are ready by the counts of the controller. They decide if pods cannot be read. */
  readonly counted: number
  /** How many new pods should exist now. */
  readonly created: number
  readonly message: string
  /** How many pods have to settle; by default `wanted`. */
  readonly toSettle?: number
  /** See `haveSettled`. */
  readonly unwanted?: number
  readonly unchangedSince?: number | undefined
  readonly removedAt?: number | undefined
  /** The problems of the workload itself. */
  readonly problems: readonly Problem[]
  /** The template is already rolled out: only a scale creates new pods. */
  readonly isScale?: boolean
  /** Each pod waits for the previous one, so one proven problem fails the workload even if other pods are ready. */
  readonly isOrdered?: boolean
}

export function workloadRule<Gated extends Workload>(kind: WorkloadKind<Gated>): Rule<Gated> {
  const { milestones, presentRevision, restoredAt } = kind
  return {
    milestones,
    serving: workloadServing,
    changedAt: (workload, reader) => {
      const present = isObserved(workload) ? presentRevision?.(workload, reader) : undefined
      return templateBecamePresentAt(workload, present, reader, restoredAt?.(workload, present, reader))
    },
    ...(presentRevision && { undo: undoRule }),
    judge: (workload, reader) => {
      if (presentRevision !== undefined) watchReleaseHooks(workload, reader)
      return judgeWorkload(workload, kind.facts(workload, reader), reader)
    },
  }
}

/** Judges a workload by its facts. A failure of a pod has priority over a failure of the workload itself. */
function judgeWorkload(workload: Workload, facts: WorkloadFacts, reader: RuleReader): Judgement {
  const { examined, message, isOrdered } = facts
  const { pods, state, failing, excused, stuck } = examined
  const { toSettle = facts.wanted, unwanted = 0 } = facts
  const removed = pods.ended.length + pods.leaving.length
  const areSettled = haveSettled(examined, toSettle, reader, { ...facts, unwanted: unwanted + removed })
  const ready = facts.isComplete && areSettled
  const ofPods = [...(failing?.problems ?? []), ...(ready ? [] : stuck)]
  const problems = [...ofPods, ...facts.problems, ...excused].toSorted(compareByImportance)
  const podFailure = isOrdered ? failing?.problems.find(({ proven }) => proven) : failing?.failure
  const workloadFailure = problems.find(({ proven, subject }) => proven && !isPodSubject(subject))
  const explanation =
    workloadFailure && traitsOf(workloadFailure).yieldsTo === 'pods' ? problems.find(mayExplainFailure) : undefined
  const failure = podFailure ?? explanation ?? workloadFailure
  reader.milestone(observedMilestone(workload))
  for (const each of podMilestones(state, facts.created, reader)) reader.milestone(each)
  reader.milestone(readyMilestone(facts, ready, isObserved(workload)))
  for (const problem of problems) reader.problem(problem)
  for (const text of state === undefined ? [] : failedPodNotes(pods, state, ready)) reader.note(text)
  for (const text of onDeleteNotes(pods)) reader.note(text)
  reader.hold(scaleHold(facts))
  // The stall clock is stopped until the controller repeats what was refused.
  if (facts.problems.some((problem) => problem.isRetried)) reader.hold('its controller tries again later')
  reader.hold(stallHoldOfPods(state, awaitedTerminations(examined), reader))
  return { ready, message, failure: failure ?? 'none', counters: state?.counters, pods }
}

/** Whether a problem of a pod may explain the failure of its workload, and replace it as the reason. */
function mayExplainFailure(problem: Problem): boolean {
  return classOf(problem) !== 'slow' && isPodSubject(problem.subject)
}

/** How the controller of a workload treats its pods. */
interface PodTraits {
  /** The revision of a pod; undefined if the target does not wait for the pod. */
  revisionOf(pod: Pod): 'new' | 'old' | 'kept' | undefined
  /** The failed new pods, including deleted ones. */
  readonly failedPods: readonly Pod[]
  /** Whether a new pod can fail the workload; without this method, every new pod can. Older pods never can. */
  mayFail?(pod: Pod): boolean
  /** OnDelete: the controller replaces a pod only when somebody deletes it. */
  readonly replacesOnDelete?: boolean
  /** The controller waits for terminating pods before it creates others. */
  readonly waitsForTermination?: boolean
  /** False if it is not known which pods are new. */
  readonly areKnown?: boolean
}

export interface ExaminedPods {
  readonly pods: Pods
  readonly waitsForTermination: boolean
  /** The state of the awaited pods; undefined if pods cannot be read. */
  readonly state?: PodsState
  /** The state of the new pods that may fail the workload. */
  readonly failing?: PodsState
  /** The problems of the new pods that cannot fail the workload. They may delay the update (maxUnavailable). */
  readonly excused: readonly Problem[]
  /** The problems of pods that still exist after their grace period. */
  readonly stuck: readonly Problem[]
}

/** Classifies and examines the pods of a workload. `owned`: all its pods. */
export function examineWorkloadPods(
  workload: Workload,
  owned: readonly Pod[],
  traits: PodTraits,
  reader: Reader,
): ExaminedPods {
  const { revisionOf, failedPods, mayFail, replacesOnDelete, waitsForTermination = false, areKnown = true } = traits
  const pods = classifyPods(owned, revisionOf, replacesOnDelete && isObserved(workload))
  const isReadable = areKnown && reader.listState(podRequest(workload)) === 'complete'
  const state = isReadable ? examinePods(awaitedPods(pods), reader, failedPods) : undefined
  const failing = mayFail === undefined ? pods.new : pods.new.filter(mayFail)
  const excused = state === undefined ? [] : pods.new.filter((pod) => mayFail?.(pod) === false)
  const areAll = failing.length === awaitedPods(pods).length
  return {
    pods,
    waitsForTermination,
    state,
    failing: areAll || state === undefined ? state : examinePods(failing, reader, failedPods),
    excused: excused.length === 0 ? [] : examinePods(excused, reader).problems.map(toExplanation),
    stuck: waitsForTermination ? stuckPodProblems(terminatingPods(pods), reader) : [],
  }
}

/** All pods that are being deleted. */
function terminatingPods({ leaving, draining }: Pods): readonly Pod[] {
  return [...leaving, ...draining]
}

/**
 * Whether the wanted pods are ready and settled. The watch of pods may be behind the controller's counts. So if pods
 * are missing or cannot be read, the gate waits until nothing has changed for the settle time. After the removal of a
 * pod, the counts may still include the pod.
 * @param unwanted the number of pods that are removed but may be counted: StatefulSets and DaemonSets count terminating
 * pods
 * @param unchangedSince if pods cannot be read: since when the workload reports its present state
 * @param removedAt when the last removal of a new pod began
 */
export function haveSettled(
  { state }: Pick<ExaminedPods, 'state'>,
  wanted: number,
  reader: Reader,
  facts: Pick<WorkloadFacts, 'unwanted' | 'unchangedSince' | 'removedAt'> = {},
): boolean {
  const { unwanted = 0, unchangedSince, removedAt = -Infinity } = facts
  if (state !== undefined) {
    const { pods, settled } = state
    if (settled.length < pods.length) return false
    if (pods.length >= wanted) return true
    if (pods.length + unwanted >= wanted) return false
  }
  const { firstSeenAt, countersMovedAt } = reader.history
  const changedAt = Math.min(unchangedSince ?? firstSeenAt, firstSeenAt)
  const unchangedAt = (countersMovedAt > firstSeenAt ? countersMovedAt : changedAt) + reader.settings.settleTimeMs
  return reader.passed(removedAt >= countersMovedAt ? Math.max(unchangedAt, removedAt + leaderChangeMs) : unchangedAt)
}

/** The note about pods of an older revision, which OnDelete does not replace. */
function onDeleteNotes({ old, kept, awaitsKept }: Pods): readonly string[] {
  const older = old.length + kept.length
  if (!awaitsKept || older === 0) return []
  return [`${podCountText(older)} of an older revision: updateStrategy OnDelete replaces a pod only when it is deleted`]
}

/** How many pods of a workload have the present revision. */
interface UpdatedPods {
  readonly done: number
  readonly total: number
  readonly isDone: boolean
  /** The number of old pods to replace that the counts omit. */
  readonly leftOver?: number
}

/** The milestone `updated`. With OnDelete, it is done at once, because the controller replaces no pod by itself. */
export function updatedMilestone({ awaitsKept }: Pods, { done, total, isDone, leftOver = 0 }: UpdatedPods): Milestone {
  if (awaitsKept) return { name: 'updated', state: 'done', message: `${done} of ${podCountText(total)} updated` }
  const milestone = countMilestone('updated', done, total, 'updated', isDone && leftOver === 0)
  return isDone && leftOver > 0
    ? { ...milestone, message: `${podCountText(leftOver)} of an older revision still running` }
    : milestone
}

/**
 * The milestone `ready`, with another message while ready pods settle.
 * @param isReady whether the workload is ready
 * @param doesCountDecide whether the milestone is done as soon as enough pods are ready
 */
function readyMilestone(
  { examined: { state }, counted, wanted }: WorkloadFacts,
  isReady: boolean,
  doesCountDecide: boolean,
): Milestone {
  const ready = state === undefined ? counted : state.settled.length
  const isDone = isReady || (doesCountDecide && ready >= wanted)
  const milestone = withMomentReached(
    state?.settled ?? [],
    'settled',
    countMilestone('ready', ready, wanted, 'ready', isDone),
  )
  if (milestone.state === 'done') return milestone
  const readyPods = state?.pods.filter((pod) => pod.ready) ?? []
  // The pod that became ready last settles last.
  const settlesAt = readyPods.length > ready ? latestMoment(readyPods.map(({ moments }) => moments.settled)) : undefined
  if (readyPods.length < wanted || settlesAt === undefined) return milestone
  return { ...milestone, message: `${podCountText(wanted)} ready, settling`, settlesAt }
}

/**
 * The terminating pods that must end before the workload can continue. The controller always replaces terminating pods
 * of the new revision. Older pods count if a new pod is created, or gets a node or volume, only after their end.
 */
function awaitedTerminations({ state, pods, waitsForTermination }: ExaminedPods): readonly Pod[] {
  const hasNoRoom = state?.problems.map(traitsOf).some(({ awaits }) => awaits === 'node' || awaits === 'volume')
  return waitsForTermination || hasNoRoom ? terminatingPods(pods) : pods.leaving
}

/** Why the stall clock is stopped: no node has room for the pods that a scale adds. */
function scaleHold({ examined: { state }, isScale }: WorkloadFacts): string | undefined {
  const hasNoRoom = state?.problems.some((problem) => traitsOf(problem).awaits === 'node')
  return isScale && hasNoRoom ? 'its rollout is complete, and the pods of a scale wait for room' : undefined
}

/**
 * Why the stall clock is stopped: a pod waits for an image pull, for its probes or for minReadySeconds, or a
 * terminating pod is in its grace period.
 * @param state the pods of the gated revision; undefined if they cannot be read
 * @param ending the pods whose end the workload waits for
 */
export function stallHoldOfPods(
  state: PodsState | undefined,
  ending: readonly Pod[],
  reader: Reader,
): string | undefined {
  if (state?.stallHold !== undefined) return state.stallHold
  // The counts of a controller do not show this wait, because they include older pods.
  const isAnyUnavailable = state?.pods.some(
    ({ ready, moments, minReadyMs }) => ready && isInFuture((moments.ready ?? 0) + minReadyMs, reader),
  )
  if (isAnyUnavailable) return 'pods are ready and wait out minReadySeconds'
  // The `deletionTimestamp` is the end of the grace period.
  return ending.some(({ metadata }) => isInFuture(reader.time(metadata.deletionTimestamp), reader))
    ? 'a pod is within its grace period'
    : undefined
}

/** How requests reach the pods of a workload: at the ports of the pods. A DaemonSet is empty if no node wants a pod. */
export const workloadServing: Serving<Workload> = {
  ports: ({ spec }) => servedPorts({ spec: spec?.template?.spec }),
  pods: (object, assessed, reader) => {
    reader.watch(podRequest(object))
    return assessed.pods?.new ?? []
  },
  isEmpty: ({ spec, status }) => spec?.replicas === 0 || status?.desiredNumberScheduled === 0,
}

/** How requests reach a bare pod. */
export const podServing: Serving<Pod> = {
  ports: servedPorts,
  pods: (pod) => [pod],
  isEmpty: () => false,
}

function servedPorts(pod: Pick<Pod, 'spec'>): readonly ServedPort[] {
  return portsOf(pod).flatMap(({ name, containerPort, protocol = 'TCP' }) =>
    protocol === 'TCP' ? [{ name, port: containerPort, target: containerPort }] : [],
  )
}
