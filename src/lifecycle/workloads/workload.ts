import type { KubeObject, LabelSelector, Pod } from '../../cluster/objects.ts'
import type { Problem } from '../../reasons/reasons.ts'
import type { Assessment, Milestone } from '../assessment.ts'
import { podRequest } from '../network/selector.ts'
import { earliest } from '../proof.ts'
import { conclude, createdMilestone, observedMilestone } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'
import { condition } from './pod-object.ts'
import {
  byImportance,
  examinePods,
  type PodsState,
  type Settled,
  type StuckPods,
  settledByPods,
  settledUnseen,
  stuckPods,
} from './pods.ts'

/** The milestones of workloads with pods; some have more. */
export const workloadMilestones = ['created', 'observed', 'scheduled', 'pulled', 'started', 'ready'] as const

/** A Deployment, ReplicaSet, ReplicationController, StatefulSet or DaemonSet. */
type Workload = KubeObject & { spec?: { selector?: LabelSelector; minReadySeconds?: number } }

/** The pods of a workload. */
export interface WorkloadPods {
  /** Of all revisions. */
  readonly owned: readonly Pod[]
  /** Of the gated revision; with OnDelete of all, since none is replaced. */
  readonly gated: readonly Pod[]
  /** Pods of the gated revision that ended in failure, whether they still exist or not. */
  readonly lost: readonly Pod[]
  /** Which of the gated pods may fail the workload; all where it is absent. Old pods never do (DESIGN §2). */
  readonly mayFail?: (pod: Pod) => boolean
  /** The controller waits for terminating pods before it creates others. */
  readonly waitsForTermination: boolean
  /** False where it is not known which pods are gated. */
  readonly areKnown?: boolean
}

/** The pods of a workload and their state. */
export interface ExaminedPods extends WorkloadPods {
  /** State of the gated pods; undefined where pods may not be read. */
  readonly state?: PodsState
  /** State of those gated pods that may fail the workload. */
  readonly failing?: PodsState
  readonly stuck: StuckPods
}

export function examineWorkloadPods(workload: Workload, pods: WorkloadPods, context: RuleContext): ExaminedPods {
  const { owned, gated, lost, mayFail, waitsForTermination, areKnown = true } = pods
  const isReadable = areKnown && context.listState(podRequest(workload)) === 'complete'
  const state = isReadable ? examinePods(gated, context, lost) : undefined
  const failing = state && mayFail ? examinePods(gated.filter(mayFail), context, lost) : state
  return { ...pods, state, failing, stuck: waitsForTermination ? stuckPods(owned, context) : { problems: [] } }
}

/** How many of the gated pods are ready and settled; `counted` where pods may not be read. */
export function settledPods({ state }: ExaminedPods, counted: number): number {
  return state === undefined ? counted : state.pods.filter((pod) => pod.settled).length
}

/**
 * Whether as many pods as wanted are ready and settled.
 * @param unwanted pods that the controller may count although it removes them
 * @param unchangedSince where pods may not be read: since when the workload reports its present state
 */
export function settledAs(
  { state }: ExaminedPods,
  wanted: number,
  context: RuleContext,
  { unwanted = 0, unchangedSince }: { readonly unwanted?: number; readonly unchangedSince?: number } = {},
): Settled {
  return state === undefined ? settledUnseen(context, unchangedSince) : settledByPods(state, wanted, context, unwanted)
}

/** What the rule of one kind adds: readiness, milestones, its own problems and notes. */
export interface WorkloadFindings extends Pick<Assessment, 'notes' | 'keptPods'> {
  readonly ready: boolean
  readonly readyMessage: string
  readonly settled: Settled
  /** Milestones between `observed` and `scheduled`. */
  readonly revision?: Milestone
  /** How many gated pods should exist by now. */
  readonly created: number
  /** Milestones from `ready` on. */
  readonly milestones: readonly Milestone[]
  /** Problems of the workload itself. */
  readonly problems: readonly Problem[]
  /** Each pod waits for the one before, so a proven problem of one pod fails the workload although others are better. */
  readonly isOrdered?: boolean
  /** The problem that is the reason of a failure instead of the workload's own. */
  explain?(failure: Problem, problems: readonly Problem[]): Problem | undefined
}

/** Assesses a workload from its pods and from what the rule of its kind adds. The failure is that of a pod, else its own. */
export function assessWorkload(
  workload: Workload,
  pods: ExaminedPods,
  findings: WorkloadFindings,
  context: RuleContext,
): Assessment {
  const { state, failing, stuck } = pods
  const { ready, readyMessage, settled, created, revision, isOrdered, notes, keptPods } = findings
  const problems = [...(failing?.problems ?? []), ...(ready ? [] : stuck.problems), ...findings.problems].toSorted(
    byImportance,
  )
  const podFailure = isOrdered ? failing?.problems.find(({ proven }) => proven) : failing?.failure
  const own = problems.find(({ proven, subject }) => proven && !subject.startsWith('pod/'))
  const failure = podFailure ?? (own && (findings.explain?.(own, problems) ?? own))
  const hold = stallHold(state, pods.owned, workload.spec?.minReadySeconds, context)
  const rechecks = [state?.recheckAt, settled.at, hold.recheckAt, stuck.recheckAt]
  return conclude(workload, context, {
    ready,
    readyMessage,
    milestones: [
      createdMilestone,
      observedMilestone(workload),
      ...(revision === undefined ? [] : [revision]),
      ...podMilestones(state, created),
      ...findings.milestones,
    ],
    problems,
    failure,
    ...hold,
    recheckAt: earliest(rechecks.filter((at) => at !== undefined && at > context.now)),
    pods: new Set(pods.gated.flatMap(({ metadata: { uid } }) => uid ?? [])),
    keptPods,
    notes,
  })
}

