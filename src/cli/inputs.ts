import { systemClock } from '../cluster/clock.ts'
import { withoutEscapes } from '../cluster/decoded-text.ts'
import { describePlace, type Mistake, mapMistakes, UserError } from '../errors.ts'
import { readInputs } from '../inputs.ts'
import { type KubectlLine, looksLikeManifests, readKubectlLines, splitWords } from '../plan/kubectl-output.ts'
import { mergeReferences, parseReferences } from '../plan/parse-references.ts'
import type { ParsedReferences } from '../plan/reference.ts'
import { readFlagValues, readSelector, splitFlags } from '../plan/reference-flags.ts'
import type { WaitFor } from '../plan/target.ts'
import { checkInputs, type RolloutInputs } from '../rollout/rollout-inputs.ts'
import { type Arguments, inputFlags } from './arguments.ts'
import { type CommandContext, cancelledCode, connectionOf, endWithMistakes } from './output.ts'

/** The inputs of a command that watches a cluster. */
export interface CommandInputs extends RolloutInputs {
  /** Does work. The mistakes in its error get the places that the user wrote: the argument or the line of stdin. */
  readonly located: <T>(work: () => Promise<T>) => Promise<T>
}

/**
 * Reads the inputs and references of a command line. Reads stdin if a reference or file is `-`.
 * @param command the name of the command, shown in an example
 * @param further mistakes found elsewhere
 * @param options.needsReference whether at least one reference or manifest is required
 * @param options.isOffline whether the command reads no cluster, but a recording, which may name the references
 * @returns undefined if cancelled while reading stdin
 * @throws UserError with all mistakes
 */
export async function readCommandInputs(
  args: Arguments,
  context: CommandContext,
  command: string,
  further: readonly Mistake[] = [],
  {
    isOffline = false,
    needsReference = !isOffline,
  }: { readonly isOffline?: boolean; readonly needsReference?: boolean } = {},
): Promise<CommandInputs | undefined> {
  const { readStdin, cancelled, program } = context
  const files = (args.flags.get('manifests') ?? '').split(/\r?\n/).filter((file) => file.trim() !== '')
  const references = [...args.references, ...(files.includes('-') ? [['-']] : [])]
  const stdin = references.some(isStdin) ? withoutEscapes(await readStdin()) : ''
  if (cancelled.aborted) return undefined

  const fileFlag = flagAsWritten(args, 'manifests')
  const manifestsOnStdin = looksLikeManifests(stdin) ? stdin : ''
  const manifestLines = files
    .filter((file) => file !== '-')
    .map((text) => ({ text, place: { input: `${fileFlag} ${text}` } }))
  const manifests = manifestLines.map(({ text }) => text).join('\n')
  const hasManifests = manifests !== '' || manifestsOnStdin !== ''
  const isOptional = hasManifests || (references.length === 0 && !needsReference)
  const named = readReferences({ ...args, references }, manifestsOnStdin === '' ? stdin : '', {
    hasManifests,
    isOptional,
  })
  const mistakes = [...args.mistakes, ...further, ...named.mistakes]
  const isEmpty = references.length === 0 && named.text === '' && manifests === ''
  if (isEmpty && needsReference) {
    const example = `${program} ${command} deployment/web`
    throw new UserError([...mistakes, { input: 'REFERENCE', message: `No resource is named. Write one: ${example}` }])
  }
  const locate = (mistake: Mistake) =>
    named.locate(mistake) ?? placeAmong(manifestLines, fileFlag, mistake) ?? onFlag(args)(mistake)
  const located: CommandInputs['located'] = (work) =>
    work().catch((error: unknown) => {
      throw mapMistakes(error, locate)
    })
  return located(async () => {
    const read = readInputs({ ...inputsAmong(args.flags), resources: named.text, manifests })
    const sources = await readObjects(manifests, manifestsOnStdin, fileFlag)
    const ofObjects = sources.map((source) => ({
      ...source,
      references: source.references.map((each) => ({ ...each, waitFor: each.waitFor ?? named.waitFor })),
    }))
    const all = ofObjects.reduce(mergeReferences, named.parsed)
    const allMistakes = [...read.mistakes, ...mistakes]
    const checked = await checkInputs(read.inputs, all, allMistakes, isOffline ? undefined : connectionOf(context))
    return { ...checked, located }
  })
}

/**
 * Reads the inputs of a command that shows a cluster as it is now, and shows it.
 * @param options.mistakes found in the flags of the command
 * @param options.isReported whether mistakes are printed as a report too
 * @param show returns the exit code
 */
