import { parseArgs } from 'node:util'
import type { Mistake } from '../errors.ts'
import { type AddMistake, quote } from '../errors.ts'
import { parseDuration } from './duration.ts'
import type { Manifest } from './manifests/manifest.ts'
import { parseMilestoneTimeouts } from './milestones.ts'
import { checkNamespace, checkSelector, didYouMeanFlag } from './names.ts'
import { isFailureLine, readPrinted, recognizeForeignOutput, splitWords } from './resource-lines.ts'
import type { TargetClocks, WaitFor } from './target.ts'
import { parseWaitFor } from './wait-for.ts'

/** One kind with one name, or with a selector, as the user wrote it: nothing is known of the cluster yet. */
export interface Reference {
  /** Line within the input, or within the manifest's file; counted from 1. */
  readonly line: number
  /** `!`: what this names is no target, whoever else names it. */
  readonly exclude: boolean
  /** The word for the kind: `deploy`, `Deployment`, `deployments.v1.apps`. */
  readonly kind: string
  /** Exactly one of `name` and `selector` is set. */
  readonly name?: string
  /** A label selector; empty for `--all`. */
  readonly selector?: string
  readonly namespace?: string
  readonly clocks: TargetClocks
  readonly waitFor?: WaitFor
  /** The object that stands for this reference; its `apiVersion` and `kind` are meant exactly. */
  readonly manifest?: Manifest
}

/** A line that names nothing to gate. */
export interface SkippedLine {
  /** The file that holds it, where it is not the input itself. */
  readonly file?: string
  readonly line: number
  readonly text: string
  /** Why: `deleted`, `dry run`. */
  readonly why: string
  /** It is meant to run, only that nobody knows under which name: a gate of nothing else would be green for nothing. */
  readonly isUnnamed?: true
}

export interface ParsedReferences {
  /** The input or file that holds the lines. */
  readonly input: string
  /** How notices name each line, where that is not `resources, line 2`: as the argument of a command line. */
  readonly places?: readonly string[]
  readonly references: readonly Reference[]
  /** References whose flags have a mistake: nothing is gated then, but their kinds and names can be checked too. */
  readonly faulty?: readonly Reference[]
  readonly skipped: readonly SkippedLine[]
  readonly mistakes: readonly Mistake[]
}

const nothingNamed =
  'Nothing is named. Write one reference a line, like deployment/web, or hand over what kubectl apply printed.'

const longestFailure = 300

function explainFailure(line: string): string {
  const words = line.length > longestFailure ? `${line.slice(0, longestFailure)}…` : line
  return `The apply failed: ${words}${/[.!?…]$/.test(words) ? '' : '.'} Correct that first. With set -o pipefail the step of the apply fails by itself.`
}

/** More than any apply names; keeps `a,b,c,… 1 2 3 …` from growing without bound. */
const mostReferences = 5_000

/**
 * Reads references, one a line: the arguments of `kubectl wait`, or a line that kubectl printed.
 * Never throws: mistakes are collected with their lines.
 *
 * @param text the whole input, untrimmed, so that line numbers are the user's
 * @param input the name of the input or file, for messages
 * @param options.alone whether nothing else names resources: then at least one must be named here
 * @param options.nothing the mistake of an empty text
 */
export function parseReferences(
  text: string,
  input = 'resources',
  { alone = true, nothing = nothingNamed } = {},
): ParsedReferences {
  const references: Reference[] = []
  const faulty: Reference[] = []
  const skipped: SkippedLine[] = []
  const mistakes: Mistake[] = []

  const lines = text.split(/\r\n|\r|\n/)
  const foreign = recognizeForeignOutput(lines)
  if (foreign !== undefined) return { input, references, skipped, mistakes: [{ input, ...foreign }] }

  let hasFailed = false
  for (const [index, raw] of lines.entries()) {
    const line = index + 1
    const written = raw.trim()
    if (written === '' || written.startsWith('#')) continue

    const addMistake: AddMistake = (message) => mistakes.push({ input, line, message })
    if (isFailureLine(written)) {
      hasFailed = true
      addMistake(explainFailure(written))
      continue
    }
    const printed = readPrinted(written)
    // An error of kubectl may have many lines.
    if (hasFailed && printed === undefined) continue
    if (printed?.skip !== undefined) {
      skipped.push({ line, text: written, why: printed.skip })
      continue
    }
    const words = printed?.words ?? splitWords(written, addMistake)?.map((word) => word.text)
    const before = mistakes.length
    const named = words === undefined ? [] : parseWords(words, line, addMistake)
    const sound = mistakes.length === before ? references : faulty
    sound.push(...named)
    if (references.length > mostReferences) {
      addMistake(`More than ${mostReferences} resources are named. Use selectors (-l), or several gates.`)
      break
    }
  }

  if (alone && references.every(({ exclude }) => exclude) && skipped.length === 0 && mistakes.length === 0) {
    const message =
      references.length === 0
        ? nothing
        : 'Every line excludes with "!" and none names a resource. Name what to gate, like deployment/web.'
    mistakes.push({ input, message })
  }
  return { input, references, ...(faulty.length === 0 ? {} : { faulty }), skipped, mistakes }
}

