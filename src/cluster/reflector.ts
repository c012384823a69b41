import type { Client } from './client.ts'
import { type Clock, sleep } from './clock.ts'
import {
  ConnectionError,
  errorFromStatus,
  failureOf,
  isExpired,
  isForbidden,
  isMethodNotSupported,
  isNotFound,
  isUnauthorized,
  retryAfterOf,
  statusOf,
} from './failures.ts'
import type { Observation, WatchRequest } from './feed.ts'
import { asKind, listAll, selection } from './list.ts'
import type { KubeObject } from './objects.ts'
import type { Redactor } from './redact.ts'
import { WatchCutError, watchLines } from './watch-stream.ts'

export type Sink = (observation: Observation) => void

export interface ReflectorOptions {
  readonly client: Client
  readonly clock: Clock
  readonly redact: Redactor
  /** Replaces known secrets in the message of a failure. */
  readonly redactText: (text: string) => string
  /** The path of the request's collection, looked up before each attempt. Rejects with 404 while the kind is unknown. */
  readonly path: () => Promise<string>
  readonly sink: Sink
  /**
   * Gets an object that no longer matches the request's label selector, or no longer exists: only reading the object
   * itself shows which. Resolves once the sink has the result.
   */
  readonly onUnmatched: (object: KubeObject) => Promise<void>
  /** An object that exists before the first list: when the list does not contain it, it was deleted. */
  readonly known?: KubeObject
}

/** How long a list may go without a byte. */
const listSilenceMs = 30_000
/** The same for a refresh; a small list and a new watch must be answered within this time. */
const answerTimeoutMs = 10_000
/** A watch that the server does not end at its `timeoutSeconds` is ended after this time more. */
const overtimeMs = 10_000
/** A watch that ends sooner, without an event, was no success: opening another at once would overload the server. */
const healthyWatchMs = 1_000
const pollMs = 5_000
/** While watching is forbidden, it is tried again after so many polls. */
const pollsBetweenWatches = 12
const shortestBackOffMs = 100
const longestBackOffMs = 5_000
const longestRetryAfterMs = 30_000
/** Refused requests seldom succeed later, but they may: access is granted, a CRD is installed. */
const refusedBackOffMs = 20_000
const missingBackOffMs = 5_000
/** A Role that is replaced is back within seconds, so the first retries after a 403 come sooner. */
const soonRetries = 4
const soonRetryMs = 7_000

/**
 * Follows one request until it is closed: lists, watches from there, and reports every change to the sink exactly once,
 * through cut connections, expired resource versions, and servers that vanish or stop sending.
 *
 * Nothing is missed between list and watch, as the watch starts at the list's resource version. A later list is compared
 * with the known objects and only the differences are reported, deletions with the object's last state.
 * A failed attempt is reported once, and again when its status changes, with the moment of the last success. Then the
 * request is listed again, and once the sink has the differences the recovery is reported as `ALIVE`.
 */
export class Reflector {
  readonly #request: WatchRequest
  readonly #options: ReflectorOptions
  readonly #closing = new AbortController()
  readonly #objects = new Map<string, KubeObject>()
  #isSynced = false
  /** Where the next watch starts; undefined before a list. */
  #resourceVersion: string | undefined
  /** The HTTP status that was reported last, while the request fails. */
  #reportedStatus: number | undefined
  /** At first, when this began. */
  #lastSuccessAt: number
  #failures = 0
  /** 403 answers in a row. */
  #refusals = 0
  /** The last watch found its resource version expired. */
  #wasExpired = false
  #pollsLeft = 0
  /** Refreshes that wait for a list, and those whose list was made. */
  #refreshes: (() => void)[] = []
  #answered: (() => void)[] = []
  /** Reads of objects that no longer match the selector. */
  readonly #unmatched = new Set<Promise<void>>()
  /** Ends the present watch or pause, so that a list is made at once. */
  #interrupt = new AbortController()

