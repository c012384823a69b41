import type { Clock as SystemClock } from '../cluster/clock.ts'
import type { FeedEvent, Observation, WatchRequest } from '../cluster/feed.ts'
import type { Gate } from './gate.ts'

/** What following takes of a cluster. */
export interface Watched {
  watch(request: WatchRequest, sink: (observation: Observation) => void): void
  /**
   * Fresh lists of these requests. Resolves once their sinks have the differences, or why there are none: the request is
   * refused or unavailable.
   */
  refresh(requests: readonly WatchRequest[]): Promise<void>
}

/**
 * Feeds a live cluster to the gate until it has its verdict. Every event is stamped and given to `onEvent` (the recorder)
 * before the gate takes it.
 *
 * Before a deadline may end a target, the watches that the target needs must answer, or report that they cannot. Meanwhile
 * time stands still at the deadline: what an answer brings counts as in time, a watch that is unavailable makes the
 * deadline wait, and a replay of the recording decides the same. This holds for a deadline, too, that has passed unnoticed
 * because the process stood still.
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
      this.#passUntil(this.#clock.now())
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

  /** Passes the moments before `now` that end nothing, up to the first deadline, which is confirmed like any other. */
  #passUntil(now: number): void {
    while (this.#frozenAt === undefined) {
      const clock = this.#gate.nextClock()
      if (clock === undefined || clock.at >= now) return
      if (clock.endsTarget) this.#confirm(clock.at)
      else this.#gate.advance(clock.at)
    }
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
    const confirmed = () => {
      this.#frozenAt = undefined
      this.#pass(at)
    }
    this.#cluster.refresh(this.#gate.requestsToConfirm(at)).then(confirmed, this.#done.reject)
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
