import { isPodSubject, type KubeObject, type Pod, type Workload } from '../../cluster/objects.ts'
import { classOf, type Problem, traitsOf } from '../../reasons/reasons.ts'
import { leaderChangeMs } from '../../thresholds.ts'
import type { Milestone } from '../assessment.ts'
import { awaitedPods, type Pods } from '../pods.ts'
import { isInFuture, latestMoment, toExplanation } from '../proof.ts'
import type { Reader, RuleReader } from '../reader.ts'
import type { Judgement, Rule, ServedPort, Serving } from '../rule.ts'
import { podRequest } from '../selector.ts'
import { isObserved, observedMilestone } from '../status-age.ts'
import { portsOf } from './pod-fields.ts'
import { templateBecamePresentAt } from './revision.ts'
import {
  byImportance,
  classifyPods,
  countMilestone,
  examinePods,
  lostPodNotes,
  type PodsState,
  podCountText,
  podMilestones,
  stuckPodProblems,
  withMomentReached,
} from './revision-pods.ts'
import { undoRule, watchReleaseHooks } from './undo.ts'

/** The milestones of workloads with pods; some workloads have more. */
export const workloadMilestones = ['created', 'observed', 'scheduled', 'pulled', 'started', 'ready'] as const

/** What differs between the kinds of workloads. */
interface WorkloadKind<Gated extends Workload> {
  readonly milestones: Rule['milestones']
  /** The revision of the present template, if the controller has created it; absent for kinds without revisions. */
  presentRevision?(workload: Gated, reader: Reader): KubeObject | undefined
  /** When a rollback made an older revision the present one again; by default, at the last write of the spec. */
  restoredAt?(workload: Gated, present: KubeObject | undefined, reader: Reader): number | undefined
  /** Also states what only this kind has: further milestones, notes and warnings. */
  facts(workload: Gated, reader: RuleReader): WorkloadFacts
}

