import type { RuleContext } from '../lifecycle/rule-context.ts'
import type { Track } from './track.ts'

/** What the targets of one gate mean for each other: one that is on its way is a reason to be patient with the others. */
export class Neighbours {
  /** Who progresses without a problem. */
  readonly #healthy = new Set<Track>()
  /** The targets that are ready, in the order in which they became so. */
  #ready: readonly Track[] = []
  #turns = 0

  /** How often a target became ready, fell back or ended: those that wait for it are to be scheduled anew. */
  get turns(): number {
    return this.#turns
  }

  /** Changes when stallHold does: only whether nobody, one target or several progress matters to all others. */
  get stallHold(): number {
    const [first] = this.#healthy
    return first === undefined ? -1 : this.#healthy.size > 1 ? Infinity : first.index
  }

  /** Takes that a target was judged anew. */
  assessed(track: Track): void {
    if (track.isHealthyProgress) this.#healthy.add(track)
    else this.#healthy.delete(track)
  }

  /** Takes that a target became ready, fell back or ended. */
  turned(track: Track): void {
    this.#turns++
    this.assessed(track)
    this.#ready = [...this.#ready.filter((other) => other !== track), ...(track.isReady ? [track] : [])]
  }

  /** What a rule may know of the others. */
  seenFrom(track: Track): Pick<RuleContext, 'othersProgress' | 'othersReadyAt'> {
    const readyAt = this.#ready.findLast((other) => other !== track)?.readyAt
    return {
      othersProgress: this.#healthy.size > (this.#healthy.has(track) ? 1 : 0),
      ...(readyAt === undefined ? {} : { othersReadyAt: readyAt }),
    }
  }
}
