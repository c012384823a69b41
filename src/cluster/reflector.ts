import {
  answerTimeoutMs,
  failedWatchesBeforePolls,
  forbiddenBackOffMs,
  healthyWatchMs,
  listSilenceMs,
  maxFirstListDelayMs,
  maxRefreshMs,
  maxRetryAfterMs,
  maxWatchBackOffMs,
  maxWatchLineBytes,
  minRefreshMs,
  minWatchBackOffMs,
  minWatchSeconds,
  missingBackOffMs,
  pollsBetweenWatches,
  refusedBackOffMs,
  watchForbiddenPollMs,
  watchOverdueMs,
  watchSilenceMs,
  watchSpreadSeconds,
} from '../thresholds.ts'
import type { Client } from './client.ts'
import { awaitAtMost, awaitUnlessAborted, type Clock, sleep, withTimeout } from './clock.ts'
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
import { splitLines } from './lines.ts'
import { acceptHeader, hasName, type List, listCollection, selectionQuery, withKind } from './list.ts'
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
  /** Returns whether another watch contains this object. */
  readonly isWatchedElsewhere: (object: KubeObject) => boolean
  /** Delays watches until the first lists of all reflectors are complete. */
  readonly firstLists?: FirstLists
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
  #isSynced = false
  /** Whether a list is needed before the next watch. */
  #needsList = true
  /** The resource version of the last list or event, where the next watch starts. */
  #resourceVersion: string | undefined
  /** The HTTP status of the failure that was reported last. Undefined while requests succeed. */
  #reportedStatus: number | undefined
  /** When a request last succeeded. Before the first success, the time of the start. */
  #lastSuccessAt: number
  /** How many attempts failed since the last list or healthy watch. */
  #failures = 0
  /** The duration of the last list. */
  #listMs = 0
  /** How many more lists replace the watch, before a watch is tried again. */
  #pollsLeft = 0
  /** How many watches in a row failed or ended at once. */
  #failedWatches = 0
  /** Callbacks of the refreshes that wait for the next list. */
  #refreshes: (() => void)[] = []
  /** Aborted to end the present attempt or pause, so that the next list starts at once. */
  #interrupt = new AbortController()

  constructor(request: WatchRequest, options: ReflectorOptions) {
    this.#request = request
    this.#options = options
    this.#lastSuccessAt = options.clock.now()
  }

  /** Whether the known objects include this object with the same uid. */
  hasObject(object: KubeObject): boolean {
    const { apiVersion, kind } = this.#request
    const isOfKind = kind === object.kind && apiVersion === object.apiVersion
    return isOfKind && this.#objects.get(namespacedName(object))?.metadata.uid === object.metadata.uid
  }

  /** Runs until `close` is called, or in a single check until the first list is complete. Never rejects. */
  async run(): Promise<void> {
    const { clock, firstLists, isSingleCheck } = this.#options
    const endFirstList = firstLists?.beginList()
    while (!this.#closing.signal.aborted && !(isSingleCheck && !this.#needsList)) {
      const refreshes = this.#refreshes.splice(0)
      this.#interrupt = new AbortController()
      const { signal } = this.#interrupt
      let pauseMs = 0
      try {
        if (this.#needsList || refreshes.length > 0) await this.#list(signal, refreshes.length > 0)
        else pauseMs = await this.#watch(signal)
      } catch (error) {
        if (!signal.aborted) pauseMs = await this.#handleFailure(error)
      }
      endFirstList?.()
      // If a newer refresh interrupted the list, the older refreshes wait for the next list too.
      if (signal.aborted) this.#refreshes.push(...refreshes)
      else for (const settle of refreshes) settle()
      if (pauseMs > 0) await sleep(clock, pauseMs, signal)
    }
    this.close()
  }

  close(): void {
    this.#closing.abort()
    this.#interrupt.abort()
    for (const settle of this.#refreshes) settle()
  }

  /** Interrupts the watch and lists again. Resolves once the sink has received the differences or the failure. */
  refresh(): Promise<void> {
    return new Promise((resolve) => {
      this.#refreshes.push(resolve)
      this.#interrupt.abort()
      if (this.#closing.signal.aborted) resolve()
    })
  }

  /** @param isRefresh whether a deadline waits for the list, so that its time is limited */
  async #list(interrupt: AbortSignal, isRefresh: boolean): Promise<void> {
    const { client, clock, path, firstList } = this.#options
    const begunAt = clock.now()
    const read = async (signal: AbortSignal) =>
      listCollection(client, await path(), this.#request, (object) => this.#redactAndShare(object), {
        signal,
        // The connection may be slow or dead, so failed lists alternate between a long and a short limit.
        silenceMs: this.#failures % 2 === 1 ? answerTimeoutMs : listSilenceMs,
        // The pages of a first list, and of a list for a deadline, are no success: both are needed as a whole.
        onPage: isRefresh || !this.#isSynced ? undefined : () => this.#recordSuccess(),
      })
    const limitMs = Math.min(Math.max(2 * this.#listMs, minRefreshMs), maxRefreshMs)
    const readInTime = () => withTimeout(clock, limitMs, [interrupt], read, () => this.#listTimeoutError(limitMs))
    const list = firstList ?? (await (isRefresh ? readInTime() : read(interrupt)))
    // After a restore from a backup, the server's versions are lower than known versions. So the versions are
    // removed: objects without a version always replace known objects.
    const isRestored = isLowerResourceVersion(list.resourceVersion, this.#resourceVersion)
    this.#reportDifferences(isRestored ? list.items.map(withoutResourceVersion) : list.items)
    this.#resourceVersion = list.resourceVersion
    this.#needsList = false
    this.#listMs = clock.now() - begunAt
    this.#failures = 0
    this.#recordSuccess()
    if (this.#reportedStatus !== undefined) this.#options.sink({ type: 'ALIVE', ...this.#request })
    this.#reportedStatus = undefined
    if (!this.#isSynced) this.#options.sink({ type: 'SYNCED', ...this.#request })
    this.#isSynced = true
  }

  #listTimeoutError(limitMs: number): ConnectionError {
    const { kind } = this.#request
    return new ConnectionError('ETIMEDOUT', `the list of ${kind} did not end within ${Math.round(limitMs / 1000)} s`)
  }

  /** Runs one watch until its end, or prepares a list that replaces it. Returns the pause before the next attempt. */
  async #watch(signal: AbortSignal): Promise<number> {
    if (this.#pollsLeft > 0) {
      this.#pollsLeft -= 1
      this.#needsList = true
      return watchForbiddenPollMs
    }
    const { clock, path, firstLists } = this.#options
    await firstLists?.waitForLists(signal)
    if (signal.aborted) return 0
    let healthyFrom = Number.POSITIVE_INFINITY
    let failure: unknown
    try {
      const onOpen = () => {
        healthyFrom = clock.now() + healthyWatchMs
      }
      for await (const line of this.#watchLines(await path(), signal, onOpen)) {
        this.#handleLine(line)
        healthyFrom = clock.now()
      }
    } catch (error) {
      if (isForbidden(error) || isMethodNotSupported(error)) {
        this.#pollsLeft = pollsBetweenWatches
        return 0
      }
      if (isUnauthorized(error) || isNotFound(error)) throw error
      failure = error
    }
    const isHealthy = clock.now() >= healthyFrom
    if (signal.aborted && !isHealthy) return 0
    if (isHealthy) this.#failures = 0
    this.#failedWatches = isHealthy ? 0 : this.#failedWatches + 1
    // If lists still succeed, they replace the watch. Otherwise the next list reports the failure.
    const isReplaced = this.#failedWatches > failedWatchesBeforePolls
    if (isReplaced) this.#pollsLeft = Math.min(this.#failedWatches - failedWatchesBeforePolls, pollsBetweenWatches)
    // An expired version is normal, because the server's history is limited.
    if (isReplaced || isExpired(failure)) {
      this.#needsList = true
      return Math.min(retryAfterOf(failure), maxRetryAfterMs)
    }
    if (failure !== undefined) throw failure
    return isHealthy ? 0 : this.#nextBackOffMs()
  }

  /**
   * Yields the complete lines of one watch. Ends normally if the server ends the watch, an open connection breaks, the
   * signal is aborted, or the watch is overdue. Throws if the opening fails, or if the watch is silent and the probe
   * fails. Never hangs on a dead connection.
   */
  async *#watchLines(collection: string, interrupt: AbortSignal, onOpen: () => void): AsyncGenerator<string> {
    const { client, clock } = this.#options
    const stopping = new AbortController()
    const stop = () => stopping.abort()
    const signal = AbortSignal.any([interrupt, stopping.signal])
    let isOpen = false
    let chunks = 0
    let probeError: unknown
    let cancelSilence = () => {}
    let cancelOverdue = () => {}

    const restartSilenceTimer = () => {
      this.#recordSuccess()
      cancelSilence()
      cancelSilence = clock.after(watchSilenceMs, probeConnection)
    }
    const probeConnection = async () => {
      const before = chunks
      try {
        await this.#sendProbe(collection, signal)
        // The server answers, so only the connection of the watch may be dead. The next watch continues from here.
        if (chunks === before) stop()
      } catch (error) {
        if (chunks !== before || signal.aborted) return
        probeError = error
        stop()
      }
    }
    const observeChunks = async function* (stream: AsyncIterable<Buffer>) {
      for await (const chunk of stream) {
        chunks += 1
        restartSilenceTimer()
        yield chunk
      }
    }
    const throwTooLong = () => {
      throw new ConnectionError('E2BIG', 'a line of the watch is too long')
    }

    // A random duration, so that the watches do not all end at the same time.
    const timeoutSeconds = minWatchSeconds + Math.floor(clock.random() * watchSpreadSeconds)
    const query = new URLSearchParams({
      ...selectionQuery(this.#request),
      watch: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(timeoutSeconds),
      resourceVersion: this.#resourceVersion ?? '',
    })
    try {
      const accept = acceptHeader(this.#request, 'watch')
      const stream = await client.openStream(`${collection}?${query}`, { accept, signal, timeoutMs: answerTimeoutMs })
      isOpen = true
      onOpen()
      restartSilenceTimer()
      cancelOverdue = clock.after(timeoutSeconds * 1000 + watchOverdueMs, stop)
      const limits = { maxBytes: maxWatchLineBytes, onExcess: throwTooLong, isRestLine: false }
      yield* splitLines(observeChunks(stream), limits)
    } catch (error) {
      if (probeError !== undefined) throw probeError
      if (!signal.aborted && (!isOpen || error instanceof ConnectionError)) throw error
    } finally {
      cancelSilence()
      cancelOverdue()
      stop()
    }
  }

  /** Sends a small request: if a watch is silent, its connection or the server may be dead. */
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
  #handleLine(line: string): void {
    let event: { type?: unknown; object?: (KubeObject & { code?: number }) | null }
    try {
      event = JSON.parse(line) as typeof event
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
    // Without a deletionTimestamp, the object may only have lost the labels that this watch selects.
    const mayExist = this.#request.labelSelector !== undefined && object.metadata.deletionTimestamp === undefined
    if (mayExist && this.#options.isWatchedElsewhere(object)) return
    this.#options.sink({ type: 'DELETED', object })
  }

  /** Reports a failed attempt. Returns the pause before the next list. */
  async #handleFailure(failure: unknown): Promise<number> {
    // The next list reports the changes since the failure, and then the recovery.
    this.#needsList = true
    const { error, isKindGone } = await this.#findCause(failure)
    if (this.#closing.signal.aborted) return 0
    // Without access, the present objects are unknown. After the next list, `SYNCED` is reported again.
    if (isForbidden(error)) this.#isSynced = false
    this.#reportFailure(error)
    // The deletion of a CRD deletes the objects of its kind. If no watch was open then, no event reported the
    // deletions.
    if (isKindGone) this.#reportDifferences([])
    return Math.max(this.#pauseMsAfter(error), Math.min(retryAfterOf(error), maxRetryAfterMs))
  }

  /**
   * Finds the cause of a 404. A proxy or a load balancer without a backend also answers with 404, so the kinds of the
   * server are read. If they cannot be read or contain the kind, the server counts as unavailable.
   */
  async #findCause(error: unknown): Promise<{ readonly error: unknown; readonly isKindGone?: boolean }> {
    if (isExpired(error)) return { error: new ConnectionError('EBADMSG', 'every list has expired') }
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

  /** The next delay, doubled with each failure, and random within ±50 % so that runners do not retry together. */
  #nextBackOffMs(): number {
    const delayMs = Math.min(maxWatchBackOffMs, minWatchBackOffMs * 2 ** this.#failures)
    this.#failures += 1
    return delayMs * (0.5 + this.#options.clock.random())
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
function withoutResourceVersion(object: KubeObject): KubeObject {
  const { resourceVersion: _, ...metadata } = object.metadata
  return { ...object, metadata }
}

/**
 * Returns `existing` if both values are equal. Otherwise returns `value`, but with the equal parts of `existing` in
 * place of its own equal parts. So equal parts of many objects are in memory only once.
 * @param value is changed, so no other code may use it
 */
export function shareEqualParts<T>(value: T, existing: unknown): T {
  if (typeof value !== 'object' || value === null || typeof existing !== 'object' || existing === null)
    return value === existing ? (existing as T) : value
  if (Array.isArray(value) !== Array.isArray(existing)) return value
  const [parts, existingParts] = [value as Record<string, unknown>, existing as Record<string, unknown>]
  const names = Object.keys(parts)
  let isSame = names.length === Object.keys(existingParts).length
  for (const name of names) {
    const other = Object.hasOwn(existingParts, name) ? existingParts[name] : undefined
    // Safe for the key `__proto__`: `parts` has an own property of that name, so this does not set the prototype.
    const shared = shareEqualParts(parts[name], other)
    parts[name] = shared
    isSame &&= shared === other
  }
  return isSame ? (existing as T) : value
}

/**
 * Delays first watches until no first list is pending. If the lists show that the rollout is complete, no watch is
 * opened, which saves a connection for each watch. A late watch misses no event, because it starts at the version of
 * its list.
 */
export class FirstLists {
  readonly #clock: Clock
  readonly #pending = new Set<Promise<void>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts a list as pending. The caller calls the returned function after the first attempt, successful or not. */
  beginList(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#pending.add(promise)
    const end = () => {
      this.#pending.delete(promise)
      resolve()
    }
    // Later, because the result of a list may start further lists or end the gate.
    return () => setImmediate(end)
  }

  /** Resolves when no first list is pending, after `maxFirstListDelayMs`, or when the signal is aborted. */
  async waitForLists(signal: AbortSignal): Promise<void> {
    if (this.#pending.size > 0)
      await awaitAtMost(this.#clock, maxFirstListDelayMs, awaitUnlessAborted(this.#listsEnded(), signal))
  }

  async #listsEnded(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending)
  }
}
