import { systemClock } from '../cluster/clock.ts'
import { type Mistake, throwMistakes } from '../errors.ts'
import { redactRecord } from '../gate/redact-record.ts'
import { readInputs } from '../inputs.ts'
import { renderMergedLog } from '../report/log.ts'
import { mergeReports } from '../report/merge-reports.ts'
import { readReportFiles } from '../report/report-files.ts'
import { renderSummary } from '../report/summary.ts'
import type { Arguments } from './arguments.ts'
import { inputsAmong, onFlag } from './inputs.ts'
import { type CommandContext, endWithMistakes, exitCodeOf, printLines, printReport, usesColor } from './output.ts'

/** `merge`: one outcome, log, summary or report from the reports of several gates. Returns the exit code of `wait`. */
export async function merge(args: Arguments, context: CommandContext): Promise<number> {
  const { flags, files, mistakes } = args
  const { stdout, stderr, env, program } = context
  const isJson = flags.has('json')
  const isSummary = flags.has('summary')
  try {
    const { inputs, mistakes: invalid } = readInputs(inputsAmong(flags), 'merge')
    const both: Mistake[] =
      isJson && isSummary
        ? [{ input: '--json', message: 'It cannot be combined with --summary. Keep one of them.' }]
        : []
    const example = `${program} merge eu/report.json us/report.json`
    const none: Mistake[] =
      files.length === 0
        ? [{ input: 'REPORT', message: `No report is named. Write one for each gate: ${example}` }]
        : []
    throwMistakes([...invalid.map(onFlag(args)), ...mistakes, ...both, ...none])
    const merged = mergeReports(readReportFiles(files, process.cwd(), 'REPORT'), systemClock.now())
    const record = redactRecord(merged, stdout.redact)
    const log = isJson || isSummary ? stderr : stdout
    const groups = env['GITHUB_ACTIONS'] === 'true' && log.isTTY !== true
    printLines(log, renderMergedLog(record, { color: usesColor(log, flags.get('color')), groups }))
    if (isSummary) stdout.write(renderSummary(record))
    if (isJson) printReport(stdout, record)
    return exitCodeOf(record, inputs.onSuperseded)
  } catch (error) {
    const now = systemClock.now()
    return endWithMistakes(error, context, isJson ? [now, now] : undefined)
  }
}
