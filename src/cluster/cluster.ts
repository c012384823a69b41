import { Client } from './client.ts'
import { type Clock, systemClock } from './clock.ts'
import { collectionPath, discover, findResource, serverVersion } from './discovery.ts'
import { ApiError } from './failures.ts'
import { type ApiResource, type Observation, requestKey, type WatchRequest } from './feed.ts'
import { runInitially } from './initial-requests.ts'
import { type Kubeconfig, type KubeconfigInput, loadKubeconfig } from './kubeconfig.ts'
import { type Places, usualPlaces } from './kubeconfig-document.ts'
import { asKind, listAll } from './list.ts'
import { followLog, type LogLine, type LogRequest, type LogStreamRequest, type LogTail, readLog } from './logs.ts'
import type { KubeObject } from './objects.ts'
import { createRedactor, type KnownSecrets, type Redactor } from './redact.ts'
import { Reflector, type Sink } from './reflector.ts'
import { Secrets, secretsIn } from './secrets.ts'

export interface ConnectOptions {
  readonly clock?: Clock
  /** Told of every secret, those of the kubeconfig at once, those of plugins and token files as they turn up. */
  readonly mask: (secret: string) => void
  /** What else is secret, besides what the kubeconfig holds: hidden in what comes from the cluster. */
  readonly secrets?: readonly string[]
  /** `rollout-gate/1.2.3` */
  readonly userAgent: string
  readonly places?: Places
}

/** A kind that the server does not know is looked for again no sooner than this: its CRD may just be being installed. */
const rediscoveryMs = 5_000

/**
 * Reads the kubeconfig and masks what is secret in it; nothing is asked of the cluster yet.
 * Throws a `UserError` when the kubeconfig cannot be used.
 */
export function connect(input: KubeconfigInput, options: ConnectOptions): Cluster {
  const places = options.places ?? usualPlaces
  const load = () => loadKubeconfig(input, places)
  const kubeconfig = load()
  const initial = new Secrets(shortestHidden)
  const secrets = new Secrets(shortestHidden)
  const mask = (secret: string) => {
    secrets.add(secret)
    options.mask(secret)
  }
  for (const secret of [...kubeconfig.secrets, ...(options.secrets ?? [])]) {
    initial.add(secret)
    mask(secret)
  }
  const clock = options.clock ?? systemClock
  const { userAgent } = options
  const client = new Client(kubeconfig, load, { clock, mask, userAgent, env: places.env })
  // What the cluster's Secrets contain is redacted in our output, but not masked for the rest of the job.
  const learn = (value: string) => secretsIn(value).forEach(secrets.add)
  return new Cluster(kubeconfig, client, clock, { redactText: secrets.redact, redactTemplate: initial.redact, learn })
}

/** In what the rules read, shorter secrets stay: `admin` may be a password and is a word. Whoever prints hides them too. */
const shortestHidden = 8

/** A cluster as the shells use it; everything that is asked of it is read-only. */
export class Cluster {
  readonly context: string
  /** Where references without a namespace belong: the input's, the context's, `default`. */
  readonly namespace: string
  /** Every secret of the kubeconfig, already masked. */
  readonly secrets: readonly string[]
  /** What every object goes through that comes from here; an object of the user's own can be compared after it. */
  readonly redact: Redactor
  readonly #known: KnownSecrets
  readonly #kubeconfig: Kubeconfig
  readonly #client: Client
  readonly #clock: Clock
  readonly #reflectors = new Map<string, Reflector>()
  #discovered: { readonly resources: readonly ApiResource[]; readonly at: number } | undefined
  #discovering: Promise<readonly ApiResource[]> | undefined
  #stale: readonly string[] = []
  #version: string | undefined
  #closed = false

  /** Use `connect`. */
  constructor(kubeconfig: Kubeconfig, client: Client, clock: Clock, known: KnownSecrets) {
    this.redact = createRedactor(undefined, known)
    this.#known = known
    this.context = kubeconfig.context
    this.namespace = kubeconfig.namespace
    this.secrets = kubeconfig.secrets
    this.#kubeconfig = kubeconfig
    this.#client = client
    this.#clock = clock
  }

  /** The API server's version (`v1.34.4`), once discovered and where it may be read. */
  get version(): string | undefined {
    return this.#version
  }

  get #connection() {
    const { server, context, user } = this.#kubeconfig
    return { clock: this.#clock, server, context, user }
  }

  /** Server minus this machine, in milliseconds; the more answers, the closer. */
  get serverOffsetMs(): number {
    return this.#client.serverOffsetMs
  }

  /** Group versions whose API server did not answer (`metrics.k8s.io/v1beta1`): a kind missing there may exist. */
  get staleGroups(): readonly string[] {
    return this.#stale
  }

