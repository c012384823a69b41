import { writeFile } from 'node:fs/promises'
import { systemClock } from '../cluster/clock.ts'
import { errorText, mapMistakes, throwMistakes, UserError } from '../errors.ts'
import { createVerdict } from '../gate/outcome.ts'
import { type EndedRunRecord, emptyRecord } from '../gate/run-record.ts'
import { readInputs } from '../inputs.ts'
import { LogPrinter, renderMergedLog } from '../report/log.ts'
import { redactRecord } from '../report/redact-record.ts'
import { gateRollout, runOnCluster } from '../run/start-run.ts'
import type { Arguments } from './arguments.ts'
import { inputValues, nameFlagInMistakes, openRecording, runWithInputs } from './inputs.ts'
import {
  type CommandContext,
  cancelledCode,
  connectionOptions,
  endWithMistakes,
  exitCodeOf,
  logStyle,
  type Output,
  printCrash,
  printLines,
  printMessage,
  printReport,
} from './output.ts'
import { openTerminalLog, type TerminalLog } from './terminal-log.ts'

/* The commands that run a gate or merge reports: `wait`, `record`, `replay`, `merge`. */

/**
 * Prints the log of a gate while it runs, and with `--json` the report.
 * @param output the stream of the log
 * @param gate runs the gate with the log, and resolves to the record
 */
async function printGate(
  output: Output,
  { flags }: Pick<Arguments, 'flags'>,
  context: CommandContext,
  gate: (log: TerminalLog) => Promise<EndedRunRecord>,
): Promise<EndedRunRecord> {
  const log = openTerminalLog(output, flags, context)
  try {
    const record = await gate(log)
    log.end(record)
    if (flags.has('json')) printReport(context.stdout, record)
    return record
  } finally {
    log.close()
  }
}

/** `wait`: gates a rollout. Returns the exit code. */
export function wait(args: Arguments, context: CommandContext): Promise<number> {
  const { stdout, stderr, cancelled } = context
  const isJson = args.flags.has('json')
  return runWithInputs(args, context, {}, async (read) => {
    const connection = connectionOptions(context)
    const record = await printGate(isJson ? stderr : stdout, args, context, (reporter) =>
      gateRollout({ ...read, ...connection, purpose: 'gate', reporter, cancelled }),
    )
    const summaryFile = args.flags.get('summary')
    if (summaryFile !== undefined) await writeSummary(summaryFile, record, context)
    return exitCodeOf(record, read.inputs.onSuperseded)
  })
}

/** Writes the summary. If this fails, prints a message, but the exit code stays the same. */
async function writeSummary(file: string, record: EndedRunRecord, { stdout, stderr }: CommandContext): Promise<void> {
  // Loaded on use, so that the program starts faster.
  const { renderSummary } = await import('../report/summary.ts')
  await writeFile(file, renderSummary(redactRecord(record, stdout.redact))).catch((error: unknown) =>
    printMessage(stderr, `--summary ${file}: It cannot be written: ${errorText(error)}.`),
  )
}

/**
 * `record`: writes everything that a gate would watch to a file. It ends when it is cancelled; with `--until-ready`, at
 * the end of the gate. Returns the exit code.
 */
export function record(args: Arguments, context: CommandContext): Promise<number> {
  const { stdout, cancelled } = context
  const path = args.flags.get('output') ?? ''
  const mistakes = path === '' ? [{ input: '--output', message: 'Name the file to write: -o rollout.ndjson.gz' }] : []
  return runWithInputs(args, context, { mistakes }, async (read) => {
    const inputs = { ...read.inputs, record: path }
    const options = { ...read, ...connectionOptions(context), cancelled, requiresRecording: true }
    if (args.flags.has('until-ready')) {
      const record = await printGate(stdout, args, context, (reporter) =>
        gateRollout({ ...options, purpose: 'gate', reporter, inputs }),
      )
      printMessage(stdout, `Recorded to ${path}`)
      return exitCodeOf(record, inputs.onSuperseded)
    }
    const reporter = openTerminalLog(stdout, args.flags, context)
    const recording = { ...options, purpose: 'recording', reporter, inputs } as const
    const gate = await runOnCluster(recording, (run) => run.runGate()).finally(() => reporter.close())
    if (gate !== undefined) printMessage(stdout, `Recorded to ${path}`)
    return cancelled.aborted ? cancelledCode : 0
  })
}

