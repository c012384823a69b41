import type { FeedEvent, WatchRequest } from '../cluster/feed.ts'
import { covers } from '../cluster/store.ts'
import type { ReasonCode } from '../reasons.ts'
import type { Verdict } from './timeline.ts'

/** After this time without an answer nobody can say how the rollout stands (DESIGN §2, "Blind is not stalled"). */
const blindMs = 2 * 60_000
/** Access that was withdrawn is believed after this time, in which it was asked for again: a role may just be written anew. */
const withdrawnMs = 30_000
/** A server that never answered is a mistake in the kubeconfig, not a lost view. */
const neverReachedMs = 30_000
/** A timeout while blind for this long says nothing about the rollout. */
const blindAtTimeoutMs = 30_000

/** That something may no longer be read: what, since when, and how to say so. */
export interface Withdrawal {
  readonly request: WatchRequest
  readonly at: number
  readonly message: string
}

/**
 * Whether the API can be seen. An ERROR begins a blind spell, anything else that the server says ends it. Refused
 * credentials are final at the second refusal in a row: they were read again in between.
 */
export class Sight {
  #everSaw = false
  #blindSince: number | undefined
  #code = 0
  #message = ''
  #refusals = 0
  /** What is gated, was seen, and may no longer be read. */
  #withdrawn: readonly Withdrawal[] = []

  get isBlind(): boolean {
    return this.#blindSince !== undefined || this.#withdrawn.length > 0
  }

  /** Takes that a target which was seen is no longer shown: roles are written anew, and most often given back at once. */
  withdraw(withdrawal: Withdrawal): void {
    this.#withdrawn = [...this.#withdrawn, withdrawal]
  }

  isWithdrawn(request: WatchRequest): boolean {
    return this.#withdrawn.some((each) => covers(each.request, request))
  }

  /** Takes one line of the feed. */
  observe(event: FeedEvent): void {
    switch (event.type) {
      case 'ERROR':
        // 403, 404 and 410 are answers: the server is there. What they mean is for others to say.
        if (event.code === 403 || event.code === 404 || event.code === 410) return
        this.#blindSince ??= event.at
        this.#code = event.code
        this.#message = event.message
        if (event.code === 401) this.#refusals++
        return
      case 'LOG':
      case 'CANCEL':
      case 'END':
        return
      default:
        if (event.type === 'SYNCED') this.#withdrawn = this.#withdrawn.filter(({ request }) => !covers(event, request))
        this.#everSaw = true
        this.#blindSince = undefined
        this.#refusals = 0
    }
  }

  /** When the present spell ends the gate. */
  get dueAt(): number | undefined {
    const unreachable =
      this.#blindSince === undefined ? [] : [this.#blindSince + (this.#everSaw ? blindMs : neverReachedMs)]
    const [forbidden] = this.#withdrawn
    const moments = [...unreachable, ...(forbidden === undefined ? [] : [forbidden.at + withdrawnMs])]
    return moments.length === 0 ? undefined : Math.min(...moments)
  }

  /** The verdict that the present spell gives, if its time has come. */
  verdict(now: number): Verdict | undefined {
    if (this.#refusals >= 2) return this.#lost(now)
    return this.dueAt !== undefined && now >= this.dueAt ? this.#lost(now) : undefined
  }

  /** The verdict of a gate whose time runs out now, if it has been blind for too long to say anything else. */
  verdictAtTimeout(now: number): Verdict | undefined {
    const since = Math.min(this.#blindSince ?? Infinity, this.#withdrawn[0]?.at ?? Infinity)
    return now - since >= blindAtTimeoutMs ? this.#lost(now) : undefined
  }

  #lost(now: number): Verdict {
    const [forbidden] = this.#withdrawn
    // That the server does not answer at all says more than that it did not show everything before.
    if (this.#blindSince === undefined && forbidden !== undefined)
      return { outcome: 'unknown', reason: 'forbidden', message: forbidden.message }
    const reason: ReasonCode = this.#code === 401 ? 'credentials-expired' : 'api-unreachable'
    const what =
      this.#code === 401
        ? 'the API server refuses the credentials'
        : `the API server has not answered for ${Math.round((now - (this.#blindSince ?? now)) / 1000)} s`
    return {
      outcome: this.#everSaw ? 'unknown' : 'misconfigured',
      reason,
      message: `${what}${this.#message === '' ? '' : `: ${this.#message}`}`,
    }
  }
}
