import { stripVTControlCharacters } from 'node:util'
import type { Output } from './output.ts'

const hideCursor = '\x1b[?25l'
const showCursor = '\x1b[?25h'
/** A line that is wider than its letters are many must not flow over: the block's height would be another. */
const noWrap = '\x1b[?7l'
const wrap = '\x1b[?7h'
const clearBelow = '\x1b[0J'

/** The lower end of a terminal: a block of lines that is drawn anew in place, below lines that stay. */
export class Screen {
  readonly #output: Output
  #drawn: readonly string[] = []

  constructor(output: Output) {
    this.#output = output
  }

  get columns(): number {
    return this.#output.columns || 80
  }

  get rows(): number {
    return this.#output.rows || 24
  }

  /** Prints lines that stay, and the block below them. */
  print(lines: readonly string[], block: readonly string[]): void {
    const above = lines.map((line) => `${line}\n`).join('')
    const below = block.map((line) => `${line}\n`).join('')
    if (above === '' && block.join('\n') === this.#drawn.join('\n')) return
    const begin = this.#drawn.length === 0 && block.length > 0 ? hideCursor : ''
    this.#output.write(`${begin}${this.#erase()}${above}${noWrap}${below}${wrap}`)
    this.#drawn = block
  }

  /** Takes the block away, and leaves the terminal as it was. */
  close(): void {
    if (this.#drawn.length === 0) return
    this.#output.write(`${this.#erase()}${showCursor}`)
    this.#drawn = []
  }

  /** A terminal that was made narrower since has broken the lines. */
  #erase(): string {
    if (this.#drawn.length === 0) return ''
    const rows = this.#drawn.reduce((sum, line) => {
      return sum + Math.max(1, Math.ceil(stripVTControlCharacters(line).length / this.columns))
    }, 0)
    return `\x1b[${rows}A\r${clearBelow}`
  }
}
