/**
 * The reasons of the scheduler's plugins for turning a node down, in words that need no knowledge of them; `1` is for one
 * node, the other for several (pkg/scheduler/framework/plugins, each plugin's ErrReason…).
 */
const reasons: readonly (readonly [RegExp, one: string, several: string])[] = [
  [/^Insufficient (.+)$/, 'lacks $1', 'lack $1'],
  [/^Too many pods$/, 'is full of pods', 'are full of pods'],
  [
    /^node\(s\) had untolerated taint(?:\(s\))?(?: \{(.+)\})?$/,
    'has a taint that the pod does not tolerate{}',
    'have a taint that the pod does not tolerate{}',
  ],
  [
    /^node\(s\) had taints? \{(.+)\}, that the pod didn't tolerate$/,
    'has a taint that the pod does not tolerate{}',
    'have a taint that the pod does not tolerate{}',
  ],
  [/^node\(s\) were unschedulable$/, 'is cordoned', 'are cordoned'],
  [
    /^node\(s\) didn't match (?:Pod's node affinity\/selector|Pod's node affinity|node selector|node affinity)$/,
    'does not match its node selector or affinity',
    'do not match its node selector or affinity',
  ],
  [
    /^node\(s\) didn't (?:match|satisfy) (?:existing )?(pods?) (anti-affinity|affinity)(?: rules)?$/,
    'does not match the $2 between pods',
    'do not match the $2 between pods',
  ],
  [
    /^node\(s\) didn't match pod topology spread constraints.*$/,
    'does not match its topology spread constraints',
    'do not match its topology spread constraints',
  ],
  [/^node\(s\) didn't have free ports.*$/, 'has the host port taken', 'have the host port taken'],
  [/^node\(s\) had volume node affinity conflict$/, 'cannot reach its volume', 'cannot reach its volume'],
  [/^node\(s\) exceed max volume count$/, 'has no room for another volume', 'have no room for another volume'],
]

/**
 * The scheduler's message about a pod that no node takes, taken apart: `0/3 nodes are available: 2 Insufficient cpu, 1
 * node(s) had untolerated taint {gpu: }. preemption: …` becomes `of 3 nodes, 2 lack cpu, 1 has a taint that the pod does
 * not tolerate (gpu)`. A reason that is not known keeps its words; so does a message of another form.
 */
export function schedulerWords(message: string): string {
  const [, total = '', list] = /^0\/(\d+) nodes are available: (.+)$/s.exec(message) ?? []
  if (list === undefined) return message.replace(/,? ?preemption: .*$/s, '').trim()
  // What would come of preemption repeats the reasons; no sentence before it says why a node is turned down.
  const [told = ''] = list.split(/\. (?:no new claims|not found|preemption:|\(|$)|\.$/)
  const parts = told.split(/, (?=\d+ )/).map(reasonWords)
  // What is wrong with the pod whatever the node stands there without a number.
  if (!/^\d/.test(told)) return parts.join(', ')
  return `of ${total} ${total === '1' ? 'node' : 'nodes'}, ${parts.join(', ')}`
}

function reasonWords(part: string): string {
  const [, count = '', reason] = /^(\d+) (.+)$/s.exec(part.trim()) ?? []
  if (reason === undefined) return part.trim()
  for (const [pattern, one, several] of reasons) {
    const found = pattern.exec(reason)
    if (found === null) continue
    const words = (count === '1' ? one : several).replace(/\$(\d)/g, (_, group) => found[Number(group)] ?? '')
    return `${count} ${words.replace('{}', taintWords(found[1]))}`
  }
  return `${count} ${reason}`
}

/** `{dedicated: database}` → ` (dedicated=database)`; since 1.34 the scheduler does not say which taint. */
function taintWords(taint: string | undefined): string {
  if (taint === undefined) return ''
  const [key = '', value = ''] = taint.split(/:\s*/)
  return ` (${value === '' ? key : `${key}=${value}`})`
}
