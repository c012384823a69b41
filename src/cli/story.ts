import type { EndedTimeline, Entry, Timeline } from '../gate/timeline.ts'
import type { LogOutput } from '../logs/log-streams.ts'
import { plain } from '../report/escape.ts'
import {
  type LogHead,
  type LogLayout,
  LogPrinter,
  layoutLog,
  renderEvidence,
  renderHeader,
  renderLogOutput,
  renderVerdict,
} from '../report/log.ts'
import { isLive, type Output, type Surface, usesColor } from './output.ts'
import { renderProgress } from './progress.ts'
import { Screen } from './screen.ts'

const redrawMs = 100

export interface StoryOptions {
  readonly color: boolean
  /** Draw the present state below the log, anew in place. */
  readonly live: boolean
  /** Fold the evidence into groups of GitHub's job log. */
  readonly groups: boolean
}

/**
 * A story for an output, told as the output can show it. The first Ctrl-C leaves the terminal as it was: a second one may
 * end the process at once.
 *
 * @param given the flags of the command line
 * @param options.live whether there is a present state to draw
 */
export function openStory(
  output: Output,
  given: ReadonlyMap<string, string>,
  { env, cancelled }: Pick<Surface, 'env' | 'cancelled'>,
  { live = true } = {},
): Story {
  const story = new Story(output, {
    color: usesColor(output, given.get('color')),
    live: live && isLive(output, env),
    groups: env['GITHUB_ACTIONS'] === 'true' && output.isTTY !== true,
  })
  cancelled.addEventListener('abort', () => story.close())
  return story
}

/** Tells a gate's story as it happens: the lines of the log and, on a terminal, how every open target stands below them. */
export class Story {
  readonly #output: Output
  readonly #options: StoryOptions
  readonly #screen: Screen
  #layout: LogLayout | undefined
  #entries: LogPrinter | undefined
  #look: (() => Timeline) | undefined
  #timer: NodeJS.Timeout | undefined
  #frame = 0

  constructor(output: Output, options: StoryOptions) {
    this.#output = output
    this.#options = options
    this.#screen = new Screen(output)
  }

  begin(head: LogHead & { readonly notices: readonly string[] }): void {
    this.#layout = this.#layOut(head)
    this.#entries = new LogPrinter(this.#layout, (line) => this.#print([line]))
    this.#print([renderHeader(head, this.#layout), ...head.notices.map((text) => plain(text))])
  }

  /** From now on the state that `look` sees is drawn, until `close`. */
  watch(look: () => Timeline): void {
    if (!this.#options.live) return
    this.#look = look
    this.#timer = setInterval(() => this.#redraw(), redrawMs)
    this.#redraw()
  }

  entry(entry: Entry): void {
    // What a heartbeat says stands below all the time.
    if (this.#look === undefined || entry.kind !== 'heartbeat') this.#entries?.entry(entry)
  }

  log(output: LogOutput): void {
    if (this.#layout !== undefined) this.#print([renderLogOutput(output, this.#layout)])
  }

  warn(text: string): void {
    this.#print([`Warning: ${plain(text)}`])
  }

  end(timeline: EndedTimeline): void {
    this.close()
    this.#entries?.flush()
    const layout = this.#layout ?? this.#layOut({ ...timeline, targets: [] })
    this.#print([...renderVerdict(timeline, layout), ...renderEvidence(timeline, layout)])
  }

  /** Leaves the terminal as it was found; may be called more than once. */
  close(): void {
    clearInterval(this.#timer)
    this.#look = undefined
    this.#screen.close()
  }

  #layOut(head: LogHead): LogLayout {
    const { color, groups } = this.#options
    return layoutLog(head, { color, groups })
  }

  #redraw(): void {
    this.#frame++
    this.#screen.print([], this.#block())
  }

  #print(lines: readonly string[]): void {
    if (this.#look === undefined) this.#output.write(lines.map((line) => `${line}\n`).join(''))
    else this.#screen.print(lines, this.#block())
  }

  #block(): string[] {
    if (this.#look === undefined || this.#layout === undefined) return []
    return renderProgress(this.#look(), {
      names: this.#layout.names,
      columns: this.#screen.columns,
      rows: this.#screen.rows - 1,
      color: this.#options.color,
      frame: this.#frame,
    })
  }
}
