import { type Mistake, mapMistakes, UserError } from '../errors.ts'
import { emptyRecord, verdictOf } from '../gate/run-record.ts'
import { readInputs } from '../inputs.ts'
import { readHeader } from '../recording/reader.ts'
import { RecordedRun } from '../run/recorded-run.ts'
import type { Arguments } from './arguments.ts'
import { inputsAmong, onFlag } from './inputs.ts'
import {
  type CommandContext,
  cancelledCode,
  endWithMistakes,
  exitCodeOf,
  printCrash,
  printMessage,
  printReport,
} from './output.ts'
import { openTerminalLog } from './terminal-log.ts'

interface ReplayOptions {
  readonly flags: ReadonlyMap<string, string>
  /** Inputs that replace the recorded ones. */
  readonly overrides: Readonly<Record<string, string>>
  /** Recorded seconds for each second of real time; undefined: as fast as possible. */
  readonly speed: number | undefined
  readonly isJson: boolean
}

/** `replay`: prints the verdict of each recording in order. Returns the worst exit code. */
export async function replay(args: Arguments, context: CommandContext): Promise<number> {
  const { flags, files } = args
  const overrides = inputsAmong(flags)
  const mistakes = [...readInputs(overrides).mistakes.map(onFlag(args)), ...args.mistakes]
  const speed = readSpeed(flags.get('speed'), mistakes)
  if (files.length === 0) mistakes.push({ input: 'FILE', message: 'Name the recording to replay.' })
  if (mistakes.length > 0) return endWithMistakes(new UserError(mistakes), context)
  const options = { flags, overrides, speed, isJson: flags.has('json') }
  let worst = 0
  for (const [index, file] of files.entries()) {
    if (context.cancelled.aborted) break
    if (files.length > 1 && !options.isJson) {
      if (index > 0) context.stdout.write('\n')
      printMessage(context.stdout, `${file}:`)
    }
    worst = Math.max(worst, await replayFile(file, options, context))
  }
  return worst
}

async function replayFile(file: string, options: ReplayOptions, context: CommandContext): Promise<number> {
  const { flags, isJson, ...replayed } = options
  const { stdout, stderr, env, cancelled, secrets } = context
  const output = isJson ? { write: () => {} } : stdout
  const log = openTerminalLog(output, flags, { env, cancelled }, { drawsState: replayed.speed !== undefined })
  const warn = (line: number, text: string) => printMessage(stderr, `${file}, line ${line}: ${text}`)
  const common = { purpose: 'gate', reporter: log, secrets, cancelled, warn, usesFlags: true } as const
  try {
    const run = await RecordedRun.open({ ...common, ...replayed, file })
    const record = await run.judgeTargets()
    log.end(record)
    if (isJson) printReport(stdout, record)
    return exitCodeOf(record, run.inputs.onSuperseded)
  } catch (error) {
    log.close()
    // The other files are replayed all the same.
    if (!cancelled.aborted && !(error instanceof UserError)) {
      const message = `Rollout Gate itself failed on ${file}`
      printCrash(stderr, message, error)
      if (isJson) printReport(stdout, emptyRecord({ outcome: 'unknown', reason: '', message }, 0, 0))
      return 1
    }
    const startedAt = await readHeader(file).then(
      (header) => Date.parse(header.startedAt),
      () => 0,
    )
    const moments = [startedAt, startedAt] as const
    if (cancelled.aborted) {
      if (isJson) printReport(stdout, emptyRecord(verdictOf('cancelled', 'cancelled', {}), ...moments))
      return cancelledCode
    }
    const inFile = mapMistakes(error, (mistake) =>
      mistake.input === file ? mistake : { ...mistake, input: `${file}: ${mistake.input}` },
    )
    return endWithMistakes(inFile, context, isJson ? moments : undefined)
  } finally {
    log.close()
  }
}

function readSpeed(written: string | undefined, mistakes: Mistake[]): number | undefined {
  if (written === undefined) return undefined
  const speed = Number(written)
  if (speed > 0 && speed <= 1e6) return speed
  mistakes.push({ input: '--speed', message: 'Write 1 for real time, 10 for ten times as fast, or leave it out.' })
  return undefined
}
