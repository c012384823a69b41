import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import type { ApiResource } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { Access, type Denial } from './access.ts'
import { type Certificate, selfSignedCertificate } from './certificates.ts'
import type { Cluster } from './cluster.ts'
import { Discovery } from './discovery.ts'
import { type FailureOptions, Failures, type ReceivedRequest } from './failures.ts'
import { type Answer, handle } from './handlers.ts'
import { type LogRef, LogStore } from './logs.ts'
import { forwardedPod, PodPorts } from './pod-ports.ts'
import { BUILT_IN_RESOURCES } from './resources.ts'
import { ApiError } from './status.ts'
import { type Change, type Manifest, Store } from './store.ts'
import { resetConnection, Stream } from './stream.ts'
import type { Watch } from './watch.ts'

export interface ApiServerOptions {
  /** The served resources; by default the built-in kinds. */
  resources?: readonly ApiResource[]
  /** Default `v1.34.4`. */
  version?: string
  /** Interval of bookmarks, for watches that requested them; default one minute. */
  bookmarkEveryMs?: number
  /** How far the server's clock is ahead of this machine's; may be changed later. */
  clockOffsetMs?: number
  /** Accepted bearer tokens; by default all requests are accepted, also without a token. */
  tokens?: readonly string[]
  /** Serve https with a new certificate; needs the `openssl` command. */
  tls?: boolean
}

/** Identifies one object; for a namespaced kind the default namespace is `default`. */
export interface ObjectRef {
  apiVersion: string
  kind: string
  namespace?: string
  name: string
}

/** Answers a request itself, or leaves it to the server; it may change the response or wait before. */
export type Intercept = (
  request: ReceivedRequest,
  response: ServerResponse,
) => 'answered' | 'answer' | Promise<'answered' | 'answer'>

/** Starts a Kubernetes API server on a loopback port; the test must `close` it. */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const server = new ApiServer(options, options.tls ? await selfSignedCertificate() : undefined)
  await server.start()
  return server
}

/**
 * A Kubernetes API server in this process: real HTTP, a store that tests change, and faults as in real networks.
 * Serves only read requests; responses follow Kubernetes 1.34.
 */
export class ApiServer {
  /** All requests since the start, in the order of arrival. */
  readonly requests: ReceivedRequest[] = []
  readonly store: Store
  readonly discovery: Discovery
  readonly logs: LogStore
  /** The ports that `portforward` and `proxy` lead to. */
  readonly ports = new PodPorts()
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
  #ignores: (request: ReceivedRequest) => boolean = () => false
  #intercepts: Intercept = () => 'answer'
  #expiredAs: 'event' | 'status' = 'event'
  #chunkBytes: number | undefined
  #waiting = new Set<() => void>()

