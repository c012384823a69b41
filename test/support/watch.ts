import type { KubeObject } from '../../src/cluster/objects.ts'
import { type Selection, selects } from './selection.ts'
import type { Status } from './status.ts'
import { type Change, collectionPath } from './store.ts'
import type { Stream } from './stream.ts'
import { apiVersionOf, served } from './versions.ts'

/** One open watch: turns changes into the events that its selection sees. */
export class Watch {
  readonly selection: Selection
  /** Path and query of the request. */
  readonly url: string
  readonly stream: Stream
  readonly #bookmarks: boolean

  constructor(selection: Selection, url: string, stream: Stream, bookmarks: boolean) {
    this.selection = selection
    this.url = url
    this.stream = stream
    this.#bookmarks = bookmarks
  }

  /**
   * Sends the change if the selection sees it. An object that begins to match is ADDED, one that no longer
   * matches is DELETED: its last matching state, with the revision of the change (apiserver `cacher/cache_watcher.go`).
   */
  offer({ type, collection, revision, object, previous }: Change): void {
    const { resource } = this.selection
    if (collection !== collectionPath(resource)) return
    const before = previous !== undefined && selects(this.selection, previous)
    const now = type !== 'DELETED' && selects(this.selection, object)
    if (now) this.#event(before ? 'MODIFIED' : 'ADDED', object)
    else if (before && type === 'DELETED') this.#event('DELETED', object)
    else if (before) this.#event('DELETED', withRevision(previous, revision))
  }

  /** Sends an object that was there before the watch began. */
  sendInitial(object: KubeObject): void {
    this.#event('ADDED', object)
  }

  /** Tells how far the watch has come, if the client asked for that. */
  sendBookmark(revision: number): void {
    if (!this.#bookmarks) return
    const { kind } = this.selection.resource
    this.#line('BOOKMARK', {
      kind,
      apiVersion: apiVersionOf(this.selection.resource),
      metadata: { resourceVersion: String(revision), creationTimestamp: null },
    })
  }

  /** Sends an ERROR event, after which a watch is over. */
  sendError(status: Status): void {
    this.#line('ERROR', status)
    this.stream.end()
  }

  #event(type: string, object: KubeObject): void {
    this.#line(type, served(this.selection.resource, object))
  }

  #line(type: string, object: object): void {
    this.stream.write(`${JSON.stringify({ type, object })}\n`)
  }
}

function withRevision(object: KubeObject, revision: number): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } }
}
