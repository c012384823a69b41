import { parseArgs } from 'node:util'
import { didYouMeanFlag, type Mistake, quote } from '../errors.ts'
import { type Flag, filenameFlag, helpFlag, inputFlags, outputFlags, referenceFlags, sharedFlags } from './flags.ts'

/** A reference as it was written: `-`, `deployment/web`, or `deploy` and names, with the flags that belong to it. */
export interface WrittenReference {
  readonly words: string[]
  readonly flags: Map<string, string>
}

/** The arguments of a command, by what they belong to. Flags by their long names; a switch that was given is `true`. */
export interface Arguments {
  /** The command's and the gate's. */
  readonly given: ReadonlyMap<string, string>
  /** What every reference takes that does not say otherwise: flags before the first one that are no inputs. */
  readonly common: ReadonlyMap<string, string>
  readonly references: readonly WrittenReference[]
  /** The names of files, for commands that take no references. */
  readonly files: readonly string[]
  readonly mistakes: readonly Mistake[]
}

/** What a command takes. */
export interface Grammar {
  readonly takes: 'references' | 'files'
  readonly flags: readonly Flag[]
  /** The flags of a reference that mean nothing to it. */
  readonly without?: readonly string[]
  /** Whether a flag with this value is the command's own although references have one of the same name. */
  readonly claims?: (name: string, value: string) => boolean
}

/**
 * Reads what stands behind a command. Flags of a reference belong to the one that they follow, and before the first one to
 * all; every other flag may stand anywhere. Never throws: mistakes are collected.
 */
export function readArguments(argv: readonly string[], grammar: Grammar): Arguments {
  const reader = new ArgumentReader(argv, grammar)
  return reader.read()
}

class ArgumentReader {
  readonly #argv: readonly string[]
  readonly #grammar: Grammar
  readonly #flags: ReadonlyMap<string, Flag>
  readonly #given = new Map<string, string>()
  readonly #common = new Map<string, string>()
  readonly #references: WrittenReference[] = []
  readonly #files: string[] = []
  readonly #mistakes: Mistake[] = []
  readonly #unknown = new Set<number>()

  constructor(argv: readonly string[], grammar: Grammar) {
    this.#argv = argv
    this.#grammar = grammar
    const ofReferences = referenceFlags.filter(({ name }) => !grammar.without?.includes(name))
    const flags = [...(grammar.takes === 'references' ? ofReferences : []), ...grammar.flags, helpFlag]
    this.#flags = new Map(flags.map((flag) => [flag.name, flag]))
  }

  read(): Arguments {
    const options = Object.fromEntries(
      [...otherFlags, ...this.#flags.values()].map(({ name, short, value }) => [
        name,
        { type: value === undefined ? ('boolean' as const) : ('string' as const), ...(short ? { short } : {}) },
      ]),
    )
    const { tokens } = parseArgs({
      args: [...this.#argv],
      options,
      strict: false,
      allowPositionals: true,
      tokens: true,
    })
    for (const token of tokens) {
      if (token.kind === 'positional') this.#addWord(token.value, token.index)
      if (token.kind !== 'option') continue
      const { name, rawName, index, inlineValue } = token
      // `-n=shop` means `-n shop`
      const value = inlineValue && !rawName.startsWith('--') ? token.value?.replace(/^=/, '') : token.value
      this.#addFlag(name, rawName, value, inlineValue === true, index)
    }
    return {
      given: this.#given,
      common: this.#common,
      references: this.#references,
      files: this.#files,
      mistakes: this.#mistakes,
    }
  }

