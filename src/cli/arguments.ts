import { didYouMean, type Mistake, quote } from '../errors.ts'
import { type InputDefinition, inputDefinitions } from '../inputs.ts'
import { type Argument, splitArguments } from '../plan/reference-flags.ts'

/* Reads the arguments of a command: flags, references and files. */

/** A flag of the command line. */
export interface Flag {
  readonly name: string
  readonly short?: string
  /** The name of the value in the help: `FILE`. Absent for a switch. */
  readonly value?: string
  /** The values that the flag accepts. A switch with choices accepts a value after an equals sign: `--color=never`. */
  readonly choices?: readonly string[]
  readonly description: string
  readonly default?: string
  /** Whether the flag may be repeated. Line breaks then join its values. */
  readonly repeats?: boolean
  /** Whether the help omits the flag. */
  readonly hidden?: boolean
}

/** The flags that describe references, and are no inputs. */
export const referenceFlags: readonly Flag[] = [
  {
    name: 'selector',
    short: 'l',
    value: 'LABELS',
    description: 'For a kind without a name: every object with these labels, such as app=shop.',
  },
  { name: 'all', description: 'For a kind without a name: every object.' },
  {
    name: 'for',
    value: 'WHAT',
    description: "What to wait for: condition=Ready, jsonpath='{.status.phase}'=Running, create, delete.",
  },
  {
    name: 'revision',
    value: 'REVISION',
    description:
      'What Argo CD or Flux must have deployed: a commit, a tag, a chart version, a digest, or SOURCE=REVISION.',
    repeats: true,
  },
]

/** The options that a quoted reference may have: `'job/migrate --timeout=20m'`. */
const allReferenceOptions = [
  'namespace',
  'selector',
  'all',
  'for',
  'revision',
  'timeout',
  'stall-timeout',
  'milestone-timeouts',
] as const

/** The short flags of inputs, as in kubectl. The keys are names of inputs. */
const shortInputs: Readonly<Record<string, string>> = { namespace: 'n', manifests: 'f' }
/** Flags of kubectl that are accepted, with the name of the equivalent flag. */
const otherNames: Readonly<Record<string, string>> = { filename: 'manifests' }

/** Every input as a flag with the same name. The inputs of the extras on GitHub have no flag. */
export const inputFlags: readonly Flag[] = inputDefinitions.filter(({ flag }) => flag !== 'none').map(flagOfInput)

export const replayFlags: readonly Flag[] = inputDefinitions.filter(({ isReplayed }) => isReplayed).map(flagOfInput)

function flagOfInput({ name, placeholder, description, default: fallback, isLines, flag }: InputDefinition): Flag {
  return {
    name,
    short: shortInputs[name],
    ...(placeholder === '' ? { choices: ['true', 'false'] } : { value: placeholder }),
    description,
    default: fallback,
    repeats: isLines && flag === 'shown',
    hidden: flag === 'hidden',
  }
}

export const helpFlag: Flag = { name: 'help', short: 'h', description: 'Show this help.' }

export const jsonFlag: Flag = {
  name: 'json',
  description: 'Print the report as one line of JSON, and everything else to stderr.',
}

export const colorFlag: Flag = {
  name: 'color',
  choices: ['auto', 'always', 'never'],
  description: 'Colours: always, never, or auto: on a terminal without NO_COLOR.',
}

/** The flags of all commands. Otherwise the parser would read the value of another command's flag as a reference. */
const knownFlags: readonly Flag[] = [...referenceFlags, ...inputFlags, jsonFlag, colorFlag]

const lineBreak = 'The argument contains a line break. Pass lines on stdin: kubectl apply -f k8s/ | rollout-gate wait -'

const namespaceHint = ' Name one namespace with -n.'
const kustomizeHint = ' Render the kustomization, and pass it on stdin: kubectl kustomize FOLDER | rollout-gate wait -'

