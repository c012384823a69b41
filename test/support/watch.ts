import type { ServerResponse } from 'node:http'
import type { KubeObject } from '../../src/cluster/objects.ts'
import type { Cluster } from './cluster.ts'
import { apiVersionOf, asksForMetadata, metadataOf, served } from './resources.ts'
import { revisionOf, type Selection, selects } from './selection.ts'
import { ApiError, type Status } from './status.ts'
import { type Change, collectionPath } from './store.ts'
import type { Stream } from './stream.ts'

/** An open watch: converts changes to the events of its selection. */
export class Watch {
  readonly selection: Selection
  /** Path and query of the request. */
  readonly url: string
  readonly stream: Stream
  readonly #bookmarks: boolean
  readonly #isMetadata: boolean
  readonly #since: number

  /** @param since the revision where the watch starts */
  constructor(
    selection: Selection,
    { url, accept }: { readonly url: string; readonly accept: string },
    stream: Stream,
    bookmarks: boolean,
    since = 0,
  ) {
    this.selection = selection
    this.url = url
    this.stream = stream
    this.#bookmarks = bookmarks
    this.#isMetadata = asksForMetadata(accept)
    this.#since = since
  }

  /**
   * Sends the change if it affects the selection. An object that starts to match is ADDED; one that no longer matches is
   * DELETED, with its last matching state and the revision of the change (apiserver `cacher/cache_watcher.go`).
   */
  sendChange({ type, collection, revision, object, previous }: Change): void {
    const { resource } = this.selection
    // A watch from a later revision than the present one receives nothing until then (apiserver `cacher/cache_watcher.go`).
    if (collection !== collectionPath(resource) || revision <= this.#since) return
    const before = previous !== undefined && selects(this.selection, previous)
    const now = type !== 'DELETED' && selects(this.selection, object)
    if (now) this.#event(before ? 'MODIFIED' : 'ADDED', object)
    else if (before && type === 'DELETED') this.#event('DELETED', object)
    else if (before) this.#event('DELETED', withRevision(previous, revision))
  }

  /** Sends an object that existed before the watch. */
  sendInitial(object: KubeObject): void {
    this.#event('ADDED', object)
  }

  /** Sends a bookmark if the client requested bookmarks. */
  sendBookmark(revision: number): void {
    if (!this.#bookmarks) return
    const { kind } = this.selection.resource
    this.#line('BOOKMARK', {
      kind,
      apiVersion: apiVersionOf(this.selection.resource),
      metadata: { resourceVersion: String(revision), creationTimestamp: null },
    })
  }

  /** Sends an ERROR event, which ends the watch. */
  sendError(status: Status): void {
    this.#line('ERROR', status)
    this.stream.end()
  }

  #event(type: string, object: KubeObject): void {
    this.#line(type, this.#isMetadata ? metadataOf(object) : served(this.selection.resource, object))
  }

  #line(type: string, object: object): void {
    this.stream.write(`${JSON.stringify({ type, object })}\n`)
  }
}

function withRevision(object: KubeObject, revision: number): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } }
}

/** Serves a watch: the changes since the revision of the query, then all later changes. */
export function openWatch(
  cluster: Cluster,
  selection: Selection,
  { query, url, accept }: { query: URLSearchParams; url: string; accept: string },
  response: ServerResponse,
): void {
  const { store, expiredAs } = cluster
  const { resource } = selection
  // Without a version, or from 0, a watch starts with the present objects.
  const since = revisionOf(query) || undefined
  const missed = since === undefined ? [] : store.changesSince(resource, since)
  const expired = new ApiError(410, `too old resource version: ${since} (${store.compacted})`)
  if (!missed && expiredAs === 'status') throw expired

  const stream = cluster.openStream(response, 'application/json')
  const opened = new Watch(selection, { url, accept }, stream, query.get('allowWatchBookmarks') === 'true', since)
  if (!missed) {
    opened.sendError(expired.status)
    return
  }

  const present = since === undefined ? (store.list(resource) ?? []) : []
  for (const object of present) if (selects(selection, object)) opened.sendInitial(object)
  for (const change of missed) opened.sendChange(change)
  cluster.openWatch(opened)

  const timeoutSeconds = Number(query.get('timeoutSeconds') ?? 0)
  if (timeoutSeconds > 0) {
    const timer = setTimeout(() => stream.end(), timeoutSeconds * 1000)
    stream.onClose(() => clearTimeout(timer))
  }
}
