import { systemClock } from '../cluster/clock.ts'
import { withoutEscapes } from '../cluster/decoded-text.ts'
import { describePlace, type Mistake, mapMistakes, UserError } from '../errors.ts'
import { readInputs } from '../inputs.ts'
import { isManifestText } from '../plan/kubectl-output.ts'
import {
  mergeReferences,
  parseReferenceLines,
  type ReferenceLine,
  splitReferenceLines,
} from '../plan/parse-references.ts'
import { readFlagValues, readSelector } from '../plan/reference-flags.ts'
import type { ParsedReferences, WaitFor } from '../plan/target.ts'
import type { RecordedRun } from '../run/recorded-run.ts'
import type { RunInputs } from '../run/run-plan.ts'
import { checkInputs } from '../run/start-run.ts'
import { type Arguments, inputFlags, referenceFlags } from './arguments.ts'
import { type CommandContext, cancelledCode, connectionOptions, endWithMistakes, printMessage } from './output.ts'

/* Reads the inputs and references of a command line. */

/** The requirements of a command on its inputs. */
export interface InputOptions {
  /** Mistakes that the command has found in its flags. */
  readonly mistakes?: readonly Mistake[]
  /** Whether at least one reference or manifest is required, unless the command reads a recording. */
  readonly needsReference?: boolean
}

/**
 * Reads the inputs and references of a command line, and runs the command. If a reference or file is `-`, reads stdin.
 * Messages of mistakes contain flags as the user wrote them, not inputs. With `--json`, mistakes are also a report.
 * @param run runs the command, and returns the exit code
 */
export async function runWithInputs(
  args: Arguments,
  context: CommandContext,
  options: InputOptions,
  run: (inputs: RunInputs) => Promise<number>,
): Promise<number> {
  const { cancelled } = context
  const startedAt = systemClock.now()
  try {
    const inputs = await readCommandInputs(args, context, options)
    return inputs === undefined ? cancelledCode : await run(inputs)
  } catch (error) {
    // The error is caused by the cancellation, which closes the connection.
    if (cancelled.aborted) return cancelledCode
    const located = mapMistakes(error, nameFlagInMistakes(args))
    return endWithMistakes(located, context, args.flags.has('json') ? [startedAt, systemClock.now()] : undefined)
  }
}

/**
 * Reads the inputs of a command.
 * @returns undefined if cancelled while reading stdin
 * @throws UserError with all mistakes
 */
async function readCommandInputs(
  args: Arguments,
  context: CommandContext,
  { mistakes: further = [], needsReference: isReferenceNeeded = true }: InputOptions,
): Promise<RunInputs | undefined> {
  const { readStdin, cancelled, program } = context
  const isOffline = args.flags.has('recording')
  const needsReference = isReferenceNeeded && !isOffline
  const files = (args.flags.get('manifests') ?? '').split(/\r?\n/)
  const references = [...args.references, ...(files.includes('-') ? [['-']] : [])]
  const stdin = references.some(isStdin) ? withoutEscapes(await readStdin()) : ''
  if (cancelled.aborted) return undefined

  const manifestsOnStdin = isManifestText(stdin) ? stdin : ''
  const named = files.map((file) => (file === '-' ? '' : file)).join('\n')
  const manifests = named.trim() === '' ? '' : named
  const hasManifests = manifests !== '' || manifestsOnStdin !== ''
  const written = readReferences({ ...args, references }, manifestsOnStdin === '' ? stdin : '', hasManifests)
  const mistakes = [...args.mistakes, ...further, ...written.mistakes]
  const isEmpty = references.length === 0 && written.text === '' && manifests === ''
  if (isEmpty && needsReference) {
    const message = `No resource is named. Write one: ${program} deployment/web`
    throw new UserError([...mistakes, { input: 'REFERENCE', message }])
  }
  const read = readInputs({ ...inputValues(args.flags), resources: written.text, manifests })
  const sources = await readManifestObjects(manifests, manifestsOnStdin, flagAsWritten(args, 'manifests'))
  const ofObjects = sources.map((source) => ({
    ...source,
    references: source.references.map((each) => ({ ...each, waitFor: each.waitFor ?? written.waitFor })),
  }))
  const all = ofObjects.reduce(mergeReferences, written.parsed)
  const allMistakes = [...read.mistakes, ...mistakes]
  return checkInputs(read.inputs, all, allMistakes, isOffline ? undefined : connectionOptions(context))
}

/** Reads references to the objects in manifests. The YAML parser is loaded only if there are manifests. */
async function readManifestObjects(files: string, stdin: string, input: string): Promise<ParsedReferences[]> {
  if (files === '' && stdin === '') return []
  const { parseManifests, readManifests } = await import('../plan/read-manifests.ts')
  return [
    ...(files === '' ? [] : [readManifests(files, process.cwd(), input)]),
    ...(stdin === '' ? [] : [parseManifests(stdin, 'stdin')]),
  ]
}

