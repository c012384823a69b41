import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../src/cluster/clock.ts'

interface Timer {
  readonly at: number
  readonly callback: () => void
}

/** A clock that only moves by `advance`, and whose random number is always 0.5. */
export class ManualClock implements Clock {
  #now: number
  #timers = new Set<Timer>()
  #waiting = new Set<() => void>()

  constructor(now = Date.now()) {
    this.#now = now
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

  /** What is still to come, in milliseconds from now. */
  get pending(): number[] {
    return [...this.#timers].map(({ at }) => at - this.#now).sort((a, b) => a - b)
  }

  /** Resolves once exactly these delays are being waited for, and nothing else. */
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

  /** Lets time pass without a timer that fires: the process stood still. */
  skip(ms: number): void {
    this.#now += ms
  }

  /** Lets time pass; what falls due is called in its order. */
  advance(ms: number): void {
    const end = this.#now + ms
    for (;;) {
      const [next] = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
      if (!next) break
      this.#timers.delete(next)
      this.#now = next.at
      next.callback()
    }
    this.#now = end
  }

  #look(): void {
    for (const look of this.#waiting) look()
  }
}
