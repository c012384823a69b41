import { type FeedEvent, isFailure, requestKey, type WatchRequest } from '../cluster/feed.ts'
import { groupOf, type KubeObject, nameOf } from '../cluster/objects.ts'
import { covers } from '../cluster/store.ts'
import { matchesSelector } from '../plan/names.ts'
import { nameKey } from '../plan/target.ts'

type Report = readonly [event: FeedEvent, request: WatchRequest]

/** Turns the events of a recording into the reports that watches of other requests would have made at that time. */
export class RecordedWatches {
  readonly #requests: readonly WatchRequest[]
  /** The objects that each watch has reported, by the key of the request. */
  readonly #reported = new Map<string, Set<string>>()

  constructor(requests: readonly WatchRequest[]) {
    this.#requests = requests
    for (const request of requests) this.#reported.set(requestKey(request), new Set())
  }

  /** The reports of the watches about one event of the recording. */
  reports(event: FeedEvent): readonly Report[] {
    if ('object' in event) return this.#requests.flatMap((request) => this.#reportObject(event, request))
    if (event.type !== 'SYNCED' && event.type !== 'ALIVE' && !isFailure(event)) return []
    const { kind } = event
    return this.#requests
      .filter((request) => kind === undefined || covers(event, request))
      .map((request): Report => [{ ...event, ...request }, request])
  }

  /** If the selector of a request no longer matches an object, its watch reports the object as deleted. */
  #reportObject(event: FeedEvent & { readonly object: KubeObject }, request: WatchRequest): readonly Report[] {
    const key = nameKey(nameOf(event.object))
    const reported = this.#reported.get(requestKey(request))
    const isSelected = event.type !== 'DELETED' && selects(request, event.object)
    if (isSelected) reported?.add(key)
    else if (!reported?.delete(key)) return []
    return [[isSelected ? event : { ...event, type: 'DELETED' }, request]]
  }
}

function selects(request: WatchRequest, { apiVersion, kind, metadata }: KubeObject): boolean {
  const { namespace, name, labelSelector = '' } = request
  return (
    kind === request.kind &&
    groupOf(apiVersion) === groupOf(request.apiVersion) &&
    (namespace === undefined || namespace === metadata.namespace) &&
    (name === undefined || name === metadata.name) &&
    matchesSelector(labelSelector, metadata.labels ?? {})
  )
}
