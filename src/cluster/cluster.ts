import type { Duplex } from 'node:stream'
import { maxKindErrors, rediscoveryMs } from '../thresholds.ts'
import { Client } from './client.ts'
import { type Clock, systemClock } from './clock.ts'
import {
  collectionPath,
  type Discovery,
  discover,
  findKindState,
  type KindState,
  readServerVersion,
} from './discovery.ts'
import { failureOf, isForbidden, isMethodNotSupported, isNotFound, isServerError, notFoundError } from './failures.ts'
import { type ApiResource, type Failure, findResource, requestKey, type WatchRequest } from './feed.ts'
import { type Connection, retryInitialRequests } from './initial-requests.ts'
import { type Kubeconfig, type KubeconfigInput, loadKubeconfig } from './kubeconfig.ts'
import { defaultPlaces, type KubeconfigPlaces } from './kubeconfig-file.ts'
import { type List, listCollection, selectionQuery, servedKind, withKind } from './list.ts'
import { followLog, type LogLine, type LogRequest, type LogStreamRequest, type LogTail, readLog } from './logs.ts'
import type { KindName, KubeObject, ObjectName } from './objects.ts'
import type { PodPort } from './port-forward.ts'
import { Redactor } from './redact.ts'
import { FirstLists, Reflector, type Sink } from './reflector.ts'
import { Secrets } from './secrets.ts'
import { isSupersetOf } from './store.ts'

/* Connects to a cluster, and gives access to its objects, watches and logs. */

/** Options for `connect`. */
interface ConnectOptions {
  readonly clock?: Clock
  /** If the input `kubeconfig` is empty, called with the place where `connect` found the kubeconfig. */
  readonly onSource?: (source: string) => void
  /** How long failed first requests are repeated, in milliseconds. At most `maxInitialMs`; 0 means `maxInitialMs`. */
  readonly timeoutMs?: number
  /** Collects the secrets of credentials and objects, and redacts the output of the process. */
  readonly secrets?: Secrets
  /** `rollout-gate/1.2.3` */
  readonly userAgent: string
  readonly places?: KubeconfigPlaces
  /** Whether the objects of each request are listed once and not watched. */
  readonly isSingleCheck?: boolean | undefined
}

/** Reads the kubeconfig and collects its secrets. Sends no request. Throws a `UserError` for an unusable kubeconfig. */
export function connect(input: KubeconfigInput, options: ConnectOptions): Cluster {
  const places = options.places ?? defaultPlaces
  const load = () => loadKubeconfig(input, places)
  const kubeconfig = load()
  const secrets = options.secrets ?? new Secrets()
  kubeconfig.secrets.forEach(secrets.add)
  if (kubeconfig.source !== undefined) options.onSource?.(kubeconfig.source)
  const clock = options.clock ?? systemClock
  const { userAgent } = options
  const client = new Client(kubeconfig, load, { clock, secrets, userAgent, env: places.env })
  return new Cluster(kubeconfig, client, clock, secrets, options)
}

/** A question to the API server: may these credentials do this? (SelfSubjectAccessReview, `resourceAttributes`) */
interface AccessQuestion {
  readonly verb: string
  readonly resource: string
  readonly subresource?: string
  readonly namespace: string
  readonly name?: string | undefined
}

/** Read-only access to a cluster: discovery, lists, watches, logs and port-forward. */
export class Cluster {
  readonly context: string
  /** The namespace for references without a namespace: from the input, else from the context, else `default`. */
  readonly namespace: string
  /** Redacts every object of the cluster. Manifests that the same redactor redacts can be compared with the objects. */
  readonly redactor: Redactor
  readonly #knownSecrets: Secrets
  readonly #kubeconfig: Kubeconfig
  readonly #client: Client
  readonly #clock: Clock
  readonly #initial: Pick<ConnectOptions, 'timeoutMs' | 'isSingleCheck'>
  readonly #reflectors = new Map<string, Reflector>()
  #firstLists: FirstLists
  /** The lists of whole objects that `tryListObjects` has read. */
  readonly #lists: { readonly request: WatchRequest; readonly list: List }[] = []
  #discovered: (Discovery & { readonly at: number }) | undefined
  #discovering: Promise<Discovery> | undefined
  #version: string | undefined
  #closed = false

  /** Only for `connect`. */
  constructor(
    kubeconfig: Kubeconfig,
    client: Client,
    clock: Clock,
    secrets: Secrets,
    initial: Pick<ConnectOptions, 'timeoutMs' | 'isSingleCheck'> = {},
  ) {
    this.redactor = new Redactor(undefined, secrets)
    this.#knownSecrets = secrets
    this.context = kubeconfig.context
    this.namespace = kubeconfig.namespace
    this.#kubeconfig = kubeconfig
    this.#client = client
    this.#clock = clock
    this.#initial = initial
    this.#firstLists = new FirstLists(clock)
  }

  /** The version of the API server (`v1.34.4`). Undefined before discovery, or if the version cannot be read. */
  get version(): string | undefined {
    return this.#version
  }

