import { systemClock } from '../cluster/clock.ts'
import type { WatchRequest } from '../cluster/feed.ts'
import { followTrace } from '../trace/follow.ts'
import { Trace } from '../trace/trace.ts'
import { traceTarget } from '../trace/view-targets.ts'
import type { Arguments } from './arguments.ts'
import { type Surface, tell } from './output.ts'
import { openPicture } from './picture.ts'
import { cancelledCode } from './verdict.ts'
import { noteMissingNamespace, runView } from './view.ts'

/** `trace`: shows a resource with everything behind it, live. Returns the exit code. */
export async function trace(args: Arguments, surface: Surface): Promise<number> {
  return runView(args, surface, 'trace', [], async ({ inputs, references, cluster, resources }) => {
    const namesOf = async (request: WatchRequest) =>
      (await cluster.select(request)).map(({ metadata }) => metadata.name)
    const target = await traceTarget(references, resources, cluster.namespace, namesOf)
    await noteMissingNamespace(target.namespace, cluster, surface)
    const startedAt = systemClock.now()
    const { settleTimeMs: settleMs, maxRestarts } = inputs
    const tracing = new Trace(target, { startedAt, serverOffsetMs: cluster.serverOffsetMs, settleMs, maxRestarts })
    const picture = openPicture(args, surface)
    const endsWhenReady = args.given.has('until-ready')
    const timeoutMs = target.clocks.timeoutMs ?? (inputs.written.has('timeout') ? inputs.timeoutMs : 0)
    let isReady = false
    try {
      const options = { clock: systemClock, cancelled: surface.cancelled }
      const isOver = await followTrace(target, tracing, cluster, options, (state) => {
        picture.draw(state)
        isReady = endsWhenReady && state.traced?.assessment.status === 'ready'
        return isReady || (timeoutMs > 0 && state.now >= startedAt + timeoutMs)
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