/** `replay`: prints the verdict of each recording in order. Returns the highest exit code. */
export async function replay(args: Arguments, context: CommandContext): Promise<number> {
  const { flags, files } = args
  const overrides = inputValues(flags)
  const mistakes = [...readInputs(overrides).mistakes.map(nameFlagInMistakes(args)), ...args.mistakes]
  if (files.length === 0) mistakes.push({ input: 'FILE', message: 'Name the recording to replay.' })
  if (mistakes.length > 0) return endWithMistakes(new UserError(mistakes), context)
  let worst = 0
  for (const [index, file] of files.entries()) {
    if (context.cancelled.aborted) break
    if (files.length > 1 && !flags.has('json')) {
      if (index > 0) context.stdout.write('\n')
      printMessage(context.stdout, `${file}:`)
    }
    worst = Math.max(worst, await replayFile(file, args, overrides, context))
  }
  return worst
}

/** @param overrides values of inputs that replace the recorded values */
async function replayFile(
  file: string,
  args: Arguments,
  overrides: Readonly<Record<string, string>>,
  context: CommandContext,
): Promise<number> {
  const { stdout, stderr, cancelled } = context
  const isJson = args.flags.has('json')
  try {
    const print = (lines: readonly string[]) => printLines(stdout, lines)
    const log = isJson ? undefined : new LogPrinter(print, logStyle(stdout, args.flags, context))
    const run = await openRecording({ file, purpose: 'gate', overrides, reporter: log ?? {} }, context)
    const record = await run.gateTargets()
    log?.end(record)
    if (isJson) printReport(stdout, record)
    return exitCodeOf(record, run.inputs.onSuperseded)
  } catch (error) {
    // After a fault of this program, the other files are still replayed.
    if (!cancelled.aborted && !(error instanceof UserError)) {
      const message = `Rollout Gate itself failed on ${file}`
      printCrash(stderr, message, error)
      if (isJson) printReport(stdout, emptyRecord({ outcome: 'unknown', reason: '', message }, 0, 0))
      return 1
    }
    const { readHeader } = await import('../recording/reader.ts')
    const startedAt = await readHeader(file).then(
      (header) => Date.parse(header.startedAt),
      () => 0,
    )
    const moments = [startedAt, startedAt] as const
    if (cancelled.aborted) {
      if (isJson) printReport(stdout, emptyRecord(createVerdict('cancelled', 'cancelled', {}), ...moments))
      return cancelledCode
    }
    const inFile = mapMistakes(error, (mistake) =>
      mistake.input === file ? mistake : { ...mistake, input: `${file}: ${mistake.input}` },
    )
    return endWithMistakes(inFile, context, isJson ? moments : undefined)
  }
}

/** `merge`: merges the reports of several gates into one outcome, log, summary or report. Returns the exit code. */
export async function merge(args: Arguments, context: CommandContext): Promise<number> {
  const { flags, files, mistakes } = args
  const { stdout, stderr, program } = context
  const isJson = flags.has('json')
  const isSummary = flags.has('summary')
  try {
    const { inputs, mistakes: invalid } = readInputs(inputValues(flags), 'merge')
    const all = [...invalid.map(nameFlagInMistakes(args)), ...mistakes]
    if (isJson && isSummary)
      all.push({ input: '--json', message: 'It cannot be combined with --summary. Keep one of them.' })
    const example = `${program} eu/report.json us/report.json`
    if (files.length === 0)
      all.push({ input: 'REPORT', message: `No report is named. Write one for each gate: ${example}` })
    throwMistakes(all)
    // Loaded on use, so that other commands start faster.
    const { readReportFiles } = await import('../report/report-files.ts')
    const { mergeReports } = await import('../report/merge-reports.ts')
    const merged = mergeReports(readReportFiles(files, process.cwd(), 'REPORT'), systemClock.now())
    const record = redactRecord(merged, stdout.redact)
    const log = isJson || isSummary ? stderr : stdout
    printLines(log, renderMergedLog(record, logStyle(log, flags, context)))
    if (isSummary) stdout.write((await import('../report/summary.ts')).renderSummary(record))
    if (isJson) printReport(stdout, record)
    return exitCodeOf(record, inputs.onSuperseded)
  } catch (error) {
    const now = systemClock.now()
    return endWithMistakes(error, context, isJson ? [now, now] : undefined)
  }
}
