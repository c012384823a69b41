import type { Clock } from '../cluster/clock.ts'
import type { LogLine } from '../cluster/logs.ts'

/** The lines that all containers together may still show as they come. */
export interface Allowance {
  lines: number
}

export const allowedLines = 5_000
/** Of each container these are shown as they come: enough for a migration from its first to its last word. */
const headLines = 500
const headBytes = 128 << 10
/** Behind them, the newest lines in turns. */
const turnMs = 10_000
export const heldLines = 25

/** What is shown of a log: a line, or how many are not. */
export type Shown =
  | { readonly type: 'line'; readonly line: LogLine }
  /** `orMore`: there were others that were never read. */
  | { readonly type: 'left-out'; readonly lines: number; readonly orMore: boolean }

/**
 * Keeps what one container says within what people read and the job's log can hold: its beginning as it comes, then every
 * ten seconds the newest lines with the number of those left out, and its end in any case.
 */
export class Dose {
  readonly #clock: Clock
  readonly #allowance: Allowance
  readonly #show: (shown: Shown) => void
  #lines = 0
  #bytes = 0
  #held: LogLine[] = []
  #leftOut = 0
  #isMoreLeftOut = false
  #stopTurn: (() => void) | undefined

  constructor(clock: Clock, allowance: Allowance, show: (shown: Shown) => void) {
    this.#clock = clock
    this.#allowance = allowance
    this.#show = show
  }

  take(line: LogLine): void {
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
    this.#stopTurn ??= this.#clock.after(turnMs, () => this.#turn())
  }

  /** The lines that follow are not the next ones: some between were not read. */
  skip(): void {
    this.#leftOut += this.#held.length
    this.#held = []
    this.#isMoreLeftOut = true
  }

  /** Shows what is held back: there is no more for now. */
  flush(): void {
    this.#stopTurn?.()
    this.#stopTurn = undefined
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

  #turn(): void {
    this.#stopTurn = undefined
    if (this.#allowance.lines <= 0) return
    this.#allowance.lines -= this.#held.length
    this.flush()
  }
}
