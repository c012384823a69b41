import { withoutEscapes } from '../cluster/decoded-text.ts'
import { type AddMistake, type Mistake, type Place, quote } from '../errors.ts'
import type { Inputs } from '../inputs.ts'
import { maxNamedObjects } from '../thresholds.ts'
import { readKubectlLines, splitWords } from './kubectl-output.ts'
import { readFlagValues, readSelector, splitFlags } from './reference-flags.ts'
import type { ParsedReferences, Reference, SkippedLine } from './target.ts'

/* Reads references to targets, like `deployment/web`, from the input `resources` or the command line. */

const bothInputsEmpty =
  'resources and manifests are both empty. Write one reference per line in resources, like deployment/web, or files in manifests. If an expression fills them, such as steps.apply.outputs.applied, check the names in it.'

/**
 * Reads the inputs `resources` and `manifests`. Never throws for invalid text: mistakes are collected.
 * @param workspace the folder for relative paths in `manifests`
 */
export async function readTargetInputs(
  { resources = '', manifests = '' }: Partial<Pick<Inputs, 'resources' | 'manifests'>>,
  workspace: string,
): Promise<ParsedReferences> {
  if (manifests.trim() === '') return parseReferences(resources, 'resources', { emptyMessage: bothInputsEmpty })
  // Loaded only for manifests: the YAML parser would delay the start.
  const { readManifests } = await import('./read-manifests.ts')
  return mergeReferences(parseReferences(resources, 'resources', { alone: false }), readManifests(manifests, workspace))
}

/** Joins the references of two sources, in this order. */
export function mergeReferences(first: ParsedReferences, second: ParsedReferences): ParsedReferences {
  return {
    references: [...first.references, ...second.references],
    invalid: [...(first.invalid ?? []), ...(second.invalid ?? [])],
    skipped: [...first.skipped, ...second.skipped],
    mistakes: [...first.mistakes, ...second.mistakes],
  }
}

const noReferences =
  'No resource is named. Write one reference per line, like deployment/web, or pass the output of kubectl apply.'

const onlyExcludes = 'Every line is an exclude ("!"). Name a resource to gate, like deployment/web.'

const tooManyReferences = `More than ${maxNamedObjects} resources are named. Use selectors (-l), or several gates.`

/** A line of references, and the place where the user wrote the line. */
export interface ReferenceLine {
  readonly text: string
  readonly place: Place
  /** The words of the line, if the reference comes from the command line, where a shell has split the words. */
  readonly words?: readonly string[]
}

/** Options for all references. The selector applies to a kind alone, and is empty for `--all`. */
export type SharedOptions = Pick<Reference, 'waitFor' | 'revisions' | 'selector'>

interface ParseOptions {
  /** Whether this is the only source of references. Then at least one reference is required. */
  readonly alone?: boolean
  /** The message for a text without references. */
  readonly emptyMessage?: string
  /** What all references await and select. A reference's own flags have priority. Excludes do not get these values. */
  readonly shared?: SharedOptions
  /** The flags that a line may contain. By default, all flags of a reference. */
  readonly acceptedFlags?: readonly string[]
}

/**
 * Reads references, one per line: arguments like those of `kubectl wait`, or a line of kubectl's output. Never throws:
 * mistakes are collected with their lines.
 * @param text the whole input, not trimmed, so that line numbers are correct
 * @param input the name of the input or file, for messages
 */
export function parseReferences(text: string, input = 'resources', options: ParseOptions = {}): ParsedReferences {
  return parseReferenceLines(splitReferenceLines(text, input), input, options)
}

export function splitReferenceLines(text: string, input: string): ReferenceLine[] {
  const lines = withoutEscapes(text).split(/\r\n|\r|\n/)
  return lines.map((line, index) => ({ text: line, place: { input, line: index + 1 } }))
}

/**
 * Reads references like `parseReferences`, but from lines that may come from several places.
 * @param input the name of the input, for mistakes without a line
 */
export function parseReferenceLines(
  lines: readonly ReferenceLine[],
  input: string,
  { alone = true, emptyMessage = noReferences, ...flagOptions }: ParseOptions,
): ParsedReferences {
  const references: Reference[] = []
  const invalid: Reference[] = []
  const skipped: SkippedLine[] = []
  const mistakes: Mistake[] = []
  const printedLines = readKubectlLines(lines.map(({ text }) => text))
  for (const [index, { text, place, words: argument }] of lines.entries()) {
    const addMistake: AddMistake = (message) => mistakes.push({ ...place, message })
    const printed = argument === undefined ? printedLines[index] : undefined
    if (printed?.type === 'mistake') addMistake(printed.message)
    else if (printed?.type === 'skipped') skipped.push({ place, text: text.trim(), why: printed.why })
    if (printed !== undefined && printed.type !== 'resource') continue
    const words = argument ?? printed?.words ?? splitWords(text.trim(), addMistake)?.map((word) => word.text) ?? []
    if (words.length === 0) continue
    const mistakesBefore = mistakes.length
    const parsed = parseReferenceWords(words, place, addMistake, flagOptions)
    const list = mistakes.length === mistakesBefore ? references : invalid
    list.push(...(printed === undefined ? parsed : parsed.map((each) => ({ ...each, applied: printed.applied }))))
    if (references.length > maxNamedObjects) {
      addMistake(tooManyReferences)
      break
    }
  }

  if (alone && references.every(({ exclude }) => exclude) && skipped.length === 0 && mistakes.length === 0)
    mistakes.push({ input, message: references.length === 0 ? emptyMessage : onlyExcludes })
  return { references, invalid: invalid.length === 0 ? undefined : invalid, skipped, mistakes }
}