/**
 * Reads one reference that is split into words already, as a command line is.
 *
 * @param words `deployment/web`, `--timeout=20m`; the first may begin with `!`
 * @param line what the references are numbered with
 * @returns one reference for each resource or selector named, also when a flag has a mistake
 */
function parseWords(words: readonly string[], line: number, addMistake: AddMistake): Reference[] {
  const args = [...words]
  const exclude = args[0]?.startsWith('!') === true
  if (exclude) args[0] = args[0]?.slice(1) ?? ''
  if (args[0] === '') args.shift()

  let clean = true
  const note: AddMistake = (message) => {
    clean = false
    addMistake(message)
  }
  const { subjects, flags } = readFlags(args, note)
  const common = readOptions(flags, note)
  if (exclude && (common.waitFor !== undefined || Object.keys(common.clocks).length > 0)) {
    note('An excluded resource takes no --for and no clocks. Leave them out.')
  }
  const selector = readSelector(flags, note)
  // A word that seems to be missing may be the value of a flag that was misread.
  const named = readSubjects(subjects, selector, clean ? addMistake : () => {})
  return named.map((subject) => ({ line, exclude, ...subject, ...common }))
}

const options = {
  all: { type: 'boolean' },
  for: { type: 'string' },
  'milestone-timeouts': { type: 'string' },
  namespace: { type: 'string', short: 'n' },
  selector: { type: 'string', short: 'l' },
  'stall-timeout': { type: 'string' },
  timeout: { type: 'string' },
} as const

type Flags = ReadonlyMap<string, string>

/** Parts flags from words; flags may stand anywhere, as for kubectl. */
function readFlags(args: string[], addMistake: AddMistake): { subjects: string[]; flags: Flags } {
  const subjects: string[] = []
  const flags = new Map<string, string>()
  const unknown = new Set<string>()
  for (const token of parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true }).tokens) {
    if (token.kind === 'positional') subjects.push(token.value)
    if (token.kind !== 'option') continue

    const { name, rawName } = token
    // `-n=shop` means `-n shop`
    const inlineShort = token.inlineValue === true && !rawName.startsWith('--')
    const value = inlineShort ? token.value?.replace(/^=/, '') : token.value
    if (!Object.hasOwn(options, name)) {
      // `-web` is one word of the user, although it would be three flags.
      unknown.add((args[token.index] ?? rawName).split('=', 1)[0] ?? '')
    } else if (options[name as keyof typeof options].type === 'boolean') {
      if (value === undefined) flags.set(name, '')
      else addMistake(`${rawName} takes no value. Leave out ${quote(`=${value}`)}.`)
    } else if (value === undefined || value === '') {
      addMistake(`${rawName} has no value.`)
    } else if (flags.has(name)) {
      addMistake(`--${name} is given twice. Keep one of them.`)
    } else {
      flags.set(name, value)
    }
  }
  const known = Object.keys(options)
  for (const flag of unknown) {
    const hint = didYouMeanFlag(flag, known) || ` A reference takes ${known.map((name) => `--${name}`).join(', ')}.`
    addMistake(`${quote(flag)} is no flag of a reference.${hint}`)
  }
  return { subjects, flags }
}