  /** Use `startApiServer`. */
  constructor(options: ApiServerOptions, certificate: Certificate | undefined) {
    this.clockOffsetMs = options.clockOffsetMs ?? 0
    this.store = new Store(() => this.now())
    this.logs = new LogStore(() => this.now())
    this.discovery = new Discovery(options.resources ?? BUILT_IN_RESOURCES)
    this.#version = options.version ?? 'v1.34.4'
    this.#certificate = certificate
    if (options.tokens) this.acceptTokens(options.tokens)
    this.store.subscribe((change) => this.#sendChange(change))
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

  /** A kubeconfig in JSON, valid as YAML, with one context, `test`, for this server. */
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

  // Objects and logs.

  /**
   * Creates or updates an object and returns the stored object. Sets uid, creation timestamp and, if the spec changes,
   * generation, unless the object contains them; an object without a status keeps the previous status.
   */
  apply(manifest: Manifest): KubeObject {
    const resource = this.#resourceOf(manifest)
    const metadata = resource.namespaced ? { namespace: 'default', ...manifest.metadata } : manifest.metadata
    return this.store.apply(resource, { ...manifest, metadata })
  }

  /** Merges a patch (RFC 7386) into an object and returns the object; throws if the object does not exist. */
  patch(ref: ObjectRef, patch: object): KubeObject {
    const patched = this.store.patch(this.#resourceOf(ref), this.#namespaceOf(ref), ref.name, patch)
    return patched ?? missing(ref)
  }

  /** Deletes an object despite finalizers, and returns its last state; throws if the object does not exist. */
  remove(ref: ObjectRef): KubeObject {
    return this.store.remove(this.#resourceOf(ref), this.#namespaceOf(ref), ref.name) ?? missing(ref)
  }

  /** The present object. */
  get(ref: ObjectRef): KubeObject | undefined {
    return this.store.get(this.#resourceOf(ref), this.#namespaceOf(ref), ref.name)
  }

  /** Replaces the log of a container. */
  setLog(ref: LogRef, log: string): void {
    this.logs.set(ref, log)
  }

  /** Appends to the log of a container and sends the text to its followers. */
  appendLog(ref: LogRef, log: string): void {
    this.logs.append(ref, log)
  }

  /** Ends the followed logs of a container, as its exit does. */
  endLog(ref: LogRef): void {
    this.logs.end(ref)
  }

  // Access.

  /** Answers some requests with 403; access reviews include the denial. */
  deny(denial: Denial): void {
    this.#access.deny(denial)
  }

  /** Removes all denials. */
  allowAll(): void {
    this.#access.allowAll()
  }

  /** Answers every new request with 401, as for expired tokens. */
  refuseTokens(): void {
    this.#tokens = new Set()
  }

  /** Accepts only these tokens. */
  acceptTokens(tokens: readonly string[]): void {
    this.#tokens = new Set(tokens)
  }

  // Requests.

  /** The open watches. */
  get openWatches(): readonly { readonly plural: string; readonly url: string }[] {
    return [...this.#watches].map(({ selection, url }) => ({ plural: selection.resource.plural, url }))
  }

  /** Resolves once `condition` holds; checked when a request arrives and when a watch opens or closes. */
  until(condition: (server: this) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        if (!condition(this)) return
        this.#waiting.delete(check)
        resolve()
      }
      this.#waiting.add(check)
      check()
    })
  }

  // Faults.

  /** Resets the connections of all watches and followed logs; with `midEvent` after half an event was sent. */
  cutWatches({ midEvent = false } = {}): void {
    for (const stream of this.#streams) stream.cut(midEvent ? '{"type":"MODIFIED","object":{"kind":"' : undefined)
  }

  /** Ends all watches, as after their timeout. */
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

  /** While on, requests are accepted but not answered, and open watches send nothing. Off: sends all held data. */
  hang(on: boolean): void {
    if (on) this.#hanging ??= Promise.withResolvers()
    else {
      this.#hanging?.resolve()
      this.#hanging = undefined
    }
    for (const stream of this.#streams) stream.silence(on)
  }

  /** Accepts matching requests but never answers them. */
  ignore(matches: (request: ReceivedRequest) => boolean): void {
    this.#ignores = matches
  }

  /** Answers matching requests in another way: see `Intercept`. */
  intercept(intercept: Intercept): void {
    this.#intercepts = intercept
  }

  /** Fails the next `times` requests (may be `Infinity`) with an HTTP status; 0 resets the connection. */
  failNext(times: number, code: number, options: FailureOptions = {}): void {
    this.#failures.add(times, code, options)
  }

  /** Removes all pending failures. */
  stopFailing(): void {
    this.#failures.clear()
  }

  /** Compacts all changes: watches and pages from an older resource version get 410 Gone, as an event or a status. */
  compact({ as = 'event' }: { as?: 'event' | 'status' } = {}): void {
    this.store.compact()
    this.#expiredAs = as
  }

  /** Stops the server, gives all objects lower resource versions, and starts it, as the restore of a backup does. */
  async restoreBackup(): Promise<void> {
    await this.stop()
    this.store.restore()
    await this.start()
  }

  /** Sends a bookmark to all watches that requested bookmarks. */
  sendBookmarks(): void {
    for (const watch of this.#watches) watch.sendBookmark(this.store.revision)
  }

  /** Sends a line to all watches; by default one that is not JSON. */
  sendBrokenLine(line = '{"type":"MODIFIED","object":{"kind":'): void {
    for (const { stream } of this.#watches) stream.write(`${line}\n`)
  }

  /** Sends later events and logs in chunks of this size; undefined: unsplit. */
  splitEvents(chunkBytes: number | undefined): void {
    this.#chunkBytes = chunkBytes
    for (const stream of this.#streams) stream.chunkBytes = chunkBytes
  }

  // Start and stop.

  /** Starts listening; after `stop` on the same port and with the same objects. */
  async start(): Promise<void> {
    if (this.#http) return
    const listener = (request: IncomingMessage, response: ServerResponse) => void this.#serve(request, response)
    const http = this.#certificate ? createTlsServer(this.#certificate, listener) : createServer(listener)
    this.#http = http
    http.on('upgrade', (request, socket, head) => void this.#upgrade(request, socket, head))
    http.listen(this.#port, '127.0.0.1')
    await once(http, 'listening')
    this.#port = (http.address() as AddressInfo).port
  }

  /** Closes the port and all connections; new ones are refused until `start`. */
  async stop(): Promise<void> {
    const http = this.#http
    if (!http) return
    this.#http = undefined
    const closed = once(http, 'close')
    http.close()
    http.closeAllConnections()
    this.ports.breakConnections()
    await closed
  }

  /** Stops the server and its timers. */
  async close(): Promise<void> {
    clearInterval(this.#bookmarkTimer)
    await this.stop()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const received = receivedRequest(request, this.now())
    this.requests.push(received)
    this.#checkWaiting()
    await this.#hanging?.promise
    if (request.socket.destroyed || this.#ignores(received)) return
    response.setHeader('Date', this.now().toUTCString())
    if ((await this.#intercepts(received, response)) === 'answered') return
    const failure = this.#failures.next(received)
    if (failure === 'reset') {
      resetConnection(request.socket)
      return
    }
    try {
      if (failure) throw failure
      this.#authenticate(request)
      const accept = request.headers.accept ?? ''
      const answer = handle(this.#cluster, { ...received, accept, body: await text(request) }, response)
      if (answer) send(answer, request, response)
    } catch (error) {
      const { status, retryAfterSeconds } = error instanceof ApiError ? error : new ApiError(500, String(error))
      if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', retryAfterSeconds)
      send({ body: status, code: status.code }, request, response)
    }
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const received = receivedRequest(request, this.now())
    this.requests.push(received)
    this.#checkWaiting()
    socket.on('error', () => socket.destroy())
    await this.#hanging?.promise
    if (socket.destroyed || this.#ignores(received)) return
    try {
      const failure = this.#failures.next(received)
      if (failure === 'reset') {
        socket.destroy()
        return
      }
      if (failure) throw failure
      this.#authenticate(request)
      const pod = forwardedPod(received.url)
      if (pod === undefined) throw new ApiError(404)
      const access = { group: '', resource: 'pods/portforward', ...pod }
      this.#access.check({ verb: 'get', ...access })
      // Since 1.35 (AuthorizePodWebsocketUpgradeCreatePermission, pkg/registry/core/pod/rest/subresources.go).
      if (/^v1\.(3[5-9]|[4-9]\d)/.test(this.#version)) this.#access.check({ verb: 'create', ...access })
      this.ports.forward(request, socket, head)
    } catch (error) {
      this.ports.refuse(socket, (error instanceof ApiError ? error : new ApiError(500, String(error))).status)
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
      this.#checkWaiting()
    })
    this.#checkWaiting()
  }

  #sendChange(change: Change): void {
    for (const watch of this.#watches) watch.sendChange(change)
  }

  #checkWaiting(): void {
    for (const check of this.#waiting) check()
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

function receivedRequest({ method = '', url = '', headers }: IncomingMessage, at: Date): ReceivedRequest {
  const { pathname, searchParams } = new URL(url, 'http://server')
  return { method, url, path: pathname, query: searchParams, headers, at }
}

function missing({ kind, namespace, name }: ObjectRef): never {
  throw new Error(`There is no ${kind} ${name} in ${namespace ?? 'default'}`)
}

/** Sends a response; large ones are compressed if the client accepts gzip, as the real server does (KEP-156). */
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
