import { awaitAtMost, type Clock } from '../cluster/clock.ts'
import { type FeedEvent, requestKey, type WatchRequest } from '../cluster/feed.ts'
import { PrivateKeyRedactor } from '../cluster/secret-values.ts'
import type { Secrets } from '../cluster/secrets.ts'
import type { RunRecord } from '../gate/run-record.ts'
import type { Entry } from '../gate/timeline-entries.ts'
import type { Source } from '../plan/target.ts'
import type { LogOutput } from '../report/log.ts'
import { redactRecord } from '../report/redact-record.ts'
import { maxTextWaitMs, textFinishMs, textFinishWhenCancelledMs } from '../thresholds.ts'

/* Redacts all texts of a run. A text waits until the secrets that it may contain are known. */

/** Prints the events of a run. Each function is optional. Texts are raw: renderers escape them. */
export interface Reporter {
  /** Called when the gate starts. `present` returns the present state. `notices`: messages about the inputs. */
  readonly onStart?: (present: () => RunRecord, notices: readonly string[]) => void
  readonly onEntry?: (entry: Entry) => void
  /** Called with a log line of a container, for `stream-logs`. */
  readonly onLog?: (output: LogOutput) => void
  /** Called with a warning. Warnings never affect the verdict. `source`: the line of the manifest. */
  readonly onWarning?: (text: string, source?: Source) => void
}

/** Texts do not wait for the list of Events: an Event may quote a secret, but no secret is read from Events. */
const kindWithoutSecrets = 'Event'

/**
 * A queue of texts that may quote secrets of the cluster. The secrets are read from the first lists. Therefore all
 * texts wait in order until the first list of each watch has arrived or failed.
 */
export class TextQueue {
  readonly #clock: Clock
  /** When each watch requested its first list, in milliseconds since the epoch; -Infinity once it arrived or failed. */
  readonly #unansweredSince = new Map<string, number>()
  #requests: readonly WatchRequest[] = []
  #requestsOf: () => readonly WatchRequest[] = () => []
  /** Each function prints or records a text. */
  #queue: (() => void)[] = []
  #cancelTimer: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Makes texts wait for the first lists of these watches. @param requests returns the present watches */
  follow(requests: () => readonly WatchRequest[]): void {
    this.#requestsOf = requests
  }

  /** Called with every event of the watches. Releases the texts once no first list is missing. */
  observe(event: FeedEvent): void {
    if (event.type !== 'SYNCED' && event.type !== 'ERROR') return
    this.#updateRequests()
    const keys = event.kind === undefined ? [...this.#unansweredSince.keys()] : [requestKey(event)]
    for (const key of keys) this.#unansweredSince.set(key, Number.NEGATIVE_INFINITY)
    if (this.#releaseDeadline() === Number.NEGATIVE_INFINITY) this.#releaseWhenDue()
  }

  /** Whether texts still wait for a list. */
  get isWaiting(): boolean {
    return this.#releaseDeadline() > this.#clock.now()
  }

  /** Queues a text. @param print prints or records the text; called when the text no longer has to wait */
  push(print: () => void): void {
    this.#queue.push(print)
    if (this.#cancelTimer === undefined) this.#releaseWhenDue()
  }

  /**
   * Releases all texts when the missing lists have arrived, at the latest after `textFinishMs`.
   * @param refresh lists these requests again, and resolves when each list has arrived or failed
   */
  async finish(refresh: (requests: readonly WatchRequest[]) => Promise<void>, cancelled: AbortSignal): Promise<void> {
    const missing = this.#requests.filter((request) => Number.isFinite(this.#unansweredSince.get(requestKey(request))))
    if (this.#queue.length > 0 && missing.length > 0) {
      const limitMs = cancelled.aborted ? textFinishWhenCancelledMs : textFinishMs
      // The watch itself reports its failures.
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

  /** Releases the texts if they are due. Otherwise sets the timer for their release. */
  #releaseWhenDue(): void {
    const waitMs = this.#releaseDeadline() - this.#clock.now()
    if (waitMs <= 0) {
      this.flush()
      return
    }
    this.#cancelTimer?.()
    this.#cancelTimer = this.#clock.after(waitMs, () => this.#releaseWhenDue())
  }

  /** The latest time to release texts, in milliseconds since the epoch; -Infinity if no list is missing. */
  #releaseDeadline(): number {
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

/** Redacts everything that a run prints, records or publishes. Texts wait in the queue until the secrets are known. */
export class RedactedOutput extends TextQueue implements Required<Reporter> {
  readonly #reporter: Reporter
  readonly #secrets: Secrets
  readonly #keyLines = new Map<string, PrivateKeyRedactor>()

  constructor(reporter: Reporter, secrets: Secrets, clock: Clock) {
    super(clock)
    this.#reporter = reporter
    this.#secrets = secrets
  }

  /** While texts wait, the reporter gets the last redacted state; before the first, a state with empty texts. */
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

  /** A copy of the record without secrets. */
  redact<T extends RunRecord>(record: T): T {
    return redactRecord(record, this.#secrets.redact)
  }

  /** Redacts a log line, even if it is part of a private key of several lines. */
  #redactLine({ target, pod, container, text }: LogOutput): string {
    const key = JSON.stringify([target, pod, container])
    const lines = this.#keyLines.get(key) ?? new PrivateKeyRedactor()
    this.#keyLines.set(key, lines)
    return this.#secrets.redact(lines.redact(text))
  }
}
