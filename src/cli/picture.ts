import { paintLine, stableText } from '../trace/line.ts'
import type { TraceState } from '../trace/trace.ts'
import { renderTrace } from '../trace/trace-view.ts'
import type { Arguments } from './arguments.ts'
import { isLive, type Surface, usesColor } from './output.ts'
import { Screen } from './screen.ts'

/** What `trace` draws on. */
export interface Picture {
  draw(state: TraceState): void
  /** Leaves the last picture where it is, and the terminal as it was. */
  close(): void
}

/** On a terminal the picture is drawn anew in place; elsewhere each one that brings news is printed below the last. */
export function openPicture(
  { given }: Pick<Arguments, 'given'>,
  { stdout, env }: Pick<Surface, 'stdout' | 'env'>,
): Picture {
  const color = usesColor(stdout, given.get('color'))
  if (!isLive(stdout, env)) {
    let told = ''
    return {
      draw(state) {
        if (state.isLoading) return
        const lines = renderTrace(state)
        const isNew = stableText(lines) !== told
        told = stableText(lines)
        if (isNew) stdout.write(`${lines.map((each) => `${paintLine(each, { color })}\n`).join('')}\n`)
      },
      close() {},
    }
  }
  const screen = new Screen(stdout)
  let last: readonly string[] = []
  return {
    draw(state) {
      const { columns, rows } = screen
      last = renderTrace(state, rows - 1).map((each) => paintLine(each, { color, columns }))
      screen.print([], last)
    },
    close() {
      screen.close()
      stdout.write(last.map((each) => `${each}\n`).join(''))
    },
  }
}
