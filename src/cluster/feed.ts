import type { KindName, KubeObject } from './objects.ts'

/* The events that a gate reads, from a cluster, a recording or a test, and the requests that they answer. */

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

/** The kind of a resource's objects: `apps/v1` and `Deployment`. */
export function kindNameOf({ group, version, kind }: Pick<ApiResource, 'group' | 'version' | 'kind'>): KindName {
  return { apiVersion: group === '' ? version : `${group}/${version}`, kind }
}

/** The resource of a kind, in exactly this group and version. */
export function findResource(resources: readonly ApiResource[], wanted: KindName): ApiResource | undefined {
  return resources.find((each) => each.kind === wanted.kind && kindNameOf(each).apiVersion === wanted.apiVersion)
}

/**
 * What one watch reads: objects of a kind, which the server filters by namespace, and by name or label selector.
 * Two requests with equal fields are the same watch.
 */
export interface WatchRequest extends KindName {
  readonly namespace?: string
  readonly name?: string
  readonly labelSelector?: string
}

/** A request whose kind is known to the compiler. */
export interface RequestOf<Kind extends string> extends WatchRequest {
  readonly kind: Kind
}

/**
 * A kind that only the gate uses: the name of a Secret. Only metadata is requested, so that the server sends no data,
 * and only the fields that identify the Secret are kept. The request needs the same permission as for Secrets.
 */
export const secretNames: KindName = { apiVersion: 'v1', kind: 'SecretName' }

/** The value of the input `context` that selects the service account of the pod in which the gate runs. */
export const inClusterContext = 'in-cluster'

/**
 * A kind that only the gate uses: a revision of a Helm release, `web.v7` for the Secret `sh.helm.release.v1.web.v7`.
 * Only the metadata of these Secrets is requested, and only the labels that Helm writes are kept.
 */
export const helmRevisions: KindName = { apiVersion: 'v1', kind: 'Helm' }

export interface ContainerRef {
  readonly namespace: string
  readonly pod: string
  readonly container: string
}

export interface LogRef extends ContainerRef {
  /** Whether this is the log of the run before the last restart. */
  readonly previous: boolean
}

/** The last lines of a container's log, or the reason why there are none. */
export interface LogText extends LogRef {
  readonly text: string
  /** Why the text is empty, if the log could not be read. */
  readonly why?: string
}

/**
 * A failed request; without `kind` the failure concerns every watch.
 * Recordings contain it as a line of type `ERROR` with the HTTP status.
 */
export type Failure = { readonly message: string } & Partial<WatchRequest> &
  (
    | {
        /** No answer, or a server error. */
        readonly type: 'UNAVAILABLE'
        /** The HTTP status; 0 without an answer. */
        readonly code: number
        /** When the watch last succeeded, in milliseconds since the epoch. Every failure of a watch has it. */
        readonly lastSuccessAt?: number
      }
    | {
        readonly type: 'REFUSED'
        /** The server does not accept the credentials (401), or they do not permit the request (403). */
        readonly what: 'credentials' | 'access'
        /** The credentials were refused, read again, and refused again. */
        readonly final: boolean
      }
    /** The kind or the object does not exist on the server (404). */
    | { readonly type: 'MISSING' }
  )

/**
 * The answer to a request of `http-checks`, or why there is none. Its texts come from the pod and are untrusted; the
 * body and the error are redacted.
 */
export interface Answer {
  readonly type: 'ANSWER'
  /** Index of the line among `http-checks`, counted from 0. */
  readonly check: number
  /** The pod that was asked, and its namespace. */
  readonly pod: string
  readonly namespace?: string
  /** The HTTP status. */
  readonly status?: number
  readonly seconds?: number
  /** The first 200 characters. */
  readonly body?: string
  /** Whether the first 64 KiB of the body contain the text of `--expect-body`; absent without it. */
  readonly matches?: boolean
  /** Why there is no answer. */
  readonly error?: string
  /** The header `Location` of a redirect. */
  readonly location?: string
}

/** An answer with the time of its arrival: milliseconds since the epoch. */
export type TimedAnswer = Answer & { readonly at: number }

/** An event of the feed without its time. */
export type Observation =
  | { readonly type: 'DISCOVERY'; readonly resources: readonly ApiResource[] }
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubeObject }
  /** The first list of a request is complete. Without `labelSelector` and `name`, the list contains the whole namespace. */
  | ({ readonly type: 'SYNCED' } & WatchRequest)
  | Failure
  /** A watch recovered after `UNAVAILABLE` or `REFUSED`. Without `kind`, every watch recovered. */
  | ({ readonly type: 'ALIVE' } & Partial<WatchRequest>)
  | ({ readonly type: 'LOG' } & LogText)
  | Answer
  /** The process received SIGINT or SIGTERM. */
  | { readonly type: 'CANCEL' }
  /** The recording is complete. */
  | { readonly type: 'END' }

/**
 * One event of the feed: the input of the gate, from a live cluster, a recording or a test.
 * `at`: milliseconds since the epoch on this machine's clock, never decreasing.
 */
export type FeedEvent = Observation & { readonly at: number }

/** Caches the key of each request: during an outage, all keys are read after each event. */
const requestKeys = new WeakMap<Partial<WatchRequest>, string>()

/** A key for maps: two requests for the same objects have the same key. */
export function requestKey(request: Partial<WatchRequest>): string {
  let key = requestKeys.get(request)
  if (key === undefined) {
    const { apiVersion, kind, namespace, name, labelSelector } = request
    key = JSON.stringify([apiVersion, kind, namespace, name, labelSelector])
    requestKeys.set(request, key)
  }
  return key
}

/** The requests without repetitions, in the order of their first occurrence. */
export function distinctRequests(requests: readonly WatchRequest[]): readonly WatchRequest[] {
  return [...new Map(requests.map((request) => [requestKey(request), request])).values()]
}

/** Whether the credentials do not permit a request (403). */
export function isAccessDenied<E extends Observation>(event: E): event is E & { readonly type: 'REFUSED' } {
  return event.type === 'REFUSED' && event.what === 'access'
}

export function isFailure<E extends Observation>(event: E): event is E & Failure {
  return event.type === 'UNAVAILABLE' || event.type === 'REFUSED' || event.type === 'MISSING'
}
