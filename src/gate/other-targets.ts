import type { RuleContext } from '../lifecycle/rule-context.ts'
import type { ReasonCode } from '../reasons/reasons.ts'
import { type GatedTarget, isOpen, type TargetState } from './target-state.ts'

/** Problems of a container that runs and may only be slow to become ready. */
const slowStart: ReadonlySet<ReasonCode> = new Set(['readiness-failing', 'readiness-gate-pending'])

/**
 * Which targets of a gate progress or are ready, by their places: while one progresses, others have more time, and a
 * container may have waited for one that became ready.
 */
export class OtherTargets {
  readonly #progressing = new Set<number>()
  readonly #readyAt = new Map<number, number>()
  /** The places and moments of the ready targets, in the order in which they became ready. */
  #ready: readonly (readonly [index: number, at: number])[] = []

  /** Takes the present state of a target. */
  update({ index, state }: GatedTarget): void {
    if (isProgressing(state)) this.#progressing.add(index)
    else this.#progressing.delete(index)
    if ((state.type === 'ready') === this.#readyAt.has(index)) return
    if (state.type === 'ready') this.#readyAt.set(index, state.at)
    else this.#readyAt.delete(index)
    this.#ready = [...this.#readyAt]
  }

  /** Changes when `othersProgress` of any target may: -1 when none progresses, its place when one does, else Infinity. */
  get progressing(): number {
    const [first = -1] = this.#progressing
    return this.#progressing.size > 1 ? Infinity : first
  }

  /** What the rule of a target may read of the others. */
  seenFrom(index: number): Pick<RuleContext, 'othersProgress' | 'othersReadyAt'> {
    const latest = this.#ready.findLast(([other]) => other !== index)
    return {
      othersProgress: this.#progressing.size > (this.#progressing.has(index) ? 1 : 0),
      othersReadyAt: latest?.[1],
    }
  }
}

/** Whether a target progresses without a problem; an awaited change may still be one that does. */
function isProgressing(state: TargetState): boolean {
  if (state.type === 'awaiting-change') return true
  return isOpen(state) && (state.assessment?.problems.every(({ reason }) => slowStart.has(reason)) ?? false)
}
