import { isUnanswered, parseDeniedAccess } from '../cluster/failures.ts'
import {
  type Failure,
  type FeedEvent,
  isAccessDenied,
  isFailure,
  requestKey,
  type WatchRequest,
} from '../cluster/feed.ts'
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
import { deniedVerdict, type Verdict, verdictOf } from './outcome.ts'

/** A failing watch, or the watch of a target whose access was withdrawn (403). Moments are milliseconds since the epoch. */
interface Outage {
  /** The last failure of the watch, which contains the request. */
  readonly failure: Failure
  /** The last success, as the watch reports it. In recordings without it, and of withdrawn access: the first failure. */
  readonly lastSuccessAt: number
  /** The target's name for people, if its access was withdrawn. */
  readonly name?: string | undefined
}

/**
 * When each watch last succeeded, and whether it is unavailable or refused. A watch without events is healthy: each
 * watch is renewed within 45 s, or reports that it is unavailable.
 */
export class ApiHealth {
  readonly #watched: WatchedRequests
  readonly #store: Pick<Store, 'list'>
  #wasReached = false
  readonly #outages = new Map<string, Outage>()
  /** The kinds that the gate is not permitted to read and that no target needs, by their plural. */
  readonly #unreadable = new Map<string, Failure>()
  /**
   * The outages that the log contains: '' is the API server; other values are plurals of kinds, or names of targets. An
   * outage ends with the first answer of one of its watches.
   */
  readonly #logged = new Set<string>()
  /** How often the credentials were refused since the last success. */
  #credentialRefusals = 0
  /** The latest complete list of each request: its first one, or the one after an outage. */
  readonly #lists = new Map<string, Partial<WatchRequest> & { readonly at: number }>()
  /** The recent changes of objects, the oldest first. */
  readonly #changes: { readonly at: number; readonly object: KubeObject }[] = []

  /** @param watched all present and former watches */
  constructor(watched: WatchedRequests, store: Pick<Store, 'list'>) {
    this.#watched = watched
    this.#store = store
  }

