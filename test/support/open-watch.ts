import type { ServerResponse } from 'node:http'
import type { Cluster } from './cluster.ts'
import { revisionOf, type Selection, selects } from './selection.ts'
import { ApiError } from './status.ts'
import { Watch } from './watch.ts'

/** Answers a watch: what changed since the revision that the query names, then all that changes. */
export function openWatch(
  cluster: Cluster,
  selection: Selection,
  { query, url }: { query: URLSearchParams; url: string },
  response: ServerResponse,
): void {
  const { store, expiredAs } = cluster
  const { resource } = selection
  // Without a version, or from 0, a watch begins with what there is.
  const since = revisionOf(query) || undefined
  const missed = since === undefined ? [] : store.changesSince(resource, since)
  const expired = new ApiError(410, `too old resource version: ${since} (${store.compacted})`)
  if (!missed && expiredAs === 'status') throw expired

  const stream = cluster.openStream(response, 'application/json')
  const opened = new Watch(selection, url, stream, query.get('allowWatchBookmarks') === 'true')
  if (!missed) {
    opened.sendError(expired.status)
    return
  }

  const present = since === undefined ? (store.list(resource) ?? []) : []
  for (const object of present) if (selects(selection, object)) opened.sendInitial(object)
  for (const change of missed) opened.offer(change)
  cluster.openWatch(opened)

  const timeoutSeconds = Number(query.get('timeoutSeconds') ?? 0)
  if (timeoutSeconds > 0) {
    const timer = setTimeout(() => stream.end(), timeoutSeconds * 1000)
    stream.onClose(() => clearTimeout(timer))
  }
}