/** What the controller of a workload reports, and its pods: from these facts, one rule judges all kinds. */
export interface WorkloadFacts {
  readonly examined: ExaminedPods
  /** The counts show that the rollout is complete: only the settle time of its pods is open. */
  readonly isComplete: boolean
  /** How many gated pods have to be ready. */
  readonly wanted: number
  /** How many gated pods are ready by the counts of the controller: they decide if pods cannot be read. */
  readonly counted: number
  /** How many pods of the gated revision should exist now. */
  readonly created: number
  readonly message: string
  /** How many pods have to settle, if not all that have to be ready. */
  readonly toSettle?: number
  /** See `haveSettled`. */
  readonly unwanted?: number
  readonly unchangedSince?: number | undefined
  readonly removedAt?: number | undefined
  /** The problems of the workload itself. */
  readonly problems: readonly Problem[]
  /** The template is already rolled out: only a scale creates new pods. */
  readonly isScale?: boolean
  /** Each pod waits for the one before, so a proven problem of one pod fails the workload even if others are ready. */
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

/** Judges a workload by its facts. A failure of a pod has priority over one of the workload itself. */
function judgeWorkload(workload: Workload, facts: WorkloadFacts, reader: RuleReader): Judgement {
  const { examined, message, isOrdered } = facts
  const { pods, state, failing, excused, stuck } = examined
  const { toSettle = facts.wanted, unwanted = 0 } = facts
  const removed = pods.ended.length + pods.leaving.length
  const areSettled = haveSettled(examined, toSettle, reader, { ...facts, unwanted: unwanted + removed })
  const ready = facts.isComplete && areSettled
  const ofPods = [...(failing?.problems ?? []), ...(ready ? [] : stuck)]
  const problems = [...ofPods, ...facts.problems, ...excused].toSorted(byImportance)
  const podFailure = isOrdered ? failing?.problems.find(({ proven }) => proven) : failing?.failure
  const own = problems.find(({ proven, subject }) => proven && !isPodSubject(subject))
  const explanation = own && traitsOf(own).yieldsTo === 'pods' ? problems.find(mayExplainFailure) : undefined
  const failure = podFailure ?? explanation ?? own
  reader.milestone(observedMilestone(workload))
  for (const each of podMilestones(state, facts.created, reader)) reader.milestone(each)
  reader.milestone(readyMilestone(facts, ready, isObserved(workload)))
  for (const problem of problems) reader.problem(problem)
  for (const text of state === undefined ? [] : lostPodNotes(pods, state, ready)) reader.note(text)
  for (const text of onDeleteNotes(pods)) reader.note(text)
  reader.hold(scaleHold(facts))
  // The stall clock stops until the controller tries again what was refused.
  if (facts.problems.some((problem) => problem.isRetried)) reader.hold('its controller tries again later')
  reader.hold(stallHoldOfPods(state, awaitedTerminations(examined), reader))
  return { ready, message, failure: failure ?? 'none', counters: state?.counters, pods }
}

/** Whether a problem of a pod explains why the workload itself failed, and replaces that failure as the reason. */
function mayExplainFailure(problem: Problem): boolean {
  return classOf(problem) !== 'slow' && isPodSubject(problem.subject)
}

/** What the controller of a workload does with its pods. */
interface PodTraits {
  /** The revision of a pod; undefined if the target does not wait for the pod. */
  revisionOf(pod: Pod): 'new' | 'old' | 'kept' | undefined
  /** The failed pods of the gated revision, deleted or not. */
  readonly gone: readonly Pod[]
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
  /** The state of the gated pods; undefined if pods cannot be read. */
  readonly state?: PodsState
  /** The state of the new pods that may fail the workload. */
  readonly failing?: PodsState
  /** The problems of the other new pods. Such a pod may keep others from being updated (maxUnavailable). */
  readonly excused: readonly Problem[]
  /** The problems of pods that still exist after their grace period. */
  readonly stuck: readonly Problem[]
}

/** Sorts and examines the pods of a workload. @param owned all its pods */
export function examineWorkloadPods(
  workload: Workload,
  owned: readonly Pod[],
  traits: PodTraits,
  reader: Reader,
): ExaminedPods {
  const { revisionOf, gone, mayFail, replacesOnDelete = false, waitsForTermination = false, areKnown = true } = traits
  const pods = classifyPods(owned, revisionOf, replacesOnDelete && isObserved(workload))
  const isReadable = areKnown && reader.listState(podRequest(workload)) === 'complete'
  const state = isReadable ? examinePods(awaitedPods(pods), reader, gone) : undefined
  const failing = mayFail === undefined ? pods.new : pods.new.filter(mayFail)
  const excused = state === undefined ? [] : pods.new.filter((pod) => mayFail?.(pod) === false)
  const areAll = failing.length === awaitedPods(pods).length
  return {
    pods,
    waitsForTermination,
    state,
    failing: areAll || state === undefined ? state : examinePods(failing, reader, gone),
    excused: excused.length === 0 ? [] : examinePods(excused, reader).problems.map(toExplanation),
    stuck: waitsForTermination ? stuckPodProblems(terminatingPods(pods), reader) : [],
  }
}

/** All pods that are being deleted. */
function terminatingPods({ leaving, draining }: Pods): readonly Pod[] {
  return [...leaving, ...draining]
}

/**
 * Whether the desired number of pods is ready and has run for the settle time. The pod watch may lag behind the counts of
 * the controller, so missing pods are awaited until the workload has been unchanged for the settle time, as are all pods if
 * they cannot be read. Counts from before the removal of a pod may still include it.
 * @param unwanted the number of pods that the controller may count although it removes them. The counts of StatefulSets and DaemonSets
 * include terminating pods, which never appear as new ones.
 * @param unchangedSince if pods cannot be read: since when the workload reports its present state
 * @param removedAt when the last removal of a gated pod began
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

/** The note on pods of an older revision, which OnDelete does not replace. */
function onDeleteNotes({ old, kept, awaitsKept }: Pods): readonly string[] {
  const older = old.length + kept.length
  if (!awaitsKept || older === 0) return []
  return [`${podCountText(older)} of an older revision: updateStrategy OnDelete replaces a pod only when it is deleted`]
}

/** How many pods of a workload are of the present revision. */
interface UpdatedPods {
  readonly done: number
  readonly total: number
  readonly isDone: boolean
  /** The number of awaited pods of older revisions that the counts omit. */
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
 * The milestone `ready`; its message differs while ready pods settle.
 * @param isReady the workload is ready
 * @param doesCountDecide the milestone is done as soon as enough pods are ready
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
  // The last one settles last.
  const settlesAt = readyPods.length > ready ? latestMoment(readyPods.map(({ moments }) => moments.settled)) : undefined
  if (readyPods.length < wanted || settlesAt === undefined) return milestone
  return { ...milestone, message: `${podCountText(wanted)} ready, settling`, settlesAt }
}

/**
 * The terminating pods that must end before the workload can continue: those of the gated revision, which the
 * controller replaces. Older ones too, if a new pod is created, or gets a node or volume, only after their end.
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
  // A controller's counts do not show this wait: they include older pods.
  const isAnyUnavailable = state?.pods.some(
    ({ ready, moments, minReadyMs }) => ready && isInFuture((moments.ready ?? 0) + minReadyMs, reader),
  )
  if (isAnyUnavailable) return 'pods are ready and wait out minReadySeconds'
  // The `deletionTimestamp` is the end of the grace period.
  return ending.some(({ metadata }) => isInFuture(reader.time(metadata.deletionTimestamp), reader))
    ? 'a pod is within its grace period'
    : undefined
}

/** How requests reach the pods of a workload: at the ports of the pods. A DaemonSet is empty if no node wants one. */
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
