import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import type { ApiResource } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { Access, type Denial } from './access.ts'
import { type Certificate, selfSignedCertificate } from './certificate.ts'
import type { Cluster } from './cluster.ts'
import { Discovery } from './discovery.ts'
import { type FailureOptions, Failures, type SeenRequest } from './failures.ts'
import { type Answer, handle } from './handlers.ts'
import { type LogRef, LogStore } from './logs.ts'
import { BUILT_IN_RESOURCES } from './resources.ts'
import { ApiError } from './status.ts'
import { type Change, type Manifest, Store } from './store.ts'
import { resetConnection, Stream } from './stream.ts'
import type { Watch } from './watch.ts'

export interface ApiServerOptions {
  /** What the server serves at first; by default the built-in kinds. */
  resources?: readonly ApiResource[]
  /** Default `v1.34.4`. */
  version?: string
  /** False: a server before 1.27, without aggregated discovery. */
  aggregatedDiscovery?: boolean
  /** How often watches that asked for bookmarks get one; default a minute. */
  bookmarkEveryMs?: number
  /** How far the server's clock is ahead of this machine's; may be changed later. */
  clockOffsetMs?: number
  /** Bearer tokens that are let in; by default everybody is, with or without one. */
  tokens?: readonly string[]
  /** Serve https with a certificate made now, which needs the `openssl` command. */
  tls?: boolean
}

/** Names one object; the namespace of a namespaced kind is `default` when absent. */
export interface ObjectRef {
  apiVersion: string
  kind: string
  namespace?: string
  name: string
}

/** Starts a Kubernetes API server on a loopback port; `close` it when the test is over. */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const server = new ApiServer(options, options.tls ? await selfSignedCertificate() : undefined)
  await server.start()
  return server
}

/**
 * A Kubernetes API server in this process: real HTTP, a store that tests change, and the faults of real networks.
 * It serves what a client that only reads asks for; its answers follow Kubernetes 1.34.
 */
export class ApiServer {
  /** Every request since the start, in the order of arrival. */
  readonly requests: SeenRequest[] = []
  readonly store: Store
  readonly discovery: Discovery
  readonly logs: LogStore
  /** How far the server's clock (Date header, timestamps) is ahead of this machine's. */
  clockOffsetMs: number

  readonly #version: string
  readonly #access = new Access()
  readonly #failures = new Failures()
  readonly #certificate: Certificate | undefined
  readonly #bookmarkTimer: NodeJS.Timeout
  #http: Server | undefined
  #port = 0
  #tokens: ReadonlySet<string> | undefined
  #watches = new Set<Watch>()
  #streams = new Set<Stream>()
  #hanging: PromiseWithResolvers<void> | undefined
  #ignores: (request: SeenRequest) => boolean = () => false
  #expiredAs: 'event' | 'status' = 'event'
  #chunkBytes: number | undefined
  #waiting = new Set<() => void>()

