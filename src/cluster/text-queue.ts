import { maxTextWaitMs, textFinishMs, textFinishWhenCancelledMs } from '../thresholds.ts'
import { type Clock, within } from './clock.ts'
import { type FeedEvent, isFailure, requestKey, type WatchRequest } from './feed.ts'

/** Events quote secrets, but never make one known. */
const quotingKind = 'Event'

/**
 * Holds texts of the cluster, in their order, until the objects that make their secrets known have arrived: until the first lists
 * of all watches have arrived or failed.
 */
export class TextQueue {
  readonly #clock: Clock
  /** When each watch began that has not answered yet; -Infinity of one that has. */
  readonly #waitingSince = new Map<string, number>()
  #requests: readonly WatchRequest[] = []
  #requestsOf: () => readonly WatchRequest[] = () => []
  /** Each prints or records a text. */
  #queue: (() => void)[] = []
  #cancelTimer: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @param requests returns the present watches */
  follow(requests: () => readonly WatchRequest[]): void {
    this.#requestsOf = requests
  }

  /** Called with every event of these watches. */
  observe(event: FeedEvent): void {
    if (event.type !== 'SYNCED' && !isFailure(event)) return
    this.#updateRequests()
    const keys = event.kind === undefined ? [...this.#waitingSince.keys()] : [requestKey(event)]
    for (const key of keys) this.#waitingSince.set(key, Number.NEGATIVE_INFINITY)
    if (this.#listsUntil() === Number.NEGATIVE_INFINITY) this.#release()
  }

  /** Whether a list has not arrived yet that texts wait for. */
  get isWaiting(): boolean {
    return this.#listsUntil() > this.#clock.now()
  }

  /** @param leave prints or records the text; called when it need not wait any longer */
  push(leave: () => void): void {
    this.#queue.push(leave)
    if (this.#cancelTimer === undefined) this.#release()
  }

  /**
   * Releases all texts, after at most `textFinishMs` for lists that have not arrived.
   * @param refresh resolves when these watches have answered or failed
   */
  async finish(refresh: (requests: readonly WatchRequest[]) => Promise<void>, cancelled: AbortSignal): Promise<void> {
    const missing = this.#requests.filter((request) => Number.isFinite(this.#waitingSince.get(requestKey(request))))
    if (this.#queue.length > 0 && missing.length > 0) {
      const limitMs = cancelled.aborted ? textFinishWhenCancelledMs : textFinishMs
      // A failure of a watch is reported to its sink.
      const answered = refresh(missing).catch(() => {})
      await within(this.#clock, limitMs, answered)
    }
    this.flush()
  }

  /** Releases all texts at once. */
  flush(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    for (const leave of this.#queue.splice(0)) leave()
  }

  /** Releases the texts, or sets the timer for their release. */
  #release(): void {
    const waitMs = this.#listsUntil() - this.#clock.now()
    if (waitMs <= 0) {
      this.flush()
      return
    }
    this.#cancelTimer?.()
    this.#cancelTimer = this.#clock.after(waitMs, () => this.#release())
  }

  /** Until when texts wait for lists, at the latest; in the past if they wait for none. */
  #listsUntil(): number {
    this.#updateRequests()
    return Math.max(...this.#waitingSince.values(), Number.NEGATIVE_INFINITY) + maxTextWaitMs
  }

  #updateRequests(): void {
    const requests = this.#requestsOf()
    if (requests === this.#requests) return
    this.#requests = requests
    for (const request of requests) {
      const key = requestKey(request)
      if (request.kind !== quotingKind && !this.#waitingSince.has(key)) this.#waitingSince.set(key, this.#clock.now())
    }
  }
}
