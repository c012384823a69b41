import type { Clock } from './clock.ts'
import { type FeedEvent, isFailure, type Observation, type WatchRequest } from './feed.ts'

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
  /**
   * Handles the events of one moment.
   * @param watchOf the watch that reported an event; undefined for events that no watch reported
   */
  handle(events: readonly FeedEvent[], watchOf: (event: FeedEvent) => WatchRequest | undefined): void
  /** When to call `advance`, unless an event comes first. */
  nextDeadline(): number | undefined
  advance(now: number): void
  /** The watches that the follower must list again before this deadline: it may end a target. */
  requestsToConfirm(at: number): readonly WatchRequest[]
}

/** The least time between the events of one moment and those of the next. */
const momentMs = 1

/** The largest number of events of one moment: a list may have many thousands of objects. */
export const maxTogether = 100

/**
 * Passes the events of a live cluster to a consumer until the consumer is over. Events that arrive together, in one turn of
 * the event loop, are one moment: each goes to `onEvent`, then the consumer handles all of them. Each moment has a time of
 * its own, so a replay of the recording handles the same events together. `onUpdate` is called after events and deadlines,
 * while the consumer is not over.
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
  /** The latest time of an event or deadline. */
  #latest: number
  /** The events of the present moment, with the watch that reported each. */
  #moment = new Map<FeedEvent, WatchRequest | undefined>()
  /** The deadline that waits until its watches have answered. */
  #confirmingAt: number | undefined
  #cancelTimer = () => {}
  #watched: readonly WatchRequest[] = []
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
    this.#latest = startedAt - momentMs
  }

  /** Resolves when the consumer is over or the follower is stopped. Rejects with an error of the consumer. */
  run(): Promise<void> {
    this.#updateWatchesAndTimer()
    return this.#done.promise
  }

  /** Ends `run` and ignores later reports of watches. */
  stop(): void {
    this.#isStopped = true
    this.#cancelTimer()
    this.#done.resolve()
  }

  /** Ends `run` after the events that have arrived. */
  cancel(): void {
    this.observe({ type: 'CANCEL' })
    this.#handleMoment()
    this.stop()
  }

  /** Passes an observation to the consumer; `request`: the watch that reported it, absent for logs and cancellation. */
  observe(observation: Observation, request?: WatchRequest): void {
    const isFirst = this.#moment.size === 0
    if (isFirst) this.#beginMoment()
    this.#moment.set({ ...observation, at: this.#latest }, request)
    if (this.#isStopped) this.#handleMoment()
    else if (this.#moment.size === maxTogether) this.#endMoment()
    // The answer to a list may end the gate: then its watch is not opened.
    else if (observation.type === 'SYNCED' || isFailure(observation)) queueMicrotask(() => this.#endMoment())
    else if (isFirst) setImmediate(() => this.#endMoment())
  }

  /** Handles the earlier deadlines, and sets the time of the events that arrive now. */
  #beginMoment(): void {
    const now = Math.max(this.#latest + momentMs, this.#clock.now())
    try {
      this.#handleDeadlinesBefore(now)
    } catch (error) {
      this.#fail(error)
    }
    this.#latest = this.#confirmingAt ?? now
  }

  #endMoment(): void {
    this.#handleMoment()
    this.#updateWatchesAndTimer()
  }

  #handleMoment(): void {
    const moment = this.#moment
    this.#moment = new Map()
    if (moment.size === 0) return
    try {
      const events = [...moment.keys()]
      for (const event of events) this.#onEvent(event)
      this.#consumer.handle(events, (event) => moment.get(event))
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Starts new watches and sets the timer for the next deadline. */
  #updateWatchesAndTimer(): void {
    try {
      this.#cancelTimer()
      if (this.#consumer.isOver) this.stop()
      if (this.#isStopped) return
      this.#startWatches(this.#consumer.requests)
      this.#onUpdate()
      const next = this.#consumer.nextDeadline()
      if (next === undefined || this.#confirmingAt !== undefined) return
      this.#cancelTimer = this.#clock.after(Math.max(0, next - this.#clock.now()), () => {
        if (this.#moment.size > 0) this.#endMoment()
        else if (!this.#confirmDeadline(next)) this.#handleDeadline(next)
      })
    } catch (error) {
      this.#fail(error)
    }
  }

  #startWatches(requests: readonly WatchRequest[]): void {
    if (requests === this.#watched) return
    this.#watched = requests
    for (const request of requests) {
      this.#cluster.watch(request, (observation) => {
        if (!this.#isStopped && !this.#consumer.isOver) this.observe(observation, request)
      })
    }
  }

  /** Advances the consumer through its deadlines before `now`, and confirms the first one that ends a target. */
  #handleDeadlinesBefore(now: number): void {
    while (this.#confirmingAt === undefined && !this.#isStopped && !this.#consumer.isOver) {
      const next = this.#consumer.nextDeadline()
      if (next === undefined || next >= now) return
      if (!this.#confirmDeadline(next)) this.#consumer.advance(next)
    }
  }

  #handleDeadline(at: number): void {
    this.#handleMoment()
    try {
      this.#latest = Math.max(this.#latest, at)
      this.#consumer.advance(at)
    } catch (error) {
      this.#fail(error)
    }
    this.#updateWatchesAndTimer()
  }

  /** Lists again the watches that must answer before a deadline. Returns whether there are any. */
  #confirmDeadline(at: number): boolean {
    const requests = this.#consumer.requestsToConfirm(at)
    if (requests.length === 0) return false
    this.#confirmingAt = at
    const confirmed = () => {
      this.#confirmingAt = undefined
      if (!this.#isStopped) this.#handleDeadline(at)
    }
    this.#cluster.refresh(requests).then(confirmed, this.#done.reject)
    return true
  }

  /** Callbacks of timers and watches have no caller that could catch an error. */
  #fail(error: unknown): void {
    this.#done.reject(error)
    this.stop()
  }
}
