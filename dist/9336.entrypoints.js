export const id=9336;export const ids=[9336];export const modules={9336:((e,t,o)=>{o.r(t),o.d(t,{complete:()=>u,completion:()=>c});var l=o(7406),n=o(2333),a=o(752),r=o(3135);let i={bash:`_rollout_gate() {
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
`},s=Object.keys(i);async function c({files:e,mistakes:t},o){let[n="",...a]=e,u=Object.hasOwn(i,n)&&0===a.length?i[n]:void 0;if(void 0!==u&&0===t.length)return o.stdout.write(u),0;let d=`${(0,l.hD)(e.join(" "))} is not one of ${s.join(", ")}.`;return(0,r.B9)(new l.yo([...t,...void 0===u?[{input:"SHELL",message:d}]:[]]),o)}function u([e="",...t],o,l){let i="bash"===e?function(e){let t=[];for(let o of e){let e=t.at(-1)??"";e.startsWith("-")&&("="===o||e.endsWith("="))?t.splice(-1,1,`${e}${o}`):t.push(o)}return t}(t):t,c=i.at(-1)??"",d=(function(e,[t,...o],l){var r;if(void 0===t)return e.map(e=>e.name);let i=e.find(e=>e.name===t);if(void 0===i)return[];if("completion"===i.name)return s;let c=[...(0,a.AT)(i),...i.flags.filter(({hidden:e})=>!e),a.IN],u=/^(--?[\w-]+)=/.exec(l)?.[1],d=(r=u??o.at(-1)??"",c.find(({name:e,short:t})=>r===`--${e}`||void 0!==t&&r===`-${t}`));if(void 0!==d&&(void 0!==u||void 0!==d.value)){let e=d.choices??[];return void 0===u?e:e.map(e=>`${u}=${e}`)}return l.startsWith("-")?c.map(e=>`--${e.name}${void 0===e.value?"":"="}`):"references"===i.takes?function(e,{references:t}){let[o=""]=t.at(-1)??[],l=!/[/\s]/.test(o)&&"-"!==o&&""!==o,a=e.startsWith("!")?"!":"";return l?[]:n.T8.map(({kind:e})=>`${a}${e.toLowerCase()}/`)}(l,(0,a.lR)(o,i)):[]})(o,i.slice(0,-1),c).filter(e=>e.startsWith(c)&&/^[\w./:@=!-]+$/.test(e)),f="bash"===e?c.slice(0,c.indexOf("=")+1):"";return(0,r.tj)(l.stdout,d.map(e=>e.slice(f.length))),0}})};