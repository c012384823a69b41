import { type FeedEvent, requestKey, type WatchRequest } from '../cluster/feed.ts'
import { nameOf } from '../cluster/objects.ts'
import { Gate } from '../gate/gate.ts'
import { lookAt } from '../gate/look.ts'
import { type GateSettings, viewSettings } from '../gate/settings.ts'
import type { Timeline } from '../gate/timeline.ts'
import { nameKey, type Target } from '../plan/target.ts'
import { type FollowedObjects, type FollowedRequest, isMeant } from './view-targets.ts'

/**
 * The objects of a view, judged by one endless gate: a failed object may become ready. When a selector matches a further
 * object, or no longer matches one, a new gate judges the objects by the latest events.
 */
export class FollowedGate {
  readonly #objects: FollowedObjects
  readonly #settings: GateSettings
  readonly #willSync: (request: WatchRequest) => boolean
  readonly #followed = new Map<string, { readonly source: FollowedRequest; readonly target: Target }>()
  /** The latest event of each object and each watch, in the order of their arrival: the next gate needs them. */
  readonly #latest = new Map<string, FeedEvent>()
  #gate: Gate
  /** Whether the gate no longer judges exactly the objects that the view follows. */
  #isOutdated = false

  /** @param willSync whether the first list of a request is expected (see Store); by default, all are watched */
  constructor(
    objects: FollowedObjects,
    settings: GateSettings,
    willSync: (request: WatchRequest) => boolean = () => true,
  ) {
    this.#willSync = willSync
    this.#objects = objects
    this.#settings = viewSettings(settings)
    for (const source of objects.requests) {
      const { apiVersion, kind, namespace, name } = source.request
      if (name !== undefined) this.#follow(source, { apiVersion, kind, namespace, name, clocks: {} })
    }
    this.#gate = this.#createGate()
  }

  /** The watches that the rules need at present. */
  get requests(): readonly WatchRequest[] {
    return this.#gate.requests
  }

  handle(event: FeedEvent): void {
    this.#keepLatest(event)
    if (!this.#isOutdated) this.#gate.handle(event)
  }

  /** Handles an event of the watch of a selector: the selector may match an object now, or match it no longer. */
  select(event: FeedEvent, request: WatchRequest): void {
    if (!('object' in event)) return
    const key = requestKey(request)
    for (const source of this.#objects.requests)
      if (source.request.name === undefined && requestKey(source.request) === key && isMeant(source, event.object))
        this.#select(source, event)
  }

  /** Whether every reference matches an object, and all objects are ready. */
  isReady(now: number): boolean {
    const lines = new Set([...this.#followed.values()].map(({ source }) => source.line))
    if (!this.#objects.requests.every(({ line }) => lines.has(line))) return false
    return this.#gateAt(now)
      .timeline(now)
      .targets.every(({ outcome }) => outcome === 'ready')
  }

  /** The state of the objects; undefined until all first lists have arrived. */
  look(now: number): Timeline | undefined {
    const gate = this.#gateAt(now)
    return gate.isComplete ? lookAt(gate, now) : undefined
  }

  #gateAt(now: number): Gate {
    if (this.#isOutdated) this.#gate = this.#createGate()
    this.#gate.advance(now)
    return this.#gate
  }

  #createGate(): Gate {
    this.#isOutdated = false
    const targets = [...this.#followed.values()].map(({ target }) => target)
    const gate = new Gate(targets, this.#settings, this.#willSync)
    for (const event of this.#latest.values()) gate.handle(event)
    return gate
  }

  /** Adds an object that a selector matches, or removes one that it no longer matches. */
  #select(source: FollowedRequest, { object, type }: FeedEvent & { type: 'ADDED' | 'MODIFIED' | 'DELETED' }): void {
    const name = nameOf(object)
    const followed = this.#followed.get(nameKey(name))
    if (type !== 'DELETED') {
      if (followed === undefined && !this.#objects.isExcluded(object)) this.#follow(source, { ...name, clocks: {} })
    } else if (followed?.source === source) {
      this.#followed.delete(nameKey(name))
      this.#isOutdated = true
    }
  }

  #follow(source: FollowedRequest, target: Target): void {
    this.#followed.set(nameKey(target), { source, target })
    this.#isOutdated = true
  }

  #keepLatest(event: FeedEvent): void {
    const key =
      'object' in event
        ? nameKey(nameOf(event.object))
        : event.type === 'SYNCED' || event.type === 'REFUSED' || event.type === 'MISSING'
          ? requestKey(event)
          : undefined
    if (key === undefined) return
    this.#latest.delete(key)
    if (event.type !== 'DELETED') this.#latest.set(key, event)
  }
}
