import { parseDuration } from '../duration.ts'
import type { Mistake } from '../errors.ts'
import { plain } from '../report/escape.ts'
import { withRun } from '../run/live-run.ts'
import type { Run } from '../run/run.ts'
import type { RunOptions } from '../run/run-inputs.ts'
import type { Arguments } from './arguments.ts'
import { flagAsWritten, type InputOptions, inputsAmong, runWithInputs } from './inputs.ts'
import { type CommandContext, cancelledCode, connectionOf, printLines, printMessage } from './output.ts'

interface ShowOptions extends Pick<RunOptions, 'findReferences'>, Pick<InputOptions, 'needsReference' | 'isReported'> {
  readonly purpose: 'look' | 'view'
  /** Mistakes found in the flags of the command. */
  readonly mistakes?: readonly Mistake[]
}

/**
 * Shows a cluster as it is now or, with `--recording`, as it was at a moment.
 * @param name the name of the command, shown in an example
 * @param show returns the exit code
 */
export function showRun(
  name: string,
  args: Arguments,
  context: CommandContext,
  { purpose, findReferences, needsReference, mistakes = [], ...options }: ShowOptions,
  show: (run: Run) => Promise<number>,
): Promise<number> {
  const { flags } = args
  const { cancelled, secrets, stderr } = context
  const file = flags.get('recording')
  const isOffline = file !== undefined
  const all = [...mistakes]
  const atMs = readMoment(args, isOffline, all)
  const ofInputs = { ...options, mistakes: all, needsReference: needsReference ?? !isOffline, isOffline }
  return runWithInputs(name, args, context, ofInputs, async (read) => {
    const common = { purpose, cancelled, reporter: quietReporter(stderr) }
    if (file === undefined) {
      const options = { ...read, ...connectionOf(context), ...common, findReferences }
      return (await withRun(options, show)) ?? cancelledCode
    }
    // Loaded when used, to keep the start of the other commands short.
    const { RecordedRun } = await import('../run/recorded-run.ts')
    const { resources: _, manifests: _files, ...overrides } = inputsAmong(flags)
    const run = await RecordedRun.open({
      ...common,
      file,
      secrets,
      usesFlags: true,
      overrides,
      references: read.references.references.length === 0 ? undefined : read.references,
      atMs,
      warn: (line, text) => printMessage(stderr, `${file}, line ${line}: ${text}`),
    })
    return show(run)
  })
}

/** Prints only what concerns the inputs. */
function quietReporter(stderr: CommandContext['stderr']): RunOptions['reporter'] {
  return {
    onStart: (_, notices) =>
      printLines(
        stderr,
        notices.map((text) => plain(text)),
      ),
    onEntry: () => {},
    onLog: () => {},
    onWarning: (text) => printMessage(stderr, `Warning: ${text}`),
  }
}

/** The moment that `--at` names, in milliseconds since the start of the gate; undefined: the end. */
function readMoment(args: Arguments, isRecorded: boolean, mistakes: Mistake[]): number | undefined {
  const written = args.flags.get('at')
  if (isRecorded && args.flags.has('until-ready'))
    mistakes.push({ input: '--until-ready', message: 'A recording does not go on. Leave it out.' })
  if (!isRecorded && written !== undefined)
    mistakes.push({ input: '--at', message: 'It is a moment of a recording. Name that with --recording=FILE.' })
  if (!isRecorded || written === undefined) return undefined
  const [isElapsed, hours = '0', minutes = '0', seconds = '0'] =
    /^(?:(\d+):)?(\d+):(\d\d(?:\.\d+)?)$/.exec(written) ?? []
  if (isElapsed !== undefined) return (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000
  return parseDuration(written, (message) => {
    mistakes.push({ input: flagAsWritten(args, 'at'), message: `${message} Or write it as the log does: 0:34.` })
  })
}
