import { type Clock, within } from '../cluster/clock.ts'
import { type FeedEvent, isFailure, requestKey, type WatchRequest } from '../cluster/feed.ts'
import { KeyLines } from '../cluster/secret-values.ts'
import type { Secrets } from '../cluster/secrets.ts'
import { redactRecord } from '../gate/redact-record.ts'
import type { Entry, RunRecord } from '../gate/run-record.ts'
import type { Source } from '../plan/target.ts'
import type { LogOutput } from '../report/log.ts'
import { maxTextWaitMs, textFinishMs, textFinishWhenCancelledMs } from '../thresholds.ts'

/** Prints a rollout while it runs; without a function, nothing is printed. Texts are raw: renderers escape them. */
export interface Reporter {
  /** Called when the gate starts; `present` returns its present state. `notices`: messages about the inputs. */
  readonly onStart?: (present: () => RunRecord, notices: readonly string[]) => void
  readonly onEntry?: (entry: Entry) => void
  /** Called with a log line of a container, for `stream-logs`. */
  readonly onLog?: (output: LogOutput) => void
  /** Called with a warning, which never affects the verdict. `source`: the line of the manifest. */
  readonly onWarning?: (text: string, source?: Source) => void
}

/** Events quote secrets, but never make one known. */
const quotingKind = 'Event'

/**
 * Holds texts of the cluster, in their order, until the objects that make their secrets known have arrived: until the first lists
 * of all watches have arrived or failed.
 */
export class TextQueue {
  readonly #clock: Clock
  /** When each watch began that has not answered yet; -Infinity of one that has. */
  readonly #waitingSince = new Map<string, number>()
  #requests: readonly WatchRequest[] = []
  #requestsOf: () => readonly WatchRequest[] = () => []
  /** Each prints or records a text. */
  #queue: (() => void)[] = []
  #cancelTimer: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @param requests returns the present watches */
  follow(requests: () => readonly WatchRequest[]): void {
    this.#requestsOf = requests
  }

  /** Called with every event of these watches. */
  observe(event: FeedEvent): void {
    if (event.type !== 'SYNCED' && !isFailure(event)) return
    this.#updateRequests()
    const keys = event.kind === undefined ? [...this.#waitingSince.keys()] : [requestKey(event)]
    for (const key of keys) this.#waitingSince.set(key, Number.NEGATIVE_INFINITY)
    if (this.#listsUntil() === Number.NEGATIVE_INFINITY) this.#release()
  }

  /** Whether a list has not arrived yet that texts wait for. */
  get isWaiting(): boolean {
    return this.#listsUntil() > this.#clock.now()
  }

  /** @param leave prints or records the text; called when it need not wait any longer */
  push(leave: () => void): void {
    this.#queue.push(leave)
    if (this.#cancelTimer === undefined) this.#release()
  }

  /**
   * Releases all texts, after at most `textFinishMs` for lists that have not arrived.
   * @param refresh resolves when these watches have answered or failed
   */
  async finish(refresh: (requests: readonly WatchRequest[]) => Promise<void>, cancelled: AbortSignal): Promise<void> {
    const missing = this.#requests.filter((request) => Number.isFinite(this.#waitingSince.get(requestKey(request))))
    if (this.#queue.length > 0 && missing.length > 0) {
      const limitMs = cancelled.aborted ? textFinishWhenCancelledMs : textFinishMs
      // A failure of a watch is reported to its sink.
      const answered = refresh(missing).catch(() => {})
      await within(this.#clock, limitMs, answered)
    }
    this.flush()
  }

  /** Releases all texts at once. */
  flush(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    for (const leave of this.#queue.splice(0)) leave()
  }

  /** Releases the texts, or sets the timer for their release. */
  #release(): void {
    const waitMs = this.#listsUntil() - this.#clock.now()
    if (waitMs <= 0) {
      this.flush()
      return
    }
    this.#cancelTimer?.()
    this.#cancelTimer = this.#clock.after(waitMs, () => this.#release())
  }

  /** Until when texts wait for lists, at the latest; in the past if they wait for none. */
  #listsUntil(): number {
    this.#updateRequests()
    return Math.max(...this.#waitingSince.values(), Number.NEGATIVE_INFINITY) + maxTextWaitMs
  }

  #updateRequests(): void {
    const requests = this.#requestsOf()
    if (requests === this.#requests) return
    this.#requests = requests
    for (const request of requests) {
      const key = requestKey(request)
      if (request.kind !== quotingKind && !this.#waitingSince.has(key)) this.#waitingSince.set(key, this.#clock.now())
    }
  }
}

/**
 * The way out of a live gate: whatever it prints, records or publishes passes here, and is redacted with all secrets that
 * are known by then. Texts wait until the first lists of all watches have arrived or failed, since one of them may contain
 * the Secret or the pod template whose value a text quotes. The order of the texts stays.
 */
export class Exit extends TextQueue implements Required<Reporter> {
  readonly #reporter: Reporter
  readonly #secrets: Secrets
  readonly #keyLines = new Map<string, KeyLines>()

  constructor(reporter: Reporter, secrets: Secrets, clock: Clock) {
    super(clock)
    this.#reporter = reporter
    this.#secrets = secrets
  }

  /** While texts wait for lists, the previous state is shown; at the start, a state without texts. */
  readonly onStart = (present: () => RunRecord, notices: readonly string[]): void => {
    let shown: RunRecord | undefined
    const presentShown = () => {
      const state = present()
      const { isWaiting } = this
      if (shown === undefined || !isWaiting) shown = redactRecord(state, isWaiting ? () => '' : this.#secrets.redact)
      return { ...shown, finishedAt: state.finishedAt }
    }
    this.#reporter.onStart?.(presentShown, notices.map(this.#secrets.redact))
  }

  readonly onEntry = (entry: Entry): void =>
    this.push(() => this.#reporter.onEntry?.(redactRecord(entry, this.#secrets.redact)))

  readonly onLog = (output: LogOutput): void =>
    this.push(() => this.#reporter.onLog?.({ ...output, text: this.#redactLine(output) }))

  readonly onWarning = (text: string, source?: Source): void =>
    this.push(() => this.#reporter.onWarning?.(this.#secrets.redact(text), source))

  /** A record as it may leave the process. */
  redact<T extends RunRecord>(record: T): T {
    return redactRecord(record, this.#secrets.redact)
  }

  /** A private key in a log has many lines. */
  #redactLine({ target, pod, container, text }: LogOutput): string {
    const key = JSON.stringify([target, pod, container])
    const lines = this.#keyLines.get(key) ?? new KeyLines()
    this.#keyLines.set(key, lines)
    return this.#secrets.redact(lines.redact(text))
  }
}
