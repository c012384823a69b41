import { quote, UserError } from '../errors.ts'
import { knownKinds } from '../lifecycle/rules.ts'
import { type Arguments, type Grammar, helpFlag, readArguments, referenceFlagsOf } from './arguments.ts'
import { type CommandContext, endWithMistakes, printLines } from './output.ts'

/* Completes words in a shell: prints the scripts for shells, and the candidates for a word. */

/** Each script offers the lines that `__complete SHELL WORDS…` prints. It adds no space after `/` or `=`. */
const scripts: Readonly<Record<string, string>> = {
  bash: `_rollout_gate() {
  local IFS=$'\\n'
  COMPREPLY=($(rollout-gate __complete bash "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  case "\${COMPREPLY[0]}" in */ | *=) compopt -o nospace 2>/dev/null ;; esac
}
complete -o default -F _rollout_gate rollout-gate
`,
  zsh: `#compdef rollout-gate
_rollout_gate() {
  local -a found
  found=("\${(@f)$(rollout-gate __complete zsh "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  local -a open=(\${(M)found:#*[/=]}) whole=(\${found:#*[/=]})
  (( $#open )) && compadd -S '' -- $open
  (( $#whole )) && compadd -- $whole
  (( $#open + $#whole )) || _files
}
if [ "$funcstack[1]" = _rollout-gate ]; then _rollout_gate "$@"; else compdef _rollout_gate rollout-gate; fi
`,
  fish: `function __rollout_gate_complete
  set -l words (commandline -opc) (commandline -ct)
  rollout-gate __complete fish $words[2..] 2>/dev/null
end
complete -c rollout-gate -a '(__rollout_gate_complete)'
`,
}

const shells = Object.keys(scripts)

/** The command `completion`: prints the script for a shell. Returns the exit code. */
export async function completion({ files, mistakes }: Arguments, context: CommandContext): Promise<number> {
  const [shell = '', ...others] = files
  const script = Object.hasOwn(scripts, shell) && others.length === 0 ? scripts[shell] : undefined
  if (script !== undefined && mistakes.length === 0) {
    context.stdout.write(script)
    return 0
  }
  const message = `${quote(files.join(' '))} is not one of ${shells.join(', ')}.`
  return endWithMistakes(
    new UserError([...mistakes, ...(script === undefined ? [{ input: 'SHELL', message }] : [])]),
    context,
  )
}

interface CompletedCommand extends Grammar {
  readonly name: string
}

/** `__complete SHELL WORDS…`: prints the candidates for the last word, one per line. Reads no cluster. Returns 0. */
export function complete(
  [shell = '', ...written]: readonly string[],
  commands: readonly CompletedCommand[],
  context: CommandContext,
): number {
  const words = shell === 'bash' ? joinAssignments(written) : written
  const current = words.at(-1) ?? ''
  const candidates = candidatesFor(commands, words.slice(0, -1), current).filter(
    (each) => each.startsWith(current) && /^[\w./:@=!-]+$/.test(each),
  )
  // bash completes only the part of a word after the last `=`.
  const prefix = shell === 'bash' ? current.slice(0, current.indexOf('=') + 1) : ''
  printLines(
    context.stdout,
    candidates.map((each) => each.slice(prefix.length)),
  )
  return 0
}

/** Joins flags and their values, because bash passes `--namespace=shop` as three words. */
function joinAssignments(words: readonly string[]): readonly string[] {
  const joined: string[] = []
  for (const word of words) {
    const last = joined.at(-1) ?? ''
    if (last.startsWith('-') && (word === '=' || last.endsWith('='))) joined.splice(-1, 1, `${last}${word}`)
    else joined.push(word)
  }
  return joined
}

function candidatesFor(
  commands: readonly CompletedCommand[],
  [name, ...before]: readonly string[],
  current: string,
): readonly string[] {
  if (name === undefined) return commands.map((command) => command.name)
  const command = commands.find((each) => each.name === name)
  if (command === undefined) return []
  if (command.name === 'completion') return shells
  const flags = [...referenceFlagsOf(command), ...command.flags.filter(({ hidden }) => !hidden), helpFlag]
  const inline = /^(--?[\w-]+)=/.exec(current)?.[1]
  const written = inline ?? before.at(-1) ?? ''
  const flag = flags.find((each) => [`--${each.name}`, each.short && `-${each.short}`].includes(written))
  if (flag !== undefined && (inline !== undefined || flag.value !== undefined)) {
    const values = flag.choices ?? []
    return inline === undefined ? values : values.map((value) => `${inline}=${value}`)
  }
  if (current.startsWith('-')) return flags.map((each) => `--${each.name}${each.value === undefined ? '' : '='}`)
  return command.takes === 'references' ? kindCandidates(current, readArguments(before, command)) : []
}

/** The kinds: `deployment/`. None if the word is a name, after a kind without a slash: only the cluster has names. */
function kindCandidates(current: string, { references }: Arguments): readonly string[] {
  const [kindBefore = ''] = references.at(-1) ?? []
  const isNamed = !/[/\s]/.test(kindBefore) && kindBefore !== '-' && kindBefore !== ''
  const exclude = current.startsWith('!') ? '!' : ''
  return isNamed ? [] : knownKinds.map(({ kind }) => `${exclude}${kind.toLowerCase()}/`)
}
