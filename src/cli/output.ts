import { inspect } from 'node:util'
import { systemClock } from '../cluster/clock.ts'
import { withoutEscapes } from '../cluster/decoded-text.ts'
import type { Secrets } from '../cluster/secrets.ts'
import { describeMistakes, UserError } from '../errors.ts'
import { isPassing } from '../gate/outcome.ts'
import { type EndedRunRecord, misconfiguredRecord, type RunRecord } from '../gate/run-record.ts'
import { printableJson, safeLine, safeLines } from '../report/escape.ts'
import { buildReport } from '../report/json-report.ts'

/* The output of commands: redacted streams, messages, exit codes, and a screen that is redrawn. */

/** A stream to which a command writes: stdout, stderr, or a stream of a test. */
export interface Output {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
  hasColors?(): boolean
}

/** A stream that redacts secrets. Code that cuts, wraps or quotes a text must first call `redact`. */
interface RedactedStream extends Output {
  readonly redact: (text: string) => string
}

/** The process as a command uses it: streams, environment and signals. */
export interface CommandContext {
  readonly stdout: RedactedStream
  readonly stderr: RedactedStream
  readonly env: Readonly<Record<string, string | undefined>>
  /** What the user writes before the arguments: `rollout-gate`; in a command with its name: `rollout-gate wait`. */
  readonly program: string
  /** The secrets to redact in all output. Commands add the secrets that they read. */
  readonly secrets: Secrets
  /** Aborted at the first Ctrl-C. */
  readonly cancelled: AbortSignal
  /** Aborted when stdout can no longer be written. A view then ends, but a gate continues. */
  readonly outputEnded: AbortSignal
  readStdin(): Promise<string>
}

/** Wraps a stream, so that secrets are redacted in everything that is written. */
export function redactOutput(output: Output, { redact }: Secrets): RedactedStream {
  // The stream is the prototype, because the size of the terminal may change and must be read each time.
  const changing = Object.create(output) as Output
  const write = (text: string) => output.write(redact(text))
  return Object.assign(changing, { redact, write, hasColors: () => output.hasColors?.() === true })
}

/** Whether to print colours. @param flag the value of `--color`, which takes precedence over stream and environment */
export function usesColor(output: Output, flag: string | undefined): boolean {
  if (flag === 'always' || flag === 'never') return flag === 'always'
  return output.isTTY === true && output.hasColors?.() === true
}

/** Whether the stream is a terminal on which lines can be redrawn in place. */
export function isInteractive({ isTTY }: Output, env: CommandContext['env']): boolean {
  return isTTY === true && !env['CI'] && env['TERM'] !== 'dumb'
}

export interface LogStyle {
  readonly color: boolean
  /** Whether to print evidence as groups, which GitHub's job log folds. */
  readonly groups: boolean
}

/** The style of a log. @param flags the flags of the command line */
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

/** Prints a text as one line that is safe in a terminal. */
export function printMessage(output: RedactedStream, text: string): void {
  output.write(`${safeLine(output.redact(text))}\n`)
}

/** The options that a command passes for its connection to the cluster. */
export function connectionOptions({ secrets, stderr }: Pick<CommandContext, 'secrets' | 'stderr'>) {
  return {
    secrets,
    onWaiting: (message: string) => printMessage(stderr, message),
    clock: systemClock,
    usesFlags: true,
  }
}

/**
 * Prints the mistakes in an error. Returns the exit code.
 * @param report the start and end of the gate, if a report must be printed too
 * @throws the error itself, if it is no UserError
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

/** Prints an unexpected error: a fault of this program. */
export function printCrash(output: RedactedStream, message: string, error: unknown): void {
  printMessage(output, `${message}. Please report it with the lines below.`)
  printLines(output, safeLines(output.redact(inspect(error))))
}

/** Prints the report of a gate or single check as one line of JSON. */
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
/** Turns line wrapping off. Otherwise a line with wide characters could take two rows. */
const noWrap = '\x1b[?7l'
const wrap = '\x1b[?7h'
const clearBelow = '\x1b[0J'

/** Draws a block of lines at the bottom of a terminal, below permanent lines, and redraws the block in place. */
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

  /** Prints permanent lines, and redraws the block below. */
  print(lines: readonly string[], block: readonly string[]): void {
    const above = lines.map((line) => `${line}\n`).join('')
    const below = block.map((line) => `${line}\n`).join('')
    if (above === '' && block.join('\n') === this.#drawn.join('\n')) return
    const begin = this.#drawn.length === 0 && block.length > 0 ? hideCursor : ''
    this.#output.write(`${begin}${this.#erase()}${above}${noWrap}${below}${wrap}`)
    this.#drawn = block
  }

  /** Removes the block, and restores the cursor. */
  close(): void {
    if (this.#drawn.length === 0) return
    this.#output.write(`${this.#erase()}${showCursor}`)
    this.#drawn = []
  }

  #erase(): string {
    if (this.#drawn.length === 0) return ''
    // If the terminal has become narrower, it has wrapped lines of the block.
    const rows = this.#drawn.reduce((sum, line) => {
      return sum + Math.max(1, Math.ceil(withoutEscapes(line).length / this.columns))
    }, 0)
    return `\x1b[${rows}A\r${clearBelow}`
  }
}
