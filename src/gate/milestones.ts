import type { Assessment, Milestone } from '../lifecycle/assessment.ts'
import { timestampUnitMs } from '../lifecycle/proof.ts'

/** The progress of a target through its milestones. Milestones are lost only if a ready target is no longer ready. */
export interface MilestoneProgress {
  readonly names: readonly string[]
  /** The reached milestones, in the order of `names`. */
  readonly reached: readonly ReachedMilestone[]
  /** The milestones in the last assessment. */
  readonly present: readonly Milestone[]
  /** The highest count of each counter: only a higher count is progress. */
  readonly highest: ReadonlyMap<string, number>
  readonly restartedAt?: number
}

interface ReachedMilestone {
  readonly at: number
  /** When the milestone was reached, by a timestamp of an object. Only for reports: no clock depends on this moment. */
  readonly shownAt?: number | undefined
}

/** The milestone of the hold: a target reaches `held` if it stays ready until the hold ends. */
export const heldMilestone = 'held'

export function createMilestones(names: readonly string[]): MilestoneProgress {
  return { names, reached: [], present: [], highest: new Map() }
}

/** The first milestone that is not reached; undefined if all are reached. */
export function currentMilestone({ names, reached }: MilestoneProgress): string | undefined {
  return names[reached.length]
}

/** When the wait for the current milestone began. Undefined: at the gate's start. */
export function waitingSince({ reached, restartedAt }: MilestoneProgress): number | undefined {
  const last = reached.at(-1)?.at
  return restartedAt === undefined ? last : Math.max(restartedAt, last ?? 0)
}

/** The time of an assessment. Moments are milliseconds since the epoch. */
interface AssessmentTime {
  readonly now: number
  readonly startedAt: number
  /** The first assessment of an object from before the gate: milestones that are done were reached before the gate. */
  readonly isFirstSight: boolean
}

/**
 * Updates the progress with an assessment.
 * @returns the progress, the newly reached milestones, and whether a milestone or a counter has moved
 */
export function updateMilestones(
  before: MilestoneProgress,
  { milestones, counters = new Map() }: Assessment,
  when: AssessmentTime,
): { progress: MilestoneProgress; reached: readonly Milestone[]; moved: boolean } {
  const waiting = before.names.slice(before.reached.length)
  const open = waiting.findIndex((name) => (findMilestone(milestones, name)?.state ?? 'open') === 'open')
  const passed = open < 0 ? waiting : waiting.slice(0, open)
  const counts = [...milestones.map(({ name, count }) => [name, count?.done ?? 0] as const), ...counters]
  // If fewer pods are wanted than before, the earlier counts do not matter any more.
  const reference = wantedPods(milestones) < wantedPods(before.present) ? new Map(counts) : before.highest
  const higher = counts.filter(([name, count]) => count > (reference.get(name) ?? 0))
  const at = when.isFirstSight ? when.startedAt : when.now
  return {
    progress: {
      ...before,
      reached: [
        ...before.reached,
        ...passed.map((name) => ({ at, shownAt: limitShownMoment(findMilestone(milestones, name)?.at, when) })),
      ],
      present: milestones,
      highest: higher.length === 0 ? reference : new Map([...reference, ...higher]),
    },
    reached: passed.flatMap((name) => findMilestone(milestones, name) ?? []).filter(({ state }) => state === 'done'),
    moved: passed.length > 0 || higher.length > 0,
  }
}

/**
 * Corrects the moment at which a milestone was reached by a timestamp of an object: at most `now` and, if the gate saw
 * the milestone open, at least the gate's start. Undefined for a moment in the future, from a wrong clock.
 */
function limitShownMoment(
  at: number | undefined,
  { now, startedAt, isFirstSight }: AssessmentTime,
): number | undefined {
  if (at === undefined || at <= 0 || at >= now + timestampUnitMs) return undefined
  const isOfFirstSecond = at < startedAt && at > startedAt - timestampUnitMs
  return isOfFirstSecond && !isFirstSight ? startedAt : Math.min(at, now)
}

function wantedPods(milestones: readonly Milestone[]): number {
  return findMilestone(milestones, 'ready')?.count?.total ?? 0
}

/** Restarts all counters, for example for the pods of another revision. */
export function restartCounters(before: MilestoneProgress, now: number): MilestoneProgress {
  return { ...before, highest: new Map(), restartedAt: now }
}

/** The progress of a target that is no longer ready: its first open milestone and all later milestones are lost. */
export function loseMilestones(before: MilestoneProgress, { milestones }: Assessment, now: number): MilestoneProgress {
  const open = before.names.findIndex((name) => findMilestone(milestones, name)?.state === 'open')
  const reached = open < 0 ? before.reached : before.reached.slice(0, open)
  return { ...restartCounters(before, now), reached }
}

/** The progress of a target that is ready without an object: the last milestone is done, the others are skipped. */
export function finishMilestones(before: MilestoneProgress, message: string, at: number): MilestoneProgress {
  const { names, reached } = before
  const remaining = names.slice(reached.length).map((name): Milestone => {
    return name === names.at(-1) ? { name, state: 'done', message } : { name, state: 'skipped', message: '' }
  })
  const others = before.present.filter(({ name }) => findMilestone(remaining, name) === undefined)
  return { ...before, reached: [...reached, ...remaining.map(() => ({ at }))], present: [...others, ...remaining] }
}

export function findMilestone(milestones: readonly Milestone[], name: string): Milestone | undefined {
  return milestones.findLast((milestone) => milestone.name === name)
}
