import type { Client } from './client.ts'
import { type Clock, sleep } from './clock.ts'
import { ApiError, ConnectionError, failureOf, statusOf } from './failures.ts'
import type { Observation, WatchRequest } from './feed.ts'
import { asKind, listAll, selection } from './list.ts'
import type { KubeObject } from './objects.ts'
import type { Redactor } from './redact.ts'
import { followWatch } from './watch-stream.ts'

export type Sink = (observation: Observation) => void

export interface ReflectorOptions {
  readonly client: Client
  readonly clock: Clock
  readonly redact: Redactor
  /** The path of the request's collection, asked for before each attempt. Rejects with 404 while the kind is unknown. */
  readonly path: () => Promise<string>
  readonly sink: Sink
  /**
   * Takes an object that no longer matches the request's label selector, or no longer exists: only a look at the object
   * itself tells which. Resolves once the sink has the answer.
   */
  readonly onUnmatched: (object: KubeObject) => Promise<void>
  /** What is known to exist before the first list: when it is not in the list, it was deleted. */
  readonly known?: KubeObject
}

/** The longest silence of a list. */
const listSilenceMs = 30_000
/** The same for a list that somebody waits for; a small list and a renewed watch must be answered within this time. */
const answerTimeoutMs = 10_000
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
/** A Role that is replaced is back within seconds: so many times access is asked for again soon. */
const soonRetries = 4
const soonRetryMs = 7_000

/**
 * Follows one request until it is closed: lists, watches from there, and tells the sink every change exactly once,
 * through cut connections, expired resource versions, and servers that vanish or fall silent.
 *
 * Nothing is missed between list and watch, as the watch goes on from the list's resource version. A later list is
 * compared with what is known and only the differences are told, deletions with the object's last state.
 * A failed attempt is reported once, and again when its status changes, with the moment of the last success. Then the
 * request is listed afresh, and once the sink has the differences the recovery is reported as `ALIVE`: what is healthy has
 * been seen.
 */
export class Reflector {
  readonly #request: WatchRequest
  readonly #options: ReflectorOptions
  readonly #closing = new AbortController()
  readonly #known = new Map<string, KubeObject>()
  #synced = false
  /** Undefined: only a list can tell where we stand. */
  #resourceVersion: string | undefined
  /** The status that was reported last, while the request fails. */
  #failedWith: number | undefined
  /** When the server last answered with success, at first when this began. */
  #lastSuccessAt: number
  #failures = 0
  #refusals = 0
  /** The last watch found its resource version expired. */
  #expired = false
  #pollsLeft = 0
  /** Who waits for a fresh list, and who has got it. */
  #refreshes: (() => void)[] = []
  #answered: (() => void)[] = []
  /** Objects whose absence from the selection is being looked into. */
  readonly #unmatched = new Set<Promise<void>>()
  /** Ends what goes on just now, so that a fresh list is made at once. */
  #interrupt = new AbortController()

  constructor(request: WatchRequest, options: ReflectorOptions) {
    this.#request = request
    this.#options = options
    this.#lastSuccessAt = options.clock.now()
    if (options.known !== undefined) this.#known.set(keyOf(options.known), options.known)
  }

