import { parseDuration } from '../duration.ts'
import type { Mistake } from '../errors.ts'
import { counted } from '../reasons/wording.ts'
import { describeWriteFailure, startRecording } from '../recording/writer.ts'
import { beyondOutcome, followGate, gateRollout, type OnEvent, withPlan } from '../rollout/rollout.ts'
import type { Rollout } from '../rollout/rollout-inputs.ts'
import type { Arguments } from './arguments.ts'
import { readCommandInputs } from './inputs.ts'
import {
  type CommandContext,
  cancelledCode,
  connectionOf,
  endWithMistakes,
  exitCodeOf,
  printMessage,
} from './output.ts'
import { openTerminalLog } from './terminal-log.ts'

/** `record`: writes to a file everything that a gate would watch. Returns the exit code. */
export async function record(args: Arguments, context: CommandContext): Promise<number> {
  const { stdout, stderr, cancelled } = context
  const { path, durationMs, mistakes } = readRecordFlags(args)
  const log = openTerminalLog(stdout, args.flags, context)
  try {
    const read = await readCommandInputs(args, context, 'record', { mistakes })
    if (read === undefined) return cancelledCode
    const { inputs, located } = read
    const rollout = { ...read, reporter: log, ...connectionOf(context), cancelled, requiresRecording: true }
    if (args.flags.has('until-ready')) {
      const written = new Map(inputs.written).set('timeout', args.flags.get('for') ?? '')
      const timeout = durationMs === undefined ? {} : { timeoutMs: durationMs, written }
      const recorded = { ...rollout, inputs: { ...inputs, record: path, ...timeout } }
      const record = await located(() => gateRollout(recorded))
      log.end(record)
      printMessage(stdout, `Recorded to ${path}`)
      return exitCodeOf(record, inputs.onSuperseded)
    }
    const end = durationMs === undefined ? cancelled : AbortSignal.any([cancelled, AbortSignal.timeout(durationMs)])
    const events = await located(() => recordRollout(path, { ...rollout, cancelled: end }))
    log.close()
    if (events !== undefined) printMessage(stdout, `Recorded ${counted(events, 'event')} to ${path}`)
    return cancelled.aborted ? cancelledCode : 0
  } catch (error) {
    log.close()
    if (!isFileError(error)) return endWithMistakes(error, context)
    printMessage(stderr, describeWriteFailure(path, error))
    return 1
  } finally {
    log.close()
  }
}

/**
 * Records everything that the gate would watch. Continues after the verdict, until cancelled. The reporter receives the
 * timeline entries until the verdict. Logs that serve as evidence are recorded last.
 * @returns the number of events; undefined if cancelled before the targets were known
 * @throws UserError for invalid input; the file system's error if the recording could not be written
 */
function recordRollout(path: string, rollout: Rollout): Promise<number | undefined> {
  const { inputs, secrets, clock } = rollout
  return withPlan(rollout, clock.now(), async (plan, settings, cluster, exit) => {
    const recording = await startRecording(path, plan, settings, inputs, secrets.redact)
    // The gate's clocks are off: a recording continues until cancelled.
    const clocks = { timeoutMs: 0, stallTimeoutMs: 0, milestoneTimeoutsMs: {}, failFast: false }
    let events = 0
    const onEvent: OnEvent = (event) => {
      events++
      exit.record(recording, event)
      return []
    }
    try {
      await followGate(rollout, plan, { ...settings, ...clocks }, cluster, exit, onEvent, { consumerOf: beyondOutcome })
    } finally {
      await recording.end(clock.now())
    }
    return events
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