/** The hints for flags of kubectl that have no equivalent. */
const kubectlHints = new Map([
  ['-A', namespaceHint],
  ['--all-namespaces', namespaceHint],
  ['-k', kustomizeHint],
  ['--kustomize', kustomizeHint],
])

/** The equivalents of flags of kubectl. A command may lack them. */
const kubectlEquivalents = new Map([
  ['--tail', 'log-lines'],
  ['--follow', 'stream-logs'],
  ['-o', 'json'],
  ['--output', 'json'],
])

/** The arguments of a command. Flags have their long names. A switch without a value is `true`. */
export interface Arguments {
  /** Flags of the command, of the gate and of all references. */
  readonly flags: ReadonlyMap<string, string>
  /** Each flag as the user wrote it: `-n`. */
  readonly writtenFlags: ReadonlyMap<string, string>
  /** The words of each reference: `-`, `deployment/web`, or `deploy` and names. A quoted reference is one word. */
  readonly references: readonly (readonly string[])[]
  /** The options that a quoted reference may have. */
  readonly referenceOptions: readonly string[]
  /** The files of a command that takes files, not references. */
  readonly files: readonly string[]
  readonly mistakes: readonly Mistake[]
}

/** The arguments that a command accepts. */
export interface Grammar {
  readonly takes: 'references' | 'files'
  readonly flags: readonly Flag[]
  /** The options that a quoted reference may have; absent if all are accepted. */
  readonly referenceOptions?: readonly (typeof allReferenceOptions)[number][]
}

/** The options that a quoted reference may have; none if the command takes files. */
function referenceOptionsOf({ takes, referenceOptions = allReferenceOptions }: Grammar): readonly string[] {
  return takes === 'references' ? referenceOptions : []
}

/** The flags for references that a command accepts: `--selector`, `--all`, `--for`, `--revision`. */
export function referenceFlagsOf(grammar: Grammar): readonly Flag[] {
  return referenceFlags.filter(({ name }) => referenceOptionsOf(grammar).includes(name))
}

/** The options of a quoted reference, as the help lists them: `-n, --timeout`. */
export function referenceOptionsText(grammar: Grammar): string {
  const short = new Map([...referenceFlags, ...inputFlags].map((flag) => [flag.name, flag.short]))
  return referenceOptionsOf(grammar)
    .map((name) => (short.get(name) === undefined ? `--${name}` : `-${short.get(name)}`))
    .join(', ')
}

/** Reads the arguments of a command. Flags apply to all references, wherever they are. Mistakes are collected. */
export function readArguments(argv: readonly string[], grammar: Grammar): Arguments {
  return new ArgumentReader(argv, grammar).read()
}

class ArgumentReader {
  readonly #argv: readonly string[]
  readonly #grammar: Grammar
  readonly #accepted: ReadonlyMap<string, Flag>
  readonly #flags = new Map<string, string>()
  readonly #writtenFlags = new Map<string, string>()
  readonly #references: string[][] = []
  readonly #files: string[] = []
  readonly #mistakes: Mistake[] = []
  /** The indexes of unknown flags in the arguments. */
  readonly #unknown = new Set<number>()

  constructor(argv: readonly string[], grammar: Grammar) {
    this.#argv = argv
    this.#grammar = grammar
    const flags = [...referenceFlagsOf(grammar), ...grammar.flags, helpFlag]
    this.#accepted = new Map(flags.map((flag) => [flag.name, flag]))
  }

