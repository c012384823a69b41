import { type FeedEvent, requestKey, type WatchRequest } from '../cluster/feed.ts'
import type { KubeObject } from '../cluster/objects.ts'
import { covers } from '../cluster/store.ts'
import { matchesSelector } from '../plan/names.ts'
import { manyObjects, recentChangeMs, recentListMs } from '../thresholds.ts'

/** Which watches answered recently: with a list, or, if they have many objects, with a change of one of them. */
export class WatchAnswers {
  /** When a request was listed for the first time, or again after an outage. */
  readonly #listedAt = new Map<string, { readonly request: WatchRequest; readonly at: number }>()
  /** The recent changes, the oldest first. */
  #changes: { readonly at: number; readonly object: KubeObject }[] = []

  observe(event: FeedEvent): void {
    if (event.type === 'SYNCED' || (event.type === 'ALIVE' && event.kind !== undefined))
      this.#listedAt.set(requestKey(event), { request: event as WatchRequest, at: event.at })
    if (!('object' in event)) return
    const old = this.#changes.findIndex(({ at }) => at >= event.at - recentChangeMs)
    this.#changes.splice(0, old === -1 ? this.#changes.length : old)
    this.#changes.push(event)
  }

  /**
   * The watches that did not answer shortly before a moment, nor since then: their connections may be dead.
   * @param moment milliseconds since the epoch
   * @param needed the requests whose answers matter
   * @param watched the present watches, each of which may serve several requests
   * @param count the number of known objects of a kind in a namespace
   */
  silentAt(
    moment: number,
    needed: readonly WatchRequest[],
    watched: readonly WatchRequest[],
    count: (kind: string, namespace: string | undefined) => number,
  ): readonly WatchRequest[] {
    const listed = [...this.#listedAt.values()].flatMap(({ request, at }) =>
      at >= moment - recentListMs ? [request] : [],
    )
    const unlisted = needed.filter((each) => !listed.some((request) => covers(request, each)))
    const changed = this.#changes.filter(({ at }) => at >= moment - recentChangeMs)
    const hasChanged = (watch: WatchRequest) =>
      count(watch.kind, watch.namespace) > manyObjects && changed.some(({ object }) => contains(watch, object))
    return watched.filter((watch) => unlisted.some((each) => covers(watch, each)) && !hasChanged(watch))
  }
}

/** Whether a watch reports the changes of an object. */
function contains({ labelSelector, ...watch }: WatchRequest, { apiVersion, kind, metadata }: KubeObject): boolean {
  const { namespace, name, labels = {} } = metadata
  return (
    covers(watch, { apiVersion, kind, namespace, name }) &&
    (labelSelector === undefined || matchesSelector(labelSelector, labels))
  )
}