  #addWord(word: string, index: number): void {
    // A bare word behind an unknown flag is most probably its value.
    if (this.#unknown.has(index - 1) && !word.includes('/')) return
    if (this.#grammar.takes === 'files') {
      this.#files.push(word)
      return
    }
    const last = this.#references.at(-1)
    if (last !== undefined && takesName(last) && !/^!|^-$|\//.test(word)) last.words.push(word)
    else this.#references.push({ words: [word], flags: new Map() })
  }

  #addFlag(name: string, rawName: string, value: string | undefined, isInline: boolean, index: number): void {
    const complain = (message: string) => this.#mistakes.push({ input: rawName, message })
    const negated = name.startsWith('no-') ? this.#flags.get(name.slice(3)) : undefined
    const flag = this.#flags.get(name) ?? (negated?.choices === undefined ? undefined : negated)
    if (flag === undefined && otherFlags.some((other) => other.name === name)) {
      complain('This command does not take it. --help lists its flags.')
    } else if (flag === undefined) {
      this.#addUnknown(rawName, index, isInline)
    } else if (flag.value === undefined) {
      const choices = flag.choices ?? []
      if (value === undefined) this.#put(flag.name, rawName, choiceOf(choices, flag === negated))
      else if (flag === negated || choices.length === 0) complain(`It takes no value. Leave out ${quote(`=${value}`)}.`)
      else if (choices.includes(value)) this.#put(flag.name, rawName, value)
      else complain(`${quote(value)} is not one of ${choices.join(', ')}.`)
    } else if (value === undefined || value === '' || (!isInline && /^-./.test(value))) {
      complain(`It has no value. Write ${rawName}${rawName.startsWith('--') ? '=' : ' '}${flag.value}.`)
    } else {
      this.#put(flag.name, rawName, value)
    }
  }

  #addUnknown(rawName: string, index: number, isInline: boolean): void {
    // `-web` is one word of the user, although it would be three flags.
    if (this.#unknown.has(index)) return
    this.#unknown.add(index)
    if (isInline) this.#unknown.delete(index)
    const input = rawName.startsWith('--') ? rawName : (this.#argv[index] ?? rawName)
    const hint = this.#hintOfKubectl(input) ?? (didYouMeanFlag(input, this.#flags.keys()) || ' --help lists all flags.')
    if (!this.#mistakes.some((mistake) => mistake.input === input)) {
      this.#mistakes.push({ input, message: `There is no such flag.${hint}` })
    }
  }

  /** What a flag of kubectl is called here. */
  #hintOfKubectl(input: string): string | undefined {
    const flag = kubectlFlags.get(input)
    if (flag === undefined) return undefined
    if (!flag.startsWith('--')) return ` ${flag}`
    return this.#flags.has(flag.slice(2)) ? ` Did you mean ${flag}?` : undefined
  }

  #put(name: string, rawName: string, value: string): void {
    const flags = this.#owner(name, value)
    const before = flags.get(name)
    if (before !== undefined && this.#flags.get(name)?.repeats) flags.set(name, `${before}\n${value}`)
    else if (before !== undefined)
      this.#mistakes.push({ input: rawName, message: 'It is given twice. Keep one of them.' })
    else flags.set(name, value)
  }

  #owner(name: string, value: string): Map<string, string> {
    const { takes, claims } = this.#grammar
    if (takes === 'files' || claims?.(name, value) || !referenceFlags.some((flag) => flag.name === name)) {
      return this.#given
    }
    return this.#references.at(-1)?.flags ?? (sharedFlags.has(name) ? this.#given : this.#common)
  }
}

const allNamespaces = 'Name one namespace with -n.'

/** What kubectl's flags are called here, or what to write in their place. */
const kubectlFlags: ReadonlyMap<string, string> = new Map([
  ['--tail', '--log-lines'],
  ['--follow', '--stream-logs'],
  ['-o', '--json'],
  ['--output', '--json'],
  ['-A', allNamespaces],
  ['--all-namespaces', allNamespaces],
])

/** The flags of all commands: one that a command does not take has its value all the same. */
const otherFlags: readonly Flag[] = [...referenceFlags, filenameFlag, ...inputFlags, ...outputFlags].filter(
  ({ name }) => name !== 'output',
)

/** Whether a bare word that follows is another name of this reference's kind: `deploy web api`, `deploy -n shop web`. */
function takesName({ words: [kind = '', ...names], flags }: WrittenReference): boolean {
  if (kind.includes('/') || kind === '-' || flags.has('selector') || flags.has('all')) return false
  return names.length === 0 || flags.size === 0
}

function choiceOf(choices: readonly string[], isNegated: boolean): string {
  const [yes = 'true', no = 'false'] = choices.filter((choice) => choice !== 'auto')
  return isNegated ? no : yes
}
