import type { Clock } from '../cluster/clock.ts'
import type { LogLine } from '../cluster/logs.ts'

/** Number of lines that all containers together may still show at once. */
export interface LineAllowance {
  lines: number
}

export const allowedLines = 5_000
/** Lines of each container shown at once: enough for a migration. */
const headLines = 500
const headBytes = 128 << 10
/** After these, the newest lines are shown at this interval. */
const intervalMs = 10_000
export const heldLines = 25

/** A log line, or the number of omitted lines. */
export type ThrottledLine =
  | { readonly type: 'line'; readonly line: LogLine }
  /** `orMore`: others were never read. */
  | { readonly type: 'left-out'; readonly lines: number; readonly orMore: boolean }

/**
 * Limits the output of one container's log: its first lines are shown at once, then every 10 s the newest lines with the
 * number of omitted lines, and always its last lines.
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
    const isHead = this.#lines <= headLines && this.#bytes <= headBytes && this.#held.length === 0
    if (isHead && this.#allowance.lines > 0) {
      this.#allowance.lines -= 1
      this.#showLeftOut()
      this.#show({ type: 'line', line })
      return
    }
    this.#held.push(line)
    if (this.#held.length > heldLines) {
      this.#held.shift()
      this.#leftOut += 1
    }
    this.#stopTimer ??= this.#clock.after(intervalMs, () => this.#showNewest())
  }

  /** Lines before the next one were never read. */
  addGap(): void {
    this.#leftOut += this.#held.length
    this.#held = []
    this.#isMoreLeftOut = true
  }

  /** Shows the held lines at once. */
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
