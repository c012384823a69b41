import { type Clock, sleep } from '../cluster/clock.ts'
import type { EndedTimeline, Timeline } from '../gate/timeline.ts'
import type { Extra } from './extra.ts'
import { type Failure, readFailure } from './failure.ts'

/** Updates come no closer than this. */
const closestMs = 15_000
/** Of a long rollout they come ever more rarely: the token's thousand requests an hour are for the whole repository. */
const shareOfElapsed = 0.1
/** An update that takes longer is given up; less than the time between two, so that they never overlap. */
const updateMs = 10_000
const firstRetryMs = 1_000

/** Shows one extra at the right moments: soon after something has changed, but not too often, and the end for certain. */
export class Pace {
  readonly #extra: Extra
  readonly #clock: Clock
  readonly #onFailure: (failure: Failure) => void
  readonly #ending = new AbortController()
  #earliest = Number.NEGATIVE_INFINITY
  #cancelTimer: (() => void) | undefined
  #underway: Promise<void> = Promise.resolve()
  #isForbidden = false

  /** @param onFailure hears once, at the most, that the extra could not be shown; a failure that was made good is none */
  constructor(extra: Extra, clock: Clock, onFailure: (failure: Failure) => void) {
    this.#extra = extra
    this.#clock = clock
    this.#onFailure = onFailure
  }

  /** Something has changed. `look` gives the state at the moment when it is shown. */
  update(look: () => Timeline): void {
    if (this.#isForbidden || this.#cancelTimer !== undefined) return
    this.#cancelTimer = this.#clock.after(Math.max(0, this.#earliest - this.#clock.now()), () => {
      this.#cancelTimer = undefined
      this.#underway = this.#showProgress(look)
    })
  }

  /**
   * Shows the end, and tries again where that may help. Never rejects.
   * @param endsAt when the signal will be aborted
   */
  async finish(timeline: EndedTimeline, signal: AbortSignal, endsAt: number): Promise<void> {
    this.#cancelTimer?.()
    // What is being made must be known before it can be finished.
    const giveUp = () => this.#ending.abort()
    signal.addEventListener('abort', giveUp)
    await this.#underway
    signal.removeEventListener('abort', giveUp)
    if (this.#isForbidden) return
    for (let delayMs = firstRetryMs; ; delayMs *= 2) {
      const failure = await this.#show(timeline, signal)
      if (failure === undefined) return
      const pauseMs = Math.max(delayMs, failure.retryAfterMs)
      if (failure.type !== 'passing' || signal.aborted || this.#clock.now() + pauseMs >= endsAt) {
        this.#onFailure(failure)
        return
      }
      await sleep(this.#clock, pauseMs, signal)
    }
  }

  async #showProgress(look: () => Timeline): Promise<void> {
    const startedAt = this.#clock.now()
    const timeline = look()
    // The end is shown by `finish`, with its evidence.
    if (timeline.verdict !== undefined) return
    const elapsedMs = startedAt - timeline.startedAt
    this.#earliest = startedAt + Math.max(closestMs, elapsedMs * shareOfElapsed)
    const late = new AbortController()
    const stop = this.#clock.after(updateMs, () => late.abort())
    const failure = await this.#show(timeline, AbortSignal.any([late.signal, this.#ending.signal]))
    stop()
    if (failure === undefined) return
    // The next update, or the end, makes up for this one.
    this.#earliest = Math.max(this.#earliest, this.#clock.now() + failure.retryAfterMs)
    if (failure.type !== 'forbidden') return
    this.#isForbidden = true
    this.#onFailure(failure)
  }

  /** Never rejects: the signal ends even what does not listen to it. */
  async #show(timeline: Timeline, signal: AbortSignal): Promise<Failure | undefined> {
    const { promise: aborted, reject } = Promise.withResolvers<never>()
    const abort = () => reject(new DOMException('aborted', 'AbortError'))
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    try {
      await Promise.race([this.#extra.show(timeline, signal), aborted])
      return undefined
    } catch (error) {
      return readFailure(error, this.#clock.now())
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }
}
