import { parseDuration } from '../duration.ts'
import { type Mistake, UserError } from '../errors.ts'
import { recordRollout } from '../record.ts'
import { describeWriteFailure } from '../recording/writer.ts'
import { count } from '../report/wording.ts'
import { gateRollout } from '../rollout.ts'
import type { Arguments } from './arguments.ts'
import { type Surface, tell } from './output.ts'
import { prepare } from './prepare.ts'
import { openStory } from './story.ts'
import { cancelledCode, complain, exitCodeOf } from './verdict.ts'
import { rolloutOptions } from './wait.ts'

/**
 * `record`: writes all that a gate would watch to a file, until Ctrl-C, for some time, or until the gate is over. Returns
 * the exit code.
 */
export async function record(args: Arguments, surface: Surface): Promise<number> {
  const { stdout, stderr } = surface
  const story = openStory(stdout, args.given, surface)
  const ending = new AbortController()
  const end = () => ending.abort()
  surface.cancelled.addEventListener('abort', end)
  let alarm: NodeJS.Timeout | undefined
  try {
    const { path, forMs, mistakes } = readOwn(args)
    const prepared = await prepare(args, surface, 'record', mistakes)
    if (prepared === undefined) return cancelledCode
    const rethrow = (error: unknown) => {
      throw prepared.place(error)
    }
    if (args.given.has('until-ready')) {
      // The gate takes no longer than the recording.
      const written = new Map(prepared.inputs.written).set('timeout', args.given.get('for') ?? '')
      const clocks = forMs === undefined ? {} : { timeoutMs: forMs, written }
      const inputs = { ...prepared.inputs, record: path, ...clocks }
      const options = rolloutOptions(story, surface)
      const timeline = await gateRollout({ ...prepared, inputs, ...options }).catch(rethrow)
      story.end(timeline)
      tell(stdout, `Recorded to ${path}`)
      return exitCodeOf(timeline, inputs.onSuperseded)
    }
    if (surface.cancelled.aborted) end()
    if (forMs !== undefined) alarm = setTimeout(end, forMs)
    const options = rolloutOptions(story, { ...surface, cancelled: ending.signal })
    const recorded = await recordRollout(path, { ...prepared, ...options }).catch(rethrow)
    story.close()
    if (recorded !== undefined) tell(stdout, `Recorded ${count(recorded.events, 'event')} to ${path}`)
    return surface.cancelled.aborted ? cancelledCode : 0
  } catch (error) {
    story.close()
    if (error instanceof UserError) {
      complain(stderr, error)
      return 2
    }
    if (!isFileError(error)) throw error
    tell(stderr, describeWriteFailure(args.given.get('output'), error))
    return 1
  } finally {
    clearTimeout(alarm)
    surface.cancelled.removeEventListener('abort', end)
    story.close()
  }
}

/** The flags of this command alone. */
function readOwn({ given }: Arguments): { path: string; forMs?: number; mistakes: Mistake[] } {
  const mistakes: Mistake[] = []
  const path = given.get('output')
  if (path === undefined) {
    mistakes.push({ input: '--output', message: 'Say which file to write: -o rollout.ndjson.gz' })
  }
  const written = given.get('for')
  const forMs =
    written === undefined ? undefined : parseDuration(written, (message) => mistakes.push({ input: '--for', message }))
  if (forMs === 0)
    mistakes.push({ input: '--for', message: 'Nothing can be recorded in no time. Leave it out, or write 2m.' })
  return { path: path ?? '', ...(forMs === undefined ? {} : { forMs }), mistakes }
}

/** A full disk is not ours to mend. */
function isFileError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && ['write', 'open', 'close'].includes(String(error.syscall))
}