  read(): Arguments {
    const flags = [...knownFlags, ...this.#accepted.values()]
    const options = Object.fromEntries(
      flags.map(({ name, short, value }) => [
        name,
        { type: value === undefined ? ('boolean' as const) : ('string' as const), ...(short ? { short } : {}) },
      ]),
    )
    for (const name of Object.keys(otherNames)) options[name] = { type: 'string' }
    for (const argument of splitArguments(this.#argv, options)) {
      const { name, written, index } = argument
      if (name === undefined) this.#addWord(written, index)
      else this.#addFlag(otherNames[name] ?? name, argument)
    }
    return {
      flags: this.#flags,
      writtenFlags: this.#writtenFlags,
      references: this.#references,
      referenceOptions: referenceOptionsOf(this.#grammar),
      files: this.#files,
      mistakes: this.#mistakes,
    }
  }

  #addWord(word: string, index: number): void {
    // After an unknown flag, a word is most likely the value of the flag.
    if (this.#unknown.has(index - 1) && !word.includes('/')) return
    if (this.#grammar.takes === 'files') {
      this.#files.push(word)
      return
    }
    const [line = '', ...further] = word.split(/[\r\n]/)
    if (further.length > 0) this.#mistakes.push({ input: line, message: lineBreak })
    const last = this.#references.at(-1)
    // The word may be another name of the same kind, as in `deploy web api`.
    const takesNames = last !== undefined && !/^-$|[/\s]/.test(last[0] ?? '')
    if (takesNames && !/^!|^-$|[/\s]/.test(line)) last.push(line)
    else this.#references.push([line])
  }

  #addFlag(name: string, argument: Argument): void {
    const { written, value, isInline = false } = argument
    const addMistake = (message: string) => this.#mistakes.push({ input: written, message })
    const negated = name.startsWith('no-') ? this.#accepted.get(name.slice(3)) : undefined
    const flag = this.#accepted.get(name) ?? (negated?.choices === undefined ? undefined : negated)
    if (flag === undefined && knownFlags.some((known) => known.name === name)) {
      addMistake('This command does not take it. --help lists its flags.')
    } else if (flag === undefined) {
      this.#addUnknown(argument)
    } else if (flag.value === undefined) {
      const choices = flag.choices ?? []
      if (value === undefined) this.#setFlag(flag, written, switchValue(choices, flag === negated))
      else if (flag === negated || choices.length === 0)
        addMistake(`It takes no value. Leave out ${quote(`=${value}`)}.`)
      else if (choices.includes(value)) this.#setFlag(flag, written, value)
      else addMistake(`${quote(value)} is not one of ${choices.join(', ')}.`)
    } else if (value === undefined || value === '' || (!isInline && /^-./.test(value))) {
      addMistake(`It has no value. Write ${written}${written.startsWith('--') ? '=' : ' '}${flag.value}.`)
    } else if (flag.choices?.includes(value) === false) {
      addMistake(`${quote(value)} is not one of ${flag.choices.join(', ')}.`)
    } else {
      this.#setFlag(flag, written, value)
    }
  }

  #addUnknown({ written, isInline, index }: Argument): void {
    if (!isInline) this.#unknown.add(index)
    // A word with several unknown letters, such as `-web`, is one mistake.
    if (this.#mistakes.some(({ input }) => input === written)) return
    const equivalent = kubectlEquivalents.get(written) ?? ''
    const hint =
      kubectlHints.get(written) ??
      (this.#accepted.has(equivalent)
        ? ` Did you mean --${equivalent}?`
        : didYouMean(written, this.#accepted.keys(), '--') || ' --help lists all flags.')
    this.#mistakes.push({ input: written, message: `There is no such flag.${hint}` })
  }

  #setFlag({ name, repeats }: Flag, written: string, value: string): void {
    const before = this.#flags.get(name)
    this.#writtenFlags.set(name, written)
    if (before === undefined) this.#flags.set(name, value)
    else if (repeats) this.#flags.set(name, `${before}\n${value}`)
    else {
      const hint = referenceOptionsOf(this.#grammar).includes(name)
        ? "It stands for all references. One with a value of its own is written in quotes: 'job/migrate --timeout=20m'."
        : 'Keep one of them.'
      this.#mistakes.push({ input: written, message: `It is given twice. ${hint}` })
    }
  }
}

function switchValue(choices: readonly string[], isNegated: boolean): string {
  const [yes = 'true', no = 'false'] = choices.filter((choice) => choice !== 'auto')
  return isNegated ? no : yes
}