export async function showCluster(
  command: string,
  args: Arguments,
  context: CommandContext,
  {
    mistakes,
    isReported = false,
    needsReference,
  }: { readonly mistakes: readonly Mistake[]; readonly isReported?: boolean; readonly needsReference?: boolean },
  show: (inputs: CommandInputs) => Promise<number>,
): Promise<number> {
  const { cancelled } = context
  const startedAt = systemClock.now()
  const ofMoment = { input: '--at', message: 'It is a moment of a recording. Name that with --recording=FILE.' }
  const all = args.flags.has('at') ? [...mistakes, ofMoment] : mistakes
  try {
    const inputs = await readCommandInputs(
      args,
      context,
      command,
      all,
      needsReference === undefined ? {} : { needsReference },
    )
    return inputs === undefined ? cancelledCode : await inputs.located(() => show(inputs))
  } catch (error) {
    // A cancelled command closes its connection, which makes its requests fail.
    if (cancelled.aborted) return cancelledCode
    return endWithMistakes(error, context, isReported ? [startedAt, systemClock.now()] : undefined)
  }
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

/** The flags that are inputs. */
export function inputsAmong(flags: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries([...flags].filter(([name]) => inputFlags.some((flag) => flag.name === name)))
}

/** `-n`, as the user wrote it; `--namespace` if the user did not. */
export function flagAsWritten({ writtenFlags }: Pick<Arguments, 'writtenFlags'>, name: string): string {
  return writtenFlags.get(name) ?? `--${name}`
}

/** Names the flag instead of the input in a mistake, as the user wrote it; of a repeated flag also its value. */
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
  /** The references as lines of the input `resources`. A recording contains this text. */
  readonly text: string
  readonly parsed: ParsedReferences
  /** What all references wait for that have no `--for` of their own. */
  readonly waitFor: WaitFor | undefined
  /** Mistakes of flags that stand for all references, each once. */
  readonly mistakes: readonly Mistake[]
  /** The mistake at the argument or the line of stdin that the user wrote; undefined if it is elsewhere. */
  readonly locate: (mistake: Mistake) => Mistake | undefined
}

interface Line {
  readonly text: string
  /** Where the user wrote the line: in an argument, or on a line of stdin. */
  readonly place: Omit<Mistake, 'message'>
}

/** A line with one reference or more. */
interface ReferenceLine extends Line {
  /** All words, with flags. */
  readonly words: readonly string[]
  /** The words without flags. */
  readonly names: readonly string[]
  /** The flags in the line, by name. */
  readonly own: ReadonlyMap<string, string>
}

type ReferenceArguments = Omit<Arguments, 'files' | 'mistakes'>

/**
 * Rewrites the references of a command line as lines of the input `resources`, so that one parser reads both and
 * recordings have one form. The lines of stdin replace `-`.
 * @param stdin empty unless `-` is among the references
 * @param options.hasManifests whether objects are named by manifests too
 * @param options.isOptional whether no reference is required; by default only with manifests
 */
export function readReferences(
  args: ReferenceArguments,
  stdin: string,
  {
    hasManifests = false,
    isOptional = hasManifests,
  }: { readonly hasManifests?: boolean; readonly isOptional?: boolean } = {},
): CommandReferences {
  const { references, flags } = args
  const written = [
    ...references.flatMap((words): Line[] => (isStdin(words) ? linesOf(stdin, 'stdin') : [argumentLine(words)])),
    ...linesOf(flags.get('resources') ?? '', '--resources'),
  ]
  const printed = readKubectlLines(written.map((line) => line.text.trim()))
  const lines = written.map((line, index) => readLine(line, printed[index]))
  const defaults = readReferenceFlags(args, lines, hasManifests)
  const text = lines.map((line) => withFlags(line, defaults.flags)).join('\n')
  const isOnlyStdin = references.some(isStdin) && lines.every(({ place }) => place.input === 'stdin')
  const input = isOnlyStdin ? 'stdin' : 'arguments'
  const multiline = [...references.flat(), ...defaults.flags.values()].filter((word) => /[\r\n]/.test(word))
  const parsed = parseReferences(multiline.length > 0 ? '' : text, input, { alone: !isOptional })
  const mistakes = multiline.map((word) => ({
    input: word.split(/[\r\n]/, 1)[0] ?? '',
    message: 'The argument contains a line break. Pass lines on stdin: kubectl apply -f k8s/ | rollout-gate wait -',
  }))
  return {
    text,
    parsed: {
      ...parsed,
      places: lines.map(({ place }) => describePlace(place)),
      mistakes: multiline.length > 0 ? mistakes : parsed.mistakes,
    },
    waitFor: defaults.waitFor,
    mistakes: [...defaults.mistakes, ...lines.flatMap((line) => misplacedOptions(line, args.referenceOptions))],
    locate: (mistake) => placeAmong(lines, input, mistake),
  }
}

