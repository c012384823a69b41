import { describePlace, type Mistake, mapMistakes, UserError } from '../errors.ts'
import { type Inputs, inputDefinitions, readInputs } from '../inputs.ts'
import type { ParsedReferences } from '../plan/reference.ts'
import { mergeReferences, parseReferences } from '../plan/references.ts'
import { looksLikeManifests, parseKubectlLine, splitWords } from '../plan/resource-lines.ts'
import { checkInputs, type RolloutInputs } from '../rollout.ts'
import { type Arguments, inputFlags, sharedFlags, type WrittenReference } from './arguments.ts'
import { type CommandContext, connectionOf, printMessage } from './output.ts'

/** The inputs of a command that watches a cluster. */
export interface CommandInputs extends RolloutInputs {
  /** Does work. The mistakes in its error get the places that the user wrote: the argument or the line of stdin. */
  readonly located: <T>(work: () => Promise<T>) => Promise<T>
}

/**
 * Reads the inputs and references of a command line. Reads stdin if a reference or file is `-`.
 * @param command the name of the command, shown in an example
 * @param further mistakes found elsewhere
 * @returns undefined if cancelled while reading stdin
 * @throws UserError with all mistakes
 */
export async function readCommandInputs(
  args: Arguments,
  context: CommandContext,
  command: string,
  further: readonly Mistake[] = [],
): Promise<CommandInputs | undefined> {
  const { readStdin, cancelled, program, stderr } = context
  const files = (args.flags.get('filename') ?? '').split('\n').filter((file) => file !== '')
  const stdinFile = files.includes('-') ? [{ words: ['-'], flags: new Map<string, string>() }] : []
  const references = [...args.references, ...stdinFile]
  const stdin = references.some(isStdin) ? await readStdin() : ''
  if (cancelled.aborted) return undefined

  const hasManifests = looksLikeManifests(stdin)
  const manifests = [args.flags.get('manifests') ?? '', ...files.filter((file) => file !== '-')].join('\n').trim()
  const alone = manifests === '' && !hasManifests
  const { text, parsed, locate } = readReferences({ ...args, references }, hasManifests ? '' : stdin, { alone })
  const mistakes = [...args.mistakes, ...further]
  if (hasManifests && haveMisplacedFlags(references, args.referenceDefaults)) {
    const message = 'Manifests on stdin accept no flags. Put -n and clocks before -, for all objects.'
    mistakes.push({ input: '-', message })
  }
  if (references.length === 0 && text === '' && manifests === '') {
    const example = `${program} ${command} deployment/web`
    throw new UserError([...mistakes, { input: 'REFERENCE', message: `No resource is named. Write one: ${example}` }])
  }
  const located: CommandInputs['located'] = (work) =>
    work().catch((error: unknown) => {
      throw mapMistakes(error, (mistake) => onFlag(locate(mistake)))
    })
  return located(async () => {
    const read = readInputs({
      ...inputsAmong(args.flags),
      ...(hasManifests ? flagsOfStdin(references) : {}),
      resources: text,
      manifests,
    })
    const named = await withManifests(parsed, manifests, hasManifests ? stdin : '', read.inputs)
    const checked = await checkInputs(read.inputs, named, [...read.mistakes, ...mistakes], connectionOf(context))
    for (const note of notesOnLastFlags(args)) printMessage(stderr, note)
    return { ...checked, located }
  })
}

/** Adds the objects of manifests. The YAML parser is loaded only for these. */
async function withManifests(
  parsed: ParsedReferences,
  files: string,
  stdin: string,
  { annotations }: Pick<Inputs, 'annotations'>,
): Promise<ParsedReferences> {
  if (files === '' && stdin === '') return parsed
  const { parseManifests, readManifests } = await import('../plan/manifests/read.ts')
  return [
    ...(files === '' ? [] : [readManifests(files, process.cwd(), { input: '--filename', annotations })]),
    ...(stdin === '' ? [] : [parseManifests(stdin, 'stdin', annotations)]),
  ].reduce(mergeReferences, parsed)
}

/**
 * Explains a difference: in kubectl, a flag after several references applies to all of them, here only to the last. A
 * flag that stands elsewhere too is meant for one reference.
 */
function notesOnLastFlags({ references, flags, referenceDefaults }: Arguments): readonly string[] {
  const last = references.at(-1)
  const others = references.slice(0, -1)
  if (last === undefined || others.length === 0) return []
  const isOnlyHere = (name: string) =>
    !['selector', 'all'].includes(name) &&
    [flags, referenceDefaults, ...others.map((other) => other.flags)].every((elsewhere) => !elsewhere.has(name))
  return [...last.flags]
    .filter(([name]) => isOnlyHere(name))
    .map(([name, value]) => {
      const flag = name === 'namespace' ? '-n' : `--${name}`
      const names = others.map(({ words }) => words.join(' ')).join(', ')
      const rest = name === 'namespace' ? `; ${names} is searched in the namespace of the context` : ''
      return `Note: ${flag} ${value} applies only to ${last.words.join(' ')}${rest}. Put it first to apply it to all.`
    })
}

function isStdin({ words }: WrittenReference): boolean {
  return words[0] === '-'
}

/** If stdin contains manifests and `-` is the only reference, its flags apply to the whole gate. */
function flagsOfStdin(references: readonly WrittenReference[]): Record<string, string> {
  const [only, ...more] = references
  return only === undefined || more.length > 0 ? {} : Object.fromEntries([...only.flags].filter(isShared))
}

