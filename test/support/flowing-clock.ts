import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../src/cluster/clock.ts'

interface Timer {
  readonly at: number
  readonly callback: () => void
}

/**
 * Time that flows with the turns of the event loop: so much of it for each turn, however long the turn takes. Client and
 * server in one process need a few turns for a request on any machine, so hours pass in no time, and no load makes
 * anything late.
 */
export class FlowingClock implements Clock {
  #now: number
  readonly #msPerTurn: number
  readonly #onFlow: (now: number) => void
  readonly #timers = new Set<Timer>()

  /** `onFlow` is told of every new now. */
  constructor(now: number, msPerTurn: number, onFlow: (now: number) => void = () => {}) {
    this.#now = now
    this.#msPerTurn = msPerTurn
    this.#onFlow = onFlow
    onFlow(now)
  }

  now(): number {
    return this.#now
  }

  /** Always the middle. */
  random(): number {
    return 0.5
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.#now + delayMs, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Lets time flow until it is `end`, or until the condition holds; says whether it does. */
  async flow(end: number, until: () => boolean = () => false, msPerTurn = this.#msPerTurn): Promise<boolean> {
    while (!until()) {
      if (this.#now >= end) return false
      this.#advance(Math.min(end, this.#now + msPerTurn))
      await nextTurn()
    }
    return true
  }

  #advance(to: number): void {
    for (;;) {
      const next = [...this.#timers].filter(({ at }) => at <= to).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      this.#timers.delete(next)
      this.#move(Math.max(this.#now, next.at))
      next.callback()
    }
    this.#move(to)
  }

  #move(now: number): void {
    if (now === this.#now) return
    this.#now = now
    this.#onFlow(now)
  }
}
