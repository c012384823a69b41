export const id=1769;export const ids=[1769,9336];export const modules={81769:((e,t,o)=>{o.r(t),o.d(t,{complete:()=>$});var l=o(19314),n=o(65061),a=o(8796),i=o(63456),r=o(6710),s=o(89494),c=o(19645),u=o(70752),d=o(2678),f=o(9336),m=o(75995),p=o(33135);async function $([e="",...t],o){let l="bash"===e?function(e){let t=[];for(let o of e){let e=t.at(-1)??"";e.startsWith("-")&&("="===o||e.endsWith("="))?t.splice(-1,1,`${e}${o}`):t.push(o)}return t}(t):t,s=l.at(-1)??"",c=(await (async function([e,...t],o,l){var s,c;if(void 0===e)return d.Pi.map(e=>e.name);let p=d.Pi.find(t=>t.name===e);if(void 0===p)return[];if("completion"===p.name)return f.shells;let $=[...(0,u.AT)(p),...p.flags.filter(({hidden:e})=>!e),u.IN],v=(0,u.lR)(t,p),g=/^(--?[\w-]+)=/.exec(o)?.[1],w=(s=$,c=g??t.at(-1)??"",s.find(({name:e,short:t})=>c===`--${e}`||void 0!==t&&c===`-${t}`));if(void 0!==w&&(void 0!==g||void 0!==w.value)){let e=await async function({name:e,choices:t},o,l){if(void 0!==t)return t;let{inputs:i}=(0,a.Ko)((0,m.o9)(o.flags));return"context"===e?(0,n.Mv)(i):"namespace"!==e?[]:_(o,l,e=>h(e,{apiVersion:"v1",kind:"Namespace"}))}(w,v,l);return void 0===g?e:e.map(e=>`${g}=${e}`)}return o.startsWith("-")?$.map(e=>`--${e.name}${void 0===e.value?"":"="}`):"references"===p.takes?async function(e,t,o){let l=e.startsWith("!")?"!":"",n=e.indexOf("/"),[a="",...s]=t.references.at(-1)??[],c=!/[/\s]/.test(a)&&"-"!==a&&""!==a;if(n<0&&!c)return i.T8.map(({kind:e})=>`${l}${e.toLowerCase()}/`);let u=n<0?a:e.slice(l.length,n),d=await _(t,o,async e=>{let t=(0,r.oH)(u,await e.discover());if(void 0===t)return[];let o=t.namespaced?e.namespace:void 0;return h(e,{apiVersion:(0,r.uO)(t),kind:t.kind,namespace:o})});return n<0?d.filter(e=>!s.includes(e)):d.map(t=>`${e.slice(0,n+1)}${t}`)}(o,v,l):[]})(l.slice(0,-1),s,o).catch(()=>[])).filter(e=>e.startsWith(s)&&/^[\w./:@=!-]+$/.test(e)),v="bash"===e?s.slice(0,s.indexOf("=")+1):"";return(0,p.tj)(o.stdout,c.map(e=>e.slice(v.length))),0}async function h(e,t){return(await e.selectMetadata(t)??[]).map(({metadata:e})=>e.name)}async function _({flags:e},t,o){let{inputs:n}=(0,a.Ko)((0,m.o9)(e)),i=(0,s.m6)(n,{...(0,p.ao)(t),onRetry:()=>{}}),{promise:r,resolve:u}=Promise.withResolvers(),d=l.ml.after(c.ddm,()=>u([]));try{let e=o(i);return e.catch(()=>{}),await Promise.race([e,r])}finally{d(),i.close()}}}),9336:((e,t,o)=>{o.r(t),o.d(t,{completion:()=>r,shells:()=>i});var l=o(27406),n=o(33135);let a={bash:`_rollout_gate() {
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
`},i=Object.keys(a);async function r({files:e,mistakes:t},o){let[s="",...c]=e,u=Object.hasOwn(a,s)&&0===c.length?a[s]:void 0;if(void 0!==u&&0===t.length)return o.stdout.write(u),0;let d=`${(0,l.hD)(e.join(" "))} is not one of ${i.join(", ")}.`;return(0,n.B9)(new l.yo([...t,...void 0===u?[{input:"SHELL",message:d}]:[]]),o)}})};