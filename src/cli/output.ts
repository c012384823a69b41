import { inspect } from 'node:util'
import { systemClock } from '../cluster/clock.ts'
import { withoutEscapes } from '../cluster/decoded-text.ts'
import type { Secrets } from '../cluster/secrets.ts'
import { describeMistakes, UserError } from '../errors.ts'
import { isPassing } from '../gate/outcome.ts'
import { type EndedRunRecord, misconfiguredRecord, type RunRecord } from '../gate/run-record.ts'
import { printableJson, safeLine, safeLines } from '../report/escape.ts'
import { buildReport } from '../report/json-report.ts'

/** A stream that a command writes to: stdout, stderr, or a stream of a test. */
export interface Output {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
  hasColors?(): boolean
}

/** A stream that replaces secrets. Code that cuts, folds or quotes a text must redact the text before, with `redact`. */
export interface RedactedStream extends Output {
  readonly redact: (text: string) => string
}

/** The streams, environment and signals of the process, as a command uses them. */
export interface CommandContext {
  readonly stdout: RedactedStream
  readonly stderr: RedactedStream
  readonly env: Readonly<Record<string, string | undefined>>
  /** The name of the program: `rollout-gate`, `kubectl rollout-gate`. */
  readonly program: string
  /** The secrets that all output redacts. Commands add the secrets that they read. */
  readonly secrets: Secrets
  /** Aborted at the first Ctrl-C. */
  readonly cancelled: AbortSignal
  /** Aborted when stdout can no longer be written. The verdict of a gate does not depend on its output; a view ends. */
  readonly outputEnded: AbortSignal
  readStdin(): Promise<string>
}

/** Returns a stream that redacts secrets in everything that is written to `output`. */
export function redactOutput(output: Output, { redact }: Secrets): RedactedStream {
  // The size of the terminal may change, so it is read from the stream each time: the stream is the prototype.
  const changing = Object.create(output) as Output
  const write = (text: string) => output.write(redact(text))
  return Object.assign(changing, { redact, write, hasColors: () => output.hasColors?.() === true })
}

/** @param flag the value of `--color`, which takes precedence over the stream and the environment */
export function usesColor(output: Output, flag: string | undefined): boolean {
  if (flag === 'always' || flag === 'never') return flag === 'always'
  return output.isTTY === true && output.hasColors?.() === true
}

/** Whether lines can be redrawn in place. */
export function isInteractive({ isTTY }: Output, env: CommandContext['env']): boolean {
  return isTTY === true && !env['CI'] && env['TERM'] !== 'dumb'
}

export interface LogStyle {
  readonly color: boolean
  /** Print evidence in groups, which GitHub's job log collapses. */
  readonly groups: boolean
}

/** @param flags of the command line */
export function logStyle(
  output: Output,
  flags: ReadonlyMap<string, string>,
  { env }: Pick<CommandContext, 'env'>,
): LogStyle {
  const groups = env['GITHUB_ACTIONS'] === 'true' && output.isTTY !== true
  return { color: usesColor(output, flags.get('color')), groups }
}

export function printLines(output: Output, lines: readonly string[]): void {
  output.write(lines.map((line) => `${line}\n`).join(''))
}

/** Prints text as one line that is safe in a terminal. */
export function printMessage(output: RedactedStream, text: string): void {
  output.write(`${safeLine(output.redact(text))}\n`)
}

/** The options of a command's connection to the cluster. */
export function connectionOf({ secrets, stderr }: Pick<CommandContext, 'secrets' | 'stderr'>) {
  return {
    mask: () => {},
    secrets,
    onWaiting: (message: string) => printMessage(stderr, message),
    clock: systemClock,
    usesFlags: true,
  }
}

/**
 * Prints the mistakes of invalid input. Returns the exit code.
 * @param report the start and end of the gate, for a report; without them, no report is printed
 * @throws `error`, if it is no UserError
 */
export function endWithMistakes(
  error: unknown,
  { stdout, stderr }: Pick<CommandContext, 'stdout' | 'stderr'>,
  report?: readonly [startedAt: number, finishedAt: number],
): number {
  if (!(error instanceof UserError)) throw error
  for (const text of describeMistakes(error.mistakes)) printMessage(stderr, text)
  if (report !== undefined) printReport(stdout, misconfiguredRecord(error, ...report))
  return misconfiguredCode
}

/** Prints an error that is a fault of this program. */
export function printCrash(output: RedactedStream, message: string, error: unknown): void {
  printMessage(output, `${message}. Please report it with the lines below.`)
  printLines(output, safeLines(output.redact(inspect(error))))
}

/** The report of a gate or of a single check as one line of JSON. */
export function printReport(output: Output, record: RunRecord): void {
  output.write(`${printableJson(buildReport(record))}\n`)
}

export const cancelledCode = 130
export const misconfiguredCode = 2

/** The exit code of a gate: 0 ready, 1 not ready, 2 misconfigured, 130 cancelled. */
export function exitCodeOf(record: EndedRunRecord, onSuperseded: 'fail' | 'pass'): number {
  const { outcome } = record
  if (outcome === 'misconfigured') return misconfiguredCode
  if (outcome === 'cancelled') return cancelledCode
  return isPassing(record, onSuperseded) ? 0 : 1
}

const hideCursor = '\x1b[?25l'
const showCursor = '\x1b[?25h'
/** Turns line wrapping off: wide characters must not make a line of the block take two rows. */
const noWrap = '\x1b[?7l'
const wrap = '\x1b[?7h'
const clearBelow = '\x1b[0J'

/** A block of lines at the bottom of a terminal, redrawn in place below permanent lines. */
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

  /** Prints permanent lines, and the block below them. */
  print(lines: readonly string[], block: readonly string[]): void {
    const above = lines.map((line) => `${line}\n`).join('')
    const below = block.map((line) => `${line}\n`).join('')
    if (above === '' && block.join('\n') === this.#drawn.join('\n')) return
    const begin = this.#drawn.length === 0 && block.length > 0 ? hideCursor : ''
    this.#output.write(`${begin}${this.#erase()}${above}${noWrap}${below}${wrap}`)
    this.#drawn = block
  }

  /** Removes the block and restores the cursor. */
  close(): void {
    if (this.#drawn.length === 0) return
    this.#output.write(`${this.#erase()}${showCursor}`)
    this.#drawn = []
  }

  #erase(): string {
    if (this.#drawn.length === 0) return ''
    // A terminal that became narrower has wrapped the lines.
    const rows = this.#drawn.reduce((sum, line) => {
      return sum + Math.max(1, Math.ceil(withoutEscapes(line).length / this.columns))
    }, 0)
    return `\x1b[${rows}A\r${clearBelow}`
  }
}
