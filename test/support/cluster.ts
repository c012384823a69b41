import type { ServerResponse } from 'node:http'
import type { Access } from './access.ts'
import type { Discovery } from './discovery.ts'
import type { LogStore } from './logs.ts'
import type { Store } from './store.ts'
import type { Stream } from './stream.ts'
import type { Watch } from './watch.ts'

/** The state of the API server that the request handlers use. */
export interface Cluster {
  /** `gitVersion` of `/version`: `v1.34.4`. */
  readonly version: string
  readonly store: Store
  readonly discovery: Discovery
  readonly access: Access
  readonly logs: LogStore
  /** How a watch from a compacted revision fails: by an ERROR event with status 200, or by status 410. */
  readonly expiredAs: 'event' | 'status'
  now(): Date
  openStream(response: ServerResponse, contentType: string): Stream
  /** Adds a watch for later changes. */
  openWatch(watch: Watch): void
}
