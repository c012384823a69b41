import { setImmediate as nextTurn } from 'node:timers/promises'
import { ManualClock } from '../cluster-api/manual-clock.ts'

/**
 * A clock that advances by a fixed time for each turn of the event loop. A request between client and server in one process
 * needs a few turns on any machine, so simulated hours are fast and independent of the machine's load.
 */
export class EventLoopClock extends ManualClock {
  readonly #msPerTurn: number

  /** @param onAdvance called with each new time */
  constructor(now: number, msPerTurn: number, onAdvance: (now: number) => void = () => {}) {
    super(now, onAdvance)
    this.#msPerTurn = msPerTurn
    onAdvance(now)
  }

  /** Advances the time to `end` or until the condition holds. Returns whether the condition holds. */
  async runUntil(end: number, condition: () => boolean = () => false, msPerTurn = this.#msPerTurn): Promise<boolean> {
    while (!condition()) {
      if (this.now() >= end) return false
      this.advance(Math.min(end - this.now(), msPerTurn))
      await nextTurn()
    }
    return true
  }
}
