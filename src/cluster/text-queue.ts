import { maxTextWaitMs, quotedTextMs, textFinishMs, textFinishWhenCancelledMs } from '../thresholds.ts'
import { type Clock, sleep, within } from './clock.ts'
import { type FeedEvent, isFailure, requestKey, type WatchRequest } from './feed.ts'

/** Events quote secrets, but never make one known. */
const quotingKind = 'Event'

/** A text that waits until it may be printed or recorded. */
interface Waiting {
  readonly at: number
  readonly mayQuote: boolean
  readonly leave: () => void
}

/**
 * Holds texts of the cluster, in their order, until the objects that make their secrets known have arrived: each that may
 * quote one for a time, and all until the first lists of all watches have arrived or failed.
 */
export class TextQueue {
  readonly #clock: Clock
  readonly #quotedMs: number
  readonly #answered = new Set<string>()
  /** When each watch began that has not answered yet. */
  readonly #waitingSince = new Map<string, number>()
  #requests: readonly WatchRequest[] = []
  #requestsOf: () => readonly WatchRequest[] = () => []
  #queue: Waiting[] = []
  #cancelTimer: (() => void) | undefined

  /** @param quotedMs how long a text that may quote a secret waits after the first lists */
  constructor(clock: Clock, quotedMs = quotedTextMs) {
    this.#clock = clock
    this.#quotedMs = quotedMs
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
    for (const key of keys) {
      this.#answered.add(key)
      this.#waitingSince.delete(key)
    }
    if (this.#waitingSince.size === 0) this.#release()
  }

  /** Whether a list has not arrived yet that texts wait for. */
  get isWaiting(): boolean {
    return this.#listsUntil() > this.#clock.now()
  }

  /**
   * @param leave prints or records the text; called when it need not wait any longer
   * @param mayQuote whether the text may quote a secret; otherwise it waits only for the lists and for the texts before it
   */
  push(leave: () => void, mayQuote = true): void {
    this.#queue.push({ at: this.#clock.now(), mayQuote, leave })
    if (this.#cancelTimer === undefined) this.#release()
  }

  /**
   * Releases all texts. Those that may quote a secret wait for their time, and at most `textFinishMs` for lists that have not
   * arrived.
   * @param refresh resolves when these watches have answered or failed
   */
  async finish(refresh: (requests: readonly WatchRequest[]) => Promise<void>, cancelled: AbortSignal): Promise<void> {
    const last = this.#queue.findLast(({ mayQuote }) => mayQuote)
    if (last !== undefined) {
      const done = new AbortController()
      const limitMs = cancelled.aborted ? textFinishWhenCancelledMs : textFinishMs
      const settled = sleep(this.#clock, Math.max(0, last.at + this.#quotedMs - this.#clock.now()), done.signal)
      const missing = this.#requests.filter((request) => this.#waitingSince.has(requestKey(request)))
      // A failure of a watch is reported to its sink.
      const answered = refresh(missing).catch(() => {})
      await within(this.#clock, limitMs, Promise.all([settled, answered]))
      done.abort()
    }
    this.flush()
  }

  /** Releases all texts at once. */
  flush(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    for (const { leave } of this.#queue.splice(0)) leave()
  }

  /** Releases the texts that have waited long enough, and sets the timer for the rest. */
  #release(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    const now = this.#clock.now()
    const listsAt = this.#listsUntil()
    const count = listsAt > now ? 0 : this.#queue.findIndex(({ at, mayQuote }) => mayQuote && at + this.#quotedMs > now)
    for (const { leave } of this.#queue.splice(0, count === -1 ? this.#queue.length : count)) leave()
    const [next] = this.#queue
    if (next === undefined) return
    const delayMs = Math.max(next.at + this.#quotedMs, listsAt) - now
    this.#cancelTimer = this.#clock.after(delayMs, () => this.#release())
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
      if (request.kind === quotingKind || this.#answered.has(key) || this.#waitingSince.has(key)) continue
      this.#waitingSince.set(key, this.#clock.now())
    }
  }
}
