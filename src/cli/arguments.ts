import { parseArgs } from 'node:util'
import { didYouMeanFlag, type Mistake, quote } from '../errors.ts'
import { type InputDefinition, inputDefinitions } from '../inputs.ts'

/** A flag of the command line. */
export interface Flag {
  readonly name: string
  readonly short?: string
  /** Name of the value in the help; a flag without one is a switch. */
  readonly value?: string
  /** Values that this switch also accepts: `--color=never`. */
  readonly choices?: readonly string[]
  readonly description: string
  readonly default?: string
  /** The flag may be repeated: line breaks join its values. */
  readonly repeats?: boolean
  /** The help does not list the flag. */
  readonly hidden?: boolean
}

/** The flags that apply to the reference before them. */
const referenceFlags: readonly Flag[] = [
  {
    name: 'namespace',
    short: 'n',
    value: 'NAMESPACE',
    description: 'Its namespace; by default the one of the context.',
  },
  { name: 'selector', short: 'l', value: 'LABELS', description: 'Every object of a kind with these labels: app=shop.' },
  { name: 'all', description: 'Every object of a kind.' },
  {
    name: 'for',
    value: 'WHAT',
    description: "What to wait for: condition=Ready, jsonpath='{.status.phase}'=Running, create, delete.",
  },
  { name: 'timeout', value: 'DURATION', description: 'How long it may take.' },
  { name: 'stall-timeout', value: 'DURATION', description: 'How long it may go without any progress.' },
  { name: 'milestone-timeouts', value: 'LIST', description: 'How long single milestones may take: ready=5m.' },
]

/** The reference flags that become inputs of the whole gate if they come before the first reference. */
export const sharedFlags: ReadonlySet<string> = new Set(['namespace', 'timeout', 'stall-timeout', 'milestone-timeouts'])

/** The flag `-f`, as in kubectl. */
export const filenameFlag: Flag = {
  name: 'filename',
  short: 'f',
  value: 'FILE',
  description: 'Manifests whose objects are waited for: a file, a folder, a glob, or - for stdin. May be repeated.',
  repeats: true,
}

/** Every input as a flag of the same name, except those of the extras on GitHub. */
export const inputFlags: readonly Flag[] = inputDefinitions.filter(({ flag }) => flag !== 'none').map(flagOf)

/** The inputs that a replay reads. */
export const replayFlags: readonly Flag[] = inputDefinitions.filter(({ isReplayed }) => isReplayed).map(flagOf)