  get #connection(): Connection {
    return { ...this.#kubeconfig, ...this.#initial, clock: this.#clock }
  }

  /** Server time minus local time, in milliseconds. Each answer of the server makes the value more exact. */
  get serverOffsetMs(): number {
    return this.#client.serverOffsetMs
  }

  /**
   * Reads the resource types and the version of the server. While the server does not answer, repeats the requests for
   * up to `maxInitialMs`. Then throws a `UserError`. Refused credentials, denied access or a bad certificate fail at
   * once.
   */
  async discover(): Promise<readonly ApiResource[]> {
    const forbidden = {
      action: 'read the API resources',
      remedy:
        'Bind the user to the ClusterRole system:discovery, and to a role that may get, list and watch the gated resources.',
    }
    return retryInitialRequests(this.#connection, forbidden, async () => {
      const [{ resources }, version] = await Promise.all([this.#repeatDiscovery(), readServerVersion(this.#client)])
      this.#version = version
      return resources
    })
  }

  /**
   * Lists the objects at the start of the gate. Retries while the server does not answer, for up to `maxInitialMs`.
   * Throws a `UserError` after this time, or at once for a permanent error, such as 403.
   */
  async listObjects(request: WatchRequest): Promise<readonly KubeObject[]> {
    const { kind, labelSelector, namespace } = request
    const selector = labelSelector === undefined ? '--all' : `-l ${labelSelector}`
    const forbidden = {
      action: `list ${kind} ${selector}${namespace === undefined ? '' : ` in namespace ${namespace}`}`,
      remedy: 'Grant get, list and watch on the gated resources.',
    }
    return (await retryInitialRequests(this.#connection, forbidden, () => this.#list(request))).items
  }

  /**
   * Lists the objects of a request like `listObjects`, or only their metadata. A later watch of the same objects starts
   * from this list if it contains whole objects.
   * @returns undefined if the list is forbidden, or after `maxKindErrors` server errors
   */
  async tryListObjects(request: WatchRequest, metadataOnly: boolean): Promise<readonly KubeObject[] | undefined> {
    const forbidden = { action: `list ${request.kind}`, remedy: '' }
    let errors = 0
    const list = await retryInitialRequests(this.#connection, forbidden, async () => {
      try {
        return await this.#list(request, metadataOnly)
      } catch (error) {
        if (isNotFound(error) || isMethodNotSupported(error)) return { items: [], resourceVersion: '' }
        if (isForbidden(error) || (isServerError(error) && ++errors >= maxKindErrors)) return undefined
        throw error
      }
    })
    if (list !== undefined && !metadataOnly) this.#lists.push({ request, list })
    return list?.items
  }

  /** Lists the objects of a request once. Rejects with a 404 if the server does not serve the kind. */
  async #list(request: WatchRequest, metadataOnly?: boolean): Promise<List> {
    const path = await this.#collectionPath(request)
    return listCollection(this.#client, path, request, this.redactor.redact, { metadataOnly })
  }

  /** Reads one object. Rejects with a 404 if the object does not exist. */
  async get(reference: ObjectName): Promise<KubeObject> {
    const path = `${await this.#collectionPath(reference)}/${encodeURIComponent(reference.name)}`
    return this.redactor.redact(withKind((await this.#client.requestJson(path)) as object, reference))
  }

  /** Reads one object of each request, and a log if it is a pod. Returns what is forbidden. Ignores other failures. */
  async findDeniedAccess(requests: readonly WatchRequest[]): Promise<readonly Failure[]> {
    const readObject = async (request: WatchRequest) => {
      const query = new URLSearchParams({ ...selectionQuery(request), limit: '1' })
      await this.#client.requestJson(`${await this.#collectionPath(request)}?${query}`)
    }
    // The server checks the permission first, so the pod need not exist.
    const name = 'rollout-gate'
    const readLogIn = (namespace: string) =>
      readLog(this.#client, { namespace, pod: name, container: name, previous: false, tailLines: 1 })
    const logs = requests.flatMap(({ apiVersion, kind, namespace = 'default' }) =>
      kind === 'Pod' ? [{ apiVersion, kind, namespace, name }] : [],
    )
    const reads = [
      ...requests.map((request) => [request, readObject(request)] as const),
      ...logs.map((request) => [request, readLogIn(request.namespace)] as const),
    ]
    const denials = reads.map(([request, read]) =>
      read.then(
        () => [],
        (error) => (isForbidden(error) ? [failureOf(error, request)] : []),
      ),
    )
    return (await Promise.all(denials)).flat()
  }

  /** Watches the objects of a request and reports changes to the sink. Ignores a request that is already watched. */
  watch(request: WatchRequest, sink: Sink): void {
    const wide = this.#lists.find((each) => isSupersetOf(each.request, request))
    const watched = wide?.request ?? request
    if (this.#closed || this.#reflectors.has(requestKey(watched))) return
    const reflector = new Reflector(watched, {
      client: this.#client,
      clock: this.#clock,
      redactor: this.redactor,
      path: () => this.#collectionPath(watched),
      kindState: () => this.#kindState(watched),
      sink,
      isWatchedElsewhere: (object) => [...this.#reflectors.values()].some((other) => other.hasObject(object)),
      firstLists: this.#firstLists,
      isSingleCheck: this.#initial.isSingleCheck,
      firstList: wide?.list,
    })
    this.#reflectors.set(requestKey(watched), reflector)
    void reflector.run()
  }

  /** Lists watched objects again. Resolves once the sinks have received the differences, or the failure of a list. */
  async refresh(requests: readonly WatchRequest[]): Promise<void> {
    await Promise.all(requests.map((request) => this.#reflectors.get(requestKey(request))?.refresh()))
  }

  /** See `readLog`. All known secrets are redacted before a long log is cut. */
  readLog(request: LogRequest): Promise<LogTail> {
    return readLog(this.#client, request, this.#knownSecrets.redact)
  }

  /** See `followLog`. All known secrets are redacted before a long line is cut. */
  followLog(request: LogStreamRequest, signal: AbortSignal): Promise<AsyncIterable<LogLine>> {
    return followLog(this.#client, request, signal, this.#knownSecrets.redact)
  }

  /** See `forwardPort`. */
  async forwardPort(port: PodPort, signal: AbortSignal): Promise<Duplex> {
    // Loaded on first use: a gate without `http-checks` starts faster.
    const { forwardPort } = await import('./port-forward.ts')
    return forwardPort(this.#client, port, signal)
  }

  /** Whether the credentials permit this access; undefined if the server does not support the question. */
  async isPermitted(access: AccessQuestion): Promise<boolean | undefined> {
    const spec = { resourceAttributes: access }
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec }
    try {
      const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
      const { status } = Object(await this.#client.requestJson(path, { post: review })) as {
        status?: { allowed?: unknown }
      }
      return status?.allowed === true
    } catch (error) {
      if (isForbidden(error) || isNotFound(error) || isMethodNotSupported(error)) return undefined
      throw error
    }
  }

  /**
   * Sends requests at the start of the gate. While the server does not answer, repeats the requests like `discover`.
   * @throws UserError
   */
  retryInitialRequests<T>(requests: () => Promise<T>): Promise<T> {
    return retryInitialRequests(this.#connection, { action: 'use the API', remedy: '' }, requests)
  }

  /** Ends all watches. No sink is called again. */
  endWatches(): void {
    for (const reflector of this.#reflectors.values()) reflector.close()
    this.#reflectors.clear()
    this.#firstLists = new FirstLists(this.#clock)
  }

  /** Ends all requests and watches. No sink is called again. */
  close(): void {
    this.#closed = true
    this.endWatches()
    this.#client.close()
  }

  /** The path of a request's collection. */
  async #collectionPath(request: WatchRequest): Promise<string> {
    const kind = servedKind(request)
    const resource = findResource((await this.#findDiscovery(kind)).resources, kind)
    if (!resource) {
      throw notFoundError(`the server does not have the kind ${request.kind} in ${request.apiVersion}`)
    }
    if (hasWrongScope(resource, request)) throw notFoundError(`${request.kind} ${request.name} is not in that scope`)
    return collectionPath(resource, request.namespace)
  }

  /** The kinds of the server. If they lack a kind, they are read again after `rediscoveryMs`: the CRD may be new. */
  async #findDiscovery(kind: KindName): Promise<Discovery> {
    const known = this.#discovered
    const isKnown = known !== undefined && (this.#isRecent(known) || findResource(known.resources, kind) !== undefined)
    return isKnown ? known : this.#repeatDiscovery()
  }

  #isRecent({ at }: { readonly at: number }): boolean {
    return this.#clock.now() - at < rediscoveryMs
  }

  /** Whether the server has a kind. Discovery is repeated, unless recent discovery shows that the kind is missing. */
  async #kindState(request: WatchRequest): Promise<KindState> {
    const known = this.#discovered
    const kind = servedKind(request)
    const resource = known && findResource(known.resources, kind)
    if (resource !== undefined && hasWrongScope(resource, request)) return 'gone'
    const isMissing = known !== undefined && resource === undefined && this.#isRecent(known)
    return findKindState(isMissing ? known : await this.#repeatDiscovery(), kind)
  }

  #repeatDiscovery(): Promise<Discovery> {
    this.#discovering ??= discover(this.#client)
      .then((discovery) => {
        this.#discovered = { ...discovery, at: this.#clock.now() }
        return discovery
      })
      .finally(() => {
        this.#discovering = undefined
      })
    return this.#discovering
  }
}

/**
 * Whether a request has a name, but the wrong scope: a namespaced kind without a namespace, or a cluster-scoped kind
 * with a namespace. No object matches such a request. Custom resources may contain such references.
 */
function hasWrongScope({ namespaced }: ApiResource, { name, namespace }: WatchRequest): boolean {
  return name !== undefined && namespaced !== (namespace !== undefined)
}