  /** Updates the health after an event. Returns one sentence for each outage that began or ended. */
  observe(event: FeedEvent): readonly string[] {
    const before = [...this.#outages.values()]
    this.#update(event)
    return [
      ...this.#startOutage(event),
      ...before
        .filter((outage) => !this.#outages.has(requestKey(outage.failure)) && this.#logged.delete(outageKey(outage)))
        .map((outage) => `${returnText(outageKey(outage))} after ${wholeSeconds(event.at - outage.lastSuccessAt)}`),
      ...this.#endRefusal(event),
    ]
  }

  /** The sentence for the outage that begins with this event; empty if the log contains the outage already. */
  #startOutage(event: FeedEvent): readonly string[] {
    const outage = isFailure(event) ? this.#outages.get(requestKey(event)) : undefined
    if (outage === undefined || this.#logged.has(outageKey(outage))) return []
    this.#logged.add(outageKey(outage))
    const { message } = outage.failure
    return [`${lossText(outage)}${message === '' ? '' : ` (${message})`}: no timeout applies meanwhile`]
  }

  #update(event: FeedEvent): void {
    if (isFailure(event)) {
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

  /** Records that a kind may not be read. Returns its log line, with a Role for all such kinds; undefined if known. */
  recordRefusal(refused: Failure): string | undefined {
    const kinds = pluralOf(refused.kind ?? 'object')
    if (this.#unreadable.has(kinds)) return undefined
    this.#unreadable.set(kinds, refused)
    const access = [...this.#unreadable.values()].flatMap(({ message }) => parseDeniedAccess(message) ?? [])
    const remedy = access.length === this.#unreadable.size ? `. ${describeGrants(access)}` : ` (${refused.message})`
    return `${kinds} cannot be read: continuing with what the controllers report${remedy}`
  }

  /** The log line for a kind that was refused, and that this event lists completely. */
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

  /** Records that access to a target was withdrawn, which the log contains. @param name the target's name for people */
  recordWithdrawal(failure: Failure, at: number, name: string): void {
    this.#outages.set(requestKey(failure), { failure, lastSuccessAt: at, name })
    this.#logged.add(name)
  }

  /** Whether the access that this failure denies is recorded as withdrawn. */
  isWithdrawn(failure: Failure): boolean {
    return this.#outages.get(requestKey(failure))?.name !== undefined
  }

  /** Whether no watch is unavailable and no access is withdrawn. */
  get isGood(): boolean {
    return this.#outages.size === 0
  }

  /** Whether any of these watches is unavailable or has lost its access. */
  isUnavailable(requests: readonly WatchRequest[]): boolean {
    return this.#outagesOf(requests).length > 0
  }

  /** When the longest present outage of these watches began; undefined if they have none. */
  lastSuccessAt(requests: readonly WatchRequest[]): number | undefined {
    return earliestMoment(this.#outagesOf(requests).map(({ lastSuccessAt }) => lastSuccessAt))
  }

  /** When an outage of these watches ends the gate. */
  endsGateAt(requests: readonly WatchRequest[]): number | undefined {
    return earliestMoment(this.#outagesOf(requests).map((outage) => this.#outageEndsGateAt(outage)))
  }

  #outageEndsGateAt({ failure, lastSuccessAt }: Outage): number {
    if (isAccessDenied(failure)) return lastSuccessAt + withdrawnMs
    return lastSuccessAt + (this.#wasReached ? unknownMs : neverReachedMs)
  }

  /**
   * The verdict if an outage of these watches ends the gate: it has lasted too long, or a timeout ends the gate during
   * it. Else undefined.
   */
  outageVerdict(requests: readonly WatchRequest[], now: number, isTimeout: boolean): Verdict | undefined {
    const failing = this.#outagesOf(requests).toSorted((a, b) => this.#outageEndsGateAt(a) - this.#outageEndsGateAt(b))
    const [first] = failing
    if (first === undefined) return undefined
    const isDue = this.#credentialRefusals >= credentialRefusals || now >= this.#outageEndsGateAt(first)
    if (!isDue && !isTimeout) return undefined
    const outage = failing.find(({ failure }) => refusesCredentials(failure)) ?? first
    const { failure, name = '' } = outage
    const { message } = failure
    if (isAccessDenied(failure)) return deniedVerdict('unknown', { name, wasReadable: true, message })
    const outcome = this.#wasReached ? 'unknown' : 'misconfigured'
    if (refusesCredentials(failure)) return verdictOf(outcome, 'credentials-expired', { message })
    const subjects = new Set([...this.#outages.values()].map(outageKey))
    // If several kinds cannot be read, the cause is the server rather than a webhook.
    const isOfKind = subjects.size === 1 && outage.name === undefined
    return {
      ...verdictOf(outcome, 'api-unreachable', { outage: outageText(outage, now), message }),
      unreadable: isOfKind ? outageKey(outage) || undefined : undefined,
    }
  }

  /**
   * The watches that did not answer shortly before a moment, nor since then: their connections may be dead. An answer is
   * a complete list or, if a watch has many objects, the change of one of them.
   * @param moment milliseconds since the epoch
   * @param needed the requests whose answers matter
   * @param watches the present watches, each of which may serve several requests
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

  /** The present outages for the heartbeat, one sentence for each kind. */
  describe(now: number): readonly string[] {
    const bySubject = Map.groupBy(this.#outages.values(), outageKey)
    return [...bySubject.values()].flatMap((outages) => {
      const [oldest] = outages.toSorted((a, b) => a.lastSuccessAt - b.lastSuccessAt)
      return oldest === undefined ? [] : [outageText(oldest, now)]
    })
  }

  #recordFailure(failure: Failure & FeedEvent): void {
    const key = requestKey(failure)
    const known = this.#outages.get(key)
    if (failure.type === 'MISSING' || (isAccessDenied(failure) && known?.name === undefined)) {
      // The server answered; the store and the gate handle its refusal.
      if (failure.kind !== undefined) this.#outages.delete(key)
      return
    }
    if (refusesCredentials(failure)) this.#credentialRefusals += failure.final ? credentialRefusals : 1
    const lastSuccessAt = known?.lastSuccessAt ?? reportedSuccessAt(failure) ?? failure.at
    this.#outages.set(key, { failure, lastSuccessAt, name: known?.name })
  }

  /**
   * Ends the outages of a kind; without a kind, those of all watches. The outage of a watch that reports its own last
   * success ends only with its own report, as refused credentials and withdrawn access do: an object may come from another
   * watch of the kind.
   */
  #endOutages(kind: string | undefined, report?: Partial<WatchRequest>): void {
    for (const [key, { failure, name }] of this.#outages) {
      const isOfKind = kind === undefined || failure.kind === undefined || failure.kind === kind
      const isReported = report !== undefined && (kind === undefined || isSupersetOf(report, failure))
      const isExact = name !== undefined || failure.type === 'REFUSED' || reportedSuccessAt(failure) !== undefined
      if (isReported || (!isExact && isOfKind)) this.#outages.delete(key)
    }
  }

  /** The outages of the watches that these requests need. Refused credentials concern every request. */
  #outagesOf(requests: readonly WatchRequest[]): readonly Outage[] {
    return [...this.#outages.values()].filter(
      ({ failure }) =>
        refusesCredentials(failure) || requests.some((request) => this.#watched.isReportAbout(failure, request)),
    )
  }
}

/** What does not answer: a target, or the plural of a kind; empty for the whole API server. */
function outageKey({ failure, name }: Outage): string {
  if (name !== undefined) return name
  const isServer = failure.type !== 'UNAVAILABLE' || isUnanswered(failure)
  return isServer || failure.kind === undefined ? '' : pluralOf(failure.kind)
}

function outageText(outage: Outage, now: number): string {
  const subject = outageKey(outage)
  const since = wholeSeconds(now - outage.lastSuccessAt)
  return subject === '' ? `the API server has not answered for ${since}` : `${subject} could not be read for ${since}`
}

function lossText(outage: Outage): string {
  if (refusesCredentials(outage.failure)) return 'the API server refuses the credentials'
  const subject = outageKey(outage)
  return subject === '' ? 'the API server does not answer' : `${subject} cannot be read`
}

function returnText(subject: string): string {
  return subject === '' ? 'the API server answers again' : `${subject} can be read again`
}

/** When a watch last succeeded, if its failure contains that. */
function reportedSuccessAt(failure: Failure): number | undefined {
  return failure.type === 'UNAVAILABLE' ? failure.lastSuccessAt : undefined
}

function refusesCredentials(failure: Failure): failure is Failure & { readonly type: 'REFUSED' } {
  return failure.type === 'REFUSED' && failure.what === 'credentials'
}

function wholeSeconds(ms: number): string {
  return duration(Math.round(ms / 1_000) * 1_000)
}

/** Whether a watch reports the changes of an object. */
function isWatched({ labelSelector, ...watch }: WatchRequest, { apiVersion, kind, metadata }: KubeObject): boolean {
  const { namespace, name, labels = {} } = metadata
  return (
    isSupersetOf(watch, { apiVersion, kind, namespace, name }) &&
    (labelSelector === undefined || matchesSelector(labelSelector, labels))
  )
}
