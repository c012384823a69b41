import type { KindName, KubeObject } from './objects.ts'

/* The events that the gate reads from a cluster, a recording or a test, and the requests that cause these events. */

/** A resource type from discovery. */
export interface ApiResource {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly singular?: string
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly namespaced: boolean
  /** Whether discovery lists a `status` subresource for this type. */
  readonly status: boolean
  readonly verbs?: readonly string[]
}

/** The `apiVersion` and `kind` of a resource's objects: `apps/v1` and `Deployment`. */
export function kindNameOf({ group, version, kind }: Pick<ApiResource, 'group' | 'version' | 'kind'>): KindName {
  return { apiVersion: group === '' ? version : `${group}/${version}`, kind }
}

/** Finds the resource of a kind in exactly this group and version. */
export function findResource(resources: readonly ApiResource[], wanted: KindName): ApiResource | undefined {
  return resources.find((each) => each.kind === wanted.kind && kindNameOf(each).apiVersion === wanted.apiVersion)
}

/** A list or watch: objects of a kind, filtered on the server. Requests with equal fields share one watch. */
export interface WatchRequest extends KindName {
  readonly namespace?: string
  readonly name?: string
  readonly labelSelector?: string
}

/** A request for a kind that TypeScript knows, so that its objects have a type. */
export interface RequestOf<Kind extends string> extends WatchRequest {
  readonly kind: Kind
}

/**
 * A kind that exists only in the gate: a Secret without its data. Only metadata is requested, and only the fields that
 * identify the Secret are kept. The request needs the same permission as a request for Secrets.
 */
export const secretNames: KindName = { apiVersion: 'v1', kind: 'SecretName' }

/** The value of the input `context` that selects the service account of the pod in which the gate runs. */
export const inClusterContext = 'in-cluster'

/**
 * A kind that exists only in the gate: a revision of a Helm release. `web.v7` stands for the Secret
 * `sh.helm.release.v1.web.v7`. Only metadata is requested, and only the labels that Helm writes are kept.
 */
export const helmRevisions: KindName = { apiVersion: 'v1', kind: 'Helm' }

export interface ContainerRef {
  readonly namespace: string
  readonly pod: string
  readonly container: string
}

export interface LogRef extends ContainerRef {
  /** Whether this is the log from before the last restart of the container. */
  readonly previous: boolean
}

/** The last lines of a container's log, or the reason why the log could not be read. */
export interface LogText extends LogRef {
  readonly text: string
  /** The reason, if the log could not be read. Then the text is empty. */
  readonly why?: string
}

/** A failed request. Without `kind`, the failure affects every watch. `failures.ts` interprets the HTTP status. */
export interface Failure extends Partial<WatchRequest> {
  readonly type: 'ERROR'
  /** The HTTP status; 0 without an answer. */
  readonly code: number
  readonly message: string
  /** When the watch last succeeded, in milliseconds since the epoch. Set for every failure of a watch. */
  readonly lastSuccessAt?: number
  /** Whether the server refused the credentials again, after the client had read the credentials again. */
  readonly final?: boolean
}

/**
 * A pod's answer to a request of `http-checks`, or the error if there is no answer. The texts are untrusted, because
 * the pod wrote them. The body and the error are redacted.
 */
export interface Answer {
  readonly type: 'ANSWER'
  /** The index of the check among the lines of `http-checks`, counted from 0. */
  readonly check: number
  /** The name of the pod that received the request. */
  readonly pod: string
  readonly namespace?: string
  /** The HTTP status. */
  readonly status?: number
  readonly seconds?: number
  /** The first 200 characters. */
  readonly body?: string
  /** Whether the first 64 KiB of the body contain the text of `--expect-body`. Absent without this flag. */
  readonly matches?: boolean
  /** Why there is no answer. */
  readonly error?: string
  /** The value of the header `Location`, if the answer is a redirect. */
  readonly location?: string
}

/** An answer and its time of arrival, in milliseconds since the epoch. */
export type TimedAnswer = Answer & { readonly at: number }

/** An event of the feed, before the event has a time. */
export type Observation =
  | { readonly type: 'DISCOVERY'; readonly resources: readonly ApiResource[] }
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubeObject }
  /** The first list of a request is complete. */
  | ({ readonly type: 'SYNCED' } & WatchRequest)
  | Failure
  /** A watch succeeds again after a failure. Without `kind`, every watch succeeds again. */
  | ({ readonly type: 'ALIVE' } & Partial<WatchRequest>)
  | ({ readonly type: 'LOG' } & LogText)
  | Answer
  /** The process received SIGINT or SIGTERM. */
  | { readonly type: 'CANCEL' }
  /** The recording ends here, so no event is missing. */
  | { readonly type: 'END' }

/** One event of the feed. `at`: milliseconds since the epoch on this machine's clock. The times never decrease. */
export type FeedEvent = Observation & { readonly at: number }

/** Caches the key of each request: while the server is unavailable, every event reads all keys. */
const requestKeys = new WeakMap<Partial<WatchRequest>, string>()

/** The key of a request in a map. Requests with equal fields have the same key. */
export function requestKey(request: Partial<WatchRequest>): string {
  let key = requestKeys.get(request)
  if (key === undefined) {
    const { apiVersion, kind, namespace, name, labelSelector } = request
    key = JSON.stringify([apiVersion, kind, namespace, name, labelSelector])
    requestKeys.set(request, key)
  }
  return key
}

/** The requests without duplicates, in their order. */
export function distinctRequests(requests: readonly WatchRequest[]): readonly WatchRequest[] {
  return [...new Map(requests.map((request) => [requestKey(request), request])).values()]
}
