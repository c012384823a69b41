import {
  isAccessDenied,
  isCredentialRefusal,
  isMissing,
  isUnanswered,
  isUnavailable,
  parseDeniedAccess,
} from '../cluster/failures.ts'
import { type Failure, type FeedEvent, requestKey, type WatchRequest } from '../cluster/feed.ts'
import type { KubeObject } from '../cluster/objects.ts'
import { isSupersetOf, type Store, type WatchedRequests } from '../cluster/store.ts'
import { duration } from '../duration.ts'
import { earliestMoment } from '../lifecycle/proof.ts'
import { pluralOf } from '../plan/kinds.ts'
import { matchesSelector } from '../plan/names.ts'
import { describeGrants } from '../reasons/wording.ts'
import {
  credentialRefusals,
  manyObjects,
  neverReachedMs,
  recentChangeMs,
  recentListMs,
  unknownMs,
  withdrawnMs,
} from '../thresholds.ts'
import { createVerdict, deniedVerdict, type Verdict } from './outcome.ts'

/* Records when each watch last succeeded, and decides whether an outage ends the gate. */

/** A failing watch, or a target to which the access was withdrawn (403). Moments are milliseconds since the epoch. */
interface Outage {
  /** The last failure of the watch. It contains the request. */
  readonly failure: Failure
  /** When the watch last succeeded; if unknown, when it first failed. */
  readonly lastSuccessAt: number
  /** The readable name of the target, if the access to the target was withdrawn. */
  readonly name?: string | undefined
}

/**
 * The health of the watches: when each last succeeded, and whether it is unavailable or refused. A watch without events
 * is healthy, because each watch is renewed within 45 s or reports that it is unavailable.
 */
export class ApiHealth {
  readonly #watched: WatchedRequests
  readonly #store: Pick<Store, 'list'>
  #wasReached = false
  readonly #outages = new Map<string, Outage>()
  /** The denied access to kinds that no target needs, by the plural of the kind. */
  readonly #unreadable = new Map<string, Failure>()
  /** The logged outages, by `outageKey`. An outage ends with the first answer of one of its watches. */
  readonly #logged = new Set<string>()
  /** How often the credentials were refused since the last success. */
  #credentialRefusals = 0
  /** The latest complete list of each request. */
  readonly #lists = new Map<string, Partial<WatchRequest> & { readonly at: number }>()
  /** The recent changes of objects, the oldest first. */
  readonly #changes: { readonly at: number; readonly object: KubeObject }[] = []

  /** @param watched all watches since the start of the gate */
  constructor(watched: WatchedRequests, store: Pick<Store, 'list'>) {
    this.#watched = watched
    this.#store = store
  }

