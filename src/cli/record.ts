import { parseDuration } from '../duration.ts'
import type { Mistake } from '../errors.ts'
import { gateRollout, withRun } from '../run/live-run.ts'
import type { Arguments } from './arguments.ts'
import { runWithInputs } from './inputs.ts'
import { type CommandContext, cancelledCode, connectionOf, exitCodeOf, printMessage } from './output.ts'
import { openTerminalLog } from './terminal-log.ts'

/**
 * `record`: writes to a file everything that a gate would watch, until cancelled, also after the verdict; with `--until-ready` until
 * the gate is over. Returns the exit code.
 */
export function record(args: Arguments, context: CommandContext): Promise<number> {
  const { stdout, cancelled } = context
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
      const gate = await withRun({ ...options, purpose: 'recording', inputs, cancelled: end }, (run) => run.judge())
      log.close()
      if (gate !== undefined) printMessage(stdout, `Recorded to ${path}`)
      return cancelled.aborted ? cancelledCode : 0
    } finally {
      log.close()
    }
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
