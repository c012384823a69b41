import { awaitAtMost, type Clock } from '../cluster/clock.ts'
import { type FeedEvent, isFailure, requestKey, type WatchRequest } from '../cluster/feed.ts'
import type { Secrets } from '../cluster/secrets.ts'
import { PrivateKeyRedactor } from '../cluster/token-shapes.ts'
import type { RunRecord } from '../gate/run-record.ts'
import type { Entry } from '../gate/timeline-entries.ts'
import type { Source } from '../plan/target.ts'
import type { LogOutput } from '../report/log.ts'
import { redactRecord } from '../report/redact-record.ts'
import { maxTextWaitMs, textFinishMs, textFinishWhenCancelledMs } from '../thresholds.ts'

/** Prints what happens during a run. Each function is optional. Texts are raw: renderers escape them. */
export interface Reporter {
  /** Called when the gate starts; `present` returns its present state. `notices`: messages about the inputs. */
  readonly onStart?: (present: () => RunRecord, notices: readonly string[]) => void
  readonly onEntry?: (entry: Entry) => void
  /** Called with a log line of a container, for `stream-logs`. */
  readonly onLog?: (output: LogOutput) => void
  /** Called with a warning, which never affects the verdict. `source`: the line of the manifest. */
  readonly onWarning?: (text: string, source?: Source) => void
}

/** An Event may quote a secret, but no secret is read from an Event. So no text waits for the list of Events. */
const kindWithoutSecrets = 'Event'

/**
 * A queue of texts that may quote secrets of the cluster. The secrets are read from the objects of the first lists, so
 * all texts wait, in their order, until the first list of each watch has arrived or failed.
 */
export class TextQueue {
  readonly #clock: Clock
  /** By watch: when its first list was requested, in milliseconds since the epoch; -Infinity if it has arrived or failed. */
  readonly #unansweredSince = new Map<string, number>()
  #requests: readonly WatchRequest[] = []
  #requestsOf: () => readonly WatchRequest[] = () => []
  /** Functions, each of which prints or records a text. */
  #queue: (() => void)[] = []
  #cancelTimer: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @param requests returns the present watches, for whose first lists texts wait */
  follow(requests: () => readonly WatchRequest[]): void {
    this.#requestsOf = requests
  }

  /** Called with every event of these watches. */
  observe(event: FeedEvent): void {
    if (event.type !== 'SYNCED' && !isFailure(event)) return
    this.#updateRequests()
    const keys = event.kind === undefined ? [...this.#unansweredSince.keys()] : [requestKey(event)]
    for (const key of keys) this.#unansweredSince.set(key, Number.NEGATIVE_INFINITY)
    if (this.#latestReleaseAt() === Number.NEGATIVE_INFINITY) this.#release()
  }

  /** Whether texts wait for a list. */
  get isWaiting(): boolean {
    return this.#latestReleaseAt() > this.#clock.now()
  }

  /** @param print prints or records a text; called at once, or when the text need not wait any longer */
  push(print: () => void): void {
    this.#queue.push(print)
    if (this.#cancelTimer === undefined) this.#release()
  }

  /**
   * Releases all texts when the missing lists have arrived, but after `textFinishMs` at the latest.
   * @param refresh lists these requests again, and resolves when each list has arrived or failed
   */
  async finish(refresh: (requests: readonly WatchRequest[]) => Promise<void>, cancelled: AbortSignal): Promise<void> {
    const missing = this.#requests.filter((request) => Number.isFinite(this.#unansweredSince.get(requestKey(request))))
    if (this.#queue.length > 0 && missing.length > 0) {
      const limitMs = cancelled.aborted ? textFinishWhenCancelledMs : textFinishMs
      // A failure of a watch is reported to its sink.
      const answered = refresh(missing).catch(() => {})
      await awaitAtMost(this.#clock, limitMs, answered)
    }
    this.flush()
  }

  /** Releases all texts at once. */
  flush(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    for (const print of this.#queue.splice(0)) print()
  }

  /** Releases the texts, or sets the timer for their release. */
  #release(): void {
    const waitMs = this.#latestReleaseAt() - this.#clock.now()
    if (waitMs <= 0) {
      this.flush()
      return
    }
    this.#cancelTimer?.()
    this.#cancelTimer = this.#clock.after(waitMs, () => this.#release())
  }

  /** When texts are released at the latest, in milliseconds since the epoch; -Infinity if they wait for no list. */
  #latestReleaseAt(): number {
    this.#updateRequests()
    return Math.max(...this.#unansweredSince.values(), Number.NEGATIVE_INFINITY) + maxTextWaitMs
  }

  #updateRequests(): void {
    const requests = this.#requestsOf()
    if (requests === this.#requests) return
    this.#requests = requests
    for (const request of requests) {
      const key = requestKey(request)
      if (request.kind !== kindWithoutSecrets && !this.#unansweredSince.has(key))
        this.#unansweredSince.set(key, this.#clock.now())
    }
  }
}

/** Redacts all that a run prints, records or publishes. Each text waits in the queue until the secrets in it are known. */
export class RedactedOutput extends TextQueue implements Required<Reporter> {
  readonly #reporter: Reporter
  readonly #secrets: Secrets
  readonly #keyLines = new Map<string, PrivateKeyRedactor>()

  constructor(reporter: Reporter, secrets: Secrets, clock: Clock) {
    super(clock)
    this.#reporter = reporter
    this.#secrets = secrets
  }

  /** While texts wait, the reporter gets the last redacted state; before there is one, the present state with empty texts. */
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

  /** Returns a copy of the record without secrets. */
  redact<T extends RunRecord>(record: T): T {
    return redactRecord(record, this.#secrets.redact)
  }

  /** Redacts a line of a log, also if it belongs to a private key that has several lines. */
  #redactLine({ target, pod, container, text }: LogOutput): string {
    const key = JSON.stringify([target, pod, container])
    const lines = this.#keyLines.get(key) ?? new PrivateKeyRedactor()
    this.#keyLines.set(key, lines)
    return this.#secrets.redact(lines.redact(text))
  }
}
