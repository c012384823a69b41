import { knownKinds } from '../lifecycle/rules.ts'
import { type Arguments, type Flag, helpFlag, readArguments, referenceFlagsOf } from './arguments.ts'
import { commands } from './commands.ts'
import { shells } from './completion.ts'
import { type CommandContext, printLines } from './output.ts'

/**
 * `__complete SHELL WORDS…`: prints the commands, flags, values and kinds that the last word may become, one a line. Asks no
 * cluster. Returns 0.
 */
export function complete([shell = '', ...written]: readonly string[], context: CommandContext): number {
  const words = shell === 'bash' ? joinAssignments(written) : written
  const current = words.at(-1) ?? ''
  const candidates = candidatesFor(words.slice(0, -1), current).filter(
    (each) => each.startsWith(current) && /^[\w./:@=!-]+$/.test(each),
  )
  // bash completes only what follows the last `=` of a word.
  const prefix = shell === 'bash' ? current.slice(0, current.indexOf('=') + 1) : ''
  printLines(
    context.stdout,
    candidates.map((each) => each.slice(prefix.length)),
  )
  return 0
}

/** bash passes `--namespace=shop` as three words. */
function joinAssignments(words: readonly string[]): readonly string[] {
  const joined: string[] = []
  for (const word of words) {
    const last = joined.at(-1) ?? ''
    if (last.startsWith('-') && (word === '=' || last.endsWith('='))) joined.splice(-1, 1, `${last}${word}`)
    else joined.push(word)
  }
  return joined
}

function candidatesFor([name, ...before]: readonly string[], current: string): readonly string[] {
  if (name === undefined) return commands.map((command) => command.name)
  const command = commands.find((each) => each.name === name)
  if (command === undefined) return []
  if (command.name === 'completion') return shells
  const flags = [...referenceFlagsOf(command), ...command.flags.filter(({ hidden }) => !hidden), helpFlag]
  const inline = /^(--?[\w-]+)=/.exec(current)?.[1]
  const flag = findFlag(flags, inline ?? before.at(-1) ?? '')
  if (flag !== undefined && (inline !== undefined || flag.value !== undefined)) {
    const values = flag.choices ?? []
    return inline === undefined ? values : values.map((value) => `${inline}=${value}`)
  }
  if (current.startsWith('-')) return flags.map((each) => `--${each.name}${each.value === undefined ? '' : '='}`)
  return command.takes === 'references' ? kindsFor(current, readArguments(before, command)) : []
}

function findFlag(flags: readonly Flag[], written: string): Flag | undefined {
  return flags.find(({ name, short }) => written === `--${name}` || (short !== undefined && written === `-${short}`))
}

/** The words of kinds. Behind the word of a kind come names, which only the cluster knows. */
function kindsFor(current: string, { references }: Arguments): readonly string[] {
  const [kindBefore = ''] = references.at(-1) ?? []
  const isNamed = !/[/\s]/.test(kindBefore) && kindBefore !== '-' && kindBefore !== ''
  const exclude = current.startsWith('!') ? '!' : ''
  return isNamed ? [] : knownKinds.map(({ kind }) => `${exclude}${kind.toLowerCase()}/`)
}
