import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { type Mistake, mapMistakes, UserError } from '../errors.ts'
import { type EndedRunRecord, emptyRecord, verdictOf } from '../gate/run-record.ts'
import { readInputs } from '../inputs.ts'
import { readHeader } from '../recording/reader.ts'
import type { RecordingHeader } from '../recording/writer.ts'
import { plainLines } from '../report/escape.ts'
import { RecordedRun, type ReplayTime } from '../run/recorded-run.ts'
import type { Arguments } from './arguments.ts'
import { inputsAmong, onFlag } from './inputs.ts'
import {
  type CommandContext,
  cancelledCode,
  endWithMistakes,
  exitCodeOf,
  printLines,
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
  let header: RecordingHeader | undefined
  try {
    header = await readHeader(file)
    const { record, code } = await gateRecording(file, header, options, context)
    if (options.isJson) printReport(context.stdout, record)
    return code
  } catch (error) {
    const startedAt = Date.parse(header?.startedAt ?? '') || 0
    if (context.cancelled.aborted) {
      const verdict = verdictOf('cancelled', 'cancelled', {})
      if (options.isJson) printReport(context.stdout, emptyRecord(verdict, startedAt, startedAt))
      return cancelledCode
    }
    // The other files are replayed all the same.
    if (!(error instanceof UserError)) return endWithCrash(file, error, options, context)
    const inFile = mapMistakes(error, (mistake) =>
      mistake.input === file ? mistake : { ...mistake, input: `${file}: ${mistake.input}` },
    )
    return endWithMistakes(inFile, context, options.isJson ? [startedAt, startedAt] : undefined)
  }
}

/** Prints an error of this program, which one recording causes. Returns the exit code. */
function endWithCrash(file: string, error: unknown, { isJson }: ReplayOptions, context: CommandContext): number {
  const message = `Rollout Gate itself failed on ${file}`
  printMessage(context.stderr, `${message}. Please report it with the lines below.`)
  printLines(context.stderr, plainLines(context.stderr.redact(inspect(error))))
  if (isJson) printReport(context.stdout, emptyRecord({ outcome: 'unknown', reason: '', message }, 0, 0))
  return 1
}

async function gateRecording(
  file: string,
  header: RecordingHeader,
  { flags, overrides, speed, isJson }: ReplayOptions,
  { stdout, stderr, env, cancelled, secrets }: CommandContext,
): Promise<{ record: EndedRunRecord; code: number }> {
  const output = isJson ? { write: () => {} } : stdout
  const log = openTerminalLog(output, flags, { env, cancelled }, { drawsState: speed !== undefined })
  const warn = (line: number, text: string) => printMessage(stderr, `${file}, line ${line}: ${text}`)
  const time = speed === undefined ? undefined : replayTime(Date.parse(header.startedAt), speed, cancelled)
  const options = {
    purpose: 'gate',
    reporter: log,
    overrides,
    secrets,
    cancelled,
    time,
    warn,
    usesFlags: true,
  } as const
  const run = await RecordedRun.open({ ...options, file, header })
  try {
    const record = await run.judgeTargets()
    log.end(record)
    return { record, code: exitCodeOf(record, run.inputs.onSuperseded) }
  } finally {
    log.close()
  }
}

/** The clock of a replay: recorded time passes `speed` times as fast as real time. */
function replayTime(startedAt: number, speed: number, signal: AbortSignal): ReplayTime {
  const beganAt = performance.now()
  const now = () => Math.round(startedAt + (performance.now() - beganAt) * speed)
  const waitUntil = async (at: number) => {
    // Timers of Node.js are limited to 24 days.
    const waitMs = Math.min((at - now()) / speed, 2 ** 31 - 1)
    if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => {})
    return signal.aborted ? Math.min(at, now()) : at
  }
  return { now, waitUntil }
}

function readSpeed(written: string | undefined, mistakes: Mistake[]): number | undefined {
  if (written === undefined) return undefined
  const speed = Number(written)
  if (speed > 0 && speed <= 1e6) return speed
  mistakes.push({ input: '--speed', message: 'Write 1 for real time, 10 for ten times as fast, or leave it out.' })
  return undefined
}
