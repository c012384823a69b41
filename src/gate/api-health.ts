import { deniedAccess, isUnanswered } from '../cluster/failures.ts'
import { type Failure, type FeedEvent, isFailure, requestKey, type WatchRequest } from '../cluster/feed.ts'
import type { KubeObject } from '../cluster/objects.ts'
import { covers, type WatchedRequests } from '../cluster/store.ts'
import { duration } from '../duration.ts'
import { earliest } from '../lifecycle/proof.ts'
import { pluralOf } from '../plan/kinds.ts'
import { matchesSelector } from '../plan/names.ts'
import { roleRule } from '../reasons/wording.ts'
import {
  credentialRefusals,
  manyObjects,
  neverReachedMs,
  recentChangeMs,
  recentListMs,
  refusalsMs,
  unknownMs,
  withdrawnMs,
} from '../thresholds.ts'
import { deniedVerdict, type Verdict, verdictOf } from './run-record.ts'

/** A failing watch. Moments are milliseconds since the epoch. */
interface Unavailable {
  /** The last failure of the watch, which contains the request. */
  readonly failure: Failure
  /** The last success, as the watch reports it. In recordings without it: the first failure. */
  readonly lastSuccessAt: number
  /** Whether the watch itself reports its last success and its recovery. */
  readonly isExact: boolean
}

/** Access to a target that was permitted before and is denied now (403). */
interface Withdrawal {
  readonly request: WatchRequest
  /** The target's name for people. */
  readonly name: string
  readonly at: number
  readonly message: string
}

/**
 * When each watch last succeeded, and whether it is unavailable or refused. A watch without events is healthy: each
 * watch is renewed within 45 s, or reports that it is unavailable.
 */
export class ApiHealth {
  readonly #watched: WatchedRequests
  #wasReached = false
  readonly #unavailable = new Map<string, Unavailable>()
  #withdrawals: readonly Withdrawal[] = []
  /** The kinds that the gate is not permitted to read and that no target needs, by their plural. */
  readonly #unreadable = new Map<string, Failure>()
  /** The kinds in `#unreadable` that the log does not contain yet, since `#refusedAt`. */
  readonly #newRefusals = new Set<string>()
  #refusedAt = 0
  /**
   * The outages that the log contains: '' is the API server; other values are plurals of kinds. An outage ends with the
   * first answer of one of its watches.
   */
  readonly #logged = new Set<string>()
  /** How often the credentials were refused since the last success. */
  #credentialRefusals = 0

  /** @param watched all present and former watches */
  constructor(watched: WatchedRequests) {
    this.#watched = watched
  }

