import{Vi as e,ji as t}from"./entrypoints.js";import{u as n}from"./watch-requests.chunk.js";import{a as r,i,n as a,r as o,t as s}from"./main.chunk.js";const c={bash:`_rollout_gate() {
  local IFS=$'\\n'
  COMPREPLY=($(rollout-gate __complete bash "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  case "\${COMPREPLY[0]}" in */ | *=) compopt -o nospace 2>/dev/null ;; esac
}
complete -o default -F _rollout_gate rollout-gate
`,zsh:`#compdef rollout-gate
_rollout_gate() {
  local -a found
  found=("\${(@f)$(rollout-gate __complete zsh "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  local -a open=(\${(M)found:#*[/=]}) whole=(\${found:#*[/=]})
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
`},l=Object.keys(c);async function u({files:n,mistakes:r},i){let[a=``,...o]=n,u=Object.hasOwn(c,a)&&o.length===0?c[a]:void 0;if(u!==void 0&&r.length===0)return i.stdout.write(u),0;let d=`${e(n.join(` `))} is not one of ${l.join(`, `)}.`;return s(new t([...r,...u===void 0?[{input:`SHELL`,message:d}]:[]]),i)}function d([e=``,...t],n,r){let i=e===`bash`?f(t):t,o=i.at(-1)??``,s=p(n,i.slice(0,-1),o).filter(e=>e.startsWith(o)&&/^[\w./:@=!-]+$/.test(e)),c=e===`bash`?o.slice(0,o.indexOf(`=`)+1):``;return a(r.stdout,s.map(e=>e.slice(c.length))),0}function f(e){let t=[];for(let n of e){let e=t.at(-1)??``;e.startsWith(`-`)&&(n===`=`||e.endsWith(`=`))?t.splice(-1,1,`${e}${n}`):t.push(n)}return t}function p(e,[t,...n],a){if(t===void 0)return e.map(e=>e.name);let s=e.find(e=>e.name===t);if(s===void 0)return[];if(s.name===`completion`)return l;let c=[...r(s),...s.flags.filter(({hidden:e})=>!e),o],u=/^(--?[\w-]+)=/.exec(a)?.[1],d=u??n.at(-1)??``,f=c.find(e=>[`--${e.name}`,e.short&&`-${e.short}`].includes(d));if(f!==void 0&&(u!==void 0||f.value!==void 0)){let e=f.choices??[];return u===void 0?e:e.map(e=>`${u}=${e}`)}return a.startsWith(`-`)?c.map(e=>`--${e.name}${e.value===void 0?``:`=`}`):s.takes===`references`?m(a,i(n,s)):[]}function m(e,{references:t}){let[r=``]=t.at(-1)??[],i=!/[/\s]/.test(r)&&r!==`-`&&r!==``,a=e.startsWith(`!`)?`!`:``;return i?[]:n.map(({kind:e})=>`${a}${e.toLowerCase()}/`)}export{d as complete,u as completion};