export const id=1769;export const ids=[1769,9336];export const modules={1769:((e,t,o)=>{o.r(t),o.d(t,{complete:()=>s});var l=o(406),n=o(752),a=o(1564),r=o(9336),i=o(3135);function s([e="",...t],o){let c="bash"===e?function(e){let t=[];for(let o of e){let e=t.at(-1)??"";e.startsWith("-")&&("="===o||e.endsWith("="))?t.splice(-1,1,`${e}${o}`):t.push(o)}return t}(t):t,u=c.at(-1)??"",d=(function([e,...t],o){var i,s;if(void 0===e)return a.Pi.map(e=>e.name);let c=a.Pi.find(t=>t.name===e);if(void 0===c)return[];if("completion"===c.name)return r.shells;let u=[...(0,n.AT)(c),...c.flags.filter(({hidden:e})=>!e),n.IN],d=/^(--?[\w-]+)=/.exec(o)?.[1],f=(i=u,s=d??t.at(-1)??"",i.find(({name:e,short:t})=>s===`--${e}`||void 0!==t&&s===`-${t}`));if(void 0!==f&&(void 0!==d||void 0!==f.value)){let e=f.choices??[];return void 0===d?e:e.map(e=>`${d}=${e}`)}return o.startsWith("-")?u.map(e=>`--${e.name}${void 0===e.value?"":"="}`):"references"===c.takes?function(e,{references:t}){let[o=""]=t.at(-1)??[],n=!/[/\s]/.test(o)&&"-"!==o&&""!==o,a=e.startsWith("!")?"!":"";return n?[]:l.T8.map(({kind:e})=>`${a}${e.toLowerCase()}/`)}(o,(0,n.lR)(t,c)):[]})(c.slice(0,-1),u).filter(e=>e.startsWith(u)&&/^[\w./:@=!-]+$/.test(e)),f="bash"===e?u.slice(0,u.indexOf("=")+1):"";return(0,i.tj)(o.stdout,d.map(e=>e.slice(f.length))),0}}),9336:((e,t,o)=>{o.r(t),o.d(t,{completion:()=>i,shells:()=>r});var l=o(7406),n=o(3135);let a={bash:`_rollout_gate() {
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
`},r=Object.keys(a);async function i({files:e,mistakes:t},o){let[s="",...c]=e,u=Object.hasOwn(a,s)&&0===c.length?a[s]:void 0;if(void 0!==u&&0===t.length)return o.stdout.write(u),0;let d=`${(0,l.hD)(e.join(" "))} is not one of ${r.join(", ")}.`;return(0,n.B9)(new l.yo([...t,...void 0===u?[{input:"SHELL",message:d}]:[]]),o)}})};