import type { KubeObject } from './objects.ts'

/** A resource type as discovery names it (DESIGN §6, `DISCOVERY`). */
export interface ApiResource {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly singular?: string
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly namespaced: boolean
  /** A `status` subresource is declared. */
  readonly status: boolean
  readonly verbs?: readonly string[]
}

/**
 * What to watch: one kind, narrowed on the server's side by namespace and by name or label selector.
 * Two requests are the same watch when all their fields are equal.
 */
export interface WatchRequest {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string
  readonly name?: string
  readonly labelSelector?: string
}

/** One container of one pod. */
export interface ContainerRef {
  readonly namespace: string
  readonly pod: string
  readonly container: string
}

/** One log of a container. */
export interface LogRef extends ContainerRef {
  /** The log of the container's run before the last restart. */
  readonly previous: boolean
}

/** The end of a container's log, or why there is none. */
export interface LogText extends LogRef {
  readonly text: string
  /** Why the text is empty, where the log could not be read. */
  readonly why?: string
}

/** What the cluster told us, without its moment. */
export type Observation =
  | { readonly type: 'DISCOVERY'; readonly resources: readonly ApiResource[] }
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubeObject }
  /** The first list of a request is complete. Without `labelSelector` and `name` it stands for all of the kind in that namespace. */
  | ({ readonly type: 'SYNCED' } & WatchRequest)
  /** `code` is the HTTP status, 0 when there was no connection. Begins a blind spell that any other line ends. */
  | ({ readonly type: 'ERROR'; readonly code: number; readonly message: string } & Partial<WatchRequest>)
  /** The server answered after an `ERROR`, with nothing new. */
  | { readonly type: 'ALIVE' }
  | ({ readonly type: 'LOG' } & LogText)
  /** SIGINT or SIGTERM. */
  | { readonly type: 'CANCEL' }
  | { readonly type: 'END' }

/**
 * One line of the one stream that live watching, recordings and tests all feed to the gate.
 * `at`: milliseconds since the epoch on this machine's clock, never running backwards.
 */
export type FeedEvent = Observation & { readonly at: number }
