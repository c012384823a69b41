import { parseDuration } from '../duration.ts'
import type { Mistake } from '../errors.ts'
import { counted } from '../reasons/wording.ts'
import { describeWriteFailure } from '../recording/writer.ts'
import { gateRollout, withRun } from '../run/live-run.ts'
import type { RunOptions } from '../run/run-inputs.ts'
import type { Arguments } from './arguments.ts'
import { runWithInputs } from './inputs.ts'
import { type CommandContext, cancelledCode, connectionOf, exitCodeOf, printMessage } from './output.ts'
import { openTerminalLog } from './terminal-log.ts'

/** `record`: writes to a file everything that a gate would watch. Returns the exit code. */
export function record(args: Arguments, context: CommandContext): Promise<number> {
  const { stdout, stderr, cancelled } = context
  const { path, durationMs, mistakes } = readRecordFlags(args)
  return runWithInputs('record', args, context, { mistakes }, async (read) => {
    const inputs = { ...read.inputs, record: path }
    const log = openTerminalLog(stdout, args.flags, context)
    const options = { ...read, ...connectionOf(context), reporter: log, cancelled, requiresRecording: true }
    try {
      if (args.flags.has('until-ready')) {
        const written = new Map(inputs.written).set('timeout', args.flags.get('for') ?? '')
        const timeout = durationMs === undefined ? {} : { timeoutMs: durationMs, written }
        const record = await gateRollout({ ...options, purpose: 'gate', inputs: { ...inputs, ...timeout } })
        log.end(record)
        printMessage(stdout, `Recorded to ${path}`)
        return exitCodeOf(record, inputs.onSuperseded)
      }
      const end = durationMs === undefined ? cancelled : AbortSignal.any([cancelled, AbortSignal.timeout(durationMs)])
      const events = await recordRun({ ...options, purpose: 'recording', inputs, cancelled: end })
      log.close()
      if (events !== undefined) printMessage(stdout, `Recorded ${counted(events, 'event')} to ${path}`)
      return cancelled.aborted ? cancelledCode : 0
    } catch (error) {
      log.close()
      if (!isFileError(error)) throw error
      printMessage(stderr, describeWriteFailure(path, error))
      return 1
    } finally {
      log.close()
    }
  })
}

/**
 * Records everything that a gate would watch until cancelled, also after the verdict. The reporter receives the timeline entries
 * until the verdict.
 * @returns the number of events; undefined if cancelled before the targets were known
 * @throws UserError for invalid input; the file system's error if the recording could not be written
 */
function recordRun(options: RunOptions): Promise<number | undefined> {
  return withRun(options, async (run) => {
    await run.judge()
    return run.recordedEvents
  })
}

/** The flags that only this command has. */
function readRecordFlags({ flags }: Arguments): { path: string; durationMs?: number; mistakes: Mistake[] } {
  const mistakes: Mistake[] = []
  const path = flags.get('output')
  if (path === undefined) mistakes.push({ input: '--output', message: 'Name the file to write: -o rollout.ndjson.gz' })
  const addMistake = (message: string) => void mistakes.push({ input: '--for', message })
  const written = flags.get('for')
  const durationMs = written === undefined ? undefined : parseDuration(written, addMistake)
  if (durationMs === 0) addMistake('The duration must not be zero. Omit it, or write 2m.')
  return { path: path ?? '', durationMs, mistakes }
}

/** A full disk, for example. */
function isFileError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && ['write', 'open', 'close'].includes(String(error.syscall))
}
