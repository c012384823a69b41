import type { Clock as SystemClock } from '../cluster/clock.ts'
import type { FeedEvent, Observation, WatchRequest } from '../cluster/feed.ts'
import type { Gate } from './gate.ts'

/** What following takes of a cluster. */
export interface Watched {
  watch(request: WatchRequest, sink: (observation: Observation) => void): void
  /** Fresh lists of these requests, told through their sinks; false when the server could not be reached. */
  refresh(requests: readonly WatchRequest[]): Promise<boolean>
}

/** How long the server may take to confirm that nothing has changed before a clock is believed. */
const confirmMs = 5_000

/**
 * Feeds a live cluster to the gate until it has its verdict. Every event is stamped and given to `onEvent` (the recorder)
 * before the gate sees it.
 *
 * Before a clock may end a target, the server is asked afresh. While it answers, time stands still at the clock's own
 * moment: what the answer brings counts as in time, and a replay of the recording decides the same.
 */
export class Follower {
  readonly #gate: Gate
  readonly #cluster: Watched
  readonly #clock: SystemClock
  readonly #onEvent: (event: FeedEvent) => void
  readonly #done = Promise.withResolvers<void>()
  #last: number
  #frozenAt: number | undefined
  #cancelTimer = () => {}
  #cancelConfirm = () => {}
  #watched: readonly WatchRequest[] = []
  #isPlanned = false

  constructor(
    gate: Gate,
    cluster: Watched,
    clock: SystemClock,
    startedAt: number,
    onEvent: (event: FeedEvent) => void,
  ) {
    this.#gate = gate
    this.#cluster = cluster
    this.#clock = clock
    this.#onEvent = onEvent
    this.#last = startedAt
  }

  /** Watches until the gate is over. Rejects only for our own mistakes. */
  run(): Promise<void> {
    this.#guard(() => this.#next())
    return this.#done.promise
  }

  /** Gives the gate what did not come from a watch: logs, or that the job was cancelled. */
  tell(observation: Observation): void {
    this.#guard(() => {
      const event = { ...observation, at: this.#now() }
      this.#onEvent(event)
      this.#gate.handle(event)
      // A list brings many events at once: what follows from them is done once.
      if (this.#isPlanned) return
      this.#isPlanned = true
      queueMicrotask(() => {
        this.#isPlanned = false
        this.#guard(() => this.#next())
      })
    })
  }

  /** Starts what is to be watched by now, and sets the alarm for the next clock. */
  #next(): void {
    this.#cancelTimer()
    if (this.#gate.verdict !== undefined) {
      this.#cancelConfirm()
      this.#done.resolve()
      return
    }
    if (this.#gate.requests !== this.#watched) {
      this.#watched = this.#gate.requests
      for (const request of this.#watched) {
        this.#cluster.watch(request, (observation) => {
          if (this.#gate.verdict === undefined) this.tell(observation)
        })
      }
    }
    const clock = this.#gate.nextClock()
    if (clock === undefined || this.#frozenAt !== undefined) return
    this.#cancelTimer = this.#clock.after(Math.max(0, clock.at - this.#clock.now()), () => {
      if (clock.endsTarget) this.#confirm(clock.at)
      else this.#pass(clock.at)
    })
  }

  #pass(at: number): void {
    this.#guard(() => {
      this.#last = Math.max(this.#last, at)
      this.#gate.advance(at)
      this.#next()
    })
  }

  #confirm(at: number): void {
    this.#frozenAt = at
    const isSlow = Promise.withResolvers<boolean>()
    this.#cancelConfirm = this.#clock.after(confirmMs, () => isSlow.resolve(false))
    const confirmed = () => {
      this.#cancelConfirm()
      this.#frozenAt = undefined
      this.#pass(at)
    }
    Promise.race([this.#cluster.refresh(this.#gate.requests), isSlow.promise]).then(confirmed, this.#done.reject)
  }

  #now(): number {
    this.#last = Math.max(this.#last, this.#frozenAt ?? this.#clock.now())
    return this.#last
  }

  /** Callbacks of timers and watches have no caller to throw to. */
  #guard(step: () => void): void {
    try {
      step()
    } catch (error) {
      this.#done.reject(error)
    }
  }
}
