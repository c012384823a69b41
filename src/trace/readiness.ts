import { type FeedEvent, requestKey, type WatchRequest } from '../cluster/feed.ts'
import type { KubeObject } from '../cluster/objects.ts'
import { nameKey, type Target, targetWatch } from '../plan/target.ts'
import { Trace, type TraceSettings } from './trace.ts'
import type { ViewTarget, ViewTargets } from './view-targets.ts'

interface Followed {
  readonly subject: ViewTarget
  readonly target: Target
  readonly trace: Trace
}

/**
 * Whether all objects of a view are ready, by the rules of the gate. No result is final: a failed object may become ready,
 * and a selector may match more objects later.
 */
export class Readiness {
  readonly #subjects: ViewTargets
  readonly #settings: TraceSettings
  readonly #followed = new Map<string, Followed>()
  /** The latest version of each object and the state of each watch, for the traces of objects that appear later. */
  readonly #latest = new Map<string, FeedEvent>()
  readonly #synced = new Set<ViewTarget>()

  constructor(subjects: ViewTargets, settings: TraceSettings) {
    this.#subjects = subjects
    this.#settings = settings
    for (const subject of subjects.subjects) {
      const { name, labelSelector: _, ...request } = subject.request
      if (name !== undefined) this.#follow(subject, { ...request, name, clocks: {} })
    }
  }

  /** The watches that the rules need, as far as they are known; those of the subjects are followed in any case. */
  get requests(): readonly WatchRequest[] {
    return [...this.#followed.values()].flatMap(({ subject, target, trace }) => {
      const own = requestKey(targetWatch(target))
      return trace.requests.filter((request) => subject.request.name !== undefined || requestKey(request) !== own)
    })
  }

  /** Handles one event of the feed. `request` is its watch. */
  handle(event: FeedEvent, request: WatchRequest): void {
    this.#remember(event, request)
    const selecting = this.#subjects.subjects.filter(
      (subject) => subject.request.name === undefined && requestKey(subject.request) === requestKey(request),
    )
    for (const subject of selecting) {
      if (event.type === 'SYNCED') this.#synced.add(subject)
      if ('object' in event) this.#select(subject, event.object, event.type)
    }
    for (const { trace } of this.#followed.values()) trace.handle(event)
    if (event.type === 'SYNCED') for (const each of this.#followed.values()) this.#sync(each, event.at)
  }

  /** Whether every reference matches an object, and all of them are ready. */
  isReady(now: number): boolean {
    const followed = [...this.#followed.values()]
    const lines = new Set(followed.map(({ subject }) => subject.line))
    return (
      this.#subjects.subjects.every(({ line }) => lines.has(line)) &&
      followed.every(({ trace }) => trace.state(now).traced?.assessment.status === 'ready')
    )
  }

  /** Adds an object that a selector matches; removes one that it no longer matches. */
  #select(subject: ViewTarget, object: KubeObject, type: FeedEvent['type']): void {
    const { apiVersion, kind, metadata } = object
    const key = nameKey({ apiVersion, kind, ...metadata })
    if (type === 'DELETED') {
      if (this.#followed.get(key)?.subject === subject) this.#followed.delete(key)
    } else if (!this.#followed.has(key) && !this.#subjects.isExcluded(object)) {
      const { name, namespace } = metadata
      this.#follow(subject, { apiVersion, kind, name, namespace, clocks: {} })
    }
  }

  #follow(subject: ViewTarget, target: Target): void {
    const followed = { subject, target, trace: new Trace(target, this.#settings) }
    this.#followed.set(nameKey(target), followed)
    for (const event of this.#latest.values()) followed.trace.handle(event)
    this.#sync(followed, this.#settings.startedAt)
  }

  /** The list of a selector replaces the lists of the objects that it matches. */
  #sync({ subject, target, trace }: Followed, at: number): void {
    if (this.#synced.has(subject)) trace.handle({ type: 'SYNCED', at, ...targetWatch(target) })
  }

  #remember(event: FeedEvent, request: WatchRequest): void {
    if (!('object' in event)) {
      if (event.type === 'SYNCED' || event.type === 'REFUSED' || event.type === 'MISSING')
        this.#latest.set(requestKey(request), event)
      return
    }
    const key = nameKey({ ...event.object, ...event.object.metadata })
    if (event.type === 'DELETED') this.#latest.delete(key)
    else this.#latest.set(key, event)
  }
}
