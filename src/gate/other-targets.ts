import { isUndisturbed } from '../lifecycle/assessment.ts'
import type { RuleContext } from '../lifecycle/rule-context.ts'
import { type GatedTarget, isUndecided, type TargetState } from './target-state.ts'

/**
 * Which targets progress or are ready, by index. While one target progresses, the others have more time. When a target
 * becomes ready, containers that crashed before may have waited for it.
 */
export class OtherTargets {
  readonly #progressing = new Set<number>()
  readonly #readyAt = new Map<number, number>()
  /** The index and moment of each ready target, in the order in which they became ready. */
  #ready: readonly (readonly [index: number, at: number])[] = []

  update({ index, state }: GatedTarget): void {
    if (isProgressing(state)) this.#progressing.add(index)
    else this.#progressing.delete(index)
    if ((state.type === 'ready') === this.#readyAt.has(index)) return
    if (state.type === 'ready') this.#readyAt.set(index, state.at)
    else this.#readyAt.delete(index)
    this.#ready = [...this.#readyAt]
  }

  /**
   * A number that changes whenever `othersProgress` of a target may change: -1 if no target progresses, its index if
   * one does, Infinity if several do.
   */
  get progressKey(): number {
    const [first = -1] = this.#progressing
    return this.#progressing.size > 1 ? Infinity : first
  }

  /** The facts about other targets that the rule of this target may read. */
  othersOf(index: number): Pick<RuleContext, 'othersProgress' | 'othersReadyAt'> {
    const latest = this.#ready.findLast(([other]) => other !== index)
    return {
      othersProgress: this.#progressing.size > (this.#progressing.has(index) ? 1 : 0),
      othersReadyAt: latest?.[1],
    }
  }
}

/** Whether a target progresses without a problem. A target that awaits its change counts too. */
function isProgressing(state: TargetState): boolean {
  if (state.type === 'awaiting-change') return true
  return isUndecided(state) && state.assessment !== undefined && isUndisturbed(state.assessment)
}