  /** Use `startApiServer`. */
  constructor(options: ApiServerOptions, certificate: Certificate | undefined) {
    this.clockOffsetMs = options.clockOffsetMs ?? 0
    this.store = new Store(() => this.now())
    this.logs = new LogStore(() => this.now())
    this.discovery = new Discovery(options.resources ?? BUILT_IN_RESOURCES, options.aggregatedDiscovery ?? true)
    this.#version = options.version ?? 'v1.34.4'
    this.#certificate = certificate
    if (options.tokens) this.acceptTokens(options.tokens)
    this.store.subscribe((change) => this.#offer(change))
    this.#bookmarkTimer = setInterval(() => this.sendBookmarks(), options.bookmarkEveryMs ?? 60_000)
    this.#bookmarkTimer.unref()
  }

  get url(): string {
    return `${this.#certificate ? 'https' : 'http'}://127.0.0.1:${this.#port}`
  }

  /** The server's clock. */
  now(): Date {
    return new Date(Date.now() + this.clockOffsetMs)
  }

  /** The text of a kubeconfig (JSON, hence YAML too) whose only context, `test`, is this server. */
  kubeconfig({ token, namespace }: { token?: string; namespace?: string } = {}): string {
    const authority = this.#certificate && Buffer.from(this.#certificate.cert).toString('base64')
    const cluster = { server: this.url, ...(authority && { 'certificate-authority-data': authority }) }
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'test', cluster }],
      users: [{ name: 'test', user: { ...(token !== undefined && { token }) } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', ...(namespace && { namespace }) } }],
      'current-context': 'test',
    })
  }

  // What is in the cluster.

  /**
   * Creates or updates an object and returns it as stored. Sets uid, creation timestamp and, as the spec changes,
   * generation, where the object does not give them itself; an absent status stays as it was.
   */
  apply(manifest: Manifest): KubeObject {
    const resource = this.#resourceOf(manifest)
    const metadata = resource.namespaced ? { namespace: 'default', ...manifest.metadata } : manifest.metadata
    return this.store.apply(resource, { ...manifest, metadata })
  }

  /** Merges a patch (RFC 7386) into an object and returns it; throws when there is none. */
  patch(ref: ObjectRef, patch: object): KubeObject {
    const patched = this.store.patch(this.#resourceOf(ref), this.#namespaceOf(ref), ref.name, patch)
    return patched ?? missing(ref)
  }

  /** Deletes an object at once, finalizers or not, and returns its last state; throws when there is none. */
  remove(ref: ObjectRef): KubeObject {
    return this.store.remove(this.#resourceOf(ref), this.#namespaceOf(ref), ref.name) ?? missing(ref)
  }

  /** The object as it is now. */
  get(ref: ObjectRef): KubeObject | undefined {
    return this.store.get(this.#resourceOf(ref), this.#namespaceOf(ref), ref.name)
  }

  /** Replaces the log of a container. */
  setLog(ref: LogRef, log: string): void {
    this.logs.set(ref, log)
  }

  /** Adds to the log of a container; those who follow it see it. */
  appendLog(ref: LogRef, log: string): void {
    this.logs.append(ref, log)
  }

  /** Ends the log of a container for those who follow it, as its exit does. */
  endLog(ref: LogRef): void {
    this.logs.end(ref)
  }

  // Who may do what.

  /** Refuses some requests with 403 from now on; access reviews say so. */
  deny(denial: Denial): void {
    this.#access.deny(denial)
  }

  /** Takes every denial back. */
  allowAll(): void {
    this.#access.allowAll()
  }

  /** Answers every new request with 401, whatever its token: they have expired. */
  refuseTokens(): void {
    this.#tokens = new Set()
  }

  /** Lets in these tokens alone. */
  acceptTokens(tokens: readonly string[]): void {
    this.#tokens = new Set(tokens)
  }

  // What was asked.

  /** The watches that are open now. */
  get openWatches(): readonly { readonly plural: string; readonly url: string }[] {
    return [...this.#watches].map(({ selection, url }) => ({ plural: selection.resource.plural, url }))
  }

  /** Resolves once `condition` holds; it is looked at whenever a request arrives and a watch opens or closes. */
  until(condition: (server: this) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!condition(this)) return
        this.#waiting.delete(look)
        resolve()
      }
      this.#waiting.add(look)
      look()
    })
  }

  // What goes wrong.

  /** Resets the connections of all watches and followed logs; with `midEvent` after half an event was sent. */
  cutWatches({ midEvent = false } = {}): void {
    for (const stream of this.#streams) stream.cut(midEvent ? '{"type":"MODIFIED","object":{"kind":"' : undefined)
  }

  /** Ends all watches in order, as their timeout does. */
  endWatches(): void {
    for (const { stream } of this.#watches) stream.end()
  }

  /** Sends an ERROR event to all watches, or those of one resource, and ends them. */
  errorWatches(code: number, plural?: string): void {
    for (const watch of this.#watches) {
      if (plural === undefined || watch.selection.resource.plural === plural) {
        watch.sendError(new ApiError(code).status)
      }
    }
  }

  /** While on: requests are accepted and get no answer, open watches fall silent. Off: all that was held back is sent. */
  hang(on: boolean): void {
    if (on) this.#hanging ??= Promise.withResolvers()
    else {
      this.#hanging?.resolve()
      this.#hanging = undefined
    }
    for (const stream of this.#streams) stream.silence(on)
  }

  /** From now on, requests that match are accepted and never answered. */
  ignore(matches: (request: SeenRequest) => boolean): void {
    this.#ignores = matches
  }

  /** Fails the next `times` requests (may be `Infinity`) with an HTTP status, or with a reset connection when that is 0. */
  failNext(times: number, code: number, options: FailureOptions = {}): void {
    this.#failures.add(times, code, options)
  }

  /** Takes back every failure that is still to come. */
  stopFailing(): void {
    this.#failures.clear()
  }

  /** Forgets all changes so far: watches and pages from an older resource version get 410 Gone, in the form that is asked for. */
  compact({ as = 'event' }: { as?: 'event' | 'status' } = {}): void {
    this.store.compact()
    this.#expiredAs = as
  }

  /** Sends a bookmark to all watches that asked for them. */
  sendBookmarks(): void {
    for (const watch of this.#watches) watch.sendBookmark(this.store.revision)
  }

  /** Sends a line that is no JSON to all watches. */
  sendBrokenLine(): void {
    for (const { stream } of this.#watches) stream.write('{"type":"MODIFIED","object":{"kind":\n')
  }

  /** Sends what watches and logs have to say in chunks of so many bytes from now on, undefined: whole again. */
  splitEvents(chunkBytes: number | undefined): void {
    this.#chunkBytes = chunkBytes
    for (const stream of this.#streams) stream.chunkBytes = chunkBytes
  }

  // Its own life.

  /** Listens, after `stop` on the same port and with the same objects. */
  async start(): Promise<void> {
    const listener = (request: IncomingMessage, response: ServerResponse) => void this.#serve(request, response)
    const http = this.#certificate ? createTlsServer(this.#certificate, listener) : createServer(listener)
    http.listen(this.#port, '127.0.0.1')
    await once(http, 'listening')
    this.#port = (http.address() as AddressInfo).port
    this.#http = http
  }

  /** Closes the port and all connections; new ones are refused until `start`. */
  async stop(): Promise<void> {
    const http = this.#http
    if (!http) return
    this.#http = undefined
    const closed = once(http, 'close')
    http.close()
    http.closeAllConnections()
    await closed
  }

  /** Ends everything. */
  async close(): Promise<void> {
    clearInterval(this.#bookmarkTimer)
    await this.stop()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const seen = seenRequest(request, this.now())
    this.requests.push(seen)
    this.#look()
    await this.#hanging?.promise
    if (request.socket.destroyed || this.#ignores(seen)) return
    response.setHeader('Date', this.now().toUTCString())
    const failure = this.#failures.take(seen)
    if (failure === 'reset') {
      resetConnection(request.socket)
      return
    }
    try {
      if (failure) throw failure
      this.#authenticate(request)
      const accept = request.headers.accept ?? ''
      const answer = handle(this.#cluster, { ...seen, accept, body: await text(request) }, response)
      if (answer) send(answer, request, response)
    } catch (error) {
      const { status, retryAfterSeconds } = error instanceof ApiError ? error : new ApiError(500, String(error))
      if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', retryAfterSeconds)
      send({ body: status, code: status.code }, request, response)
    }
  }

  get #cluster(): Cluster {
    return {
      version: this.#version,
      store: this.store,
      discovery: this.discovery,
      access: this.#access,
      logs: this.logs,
      expiredAs: this.#expiredAs,
      now: () => this.now(),
      openStream: (response, contentType) => this.#openStream(response, contentType),
      openWatch: (watch) => this.#openWatch(watch),
    }
  }

  #openStream(response: ServerResponse, contentType: string): Stream {
    const stream = new Stream(response, contentType)
    stream.chunkBytes = this.#chunkBytes
    stream.silence(this.#hanging !== undefined)
    this.#streams.add(stream)
    stream.onClose(() => this.#streams.delete(stream))
    return stream
  }

  #openWatch(watch: Watch): void {
    this.#watches.add(watch)
    watch.stream.onClose(() => {
      this.#watches.delete(watch)
      this.#look()
    })
    this.#look()
  }

  #offer(change: Change): void {
    for (const watch of this.#watches) watch.offer(change)
  }

  #look(): void {
    for (const look of this.#waiting) look()
  }

  #authenticate({ headers }: IncomingMessage): void {
    const token = headers.authorization?.replace(/^Bearer /, '') ?? ''
    if (this.#tokens && !this.#tokens.has(token)) throw new ApiError(401)
  }

  #resourceOf({ apiVersion, kind }: { apiVersion: string; kind: string }): ApiResource {
    const resource = this.discovery.findKind(apiVersion, kind)
    if (resource) return resource
    throw new Error(`The server does not serve ${kind} in ${apiVersion}: add it with server.discovery.serve(…)`)
  }

  #namespaceOf(ref: ObjectRef): string {
    return this.#resourceOf(ref).namespaced ? (ref.namespace ?? 'default') : ''
  }
}

function seenRequest({ method = '', url = '', headers }: IncomingMessage, at: Date): SeenRequest {
  const { pathname, searchParams } = new URL(url, 'http://server')
  return { method, url, path: pathname, query: searchParams, headers, at }
}

function missing({ kind, namespace, name }: ObjectRef): never {
  throw new Error(`There is no ${kind} ${name} in ${namespace ?? 'default'}`)
}

/** Sends an answer, compressed as the real server does when it is large and the client can take it (KEP-156). */
function send(
  { body, contentType = 'application/json', code = 200 }: Answer,
  { headers }: IncomingMessage,
  response: ServerResponse,
): void {
  const bytes = Buffer.from(typeof body === 'string' ? body : `${JSON.stringify(body)}\n`)
  const compress = bytes.length > 128 * 1024 && /\bgzip\b/.test(String(headers['accept-encoding']))
  response.writeHead(code, { 'Content-Type': contentType, ...(compress && { 'Content-Encoding': 'gzip' }) })
  response.end(compress ? gzipSync(bytes, { level: 1 }) : bytes)
}
