import type { Clock } from './clock.ts'
import type { FeedEvent, Observation, WatchRequest } from './feed.ts'

/** What a follower needs of a cluster. */
export interface WatchedCluster {
  watch(request: WatchRequest, sink: (observation: Observation) => void): void
  /**
   * Lists these requests again. Resolves once their sinks have the differences, or why there are none: the request is
   * refused or unavailable.
   */
  refresh(requests: readonly WatchRequest[]): Promise<void>
}

/** What consumes the events: the gate, a recording, a view. Moments are milliseconds since the epoch. */
export interface EventConsumer {
  /** What is to be watched by now. The same array while nothing changes. */
  readonly requests: readonly WatchRequest[]
  readonly isOver: boolean
  /** `request` is the watch that reported the event; absent for events that no watch reported. */
  handle(event: FeedEvent, request?: WatchRequest): void
  /** When to call `advance`, if no event comes before. A moment that ends a target is confirmed first. */
  nextDeadline(): { readonly at: number; readonly endsTarget: boolean } | undefined
  advance(now: number): void
  /** The watches that must answer before time passes a moment that ends a target. */
  requestsToConfirm(at: number): readonly WatchRequest[]
}

/**
 * Feeds a live cluster to a consumer until it is over. Every event gets its moment and goes to `onEvent` before the
 * consumer handles it.
 *
 * Before a deadline may end a target, the watches that the target needs must answer, or report that they cannot. Meanwhile
 * time stands still at the deadline: what an answer brings counts as in time, a watch that is unavailable makes the
 * deadline wait, and a replay of the recording decides the same. The same holds for a deadline that passed while the
 * process stood still.
 */
export class Follower {
  readonly #consumer: EventConsumer
  readonly #cluster: WatchedCluster
  readonly #clock: Clock
  readonly #onEvent: (event: FeedEvent) => void
  readonly #done = Promise.withResolvers<void>()
  #latest: number
  #frozenAt: number | undefined
  #cancelTimer = () => {}
  #watched: readonly WatchRequest[] = []
  #isPlanned = false
  #isStopped = false

  constructor(
    consumer: EventConsumer,
    cluster: WatchedCluster,
    clock: Clock,
    startedAt: number,
    onEvent: (event: FeedEvent) => void = () => {},
  ) {
    this.#consumer = consumer
    this.#cluster = cluster
    this.#clock = clock
    this.#onEvent = onEvent
    this.#latest = startedAt
  }

  /** Resolves when the consumer is over or the follower is stopped. Rejects with what the consumer throws. */
  run(): Promise<void> {
    this.#next()
    return this.#done.promise
  }

  /** Ends `run`. Reports of watches are ignored from now on. */
  stop(): void {
    this.#isStopped = true
    this.#cancelTimer()
    this.#done.resolve()
  }

  /** Passes on an observation; `request` is the watch that reported it, absent for logs and the cancellation of the job. */
  observe(observation: Observation, request?: WatchRequest): void {
    try {
      this.#passUntil(this.#clock.now())
      const event = { ...observation, at: this.#now() }
      this.#onEvent(event)
      this.#consumer.handle(event, request)
    } catch (error) {
      this.#fail(error)
    }
    // A list brings many events at once: the requests and the timer are renewed once.
    if (this.#isPlanned) return
    this.#isPlanned = true
    queueMicrotask(() => {
      this.#isPlanned = false
      this.#next()
    })
  }

  /** Starts what is to be watched by now, and sets the timer for the next deadline. */
  #next(): void {
    try {
      this.#cancelTimer()
      if (this.#consumer.isOver) this.stop()
      if (this.#isStopped) return
      this.#watch(this.#consumer.requests)
      const next = this.#consumer.nextDeadline()
      if (next === undefined || this.#frozenAt !== undefined) return
      this.#cancelTimer = this.#clock.after(Math.max(0, next.at - this.#clock.now()), () => {
        if (next.endsTarget) this.#confirm(next.at)
        else this.#pass(next.at)
      })
    } catch (error) {
      this.#fail(error)
    }
  }

  #watch(requests: readonly WatchRequest[]): void {
    if (requests === this.#watched) return
    this.#watched = requests
    for (const request of requests) {
      this.#cluster.watch(request, (observation) => {
        if (!this.#isStopped && !this.#consumer.isOver) this.observe(observation, request)
      })
    }
  }

  /** Passes the moments before `now` that end nothing, up to the first deadline, which is confirmed like any other. */
  #passUntil(now: number): void {
    while (this.#frozenAt === undefined && !this.#isStopped) {
      const next = this.#consumer.nextDeadline()
      if (next === undefined || next.at >= now) return
      if (next.endsTarget) this.#confirm(next.at)
      else this.#consumer.advance(next.at)
    }
  }

  #pass(at: number): void {
    try {
      this.#latest = Math.max(this.#latest, at)
      this.#consumer.advance(at)
    } catch (error) {
      this.#fail(error)
    }
    this.#next()
  }

  #confirm(at: number): void {
    this.#frozenAt = at
    const confirmed = () => {
      this.#frozenAt = undefined
      if (!this.#isStopped) this.#pass(at)
    }
    this.#cluster.refresh(this.#consumer.requestsToConfirm(at)).then(confirmed, this.#done.reject)
  }

  /** The present moment: never earlier than one before, and the deadline while one is being confirmed. */
  #now(): number {
    this.#latest = Math.max(this.#latest, this.#frozenAt ?? this.#clock.now())
    return this.#latest
  }

  /** Callbacks of timers and watches have no caller to throw to. */
  #fail(error: unknown): void {
    this.#done.reject(error)
    this.stop()
  }
}
