import type { Clock } from '../cluster/clock.ts'
import type { Gate } from '../gate/gate.ts'
import type { Entry } from '../gate/timeline.ts'
import type { Target } from '../plan/target.ts'
import type { LogSource } from './container-log.ts'
import { type LogOutput, LogStreams } from './log-streams.ts'

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
    readonly onLog: (output: LogOutput) => void
    readonly onWarning: (text: string) => void
    readonly cancelled: AbortSignal
  }
}

/** How long a verdict may wait for the last lines; a cancelled job has little time left. */
const lastLinesMs = 1_000
const lastLinesWhenCancelledMs = 300

/** The logs of `stream-logs` in order with the gate's timeline entries. */
export class LiveLogs {
  readonly #streams: LogStreams
  readonly #queue: EntryQueue
  readonly #cancelled: AbortSignal

  constructor({ gate, targets, streamed, source, clock, startedAt, listener }: LiveLogsOptions) {
    this.#streams = new LogStreams({
      targets: [...streamed].map((index) => ({ index, podsEnd: targets[index]?.kind === 'Job' })),
      podsOf: (index) => gate.gatedPods(index),
      source,
      clock,
      startedAt,
      listener: { onOutput: (output) => this.#queue.log(output), onWarning: listener.onWarning },
    })
    this.#queue = new EntryQueue(listener.onEntry, listener.onLog)
    this.#cancelled = listener.cancelled
  }

  /** Shows an entry; the end of a target only after the last lines of its logs. */
  entry(entry: Entry): void {
    const isEnd = entry.kind === 'verdict' && entry.target !== undefined
    this.#queue.entry(entry, isEnd ? this.#streams.complete(entry.target, lastLinesMs) : undefined)
  }

  /** The pods of the targets may have changed. */
  update(): void {
    this.#streams.update()
  }

  /** Shows what was written until now, within a second, and no more. */
  async finish(): Promise<void> {
    await this.#streams.finish(this.#cancelled.aborted ? lastLinesWhenCancelledMs : lastLinesMs)
    this.#queue.flush()
  }

  /** Ends everything at once. */
  close(): void {
    this.#streams.close()
    this.#queue.flush()
  }
}

/** Holds entries until the log lines before them are shown. Later entries wait too, so that all stay in order. */
class EntryQueue {
  readonly #showEntry: (entry: Entry) => void
  readonly #showLog: (output: LogOutput) => void
  #held: Entry[] = []
  #waiting: Promise<unknown> | undefined

  constructor(showEntry: (entry: Entry) => void, showLog: (output: LogOutput) => void) {
    this.#showEntry = showEntry
    this.#showLog = showLog
  }

  /** @param before resolves when the entry may be shown */
  entry(entry: Entry, before: Promise<void> | undefined): void {
    if (before !== undefined) {
      const waiting = Promise.all([this.#waiting, before]).then(() => {
        if (this.#waiting === waiting) this.flush()
      })
      this.#waiting = waiting
    }
    if (this.#waiting === undefined) this.#showEntry(entry)
    else this.#held.push(entry)
  }

  /** Shows a line of a log; its time is never after that of a held entry. */
  log(output: LogOutput): void {
    this.#showLog({ ...output, at: Math.min(output.at, this.#held[0]?.at ?? output.at) })
  }

  flush(): void {
    this.#waiting = undefined
    for (const entry of this.#held.splice(0)) this.#showEntry(entry)
  }
}
