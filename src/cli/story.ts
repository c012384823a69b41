import type { EndedTimeline, Entry, Timeline } from '../gate/timeline.ts'
import type { LogOutput } from '../logs/log-streams.ts'
import { plain } from '../report/escape.ts'
import { type LogHead, LogPrinter } from '../report/log.ts'
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

/** Prints the log of a gate and, on a terminal, draws the state of the open targets below it. */
export class Story {
  readonly #output: Output
  readonly #options: StoryOptions
  readonly #screen: Screen
  readonly #log: LogPrinter
  #present: (() => Timeline) | undefined
  #timer: NodeJS.Timeout | undefined
  #frame = 0

  constructor(output: Output, options: StoryOptions) {
    this.#output = output
    this.#options = options
    this.#screen = new Screen(output)
    this.#log = new LogPrinter((lines) => this.#print(lines), options)
  }

  begin(head: LogHead & { readonly notices: readonly string[] }): void {
    this.#log.head(head)
  }

  /** Draws the state that `present` returns, until `close`. */
  watch(present: () => Timeline): void {
    if (!this.#options.live) return
    this.#present = present
    this.#timer = setInterval(() => this.#redraw(), redrawMs)
    this.#redraw()
  }

  entry(entry: Entry): void {
    // The drawn state contains what a heartbeat reports.
    if (this.#present === undefined || entry.kind !== 'heartbeat') this.#log.entry(entry)
  }

  log(output: LogOutput): void {
    this.#log.log(output)
  }

  warn(text: string): void {
    this.#print([`Warning: ${plain(text)}`])
  }

  end(timeline: EndedTimeline): void {
    this.close()
    this.#log.end(timeline)
  }

  /** Leaves the terminal as it was found; may be called more than once. */
  close(): void {
    clearInterval(this.#timer)
    this.#present = undefined
    this.#screen.close()
  }

  #redraw(): void {
    this.#frame++
    this.#screen.print([], this.#block())
  }

  #print(lines: readonly string[]): void {
    if (this.#present === undefined) this.#output.write(lines.map((line) => `${line}\n`).join(''))
    else this.#screen.print(lines, this.#block())
  }

  #block(): string[] {
    if (this.#present === undefined) return []
    return renderProgress(this.#present(), {
      names: this.#log.names,
      columns: this.#screen.columns,
      rows: this.#screen.rows - 1,
      color: this.#options.color,
      frame: this.#frame,
    })
  }
}
