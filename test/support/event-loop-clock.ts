import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../src/cluster/clock.ts'

interface Timer {
  readonly at: number
  readonly callback: () => void
}

/**
 * A clock that advances by a fixed time for each turn of the event loop, however long the turn takes. A request between
 * client and server in one process needs a few turns on any machine, so hours take no time, and load delays nothing.
 */
export class EventLoopClock implements Clock {
  #now: number
  readonly #msPerTurn: number
  readonly #onAdvance: (now: number) => void
  readonly #timers = new Set<Timer>()

  /** @param onAdvance called with each new time */
  constructor(now: number, msPerTurn: number, onAdvance: (now: number) => void = () => {}) {
    this.#now = now
    this.#msPerTurn = msPerTurn
    this.#onAdvance = onAdvance
    onAdvance(now)
  }

  now(): number {
    return this.#now
  }

  /** Always 0.5. */
  random(): number {
    return 0.5
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.#now + delayMs, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Advances the time to `end` or until the condition holds. Returns whether the condition holds. */
  async advance(end: number, until: () => boolean = () => false, msPerTurn = this.#msPerTurn): Promise<boolean> {
    while (!until()) {
      if (this.#now >= end) return false
      this.#runTimers(Math.min(end, this.#now + msPerTurn))
      await nextTurn()
    }
    return true
  }

  #runTimers(to: number): void {
    for (;;) {
      const next = [...this.#timers].filter(({ at }) => at <= to).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      this.#timers.delete(next)
      this.#setTime(Math.max(this.#now, next.at))
      next.callback()
    }
    this.#setTime(to)
  }

  #setTime(now: number): void {
    if (now === this.#now) return
    this.#now = now
    this.#onAdvance(now)
  }
}
