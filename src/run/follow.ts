import type { Clock } from '../cluster/clock.ts'
import type { FeedEvent, Observation } from '../cluster/feed.ts'
import { type EventConsumer, Follower, type WatchedCluster } from '../cluster/follower.ts'
import type { TextQueue } from '../cluster/text-queue.ts'
import type { View } from '../views/views.ts'

interface FollowOptions {
  readonly clock: Clock
  /** The texts that wait until the secrets in them are known. */
  readonly texts: TextQueue
  /** Aborted by Ctrl-C, or when the job is cancelled. */
  readonly cancelled: AbortSignal
  /** Called before the first event with the function that adds observations of other requests than watches. */
  readonly onStart?: (observe: (observation: Observation) => void) => void
  /** Called with every event before the consumer handles it. */
  readonly onEvent?: (event: FeedEvent) => void
  /** Called after events and deadlines. */
  readonly onUpdate?: () => void
  /** Waits for what belongs to the events, once the consumer is over. */
  readonly finish?: () => Promise<unknown>
}

/**
 * Passes the events of a cluster to a consumer until it is over or the run is cancelled, then waits until the last texts may leave.
 * @throws the error of the consumer
 */
export async function follow(
  consumer: EventConsumer,
  cluster: WatchedCluster,
  { clock, texts, cancelled, onStart, onEvent, onUpdate, finish }: FollowOptions,
): Promise<void> {
  const onEach = (event: FeedEvent) => {
    texts.observe(event)
    onEvent?.(event)
  }
  const follower = new Follower(consumer, cluster, clock, clock.now(), onEach, onUpdate)
  const cancel = () => follower.cancel()
  texts.follow(() => consumer.requests)
  cancelled.addEventListener('abort', cancel)
  try {
    onStart?.((observation) => follower.observe(observation))
    if (cancelled.aborted) cancel()
    await follower.run()
    await finish?.()
    await texts.finish((requests) => cluster.refresh(requests), cancelled)
  } finally {
    texts.flush()
    cancelled.removeEventListener('abort', cancel)
  }
}

/** Changes within this time are drawn together. */
const drawDelayMs = 50
/** The view is drawn again at this interval, because ages and some states change without an event. */
const tickMs = 1_000

/**
 * Follows a view, and draws it soon after each change and every second.
 * @returns whether the view ended by itself; false if cancelled
 * @throws UserError if objects cannot be read
 */
export async function followView(view: View, cluster: WatchedCluster, options: FollowOptions): Promise<boolean> {
  const { clock } = options
  let isOver = false
  let drawAt = clock.now()
  const consumer: EventConsumer = {
    get requests() {
      return view.requests
    },
    get isOver() {
      return isOver
    },
    handle(events, watchOf) {
      for (const event of events) {
        view.handle(event, watchOf(event))
        drawAt = Math.min(drawAt, event.at + drawDelayMs)
      }
    },
    nextDeadline: () => ({ at: drawAt, needsAnswers: false }),
    advance() {
      // The present time: the machine may have been suspended for many ticks.
      const now = clock.now()
      isOver = view.draw(now)
      drawAt = now + tickMs
    },
    requestsToConfirm: () => [],
  }
  await follow(consumer, cluster, options)
  return isOver
}