  /** Whether it follows this very object. */
  holds(object: KubeObject): boolean {
    const { apiVersion, kind } = this.#request
    const isOfKind = kind === object.kind && apiVersion === object.apiVersion
    return isOfKind && this.#known.get(keyOf(object))?.metadata.uid === object.metadata.uid
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
    for (const settle of [...this.#refreshes, ...this.#answered]) settle()
  }

  /**
   * Makes one fresh list now. Resolves once the sink has its differences, or why there are none: the server refused, or
   * the request is unavailable.
   */
  refresh(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#closing.signal.aborted) {
        resolve()
        return
      }
      this.#refreshes.push(resolve)
      this.#interrupt.abort()
    })
  }

  async #list(): Promise<void> {
    // A refresh that is asked for from here on ends this list and begins a newer one.
    const refreshes = this.#refreshes
    this.#refreshes = []
    const signal = this.#renewInterrupt()
    try {
      const { client, redact, path } = this.#options
      // A connection that is dead is given up soon, and one that is slow gets its time with every other attempt.
      const isHasty = refreshes.length > 0 || this.#failures % 2 === 1
      const list = await listAll(client, await path(), this.#request, redact, {
        signal,
        silenceMs: isHasty ? answerTimeoutMs : listSilenceMs,
        onPage: () => this.#succeed(),
      })
      this.#tellDifferences(list.items)
      this.#resourceVersion = list.resourceVersion
      if (this.#pollsLeft > 0) this.#failures = 0
      this.#recovered()
      if (!this.#synced) this.#options.sink({ type: 'SYNCED', ...this.#request })
      this.#synced = true
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      // What could not be answered is asked again, or reported, before anyone goes on.
      if (signal.aborted && !this.#closing.signal.aborted) this.#refreshes.push(...refreshes)
      else this.#answered.push(...refreshes)
    }
    await this.#settle()
  }

  /** Lets go those who asked for a fresh list: the sink has what there is to know. */
  async #settle(): Promise<void> {
    const answered = this.#answered
    this.#answered = []
    if (answered.length === 0) return
    await Promise.all(this.#unmatched)
    for (const settle of answered) settle()
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
        openTimeoutMs: answerTimeoutMs,
        overdueMs: timeoutSeconds * 1000 + overtimeMs,
        probe: (ended) => this.#probe(collection, ended),
        onOpen: () => {
          healthyFrom = clock.now() + healthyWatchMs
          this.#succeed()
        },
        onBytes: () => this.#succeed(),
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

  async #probe(collection: string, signal: AbortSignal): Promise<void> {
    const query = new URLSearchParams({ ...selection(this.#request), limit: '1' })
    await this.#options.client.json(`${collection}?${query}`, { timeoutMs: answerTimeoutMs, signal })
    this.#succeed()
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
    if (type === 'DELETED') this.#forget(this.#options.redact(asKind(object, this.#request)))
    else if (type !== 'BOOKMARK') this.#put(this.#options.redact(asKind(object, this.#request)))
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
    // What is being deleted never comes back; anything else may just carry other labels.
    if (this.#request.labelSelector === undefined || object.metadata.deletionTimestamp !== undefined) {
      this.#options.sink({ type: 'DELETED', object })
      return
    }
    const looking = this.#options.onUnmatched(object).finally(() => this.#unmatched.delete(looking))
    this.#unmatched.add(looking)
  }

  /** After a failed attempt: reports it, and waits as long as it deserves. */
  async #recover(error: unknown): Promise<void> {
    const status = statusOf(error)
    if (status === 410) {
      this.#resourceVersion = undefined
      // Ordinary: the server keeps only so much history. Only the second in a row has to wait.
      if (this.#expired) await this.#pause(this.#backOffMs())
      this.#expired = true
      return
    }
    // A list shows what happened meanwhile before the recovery is reported.
    this.#resourceVersion = undefined
    // Nobody knows what it would list until it may again.
    if (status === 403) this.#synced = false
    this.#report(status, error instanceof Error ? error.message : String(error))
    await this.#settle()
    const retryAfterMs = error instanceof ApiError ? Math.min(error.retryAfterMs ?? 0, longestRetryAfterMs) : 0
    await this.#pause(Math.max(this.#pauseAfter(status), retryAfterMs))
  }

  #pauseAfter(status: number): number {
    this.#refusals = status === 403 ? this.#refusals + 1 : 0
    if (this.#refusals > 0 && this.#refusals <= soonRetries) return soonRetryMs
    return refusedBackOffMs[status] ?? this.#backOffMs()
  }

  #report(code: number, message: string): void {
    if (this.#failedWith === code) return
    this.#failedWith = code
    // The client has read the credentials again before it gives up.
    const details = { ...this.#request, lastSuccessAt: this.#lastSuccessAt, final: code === 401 }
    const failure = failureOf(code, message, details)
    if (failure !== undefined) this.#options.sink(failure)
  }

  #succeed(): void {
    this.#lastSuccessAt = this.#options.clock.now()
  }

  #recovered(): void {
    if (this.#failedWith === undefined) return
    this.#failedWith = undefined
    this.#refusals = 0
    this.#options.sink({ type: 'ALIVE', ...this.#request })
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
