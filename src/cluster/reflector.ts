import {
  answerTimeoutMs,
  failedWatchesBeforePolls,
  forbiddenBackOffMs,
  healthyWatchMs,
  listSilenceMs,
  maxFirstListDelayMs,
  maxPartialListMs,
  maxRefreshMs,
  maxRetryAfterMs,
  maxWatchBackOffMs,
  minRefreshMs,
  minWatchBackOffMs,
  minWatchSeconds,
  missingBackOffMs,
  pollsBetweenWatches,
  refusedBackOffMs,
  watchForbiddenPollMs,
  watchOverdueMs,
  watchSpreadSeconds,
} from '../thresholds.ts'
import type { Client } from './client.ts'
import { type Clock, sleep } from './clock.ts'
import { parseJson, shareEqualParts } from './compact.ts'
import type { KindState } from './discovery.ts'
import {
  ApiError,
  ConnectionError,
  errorFromStatus,
  failureOf,
  httpStatusOf,
  isExpired,
  isForbidden,
  isMethodNotSupported,
  isNotFound,
  isUnauthorized,
  noApiServerError,
  retryAfterOf,
  unexpectedNotFoundError,
} from './failures.ts'
import type { Observation, WatchRequest } from './feed.ts'
import {
  acceptHeader,
  BrokenWatchError,
  hasName,
  type List,
  listAll,
  readWatchLines,
  selectionQuery,
  withKind,
} from './list-and-watch.ts'
import { controllerOf, type KubeObject } from './objects.ts'
import type { Redactor } from './redact.ts'

export type Sink = (observation: Observation) => void

interface ReflectorOptions {
  readonly client: Client
  readonly clock: Clock
  readonly redactor: Redactor
  /** Returns the path of the request's collection before each attempt. Rejects with a 404 for an unknown kind. */
  readonly path: () => Promise<string>
  /** Whether the server has the kind of the request. Rejects if the server does not answer. */
  readonly kindState: () => Promise<KindState>
  readonly sink: Sink
  /**
   * Called with an object that no longer matches the label selector or no longer exists: only reading the object shows
   * which of the two. Resolves once the sink received the result.
   */
  readonly onUnmatched: (object: KubeObject) => Promise<void>
  /** Delays the first watch until the first lists of all reflectors have ended. */
  readonly firstLists?: FirstLists
  /** An object that was known before the first list. If the list does not contain it, it was deleted. */
  readonly known?: KubeObject
  /** Whether the objects are listed once, and not watched. */
  readonly isSingleCheck?: boolean | undefined
  /** The first list, if it was read before. Its objects are redacted. */
  readonly firstList?: List | undefined
}

/**
 * Lists and watches the objects of one request until it is closed. Reports every change to the sink exactly once,
 * despite cut connections, expired resource versions, and servers that disappear or stop sending.
 *
 * The watch starts at the resource version of the list, so it misses no change. Later lists are compared with the known
 * objects, and only the differences are reported. A deletion is reported with the object's last known state.
 * A failure is reported with the time of the last success: once, and again if its HTTP status changes. Then the
 * reflector lists again, and reports first the differences and then `ALIVE`.
 */
export class Reflector {
  readonly #request: WatchRequest
  readonly #options: ReflectorOptions
  readonly #closing = new AbortController()
  readonly #objects = new Map<string, KubeObject>()
  /** One object of each controller: to save memory, the controller's other objects share its equal parts. */
  readonly #siblings = new Map<string, KubeObject>()
  #endFirstList = () => {}
  #isFirstWatch = true
  #isSynced = false
  /** The resource version where the next watch starts. If undefined, a list comes first. */
  #resourceVersion: string | undefined
  /** The resource version of the last list or event. */
  #latestVersion: string | undefined
  /** The HTTP status of the reported failure; undefined while requests succeed. */
  #reportedStatus: number | undefined
  /** Before the first success, this is the start time. */
  #lastSuccessAt: number
  #failures = 0
  /** How long the last list took. */
  #listMs = 0
  /** Whether the last watch failed because its resource version had expired. */
  #wasExpired = false
  /** How many lists must replace the watch before the next watch begins. */
  #pollsLeft = 0
  /** How many watches in a row failed, or ended at once. */
  #failedWatches = 0
  #refreshes: (() => void)[] = []
  /** Callbacks of the refreshes whose list is complete or failed. They are called after the pending reads. */
  #listed: (() => void)[] = []
  /** Pending reads of objects that no longer match the selector. */
  readonly #unmatched = new Set<Promise<void>>()
  /** Aborted to end the present watch or pause, so that a list starts immediately. */
  #interrupt = new AbortController()

