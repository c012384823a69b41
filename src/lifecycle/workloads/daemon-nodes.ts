import type { Node, Pod } from '../../cluster/objects.ts'
import type { RuleContext } from '../rule-context.ts'
import { condition, isReplaced } from './pod-state.ts'

/** Why nobody should wait for a node: it is not ready, cordoned, gone, or joined since the gate began. */
export function excuses(context: RuleContext): (node: string) => string | undefined {
  const nodes = new Map((context.list('Node', undefined) as readonly Node[]).map((node) => [node.metadata.name, node]))
  return (name) => {
    const node = nodes.get(name)
    if (nodes.size === 0 || name === '') return undefined
    if (node === undefined) return 'gone'
    if (node.spec?.unschedulable === true) return 'cordoned'
    if (condition(node, 'Ready')?.status !== 'True') return 'not ready'
    return (context.time(node.metadata.creationTimestamp) ?? 0) <= context.startedAt
      ? undefined
      : 'joined since the gate began'
  }
}

/**
 * The excused nodes that have a pod of this set which is not finished, and so holds nothing up. A node without one may not
 * be meant by the set at all (node selector, taints), and is not among them.
 */
export function unfinishedNodes(
  owned: readonly Pod[],
  isExcused: (node: string) => boolean,
  isNew: (pod: Pod) => boolean,
): readonly string[] {
  const isFinished = (pod: Pod) => isNew(pod) && !isReplaced(pod) && condition(pod, 'Ready')?.status === 'True'
  const finished = new Set(owned.filter(isFinished).map(nodeOf))
  return [...new Set(owned.map(nodeOf))].filter((node) => isExcused(node) && !finished.has(node))
}

/** A pod that waits for its node names it by the affinity that the controller gives it (pkg/controller/daemon/util). */
export function nodeOf({ spec }: Pod): string {
  if (spec?.nodeName !== undefined && spec.nodeName !== '') return spec.nodeName
  const { affinity } = (spec ?? {}) as { affinity?: NodeAffinity }
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  const fields = terms.flatMap(({ matchFields = [] }) => matchFields)
  return fields.find(({ key }) => key === 'metadata.name')?.values?.[0] ?? ''
}

interface NodeAffinity {
  nodeAffinity?: {
    requiredDuringSchedulingIgnoredDuringExecution?: {
      nodeSelectorTerms?: { matchFields?: { key?: string; values?: string[] }[] }[]
    }
  }
}
