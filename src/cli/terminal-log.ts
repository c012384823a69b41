import type { EndedRunRecord, MilestoneRecord, RunRecord, TargetRecord } from '../gate/run-record.ts'
import type { Entry } from '../gate/timeline-entries.ts'
import { safeLine } from '../report/escape.ts'
import { LogPrinter, outcomeCountsText } from '../report/log.ts'
import { formatElapsed, outcomeLabels, timeoutTexts } from '../report/target-record.ts'
import type { Reporter } from '../run/redacted-output.ts'
import { dim, type Line, line, paintLine, type Span } from '../views/line.ts'
import {
  type CommandContext,
  isInteractive,
  type LogStyle,
  logStyle,
  type Output,
  printLines,
  Screen,
} from './output.ts'

/* The log of a gate on the command line; on a terminal, with the state of the open targets below. */

/** The interval at which the state is redrawn: it shows elapsed times in whole seconds. */
const redrawMs = 1_000

interface TerminalLogOptions extends LogStyle {
  /** Whether to draw the present state below the log. */
  readonly drawsState: boolean
}

/** Opens the log of a gate. @param flags the flags of the command line */
export function openTerminalLog(
  output: Output,
  flags: ReadonlyMap<string, string>,
  context: Pick<CommandContext, 'env' | 'cancelled'>,
): TerminalLog {
  const { env, cancelled } = context
  const style = logStyle(output, flags, context)
  const log = new TerminalLog(output, { ...style, drawsState: isInteractive(output, env) })
  // The terminal must be restored at the first Ctrl-C, because a second one may end the process at once.
  cancelled.addEventListener('abort', () => log.close())
  return log
}

/** Prints the log of a gate. On a terminal, draws the state of the open targets below the log. */
export class TerminalLog extends LogPrinter implements Reporter {
  readonly #output: Output
  readonly #options: TerminalLogOptions
  readonly #screen: Screen
  #present: (() => RunRecord) | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(output: Output, options: TerminalLogOptions) {
    super((lines) => this.#print(lines), options)
    this.#output = output
    this.#options = options
    this.#screen = new Screen(output)
  }

  /** Prints the header. Then draws the state until `close` is called. */
  override onStart(present: () => RunRecord, notices: readonly string[]): void {
    super.onStart(present, notices)
    if (!this.#options.drawsState) return
    this.#present = present
    this.#timer = setInterval(() => this.#redraw(), redrawMs)
    this.#redraw()
  }

  override onEntry(entry: Entry): void {
    // A heartbeat is not printed, because the drawn state has the same content.
    if (this.#present === undefined || entry.kind !== 'heartbeat') super.onEntry(entry)
  }

  onWarning(text: string): void {
    this.#print([`Warning: ${safeLine(text)}`])
  }

  override end(record: EndedRunRecord): void {
    this.close()
    super.end(record)
  }

  /** Removes the state, and restores the terminal. May be called more than once. */
  close(): void {
    clearInterval(this.#timer)
    this.#present = undefined
    this.#screen.close()
  }

  #redraw(): void {
    this.#screen.print([], this.#renderBlock())
  }

  #print(lines: readonly string[]): void {
    if (this.#present === undefined) printLines(this.#output, lines)
    else this.#screen.print(lines, this.#renderBlock())
  }

  #renderBlock(): string[] {
    if (this.#present === undefined) return []
    return renderState(this.#present(), {
      names: this.names,
      columns: this.#screen.columns,
      rows: this.#screen.rows - 1,
      color: this.#options.color,
    })
  }
}

/** The layout of the drawn state. */
interface StateLayout {
  /** The names of the targets in their order, safe to print. */
  readonly names: readonly string[]
  readonly columns: number
  /** Maximum number of lines. */
  readonly rows: number
  readonly color: boolean
}

const dots: Readonly<Record<MilestoneRecord['state'], Span>> = {
  done: { text: '●', style: 'green', isJoined: true },
  current: { text: '◐', style: 'yellow', isJoined: true },
  pending: { text: '○', style: 'dim', isJoined: true },
  failed: { text: '✗', style: 'red', isJoined: true },
  skipped: { text: '·', style: 'dim', isJoined: true },
}

/** Renders a line with the outcomes, and a line for each open target: its milestones, progress and first problem. */
export function renderState(record: RunRecord, layout: StateLayout): string[] {
  const { targets, startedAt, finishedAt: now } = record
  const { timeout } = timeoutTexts(record, targets)
  const { names, rows } = layout
  const [first] = targets
  const outcomes =
    first !== undefined && targets.length === 1
      ? outcomeLabels[first.outcome].verb
      : `${targets.length} targets: ${outcomeCountsText(targets)}`
  const open = targets.flatMap((target, index) =>
    target.outcome === 'progressing' ? [{ target, name: names[index] ?? '' }] : [],
  )
  const shown = open.slice(0, Math.max(1, open.length > rows - 1 ? rows - 2 : rows - 1))
  const nameWidth = Math.max(0, ...shown.map(({ name }) => name.length))
  const dotsWidth = Math.max(0, ...shown.map(({ target }) => target.milestones.length))
  const lines: Line[] = [
    line(
      0,
      { text: formatElapsed(now - startedAt), style: 'bold' },
      ` ${outcomes}${timeout === 'off' ? '' : ` · timeout ${timeout}`}`,
    ),
    ...shown.map(({ target, name }) =>
      line(
        2,
        { text: name, style: 'bold', width: nameWidth + 1 },
        ...target.milestones.map(({ state }) => dots[state]),
        { text: '', width: dotsWidth - target.milestones.length },
        ...progressSpans(target, record),
      ),
    ),
  ]
  if (open.length > shown.length) lines.push(line(2, dim(`and ${open.length - shown.length} more`)))
  const paint = { color: layout.color, columns: layout.columns, redact: (text: string) => text }
  return lines.map((each) => paintLine(each, paint))
}

/**
 * The current milestone with its duration, the first problem, and the message of a target: ` pulled 0:12
 * image-not-found ×2 2 of 3 new pods started`.
 */
function progressSpans({ milestones, message, problems }: TargetRecord, { startedAt, finishedAt }: RunRecord): Span[] {
  const current = milestones.find(({ state }) => state === 'current')
  const since = Math.max(startedAt, ...milestones.map(({ at }) => at ?? startedAt))
  const [problem] = problems
  const spans: Span[] = []
  if (current !== undefined)
    spans.push({ text: ` ${current.name} ${formatElapsed(finishedAt - since)}`, style: 'cyan' })
  if (problem !== undefined)
    spans.push({ text: ` ${problem.reason}${problem.count > 1 ? ` ×${problem.count}` : ''}`, style: 'yellow' })
  return [...spans, { text: ` ${message}` }]
}