  /**
   * The first contact: what the server serves, and its version. A server that does not answer is tried for 30 s; then,
   * and at once for refused credentials, missing access or a bad certificate, it throws a `UserError` with the reason.
   */
  async discover(): Promise<readonly ApiResource[]> {
    const forbidden = {
      action: 'read what the server serves',
      remedy: 'Bind it to the cluster role system:discovery, and to a role that may get, list and watch what is gated.',
    }
    return runInitially(this.#connection, forbidden, async () => {
      const [resources, version] = await Promise.all([this.#rediscover(), serverVersion(this.#client)])
      this.#version = version
      return resources
    })
  }

  /**
   * The objects that a selector names at the very start, before anything is watched: as patient as the first contact, and
   * throws a `UserError` for what only the user can mend, a list that is forbidden among it.
   */
  async select(request: WatchRequest): Promise<readonly KubeObject[]> {
    const { kind, labelSelector, namespace } = request
    const selector = labelSelector === undefined ? '--all' : `-l ${labelSelector}`
    const forbidden = {
      action: `list what ${kind} ${selector}${namespace === undefined ? '' : ` in namespace ${namespace}`} names`,
      remedy: 'Give it get, list and watch on what is gated, or name each object.',
    }
    return runInitially(this.#connection, forbidden, () => this.list(request))
  }

  /** The objects that a request names now. `ApiError` 404 when the server does not know the kind. */
  async list(request: WatchRequest): Promise<readonly KubeObject[]> {
    return (await listAll(this.#client, await this.#path(request), request, this.redact)).items
  }

  /** One object as it is now. `ApiError` 404 when there is none. */
  async get(reference: WatchRequest & { readonly name: string }): Promise<KubeObject> {
    const path = `${await this.#path(reference)}/${encodeURIComponent(reference.name)}`
    return this.redact(asKind((await this.#client.json(path)) as object, reference))
  }

  /** Follows a request from now on and reports to the sink; a request that is already followed goes on as it is. */
  watch(request: WatchRequest, sink: Sink): void {
    if (!this.#closed && !this.#reflectors.has(requestKey(request))) void this.#follow(request, sink).run()
  }

  /**
   * Fresh lists of followed requests. Resolves once the sinks have the differences, or why a request has none: it is
   * refused or unavailable.
   */
  async refresh(requests: readonly WatchRequest[]): Promise<void> {
    await Promise.all(requests.map((request) => this.#reflectors.get(requestKey(request))?.refresh()))
  }

  /** See `readLog`; what is known to be secret is hidden in it. */
  readLog(request: LogRequest): Promise<LogTail> {
    return readLog(this.#client, request, this.#known.redactText)
  }

  /** See `followLog`; what is known to be secret is hidden in it. */
  followLog(request: LogStreamRequest, signal: AbortSignal): Promise<AsyncIterable<LogLine>> {
    return followLog(this.#client, request, signal, this.#known.redactText)
  }

  /** Ends everything at once; nothing is told any more, and nothing keeps the process alive. */
  close(): void {
    this.#closed = true
    for (const reflector of this.#reflectors.values()) reflector.close()
    this.#client.close()
  }

  #follow(request: WatchRequest, sink: Sink, known?: KubeObject): Reflector {
    const reflector = new Reflector(request, {
      client: this.#client,
      clock: this.#clock,
      redact: this.redact,
      path: () => this.#path(request),
      redactText: this.#known.redactText,
      sink,
      onUnmatched: (object) => this.#followUnmatched(object, sink),
      ...(known === undefined ? {} : { known }),
    })
    this.#reflectors.set(requestKey(request), reflector)
    return reflector
  }

  /**
   * A watch with a label selector reports an object that stops matching as deleted (kubernetes.io/docs/reference/using-api/
   * api-concepts, "watch"). While another watch holds the object, that one reports its truth. Otherwise the object is
   * followed by its name until it is gone. Resolves once the sink knows what became of it.
   */
  async #followUnmatched(object: KubeObject, sink: Sink): Promise<void> {
    if ([...this.#reflectors.values()].some((reflector) => reflector.holds(object))) return
    const { apiVersion, kind, metadata } = object
    const { name, namespace } = metadata
    const request: WatchRequest = { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) }
    const key = requestKey(request)
    const isDeleted = () => sink({ type: 'DELETED', object })
    // It is followed by its name already, and that watch has seen it go.
    if (this.#closed || this.#reflectors.has(key)) {
      isDeleted()
      return
    }
    const report = (observation: Observation) => {
      if (observation.type === 'REFUSED' || observation.type === 'MISSING') isDeleted()
      else if ('object' in observation) sink(observation)
      if (['REFUSED', 'MISSING', 'DELETED'].includes(observation.type)) {
        this.#reflectors.delete(key)
        reflector.close()
      }
    }
    // The report carries the resource version of the change itself, which is still to be seen.
    const { resourceVersion: _, ...known } = metadata
    const reflector = this.#follow(request, report, { ...object, metadata: known })
    const answered = reflector.refresh()
    void reflector.run()
    await answered
  }

  /** The path of a request's collection. A kind that is not known is looked for again, for it may have been installed since. */
  async #path(request: WatchRequest): Promise<string> {
    const known = this.#discovered
    let resource = findResource(known?.resources ?? (await this.#rediscover()), request)
    if (!resource && known && this.#clock.now() - known.at >= rediscoveryMs) {
      resource = findResource(await this.#rediscover(), request)
    }
    if (!resource) {
      throw new ApiError(404, `the server does not know the kind ${request.kind} in ${request.apiVersion}`)
    }
    return collectionPath(resource, request.namespace)
  }

  #rediscover(): Promise<readonly ApiResource[]> {
    this.#discovering ??= discover(this.#client)
      .then(({ resources, stale }) => {
        this.#discovered = { resources, at: this.#clock.now() }
        this.#stale = stale
        return resources
      })
      .finally(() => {
        this.#discovering = undefined
      })
    return this.#discovering
  }
}
