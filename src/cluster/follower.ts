import type { Clock } from './clock.ts'
import type { FeedEvent, Observation, WatchRequest } from './feed.ts'

/** What a follower uses of the class `Cluster`. */
export interface WatchedCluster {
  watch(request: WatchRequest, sink: (observation: Observation) => void): void
  /** Lists these requests again. Resolves once their sinks received the differences, or the failure of a request. */
  refresh(requests: readonly WatchRequest[]): Promise<void>
}

/** Handles the events: the gate, a recording, a view. Times are milliseconds since the epoch. */
export interface EventConsumer {
  /** The requests to watch at present. The same array until they change. */
  readonly requests: readonly WatchRequest[]
  readonly isOver: boolean
  /** `request` is the watch that reported the event; absent for events that no watch reported. */
  handle(event: FeedEvent, request?: WatchRequest): void
  /**
   * When to call `advance`, unless an event comes first. Before a deadline that ends a target, the follower lists the
   * watches of that target again.
   */
  nextDeadline(): { readonly at: number; readonly needsAnswers: boolean } | undefined
  advance(now: number): void
  /** The watches that must answer before a deadline ends a target. */
  requestsToConfirm(at: number): readonly WatchRequest[]
}

/**
 * Passes the events of a live cluster to a consumer until the consumer is over. Each event gets its time, then goes to
 * `onEvent`, then to the consumer. `onUpdate` is called after events and deadlines, while the consumer is not over.
 *
 * Before a deadline ends a target, the follower asks the watches of that target again and waits until they answer or
 * fail. While it waits, every event gets the time of the deadline. So a change in an answer counts as in time, an
 * unavailable watch delays the deadline, and a replay of the recording decides the same.
 * A deadline that passed while the process was suspended is handled in the same way.
 */
export class Follower {
  readonly #consumer: EventConsumer
  readonly #cluster: WatchedCluster
  readonly #clock: Clock
  readonly #onEvent: (event: FeedEvent) => void
  readonly #onUpdate: () => void
  readonly #done = Promise.withResolvers<void>()
  #latest: number
  #confirmingAt: number | undefined
  #cancelTimer = () => {}
  #watched: readonly WatchRequest[] = []
  #isUpdateQueued = false
  #isStopped = false

  constructor(
    consumer: EventConsumer,
    cluster: WatchedCluster,
    clock: Clock,
    startedAt: number,
    onEvent: (event: FeedEvent) => void = () => {},
    onUpdate: () => void = () => {},
  ) {
    this.#consumer = consumer
    this.#cluster = cluster
    this.#clock = clock
    this.#onEvent = onEvent
    this.#onUpdate = onUpdate
    this.#latest = startedAt
  }

  /** Resolves when the consumer is over or the follower is stopped. Rejects with an error of the consumer. */
  run(): Promise<void> {
    this.#update()
    return this.#done.promise
  }

  /** Ends `run` and ignores later reports of watches. */
  stop(): void {
    this.#isStopped = true
    this.#cancelTimer()
    this.#done.resolve()
  }

  /** Passes an observation to the consumer; `request`: the watch that reported it, absent for logs and cancellation. */
  observe(observation: Observation, request?: WatchRequest): void {
    try {
      this.#advanceUntil(this.#clock.now())
      const event = { ...observation, at: this.#now() }
      this.#onEvent(event)
      this.#consumer.handle(event, request)
    } catch (error) {
      this.#fail(error)
    }
    // A list brings many events at once: update the requests and the timer once.
    if (this.#isUpdateQueued) return
    this.#isUpdateQueued = true
    queueMicrotask(() => {
      this.#isUpdateQueued = false
      this.#update()
    })
  }

  /** Starts new watches and sets the timer for the next deadline. */
  #update(): void {
    try {
      this.#cancelTimer()
      if (this.#consumer.isOver) this.stop()
      if (this.#isStopped) return
      this.#watch(this.#consumer.requests)
      this.#onUpdate()
      const next = this.#consumer.nextDeadline()
      if (next === undefined || this.#confirmingAt !== undefined) return
      this.#cancelTimer = this.#clock.after(Math.max(0, next.at - this.#clock.now()), () => {
        if (next.needsAnswers) this.#confirm(next.at)
        else this.#advanceTo(next.at)
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

  /** Advances the consumer through its deadlines before `now`, and confirms the first one that ends a target. */
  #advanceUntil(now: number): void {
    while (this.#confirmingAt === undefined && !this.#isStopped && !this.#consumer.isOver) {
      const next = this.#consumer.nextDeadline()
      if (next === undefined || next.at >= now) return
      if (next.needsAnswers) this.#confirm(next.at)
      else this.#consumer.advance(next.at)
    }
  }

  #advanceTo(at: number): void {
    try {
      this.#latest = Math.max(this.#latest, at)
      this.#consumer.advance(at)
    } catch (error) {
      this.#fail(error)
    }
    this.#update()
  }

  #confirm(at: number): void {
    this.#confirmingAt = at
    const confirmed = () => {
      this.#confirmingAt = undefined
      if (!this.#isStopped) this.#advanceTo(at)
    }
    this.#cluster.refresh(this.#consumer.requestsToConfirm(at)).then(confirmed, this.#done.reject)
  }

  /** The present time, never decreasing; the time of the deadline while one is confirmed. */
  #now(): number {
    this.#latest = Math.max(this.#latest, this.#confirmingAt ?? this.#clock.now())
    return this.#latest
  }

  /** Callbacks of timers and watches have no caller that could catch an error. */
  #fail(error: unknown): void {
    this.#done.reject(error)
    this.stop()
  }
}
