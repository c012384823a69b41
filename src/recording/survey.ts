import { type ApiResource, type FeedEvent, isFailure, type WatchRequest } from '../cluster/feed.ts'
import { groupOf } from '../cluster/store.ts'
import { apiVersionOf } from '../plan/kinds.ts'
import { commonKinds, guessKind } from './kinds.ts'
import { readEvents } from './read.ts'
import { selects } from './selects.ts'

/**
 * What a recording says of its cluster, taken together from all of its lines: a recording that does not name its targets
 * leaves it to whoever replays it to find them.
 */
export class Survey {
  readonly #discovered: ApiResource[] = []
  /** By apiVersion and kind. */
  readonly #kinds = new Map<string, Seen>()
  readonly #namespaces = new Set<string>()
  readonly #answered = new Map<string, WatchRequest>()

  /** Takes one line. */
  observe(event: FeedEvent): void {
    if (event.type === 'DISCOVERY') {
      this.#discovered.push(...event.resources)
    } else if (event.type === 'SYNCED' || isFailure(event)) {
      const { apiVersion, kind, namespace } = event
      if (apiVersion === undefined || kind === undefined) return
      const seen = this.#seen(apiVersion, kind)
      seen.isListed ||= event.type === 'SYNCED'
      this.#place(seen, namespace)
      if (event.type !== 'SYNCED' && !(event.type === 'REFUSED' && event.what === 'access')) return
      const request = requestOf({ ...event, apiVersion, kind })
      this.#answered.set(JSON.stringify(request), request)
    } else if ('object' in event) {
      const { apiVersion, kind, metadata } = event.object
      const seen = this.#seen(apiVersion, kind)
      this.#place(seen, metadata.namespace)
      if (!seen.isListed && kind !== 'Event') seen.objects.set(metadata.name, metadata)
    }
  }

  /**
   * The requests that the server answered: completed first lists, and refusals. Of anything else nothing is to be expected:
   * it was not readable, and stays unknown from the beginning.
   */
  get answered(): readonly WatchRequest[] {
    return [...this.#answered.values()]
  }

  /**
   * The kinds that may be meant, the likeliest first: what discovery listed, the common ones that the lines name, others
   * that they name, and the rest of the common ones.
   */
  get kinds(): readonly ApiResource[] {
    const seen = [...this.#kinds.values()]
    const isSeen = (resource: ApiResource) => seen.some(({ apiVersion, kind }) => isKind(resource, apiVersion, kind))
    const known = [...this.#discovered, ...commonKinds]
    const guessed = seen
      .filter(({ apiVersion, kind }) => !known.some((each) => isKind(each, apiVersion, kind)))
      .map(({ apiVersion, kind, isNamespaced }) => guessKind(apiVersion, kind, isNamespaced))
    return [
      ...this.#discovered,
      ...commonKinds.filter(isSeen),
      ...guessed,
      ...commonKinds.filter((each) => !isSeen(each)),
    ]
  }

  /** The namespace that everything lies in; undefined when there are several or none. */
  get onlyNamespace(): string | undefined {
    return this.#namespaces.size === 1 ? [...this.#namespaces][0] : undefined
  }

  /** The names that the first list of a kind held, as far as the selector selects them. */
  namesOf({ apiVersion, kind, namespace, labelSelector = '' }: WatchRequest): readonly string[] {
    return [...this.#kinds.values()]
      .filter((seen) => seen.kind === kind && groupOf(seen.apiVersion) === groupOf(apiVersion))
      .flatMap(({ objects }) => [...objects.values()])
      .filter((object) => namespace === undefined || (object.namespace ?? namespace) === namespace)
      .filter(({ labels }) => selects(labelSelector, labels ?? {}))
      .map(({ name }) => name)
  }

  #seen(apiVersion: string, kind: string): Seen {
    const key = `${apiVersion} ${kind}`
    const known = this.#kinds.get(key)
    if (known !== undefined) return known
    const seen = { apiVersion, kind, isNamespaced: false, isListed: false, objects: new Map() }
    this.#kinds.set(key, seen)
    return seen
  }

  #place(seen: Seen, namespace: string | undefined): void {
    if (namespace === undefined) return
    seen.isNamespaced = true
    this.#namespaces.add(namespace)
  }
}

interface Seen {
  readonly apiVersion: string
  readonly kind: string
  isNamespaced: boolean
  /** Its first list is complete: what comes later is no part of a selection. */
  isListed: boolean
  readonly objects: Map<string, { name: string; namespace?: string; labels?: Record<string, string> }>
}

function requestOf({ apiVersion, kind, namespace, name, labelSelector }: WatchRequest): WatchRequest {
  return {
    apiVersion,
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
  }
}

/** Whether discovery means this kind, whatever the version. */
export function isKind(resource: ApiResource, apiVersion: string, kind: string): boolean {
  return resource.kind === kind && groupOf(apiVersionOf(resource)) === groupOf(apiVersion)
}

/** Surveys a whole recording. Of a damaged one as much as can be read: whoever replays it complains of the damage. */
export async function surveyRecording(path: string): Promise<Survey> {
  const survey = new Survey()
  for await (const event of readEvents(path, () => {})) survey.observe(event)
  return survey
}
