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
import type { RunInputs } from '../run/run-plan.ts'
import { checkInputs } from '../run/start-run.ts'
import { type Arguments, inputFlags } from './arguments.ts'
import { type CommandContext, cancelledCode, connectionOf, endWithMistakes } from './output.ts'

/** What a command requires of its inputs. */
export interface InputOptions {
  /** Mistakes found in the flags of the command. */
  readonly mistakes?: readonly Mistake[]
  /** Whether at least one reference or manifest is required. */
  readonly needsReference?: boolean
  /** Whether the command reads no cluster, but a recording, which may name the references. */
  readonly isOffline?: boolean
  /** Whether mistakes are printed as a report too. */
  readonly isReported?: boolean
}

/**
 * Reads the inputs and references of a command line, and runs the command. Reads stdin if a reference or file is `-`. Mistakes name
 * flags instead of inputs, as the user wrote them.
 * @param command the name of the command, shown in an example
 * @param run returns the exit code
 */
export async function runWithInputs(
  command: string,
  args: Arguments,
  context: CommandContext,
  options: InputOptions,
  run: (inputs: RunInputs) => Promise<number>,
): Promise<number> {
  const { cancelled } = context
  const startedAt = systemClock.now()
  try {
    const inputs = await readCommandInputs(command, args, context, options)
    return inputs === undefined ? cancelledCode : await run(inputs)
  } catch (error) {
    // A cancelled command closes its connection, which makes its requests fail.
    if (cancelled.aborted) return cancelledCode
    const fileFlag = flagAsWritten(args, 'manifests')
    const located = mapMistakes(error, (mistake) =>
      onFlag(args)(mistake.input === fileFlag ? { ...mistake, input: 'manifests' } : mistake),
    )
    return endWithMistakes(located, context, options.isReported ? [startedAt, systemClock.now()] : undefined)
  }
}

/**
 * @returns undefined if cancelled while reading stdin
 * @throws UserError with all mistakes
 */
async function readCommandInputs(
  command: string,
  args: Arguments,
  context: CommandContext,
  { mistakes: further = [], isOffline = false, needsReference = true }: InputOptions,
): Promise<RunInputs | undefined> {
  const { readStdin, cancelled, program } = context
  const files = (args.flags.get('manifests') ?? '').split(/\r?\n/)
  const references = [...args.references, ...(files.includes('-') ? [['-']] : [])]
  const stdin = references.some(isStdin) ? withoutEscapes(await readStdin()) : ''
  if (cancelled.aborted) return undefined

  const manifestsOnStdin = isManifestText(stdin) ? stdin : ''
  const named = files.map((file) => (file === '-' ? '' : file)).join('\n')
  const manifests = named.trim() === '' ? '' : named
  const hasManifests = manifests !== '' || manifestsOnStdin !== ''
  const isOptional = hasManifests || (references.length === 0 && !needsReference)
  const written = readReferences({ ...args, references }, manifestsOnStdin === '' ? stdin : '', {
    hasManifests,
    isOptional,
  })
  const mistakes = [...args.mistakes, ...further, ...written.mistakes]
  const isEmpty = references.length === 0 && written.text === '' && manifests === ''
  if (isEmpty && needsReference) {
    const example = `${program} ${command} deployment/web`
    throw new UserError([...mistakes, { input: 'REFERENCE', message: `No resource is named. Write one: ${example}` }])
  }
  const read = readInputs({ ...inputsAmong(args.flags), resources: written.text, manifests })
  const sources = await readObjects(manifests, manifestsOnStdin, flagAsWritten(args, 'manifests'))
  const ofObjects = sources.map((source) => ({
    ...source,
    references: source.references.map((each) => ({ ...each, waitFor: each.waitFor ?? written.waitFor })),
  }))
  const all = ofObjects.reduce(mergeReferences, written.parsed)
  const allMistakes = [...read.mistakes, ...mistakes]
  return checkInputs(read.inputs, all, allMistakes, isOffline ? undefined : connectionOf(context))
}

