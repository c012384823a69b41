import type { Clock } from '../cluster/clock.ts'
import type { LogLine } from '../cluster/logs.ts'
import { liveLogHeadBytes, liveLogHeadLines, liveLogIntervalMs, liveLogTailLines } from '../thresholds.ts'

/** How many more lines all containers together may show. The last lines of each container are always shown. */
export interface LineAllowance {
  lines: number
}

/** A log line, or the number of omitted lines. */
export type ThrottledLine =
  | { readonly type: 'line'; readonly line: LogLine }
  /** `orMore`: more lines are missing, because they were never read. */
  | { readonly type: 'left-out'; readonly lines: number; readonly orMore: boolean }

/**
 * Limits the output of one container's log. The first lines are shown immediately. Then, every 10 s, the newest lines
 * are shown with the number of omitted lines. The last lines are always shown.
 */
export class LogThrottle {
  readonly #clock: Clock
  readonly #allowance: LineAllowance
  readonly #show: (line: ThrottledLine) => void
  #lines = 0
  #bytes = 0
  #held: LogLine[] = []
  #leftOut = 0
  #isMoreLeftOut = false
  #stopTimer: (() => void) | undefined

  constructor(clock: Clock, allowance: LineAllowance, show: (line: ThrottledLine) => void) {
    this.#clock = clock
    this.#allowance = allowance
    this.#show = show
  }

  add(line: LogLine): void {
    this.#lines += 1
    this.#bytes += Buffer.byteLength(line.text)
    const isHead = this.#lines <= liveLogHeadLines && this.#bytes <= liveLogHeadBytes && this.#held.length === 0
    if (isHead && this.#allowance.lines > 0) {
      this.#allowance.lines -= 1
      this.#showLeftOut()
      this.#show({ type: 'line', line })
      return
    }
    this.#held.push(line)
    if (this.#held.length > liveLogTailLines) {
      this.#held.shift()
      this.#leftOut += 1
    }
    this.#stopTimer ??= this.#clock.after(liveLogIntervalMs, () => this.#showNewest())
  }

  /** Notes that lines before the next one were never read. */
  addGap(): void {
    this.#leftOut += this.#held.length
    this.#held = []
    this.#isMoreLeftOut = true
  }

  /** Shows the held lines without waiting for the timer. */
  flush(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.#showLeftOut()
    for (const line of this.#held) this.#show({ type: 'line', line })
    this.#held = []
  }

  #showLeftOut(): void {
    const [lines, orMore] = [this.#leftOut, this.#isMoreLeftOut]
    this.#leftOut = 0
    this.#isMoreLeftOut = false
    if (lines > 0 || orMore) this.#show({ type: 'left-out', lines, orMore })
  }

  #showNewest(): void {
    this.#stopTimer = undefined
    if (this.#allowance.lines <= 0) return
    this.#allowance.lines -= this.#held.length
    this.flush()
  }
}
