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
import { shareEqualParts } from './compact.ts'
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
  retryAfterOf,
} from './failures.ts'
import type { Observation, WatchRequest } from './feed.ts'
import {
  acceptHeader,
  BrokenWatchError,
  hasName,
  type List,
  listCollection,
  readWatchLines,
  selectionQuery,
  withKind,
} from './list-and-watch.ts'
import { controllerUidOf, type KubeObject } from './objects.ts'
import type { Redactor } from './redact.ts'

/* Keeps the objects of one request up to date: lists, watches, and recovers from failures. */

export type Sink = (observation: Observation) => void

interface ReflectorOptions {
  readonly client: Client
  readonly clock: Clock
  readonly redactor: Redactor
  /** Returns the path of the collection. Called before each attempt. Rejects with a 404 for an unknown kind. */
  readonly path: () => Promise<string>
  /** Returns whether the server serves the kind of the request. Rejects if the server does not answer. */
  readonly kindState: () => Promise<KindState>
  readonly sink: Sink
  /**
   * Called with an object that either was deleted or no longer matches the label selector. Reads the object to find
   * out. Resolves once the sink has received the result.
   */
  readonly onUnmatched: (object: KubeObject) => Promise<void>
  /** Delays the first watch until the first lists of all reflectors are complete. */
  readonly firstLists?: FirstLists
  /** An object that is known before the first list. If the list does not contain the object, it was deleted. */
  readonly known?: KubeObject
  /** Whether the objects are listed once and not watched. */
  readonly isSingleCheck?: boolean | undefined
  /** The first list, if another function has already read it. Its objects are already redacted. */
  readonly firstList?: List | undefined
}

/**
 * Lists and watches the objects of one request until `close` is called. Reports every change to the sink exactly once,
 * despite broken connections and servers that stop sending.
 *
 * The watch starts at the resource version of the list. A later list is compared with the known objects, and only
 * differences are reported. A failure is reported once, and again if its HTTP status changes. After a failure, the next
 * list reports the differences and then `ALIVE`.
 */
export class Reflector {
  readonly #request: WatchRequest
  readonly #options: ReflectorOptions
  readonly #closing = new AbortController()
  readonly #objects = new Map<string, KubeObject>()
  /** One object of each controller. To save memory, other objects of the controller share equal parts with it. */
  readonly #siblings = new Map<string, KubeObject>()
  #endFirstList = () => {}
  #isFirstWatch = true
  #isSynced = false
  /** The resource version where the next watch starts. If undefined, a list is needed before. */
  #resourceVersion: string | undefined
  /** The resource version of the last list or event. */
  #latestVersion: string | undefined
  /** The HTTP status of the failure that was reported last. Undefined while requests succeed. */
  #reportedStatus: number | undefined
  /** When a request last succeeded. Before the first success, the time of the start. */
  #lastSuccessAt: number
  #failures = 0
  /** The duration of the last list. */
  #listMs = 0
  /** Whether the last attempt failed because its resource version had expired. */
  #wasExpired = false
  /** How many more lists replace the watch, before a watch is tried again. */
  #pollsLeft = 0
  /** How many watches in a row failed or ended at once. */
  #failedWatches = 0
  #refreshes: (() => void)[] = []
  /** Callbacks of refreshes whose list is complete or failed. Called once the pending reads have ended. */
  #listed: (() => void)[] = []
  /** Pending reads of objects that no longer match the selector. */
  readonly #unmatched = new Set<Promise<void>>()
  /** Aborted to end the present watch or pause, so that the next list starts at once. */
  #interrupt = new AbortController()

  constructor(request: WatchRequest, options: ReflectorOptions) {
    this.#request = request
    this.#options = options
    this.#lastSuccessAt = options.clock.now()
    if (options.known !== undefined) this.#objects.set(namespacedName(options.known), options.known)
  }