  /** Updates the health after an event. Returns one sentence for each outage that began or ended. */
  observe(event: FeedEvent): readonly string[] {
    if (this.isGood && !isFailure(event)) {
      this.#update(event)
      return this.#restoredBy(event)
    }
    const before = [...this.#unavailable.values()]
    const withdrawn = this.#withdrawals
    this.#update(event)
    return [
      ...this.#newOutage(event),
      ...before
        .filter(
          (watch) => !this.#unavailable.has(requestKey(watch.failure)) && this.#logged.delete(outageSubject(watch)),
        )
        .map((watch) => `${returnText(outageSubject(watch))} after ${wholeSeconds(event.at - watch.lastSuccessAt)}`),
      ...withdrawn
        .filter((withdrawal) => !this.#withdrawals.includes(withdrawal))
        .map(({ name, at }) => `access to ${name} was restored after ${wholeSeconds(event.at - at)}`),
      ...this.#restoredBy(event),
    ]
  }

  /** The sentence for the outage that begins with this event; empty if the log contains the outage already. */
  #newOutage(event: FeedEvent): readonly string[] {
    const watch = isFailure(event) ? this.#unavailable.get(requestKey(event)) : undefined
    if (watch === undefined || this.#logged.has(outageSubject(watch))) return []
    this.#logged.add(outageSubject(watch))
    const { message } = watch.failure
    return [`${lossText(watch)}${message === '' ? '' : ` (${message})`}: no timeout applies meanwhile`]
  }

  #update(event: FeedEvent): void {
    if (isFailure(event)) {
      this.#fail(event)
      return
    }
    if (event.type === 'LOG' || event.type === 'CANCEL' || event.type === 'END') return
    this.#wasReached = true
    this.#credentialRefusals = 0
    if ('object' in event) this.#recover(event.object.kind)
    if (event.type === 'SYNCED' || event.type === 'ALIVE') this.#recover(event.kind, event)
    if (event.type === 'SYNCED')
      this.#withdrawals = this.#withdrawals.filter(({ request }) => !this.#watched.concerns(event, request))
  }

  /** Records that access to a kind was denied at this moment. */
  refuse(refused: Failure, at: number): void {
    const kinds = pluralOf(refused.kind ?? 'object')
    if (this.#unreadable.has(kinds)) return
    if (this.#newRefusals.size === 0) this.#refusedAt = at
    this.#unreadable.set(kinds, refused)
    this.#newRefusals.add(kinds)
  }

  /** When the new refusals must be logged. */
  get refusalsDueAt(): number {
    return this.#newRefusals.size === 0 ? Infinity : this.#refusedAt + refusalsMs
  }

  /** The log text about all new refusals; undefined if there is none. */
  takeRefusals(): string | undefined {
    if (this.#newRefusals.size === 0) return undefined
    const kinds = [...this.#newRefusals]
    const messages = kinds.flatMap((each) => this.#unreadable.get(each)?.message ?? [])
    this.#newRefusals.clear()
    const text = `${new Intl.ListFormat('en-GB').format(kinds)} cannot be read: continuing with what the controllers report`
    const denied = messages.map(deniedAccess)
    const access = denied.filter((each) => each !== undefined)
    return access.length === denied.length ? `${text}. ${roleRule(access)}` : `${text} (${messages.join('; ')})`
  }

  /** The log line for a kind that was refused, and that this event lists completely. */
  #restoredBy(event: FeedEvent): readonly string[] {
    const kinds = event.type === 'SYNCED' ? pluralOf(event.kind) : ''
    const refused = this.#unreadable.get(kinds)
    if (event.type !== 'SYNCED' || refused === undefined || !this.#watched.concerns(event, refused as WatchRequest))
      return []
    this.#unreadable.delete(kinds)
    if (this.#newRefusals.delete(kinds)) return []
    return [`${kinds} may be read again`]
  }

  /** Records withdrawn access to a target. */
  withdraw(withdrawal: Withdrawal): void {
    this.#withdrawals = [...this.#withdrawals, withdrawal]
  }

  isWithdrawn(request: WatchRequest): boolean {
    return this.#withdrawals.some((withdrawal) => requestKey(withdrawal.request) === requestKey(request))
  }

  /** Whether no watch is unavailable and no access is withdrawn. */
  get isGood(): boolean {
    return this.#unavailable.size === 0 && this.#withdrawals.length === 0
  }

  /** Whether any of these watches is unavailable or has lost its access. */
  isUnavailable(requests: readonly WatchRequest[]): boolean {
    return !this.isGood && this.lastSuccessAt(requests) !== undefined
  }

  /** When the longest present outage of these watches began; undefined if they have none. */
  lastSuccessAt(requests: readonly WatchRequest[]): number | undefined {
    return earliest([
      ...this.#failing(requests).map(({ lastSuccessAt }) => lastSuccessAt),
      ...this.#withdrawn(requests).map(({ at }) => at),
    ])
  }

  /** When an outage of these watches ends the gate. */
  dueAt(requests: readonly WatchRequest[]): number | undefined {
    if (this.isGood) return undefined
    return earliest([
      ...this.#failing(requests).map((each) => each.lastSuccessAt + (this.#wasReached ? unknownMs : neverReachedMs)),
      // An outage of the same watch hides whether access was granted again.
      ...this.#withdrawn(requests)
        .filter(({ request }) => this.#failing([request]).length === 0)
        .map(({ at }) => at + withdrawnMs),
    ])
  }

  /** The verdict if an outage of these watches has lasted too long; else undefined. */
  verdict(requests: readonly WatchRequest[], now: number): Verdict | undefined {
    if (this.#credentialRefusals >= credentialRefusals) return this.verdictNow(requests, now)
    const dueAt = this.dueAt(requests)
    return dueAt !== undefined && now >= dueAt ? this.verdictNow(requests, now) : undefined
  }

  /** The verdict if an outage of these watches ends the gate now. */
  verdictNow(requests: readonly WatchRequest[], now: number): Verdict {
    const all = this.#failing(requests).toSorted((a, b) => a.lastSuccessAt - b.lastSuccessAt)
    const failing = all.find(({ failure }) => failure.type === 'REFUSED') ?? all[0]
    const [withdrawn] = this.#withdrawn(requests)
    if (failing === undefined) {
      const { name = '', message = '' } = withdrawn ?? {}
      return deniedVerdict('unknown', { name, wasReadable: true, message })
    }
    const { failure } = failing
    const isRefused = failure.type === 'REFUSED'
    const { message } = failure
    const outcome = this.#wasReached ? 'unknown' : 'misconfigured'
    const subjects = new Set([...this.#unavailable.values()].map(outageSubject))
    return isRefused
      ? verdictOf(outcome, 'credentials-expired', { message })
      : {
          ...verdictOf(outcome, 'api-unreachable', { outage: outageText(failing, now), message }),
          // If several kinds cannot be read, the cause is the server rather than a webhook.
          unreadable: subjects.size > 1 ? undefined : outageSubject(failing) || undefined,
        }
  }

  /** The present outages for the heartbeat, one sentence for each kind. */
  describe(now: number): readonly string[] {
    const bySubject = Map.groupBy(this.#unavailable.values(), outageSubject)
    return [...bySubject.values()].flatMap((watches) => {
      const [oldest] = watches.toSorted((a, b) => a.lastSuccessAt - b.lastSuccessAt)
      return oldest === undefined ? [] : [outageText(oldest, now)]
    })
  }

  #fail(failure: Failure & FeedEvent): void {
    const key = requestKey(failure)
    if (failure.type === 'MISSING' || (failure.type === 'REFUSED' && failure.what === 'access')) {
      // The server answered; the store and the gate handle its refusal.
      if (failure.kind !== undefined) this.#unavailable.delete(key)
      return
    }
    if (failure.type === 'REFUSED') this.#credentialRefusals += failure.final ? credentialRefusals : 1
    const reported = failure.type === 'UNAVAILABLE' ? failure.lastSuccessAt : undefined
    const known = this.#unavailable.get(key)
    this.#unavailable.set(key, {
      failure,
      lastSuccessAt: known?.lastSuccessAt ?? reported ?? failure.at,
      isExact: reported !== undefined || (known?.isExact ?? false),
    })
  }

  /**
   * Ends the outages of a kind; without a kind, all outages. The outage of a watch that reports its own recovery ends
   * only with that report.
   */
  #recover(kind: string | undefined, report?: Partial<WatchRequest>): void {
    for (const [key, { isExact, failure }] of this.#unavailable) {
      const isOfKind = kind === undefined || failure.kind === undefined || failure.kind === kind
      const isReported = report !== undefined && (kind === undefined || covers(report, failure))
      if (isReported || (!isExact && isOfKind)) this.#unavailable.delete(key)
    }
  }

  /** The failing watches that these requests need. Refused credentials concern every request. */
  #failing(requests: readonly WatchRequest[]): readonly Unavailable[] {
    return [...this.#unavailable.values()].filter(
      ({ failure }) =>
        failure.type === 'REFUSED' || requests.some((request) => this.#watched.concerns(failure, request)),
    )
  }

  #withdrawn(requests: readonly WatchRequest[]): readonly Withdrawal[] {
    if (this.#withdrawals.length === 0) return []
    const keys = new Set(requests.map(requestKey))
    return this.#withdrawals.filter(({ request }) => keys.has(requestKey(request)))
  }
}

/** Which watches answered recently: with a list, or, if they have many objects, with a change of one of them. */
export class WatchAnswers {
  /** When a request was listed for the first time, or again after an outage. */
  readonly #listedAt = new Map<string, { readonly request: WatchRequest; readonly at: number }>()
  /** The recent changes, the oldest first. */
  #changes: { readonly at: number; readonly object: KubeObject }[] = []

  observe(event: FeedEvent): void {
    if (event.type === 'SYNCED' || (event.type === 'ALIVE' && event.kind !== undefined))
      this.#listedAt.set(requestKey(event), { request: event as WatchRequest, at: event.at })
    if (!('object' in event)) return
    const old = this.#changes.findIndex(({ at }) => at >= event.at - recentChangeMs)
    this.#changes.splice(0, old === -1 ? this.#changes.length : old)
    this.#changes.push(event)
  }

  /**
   * The watches that did not answer shortly before a moment, nor since then: their connections may be dead.
   * @param moment milliseconds since the epoch
   * @param needed the requests whose answers matter
   * @param watched the present watches, each of which may serve several requests
   * @param count the number of known objects of a kind in a namespace
   */
  silentAt(
    moment: number,
    needed: readonly WatchRequest[],
    watched: readonly WatchRequest[],
    count: (kind: string, namespace: string | undefined) => number,
  ): readonly WatchRequest[] {
    const listed = [...this.#listedAt.values()].flatMap(({ request, at }) =>
      at >= moment - recentListMs ? [request] : [],
    )
    const unlisted = needed.filter((each) => !listed.some((request) => covers(request, each)))
    const changed = this.#changes.filter(({ at }) => at >= moment - recentChangeMs)
    const hasChanged = (watch: WatchRequest) =>
      count(watch.kind, watch.namespace) > manyObjects && changed.some(({ object }) => contains(watch, object))
    return watched.filter((watch) => unlisted.some((each) => covers(watch, each)) && !hasChanged(watch))
  }
}

/** What does not answer: the plural of a kind; empty for the whole API server. */
function outageSubject({ failure }: Unavailable): string {
  const isServer = failure.type !== 'UNAVAILABLE' || isUnanswered(failure)
  return isServer || failure.kind === undefined ? '' : pluralOf(failure.kind)
}

function outageText(watch: Unavailable, now: number): string {
  const subject = outageSubject(watch)
  const since = wholeSeconds(now - watch.lastSuccessAt)
  return subject === '' ? `the API server has not answered for ${since}` : `${subject} could not be read for ${since}`
}

function lossText(watch: Unavailable): string {
  if (watch.failure.type === 'REFUSED') return 'the API server refuses the credentials'
  const subject = outageSubject(watch)
  return subject === '' ? 'the API server does not answer' : `${subject} cannot be read`
}

function returnText(subject: string): string {
  return subject === '' ? 'the API server answers again' : `${subject} can be read again`
}

function wholeSeconds(ms: number): string {
  return duration(Math.round(ms / 1_000) * 1_000)
}

/** Whether a watch reports the changes of an object. */
function contains({ labelSelector, ...watch }: WatchRequest, { apiVersion, kind, metadata }: KubeObject): boolean {
  const { namespace, name, labels = {} } = metadata
  return (
    covers(watch, { apiVersion, kind, namespace, name }) &&
    (labelSelector === undefined || matchesSelector(labelSelector, labels))
  )
}
