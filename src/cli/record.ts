import { parseDuration } from '../duration.ts'
import type { Mistake } from '../errors.ts'
import { counted } from '../reasons/wording.ts'
import { describeWriteFailure } from '../recording/writer.ts'
import { LiveRun } from '../run/live-run.ts'
import { judge } from '../run/run.ts'
import type { RunOptions } from '../run/run-inputs.ts'
import type { Arguments } from './arguments.ts'
import { runWithInputs } from './inputs.ts'
import { type CommandContext, cancelledCode, connectionOf, exitCodeOf, printMessage } from './output.ts'
import { openTerminalLog, type TerminalLog } from './terminal-log.ts'

/** `record`: writes to a file everything that a gate would watch. Returns the exit code. */
export function record(args: Arguments, context: CommandContext): Promise<number> {
  const { stdout, cancelled } = context
  const { path, durationMs, mistakes } = readRecordFlags(args)
  return runWithInputs('record', args, context, { mistakes }, async (read) => {
    const inputs = { ...read.inputs, record: path }
    const log = openTerminalLog(stdout, args.flags, context)
    const options = { ...read, ...connectionOf(context), inputs, reporter: log, cancelled, requiresRecording: true }
    if (args.flags.has('until-ready')) {
      const written = new Map(inputs.written).set('timeout', args.flags.get('for') ?? '')
      const timeout = durationMs === undefined ? {} : { timeoutMs: durationMs, written }
      return recordRun(log, context, { ...options, purpose: 'gate', inputs: { ...inputs, ...timeout } })
    }
    const end = durationMs === undefined ? cancelled : AbortSignal.any([cancelled, AbortSignal.timeout(durationMs)])
    return recordRun(log, context, { ...options, purpose: 'recording', cancelled: end })
  })
}

/**
 * Records a gate until it is over, or everything that a gate would watch until cancelled, also after the verdict. The log has the
 * timeline entries until the verdict.
 */
async function recordRun(
  log: TerminalLog,
  { stdout, stderr, cancelled }: CommandContext,
  options: RunOptions,
): Promise<number> {
  const { purpose, inputs } = options
  const path = inputs.record ?? ''
  const run = await LiveRun.open(options)
  try {
    const record = purpose === 'gate' ? await run.judge() : undefined
    if (record !== undefined) log.end(record)
    else if (await run.plan()) await judge(run)
    log.close()
    const { recordedEvents } = run
    if (recordedEvents !== undefined) printMessage(stdout, `Recorded ${counted(recordedEvents, 'event')} to ${path}`)
    if (record !== undefined) return exitCodeOf(record, inputs.onSuperseded)
    return cancelled.aborted ? cancelledCode : 0
  } catch (error) {
    if (!isFileError(error)) throw error
    log.close()
    printMessage(stderr, describeWriteFailure(path, error))
    return 1
  } finally {
    log.close()
    run.end()
  }
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
