import type { Clock } from '../cluster/clock.ts'
import type { Gate } from '../gate/gate.ts'
import type { Entry } from '../gate/timeline.ts'
import type { Target } from '../plan/target.ts'
import type { LogSource } from './container-log.ts'
import { InOrder } from './in-order.ts'
import type { LogNews } from './log-news.ts'
import { LogStreams } from './log-streams.ts'

/** What live logs take of the gate that they stand beside. */
export interface LiveLogsOptions {
  readonly gate: Pick<Gate, 'gatedPods'>
  readonly targets: readonly Target[]
  /** The places of the targets whose logs are shown. */
  readonly streamed: ReadonlySet<number>
  readonly source: LogSource
  readonly clock: Clock
  /** When the gate began, on the server's clock. */
  readonly startedAt: number
  readonly listener: {
    readonly onEntry: (entry: Entry) => void
    readonly onLog: (news: LogNews) => void
    readonly onWarning: (text: string) => void
    readonly cancelled: AbortSignal
  }
}

/** How long a verdict may wait for the last lines; a cancelled job has little time left. */
const lastLinesMs = 1_000
const lastLinesWhenCancelledMs = 300

/** The logs of `stream-logs`, told in one story with the gate's entries. Without any it only passes entries on. */
export class LiveLogs {
  readonly #streams: LogStreams
  readonly #order: InOrder
  readonly #cancelled: AbortSignal

  constructor({ gate, targets, streamed, source, clock, startedAt, listener }: LiveLogsOptions) {
    this.#streams = new LogStreams({
      // A Job's pods end by themselves, and with them their logs.
      targets: [...streamed].map((index) => ({ index, ends: targets[index]?.kind === 'Job' })),
      podsOf: (index) => gate.gatedPods(index),
      source,
      clock,
      startedAt,
      listener: { onNews: (news) => this.#order.news(news), onWarning: listener.onWarning },
    })
    this.#order = new InOrder(this.#streams, lastLinesMs, listener.onEntry, listener.onLog)
    this.#cancelled = listener.cancelled
  }

  /** Takes an entry of the gate's story, to be told in its place. */
  entry(entry: Entry): void {
    this.#order.entry(entry)
  }

  /** Takes note that something is told to the gate, which may be news of pods. */
  observe(): void {
    this.#streams.look()
  }

  /** Tells what was written by now, within a second, and no more. */
  async finish(): Promise<void> {
    await this.#streams.finish(this.#cancelled.aborted ? lastLinesWhenCancelledMs : lastLinesMs)
    this.#order.flush()
  }

  /** Ends everything at once. */
  close(): void {
    this.#streams.close()
    this.#order.flush()
  }
}
