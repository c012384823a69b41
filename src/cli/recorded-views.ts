import type { FeedEvent } from '../cluster/feed.ts'
import { parseDuration } from '../duration.ts'
import type { Mistake } from '../errors.ts'
import { Gate } from '../gate/gate.ts'
import { type GateSettings, viewSettings } from '../gate/settings.ts'
import type { Target } from '../plan/target.ts'
import { readEvents, readHeader } from '../recording/reader.ts'
import type { RecordingIndex } from '../recording/recording-index.ts'
import type { Part } from '../trace/changes.ts'
import { ChangesView } from '../trace/follow.ts'
import { paintLines } from '../trace/line.ts'
import { Trace } from '../trace/trace.ts'
import { renderTrace } from '../trace/trace-view.ts'
import { existingTargets, onlyTarget, type WrittenLines } from '../trace/view-targets.ts'
import type { Arguments } from './arguments.ts'
import { type ChangePrinting, changePrinter } from './change-printer.ts'
import { flagAsWritten, inputsAmong, showWithInputs } from './inputs.ts'
import { type CommandContext, printLines, printMessage, usesColor } from './output.ts'
import { openRecording, SkippedLines } from './recording-file.ts'

/** A recording up to the moment that a view shows. */
export interface RecordedView {
  readonly settings: GateSettings
  readonly index: RecordingIndex
  /** The targets of the user's references; without references those of the recorded gate. */
  readonly targets: readonly Target[]
  /** Where the user wrote the targets. */
  readonly references: WrittenLines
  /** The moment that is shown, in milliseconds since the epoch. */
  readonly until: number
  /** Calls the function with every event up to that moment. */
  readonly play: (handle: (event: FeedEvent) => void) => Promise<void>
}

/**
 * Opens the recording that `--recording` names, and shows it.
 * @param name the name of the command, shown in an example
 * @param mistakes found in the flags of the command
 * @param show returns the exit code
 */
export function runRecordedView(
  name: string,
  args: Arguments,
  context: CommandContext,
  mistakes: readonly Mistake[],
  show: (view: RecordedView) => Promise<number>,
): Promise<number> {
  const { flags } = args
  const { cancelled } = context
  const file = flags.get('recording') ?? ''
  const at = readMoment(args)
  const warn = (line: number, text: string) => printMessage(context.stderr, `${file}, line ${line}: ${text}`)
  const options = { mistakes: [...mistakes, ...at.mistakes], isOffline: true }
  return showWithInputs(name, args, context, options, async ({ references: written }) => {
    const references = written.references.length === 0 ? undefined : written
    const header = await readHeader(file)
    const { resources: _, manifests: _files, ...overrides } = inputsAmong(flags)
    const { index, plan, settings } = await openRecording(file, header, overrides, warn, cancelled, references)
    const until = at.ms === undefined ? index.lastAt : settings.startedAt + at.ms
    const skipped = new SkippedLines()
    const play: RecordedView['play'] = async (handle) => {
      const onDamage = (line: number, why: string) => warn(line, `${why}. Earlier lines are shown.`)
      const onSkipped = (line: number, why: string) => skipped.add(line, why)
      for await (const event of readEvents(file, onDamage, onSkipped, cancelled)) {
        if (event.at > until) break
        handle(plan.correctNamespace(event))
      }
      cancelled.throwIfAborted()
      skipped.warn(warn)
    }
    const targets = references === undefined ? plan.targets : existingTargets(plan.targets, references)
    return show({ settings, index, targets, references: references ?? { input: 'resources' }, until, play })
  })
}

/** `trace --recording`: prints a resource as it was at a moment. Returns the exit code. */
export function traceRecording(args: Arguments, context: CommandContext): Promise<number> {
  return runRecordedView('trace', args, context, [], async ({ settings, index, targets, references, until, play }) => {
    const target = onlyTarget(targets, references)
    const trace = new Trace(target, settings, (request) => index.hasAnswer(request))
    await play((event) => trace.handle(event))
    const { apiVersion, kind, namespace } = target
    const existing = index.namesOf({ apiVersion, kind, namespace })
    // The recording contains only what its gate has watched.
    if (existing.length > 0) trace.existing = existing
    const { stdout } = context
    const paint = { color: usesColor(stdout, args.flags.get('color')), redact: stdout.redact }
    printLines(
      stdout,
      renderTrace(trace.state(until)).flatMap((line) => paintLines(line, paint)),
    )
    return 0
  })
}

/** `status --recording`, `changes --recording`: prints the changes up to a moment. Returns the exit code. */
export function showRecordedChanges(
  name: string,
  part: Part,
  args: Arguments,
  context: CommandContext,
  mistakes: readonly Mistake[],
  printing: ChangePrinting,
): Promise<number> {
  return runRecordedView(name, args, context, mistakes, async (recorded) => {
    const { settings, index, targets, until, play } = recorded
    const print = (lines: () => readonly string[]) => printLines(context.stdout, lines())
    const listener = changePrinter(part, settings.startedAt, printing, print)
    const gate = new Gate(targets, viewSettings(settings), (request) => index.hasAnswer(request))
    const view = new ChangesView(targets, part, listener, { gate })
    await play((event) => view.handle(event))
    view.introduce(until, true)
    return 0
  })
}

/** The moment that `--at` names, in milliseconds since the start of the gate; undefined: the end. */
function readMoment(args: Arguments): { readonly ms?: number; readonly mistakes: readonly Mistake[] } {
  const written = args.flags.get('at')
  const mistakes: Mistake[] = []
  if (args.flags.has('until-ready'))
    mistakes.push({ input: '--until-ready', message: 'A recording does not go on. Leave it out.' })
  if (written === undefined) return { mistakes }
  const elapsed = /^(?:(\d+):)?(\d+):(\d\d(?:\.\d+)?)$/.exec(written)
  const [, hours = '0', minutes = '0', seconds = '0'] = elapsed ?? []
  const ms =
    elapsed === null
      ? parseDuration(written, (message) => {
          mistakes.push({ input: flagAsWritten(args, 'at'), message: `${message} Or write it as the log does: 0:34.` })
        })
      : (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000
  return ms === undefined ? { mistakes } : { ms, mistakes }
}
