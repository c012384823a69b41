import { maxFirstListDelayMs } from '../thresholds.ts'
import { type Clock, sleep } from './clock.ts'

/**
 * Delays first watches until no first list is pending. A finished rollout is judged by its lists alone; then it opens no
 * watch, and each watch needs a connection of its own. A late watch loses no event, since it begins at the version of its
 * list.
 */
export class FirstLists {
  readonly #clock: Clock
  #pending = 0
  /** Aborted when no first list is pending; undefined from then on. */
  #ended: AbortController | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts a list. The returned function ends it: after the first attempt, successful or not. */
  begin(): () => void {
    this.#ended ??= new AbortController()
    this.#pending += 1
    let isPending = true
    return () => {
      if (!isPending) return
      isPending = false
      this.#pending -= 1
      // Later, because the result of a list may begin further lists, or end the gate.
      if (this.#pending === 0) setImmediate(() => this.#end())
    }
  }

  #end(): void {
    if (this.#pending > 0) return
    this.#ended?.abort()
    this.#ended = undefined
  }

  /** Resolves when no first list is pending, at the latest after `maxFirstListDelayMs` or when the signal is aborted. */
  async untilEnded(signal: AbortSignal): Promise<void> {
    if (this.#ended === undefined) return
    await sleep(this.#clock, maxFirstListDelayMs, AbortSignal.any([signal, this.#ended.signal]))
  }
}