function flagOf({ name, placeholder, description, default: fallback, isLines, flag }: InputDefinition): Flag {
  return {
    name,
    short: name === 'namespace' ? 'n' : undefined,
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

/**
 * The flags of all commands. The parser needs them: otherwise the value of another command's flag becomes a reference.
 */
const knownFlags: readonly Flag[] = [...referenceFlags, filenameFlag, ...inputFlags, jsonFlag, colorFlag]

const namespaceHint = ' Name one namespace with -n.'

/** Flags of kubectl that users may try, each with our equivalent flag or a hint. */
const kubectlFlags: Readonly<Record<string, string>> = {
  '--tail': 'log-lines',
  '--follow': 'stream-logs',
  '-o': 'json',
  '--output': 'json',
  '-A': namespaceHint,
  '--all-namespaces': namespaceHint,
}

/** A reference as the user wrote it, with its flags: `-`, `deployment/web`, or `deploy` and names. */
export interface WrittenReference {
  readonly words: string[]
  readonly flags: Map<string, string>
}

/** The arguments of a command. Flags have their long names; a switch without a value is `true`. */
export interface Arguments {
  /** Flags of the command and of the gate. */
  readonly flags: ReadonlyMap<string, string>
  /** Reference flags that come before the first reference and are not inputs. They are defaults of all references. */
  readonly referenceDefaults: ReadonlyMap<string, string>
  readonly references: readonly WrittenReference[]
  /** The files of a command that takes no references. */
  readonly files: readonly string[]
  readonly mistakes: readonly Mistake[]
}

/** The arguments that a command accepts. */
export interface Grammar {
  readonly takes: 'references' | 'files'
  readonly flags: readonly Flag[]
  /** Reference flags that the command does not accept. */
  readonly withoutFlags?: readonly string[]
  /** Whether a flag with this value belongs to the command, not to a reference. */
  readonly ownsFlag?: (name: string, value: string) => boolean
}

/** The reference flags that a command accepts. */
export function referenceFlagsOf({ takes, withoutFlags = [] }: Grammar): readonly Flag[] {
  return takes === 'references' ? referenceFlags.filter(({ name }) => !withoutFlags.includes(name)) : []
}

/**
 * Reads the arguments of a command. Reference flags apply to the reference before them, or to all if they come first; other
 * flags may be anywhere. Never throws: mistakes are collected.
 */
export function readArguments(argv: readonly string[], grammar: Grammar): Arguments {
  return new ArgumentReader(argv, grammar).read()
}

class ArgumentReader {
  readonly #argv: readonly string[]
  readonly #grammar: Grammar
  readonly #accepted: ReadonlyMap<string, Flag>
  readonly #flags = new Map<string, string>()
  readonly #referenceDefaults = new Map<string, string>()
  readonly #references: WrittenReference[] = []
  readonly #files: string[] = []
  readonly #mistakes: Mistake[] = []
  /** The indexes of unknown flags. The next word is probably the value of the flag. */
  readonly #unknown = new Set<number>()

  constructor(argv: readonly string[], grammar: Grammar) {
    this.#argv = argv
    this.#grammar = grammar
    const flags = [...referenceFlagsOf(grammar), ...grammar.flags, helpFlag]
    this.#accepted = new Map(flags.map((flag) => [flag.name, flag]))
  }

  read(): Arguments {
    const options = Object.fromEntries(
      [...knownFlags, ...this.#accepted.values()].map(({ name, short, value }) => [
        name,
        { type: value === undefined ? ('boolean' as const) : ('string' as const), ...(short ? { short } : {}) },
      ]),
    )
    const parse = { args: [...this.#argv], options, strict: false, allowPositionals: true, tokens: true } as const
    for (const token of parseArgs(parse).tokens) {
      if (token.kind === 'positional') this.#addWord(token.value, token.index)
      if (token.kind !== 'option') continue
      const { name, rawName, index, inlineValue } = token
      // `-n=shop` means `-n shop`
      const value = inlineValue && !rawName.startsWith('--') ? token.value?.replace(/^=/, '') : token.value
      this.#addFlag(name, rawName, value, inlineValue === true, index)
    }
    return {
      flags: this.#flags,
      referenceDefaults: this.#referenceDefaults,
      references: this.#references,
      files: this.#files,
      mistakes: this.#mistakes,
    }
  }

  #addWord(word: string, index: number): void {
    // A word after an unknown flag is most likely its value.
    if (this.#unknown.has(index - 1) && !word.includes('/')) return
    if (this.#grammar.takes === 'files') {
      this.#files.push(word)
      return
    }
    const last = this.#references.at(-1)
    if (last !== undefined && canTakeMoreNames(last) && !/^!|^-$|\//.test(word)) last.words.push(word)
    else this.#references.push({ words: [word], flags: new Map() })
  }

  #addFlag(name: string, rawName: string, value: string | undefined, isInline: boolean, index: number): void {
    const addMistake = (message: string) => this.#mistakes.push({ input: rawName, message })
    const negated = name.startsWith('no-') ? this.#accepted.get(name.slice(3)) : undefined
    const flag = this.#accepted.get(name) ?? (negated?.choices === undefined ? undefined : negated)
    if (flag === undefined && knownFlags.some((known) => known.name === name)) {
      addMistake('This command does not take it. --help lists its flags.')
    } else if (flag === undefined) {
      this.#addUnknown(rawName, index, isInline)
    } else if (flag.value === undefined) {
      const choices = flag.choices ?? []
      if (value === undefined) this.#put(flag.name, rawName, switchValue(choices, flag === negated))
      else if (flag === negated || choices.length === 0)
        addMistake(`It takes no value. Leave out ${quote(`=${value}`)}.`)
      else if (choices.includes(value)) this.#put(flag.name, rawName, value)
      else addMistake(`${quote(value)} is not one of ${choices.join(', ')}.`)
    } else if (value === undefined || value === '' || (!isInline && /^-./.test(value))) {
      addMistake(`It has no value. Write ${rawName}${rawName.startsWith('--') ? '=' : ' '}${flag.value}.`)
    } else {
      this.#put(flag.name, rawName, value)
    }
  }

  #addUnknown(rawName: string, index: number, isInline: boolean): void {
    // parseArgs reads `-web` as three flags; report one.
    if (this.#unknown.has(index)) return
    if (!isInline) this.#unknown.add(index)
    const input = rawName.startsWith('--') ? rawName : (this.#argv[index] ?? rawName)
    if (this.#mistakes.some((mistake) => mistake.input === input)) return
    this.#mistakes.push({ input, message: `There is no such flag.${this.#flagHint(input)}` })
  }

  #flagHint(input: string): string {
    const equivalent = Object.hasOwn(kubectlFlags, input) ? kubectlFlags[input] : undefined
    if (equivalent === namespaceHint) return namespaceHint
    if (equivalent !== undefined && this.#accepted.has(equivalent)) return ` Did you mean --${equivalent}?`
    return didYouMeanFlag(input, this.#accepted.keys()) || ' --help lists all flags.'
  }

  #put(name: string, rawName: string, value: string): void {
    const flags = this.#ownerOf(name, value)
    const before = flags.get(name)
    if (before === undefined) flags.set(name, value)
    else if (this.#accepted.get(name)?.repeats) flags.set(name, `${before}\n${value}`)
    else this.#mistakes.push({ input: rawName, message: 'It is given twice. Keep one of them.' })
  }

  #ownerOf(name: string, value: string): Map<string, string> {
    const { takes, ownsFlag } = this.#grammar
    if (takes === 'files' || ownsFlag?.(name, value) || !referenceFlags.some((flag) => flag.name === name)) {
      return this.#flags
    }
    return this.#references.at(-1)?.flags ?? (sharedFlags.has(name) ? this.#flags : this.#referenceDefaults)
  }
}

/** Whether a following word is another name of this reference: `deploy web api`, `deploy -n shop web`. */
function canTakeMoreNames({ words: [kind = '', ...names], flags }: WrittenReference): boolean {
  if (kind.includes('/') || kind === '-' || flags.has('selector') || flags.has('all')) return false
  return names.length === 0 || flags.size === 0
}

function switchValue(choices: readonly string[], isNegated: boolean): string {
  const [yes = 'true', no = 'false'] = choices.filter((choice) => choice !== 'auto')
  return isNegated ? no : yes
}
