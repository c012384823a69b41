import { type Clock, sleep, unlessAborted } from '../cluster/clock.ts'
import type { RunRecord } from '../gate/run-record.ts'
import {
  firstUpdateRetryMs,
  maxGithubRefusals,
  outcomeTimeoutMs,
  updateIntervalMs,
  updateTimeoutMs,
} from '../thresholds.ts'
import type { Extra } from './extra.ts'
import { type Failure, readFailure } from './failure.ts'

/** The interval grows to this share of the elapsed time: all jobs of a repository share 1,000 requests per hour. */
const intervalOfElapsed = 0.1

/** Limits how often an extra is updated. The outcome is always shown, with retries after temporary failures. */
export class UpdateThrottle {
  readonly #extra: Extra
  readonly #clock: Clock
  readonly #onFailure: (failure: Failure) => void
  readonly #ending = new AbortController()
  #earliest = Number.NEGATIVE_INFINITY
  #cancelTimer: (() => void) | undefined
  #updating: Promise<void> = Promise.resolve()
  /** Whether GitHub has accepted an update: then the token has the permission, and a refusal may pass. */
  #hasWorked = false
  #isForbidden = false

  /** @param onFailure called at most once, and not if a later update succeeds */
  constructor(extra: Extra, clock: Clock, onFailure: (failure: Failure) => void) {
    this.#extra = extra
    this.#clock = clock
    this.#onFailure = onFailure
  }

  /** Schedules an update. `present` returns the state at the time of the update. */
  update(present: () => RunRecord): void {
    if (this.#isForbidden || this.#cancelTimer !== undefined) return
    this.#cancelTimer = this.#clock.after(Math.max(0, this.#earliest - this.#clock.now()), () => {
      this.#cancelTimer = undefined
      this.#updating = this.#showPresent(present)
    })
  }

  /**
   * Shows a state that must not be lost, such as the outcome. Never rejects.
   * @param endsAt when the signal will be aborted at the latest
   * @returns whether it is shown
   */
  async finish(record: RunRecord, signal: AbortSignal, endsAt: number): Promise<boolean> {
    this.#cancelTimer?.()
    // Wait for a running creation: the next update needs its id.
    const abort = () => this.#ending.abort()
    signal.addEventListener('abort', abort)
    await this.#updating
    signal.removeEventListener('abort', abort)
    if (this.#isForbidden) return false
    let refusals = 0
    for (let delayMs = firstUpdateRetryMs; ; delayMs *= 2) {
      const failure = await this.#show(record, signal, outcomeTimeoutMs)
      if (failure === undefined) return true
      if (failure.type === 'forbidden') refusals++
      const mayPass =
        failure.type === 'temporary' ||
        (failure.type === 'forbidden' && this.#hasWorked && refusals < maxGithubRefusals)
      const pauseMs = Math.max(delayMs, failure.retryAfterMs)
      if (!mayPass || signal.aborted || this.#clock.now() + pauseMs >= endsAt) {
        this.#onFailure(failure)
        return false
      }
      await sleep(this.#clock, pauseMs, signal)
    }
  }

  async #showPresent(present: () => RunRecord): Promise<void> {
    const startedAt = this.#clock.now()
    const record = present()
    // `finish` shows the outcome, with its evidence.
    if (record.outcome !== 'progressing') return
    const elapsedMs = startedAt - record.startedAt
    this.#earliest = startedAt + Math.max(updateIntervalMs, elapsedMs * intervalOfElapsed)
    const failure = await this.#show(record, this.#ending.signal, updateTimeoutMs)
    if (failure === undefined) return
    this.#earliest = Math.max(this.#earliest, this.#clock.now() + failure.retryAfterMs)
    if (failure.type !== 'forbidden' || this.#hasWorked) return
    this.#isForbidden = true
    this.#onFailure(failure)
  }

  /** Never rejects. Ends with the signal or after the time, even if the request ignores it. */
  async #show(record: RunRecord, ending: AbortSignal, limitMs: number): Promise<Failure | undefined> {
    const late = new AbortController()
    const stop = this.#clock.after(limitMs, () => late.abort())
    const signal = AbortSignal.any([late.signal, ending])
    try {
      const shown = await unlessAborted(
        this.#extra.show(record, signal).then(() => true),
        signal,
      )
      if (!shown) signal.throwIfAborted()
      this.#hasWorked = true
      return undefined
    } catch (error) {
      return readFailure(error, this.#clock.now())
    } finally {
      stop()
    }
  }
}
