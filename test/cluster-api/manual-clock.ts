import { isDeepStrictEqual } from 'node:util'
import { jest } from '@jest/globals'
import type { Clock } from '../../src/cluster/clock.ts'

// A test on such a clock that takes longer waits for what never comes.
jest.setTimeout(20_000)

interface Timer {
  readonly at: number
  readonly callback: () => void
}

/** A clock that only moves by `advance`, and whose random number is always 0.5. */
export class ManualClock implements Clock {
  #now: number
  readonly #onAdvance: (now: number) => void
  #timers = new Set<Timer>()
  #waiting = new Set<() => void>()

  /** @param onAdvance called with each new time, before the timers of that time */
  constructor(now = Date.now(), onAdvance: (now: number) => void = () => {}) {
    this.#now = now
    this.#onAdvance = onAdvance
  }

  now(): number {
    return this.#now
  }

  random(): number {
    return 0.5
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.#now + delayMs, callback }
    this.#timers.add(timer)
    this.#look()
    return () => {
      this.#timers.delete(timer)
      this.#look()
    }
  }

  /** The delays of all timers, in milliseconds from now. */
  get pending(): number[] {
    return [...this.#timers].map(({ at }) => at - this.#now).sort((a, b) => a - b)
  }

  /** Resolves once the pending timers have exactly these delays. */
  untilPending(...delaysMs: number[]): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!isDeepStrictEqual(this.pending, delaysMs)) return
        this.#waiting.delete(look)
        resolve()
      }
      this.#waiting.add(look)
      look()
    })
  }

  /** Advances the time without running timers, as when the process was suspended. */
  skip(ms: number): void {
    this.#setTime(this.#now + ms)
  }

  /** Advances the time and runs the due timers in their order. */
  advance(ms: number): void {
    const end = this.#now + ms
    for (;;) {
      const [next] = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
      if (!next) break
      this.#timers.delete(next)
      this.#setTime(Math.max(this.#now, next.at))
      next.callback()
    }
    this.#setTime(end)
  }

  #setTime(now: number): void {
    if (now === this.#now) return
    this.#now = now
    this.#onAdvance(now)
  }

  #look(): void {
    for (const look of this.#waiting) look()
  }
}
