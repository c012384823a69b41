import { writeFile } from 'node:fs/promises'
import { errorText } from '../errors.ts'
import { redactRecord } from '../gate/redact-record.ts'
import type { EndedRunRecord } from '../gate/run-record.ts'
import { gateRollout } from '../run/live-run.ts'
import type { Arguments } from './arguments.ts'
import { runWithInputs } from './inputs.ts'
import { type CommandContext, connectionOf, exitCodeOf, printMessage, printReport } from './output.ts'
import { openTerminalLog } from './terminal-log.ts'

/** `wait`: gates a rollout. Returns the exit code. */
export function wait(args: Arguments, context: CommandContext): Promise<number> {
  const { stdout, stderr, cancelled } = context
  const isJson = args.flags.has('json')
  return runWithInputs('wait', args, context, { isReported: isJson }, async (read) => {
    const log = openTerminalLog(isJson ? stderr : stdout, args.flags, context)
    try {
      const connection = connectionOf(context)
      const record = await gateRollout({ ...read, ...connection, purpose: 'gate', reporter: log, cancelled })
      log.end(record)
      if (isJson) printReport(stdout, record)
      const summaryFile = args.flags.get('summary')
      if (summaryFile !== undefined) await writeSummary(summaryFile, record, context)
      return exitCodeOf(record, read.inputs.onSuperseded)
    } finally {
      log.close()
    }
  })
}

/** Writes the summary. A file that cannot be written is a message: it decides nothing. */
async function writeSummary(file: string, record: EndedRunRecord, { stdout, stderr }: CommandContext): Promise<void> {
  // Loaded when used, to keep the start short.
  const { renderSummary } = await import('../report/summary.ts')
  await writeFile(file, renderSummary(redactRecord(record, stdout.redact))).catch((error: unknown) =>
    printMessage(stderr, `--summary ${file}: It cannot be written: ${errorText(error)}.`),
  )
}
