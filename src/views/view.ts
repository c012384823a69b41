import type { FeedEvent, WatchRequest } from '../cluster/feed.ts'
import type { EventConsumer } from '../cluster/follower.ts'
import { UserError } from '../errors.ts'
import { displayName, type Target } from '../plan/target.ts'

/** Changes within this time are drawn together. */
const drawDelayMs = 50
/** The view is drawn again at this interval, because ages and some states change without an event. */
const tickMs = 1_000

/** Where the events of a view come from. */
export interface ViewSource {
  /** The present moment, in milliseconds since the epoch. */
  now(): number
  /** Whether the first list of a request is expected (see Store). */
  willSync(request: WatchRequest): boolean
}

/** Shows the events of a run, live or recorded. A view is drawn soon after each change, and every second. */
export abstract class View implements EventConsumer {
  readonly #source: Pick<ViewSource, 'now'>
  #drawAt: number
  #isOver = false

  constructor(source: Pick<ViewSource, 'now'>) {
    this.#source = source
    this.#drawAt = source.now()
  }

  abstract readonly requests: readonly WatchRequest[]

  /**
   * Handles an event. `request`: the watch that reported the event; absent in a recording.
   * @throws UserError if objects cannot be read
   */
  protected abstract observe(event: FeedEvent, request?: WatchRequest): void

  /** Shows the state at `now`. Returns whether the view is over. */
  protected abstract draw(now: number): boolean

  get isOver(): boolean {
    return this.#isOver
  }

  handle(
    events: readonly FeedEvent[],
    watchOf: (event: FeedEvent) => WatchRequest | undefined = () => undefined,
  ): void {
    for (const event of events) {
      this.observe(event, watchOf(event))
      this.#drawAt = Math.min(this.#drawAt, event.at + drawDelayMs)
    }
  }

  nextDeadline(): number {
    return this.#drawAt
  }

  /** Draws the present state: the machine may have been suspended for many ticks. */
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
