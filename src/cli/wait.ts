import { writeFile } from 'node:fs/promises'
import { systemClock } from '../cluster/clock.ts'
import { errorText } from '../errors.ts'
import { redactRecord } from '../gate/redact-record.ts'
import type { EndedRunRecord } from '../gate/run-record.ts'
import { gateRollout } from '../rollout/rollout.ts'
import type { Arguments } from './arguments.ts'
import { readCommandInputs } from './inputs.ts'
import {
  type CommandContext,
  cancelledCode,
  connectionOf,
  endWithMistakes,
  exitCodeOf,
  printMessage,
  printReport,
} from './output.ts'
import { openTerminalLog } from './terminal-log.ts'

/** `wait`: gates a rollout. Returns the exit code. */
export async function wait(args: Arguments, context: CommandContext): Promise<number> {
  const { stdout, stderr, cancelled } = context
  const isJson = args.flags.has('json')
  const startedAt = systemClock.now()
  const log = openTerminalLog(isJson ? stderr : stdout, args.flags, context)
  try {
    const inputs = await readCommandInputs(args, context, 'wait')
    if (inputs === undefined) return cancelledCode
    const rollout = { ...inputs, reporter: log, ...connectionOf(context), cancelled }
    const record = await inputs.located(() => gateRollout(rollout))
    log.end(record)
    if (isJson) printReport(stdout, record)
    const summaryFile = args.flags.get('summary')
    if (summaryFile !== undefined) await writeSummary(summaryFile, record, context)
    return exitCodeOf(record, inputs.inputs.onSuperseded)
  } catch (error) {
    log.close()
    return endWithMistakes(error, context, isJson ? [startedAt, systemClock.now()] : undefined)
  } finally {
    log.close()
  }
}

/** Writes the summary. A file that cannot be written is a message: it decides nothing. */
async function writeSummary(file: string, record: EndedRunRecord, { stdout, stderr }: CommandContext): Promise<void> {
  // Loaded when used, to keep the start short.
  const { renderSummary } = await import('../report/summary.ts')
  await writeFile(file, renderSummary(redactRecord(record, stdout.redact))).catch((error: unknown) =>
    printMessage(stderr, `--summary ${file}: It cannot be written: ${errorText(error)}.`),
  )
}