function haveMisplacedFlags(
  references: readonly WrittenReference[],
  referenceDefaults: ReadonlyMap<string, string>,
): boolean {
  const flags = references.filter(isStdin).flatMap((reference) => [...reference.flags])
  return referenceDefaults.size > 0 || (references.length > 1 ? flags.length > 0 : !flags.every(isShared))
}

function isShared([name]: readonly [string, string]): boolean {
  return sharedFlags.has(name)
}

/** The flags that are inputs. */
export function inputsAmong(flags: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries([...flags].filter(([name]) => inputDefinitions.some((input) => input.name === name)))
}

/** Names the flag instead of the input in a mistake: `--timeout`. */
export function onFlag(mistake: Mistake): Mistake {
  return inputFlags.some(({ name }) => name === mistake.input) ? { ...mistake, input: `--${mistake.input}` } : mistake
}

/** The references of a command line. */
interface CommandReferences {
  /** The references as lines of the input `resources`. A recording contains this text. */
  readonly text: string
  readonly parsed: ParsedReferences
  /** Replaces the place in a mistake with the argument or the line of stdin that the user wrote. */
  readonly locate: (mistake: Mistake) => Mistake
}

interface Line {
  readonly text: string
  /** Where the user wrote the line: in an argument, or on a line of stdin. */
  readonly place: Omit<Mistake, 'message'>
}

/**
 * Rewrites the references of a command line as lines of the input `resources`, so that one parser reads both and
 * recordings have one form. The lines of stdin replace `-`.
 * @param stdin empty unless `-` is among the references
 * @param options.alone whether there is no other source of references: then at least one is required
 */
export function readReferences(
  { references, referenceDefaults, flags }: Pick<Arguments, 'references' | 'referenceDefaults' | 'flags'>,
  stdin: string,
  { alone = true } = {},
): CommandReferences {
  const lines = [
    ...references.flatMap((reference): Line[] =>
      isStdin(reference)
        ? stdinLines(stdin, reference, referenceDefaults)
        : [argumentLine(reference, referenceDefaults)],
    ),
    ...linesOf(flags.get('resources') ?? '', '--resources'),
  ]
  const text = lines.map((line) => line.text).join('\n')
  const isOnlyStdin = references.some(isStdin) && lines.every(({ place }) => place.input === 'stdin')
  const input = isOnlyStdin ? 'stdin' : 'arguments'
  const multiline = references.filter(({ words, flags }) =>
    [...words, ...flags.values()].some((word) => /[\r\n]/.test(word)),
  )
  const parsed = parseReferences(multiline.length > 0 ? '' : text, input, { alone })
  const mistakes = multiline.map(({ words }) => ({
    input: words.join(' ').split(/[\r\n]/, 1)[0] ?? '',
    message: 'The argument contains a line break. Pass lines on stdin: kubectl apply -f k8s/ | rollout-gate wait -',
  }))
  return {
    text,
    parsed: {
      ...parsed,
      places: lines.map(({ place }) => describePlace(place)),
      mistakes: multiline.length > 0 ? mistakes : parsed.mistakes,
    },
    locate: (mistake) => {
      const place = mistake.input === input && mistake.line !== undefined ? lines[mistake.line - 1]?.place : undefined
      return place === undefined ? mistake : { ...place, message: mistake.message }
    },
  }
}

function argumentLine({ words, flags }: WrittenReference, defaults: ReadonlyMap<string, string>): Line {
  return { text: lineOf(words, flags, defaults), place: { input: words.join(' ') } }
}

/** Adds the flags to the references on stdin. Keeps lines without a reference, so line numbers stay the same. */
function stdinLines(stdin: string, { flags }: WrittenReference, defaults: ReadonlyMap<string, string>): Line[] {
  const lines = linesOf(stdin, 'stdin')
  if (flags.size + defaults.size === 0) return lines
  return lines.map(({ text, place }) => ({ text: withFlags(text, flags, defaults), place }))
}

function linesOf(text: string, input: string): Line[] {
  if (text === '') return []
  const lines = text.replace(/\r?\n$/, '').split(/\r?\n/)
  return lines.map((line, index) => ({ text: line, place: { input, line: index + 1 } }))
}

function withFlags(line: string, own: ReadonlyMap<string, string>, defaults: ReadonlyMap<string, string>): string {
  const printed = parseKubectlLine(line.trim())
  if (printed?.skip !== undefined) return line
  const words = printed?.words ?? splitWords(line, () => {})?.map(({ text }) => text) ?? []
  return words.length === 0 ? line : lineOf(words, own, defaults)
}

/** A line of `resources`: the words, and all flags that the words do not contain yet. */
function lineOf(
  words: readonly string[],
  own: ReadonlyMap<string, string>,
  defaults: ReadonlyMap<string, string>,
): string {
  const selects = ['selector', 'all']
  const isSelected = selects.some((name) => own.has(name))
  const isExcluded = words[0]?.startsWith('!')
  const inherited = [...defaults].filter(
    ([name]) => !own.has(name) && !(isSelected && selects.includes(name)) && !(isExcluded && name === 'for'),
  )
  const flags = [...own, ...inherited].filter(
    ([name]) => !words.some((word) => word === `--${name}` || word.startsWith(`--${name}=`)),
  )
  return [
    ...words.map(quoteWord),
    ...flags.map(([name, value]) => (name === 'all' ? '--all' : `--${name}=${quoteWord(value)}`)),
  ].join(' ')
}

/** Quotes one word for a shell and for the input `resources`. */
function quoteWord(word: string): string {
  return /^[\w@%+=,./!-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
