import type { SchedulingCause, UnschedulableDetail } from '../../reasons/pods.ts'

/** The cause that each message of the scheduler's plugins stands for (pkg/scheduler/framework/plugins, each ErrReason…). */
const causes: readonly (readonly [RegExp, (...groups: readonly string[]) => SchedulingCause])[] = [
  [/^Insufficient (.+)$/, (resource = '') => ({ type: 'resource', resource })],
  [/^Too many pods$/, () => ({ type: 'pod-count' })],
  [/^node\(s\) had untolerated taint(?:\(s\))?(?: \{(.+)\})?$/, taintCause],
  [/^node\(s\) had taints? \{(.+)\}, that the pod didn't tolerate$/, taintCause],
  [/^node\(s\) were unschedulable$/, () => ({ type: 'cordoned' })],
  [
    /^node\(s\) didn't match (?:Pod's node affinity\/selector|Pod's node affinity|node selector|node affinity)$/,
    () => ({ type: 'node-selector' }),
  ],
  [
    /^node\(s\) didn't (?:match|satisfy) (?:existing )?pods? (anti-affinity|affinity)(?: rules)?$/,
    (rule = '') => ({ type: 'pod-affinity', rule }),
  ],
  [/^node\(s\) didn't match pod topology spread constraints.*$/, () => ({ type: 'topology-spread' })],
  [/^node\(s\) didn't have free ports.*$/, () => ({ type: 'host-port' })],
  [/^node\(s\) had volume node affinity conflict$/, () => ({ type: 'volume-node' })],
  [/^node\(s\) exceed max volume count$/, () => ({ type: 'volume-count' })],
]

/**
 * The causes in the scheduler's message about a pod that no node takes, such as `0/3 nodes are available: 2 Insufficient cpu,
 * 1 node(s) had untolerated taint {gpu: }. preemption: …`. An unknown cause keeps its message, and so does a message of
 * another form.
 */
export function schedulingCauses(message: string): UnschedulableDetail {
  const [, total, list] = /^0\/(\d+) nodes are available: (.+)$/s.exec(message) ?? []
  if (list === undefined) return { causes: [messageCause(message.replace(/,? ?preemption: .*$/s, '').trim())] }
  // What would come of preemption repeats the causes; no sentence before it contains one.
  const [reasons = ''] = list.split(/\. (?:no new claims|not found|preemption:|\(|$)|\.$/)
  const parts = reasons.split(/, (?=\d+ )/).map(readCause)
  // A cause that lies in the pod has no number of nodes.
  return { nodes: /^\d/.test(reasons) ? Number(total) : undefined, causes: parts }
}

function readCause(part: string): SchedulingCause {
  const [, count, reason = ''] = /^(\d+) (.+)$/s.exec(part.trim()) ?? []
  if (count === undefined) return messageCause(part.trim())
  for (const [pattern, toCause] of causes) {
    const found = pattern.exec(reason)
    if (found !== null) return { ...toCause(...found.slice(1)), nodes: Number(count) }
  }
  return { ...messageCause(reason), nodes: Number(count) }
}

/** `{dedicated: database}`; since Kubernetes 1.34 the scheduler does not report which taint. */
function taintCause(taint?: string): SchedulingCause {
  const [key, value] = taint?.split(/:\s*/) ?? []
  return { type: 'taint', key, value: value || undefined }
}

function messageCause(message: string): SchedulingCause {
  if (message.includes('PersistentVolumeClaims')) return { type: 'unbound-claims', message }
  return { type: /persistentvolumeclaim/i.test(message) ? 'claim' : 'other', message }
}