function isStdin([word]: readonly string[]): boolean {
  return word === '-'
}

export function inputValues(flags: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries([...flags].filter(([name]) => inputFlags.some((flag) => flag.name === name)))
}

/** A flag as the user wrote it: `-n`. If the user did not write it, the long form. */
export function flagAsWritten({ writtenFlags }: Pick<Arguments, 'writtenFlags'>, name: string): string {
  return writtenFlags.get(name) ?? `--${name}`
}

/** Returns a function that replaces the input in a mistake by the flag, for a repeated flag with its value. */
export function nameFlagInMistakes(args: Pick<Arguments, 'flags' | 'writtenFlags'>): (mistake: Mistake) => Mistake {
  return (mistake) => {
    const { input, line, message } = mistake
    const flag = inputFlags.find(({ name }) => name === input || flagAsWritten(args, name) === input)
    if (flag === undefined) return mistake
    const written = flagAsWritten(args, flag.name)
    const value = line === undefined || !flag.repeats ? undefined : args.flags.get(flag.name)?.split('\n')[line - 1]
    return value === undefined ? { ...mistake, input: written } : { input: `${written} ${value}`, message }
  }
}

interface CommandReferences {
  /** The references as the user wrote them, one per line, without shared flags. A recording contains this text. */
  readonly text: string
  readonly parsed: ParsedReferences
  /** The shared `--for`, which applies to all references that have no `--for`. */
  readonly waitFor: WaitFor | undefined
  /** The mistakes in shared flags. Each is contained once, not for each reference. */
  readonly mistakes: readonly Mistake[]
}

/**
 * Reads the references of a command line. All references share the flags outside of quotes. The lines of stdin replace
 * `-`.
 * @param stdin empty unless a reference is `-`
 * @param hasManifests whether manifests name objects too
 */
export function readReferences(
  args: Omit<Arguments, 'files' | 'mistakes'>,
  stdin: string,
  hasManifests = false,
): CommandReferences {
  const { references, flags } = args
  const ofArguments = references.flatMap((words) => (isStdin(words) ? textLines(stdin, 'stdin') : argumentLine(words)))
  const lines = [...ofArguments, ...textLines(flags.get('resources') ?? '', 'resources')]
  const mistakes: Mistake[] = []
  const addMistakeFor = (name: string) => (message: string) =>
    void mistakes.push({ input: flagAsWritten(args, name), message })
  const shared = new Map([...flags].filter(([name]) => referenceFlags.some((flag) => flag.name === name)))
  const { waitFor, revisions } = readFlagValues(shared, addMistakeFor(shared.has('for') ? 'for' : 'revision'))
  const selecting = ['selector', 'all'].find((flag) => shared.has(flag)) ?? ''
  const selector = readSelector(shared, addMistakeFor(selecting))
  const parsed = parseReferenceLines(lines, 'REFERENCE', {
    alone: references.length + lines.length > 0 && !hasManifests,
    shared: { waitFor, revisions, selector },
    acceptedFlags: args.referenceOptions,
  })
  const named = parsed.references.find(({ exclude, name }) => !exclude && name !== undefined)
  const what = named === undefined ? hasManifests && 'an object of a manifest' : describePlace(named.place)
  if (selecting !== '' && what)
    addMistakeFor(selecting)(
      `It stands for all references, and ${what} has a name. Remove it, or write it with its kind, in quotes: 'deployments -l app=shop'; several kinds have commas: deploy,sts.`,
    )
  return { text: lines.map(({ text }) => text).join('\n'), parsed, waitFor, mistakes }
}

/** Converts an argument to a line of references. A quoted reference already has the form of a line. */
function argumentLine(words: readonly string[]): ReferenceLine {
  const [text = ''] = words
  const place = { input: words.join(' ') }
  return words.length === 1 && /\s/.test(text) ? { text, place } : { text: words.join(' '), words, place }
}

function textLines(text: string, input: string): ReferenceLine[] {
  return text === '' ? [] : splitReferenceLines(text.replace(/\r?\n$/, ''), input)
}

/** Opens a run on a recording. Its code is loaded on use, so that other commands start faster. */
export async function openRecording(
  options: Omit<Parameters<typeof RecordedRun.open>[0], 'secrets' | 'cancelled' | 'usesFlags' | 'warn'>,
  { secrets, cancelled, stderr }: CommandContext,
): Promise<RecordedRun> {
  const warn = (line: number, text: string) => printMessage(stderr, `${options.file}, line ${line}: ${text}`)
  const { RecordedRun } = await import('../run/recorded-run.ts')
  return RecordedRun.open({ ...options, secrets, cancelled, usesFlags: true, warn })
}
