import { type FeedEvent, requestKey, type WatchRequest } from '../cluster/feed.ts'
import { type KubeObject, nameOf } from '../cluster/objects.ts'
import { nameKey, type Target, targetWatch } from '../plan/target.ts'
import { Trace, type TraceSettings } from './trace.ts'
import type { FollowedObjects, FollowedRequest } from './view-targets.ts'

/** An object with the request that returned it. */
interface Followed {
  readonly source: FollowedRequest
  readonly target: Target
  readonly trace: Trace
}

/**
 * Whether all objects of a view are ready by the rules of the gate. No result is final: a failed object may become ready,
 * and a selector may match more objects later.
 */
export class Readiness {
  readonly #objects: FollowedObjects
  readonly #settings: TraceSettings
  readonly #followed = new Map<string, Followed>()
  /** The latest event of each object and each watch. The trace of an object that appears later needs them. */
  readonly #latest = new Map<string, FeedEvent>()
  readonly #synced = new Set<FollowedRequest>()

  constructor(objects: FollowedObjects, settings: TraceSettings) {
    this.#objects = objects
    this.#settings = settings
    for (const source of objects.requests) {
      const { apiVersion, kind, namespace, name } = source.request
      if (name !== undefined) this.#follow(source, { apiVersion, kind, namespace, name, clocks: {} })
    }
  }

  /**
   * The watches that the rules need at present. Objects of a selector need no watch of their own: the selector's watch
   * reports them.
   */
  get requests(): readonly WatchRequest[] {
    return [...this.#followed.values()].flatMap(({ source, target, trace }) => {
      const own = requestKey(targetWatch(target))
      return trace.requests.filter((request) => source.request.name !== undefined || requestKey(request) !== own)
    })
  }

  /** @param request the watch that reported the event */
  handle(event: FeedEvent, request: WatchRequest): void {
    this.#keepLatest(event, request)
    const selectors = this.#objects.requests.filter(
      (source) => source.request.name === undefined && requestKey(source.request) === requestKey(request),
    )
    for (const source of selectors) {
      if (event.type === 'SYNCED') this.#synced.add(source)
      if ('object' in event) this.#select(source, event.object, event.type)
    }
    for (const { trace } of this.#followed.values()) trace.handle(event)
    if (event.type === 'SYNCED') for (const each of this.#followed.values()) this.#syncSelected(each, event.at)
  }

  /** Whether every reference matches an object, and all objects are ready. */
  isReady(now: number): boolean {
    const followed = [...this.#followed.values()]
    const lines = new Set(followed.map(({ source }) => source.line))
    return (
      this.#objects.requests.every(({ line }) => lines.has(line)) &&
      followed.every(({ trace }) => trace.state(now).traced?.assessment.status === 'ready')
    )
  }

  /** Adds an object that a selector matches, or removes one that it no longer matches. */
  #select(source: FollowedRequest, object: KubeObject, type: FeedEvent['type']): void {
    const name = nameOf(object)
    const key = nameKey(name)
    if (type === 'DELETED') {
      if (this.#followed.get(key)?.source === source) this.#followed.delete(key)
    } else if (!this.#followed.has(key) && !this.#objects.isExcluded(object)) {
      this.#follow(source, { ...name, clocks: {} })
    }
  }

  #follow(source: FollowedRequest, target: Target): void {
    const followed = { source, target, trace: new Trace(target, this.#settings) }
    this.#followed.set(nameKey(target), followed)
    for (const event of this.#latest.values()) followed.trace.handle(event)
    this.#syncSelected(followed, this.#settings.startedAt)
  }

  /** When a selector's list is complete, the list of each matching object is complete too. */
  #syncSelected({ source, target, trace }: Followed, at: number): void {
    if (this.#synced.has(source)) trace.handle({ type: 'SYNCED', at, ...targetWatch(target) })
  }

  #keepLatest(event: FeedEvent, request: WatchRequest): void {
    if ('object' in event) {
      const key = nameKey(nameOf(event.object))
      if (event.type === 'DELETED') this.#latest.delete(key)
      else this.#latest.set(key, event)
    } else if (event.type === 'SYNCED' || event.type === 'REFUSED' || event.type === 'MISSING') {
      this.#latest.set(requestKey(request), event)
    }
  }
}
