import { systemClock } from '../cluster/clock.ts'
import { UserError } from '../errors.ts'
import type { EndedTimeline } from '../gate/timeline.ts'
import { misconfigured } from '../never-begun.ts'
import { gateRollout, type Listener } from '../rollout.ts'
import type { Arguments } from './arguments.ts'
import type { Surface } from './output.ts'
import { prepare } from './prepare.ts'
import { openStory, type Story } from './story.ts'
import { cancelledCode, complain, exitCodeOf, reportLine } from './verdict.ts'

/** `wait`: gates a rollout and tells its story. Returns the exit code. */
export async function wait(args: Arguments, surface: Surface): Promise<number> {
  const { stdout, stderr } = surface
  const isJson = args.given.has('json')
  const startedAt = systemClock.now()
  const story = openStory(isJson ? stderr : stdout, args.given, surface)
  const finish = (timeline: EndedTimeline, code: number) => {
    if (isJson) stdout.write(reportLine(timeline))
    return code
  }
  try {
    const prepared = await prepare(args, surface, 'wait')
    if (prepared === undefined) return cancelledCode
    const { inputs, raw, parsed, place } = prepared
    const timeline = await gateRollout(inputs, raw, parsed, listenerOf(story, surface)).catch((error: unknown) => {
      throw place(error)
    })
    story.end(timeline)
    return finish(timeline, exitCodeOf(timeline, inputs.onSuperseded))
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    story.close()
    complain(stderr, error)
    const timeline = misconfigured(error, startedAt, systemClock.now())
    return finish(timeline, exitCodeOf(timeline))
  } finally {
    story.close()
  }
}

/** Tells a story of what a rollout says. */
export function listenerOf(story: Story, { secrets, cancelled }: Pick<Surface, 'secrets' | 'cancelled'>): Listener {
  return {
    mask: secrets.add,
    onHead: (head) => story.begin(head),
    onEntry: (entry) => story.entry(entry),
    onLog: (news) => story.log(news),
    onStart: (look) => story.watch(() => look(systemClock.now())),
    onWarning: (text) => story.warn(text),
    cancelled,
  }
}
