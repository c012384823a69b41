import type { Command } from './commands.ts'
import { type Flag, helpFlag, referenceFlags } from './flags.ts'

const width = 100

/** The help of the program: what it is, and its commands. */
export function renderHelp(program: string, commands: readonly Command[]): string {
  return lines(
    `Usage: ${program} COMMAND …`,
    '',
    'Watches Kubernetes rollouts, says how they end and why.',
    '',
    ...table(commands.map(({ name, usage, summary }) => [`${name} ${usage}`, summary])),
    '',
    ...table([
      [`${program} COMMAND --help`, 'flags and examples of a command'],
      [`${program} --version`, 'the version of this program'],
    ]),
  )
}

/** The help of one command. */
export function renderCommandHelp(program: string, command: Command): string {
  const takesReferences = command.takes === 'references'
  const ofReferences = referenceFlags.filter(({ name }) => !command.without?.includes(name))
  // A flag that means the same in both places is told once, where its place is explained.
  const isElsewhere = ({ name }: Flag) =>
    takesReferences && command.claims?.(name, '0') !== true && ofReferences.some((flag) => flag.name === name)
  const flags = [...command.flags.filter((flag) => !flag.hidden && !isElsewhere(flag)), helpFlag]
  return lines(
    `Usage: ${program} ${command.name} ${command.usage} [flags]`,
    '',
    ...command.description.split('\n').flatMap((paragraph) => wrap(paragraph, width)),
    '',
    'Examples:',
    ...table(command.examples.map(([typed, does]) => [`${program} ${typed}`, does])),
    ...(takesReferences
      ? [
          '',
          'Flags of a reference: behind it they belong to it, before the first one to all.',
          ...table(ofReferences.map((flag) => [flagNames(flag), flag.description])),
        ]
      : []),
    '',
    takesReferences ? 'Other flags, wherever they stand:' : 'Flags:',
    ...table(flags.map((flag) => [flagNames(flag), describe(flag)])),
  )
}

function flagNames({ name, short, value, choices }: Flag): string {
  const takes = value !== undefined ? `=${value}` : choices?.includes('auto') ? `=${choices.join('|')}` : ''
  const shown = choices?.[0] === 'true' ? `[no-]${name}` : name
  return `${short === undefined ? '    ' : `-${short}, `}--${shown}${takes}`
}

function describe({ description, default: fallback }: Flag): string {
  return fallback ? `${description} Default: ${fallback}.` : description
}

/** Two columns; a first one that is too wide stands alone. */
function table(rows: readonly (readonly [string, string])[]): string[] {
  const widest = 34
  const column = Math.max(...rows.map(([first]) => first.length).filter((length) => length <= widest), 0)
  return rows.flatMap(([first, second]) => {
    const [begin = '', ...more] = wrap(second, Math.max(40, width - column - 4))
    const rest = more.map((line) => `${' '.repeat(column + 4)}${line}`)
    if (first.length <= column) return [`  ${first.padEnd(column)}  ${begin}`, ...rest]
    return [`  ${first}`, `${' '.repeat(column + 4)}${begin}`, ...rest]
  })
}

function wrap(text: string, columns: number): string[] {
  const wrapped: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > columns) {
      wrapped.push(line)
      line = ''
    }
    line = line === '' ? word : `${line} ${word}`
  }
  return [...wrapped, line]
}

function lines(...all: string[]): string {
  return `${all.map((line) => line.trimEnd()).join('\n')}\n`
}