function readOptions(flags: Flags, addMistake: AddMistake): Pick<Reference, 'namespace' | 'clocks' | 'waitFor'> {
  const about =
    (flag: string): AddMistake =>
    (message) =>
      addMistake(`--${flag}: ${message}`)
  const duration = (flag: string): number | undefined => {
    const text = flags.get(flag)
    return text === undefined ? undefined : parseDuration(text, about(flag))
  }
  const timeoutMs = duration('timeout')
  const stallTimeoutMs = duration('stall-timeout')
  const milestones = flags.get('milestone-timeouts')
  const awaited = flags.get('for')
  const waitFor = awaited === undefined ? undefined : parseWaitFor(awaited, addMistake)
  const namespace = flags.get('namespace')
  if (namespace !== undefined) checkNamespace(namespace, addMistake)

  return {
    clocks: {
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(stallTimeoutMs === undefined ? {} : { stallTimeoutMs }),
      ...(milestones === undefined
        ? {}
        : { milestoneTimeoutsMs: parseMilestoneTimeouts(milestones, about('milestone-timeouts')) }),
    },
    ...(namespace === undefined ? {} : { namespace }),
    ...(waitFor === undefined ? {} : { waitFor }),
  }
}

/** The label selector, empty for `--all`; nothing when the reference has neither. */
function readSelector(flags: Flags, addMistake: AddMistake): string | undefined {
  const selector = flags.get('selector')
  const all = flags.has('all')
  if (selector === undefined) return all ? '' : undefined
  if (all) addMistake('-l and --all are given together. Keep one of them.')
  checkSelector(selector, addMistake)
  return selector
}

type Subject = Pick<Reference, 'kind' | 'name' | 'selector'>

/**
 * The ways in which kubectl names resources (k8s.io/cli-runtime pkg/resource, `ResourceTypeOrNameArgs`):
 * `TYPE/NAME TYPE/NAME`, `TYPE NAME NAME`, `TYPE,TYPE NAME`, and `TYPE,TYPE` with a selector.
 */
function readSubjects(words: readonly string[], selector: string | undefined, addMistake: AddMistake): Subject[] {
  const [types = '', ...names] = words
  if (types === '') {
    addMistake('No resource is named. Write one like deployment/web.')
    return []
  }
  if (types === 'kubectl') {
    addMistake('Write only the reference, without the kubectl command: deployment/web.')
    return []
  }
  const slashes = words.filter((word) => word.includes('/')).length
  if (slashes > 0) {
    if (slashes === words.length && selector === undefined)
      return words.flatMap((word) => readTypeAndName(word, addMistake))
    addMistake(
      selector === undefined
        ? `${quote(words.find((word) => !word.includes('/')) ?? '')} stands beside a TYPE/NAME without being one. Write deployment/web service/web, or deployment web api.`
        : '-l and --all cannot stand beside a name. Write the kind alone, like deployments -l app=shop.',
    )
    return []
  }

  const kinds = types.split(',')
  if (kinds.includes('')) {
    addMistake(`${quote(types)} has an empty kind. Write kinds with one comma between them: deploy,sts.`)
  } else if (selector !== undefined && names.length > 0) {
    addMistake('-l and --all cannot stand beside a name. Write the kind alone, like deployments -l app=shop.')
  } else if (selector === undefined && names.length === 0) {
    addMistake(`${quote(types)} has no name. Write ${kinds[0]}/NAME, or add -l app=shop or --all.`)
  } else if (names.includes('')) {
    addMistake(`${quote(types)} has an empty name: is a variable not set? Write ${kinds[0]}/NAME.`)
  } else if (kinds.length * names.length > mostReferences) {
    addMistake(`More than ${mostReferences} resources are named. Use selectors (-l), or several gates.`)
  } else {
    return selector === undefined
      ? kinds.flatMap((kind) => names.map((name) => ({ kind, name })))
      : kinds.map((kind) => ({ kind, selector }))
  }
  return []
}

function readTypeAndName(word: string, addMistake: AddMistake): Subject[] {
  const [kind = '', name = '', ...more] = word.split('/')
  if (kind !== '' && name !== '' && more.length === 0 && !kind.includes(',')) return [{ kind, name }]
  addMistake(
    `${quote(word)} is not TYPE/NAME. Write one kind and one name with one slash between them: deployment/web.`,
  )
  return []
}