/** Reads the objects of manifests. The YAML parser is loaded only for these. */
async function readObjects(files: string, stdin: string, input: string): Promise<ParsedReferences[]> {
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

export function inputsAmong(flags: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries([...flags].filter(([name]) => inputFlags.some((flag) => flag.name === name)))
}

/** A flag as the user wrote it, such as `-n`; the long form if the user did not write it. */
export function flagAsWritten({ writtenFlags }: Pick<Arguments, 'writtenFlags'>, name: string): string {
  return writtenFlags.get(name) ?? `--${name}`
}

/** Returns a function that replaces the input of a mistake by the flag that the user wrote; if it is repeated, with the value. */
export function onFlag(args: Pick<Arguments, 'flags' | 'writtenFlags'>): (mistake: Mistake) => Mistake {
  return (mistake) => {
    const { input, line, message } = mistake
    const flag = inputFlags.find(({ name }) => name === input)
    if (flag === undefined) return mistake
    const written = flagAsWritten(args, input)
    const value = line === undefined || !flag.repeats ? undefined : args.flags.get(input)?.split('\n')[line - 1]
    return value === undefined ? { ...mistake, input: written } : { input: `${written} ${value}`, message }
  }
}

interface CommandReferences {
  /** The references as the user wrote them, one a line, without the shared flags. A recording contains this text. */
  readonly text: string
  readonly parsed: ParsedReferences
  /** The shared `--for`, for all references without one of their own. */
  readonly waitFor: WaitFor | undefined
  /** The mistakes in shared flags, each once. */
  readonly mistakes: readonly Mistake[]
}

/**
 * Reads the references of a command line. Flags outside quotes are shared by all references. The lines of stdin replace `-`.
 * @param stdin empty unless `-` is among the references
 * @param options.hasManifests whether objects are named by manifests too
 * @param options.isOptional whether no reference is required; by default only with manifests
 */
export function readReferences(
  args: Omit<Arguments, 'files' | 'mistakes'>,
  stdin: string,
  {
    hasManifests = false,
    isOptional = hasManifests,
  }: { readonly hasManifests?: boolean; readonly isOptional?: boolean } = {},
): CommandReferences {
  const { references, flags } = args
  const ofArguments = references.flatMap((words) => (isStdin(words) ? textLines(stdin, 'stdin') : argumentLine(words)))
  const lines = [...ofArguments, ...textLines(flags.get('resources') ?? '', 'resources')]
  const { waitFor, mistakes, shared } = readSharedFlags(args)
  const parsed = parseReferenceLines(lines, 'REFERENCE', {
    alone: !isOptional,
    sharedFlags: shared,
    acceptedFlags: args.referenceOptions,
  })
  const named = parsed.references.find(({ exclude, name }) => !exclude && name !== undefined)
  const what = named === undefined ? hasManifests && 'an object of a manifest' : describePlace(named.place)
  const select = ['selector', 'all'].find((flag) => args.referenceFlags.has(flag))
  if (select !== undefined && what)
    mistakes.push({
      input: flagAsWritten(args, select),
      message: `It stands for all references, and ${what} has a name. Remove it, or write it with its kind, in quotes: 'deployments -l app=shop'; several kinds have commas: deploy,sts.`,
    })
  return { text: lines.map(({ text }) => text).join('\n'), parsed, waitFor, mistakes }
}

/** The line of an argument. A reference in quotes is one word that is written like a line. */
function argumentLine(words: readonly string[]): ReferenceLine {
  const [text = ''] = words
  const place = { input: words.join(' ') }
  return words.length === 1 && /\s/.test(text) ? { text, place } : { text: words.join(' '), words, place }
}

function textLines(text: string, input: string): ReferenceLine[] {
  return text === '' ? [] : splitReferenceLines(text.replace(/\r?\n$/, ''), input)
}

/** Checks the flags that all references share. The objects of manifests share `--for` too. */
function readSharedFlags(args: Pick<Arguments, 'referenceFlags' | 'writtenFlags'>) {
  const shared = new Map(args.referenceFlags)
  const mistakes: Mistake[] = []
  const addMistakeOf = (name: string) => (message: string) =>
    void mistakes.push({ input: flagAsWritten(args, name), message })
  const { waitFor } = readFlagValues(shared, addMistakeOf(shared.has('for') ? 'for' : 'revision'))
  if (waitFor === undefined) shared.delete('for')
  // Without the flag, the mistake is not reported again for each reference.
  if (mistakes.length > 0) shared.delete('revision')
  const before = mistakes.length
  readSelector(shared, addMistakeOf(shared.has('selector') ? 'selector' : 'all'))
  // With `--all`, a kind without a name is not reported as a second mistake.
  if (mistakes.length > before) shared.set('all', 'true').delete('selector')
  return { waitFor, mistakes, shared }
}
