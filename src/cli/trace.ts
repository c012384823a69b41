import { systemClock } from '../cluster/clock.ts'
import { followTrace } from '../trace/follow.ts'
import { news, paintLine } from '../trace/line.ts'
import { pageLines } from '../trace/page.ts'
import type { Scene } from '../trace/scene.ts'
import { traceTarget } from '../trace/subjects.ts'
import { Trace } from '../trace/trace.ts'
import type { Arguments } from './arguments.ts'
import { isLive, type Surface, tell, usesColor } from './output.ts'
import { Screen } from './screen.ts'
import { cancelledCode } from './verdict.ts'
import { runView } from './view.ts'

/** `trace`: shows a resource with everything behind it, live. Returns the exit code. */
export async function trace(args: Arguments, surface: Surface): Promise<number> {
  return runView(args, surface, 'trace', [], async ({ inputs, parsed, cluster, resources }) => {
    const target = traceTarget(parsed, resources, cluster.namespace)
    const startedAt = systemClock.now()
    const { settleTimeMs: settleMs, maxRestarts } = inputs
    const tracing = new Trace(target, { startedAt, serverOffsetMs: cluster.serverOffsetMs, settleMs, maxRestarts })
    const picture = openPicture(args, surface)
    const endsWhenReady = args.given.has('until-ready')
    const timeoutMs = target.clocks.timeoutMs ?? (inputs.written.has('timeout') ? inputs.timeoutMs : 0)
    let isReady = false
    try {
      const options = { clock: systemClock, cancelled: surface.cancelled }
      const isOver = await followTrace(target, tracing, cluster, options, (scene) => {
        picture.draw(scene)
        isReady = endsWhenReady && scene.present?.assessment.status === 'ready'
        return isReady || (timeoutMs > 0 && scene.now >= startedAt + timeoutMs)
      })
      if (!isOver) return cancelledCode
    } finally {
      picture.close()
    }
    if (isReady || !endsWhenReady) return 0
    tell(surface.stderr, 'It was not ready in time.')
    return 1
  })
}

interface Picture {
  draw(scene: Scene): void
  /** Leaves the last picture where it is, and the terminal as it was. */
  close(): void
}

/** On a terminal the picture is drawn anew in place; elsewhere each one that brings news is printed below the last. */
function openPicture({ given }: Arguments, { stdout, env }: Surface): Picture {
  const color = usesColor(stdout, given.get('color'))
  if (!isLive(stdout, env)) {
    let told = ''
    return {
      draw(scene) {
        if (scene.isLooking) return
        const lines = pageLines(scene)
        const isNew = news(lines) !== told
        told = news(lines)
        if (isNew) stdout.write(`${lines.map((each) => `${paintLine(each, { color })}\n`).join('')}\n`)
      },
      close() {},
    }
  }
  const screen = new Screen(stdout)
  let last: readonly string[] = []
  return {
    draw(scene) {
      const { columns, rows } = screen
      last = pageLines(scene, rows - 1).map((each) => paintLine(each, { color, columns }))
      screen.print([], last)
    },
    close() {
      screen.close()
      stdout.write(last.map((each) => `${each}\n`).join(''))
    },
  }
}
