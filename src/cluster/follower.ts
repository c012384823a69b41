import type { Clock } from './clock.ts'
import type { FeedEvent, Observation, WatchRequest } from './feed.ts'

/* Passes the events of a live cluster to the gate or a view, and handles deadlines in time. */

/** The functions of the class `Cluster` that a follower uses. */
export interface WatchedCluster {
  watch(request: WatchRequest, sink: (observation: Observation) => void): void
  /** Lists watched objects again. Resolves once the sinks have received the differences, or the failure of a list. */
  refresh(requests: readonly WatchRequest[]): Promise<void>
}

/** Handles the events of a cluster, like the gate or a view. Times are milliseconds since the epoch. */
export interface EventConsumer {
  /** The requests to watch at present. The array stays the same until the requests change. */
  readonly requests: readonly WatchRequest[]
  readonly isOver: boolean
  /** Handles events that arrived together. */
  handle(events: readonly FeedEvent[]): void
  /** The time of the next call of `advance`, unless an event arrives before. */
  nextDeadline(): number | undefined
  advance(now: number): void
  /** The watches to list again before the deadline at this time, because the deadline may end a target. */
  requestsToConfirm(at: number): readonly WatchRequest[]
}

/** The minimum time between two groups of events. */
const momentMs = 1

/** The maximum number of events that are handled together: a list may contain thousands of objects. */
export const maxTogether = 100

/**
 * Passes the events of a live cluster to a consumer, until the consumer is over. Events that arrive in one turn of the
 * event loop form one moment and are handled together. Each moment has another time, so a replay forms the same
 * moments.
 *
 * Before a deadline ends a target, the follower lists the objects of that target again. Until the answers arrive, every
 * event gets the time of the deadline, so a replay gives the same verdict. An unavailable watch delays the deadline.
 */
export class Follower {
  readonly #consumer: EventConsumer
  readonly #cluster: WatchedCluster
  readonly #clock: Clock
  /** Called with each event, before the consumer handles the moment. */
  readonly #onEvent: (event: FeedEvent) => void
  /** Called after each moment and deadline, unless the consumer is over. */
  readonly #onUpdate: () => void
  readonly #done = Promise.withResolvers<void>()
  /** The latest time of an event or deadline. */
  #latest: number
  /** The events of the present moment. */
  #moment: FeedEvent[] = []
  /** The deadline that waits for the answers of watches. */
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

  /** Ends `run`. Later events of watches are ignored. */
  stop(): void {
    this.#isStopped = true
    this.#cancelTimer()
    this.#done.resolve()
  }

  /** Passes the event `CANCEL` and the pending events to the consumer, then ends `run`. */
  cancel(): void {
    this.observe({ type: 'CANCEL' })
    this.#handleMoment()
    this.stop()
  }

  /** Passes an event to the consumer. */
  observe(observation: Observation): void {
    const isFirst = this.#moment.length === 0
    if (isFirst) this.#beginMoment()
    this.#moment.push({ ...observation, at: this.#latest })
    if (this.#isStopped) this.#handleMoment()
    else if (this.#moment.length === maxTogether) this.#endMoment()
    // A list may end the gate. Handled before other work, so that no watch is opened then.
    else if (observation.type === 'SYNCED' || observation.type === 'ERROR') queueMicrotask(() => this.#endMoment())
    else if (isFirst) setImmediate(() => this.#endMoment())
  }

  /** Handles deadlines that have passed, then sets the time for the events that arrive now. */
  #beginMoment(): void {
    const now = Math.max(this.#latest + momentMs, this.#clock.now())
    this.#failOnError(() => this.#handleDeadlinesBefore(now))
    this.#latest = this.#confirmingAt ?? now
  }

  #endMoment(): void {
    this.#handleMoment()
    this.#updateWatchesAndTimer()
  }

  #handleMoment(): void {
    const moment = this.#moment
    this.#moment = []
    if (moment.length === 0) return
    this.#failOnError(() => {
      for (const event of moment) this.#onEvent(event)
      this.#consumer.handle(moment)
    })
  }

  /** Starts new watches and sets the timer for the next deadline. */
  #updateWatchesAndTimer(): void {
    this.#failOnError(() => {
      this.#cancelTimer()
      if (this.#consumer.isOver) this.stop()
      if (this.#isStopped) return
      this.#startWatches(this.#consumer.requests)
      this.#onUpdate()
      const next = this.#consumer.nextDeadline()
      if (next === undefined || this.#confirmingAt !== undefined) return
      this.#cancelTimer = this.#clock.after(Math.max(0, next - this.#clock.now()), () => {
        if (this.#moment.length > 0) this.#endMoment()
        else if (!this.#confirmDeadline(next)) this.#handleDeadline(next)
      })
    })
  }

  #startWatches(requests: readonly WatchRequest[]): void {
    if (requests === this.#watched) return
    this.#watched = requests
    for (const request of requests) {
      this.#cluster.watch(request, (observation) => {
        if (!this.#isStopped && !this.#consumer.isOver) this.observe(observation)
      })
    }
  }

  /** Handles the deadlines before `now`. Stops at a deadline that needs the answers of watches. */
  #handleDeadlinesBefore(now: number): void {
    while (this.#confirmingAt === undefined && !this.#isStopped && !this.#consumer.isOver) {
      const next = this.#consumer.nextDeadline()
      if (next === undefined || next >= now) return
      if (!this.#confirmDeadline(next)) this.#consumer.advance(next)
    }
  }

  #handleDeadline(at: number): void {
    this.#handleMoment()
    this.#latest = Math.max(this.#latest, at)
    this.#failOnError(() => this.#consumer.advance(at))
    this.#updateWatchesAndTimer()
  }

  /** Refreshes the watches that a deadline needs, then handles the deadline. Returns false if no refresh is needed. */
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

  /** Rejects `run` if `work` throws: no caller of a timer or watch callback could catch the error. */
  #failOnError(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#done.reject(error)
      this.stop()
    }
  }
}
