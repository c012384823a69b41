import type { Entry } from '../gate/timeline.ts'
import type { LogNews } from './log-news.ts'
import type { LogStreams } from './log-streams.ts'

/**
 * Tells the gate's entries, and the end of a target only when its last lines have been told: a verdict reads wrong above
 * the words that explain it. Entries wait together, so that they stay in their order.
 */
export class InOrder {
  readonly #streams: Pick<LogStreams, 'complete'>
  readonly #withinMs: number
  readonly #tell: (entry: Entry) => void
  readonly #tellNews: (news: LogNews) => void
  #held: Entry[] = []
  #waiting: Promise<unknown> | undefined

  /** `withinMs`: the longest that an entry may wait. */
  constructor(
    streams: Pick<LogStreams, 'complete'>,
    withinMs: number,
    tell: (entry: Entry) => void,
    tellNews: (news: LogNews) => void,
  ) {
    this.#streams = streams
    this.#withinMs = withinMs
    this.#tell = tell
    this.#tellNews = tellNews
  }

  entry(entry: Entry): void {
    const isEnd = entry.kind === 'verdict' && entry.target !== undefined
    const rest = isEnd ? this.#streams.complete(entry.target, this.#withinMs) : undefined
    if (rest !== undefined) this.#waitFor(rest)
    if (this.#waiting === undefined) this.#tell(entry)
    else this.#held.push(entry)
  }

  /** Takes a line of a log: it stands before what waits for it, in time too. */
  news(news: LogNews): void {
    this.#tellNews({ ...news, at: Math.min(news.at, this.#held[0]?.at ?? news.at) })
  }

  /** Tells at once what still waits. */
  flush(): void {
    this.#waiting = undefined
    for (const entry of this.#held.splice(0)) this.#tell(entry)
  }

  #waitFor(rest: Promise<void>): void {
    const waiting = Promise.all([this.#waiting, rest]).then(() => {
      if (this.#waiting === waiting) this.flush()
    })
    this.#waiting = waiting
  }
}
