import type { Client } from './client.ts'
import { type Clock, sleep } from './clock.ts'
import { ApiError, ConnectionError, statusOf } from './failures.ts'
import type { Observation, WatchRequest } from './feed.ts'
import { asKind, listAll } from './list.ts'
import type { KubeObject } from './objects.ts'
import { selection } from './resource-path.ts'
import type { Strip } from './strip.ts'
import { followWatch } from './watch-stream.ts'

export type Sink = (observation: Observation) => void

export interface ReflectorOptions {
  readonly client: Client
  readonly clock: Clock
  readonly strip: Strip
  /** The path of the request's collection, asked for before each attempt. Rejects with 404 while the kind is unknown. */
  readonly path: () => Promise<string>
  readonly sink: Sink
}

const probeTimeoutMs = 10_000
const refreshTimeoutMs = 10_000
/** How much longer than it was asked to a server may let a watch run before we end it. */
const overtimeMs = 10_000
/** A watch that ends sooner, without a word, was no success: to ask again at once would be a storm. */
const healthyWatchMs = 1_000
const pollMs = 5_000
/** While watching is forbidden, it is tried again after so many polls. */
const pollsBetweenWatches = 12
const shortestBackOffMs = 100
const longestBackOffMs = 5_000
const longestRetryAfterMs = 30_000
/** What is refused or does not exist seldom changes, but it may: access is granted, a CRD is installed. */
const refusedBackOffMs: Readonly<Record<number, number>> = { 401: 20_000, 403: 20_000, 404: 5_000, 405: 20_000 }

/**
 * Follows one request until it is closed: lists, watches from there, and tells the sink every change exactly once,
 * through cut connections, expired resource versions, and servers that vanish or fall silent.
 *
 * Nothing is missed between list and watch, as the watch goes on from the list's resource version. A later list is
 * compared with what is known and only the differences are told, deletions with the object's last state.
 * A failed attempt is told once a blind spell, and again when its status changes; a 401, which the client has then tried
 * twice, as two lines. The first success after it is told as `ALIVE`.
 */
export class Reflector {
  readonly #request: WatchRequest
  readonly #options: ReflectorOptions
  readonly #closing = new AbortController()
  readonly #known = new Map<string, KubeObject>()
  #synced = false
  /** Undefined: only a list can tell where we stand. */
  #resourceVersion: string | undefined
  /** The status that was told last in this blind spell. */
  #blind: number | undefined
  #failures = 0
  /** The last watch found its resource version expired. */
  #expired = false
  #pollsLeft = 0
  #refreshes: ((reached: boolean) => void)[] = []
  /** Ends the watch or the pause that goes on just now, so that a list is made at once. */
  #interrupt = new AbortController()

  constructor(request: WatchRequest, options: ReflectorOptions) {
    this.#request = request
    this.#options = options
  }

  /** Ends when closed; never rejects. */
  async run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      try {
        if (this.#resourceVersion === undefined || this.#refreshes.length > 0) await this.#list()
        else if (this.#pollsLeft > 0) await this.#poll()
        else await this.#watch()
      } catch (error) {
        if (!this.#closing.signal.aborted) await this.#recover(error)
      }
    }
  }

  close(): void {
    this.#closing.abort()
    this.#interrupt.abort()
    for (const settle of this.#refreshes) settle(false)
  }

  /**
   * Makes one fresh list now and tells its differences. True when the server answered, also when it refused: then there
   * is nothing newer to be seen. False when it could not be reached within 10 s.
   */
  refresh(): Promise<boolean> {
    return new Promise((resolve) => {
      if (this.#closing.signal.aborted) {
        resolve(false)
        return
      }
      const cancel = this.#options.clock.after(refreshTimeoutMs, () => resolve(false))
      this.#refreshes.push((reached) => {
        cancel()
        resolve(reached)
      })
      this.#interrupt.abort()
    })
  }

