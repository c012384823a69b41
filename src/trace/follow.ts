import type { Clock } from '../cluster/clock.ts'
import { deniesAccess, type FeedEvent, isFailure, requestKey, type WatchRequest } from '../cluster/feed.ts'
import { type EventConsumer, Follower, type WatchedCluster } from '../cluster/follower.ts'
import type { TextQueue } from '../cluster/text-queue.ts'
import { UserError } from '../errors.ts'
import { displayName, type Target, targetWatch } from '../plan/target.ts'
import type { Changes, ObjectChange } from './changes.ts'
import type { FollowedGate } from './followed-gate.ts'
import type { Trace, TraceState } from './trace.ts'

interface FollowOptions {
  readonly clock: Clock
  /** Gets the events: the texts of the view wait there. */
  readonly texts: TextQueue
  /** Aborted by Ctrl-C. */
  readonly cancelled: AbortSignal
}

/** Changes within this time are drawn together. */
const drawDelayMs = 50
/** The view is drawn again at this interval, because ages and some states change without an event. */
const tickMs = 1_000

interface View {
  readonly requests: readonly WatchRequest[]
  handle(event: FeedEvent, request: WatchRequest): void
  /** Shows the state at `now`. Returns whether the view is over. */
  draw(now: number): boolean
}

/**
 * Follows a resource and draws its state soon after each change and every second.
 * @param draw called with every state; returns true to end the view
 * @returns false if the view was cancelled
 * @throws UserError if the resource cannot be read
 */
export function followTrace(
  target: Target,
  trace: Trace,
  cluster: WatchedCluster,
  options: FollowOptions,
  draw: (state: TraceState) => boolean,
): Promise<boolean> {
  const own = requestKey(targetWatch(target))
  const view: View = {
    get requests() {
      return trace.requests
    },
    handle(event, request) {
      if (deniesAccess(event) && requestKey(request) === own) throw forbidden(target, event)
      trace.handle(event)
    },
    draw: (now) => draw(trace.state(now)),
  }
  return follow(view, cluster, options)
}

/** Callbacks of `followChanges`. */
export interface ChangeListener {
  readonly onChange: (change: ObjectChange) => void
  /** Called when the first list of a request is complete and empty. */
  readonly onWaiting: (request: WatchRequest) => void
  /** Called with the error when the server stops answering, and with undefined when it answers again. */
  readonly onConnection: (error: string | undefined) => void
}

/**
 * Follows objects and reports their changes, until cancelled or until all objects are ready.
 * @param gate judges the objects; without it the view ends only when cancelled
 * @returns whether all objects became ready
 * @throws UserError if objects cannot be read
 */
export function followChanges(
  requests: readonly WatchRequest[],
  changes: Changes,
  cluster: WatchedCluster,
  options: FollowOptions,
  { onChange, onWaiting, onConnection }: ChangeListener,
  gate?: FollowedGate,
): Promise<boolean> {
  const own = new Set(requests.map(requestKey))
  const empty = new Set(own)

  const report = (event: FeedEvent, request: WatchRequest) => {
    if (deniesAccess(event)) throw forbidden({ ...request, name: request.name ?? '' }, event)
    if (isFailure(event)) onConnection(event.message)
    if (event.type === 'ALIVE') onConnection(undefined)
    for (const change of changes.handle(event, request)) {
      empty.delete(requestKey(request))
      onChange(change)
    }
    if (event.type === 'SYNCED' && empty.has(requestKey(request))) onWaiting(request)
  }
  const view: View = {
    get requests() {
      return [...requests, ...(gate?.requests ?? [])]
    },
    handle(event, request) {
      if (own.has(requestKey(request))) report(event, request)
      gate?.handle(event, request)
    },
    draw: (now) => gate?.isReady(now) ?? false,
  }
  return follow(view, cluster, options)
}

/** Returns whether the view ended by itself; false if cancelled. */
async function follow(
  view: View,
  cluster: WatchedCluster,
  { clock, texts, cancelled }: FollowOptions,
): Promise<boolean> {
  let isOver = false
  let drawAt = clock.now()
  const consumer: EventConsumer = {
    get requests() {
      return view.requests
    },
    get isOver() {
      return isOver
    },
    handle(event, request) {
      if (request !== undefined) view.handle(event, request)
      drawAt = Math.min(drawAt, event.at + drawDelayMs)
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
  texts.follow(() => view.requests)
  const follower = new Follower(consumer, cluster, clock, drawAt, (event) => texts.observe(event))
  const stop = () => follower.stop()
  cancelled.addEventListener('abort', stop)
  if (cancelled.aborted) stop()
  try {
    await follower.run()
    if (!cancelled.aborted) await texts.finish((requests) => cluster.refresh(requests), cancelled)
  } finally {
    texts.flush()
    cancelled.removeEventListener('abort', stop)
  }
  return isOver
}

function forbidden(target: Pick<Target, 'apiVersion' | 'kind' | 'name'>, { message }: { message: string }): UserError {
  const what = target.name === '' ? `${target.kind} objects` : displayName(target)
  return new UserError([{ input: what, message: `It cannot be read: ${message}` }], 'forbidden')
}
