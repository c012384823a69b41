import { type Clock, sleep } from './cluster/clock.ts'
import { type FeedEvent, isFailure, requestKey, type WatchRequest } from './cluster/feed.ts'
import type { Secrets } from './cluster/secrets.ts'
import { KeyLines } from './cluster/token-shapes.ts'
import { redactEntry, redactTimeline } from './gate/redact-timeline.ts'
import type { Entry, Timeline } from './gate/timeline.ts'
import type { Source } from './plan/target.ts'
import type { RecordingWriter } from './recording/writer.ts'
import type { LogOutput, RolloutHead } from './report/log.ts'

/** Prints a rollout while it runs. Texts are raw: renderers escape them. */
export interface Reporter {
  readonly onHead: (head: RolloutHead) => void
  /** Called when the gate starts; `present` returns its state at any time. */
  readonly onStart?: (present: (now: number) => Timeline) => void
  readonly onEntry: (entry: Entry) => void
  /** Called with a log line of a container, for `stream-logs`. */
  readonly onLog: (output: LogOutput) => void
  /** Called with a warning, which never affects the verdict. `source`: the line of the manifest. */
  readonly onWarning: (text: string, source?: Source) => void
}

/**
 * How long each text waits. An object may arrive later than an event that quotes its secret: they come on different
 * connections.
 */
const settleMs = 250
/** How long texts wait for the first list of a watch, if it neither arrives nor fails. */
const maxWaitMs = 10_000
/** How long the end of a gate waits for these lists. */
const finishMs = 2_000
const finishWhenCancelledMs = 500

/** Events quote secrets, but never make one known. */
const quotingKind = 'Event'

/** What waits to leave. */
interface Waiting {
  readonly at: number
  readonly mayQuote: boolean
  readonly leave: () => void
}

/**
 * The way out of a live gate: whatever it prints, records or publishes passes here, and is redacted with all secrets that are
 * known by then. Texts wait until the first lists of all watches have arrived or failed, since one of them may contain the
 * Secret or the pod template whose value a text quotes. The order of the texts stays.
 */
export class Exit implements Reporter {
  readonly #reporter: Reporter
  readonly #secrets: Secrets
  readonly #clock: Clock
  readonly #answered = new Set<string>()
  /** When each watch began that has not answered yet. */
  readonly #waitingSince = new Map<string, number>()
  readonly #keyLines = new Map<string, KeyLines>()
  #requests: readonly WatchRequest[] = []
  #requestsOf: () => readonly WatchRequest[] = () => []
  #queue: Waiting[] = []
  #cancelTimer: (() => void) | undefined

  constructor(reporter: Reporter, secrets: Secrets, clock: Clock) {
    this.#reporter = reporter
    this.#secrets = secrets
    this.#clock = clock
  }

  /** @param requests returns the watches of the gate at present: the same array until they change */
  follow(requests: () => readonly WatchRequest[]): void {
    this.#requestsOf = requests
  }

  /** Called with every event of the gate. */
  observe(event: FeedEvent): void {
    if (event.type !== 'SYNCED' && !isFailure(event)) return
    this.#updateRequests()
    const keys = event.kind === undefined ? [...this.#waitingSince.keys()] : [requestKey(event)]
    for (const key of keys) {
      this.#answered.add(key)
      this.#waitingSince.delete(key)
    }
    if (this.#waitingSince.size === 0) this.#release()
  }

  readonly onHead = (head: RolloutHead): void =>
    this.#reporter.onHead({ ...head, notices: head.notices.map(this.#secrets.redact) })

  /** While texts wait for lists, the present state has none. */
  readonly onStart = (present: (now: number) => Timeline): void =>
    this.#reporter.onStart?.((now) =>
      redactTimeline(present(now), this.#listsUntil() > this.#clock.now() ? () => '' : this.#secrets.redact),
    )

  readonly onEntry = (entry: Entry): void =>
    this.#push(() => this.#reporter.onEntry(redactEntry(entry, this.#secrets.redact)), entry.outcome !== 'ready')

  readonly onLog = (output: LogOutput): void =>
    this.#push(() => this.#reporter.onLog({ ...output, text: this.#redactLine(output) }))

  readonly onWarning = (text: string, source?: Source): void =>
    this.#push(() => this.#reporter.onWarning(this.#secrets.redact(text), source))

  /** Writes an event to a recording. */
  record(recording: RecordingWriter, event: FeedEvent): void {
    this.#push(() => recording.write(event))
  }

  /** A timeline as it may leave the process. */
  redact<T extends Timeline>(timeline: T): T {
    return redactTimeline(timeline, this.#secrets.redact)
  }

  /**
   * Lets everything leave. Texts that may quote a secret wait for 250 ms, and at most 2 s for lists that have not arrived.
   * @param refresh resolves when these watches have answered or failed
   */
  async finish(refresh: (requests: readonly WatchRequest[]) => Promise<void>, cancelled: AbortSignal): Promise<void> {
    const last = this.#queue.findLast(({ mayQuote }) => mayQuote)
    if (last !== undefined) {
      const done = new AbortController()
      const late = sleep(this.#clock, cancelled.aborted ? finishWhenCancelledMs : finishMs, done.signal)
      const settled = sleep(this.#clock, Math.max(0, last.at + settleMs - this.#clock.now()), done.signal)
      const answered = refresh(this.#requests.filter((request) => this.#waitingSince.has(requestKey(request))))
      await Promise.race([late, Promise.all([settled, answered])])
      done.abort()
    }
    this.flush()
  }

  /** Lets everything leave at once. */
  flush(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    for (const { leave } of this.#queue.splice(0)) leave()
  }

  #push(leave: () => void, mayQuote = true): void {
    this.#queue.push({ at: this.#clock.now(), mayQuote, leave })
    if (this.#cancelTimer === undefined) this.#release()
  }

  /** Lets leave what has waited long enough, and sets the timer for the rest. */
  #release(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    const now = this.#clock.now()
    const listsAt = this.#listsUntil()
    const count = listsAt > now ? 0 : this.#queue.findIndex(({ at }) => at + settleMs > now)
    for (const { leave } of this.#queue.splice(0, count === -1 ? this.#queue.length : count)) leave()
    const [next] = this.#queue
    if (next === undefined) return
    const delayMs = Math.max(next.at + settleMs, listsAt) - now
    this.#cancelTimer = this.#clock.after(delayMs, () => this.#release())
  }

  /** Until when texts wait for lists, at the latest; in the past if they wait for none. */
  #listsUntil(): number {
    this.#updateRequests()
    return Math.max(...this.#waitingSince.values(), Number.NEGATIVE_INFINITY) + maxWaitMs
  }

  #updateRequests(): void {
    const requests = this.#requestsOf()
    if (requests === this.#requests) return
    this.#requests = requests
    for (const request of requests) {
      const key = requestKey(request)
      if (request.kind === quotingKind || this.#answered.has(key) || this.#waitingSince.has(key)) continue
      this.#waitingSince.set(key, this.#clock.now())
    }
  }

  /** A private key in a log has many lines. */
  #redactLine({ target, pod, container, text }: LogOutput): string {
    const key = JSON.stringify([target, pod, container])
    const lines = this.#keyLines.get(key) ?? new KeyLines()
    this.#keyLines.set(key, lines)
    return this.#secrets.redact(lines.redact(text))
  }
}