  /** Whether the known objects include this object with the same uid. */
  hasObject(object: KubeObject): boolean {
    const { apiVersion, kind } = this.#request
    const isOfKind = kind === object.kind && apiVersion === object.apiVersion
    return isOfKind && this.#objects.get(namespacedName(object))?.metadata.uid === object.metadata.uid
  }

  /** Runs until `close` is called, or in a single check until the first list is complete. Never rejects. */
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

  /** Interrupts the watch and lists again. Resolves once the sink has received the differences or the failure. */
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
    // A refresh during this list interrupts the list and starts a new list.
    const refreshes = this.#refreshes
    this.#refreshes = []
    const signal = this.#newInterruptSignal()
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
      // The connection may be slow or dead, so failed lists alternate between a long and a short limit.
      const usesShortLimit = (refreshes.length > 0 && !isSlow) || this.#failures % 2 === 1
      const list =
        this.#options.firstList ??
        (await listCollection(client, await path(), this.#request, (object) => this.#redactAndShare(object), {
          signal: AbortSignal.any([signal, overdue.signal]),
          silenceMs: usesShortLimit ? answerTimeoutMs : listSilenceMs,
          onPage: () => this.#recordSuccess(),
        }))
      // After a restore from a backup, the server's versions are lower than known versions. So the versions are
      // removed: objects without a version always replace known objects.
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
      // The pages of a list that took too long, or of an interrupted first list, do not count as a success.
      if (overdue.signal.aborted || (signal.aborted && !this.#isSynced)) this.#lastSuccessAt = lastSuccessAt
      if (!signal.aborted) throw error
      const isHealthy = this.#reportedStatus === undefined
      if (isHealthy) this.#listMs = Math.max(this.#listMs, Math.min(clock.now() - begunAt, maxPartialListMs))
    } finally {
      stop()
      // If the list was interrupted, its refreshes wait for the next list.
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

  /** Resolves the refreshes whose list is complete or failed, once all pending reads have ended. */
  async #resolveRefreshes(): Promise<void> {
    const listed = this.#listed
    this.#listed = []
    if (listed.length === 0) return
    await Promise.all(this.#unmatched)
    for (const settle of listed) settle()
  }

  /** Waits before the next list. Lists replace a watch that is forbidden or fails. */
  async #poll(): Promise<void> {
    this.#pollsLeft -= 1
    await this.#pause(watchForbiddenPollMs)
    this.#resourceVersion = undefined
  }

  /** Runs one watch until its end. The next watch starts at the last resource version. */
  async #watch(): Promise<void> {
    const { clock, client, path, firstLists } = this.#options
    const signal = this.#newInterruptSignal()
    if (this.#isFirstWatch) await firstLists?.waitForLists(signal)
    if (signal.aborted) return
    this.#isFirstWatch = false
    // A random duration, so that the watches do not all end at the same time.
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
        probe: (ended) => this.#sendProbe(collection, ended),
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
      // If lists still succeed, they replace the watch. Otherwise the next list reports the failure.
      this.#pollsLeft = Math.min(this.#failedWatches - failedWatchesBeforePolls, pollsBetweenWatches)
      this.#resourceVersion = undefined
      await this.#pause(Math.min(retryAfterOf(failure), maxRetryAfterMs))
    } else if (isBroken) throw failure
    else if (failure !== undefined || this.#failedWatches > 0) await this.#pause(this.#nextBackOffMs())
  }

  async #sendProbe(collection: string, signal: AbortSignal): Promise<void> {
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
   * Throws the error of an expired version if the server reports a lower version than the watch has: then the watch
   * would receive no changes. The server may lag behind another server, or may have been restored from a backup.
   */
  #checkVersion(version: string | undefined): void {
    if (isLowerResourceVersion(version, this.#resourceVersion))
      throw new ApiError(410, 'the server has a lower resource version')
  }

  /** Handles one event of a watch (Kubernetes API concepts, "Efficient detection of changes"). */
  #handleLine(line: Buffer): void {
    let event: { type?: unknown; object?: (KubeObject & { code?: number }) | null }
    try {
      event = JSON.parse(line.toString('utf8')) as typeof event
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
      if (type === 'DELETED') this.#removeAndReport(compact)
      else this.#storeAndReport(compact)
    }
    this.#resourceVersion = resourceVersion
    this.#latestVersion = resourceVersion
  }

  /** Reports the differences between a list and the known objects. A deletion contains the last known state. */
  #reportDifferences(items: readonly KubeObject[]): void {
    const listed = new Set(items.map(namespacedName))
    for (const [key, object] of this.#objects) if (!listed.has(key)) this.#removeAndReport(object)
    for (const item of items) this.#storeAndReport(item)
  }

  #storeAndReport(object: KubeObject): void {
    const key = namespacedName(object)
    const known = this.#objects.get(key)
    if (known && known.metadata.resourceVersion === object.metadata.resourceVersion) return
    const replaced = known !== undefined && known.metadata.uid !== object.metadata.uid
    if (replaced) this.#removeAndReport(known)
    this.#objects.set(key, object)
    this.#options.sink({ type: known && !replaced ? 'MODIFIED' : 'ADDED', object })
  }

  /**
   * Redacts an object. To save memory, the result shares equal parts with the last version of the object, or with
   * another object of the same controller: pods of one controller have the same containers, volumes and tolerations.
   */
  #redactAndShare(object: KubeObject): KubeObject {
    const redacted = this.#options.redactor.redact(object)
    const controller = controllerUidOf(redacted)
    const sibling = controller === undefined ? undefined : this.#siblings.get(controller)
    const compact = shareEqualParts(redacted, this.#objects.get(namespacedName(redacted)) ?? sibling)
    if (controller !== undefined && sibling === undefined) this.#siblings.set(controller, compact)
    return compact
  }

  #removeAndReport(object: KubeObject): void {
    const known = this.#objects.get(namespacedName(object))
    if (known?.metadata.uid !== object.metadata.uid) return
    this.#objects.delete(namespacedName(object))
    const controller = controllerUidOf(object) ?? ''
    if (this.#siblings.get(controller)?.metadata.uid === object.metadata.uid) this.#siblings.delete(controller)
    // Without a deletionTimestamp, the object may still exist with other labels.
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
    // A list comes next: it reports the changes since the failure, and then the recovery.
    this.#resourceVersion = undefined
    if (isExpired(failure)) {
      // An expired version is normal, because the server's history is limited. If versions expire twice in a row, the
      // next attempt is delayed. If the second was a list, a failure is reported too.
      if (this.#wasExpired && isListing) this.#reportFailure(new ConnectionError('EBADMSG', 'every list has expired'))
      if (this.#wasExpired) await this.#pause(this.#nextBackOffMs())
      this.#wasExpired = true
      return
    }
    const { error, isKindGone } = await this.#explainNotFound(failure)
    if (this.#closing.signal.aborted) return
    // Without access, the present objects are unknown. After the next list, `SYNCED` is reported again.
    if (isForbidden(error)) this.#isSynced = false
    this.#reportFailure(error)
    // The deletion of a CRD deletes the objects of its kind. If no watch was open then, no event reported the
    // deletions.
    if (isKindGone) this.#reportDifferences([])
    await this.#resolveRefreshes()
    const retryAfterMs = Math.min(retryAfterOf(error), maxRetryAfterMs)
    await this.#pause(Math.max(this.#pauseMsAfter(error), retryAfterMs))
  }

  /**
   * Finds the cause of a 404. A proxy or a load balancer without a backend also answers with 404, so the kinds of the
   * server are read. If they cannot be read or contain the kind, the server counts as unavailable.
   */
  async #explainNotFound(error: unknown): Promise<{ readonly error: unknown; readonly isKindGone?: boolean }> {
    if (!isNotFound(error)) return { error }
    try {
      const state = await this.#options.kindState()
      if (state === 'gone') return { error, isKindGone: true }
      if (state === 'other-version') return { error }
      return { error: new ApiError(503, `status 404, but the kind may exist: ${error.message}`) }
    } catch (failure) {
      if (!isNotFound(failure)) return { error: failure }
      return { error: new ConnectionError('EBADMSG', `status 404 for every request: ${failure.message}`) }
    }
  }

  #pauseMsAfter(error: unknown): number {
    if (isForbidden(error)) return forbiddenBackOffMs
    if (isNotFound(error)) return missingBackOffMs
    return isUnauthorized(error) || isMethodNotSupported(error) ? refusedBackOffMs : this.#nextBackOffMs()
  }

  #reportFailure(error: unknown): void {
    const status = httpStatusOf(error)
    if (this.#reportedStatus === status) return
    this.#reportedStatus = status
    // The refusal is final, because the client has already read the credentials again.
    const final = isUnauthorized(error) ? true : undefined
    this.#options.sink(failureOf(error, { ...this.#request, lastSuccessAt: this.#lastSuccessAt, final }))
  }

  #recordSuccess(): void {
    this.#lastSuccessAt = this.#options.clock.now()
  }

  #reportRecovery(): void {
    if (this.#reportedStatus === undefined) return
    this.#reportedStatus = undefined
    this.#options.sink({ type: 'ALIVE', ...this.#request })
  }

  /** The next delay, doubled with each failure, and random within ±50 % so that runners do not retry together. */
  #nextBackOffMs(): number {
    const delayMs = Math.min(maxWatchBackOffMs, minWatchBackOffMs * 2 ** this.#failures)
    this.#failures += 1
    return delayMs * (0.5 + this.#options.clock.random())
  }

  async #pause(delayMs: number): Promise<void> {
    if (this.#refreshes.length > 0) return
    await sleep(this.#options.clock, delayMs, this.#newInterruptSignal())
  }

  #newInterruptSignal(): AbortSignal {
    this.#interrupt = new AbortController()
    if (this.#closing.signal.aborted) this.#interrupt.abort()
    return this.#interrupt.signal
  }
}

function namespacedName({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`
}

/** Whether both resource versions are numbers and the first is lower. With etcd, all resource versions are numbers. */
function isLowerResourceVersion(version: string | undefined, latest: string | undefined): boolean {
  return Number(version) > 0 && Number(version) < Number(latest)
}

/** The object without its resource version, so that any version from the server replaces the object. */
export function withoutResourceVersion(object: KubeObject): KubeObject {
  const { resourceVersion: _, ...metadata } = object.metadata
  return { ...object, metadata }
}

/**
 * Delays first watches until no first list is pending. If the lists show that the rollout is complete, no watch is
 * opened, which saves a connection for each watch. A late watch misses no event, because it starts at the version of
 * its list.
 */
export class FirstLists {
  readonly #clock: Clock
  #pending = 0
  /** Aborted when no first list is pending any more. Undefined while no list is pending. */
  #ended: AbortController | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts a list as pending. The caller calls the returned function after the first attempt, successful or not. */
  beginList(): () => void {
    this.#ended ??= new AbortController()
    this.#pending += 1
    let isPending = true
    return () => {
      if (!isPending) return
      isPending = false
      this.#pending -= 1
      // Later, because the result of a list may start further lists or end the gate.
      if (this.#pending === 0) setImmediate(() => this.#releaseWatches())
    }
  }

  #releaseWatches(): void {
    if (this.#pending > 0) return
    this.#ended?.abort()
    this.#ended = undefined
  }

  /** Resolves when no first list is pending, after `maxFirstListDelayMs`, or when the signal is aborted. */
  async waitForLists(signal: AbortSignal): Promise<void> {
    if (this.#ended === undefined) return
    await sleep(this.#clock, maxFirstListDelayMs, AbortSignal.any([signal, this.#ended.signal]))
  }
}
