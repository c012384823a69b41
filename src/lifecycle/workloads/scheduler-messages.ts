import type { FoundCauses, SchedulingCause } from '../../reasons/pods.ts'

/** The cause for each message of the scheduler's plugins (constants ErrReason… of pkg/scheduler/framework/plugins). */
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
  [
    /^node\(s\) (?:had volume node affinity conflict|didn't match PersistentVolume's node affinity|had no available volume zone|didn't satisfy plugin\(s\) \[VolumeBinding\])$/,
    () => ({ type: 'volume-node' }),
  ],
  [
    /^(node\(s\) didn't find available persistent volumes to bind)$/,
    (message = '') => ({ type: 'unbound-claims', message }),
  ],
  [/^(cannot allocate all claims)$/, (message = '') => ({ type: 'resource-claim', message })],
  [/^node\(s\) exceed max volume count$/, () => ({ type: 'volume-count' })],
  [
    /^node\(s\) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod$/,
    () => ({ type: 'volume-in-use' }),
  ],
]

/** Matches the nodes that a pod does not name, such as the pod of a DaemonSet, which names its node (schedule_one.go). */
const otherNodes =
  /^\d+ node(?:\(s\) didn't satisfy plugin\(s\) \[NodeAffinity\]| is filtered out by the prefilter result)$/

/**
 * The causes in the scheduler's message about an unschedulable pod, such as `0/3 nodes are available: 2 Insufficient
 * cpu, 1 node(s) had untolerated taint {gpu: }. preemption: …`. Unknown causes and other messages keep their text.
 */
export function schedulingCauses(message: string): FoundCauses {
  const [, total, list] = /^0\/(\d+) nodes are available: (.+)$/s.exec(message) ?? []
  if (list === undefined) return { causes: [otherCause(message.replace(/,? ?preemption: .*$/s, '').trim())] }
  // The part about preemption repeats the causes.
  const [reasons = ''] = list.split(
    /\. (?:no new claims|still not schedulable|(?:deallocation|deletion) of ResourceClaim|not found|preemption:|\(|$)|\.$/,
  )
  const all = reasons.split(/, (?=\d+ )/)
  const others = all.filter((part) => !otherNodes.test(part))
  const parts = (others.length === 0 ? all : others).map(readCause)
  // If the cause is in the pod itself, the message contains no number of nodes.
  return { nodes: /^\d/.test(reasons) ? Number(total) : undefined, causes: parts }
}

function readCause(part: string): SchedulingCause {
  const [, count, reason = ''] = /^(\d+) (.+)$/s.exec(part.trim()) ?? []
  if (count === undefined) return otherCause(part.trim())
  for (const [pattern, toCause] of causes) {
    const found = pattern.exec(reason)
    if (found !== null) return { ...toCause(...found.slice(1)), nodes: Number(count) }
  }
  return { ...otherCause(reason), nodes: Number(count) }
}

/** The cause for the taint `{dedicated: database}`. Since Kubernetes 1.34, the scheduler does not name the taint. */
function taintCause(taint?: string): SchedulingCause {
  const [key, value] = taint?.split(/:\s*/) ?? []
  return { type: 'taint', key, value: value || undefined }
}

/** The cause for a message that matches no pattern of `causes`. */
function otherCause(message: string): SchedulingCause {
  const missing = /^persistentvolumeclaim "([^"]{1,253})" not found$/.exec(message)?.[1]
  if (missing !== undefined) return { type: 'missing-claim', name: missing }
  if (message.includes('PersistentVolumeClaims')) return { type: 'unbound-claims', message }
  return { type: /persistentvolumeclaim/i.test(message) ? 'claim' : 'other', message }
}
