import { quote, UserError } from '../errors.ts'
import type { Arguments } from './arguments.ts'
import { type CommandContext, endWithMistakes } from './output.ts'

/** Each script prints what `__complete SHELL WORDS…` prints, one candidate a line. After `/` or `=`, no space follows. */
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

export const shells = Object.keys(scripts)

/** `completion`: prints the script of a shell. Returns the exit code. */
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