/** Replaces the line of a mistake in this input by its place; undefined for a mistake elsewhere. */
function placeAmong(
  lines: readonly Line[],
  input: string,
  { line, message, ...mistake }: Mistake,
): Mistake | undefined {
  const place = mistake.input === input && line !== undefined ? lines[line - 1]?.place : undefined
  return place === undefined ? undefined : { ...place, message }
}

/** A quoted reference is a line already. */
function argumentLine(words: readonly string[]): Line {
  const [first = ''] = words
  const text = words.length === 1 && /\s/.test(first) ? first : words.map(quoteWord).join(' ')
  return { text, place: { input: words.join(' ') } }
}

function linesOf(text: string, input: string): Line[] {
  if (text === '') return []
  const lines = text.replace(/\r?\n$/, '').split(/\r?\n/)
  return lines.map((line, index) => ({ text: line, place: { input, line: index + 1 } }))
}

/** Reads a line. It has no words if it contains no reference, such as a line that kubectl printed about a deletion. */
function readLine(line: Line, printed: KubectlLine | undefined): ReferenceLine {
  const words =
    printed === undefined
      ? (splitWords(line.text.trim(), () => {})?.map(({ text }) => text) ?? [])
      : printed.type === 'resource'
        ? printed.words
        : []
  const { words: names, flags: own } = splitFlags([...words], () => {})
  return { ...line, words, names, own }
}

/** The flags that stand for all references, checked. `--for` holds for the objects of manifests too. */
function readReferenceFlags(
  args: ReferenceArguments,
  lines: readonly ReferenceLine[],
  hasManifests: boolean,
): Pick<CommandReferences, 'waitFor' | 'mistakes'> & { readonly flags: ReadonlyMap<string, string> } {
  const flags = new Map(args.referenceFlags)
  const mistakes: Mistake[] = []
  const addMistakeOf = (name: string) => (message: string) =>
    void mistakes.push({ input: flagAsWritten(args, name), message })
  const { waitFor } = readFlagValues(flags, addMistakeOf(flags.has('for') ? 'for' : 'revision'))
  if (waitFor === undefined) flags.delete('for')
  // The mistake is reported once, not for each reference too.
  if (mistakes.length > 0) flags.delete('revision')
  const select = flags.has('selector') ? 'selector' : 'all'
  const before = mistakes.length
  if (readSelector(flags, addMistakeOf(select)) === undefined) return { waitFor, mistakes, flags }
  const named = lines.find((line) => !isExcluded(line) && !selects(line) && isNamed(line))
  const what = named?.names.join(' ') ?? (hasManifests ? 'an object of a manifest' : undefined)
  if (what !== undefined)
    addMistakeOf(select)(
      `It stands for all references, and ${what} has a name. Remove it, or write it with its kind, in quotes: 'deployments -l app=shop'; several kinds have commas: deploy,sts.`,
    )
  // A kind alone is no second mistake.
  if (mistakes.length > before) flags.set('all', 'true').delete('selector')
  return { waitFor, mistakes, flags }
}

function misplacedOptions({ own, place }: ReferenceLine, accepted: readonly string[]): readonly Mistake[] {
  return [...own.keys()]
    .filter((name) => !accepted.includes(name))
    .map((name) => ({ ...place, message: `This command does not take --${name}. --help lists its flags.` }))
}

/** Adds the flags that stand for all references, if the line has none of its own. An exclude has only its own. */
function withFlags(line: ReferenceLine, flags: ReadonlyMap<string, string>): string {
  const { text, words, names, own } = line
  const hasOwn = selects(line) || isNamed(line)
  const added = [...flags].filter(([name]) => !own.has(name) && (name === 'for' || name === 'revision' || !hasOwn))
  if (names.length === 0 || isExcluded(line) || added.length === 0) return text
  return [
    ...words.map(quoteWord),
    ...added.flatMap(([name, value]) =>
      name === 'all' ? '--all' : value.split('\n').map((each) => `--${name}=${quoteWord(each)}`),
    ),
  ].join(' ')
}

function isExcluded({ names }: ReferenceLine): boolean {
  return names[0]?.startsWith('!') === true
}

function selects({ own }: ReferenceLine): boolean {
  return own.has('selector') || own.has('all')
}

function isNamed({ names }: ReferenceLine): boolean {
  return names.length > 1 || names[0]?.includes('/') === true
}

/** Quotes one word for a shell and for the input `resources`. */
function quoteWord(word: string): string {
  return /^[\w@%+=,./!-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
