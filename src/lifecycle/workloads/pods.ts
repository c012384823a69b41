import type { Pod } from '../../cluster/objects.ts'
import { classOf, type Problem } from '../../reasons/reasons.ts'
import type { ProblemClass } from '../../reasons/spec.ts'
import { earliest } from '../proof.ts'
import type { RuleContext } from '../rule-context.ts'
import { lostPodNotes, lostPodProblems } from './lost-pods.ts'
import { isReplaced } from './pod-object.ts'
import { examinePod, type PodState } from './pod-state.ts'

/** How far the pods of one revision have come, and what is wrong with them. */
export interface PodsState {
  /** The pods that count: not on their way out, not lost. */
  readonly pods: readonly PodState[]
  /** How many others there are: the controllers' counts may still contain them. */
  readonly replaced: number
  /** The same problem of several pods is one, with `pods` telling of how many; the most deciding first. */
  readonly problems: readonly Problem[]
  /** The problem that fails the workload: proven, and no pod is better. */
  readonly failure?: Problem
  readonly stallHold?: string
  readonly recheckAt?: number
  /** Pods that were lost: evicted, preempted, failed. Their controller makes others, so they decide nothing. */
  readonly notes: readonly string[]
}

/**
 * Examines the pods of the revision that the user applied. A pod's problem fails its workload only when no pod of that
 * revision is better: ready and settled, or with all containers started and none dead (DESIGN §2). Pending pods are
 * neither better nor worse.
 * @param lost the pods of that revision that ended in failure, whether they still exist or not
 */
export function examinePods(all: readonly Pod[], context: RuleContext, lost: readonly Pod[] = []): PodsState {
  const pods = all.filter((pod) => !isReplaced(pod)).map((pod) => examinePod(pod, context))
  const problems = [...foldProblems(pods), ...lostPodProblems(lost, context)].toSorted(byImportance)
  const isAnyBetter = pods.some(({ better }) => better)
  const failure = isAnyBetter ? undefined : problems.find(({ proven }) => proven)
  const stallHold = pods.find((pod) => pod.stallHold !== undefined)?.stallHold
  return {
    pods,
    replaced: all.length - pods.length,
    problems,
    ...(failure === undefined ? {} : { failure }),
    ...(stallHold === undefined ? {} : { stallHold }),
    recheckAt: earliest(pods.map(({ recheckAt }) => recheckAt)),
    notes: lostPodNotes(all),
  }
}

/** The notes on lost pods; while the workload is not ready, its problems say the same of those lost since the gate began. */
export function notesOf(state: PodsState | undefined, isReady: boolean): readonly string[] {
  const isProblem = state?.problems.some(({ isReplaced }) => isReplaced) ?? false
  return isProblem && !isReady ? [] : (state?.notes ?? [])
}

export interface Settled {
  readonly done: boolean
  /** When it will be, if nothing changes. */
  readonly at?: number
}

/**
 * Whether all pods of the revision, and as many as wanted, are ready and have run for the settle time. The watch of the
 * pods may lag behind what their controller counts: those that it counts and nobody sees have the settle time to appear.
 * The controllers of StatefulSets and DaemonSets count pods that terminate, too: those are no reason to believe a count.
 * @param others pods that the controller may count and that are not wanted, besides those that are replaced
 */
export function settledByPods(state: PodsState, replicas: number, context: RuleContext, others = 0): Settled {
  if (!state.pods.every((pod) => pod.settled))
    return { done: false, ...(state.recheckAt === undefined ? {} : { at: state.recheckAt }) }
  if (state.pods.length >= replicas) return { done: true }
  return state.pods.length + state.replaced + others >= replicas ? { done: false } : settledUnseen(context)
}

/**
 * Whether a workload whose pods cannot be seen has stood for the settle time: since its numbers moved last, and where they
 * have not moved since first sight, since the moment that it says itself.
 */
export function settledUnseen(context: RuleContext, changedAt = context.history.firstSeenAt): Settled {
  const { firstSeenAt, countersMovedAt } = context.history
  const since = countersMovedAt > firstSeenAt ? countersMovedAt : Math.min(changedAt, firstSeenAt)
  const at = since + context.settings.settleMs
  return context.now >= at ? { done: true } : { done: false, at }
}

const classes: readonly ProblemClass[] = ['terminal', 'strike', 'slow']

/** DESIGN §4: terminal before strike before slow, then the deepest in the chain pod → container, then that of most pods. */
export function byImportance(a: Problem, b: Problem): number {
  return (
    classes.indexOf(classOf(a)) - classes.indexOf(classOf(b)) ||
    Number(b.proven) - Number(a.proven) ||
    // What is wrong with the pods that exist says more.
    Number(a.isReplaced ?? false) - Number(b.isReplaced ?? false) ||
    depth(b) - depth(a) ||
    (b.pods ?? 1) - (a.pods ?? 1) ||
    a.firstSeenAt - b.firstSeenAt
  )
}

function depth(problem: Problem): number {
  if (problem.container !== undefined) return 2
  return problem.subject.startsWith('pod/') ? 1 : 0
}

function foldProblems(pods: readonly PodState[]): readonly Problem[] {
  const groups = Map.groupBy(
    pods.flatMap((pod) => pod.problems),
    ({ reason, container }) => `${reason} ${container ?? ''}`,
  )
  const folded = [...groups.values()].map((same) => {
    // The pod that is furthest along speaks for the others.
    const [worst] = [...same].sort((a, b) => Number(b.proven) - Number(a.proven) || b.count - a.count)
    return { ...(worst as Problem), pods: same.length, firstSeenAt: Math.min(...same.map((each) => each.firstSeenAt)) }
  })
  return folded
}