/** `1 pod`, `3 pods`. */
export function podCount(count: number): string {
  return `${count} ${count === 1 ? 'pod' : 'pods'}`
}

/** Reports pods of an older revision, which the update strategy OnDelete leaves alone. */
export function onDeleteNote(old: number): string {
  return `${podCount(old)} of an older revision: updateStrategy OnDelete replaces a pod only when it is deleted`
}

/**
 * A milestone that counts pods.
 * @param isDone where the count alone does not decide
 */
export function countMilestone(
  name: string,
  done: number,
  total: number,
  doing: string,
  isDone = done >= total,
): Milestone {
  return {
    name,
    state: isDone ? 'done' : 'open',
    count: { done: Math.min(done, total), total },
    message: done >= total ? `${podCount(total)} ${doing}` : `${done} of ${podCount(total)} ${doing}`,
  }
}

/**
 * The milestone `ready`; its message differs while all pods are ready and only settle.
 * @param ready how many pods count
 * @param isDone where the count alone does not decide
 */
export function readyMilestone(
  { state }: ExaminedPods,
  ready: number,
  total: number,
  isDone?: boolean,
  doing = 'ready',
): Milestone {
  const milestone = countMilestone('ready', ready, total, doing, isDone)
  const readyPods = state?.pods.filter((pod) => pod.ready) ?? []
  const moments = readyPods.flatMap(({ settlesAt }) => settlesAt ?? [])
  if (milestone.state === 'done' || readyPods.length < total || moments.length === 0) return milestone
  return { ...milestone, message: `${podCount(total)} ready, settling`, settlesAt: Math.max(...moments) }
}

/** The milestones that pods pass on their way to be ready; skipped when pods cannot be seen. */
function podMilestones(state: PodsState | undefined, replicas: number): readonly Milestone[] {
  if (state === undefined)
    return ['scheduled', 'pulled', 'started'].map((name) => ({
      name,
      state: 'skipped',
      message: 'pods cannot be read',
    }))
  const count = (passed: (pod: PodsState['pods'][number]) => boolean) => state.pods.filter(passed).length
  const pulls = state.pods.flatMap(({ pullMs }) => pullMs ?? [])
  const slowest = pulls.length === 0 ? '' : ` (slowest pull ${(Math.max(...pulls) / 1000).toFixed(1)} s)`
  const scheduled = count((pod) => pod.scheduled)
  const pulled = count((pod) => pod.pulled)
  const started = count((pod) => pod.started)
  return [
    countMilestone('scheduled', scheduled, replicas, 'scheduled'),
    countMilestone('pulled', pulled, replicas, replicas === 1 ? 'has pulled its image' : 'have pulled their images'),
    countMilestone('started', started, replicas, `started${slowest}`),
  ]
}

/** Why the stall clock of a workload is stopped, and when that changes without an event. */
export interface StallHold {
  readonly stallHold?: string
  readonly recheckAt?: number
}

/**
 * Holds the stall clock while the pods of a workload state how long they may take: their images and probes, minReadySeconds,
 * and the grace periods of those that terminate (DESIGN §2, Clocks).
 * @param state the pods of the gated revision; undefined where they may not be read
 * @param owned all pods of the workload
 */
export function stallHold(
  state: PodsState | undefined,
  owned: readonly Pod[],
  minReadySeconds: number | undefined,
  context: RuleContext,
): StallHold {
  const minReady = minReadyUntil(minReadySeconds, state, context)
  const terminating = graceUntil(owned, context)
  const stallHold =
    state?.stallHold ??
    (minReady === undefined ? undefined : 'pods are ready and wait out minReadySeconds') ??
    (terminating === undefined ? undefined : 'a pod is within its grace period')
  return { stallHold, recheckAt: earliest([minReady, terminating]) }
}

/**
 * When the next of these pods is available, on the runner's clock: each has to stay ready for minReadySeconds. The counts of
 * a controller do not show it, since they contain the available pods of older revisions.
 */
export function minReadyUntil(
  minReadySeconds = 0,
  state: PodsState | undefined,
  context: Pick<RuleContext, 'now' | 'time'>,
): number | undefined {
  if (minReadySeconds === 0) return undefined
  const moments = (state?.pods ?? [])
    .filter(({ ready }) => ready)
    .map(({ pod }) => (context.time(condition(pod, 'Ready')?.lastTransitionTime) ?? 0) + minReadySeconds * 1_000)
    .filter((moment) => moment > context.now)
  return earliest(moments)
}

/** When the next grace period of a terminating pod ends, which `deletionTimestamp` contains. */
function graceUntil(pods: readonly Pod[], { now, time }: RuleContext): number | undefined {
  return earliest(
    pods.map(({ metadata }) => time(metadata.deletionTimestamp)).filter((at) => at !== undefined && at > now),
  )
}