  constructor(request: WatchRequest, options: ReflectorOptions) {
    this.#request = request
    this.#options = options
    this.#lastSuccessAt = options.clock.now()
    if (options.known !== undefined) this.#objects.set(namespacedName(options.known), options.known)
  }

  /** Whether the known objects include this object, with the same uid. */
  hasObject(object: KubeObject): boolean {
    const { apiVersion, kind } = this.#request
    const isOfKind = kind === object.kind && apiVersion === object.apiVersion
    return isOfKind && this.#objects.get(namespacedName(object))?.metadata.uid === object.metadata.uid
  }

  /** Resolves when closed, or with the first list in a single check; never rejects. */
  async run(): Promise<void> {
    this.#endFirstList = this.#options.firstLists?.beginList() ?? this.#endFirstList
    while (!this.#closing.signal.aborted) {
      try {
        if (this.#resourceVersion === undefined || this.#refreshes.length > 0) await this.#list()
        else if (this.#options.isSingleCheck) return
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
    for (const settle of [...this.#refreshes, ...this.#listed]) settle()
  }

  /** Interrupts the watch and lists again. Resolves once the sink received the differences, or the failure. */
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
    // A refresh during this list ends the list and starts a newer one.
    const refreshes = this.#refreshes
    this.#refreshes = []
    const signal = this.#renewInterrupt()
    const { client, clock, path } = this.#options
    const isSlow = this.#listMs > answerTimeoutMs / 2
    const expectedMs = this.#isSynced ? 2 * this.#listMs : 0
    const limitMs = Math.min(Math.max(expectedMs, minRefreshMs), maxRefreshMs)
    const overdue = new AbortController()
    const stop =
      refreshes.length === 0 ? () => {} : clock.after(limitMs, () => overdue.abort(this.#listTimeoutError(limitMs)))
    const lastSuccessAt = this.#lastSuccessAt
    const begunAt = clock.now()
    try {
      // Alternate between long and short limits: the connection may be slow, or dead.
      const usesShortLimit = (refreshes.length > 0 && !isSlow) || this.#failures % 2 === 1
      const list =
        this.#options.firstList ??
        (await listAll(client, await path(), this.#request, (object) => this.#redactAndShare(object), {
          keepsFieldSets: this.#options.redactor.keepsRecordsOf(this.#request),
          signal: AbortSignal.any([signal, overdue.signal]),
          silenceMs: usesShortLimit ? answerTimeoutMs : listSilenceMs,
          onPage: () => this.#recordSuccess(),
        }))
      // A server that was restored from a backup counts again from a lower version. Objects without a version replace the known
      // ones, whose versions are higher.
      const isRestored = isLowerResourceVersion(list.resourceVersion, this.#latestVersion)
      this.#reportDifferences(isRestored ? list.items.map(withoutResourceVersion) : list.items)
      this.#resourceVersion = list.resourceVersion
      this.#latestVersion = list.resourceVersion
      this.#listMs = clock.now() - begunAt
      if (this.#pollsLeft > 0) this.#failures = 0
      this.#reportRecovery()
      if (!this.#isSynced) this.#options.sink({ type: 'SYNCED', ...this.#request })
      this.#isSynced = true
    } catch (error) {
      if (overdue.signal.aborted) this.#listMs = 0
      // The pages of a list that was interrupted before its end, or of an overdue one, do not count as a success.
      if (overdue.signal.aborted || (signal.aborted && !this.#isSynced)) this.#lastSuccessAt = lastSuccessAt
      if (!signal.aborted) throw error
      const isHealthy = this.#reportedStatus === undefined
      if (isHealthy) this.#listMs = Math.max(this.#listMs, Math.min(clock.now() - begunAt, maxPartialListMs))
    } finally {
      stop()
      // If the list was interrupted, its refreshes wait for the next one.
      if (signal.aborted && !this.#closing.signal.aborted) this.#refreshes.push(...refreshes)
      else this.#listed.push(...refreshes)
      this.#endFirstList()
    }
    await this.#resolveRefreshes()
  }

  #listTimeoutError(limitMs: number): ConnectionError {
    const { kind } = this.#request
    return new ConnectionError('ETIMEDOUT', `the list of ${kind} did not end within ${Math.round(limitMs / 1000)} s`)
  }

  /** Resolves the refreshes whose list is complete or failed. */
  async #resolveRefreshes(): Promise<void> {
    const listed = this.#listed
    this.#listed = []
    if (listed.length === 0) return
    await Promise.all(this.#unmatched)
    for (const settle of listed) settle()
  }

  /** Waits until the next list, which replaces a watch that is forbidden or fails. */
  async #poll(): Promise<void> {
    this.#pollsLeft -= 1
    await this.#pause(watchForbiddenPollMs)
    this.#resourceVersion = undefined
  }

  /** One watch until its end. The next one starts at the last resource version. */
  async #watch(): Promise<void> {
    const { clock, client, path, firstLists } = this.#options
    const signal = this.#renewInterrupt()
    if (this.#isFirstWatch) await firstLists?.waitForLists(signal)
    if (signal.aborted) return
    this.#isFirstWatch = false
    // Random, so the watches do not all end together.
    const timeoutSeconds = minWatchSeconds + Math.floor(clock.random() * watchSpreadSeconds)
    let healthyFrom = Number.POSITIVE_INFINITY
    let failure: unknown
    try {
      const collection = await path()
      const query = new URLSearchParams({
        ...selectionQuery(this.#request),
        watch: 'true',
        allowWatchBookmarks: 'true',
        timeoutSeconds: String(timeoutSeconds),
        resourceVersion: this.#resourceVersion ?? '',
      })
      const lines = readWatchLines({
        client,
        clock,
        path: `${collection}?${query}`,
        accept: acceptHeader(this.#request, 'watch'),
        signal,
        overdueMs: timeoutSeconds * 1000 + watchOverdueMs,
        probe: (ended) => this.#probe(collection, ended),
        onOpen: () => {
          healthyFrom = clock.now() + healthyWatchMs
          this.#recordSuccess()
        },
        onBytes: () => this.#recordSuccess(),
      })
      for await (const line of lines) {
        this.#handleLine(line)
        healthyFrom = clock.now()
      }
    } catch (error) {
      if (isForbidden(error) || isMethodNotSupported(error)) {
        this.#pollsLeft = pollsBetweenWatches
        return
      }
      if (isUnauthorized(error) || isExpired(error) || isNotFound(error)) throw error
      failure = error
    } finally {
      if (clock.now() >= healthyFrom) {
        this.#failures = 0
        this.#wasExpired = false
      }
    }
    if (signal.aborted) return
    if (clock.now() >= healthyFrom) this.#failedWatches = 0
    else this.#failedWatches += 1
    const isBroken = failure !== undefined && !(failure instanceof BrokenWatchError)
    if (this.#failedWatches > failedWatchesBeforePolls) {
      // Lists may still succeed, and then replace the watch. Otherwise the next list reports the failure.
      this.#pollsLeft = Math.min(this.#failedWatches - failedWatchesBeforePolls, pollsBetweenWatches)
      this.#resourceVersion = undefined
      await this.#pause(Math.min(retryAfterOf(failure), maxRetryAfterMs))
    } else if (isBroken) throw failure
    else if (failure !== undefined || this.#failedWatches > 0) await this.#pause(this.#backOffMs())
  }

  async #probe(collection: string, signal: AbortSignal): Promise<void> {
    const query = new URLSearchParams({ ...selectionQuery(this.#request), limit: '1' })
    const list = await this.#options.client.requestJson(`${collection}?${query}`, {
      accept: acceptHeader(this.#request, 'list'),
      timeoutMs: answerTimeoutMs,
      signal,
    })
    this.#recordSuccess()
    this.#checkVersion((list as { metadata?: { resourceVersion?: string } } | null)?.metadata?.resourceVersion)
  }

  /**
   * Throws the error of an expired version if the server's version is lower than that of the watch, which then receives no
   * changes: another server may be behind, or the server was restored from a backup.
   */
  #checkVersion(version: string | undefined): void {
    if (isLowerResourceVersion(version, this.#resourceVersion))
      throw new ApiError(410, 'the server has a lower resource version')
  }

  /** Handles one event of a watch (kubernetes.io/docs/reference/using-api/api-concepts, "Efficient detection of changes"). */
  #handleLine(line: Buffer): void {
    let event: { type?: unknown; object?: (KubeObject & { code?: number }) | null }
    try {
      const isWhole = this.#options.redactor.keepsRecordsOf(this.#request)
      event = (isWhole ? JSON.parse(line.toString('utf8')) : parseJson(line)) as typeof event
    } catch {
      throw new ConnectionError('EBADMSG', `the watch of ${this.#request.kind} sent a line that is not JSON`)
    }
    const { type, object } = event ?? {}
    if (type === 'ERROR') throw errorFromStatus(object, object?.code ?? 500, 'the watch ended with an error')
    const resourceVersion = object?.metadata?.resourceVersion
    if (!object || resourceVersion === undefined || (type !== 'BOOKMARK' && !hasName(object))) {
      throw new ConnectionError('EBADMSG', `the watch of ${this.#request.kind} sent something that is not an event`)
    }
    if (type === 'BOOKMARK') this.#checkVersion(resourceVersion)
    else {
      const compact = this.#redactAndShare(withKind(object, this.#request))
      if (type === 'DELETED') this.#remove(compact)
      else this.#put(compact)
    }
    this.#resourceVersion = resourceVersion
    this.#latestVersion = resourceVersion
  }

  #reportDifferences(items: readonly KubeObject[]): void {
    const listed = new Set(items.map(namespacedName))
    for (const [key, object] of this.#objects) if (!listed.has(key)) this.#remove(object)
    for (const item of items) this.#put(item)
  }

  #put(object: KubeObject): void {
    const key = namespacedName(object)
    const known = this.#objects.get(key)
    if (known && known.metadata.resourceVersion === object.metadata.resourceVersion) return
    const replaced = known !== undefined && known.metadata.uid !== object.metadata.uid
    if (replaced) this.#remove(known)
    this.#objects.set(key, object)
    this.#options.sink({ type: known && !replaced ? 'MODIFIED' : 'ADDED', object })
  }

  /**
   * Redacts an object. It shares its equal parts with its last version, or with another object of its controller: the pods
   * of one controller have the same containers, volumes and tolerations.
   */
  #redactAndShare(object: KubeObject): KubeObject {
    const redacted = this.#options.redactor.redact(object)
    const controller = controllerOf(redacted)
    const sibling = controller === undefined ? undefined : this.#siblings.get(controller)
    const compact = shareEqualParts(redacted, this.#objects.get(namespacedName(redacted)) ?? sibling)
    if (controller !== undefined && sibling === undefined) this.#siblings.set(controller, compact)
    return compact
  }

  #remove(object: KubeObject): void {
    const known = this.#objects.get(namespacedName(object))
    if (known?.metadata.uid !== object.metadata.uid) return
    this.#objects.delete(namespacedName(object))
    const controller = controllerOf(object) ?? ''
    if (this.#siblings.get(controller)?.metadata.uid === object.metadata.uid) this.#siblings.delete(controller)
    // Without a deletionTimestamp, the object may only have changed its labels.
    if (this.#request.labelSelector === undefined || object.metadata.deletionTimestamp !== undefined) {
      this.#options.sink({ type: 'DELETED', object })
      return
    }
    const reading = this.#options.onUnmatched(object).finally(() => this.#unmatched.delete(reading))
    this.#unmatched.add(reading)
  }

  /** Reports a failed attempt, and waits before the next one. */
  async #recover(failure: unknown): Promise<void> {
    const isListing = this.#resourceVersion === undefined
    // The next list reports the changes since the failure first, and the recovery after them.
    this.#resourceVersion = undefined
    if (isExpired(failure)) {
      // An expired version is normal, because the server's history is limited. Only a second expiry in a row delays the next
      // attempt; in a list, it is also reported.
      if (this.#wasExpired && isListing) this.#reportFailure(new ConnectionError('EBADMSG', 'every list has expired'))
      if (this.#wasExpired) await this.#pause(this.#backOffMs())
      this.#wasExpired = true
      return
    }
    const { error, isKindGone } = await this.#explainNotFound(failure)
    if (this.#closing.signal.aborted) return
    // The present objects are unknown until access is granted again.
    if (isForbidden(error)) this.#isSynced = false
    this.#reportFailure(error)
    // The objects of a kind are deleted with its CRD. If the CRD was deleted before the watch began, no event reports it.
    if (isKindGone) this.#reportDifferences([])
    await this.#resolveRefreshes()
    const retryAfterMs = Math.min(retryAfterOf(error), maxRetryAfterMs)
    await this.#pause(Math.max(this.#pauseMsAfter(error), retryAfterMs))
  }

  /**
   * A 404 alone does not prove that the kind does not exist: a proxy or a load balancer without a backend answers 404 too.
   * Therefore the server's kinds are read: if they contain the kind or cannot be read, the server counts as
   * unavailable. A starting API server needs no such check: it answers 503.
   */
  async #explainNotFound(error: unknown): Promise<{ readonly error: unknown; readonly isKindGone?: boolean }> {
    if (!isNotFound(error)) return { error }
    try {
      const state = await this.#options.kindState()
      if (state === 'gone') return { error, isKindGone: true }
      return { error: state === 'other-version' ? error : unexpectedNotFoundError(error) }
    } catch (failure) {
      return { error: isNotFound(failure) ? noApiServerError(failure) : failure }
    }
  }

  #pauseMsAfter(error: unknown): number {
    if (isForbidden(error)) return forbiddenBackOffMs
    if (isNotFound(error)) return missingBackOffMs
    return isUnauthorized(error) || isMethodNotSupported(error) ? refusedBackOffMs : this.#backOffMs()
  }

  #reportFailure(error: unknown): void {
    const status = httpStatusOf(error)
    if (this.#reportedStatus === status) return
    this.#reportedStatus = status
    // The client has already read the credentials again.
    const final = isUnauthorized(error)
    const failure = failureOf(error, { ...this.#request, lastSuccessAt: this.#lastSuccessAt, final })
    if (failure === undefined) return
    this.#options.sink(failure)
  }

  #recordSuccess(): void {
    this.#lastSuccessAt = this.#options.clock.now()
  }

  #reportRecovery(): void {
    if (this.#reportedStatus === undefined) return
    this.#reportedStatus = undefined
    this.#options.sink({ type: 'ALIVE', ...this.#request })
  }

  /** `minWatchBackOffMs`, doubled with each failure up to `maxWatchBackOffMs`, ±50 %: runners must not retry together. */
  #backOffMs(): number {
    const delayMs = Math.min(maxWatchBackOffMs, minWatchBackOffMs * 2 ** this.#failures)
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

function namespacedName({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`
}

/** Whether both versions are numbers, as on every server with etcd, and the first is lower. */
function isLowerResourceVersion(version: string | undefined, latest: string | undefined): boolean {
  return Number(version) > 0 && Number(version) < Number(latest)
}

/** The object without its resource version: a version that the server reports then replaces it, whatever its number. */
export function withoutResourceVersion(object: KubeObject): KubeObject {
  const { resourceVersion: _, ...metadata } = object.metadata
  return { ...object, metadata }
}

/**
 * Delays first watches until no first list is pending. A finished rollout is judged by its lists alone; then it opens no
 * watch, and each watch needs a connection of its own. A late watch loses no event, since it begins at the version of its
 * list.
 */
export class FirstLists {
  readonly #clock: Clock
  #pending = 0
  /** Aborted when no first list is pending; undefined from then on. */
  #ended: AbortController | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts a list. The returned function ends it: after the first attempt, successful or not. */
  beginList(): () => void {
    this.#ended ??= new AbortController()
    this.#pending += 1
    let isPending = true
    return () => {
      if (!isPending) return
      isPending = false
      this.#pending -= 1
      // Later, because the result of a list may begin further lists, or end the gate.
      if (this.#pending === 0) setImmediate(() => this.#end())
    }
  }

  #end(): void {
    if (this.#pending > 0) return
    this.#ended?.abort()
    this.#ended = undefined
  }

  /** Resolves when no first list is pending, at the latest after `maxFirstListDelayMs` or when the signal is aborted. */
  async waitForLists(signal: AbortSignal): Promise<void> {
    if (this.#ended === undefined) return
    await sleep(this.#clock, maxFirstListDelayMs, AbortSignal.any([signal, this.#ended.signal]))
  }
}
