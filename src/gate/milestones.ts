import type { Assessment, Milestone } from '../lifecycle/assessment.ts'
import type { MilestoneRecord } from './timeline.ts'

/**
 * How far one target has come: its milestones are reached in their order. A reached one stays so while the target progresses
 * (a replaced pod does not unschedule the rollout), and is lost only when a ready target falls back.
 */
export interface MilestoneProgress {
  /** All milestones, in their order. */
  readonly names: readonly string[]
  /** When each was reached, as far as they are. */
  readonly reachedAt: readonly number[]
  /** As they were assessed last. */
  readonly present: readonly Milestone[]
  /** The highest count of each counter: only a higher one is progress. */
  readonly highest: ReadonlyMap<string, number>
  /** When counting began anew. */
  readonly restartedAt?: number
}

export function createMilestones(names: readonly string[]): MilestoneProgress {
  return { names, reachedAt: [], present: [], highest: new Map() }
}

/** The milestone that is waited for; undefined when all are reached. */
export function currentMilestone({ names, reachedAt }: MilestoneProgress): string | undefined {
  return names[reachedAt.length]
}

/** Since when the current milestone is waited for; undefined when that is the gate's start. */
export function waitingSince({ reachedAt, restartedAt }: MilestoneProgress): number | undefined {
  const last = reachedAt.at(-1)
  return restartedAt === undefined ? last : Math.max(restartedAt, last ?? 0)
}

/**
 * Takes the milestones of a new assessment.
 * @returns also the milestones done now, and whether anything moved: a milestone, or a counter beyond its highest count
 */
export function updateMilestones(
  before: MilestoneProgress,
  { milestones }: Assessment,
  at: number,
): { progress: MilestoneProgress; reached: readonly Milestone[]; moved: boolean } {
  const waiting = before.names.slice(before.reachedAt.length)
  const open = waiting.findIndex((name) => (findMilestone(milestones, name)?.state ?? 'open') === 'open')
  const passed = open < 0 ? waiting : waiting.slice(0, open)
  const higher = milestones.filter(({ name, count }) => (count?.done ?? 0) > (before.highest.get(name) ?? 0))
  return {
    progress: {
      ...before,
      reachedAt: [...before.reachedAt, ...passed.map(() => at)],
      present: milestones,
      highest:
        higher.length === 0
          ? before.highest
          : new Map([...before.highest, ...higher.map(({ name, count }) => [name, count?.done ?? 0] as const)]),
    },
    reached: passed.flatMap((name) => findMilestone(milestones, name) ?? []).filter(({ state }) => state === 'done'),
    moved: passed.length > 0 || higher.length > 0,
  }
}

/** What was counted so far counts anew, as for the pods of another revision. */
export function restartCounters(before: MilestoneProgress, now: number): MilestoneProgress {
  return { ...before, highest: new Map(), restartedAt: now }
}

/** The target is no longer ready: its milestones are lost from the first that is open. */
export function loseMilestones(before: MilestoneProgress, { milestones }: Assessment, now: number): MilestoneProgress {
  const open = before.names.findIndex((name) => findMilestone(milestones, name)?.state === 'open')
  const reachedAt = open < 0 ? before.reachedAt : before.reachedAt.slice(0, open)
  return { ...restartCounters(before, now), reachedAt }
}

/** The target is ready without an object: its last milestone is done, those before it are skipped. */
export function finishMilestones(before: MilestoneProgress, message: string, at: number): MilestoneProgress {
  const { names, reachedAt } = before
  const left = names.slice(reachedAt.length).map((name): Milestone => {
    return name === names.at(-1) ? { name, state: 'done', message } : { name, state: 'skipped', message: '' }
  })
  const others = before.present.filter(({ name }) => findMilestone(left, name) === undefined)
  return { ...before, reachedAt: [...reachedAt, ...left.map(() => at)], present: [...others, ...left] }
}

/** The milestones for the report; `end` is how the target has ended, if it has. */
export function milestoneRecords(
  { names, reachedAt, present }: MilestoneProgress,
  end: 'open' | 'failed' | 'ready',
): readonly MilestoneRecord[] {
  return names.map((name, index) => {
    const at = reachedAt[index]
    const { state, message } = findMilestone(present, name) ?? { message: '' }
    if (state === 'skipped') return { name, state, message }
    if (at !== undefined) return { name, state: 'done', at, message: state === 'open' ? '' : message }
    // A status that is enough for ready leaves no milestone to wait for.
    if (end === 'ready') return { name, state: 'skipped', message: '' }
    if (index > reachedAt.length) return { name, state: 'pending', message: '' }
    return { name, state: end === 'failed' ? 'failed' : 'current', message }
  })
}

function findMilestone(milestones: readonly Milestone[], name: string): Milestone | undefined {
  return milestones.findLast((milestone) => milestone.name === name)
}
