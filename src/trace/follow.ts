import type { Clock } from '../cluster/clock.ts'
import { deniesAccess, type FeedEvent, isFailure, requestKey, type WatchRequest } from '../cluster/feed.ts'
import { type EventConsumer, Follower, type WatchedCluster } from '../cluster/follower.ts'
import type { TextQueue } from '../cluster/text-queue.ts'
import { UserError } from '../errors.ts'
import type { Timeline } from '../gate/timeline.ts'
import { releaseKind } from '../plan/helm-release.ts'
import { displayName, type Target, targetWatch } from '../plan/target.ts'
import { Changes, type ObjectChange, type Part } from './changes.ts'
import type { FollowedGate } from './followed-gate.ts'
import type { Trace, TraceState } from './trace.ts'
import { type FollowedObjects, type FollowedRequest, isMeant } from './view-targets.ts'

interface FollowOptions {
  readonly clock: Clock
  /** The queue in which the texts of the view wait until secrets in them are known. It reads each event. */
  readonly texts: TextQueue
  /** Aborted by Ctrl-C. */
  readonly cancelled: AbortSignal
}

/** Changes within this time are drawn together. */
const drawDelayMs = 50
/** The view is drawn again at this interval, because ages and some states change without an event. */
const tickMs = 1_000

export interface View {
  readonly requests: readonly WatchRequest[]
  handle(event: FeedEvent, request: WatchRequest): void
  /** Shows the state at `now`. Returns whether the view is over. */
  draw(now: number): boolean
}

/**
 * The view of one resource. Throws UserError if the resource cannot be read.
 * @param draw called with every state; returns true to end the view
 */
export function traceView(target: Target, trace: Trace, draw: (state: TraceState) => boolean): View {
  const own = requestKey(targetWatch(target))
  return {
    get requests() {
      return trace.requests
    },
    handle(event, request) {
      if (deniesAccess(event) && requestKey(request) === own) throw forbidden(target, event)
      trace.handle(event)
    },
    draw: (now) => draw(trace.state(now)),
  }
}

/** Callbacks of `ChangesView`. */
export interface ChangeListener {
  readonly onChange: (change: ObjectChange) => void
  /** Called before the first change with the state of the objects. Without this function, there is no overview. */
  readonly onOverview?: (look: Timeline) => void
  /** Called when the first list of a request is complete and empty. */
  readonly onWaiting?: (request: WatchRequest) => void
  /** Called with the error when the server stops answering, and with undefined when it answers again. */
  readonly onConnection?: (error: string | undefined) => void
}

/** How long the changes wait for the overview, which comes before them. */
const overviewMs = 3_000

/** The changes of objects, with an overview before them. Throws UserError if objects cannot be read. */
export class ChangesView implements View {
  readonly #objects: FollowedObjects
  readonly #changes: Changes
  readonly #listener: ChangeListener
  readonly #gate: FollowedGate | undefined
  readonly #endsWhenReady: boolean
  /** The keys of the references' requests that have reported no object. */
  readonly #withoutObjects: Set<string>
  /** The references by the watch that reports their objects. */
  readonly #sources: ReadonlyMap<string, readonly FollowedRequest[]>
  /** The keys of the references' requests that are listed or refused. */
  readonly #listed = new Set<string>()
  /** The changes that wait for the overview; undefined once it is shown, and without one. */
  #waitingChanges: ObjectChange[] | undefined
  #startedAt: number | undefined

  /** @param options.gate judges the objects; without it there is no overview, and the view ends only when cancelled */
  constructor(
    objects: FollowedObjects,
    part: Part,
    listener: ChangeListener,
    {
      gate,
      endsWhenReady = false,
    }: { readonly gate?: FollowedGate | undefined; readonly endsWhenReady?: boolean } = {},
  ) {
    this.#objects = objects
    this.#sources = Map.groupBy(objects.requests, ({ request }) => requestKey(request))
    this.#changes = new Changes(
      part,
      (object, request) =>
        objects.isExcluded(object) || !this.#sourcesOf(request).some((source) => isMeant(source, object)),
    )
    this.#listener = listener
    this.#gate = gate
    this.#endsWhenReady = endsWhenReady
    this.#withoutObjects = new Set(this.#sources.keys())
    this.#waitingChanges = gate === undefined || listener.onOverview === undefined ? undefined : []
  }

  get requests(): readonly WatchRequest[] {
    return [...this.#objects.requests.map(({ request }) => request), ...(this.#gate?.requests ?? [])]
  }

  handle(event: FeedEvent, request: WatchRequest): void {
    this.judge(event)
    if (this.#sources.has(requestKey(request))) this.report(event, request)
  }

  /** Handles an event of any watch, because it may affect the state of the objects. */
  judge(event: FeedEvent): void {
    this.#startedAt ??= event.at
    this.#gate?.handle(event)
  }

  /** Handles an event of a watch for one of the references. */
  report(event: FeedEvent, request: WatchRequest): void {
    const isOfRelease = this.#sourcesOf(request).every(({ release }) => release !== undefined)
    if (deniesAccess(event) && !isOfRelease) throw forbidden({ ...request, name: request.name ?? '' }, event)
    if (isFailure(event)) this.#listener.onConnection?.(event.message)
    if (event.type === 'ALIVE') this.#listener.onConnection?.(undefined)
    this.#gate?.select(event, request)
    for (const change of this.#changes.handle(event, request)) {
      this.#withoutObjects.delete(requestKey(request))
      if (this.#waitingChanges === undefined) this.#listener.onChange(change)
      else this.#waitingChanges.push(change)
    }
    if (event.type !== 'SYNCED' && !deniesAccess(event)) return
    this.#listed.add(requestKey(request))
    if (isOfRelease) this.#reportEmptyReleases(request)
    else if (this.#withoutObjects.has(requestKey(request))) this.#listener.onWaiting?.(request)
  }

  #sourcesOf(request: WatchRequest): readonly FollowedRequest[] {
    return this.#sources.get(requestKey(request)) ?? []
  }

  /** Reports that a release is awaited if it has no object of any kind: a release has objects of few kinds. */
  #reportEmptyReleases(request: WatchRequest): void {
    for (const { line, release } of this.#sourcesOf(request)) {
      const keys = this.#objects.requests.filter((each) => each.line === line).map((each) => requestKey(each.request))
      if (release !== undefined && keys.every((key) => this.#listed.has(key) && this.#withoutObjects.has(key)))
        this.#listener.onWaiting?.({ ...releaseKind, namespace: release.namespace, name: release.name })
    }
  }

  draw(now: number): boolean {
    if (this.#waitingChanges !== undefined) this.introduce(now)
    return this.#endsWhenReady && this.#gate?.isReady(now) === true
  }

  /**
   * Reports the overview and the changes before it, once the first lists have arrived.
   * @param isLast whether the lists that are missing will not come
   */
  introduce(now: number, isLast = false): void {
    const look = this.#gate?.look(now)
    if (look === undefined && !isLast && now < (this.#startedAt ?? now) + overviewMs) return
    if (look !== undefined) this.#listener.onOverview?.(look)
    for (const change of this.#waitingChanges ?? []) this.#listener.onChange(change)
    this.#waitingChanges = undefined
  }
}

/**
 * Follows a view, and draws it soon after each change and every second.
 * @returns whether the view ended by itself; false if cancelled
 * @throws UserError if objects cannot be read
 */
export async function follow(
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