/**
 * Reads the words of one line, such as `!deployment/web` or `deployment/web --timeout=20m`.
 * @returns one reference for each resource or selector, even if a flag has a mistake
 */
function parseReferenceWords(
  words: readonly string[],
  place: Place,
  addMistake: AddMistake,
  { shared = {}, acceptedFlags }: Pick<ParseOptions, 'shared' | 'acceptedFlags'>,
): Reference[] {
  if (words.length > maxNamedObjects) {
    addMistake(tooManyReferences)
    return []
  }
  const args = [...words]
  const exclude = args[0]?.startsWith('!') === true
  if (exclude) args[0] = args[0]?.slice(1) ?? ''
  if (args[0] === '') args.shift()

  let hasMistake = false
  const addFlagMistake: AddMistake = (message) => {
    hasMistake = true
    addMistake(message)
  }
  const { words: named, flags } = splitFlags(args, addFlagMistake)
  for (const name of flags.keys())
    if (acceptedFlags?.includes(name) === false)
      addMistake(`This command does not take --${name}. --help lists its flags.`)
  const joined = named.find((word, index) => /\s-/.test(word) || (index === 0 && /^[^/]*\s/.test(word)))
  if (joined !== undefined) {
    const written = exclude && joined === named[0] ? `!${joined}` : joined
    const [first = '', ...others] = written.trim().split(/\s+/)
    addMistake(
      `The quotes join ${quote(written)} to one word. Leave the blank outside: '${first}' ${others.join(' ')}.`,
    )
    return []
  }
  const values = readFlagValues(flags, addFlagMistake)
  const awaitsDefault = values.waitFor === undefined && values.revisions === undefined
  if (exclude && (!awaitsDefault || Object.keys(values.clocks).length > 0))
    addFlagMistake('An excluded resource takes no --for, no --revision and no clocks. Leave them out.')
  const defaults: SharedOptions = exclude ? {} : shared
  const isKind = named.length === 1 && named[0]?.includes('/') === false
  const selector = readSelector(flags, addFlagMistake) ?? (isKind ? defaults.selector : undefined)
  const { waitFor, revisions } = awaitsDefault ? defaults : values
  // If a flag has a mistake, other mistakes are not reported: a missing word may be the value of the flag.
  const resources = readResourceArguments(named, selector, hasMistake ? () => {} : addMistake)
  return resources.map((resource) => ({ place, exclude, ...resource, ...values, waitFor, revisions }))
}

/** A resource in an argument: a kind, with a name or a selector. */
type ResourceArg = Pick<Reference, 'kind' | 'name' | 'selector'>

/**
 * Reads resources in kubectl's forms (k8s.io/cli-runtime pkg/resource, `ResourceTypeOrNameArgs`): `TYPE/NAME
 * TYPE/NAME`, `TYPE NAME NAME`, `TYPE,TYPE NAME`, and `TYPE,TYPE` with a selector.
 */
function readResourceArguments(
  words: readonly string[],
  selector: string | undefined,
  addMistake: AddMistake,
): ResourceArg[] {
  const [types = '', ...names] = words
  if (selector === undefined && types !== '' && words.every((word) => word.includes('/')))
    return words.flatMap((word) => readTypeAndName(word, addMistake))

  const kinds = types.split(',')
  const mistake = explainInvalidArguments(words, kinds, selector)
  if (mistake !== undefined) {
    addMistake(mistake)
    return []
  }
  return selector === undefined
    ? kinds.flatMap((kind) => names.map((name) => ({ kind, name })))
    : [{ kind: types, selector }]
}

function explainInvalidArguments(
  words: readonly string[],
  kinds: readonly string[],
  selector: string | undefined,
): string | undefined {
  const [types = '', ...names] = words
  if (types === '') return 'No resource is named. Write one like deployment/web.'
  if (types === 'kubectl') return 'Write only the reference, without the kubectl command: deployment/web.'
  if (selector !== undefined && (names.length > 0 || types.includes('/')))
    return '-l and --all cannot be combined with a name. Write the kind alone, like deployments -l app=shop.'
  if (words.some((word) => word.includes('/'))) {
    const other = words.find((word) => !word.includes('/')) ?? ''
    return `${quote(other)} is not TYPE/NAME, as other words of the line are. Write deployment/web service/web, or deployment web api.`
  }
  if (kinds.includes(''))
    return `${quote(types)} has an empty kind. Write kinds with one comma between them: deploy,sts.`
  if (selector === undefined && names.length === 0)
    return `${quote(types)} has no name: a word alone is a kind. Write a kind and a name, like deployment/web, or add -l app=shop or --all.`
  if (names.includes('')) return `${quote(types)} has an empty name: is a variable not set? Write ${kinds[0]}/NAME.`
  return kinds.length * names.length > maxNamedObjects ? tooManyReferences : undefined
}

function readTypeAndName(word: string, addMistake: AddMistake): ResourceArg[] {
  const [kind = '', name = '', ...more] = word.split('/')
  if (kind !== '' && name !== '' && more.length === 0 && !kind.includes(',')) return [{ kind, name }]
  addMistake(
    `${quote(word)} is not TYPE/NAME. Write one kind and one name with one slash between them: deployment/web.`,
  )
  return []
}
