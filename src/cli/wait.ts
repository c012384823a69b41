import { systemClock } from '../cluster/clock.ts'
import { UserError } from '../errors.ts'
import { type EndedTimeline, misconfiguredTimeline } from '../gate/timeline.ts'
import { gateRollout, type Reporter, type Rollout, type RolloutInputs } from '../rollout.ts'
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
    const { inputs, place } = prepared
    const timeline = await gateRollout({ ...prepared, ...rolloutOptions(story, surface) }).catch((error: unknown) => {
      throw place(error)
    })
    story.end(timeline)
    return finish(timeline, exitCodeOf(timeline, inputs.onSuperseded))
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    story.close()
    complain(stderr, error)
    const timeline = misconfiguredTimeline(error, startedAt, systemClock.now())
    return finish(timeline, exitCodeOf(timeline))
  } finally {
    story.close()
  }
}

/** What a rollout of the command line needs besides its inputs. */
export function rolloutOptions(
  story: Story,
  { secrets, cancelled }: Pick<Surface, 'secrets' | 'cancelled'>,
): Omit<Rollout, keyof RolloutInputs> {
  const reporter: Reporter = {
    onHead: (head) => story.begin(head),
    onStart: (present) => story.watch(() => present(systemClock.now())),
    onEntry: (entry) => story.entry(entry),
    onLog: (news) => story.log(news),
    onWarning: (text) => story.warn(text),
  }
  return { reporter, mask: secrets.add, cancelled, clock: systemClock }
}
