import type { FeedEvent, WatchRequest } from '../cluster/feed.ts'
import type { EventConsumer } from '../cluster/follower.ts'
import { UserError } from '../errors.ts'
import { displayName, type Target } from '../plan/target.ts'

/* The base of live views: they show the events of a run, and are redrawn after changes and every second. */

/** Changes within this time are drawn together. */
const drawDelayMs = 50
/** The interval at which a view is redrawn, because ages and some states change without an event. */
const tickMs = 1_000

/** The source of a view's events: a run. */
export interface ViewSource {
  /** The present time, in milliseconds since the epoch. */
  now(): number
  /** Whether the source is a cluster, in which a refusal ends the view. */
  readonly isLive: boolean
  /** Whether the source will report the first list of a request (see `Store`). */
  willSync(request: WatchRequest): boolean
}

/** Shows the events of a live or recorded run. It is drawn soon after each change, and every second. */
export abstract class View implements EventConsumer {
  readonly #source: Pick<ViewSource, 'now'>
  #drawAt: number
  #isOver = false

  constructor(source: Pick<ViewSource, 'now'>) {
    this.#source = source
    this.#drawAt = source.now()
  }

  abstract readonly requests: readonly WatchRequest[]

  /** @throws UserError if objects cannot be read */
  protected abstract observe(event: FeedEvent): void

  /** Draws the state at `now`. Returns whether the view is over. */
  protected abstract draw(now: number): boolean

  get isOver(): boolean {
    return this.#isOver
  }

  handle(events: readonly FeedEvent[]): void {
    for (const event of events) {
      this.observe(event)
      this.#drawAt = Math.min(this.#drawAt, event.at + drawDelayMs)
    }
  }

  nextDeadline(): number {
    return this.#drawAt
  }

  /** Draws once, for the present time, even if many deadlines were missed: the machine may have been suspended. */
  advance(): void {
    const now = this.#source.now()
    this.#isOver = this.draw(now)
    this.#drawAt = now + tickMs
  }

  requestsToConfirm(): readonly WatchRequest[] {
    return []
  }
}

export function forbiddenError(
  target: Pick<Target, 'apiVersion' | 'kind' | 'name'>,
  { message }: { message: string },
): UserError {
  const what = target.name === '' ? `${target.kind} objects` : displayName(target)
  return new UserError([{ input: what, message: `It cannot be read: ${message}` }], 'forbidden')
}
