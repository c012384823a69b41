export const id=9336;export const ids=[9336];export const modules={9336:((o,e,l)=>{l.r(e),l.d(e,{completion:()=>u,shells:()=>c});var t=l(7406),n=l(3135);let a={bash:`_rollout_gate() {
  local IFS=$'\\n'
  COMPREPLY=($(rollout-gate __complete bash "$\{COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  case "$\{COMPREPLY[0]}" in */ | *=) compopt -o nospace 2>/dev/null ;; esac
}
complete -o default -F _rollout_gate rollout-gate
`,zsh:`#compdef rollout-gate
_rollout_gate() {
  local -a found
  found=("$\{(@f)$(rollout-gate __complete zsh "$\{(@)words[2,CURRENT]}" 2>/dev/null)}")
  local -a open=($\{(M)found:#*[/=]}) whole=($\{found:#*[/=]})
  (( $#open )) && compadd -S '' -- $open
  (( $#whole )) && compadd -- $whole
  (( $#open + $#whole )) || _files
}
if [ "$funcstack[1]" = _rollout-gate ]; then _rollout_gate "$@"; else compdef _rollout_gate rollout-gate; fi
`,fish:`function __rollout_gate_complete
  set -l words (commandline -opc) (commandline -ct)
  rollout-gate __complete fish $words[2..] 2>/dev/null
end
complete -c rollout-gate -a '(__rollout_gate_complete)'
`},c=Object.keys(a);async function u({files:o,mistakes:e},l){let[d="",...r]=o,s=Object.hasOwn(a,d)&&0===r.length?a[d]:void 0;if(void 0!==s&&0===e.length)return l.stdout.write(s),0;let _=`${(0,t.hD)(o.join(" "))} is not one of ${c.join(", ")}.`;return(0,n.B9)(new t.yo([...e,...void 0===s?[{input:"SHELL",message:_}]:[]]),l)}})};