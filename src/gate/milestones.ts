import type { Assessment, Milestone } from '../lifecycle/assessment.ts'
import type { MilestoneRecord } from './timeline.ts'

/**
 * The milestones of one target as they are lived through: reached in their order, each with its moment. One that was
 * reached stays so while its target is on its way (a pod that is replaced does not unschedule the rollout), and is lost
 * only when a target that was ready falls back.
 */
export class Milestones {
  readonly #names: readonly string[]
  readonly #reachedAt: number[] = []
  #present: ReadonlyMap<string, Milestone> = new Map()
  /** The most that each counter showed: only beyond it is progress. */
  readonly #most = new Map<string, number>()
  #restartedAt: number | undefined

  constructor(names: readonly string[]) {
    this.#names = names
  }

  /** Name of the milestone that is being waited for; undefined when all are reached. */
  get current(): string | undefined {
    return this.#names[this.#reachedAt.length]
  }

  /** When the last milestone was reached; undefined when none was. */
  get lastReachedAt(): number | undefined {
    return this.#reachedAt.at(-1)
  }

  /** Since when the current milestone is waited for; undefined when that is the gate's start. */
  get waitingSince(): number | undefined {
    return this.#restartedAt === undefined ? this.lastReachedAt : Math.max(this.#restartedAt, this.lastReachedAt ?? 0)
  }

  /**
   * Takes a new assessment's milestones. Returns those newly reached, and whether anything moved: a milestone or a
   * counter beyond its highest mark.
   */
  update(assessment: Assessment, at: number): { reached: readonly Milestone[]; moved: boolean } {
    this.#present = new Map(assessment.milestones.map((milestone) => [milestone.name, milestone]))
    const reached: Milestone[] = []
    for (const name of this.#names.slice(this.#reachedAt.length)) {
      const milestone = this.#present.get(name)
      if (milestone === undefined || milestone.state === 'open') break
      this.#reachedAt.push(at)
      reached.push(milestone)
    }
    let moved = reached.length > 0
    for (const { name, count } of assessment.milestones) {
      if (count === undefined || count.done <= (this.#most.get(name) ?? 0)) continue
      this.#most.set(name, count.done)
      moved = true
    }
    return { reached: reached.filter(({ state }) => state === 'done'), moved }
  }

  /** What was counted so far is to be reached again: from now on, what is counted anew is progress. */
  restart(now: number): void {
    this.#most.clear()
    this.#restartedAt = now
  }

  /** A target that was ready is no longer: the milestones that it lost are to be reached again. */
  fallBack(assessment: Assessment, now: number): void {
    this.restart(now)
    const open = this.#names.findIndex(
      (name) => assessment.milestones.find((each) => each.name === name)?.state === 'open',
    )
    if (open >= 0) this.#reachedAt.splice(open)
  }

  /** What was waited for has come about, though there is no object to show it: what lies before it was left out. */
  finish(message: string, at: number): void {
    const last = this.#names.at(-1)
    const left = this.#names.slice(this.#reachedAt.length).map((name): Milestone => {
      return name === last ? { name, state: 'done', message } : { name, state: 'skipped', message: '' }
    })
    this.#present = new Map([...this.#present, ...left.map((each): [string, Milestone] => [each.name, each])])
    for (const _ of left) this.#reachedAt.push(at)
  }

  /** Another object took the name: everything begins anew. */
  reset(): void {
    this.#reachedAt.length = 0
    this.#present = new Map()
    this.#most.clear()
    this.#restartedAt = undefined
  }

  /** `over`: how the target stands or ended, which decides how the current milestone is shown. */
  records(over: 'open' | 'failed' | 'ready'): readonly MilestoneRecord[] {
    return this.#names.map((name, index) => {
      const at = this.#reachedAt[index]
      const present = this.#present.get(name)
      const message = present?.message ?? ''
      if (present?.state === 'skipped') return { name, state: 'skipped', message }
      if (at !== undefined) return { name, state: 'done', at, message: present?.state === 'open' ? '' : message }
      // The controller's word was enough: nothing is waited for any more.
      if (over === 'ready') return { name, state: 'skipped', message: '' }
      if (index > this.#reachedAt.length) return { name, state: 'pending', message: '' }
      return { name, state: over === 'failed' ? 'failed' : 'current', message }
    })
  }
}
