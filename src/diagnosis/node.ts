import type { Node } from '../cluster/objects.ts'
import type { Refusal } from '../cluster/store.ts'
import type { Evidence } from '../gate/timeline.ts'

/** Conditions that a healthy node has not (k8s.io/api/core/v1, NodeConditionType). */
const pressures: readonly string[] = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable']

/** Taints that say the same as a condition, or as cordoning (k8s.io/api/core/v1/well_known_taints.go). */
const restated: readonly string[] = [
  'node.kubernetes.io/memory-pressure',
  'node.kubernetes.io/disk-pressure',
  'node.kubernetes.io/pid-pressure',
  'node.kubernetes.io/network-unavailable',
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/unreachable',
  'node.kubernetes.io/unschedulable',
]

/** What nodes get that are not in order or on their way out, from Kubernetes, clouds and autoscalers. */
const abnormalTaints =
  /^(node\.kubernetes\.io\/|node\.cloudprovider\.kubernetes\.io\/|ToBeDeletedByClusterAutoscaler$|DeletionCandidateOfClusterAutoscaler$|karpenter\.sh\/disrupt)/

/**
 * What is not in order with the node that a problem happened on, in one line; nothing where all is well. Where it could
 * not be read, why. `since` tells a timestamp of the cluster as a moment of the rollout.
 */
export function nodeEvidence(
  name: string,
  node: Node | undefined,
  refusal: Refusal | undefined,
  since: (timestamp: string | undefined) => string,
): readonly Evidence[] {
  const title = 'Node'
  if (node !== undefined) {
    const wrong = abnormalities(node, since)
    return wrong.length === 0 ? [] : [{ type: 'condition', title, text: `node ${name}: ${wrong.join(', ')}` }]
  }
  if (refusal === undefined) return []
  const why = refusal.type === 'MISSING' ? 'does not exist any more' : `could not be read: ${refusal.message}`
  return [{ type: 'condition', title, text: `node ${name} ${why}` }]
}

function abnormalities({ metadata, spec, status }: Node, since: (timestamp: string | undefined) => string): string[] {
  const conditions = (status?.conditions ?? []).filter(({ type, status: value }) =>
    type === 'Ready' ? value !== 'True' : pressures.includes(type) && value === 'True',
  )
  return [
    ...conditions.map(({ type, status: value, message, lastTransitionTime }) => {
      const words = type !== 'Ready' ? type : value === 'Unknown' ? 'no longer heard of' : 'not ready'
      return `${words}${since(lastTransitionTime)}${message ? ` (${message})` : ''}`
    }),
    ...(metadata.deletionTimestamp === undefined ? [] : ['being deleted']),
    ...(spec?.unschedulable ? ['cordoned'] : []),
    ...(spec?.taints ?? [])
      .filter(({ key }) => abnormalTaints.test(key) && !restated.includes(key))
      .map(({ key, effect }) => `tainted ${key}${effect === undefined ? '' : `:${effect}`}`),
  ]
}