  constructor(request: WatchRequest, options: ReflectorOptions) {
    this.#request = request
    this.#options = options
    this.#lastSuccessAt = options.clock.now()
    if (options.known !== undefined) this.#objects.set(keyOf(options.known), options.known)
  }

  /** Whether this object, by its uid, is among those that it follows. */
  holds(object: KubeObject): boolean {
    const { apiVersion, kind } = this.#request
    const isOfKind = kind === object.kind && apiVersion === object.apiVersion
    return isOfKind && this.#objects.get(keyOf(object))?.metadata.uid === object.metadata.uid
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
   * Lists the request again, now. Resolves once the sink has the differences, or why there are none: the request is
   * refused or unavailable.
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
    // A refresh that comes from here on ends this list and starts a newer one.
    const refreshes = this.#refreshes
    this.#refreshes = []
    const signal = this.#renewInterrupt()
    try {
      const { client, redact, path } = this.#options
      // Every other attempt allows for a slow connection; the rest give up soon, as the connection may be dead.
      const isHasty = refreshes.length > 0 || this.#failures % 2 === 1
      const list = await listAll(client, await path(), this.#request, redact, {
        signal,
        silenceMs: isHasty ? answerTimeoutMs : listSilenceMs,
        onPage: () => this.#succeed(),
      })
      this.#reportDifferences(list.items)
      this.#resourceVersion = list.resourceVersion
      if (this.#pollsLeft > 0) this.#failures = 0
      this.#recovered()
      if (!this.#isSynced) this.#options.sink({ type: 'SYNCED', ...this.#request })
      this.#isSynced = true
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      // A refresh without a list is repeated, or its failure is reported, before it resolves.
      if (signal.aborted && !this.#closing.signal.aborted) this.#refreshes.push(...refreshes)
      else this.#answered.push(...refreshes)
    }
    await this.#settle()
  }

  /** Resolves the refreshes whose list was made, or whose failure was reported. */
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

  /** One watch from its opening to its end. The next one starts at the last resource version. */
  async #watch(): Promise<void> {
    const { clock, client, path } = this.#options
    const signal = this.#renewInterrupt()
    // Spread, so that the watches of a gate do not all end together.
    const timeoutSeconds = 45 + Math.floor(clock.random() * 16)
    let healthyFrom = Number.POSITIVE_INFINITY
    let isCut = false
    try {
      const collection = await path()
      const query = new URLSearchParams({
        ...selection(this.#request),
        watch: 'true',
        allowWatchBookmarks: 'true',
        timeoutSeconds: String(timeoutSeconds),
        resourceVersion: this.#resourceVersion ?? '',
      })
      const lines = watchLines({
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
      })
      for await (const line of lines) {
        this.#take(line)
        healthyFrom = clock.now()
      }
    } catch (error) {
      if (isForbidden(error) || isMethodNotSupported(error)) {
        this.#pollsLeft = pollsBetweenWatches
        return
      }
      if (!(error instanceof WatchCutError)) throw error
      isCut = true
    } finally {
      if (clock.now() >= healthyFrom) {
        this.#failures = 0
        this.#wasExpired = false
      }
    }
    if (signal.aborted) return
    if (isCut || clock.now() < healthyFrom) await this.#pause(this.#backOffMs())
  }

  async #probe(collection: string, signal: AbortSignal): Promise<void> {
    const query = new URLSearchParams({ ...selection(this.#request), limit: '1' })
    await this.#options.client.json(`${collection}?${query}`, { timeoutMs: answerTimeoutMs, signal })
    this.#succeed()
  }

  /** One line of a watch: an event (kubernetes.io/docs/reference/using-api/api-concepts, "Efficient detection of changes"). */
  #take(line: string): void {
    let event: { type?: unknown; object?: (KubeObject & { code?: number }) | null }
    try {
      event = JSON.parse(line)
    } catch {
      throw new ConnectionError('EBADMSG', `the watch of ${this.#request.kind} sent a line that is not JSON`)
    }
    const { type, object } = event ?? {}
    if (type === 'ERROR') throw errorFromStatus(object, object?.code ?? 500, 'the watch ended with an error')
    const resourceVersion = object?.metadata?.resourceVersion
    if (!object || resourceVersion === undefined) {
      throw new ConnectionError('EBADMSG', `the watch of ${this.#request.kind} sent something that is no event`)
    }
    if (type !== 'BOOKMARK') {
      const redacted = this.#options.redact(asKind(object, this.#request))
      if (type === 'DELETED') this.#remove(redacted)
      else this.#put(redacted)
    }
    this.#resourceVersion = resourceVersion
  }

  #reportDifferences(items: readonly KubeObject[]): void {
    const listed = new Set(items.map(keyOf))
    for (const [key, object] of this.#objects) if (!listed.has(key)) this.#remove(object)
    for (const item of items) this.#put(item)
  }

  #put(object: KubeObject): void {
    const key = keyOf(object)
    const known = this.#objects.get(key)
    if (known && known.metadata.resourceVersion === object.metadata.resourceVersion) return
    const replaced = known !== undefined && known.metadata.uid !== object.metadata.uid
    if (replaced) this.#remove(known)
    this.#objects.set(key, object)
    this.#options.sink({ type: known && !replaced ? 'MODIFIED' : 'ADDED', object })
  }

  #remove(object: KubeObject): void {
    const known = this.#objects.get(keyOf(object))
    if (known?.metadata.uid !== object.metadata.uid) return
    this.#objects.delete(keyOf(object))
    // An object that is being deleted never comes back; any other may only have other labels now.
    if (this.#request.labelSelector === undefined || object.metadata.deletionTimestamp !== undefined) {
      this.#options.sink({ type: 'DELETED', object })
      return
    }
    const reading = this.#options.onUnmatched(object).finally(() => this.#unmatched.delete(reading))
    this.#unmatched.add(reading)
  }

  /** Reports a failed attempt, and waits before the next one. */
  async #recover(error: unknown): Promise<void> {
    // A list shows what happened meanwhile before the recovery is reported.
    this.#resourceVersion = undefined
    if (isExpired(error)) {
      // Ordinary: the server keeps only so much history. Only the second in a row has to wait.
      if (this.#wasExpired) await this.#pause(this.#backOffMs())
      this.#wasExpired = true
      return
    }
    // Until access is given back, what a list would contain is not known.
    if (isForbidden(error)) this.#isSynced = false
    this.#report(error)
    await this.#settle()
    const retryAfterMs = Math.min(retryAfterOf(error), longestRetryAfterMs)
    await this.#pause(Math.max(this.#pauseAfter(error), retryAfterMs))
  }

  #pauseAfter(error: unknown): number {
    this.#refusals = isForbidden(error) ? this.#refusals + 1 : 0
    if (this.#refusals > 0 && this.#refusals <= soonRetries) return soonRetryMs
    if (isNotFound(error)) return missingBackOffMs
    const isRefused = isForbidden(error) || isUnauthorized(error) || isMethodNotSupported(error)
    return isRefused ? refusedBackOffMs : this.#backOffMs()
  }

  #report(error: unknown): void {
    const status = statusOf(error)
    if (this.#reportedStatus === status) return
    this.#reportedStatus = status
    // The client has read the credentials again before it gives up.
    const final = isUnauthorized(error)
    const failure = failureOf(error, { ...this.#request, lastSuccessAt: this.#lastSuccessAt, final })
    if (failure === undefined) return
    this.#options.sink({ ...failure, message: this.#options.redactText(failure.message) })
  }

  #succeed(): void {
    this.#lastSuccessAt = this.#options.clock.now()
  }

  #recovered(): void {
    if (this.#reportedStatus === undefined) return
    this.#reportedStatus = undefined
    this.#refusals = 0
    this.#options.sink({ type: 'ALIVE', ...this.#request })
  }

  /** 0.1 s, doubled with each failure up to 5 s, ±50 % so that many runners do not retry together. */
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