  /** Updates the health after an event. Returns one sentence for each outage that begins or ends. */
  observe(event: FeedEvent): readonly string[] {
    const before = [...this.#outages.values()]
    this.#updateByEvent(event)
    return [
      ...this.#announceOutage(event),
      ...before
        .filter((outage) => !this.#outages.has(requestKey(outage.failure)) && this.#logged.delete(outageKey(outage)))
        .map((outage) => `${outageEndText(outageKey(outage))} after ${wholeSeconds(event.at - outage.lastSuccessAt)}`),
      ...this.#endRefusal(event),
    ]
  }

  /** Returns the sentence about the outage of this failure, unless the outage is logged already. Marks it as logged. */
  #announceOutage(event: FeedEvent): readonly string[] {
    const outage = event.type === 'ERROR' ? this.#outages.get(requestKey(event)) : undefined
    if (outage === undefined || this.#logged.has(outageKey(outage))) return []
    this.#logged.add(outageKey(outage))
    const { message } = outage.failure
    return [`${outageStartText(outage)}${message === '' ? '' : ` (${message})`}: no timeout applies meanwhile`]
  }

  #updateByEvent(event: FeedEvent): void {
    if (event.type === 'ERROR') {
      this.#recordFailure(event)
      return
    }
    if (event.type === 'LOG' || event.type === 'CANCEL' || event.type === 'END') return
    this.#wasReached = true
    this.#credentialRefusals = 0
    if ('object' in event) {
      this.#endOutages(event.object.kind)
      const old = this.#changes.findIndex(({ at }) => at >= event.at - recentChangeMs)
      this.#changes.splice(0, old === -1 ? this.#changes.length : old)
      this.#changes.push(event)
    }
    if (event.type === 'SYNCED' || event.type === 'ALIVE') {
      this.#endOutages(event.kind, event)
      if (event.kind !== undefined) this.#lists.set(requestKey(event), event)
    }
  }

  /** Records that access to a kind is denied. Returns a log line with the missing permissions, the first time. */
  recordRefusal(refused: Failure): string | undefined {
    const kinds = pluralOf(refused.kind ?? 'object')
    if (this.#unreadable.has(kinds)) return undefined
    this.#unreadable.set(kinds, refused)
    const access = [...this.#unreadable.values()].flatMap(({ message }) => parseDeniedAccess(message) ?? [])
    const remedy = access.length === this.#unreadable.size ? `. ${describeGrants(access)}` : ` (${refused.message})`
    return `${kinds} cannot be read: continuing with what the controllers report${remedy}`
  }

  /** Ends the refusal of a kind if this event is a complete list of the kind. Returns the log line. */
  #endRefusal(event: FeedEvent): readonly string[] {
    const kinds = event.type === 'SYNCED' ? pluralOf(event.kind) : ''
    const refused = this.#unreadable.get(kinds)
    if (
      event.type !== 'SYNCED' ||
      refused === undefined ||
      !this.#watched.isReportAbout(event, refused as WatchRequest)
    )
      return []
    this.#unreadable.delete(kinds)
    return [`${kinds} may be read again`]
  }

  /** Records that the access to a target was withdrawn. @param name the readable name of the target */
  recordWithdrawal(failure: Failure, at: number, name: string): void {
    this.#outages.set(requestKey(failure), { failure, lastSuccessAt: at, name })
    this.#logged.add(name)
  }

  /** Whether the access in this failure is recorded as withdrawn. */
  isWithdrawn(failure: Failure): boolean {
    return this.#outages.get(requestKey(failure))?.name !== undefined
  }

  /** Whether no watch is unavailable and no access is withdrawn. */
  get isHealthy(): boolean {
    return this.#outages.size === 0
  }

  /** Whether one of these watches is unavailable, or its access was withdrawn. */
  isUnavailable(requests: readonly WatchRequest[]): boolean {
    return this.#outagesOf(requests).length > 0
  }

  /** When the longest outage of these watches began; undefined if they have no outage. */
  lastSuccessAt(requests: readonly WatchRequest[]): number | undefined {
    return earliestMoment(this.#outagesOf(requests).map(({ lastSuccessAt }) => lastSuccessAt))
  }

  /** When an outage of these watches will end the gate. */
  endsGateAt(requests: readonly WatchRequest[]): number | undefined {
    return earliestMoment(this.#outagesOf(requests).map((outage) => this.#outageEndsGateAt(outage)))
  }

  #outageEndsGateAt({ failure, lastSuccessAt }: Outage): number {
    if (isAccessDenied(failure)) return lastSuccessAt + withdrawnMs
    return lastSuccessAt + (this.#wasReached ? unknownMs : neverReachedMs)
  }

  /** The verdict if an outage of these watches ends the gate: if it lasts too long, or at a timeout. */
  outageVerdict(requests: readonly WatchRequest[], now: number, isTimeout: boolean): Verdict | undefined {
    const failing = this.#outagesOf(requests).toSorted((a, b) => this.#outageEndsGateAt(a) - this.#outageEndsGateAt(b))
    const [first] = failing
    if (first === undefined) return undefined
    const isDue = this.#credentialRefusals >= credentialRefusals || now >= this.#outageEndsGateAt(first)
    if (!isDue && !isTimeout) return undefined
    const outage = failing.find(({ failure }) => isCredentialRefusal(failure)) ?? first
    const { failure, name = '' } = outage
    const { message } = failure
    if (isAccessDenied(failure)) return deniedVerdict('unknown', { name, wasReadable: true, message })
    const outcome = this.#wasReached ? 'unknown' : 'misconfigured'
    if (isCredentialRefusal(failure)) return createVerdict(outcome, 'credentials-expired', { message })
    const subjects = new Set([...this.#outages.values()].map(outageKey))
    // If several kinds cannot be read, the cause is the server rather than a webhook.
    const isOfKind = subjects.size === 1 && outage.name === undefined
    return {
      ...createVerdict(outcome, 'api-unreachable', { outage: outageDurationText(outage, now), message }),
      unreadable: isOfKind ? outageKey(outage) || undefined : undefined,
    }
  }

  /**
   * The watches without an answer since shortly before a moment, because their connections may be dead. An answer is a
   * complete list. For a watch of many objects, a change of one object is an answer too.
   * @param moment milliseconds since the epoch
   * @param needed the requests that need an answer
   * @param watches the present watches; one watch may serve several requests
   */
  silentWatches(
    moment: number,
    needed: readonly WatchRequest[],
    watches: readonly WatchRequest[],
  ): readonly WatchRequest[] {
    const listed = [...this.#lists.values()].filter(({ at }) => at >= moment - recentListMs)
    const unlisted = needed.filter((each) => !listed.some((list) => isSupersetOf(list, each)))
    const changed = this.#changes.filter(({ at }) => at >= moment - recentChangeMs)
    const hasChanged = (watch: WatchRequest) =>
      this.#store.list(watch.kind, watch.namespace).length > manyObjects &&
      changed.some(({ object }) => isWatched(watch, object))
    return watches.filter((watch) => unlisted.some((each) => isSupersetOf(watch, each)) && !hasChanged(watch))
  }

  /** Describes the present outages for the heartbeat, one sentence for each kind. */
  describeOutages(now: number): readonly string[] {
    const bySubject = Map.groupBy(this.#outages.values(), outageKey)
    return [...bySubject.values()].flatMap((outages) => {
      const [oldest] = outages.toSorted((a, b) => a.lastSuccessAt - b.lastSuccessAt)
      return oldest === undefined ? [] : [outageDurationText(oldest, now)]
    })
  }

  #recordFailure(failure: Failure & FeedEvent): void {
    const key = requestKey(failure)
    const known = this.#outages.get(key)
    if (isMissing(failure) || (isAccessDenied(failure) && known?.name === undefined)) {
      // The server has answered, so there is no outage. The store and the gate handle the refusal.
      if (failure.kind !== undefined) this.#outages.delete(key)
      return
    }
    if (isCredentialRefusal(failure)) this.#credentialRefusals += failure.final ? credentialRefusals : 1
    const lastSuccessAt = known?.lastSuccessAt ?? failure.lastSuccessAt ?? failure.at
    this.#outages.set(key, { failure, lastSuccessAt, name: known?.name })
  }

  /**
   * Ends the outages of a kind or, without a kind, of all watches. Most outages end only with a report of their own
   * watch (`report`), because an object may come from another watch of the kind.
   */
  #endOutages(kind: string | undefined, report?: Partial<WatchRequest>): void {
    for (const [key, { failure, name }] of this.#outages) {
      const isOfKind = kind === undefined || failure.kind === undefined || failure.kind === kind
      const isReported = report !== undefined && (kind === undefined || isSupersetOf(report, failure))
      const isExact = name !== undefined || isCredentialRefusal(failure) || failure.lastSuccessAt !== undefined
      if (isReported || (!isExact && isOfKind)) this.#outages.delete(key)
    }
  }

  /** The outages of the watches for these requests. Refused credentials affect every request. */
  #outagesOf(requests: readonly WatchRequest[]): readonly Outage[] {
    return [...this.#outages.values()].filter(
      ({ failure }) =>
        isCredentialRefusal(failure) || requests.some((request) => this.#watched.isReportAbout(failure, request)),
    )
  }
}

/** What an outage affects: the name of a target, or the plural of a kind. Empty for the whole API server. */
function outageKey({ failure, name }: Outage): string {
  if (name !== undefined) return name
  const isServer = !isUnavailable(failure) || isUnanswered(failure)
  return isServer || failure.kind === undefined ? '' : pluralOf(failure.kind)
}

function outageDurationText(outage: Outage, now: number): string {
  const subject = outageKey(outage)
  const since = wholeSeconds(now - outage.lastSuccessAt)
  return subject === '' ? `the API server has not answered for ${since}` : `${subject} could not be read for ${since}`
}

function outageStartText(outage: Outage): string {
  if (isCredentialRefusal(outage.failure)) return 'the API server refuses the credentials'
  const subject = outageKey(outage)
  return subject === '' ? 'the API server does not answer' : `${subject} cannot be read`
}

function outageEndText(subject: string): string {
  return subject === '' ? 'the API server answers again' : `${subject} can be read again`
}

function wholeSeconds(ms: number): string {
  return duration(Math.round(ms / 1_000) * 1_000)
}

/** Whether a watch covers an object. */
function isWatched({ labelSelector, ...watch }: WatchRequest, { apiVersion, kind, metadata }: KubeObject): boolean {
  const { namespace, name, labels = {} } = metadata
  return (
    isSupersetOf(watch, { apiVersion, kind, namespace, name }) &&
    (labelSelector === undefined || matchesSelector(labelSelector, labels))
  )
}