  async #list(): Promise<void> {
    // Who asks for a refresh from here on wants a newer list than this one.
    const refreshes = this.#refreshes
    this.#refreshes = []
    try {
      const { client, strip, path } = this.#options
      const list = await listAll(client, await path(), this.#request, strip, this.#closing.signal)
      this.#alive()
      this.#tellDifferences(list.items)
      this.#resourceVersion = list.resourceVersion
      if (this.#pollsLeft > 0) this.#failures = 0
      if (!this.#synced) this.#options.sink({ type: 'SYNCED', ...this.#request })
      this.#synced = true
      for (const settle of refreshes) settle(true)
    } catch (error) {
      for (const settle of refreshes) settle([403, 404, 405].includes(statusOf(error)))
      throw error
    }
  }

  /** In place of a watch that is forbidden: wait, and list again. */
  async #poll(): Promise<void> {
    this.#pollsLeft -= 1
    await this.#pause(pollMs)
    this.#resourceVersion = undefined
  }

  /** One watch from its opening to its end. The next one goes on from the last resource version. */
  async #watch(): Promise<void> {
    const { clock, client, path } = this.#options
    const signal = this.#renewInterrupt()
    // Spread, so that the watches of a gate do not all end together.
    const timeoutSeconds = 45 + Math.floor(clock.random() * 16)
    let healthyFrom = Number.POSITIVE_INFINITY
    let end: 'ended' | 'cut'
    try {
      const collection = await path()
      const query = new URLSearchParams({
        ...selection(this.#request),
        watch: 'true',
        allowWatchBookmarks: 'true',
        timeoutSeconds: String(timeoutSeconds),
        resourceVersion: this.#resourceVersion ?? '',
      })
      end = await followWatch({
        client,
        clock,
        path: `${collection}?${query}`,
        signal,
        overdueMs: timeoutSeconds * 1000 + overtimeMs,
        probe: (ended) => this.#probe(collection, ended),
        onOpen: () => {
          healthyFrom = clock.now() + healthyWatchMs
          this.#alive()
        },
        onLine: (line) => {
          this.#take(line)
          healthyFrom = clock.now()
        },
      })
    } catch (error) {
      if (!(error instanceof ApiError && (error.status === 403 || error.status === 405))) throw error
      this.#pollsLeft = pollsBetweenWatches
      return
    } finally {
      if (clock.now() >= healthyFrom) {
        this.#failures = 0
        this.#expired = false
      }
    }
    if (signal.aborted) return
    if (end === 'cut' || clock.now() < healthyFrom) await this.#pause(this.#backOffMs())
  }

  #probe(collection: string, signal: AbortSignal): Promise<unknown> {
    const query = new URLSearchParams({ ...selection(this.#request), limit: '1' })
    return this.#options.client.json(`${collection}?${query}`, { timeoutMs: probeTimeoutMs, signal })
  }

  /** One line of a watch: an event (kubernetes.io/docs/reference/using-api/api-concepts, "Efficient detection of changes"). */
  #take(line: string): void {
    let event: { type?: unknown; object?: (KubeObject & { code?: number; reason?: string; message?: string }) | null }
    try {
      event = JSON.parse(line)
    } catch {
      throw new ConnectionError('EBADMSG', `the watch of ${this.#request.kind} sent a line that is not JSON`)
    }
    const { type, object } = event ?? {}
    if (type === 'ERROR') {
      throw new ApiError(object?.code ?? 500, object?.reason ?? '', object?.message ?? 'the watch ended with an error')
    }
    const resourceVersion = object?.metadata?.resourceVersion
    if (!object || resourceVersion === undefined) {
      throw new ConnectionError('EBADMSG', `the watch of ${this.#request.kind} sent something that is no event`)
    }
    if (type === 'DELETED') this.#forget(this.#options.strip(asKind(object, this.#request)))
    else if (type !== 'BOOKMARK') this.#put(this.#options.strip(asKind(object, this.#request)))
    this.#resourceVersion = resourceVersion
  }

  #tellDifferences(items: readonly KubeObject[]): void {
    const listed = new Set(items.map(keyOf))
    for (const [key, object] of this.#known) if (!listed.has(key)) this.#forget(object)
    for (const item of items) this.#put(item)
  }

  #put(object: KubeObject): void {
    const key = keyOf(object)
    const known = this.#known.get(key)
    if (known && known.metadata.resourceVersion === object.metadata.resourceVersion) return
    const replaced = known !== undefined && known.metadata.uid !== object.metadata.uid
    if (replaced) this.#forget(known)
    this.#known.set(key, object)
    this.#options.sink({ type: known && !replaced ? 'MODIFIED' : 'ADDED', object })
  }

  #forget(object: KubeObject): void {
    const known = this.#known.get(keyOf(object))
    if (known?.metadata.uid !== object.metadata.uid) return
    this.#known.delete(keyOf(object))
    this.#options.sink({ type: 'DELETED', object })
  }

  /** After a failed attempt: tells it, and waits as long as it deserves. */
  async #recover(error: unknown): Promise<void> {
    const status = statusOf(error)
    if (losesPlace(error)) this.#resourceVersion = undefined
    if (status === 410) {
      // Ordinary: the server keeps only so much history. Only the second in a row has to wait.
      if (this.#expired) await this.#pause(this.#backOffMs())
      this.#expired = true
      return
    }
    // Nobody knows what it would list until it may again.
    if (status === 403) this.#synced = false
    this.#tell(status, error instanceof Error ? error.message : String(error))
    const retryAfterMs = error instanceof ApiError ? Math.min(error.retryAfterMs ?? 0, longestRetryAfterMs) : 0
    await this.#pause(Math.max(refusedBackOffMs[status] ?? this.#backOffMs(), retryAfterMs))
  }

  #tell(code: number, message: string): void {
    if (this.#blind === code) return
    this.#blind = code
    const error = { type: 'ERROR', code, message, ...this.#request } as const
    this.#options.sink(error)
    if (code === 401) this.#options.sink(error)
  }

  #alive(): void {
    if (this.#blind === undefined) return
    this.#blind = undefined
    this.#options.sink({ type: 'ALIVE' })
  }

  /** 0.1 s, doubled with each failure up to 5 s, half as much more or less so that many runners do not come together. */
  #backOffMs(): number {
    const delayMs = Math.min(longestBackOffMs, shortestBackOffMs * 2 ** this.#failures)
    this.#failures += 1
    return delayMs * (0.5 + this.#options.clock.random())
  }

  async #pause(delayMs: number): Promise<void> {
    if (this.#refreshes.length > 0) return
    await sleep(this.#options.clock, delayMs, this.#renewInterrupt())
  }

  #renewInterrupt(): AbortSignal {
    this.#interrupt = new AbortController()
    if (this.#closing.signal.aborted) this.#interrupt.abort()
    return this.#interrupt.signal
  }
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`
}

/**
 * After most answers the resource version is not to be trusted any more (expired, from another etcd, half understood).
 * Where there was no answer, or only "later", it is.
 */
function losesPlace(error: unknown): boolean {
  if (error instanceof ApiError) return error.status !== 429
  return error instanceof ConnectionError && (error.code === 'EBADMSG' || error.code === 'E2BIG')
}
