import type { DaemonSet, KubeObject, Node, Pod, Taint, Toleration } from '../../cluster/objects.ts'
import { awaitedPods, gatedPods } from '../pods.ts'
import type { Reader, RuleReader } from '../reader.ts'
import { controllerRevisionRequest, podRequest } from '../selector.ts'
import { isObserved } from '../stale-status.ts'
import { isReadyByCondition, isReplaced } from './pod-fields.ts'
import { podCreationProblems } from './replica-failure.ts'
import { findRevision, hashLabel, newestRevision, templateCreatedAt } from './revision.ts'
import { podCountText } from './revision-pods.ts'
import {
  type ExaminedPods,
  examineWorkloadPods,
  updatedMilestone,
  type WorkloadFacts,
  workloadMilestones,
  workloadRule,
} from './workload.ts'

const generationLabel = 'pod-template-generation'
const generationAnnotation = 'deprecated.daemonset.template.generation'

/**
 * Judges DaemonSets: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/
 *
 * A DaemonSet is ready under the conditions of `kubectl rollout status`: the present generation is observed, and the
 * pods on all its nodes are updated and available. In addition, the pods must have settled. Once one new pod is ready,
 * the gate no longer waits for nodes that are not ready, cordoned, gone, tainted or newly joined, but reports them.
 * With OnDelete, all existing pods must be ready, and old pods are reported.
 */
export const daemonSetRule = workloadRule<DaemonSet>({
  milestones: [...workloadMilestones, 'updated'],
  presentRevision: findTemplateRevision,
  facts: daemonSetFacts,
})

const nodesRequest = { apiVersion: 'v1', kind: 'Node' } as const

function daemonSetFacts(set: DaemonSet, reader: RuleReader): WorkloadFacts {
  const { metadata, spec = {}, status = {} } = set
  const observed = isObserved(set)
  const isOnDelete = spec.updateStrategy?.type === 'OnDelete'
  const desired = status.desiredNumberScheduled ?? 0
  const onNodes = status.currentNumberScheduled ?? 0
  const updatedCount = status.updatedNumberScheduled ?? 0
  const pods = findPods(set, reader)
  const { owned, examined, present, isFinished, nodes } = pods
  const isSkipped = (node: string) => nodes.skipReason(node) !== undefined

  const isAnySettled = (examined.state?.settled.length ?? 0) > 0
  // Nodes without a pod are omitted: a node selector or a taint may exclude them.
  const podNodes = [...new Set(owned.map(nodeNameOf))]
  const finished = new Set(owned.filter(isFinished).map(nodeNameOf))
  const skipped = podNodes.filter(isSkipped)
  const unfinishedSkipped = isAnySettled ? skipped.filter((node) => !finished.has(node)) : []
  // The controller does not count nodes that are gone, or that should not have a pod.
  const uncounted = Math.max(0, podNodes.length - onNodes)
  const awaited = Math.max(0, desired - Math.max(0, unfinishedSkipped.length - uncounted))
  const finishedSkipped = skipped.filter((node) => finished.has(node) && nodes.isCounted(node))
  const awaitedElsewhere = Math.max(0, awaited - finishedSkipped.length)
  const updated = isOnDelete ? desired : updatedCount
  const available = (isOnDelete ? status.numberReady : status.numberAvailable) ?? 0
  const isUpdated = observed && updated >= awaited
  const leftOver = countPodsToReplace(set, pods, unfinishedSkipped.length > 0, reader)
  const isDoneElsewhere = unfinishedSkipped.length === 0 || awaitedPods(examined.pods).length >= awaitedElsewhere
  const created = Math.max(desired === 0 ? 0 : 1, gatedPods(examined.pods).length)
  reader.milestone(updatedMilestone(examined.pods, { done: updatedCount, total: awaited, isDone: isUpdated, leftOver }))
  noteSkippedNodes(
    unfinishedSkipped.map((node) => `${node} (${nodes.skipReason(node)})`),
    reader,
  )
  return {
    examined,
    isComplete: isUpdated && available >= awaited && isDoneElsewhere && leftOver === 0,
    wanted: awaited,
    counted: observed ? available : 0,
    created: observed ? Math.min(awaited, created) : created,
    message:
      desired === 0
        ? 'no node takes its pods'
        : `${available} of ${podCountText(desired)} ${isOnDelete ? 'ready' : 'available'}`,
    toSettle: awaitedElsewhere,
    removedAt: reader.removedAt(metadata.uid, present?.metadata.labels?.[hashLabel]),
    problems: podCreationProblems(set, reader, observed && onNodes < desired, templateCreatedAt(set, present, reader)),
  }
}

interface SetPods {
  readonly owned: readonly Pod[]
  readonly examined: ExaminedPods
  /** The revision of the present template. */
  readonly present: KubeObject | undefined
  /** Whether a pod is ready and has the present template. With OnDelete, any template counts. */
  readonly isFinished: (pod: Pod) => boolean
  readonly nodes: AwaitedNodes
}

function findPods(set: DaemonSet, reader: Reader): SetPods {
  const isOnDelete = set.spec?.updateStrategy?.type === 'OnDelete'
  const observed = isObserved(set)
  const present = findTemplateRevision(set, reader)
  const isNew = presentTemplateTest(set, present, reader)
  const owned = reader.owned(podRequest(set), set.metadata.uid)
  const isFinished = (pod: Pod) => (isOnDelete || isNew(pod)) && !isReplaced(pod) && isReadyByCondition(pod)
  const nodes = awaitedNodes(set, owned, isFinished, reader)
  const revisionOf = (pod: Pod) => {
    const isAwaited = nodes.skipReason(nodeNameOf(pod)) === undefined
    if (isNew(pod)) return observed && isAwaited ? 'new' : undefined
    return isOnDelete && isAwaited ? 'kept' : 'old'
  }
  const failedPods = reader.endedPods(set.metadata.uid, 'Failed').filter(isNew)
  const mayFail = (pod: Pod) => nodes.isReliable(nodeNameOf(pod))
  const traits = { revisionOf, failedPods, mayFail, replacesOnDelete: isOnDelete, waitsForTermination: true }
  const examined = examineWorkloadPods(set, owned, traits, reader)
  return { owned, examined, present, isFinished, nodes }
}

/**
 * The number of old pods that the update still has to replace, counted from the pods themselves. The controller's
 * counts include nodes that the gate skips, and omit nodes that should no longer have a pod (NodeShouldRunDaemonPod,
 * pkg/controller/daemon).
 * @param hasUnfinishedSkipped whether a skipped node has a pod that is not ready or not updated
 */
function countPodsToReplace(
  { metadata }: DaemonSet,
  { examined: { pods }, nodes }: SetPods,
  hasUnfinishedSkipped: boolean,
  reader: Reader,
): number {
  const canReadRevisions = reader.listKnownOwned(metadata.uid, 'ControllerRevision').length > 0
  if (!hasUnfinishedSkipped && !canReadRevisions) return 0
  return pods.old.filter((pod) => nodes.skipReason(nodeNameOf(pod)) === undefined).length
}

/** Reports the nodes that the gate skips, each with its reason: `node-1 (cordoned)`. */
function noteSkippedNodes(nodes: readonly string[], reader: RuleReader): void {
  const more = nodes.length > 5 ? ` and ${nodes.length - 5} more nodes` : ''
  if (nodes.length > 0) reader.note(`not waiting for ${nodes.slice(0, 5).join(', ')}${more}`)
}

/** The ControllerRevision with the present template. If none matches and pods are updated, the newest one. */
function findTemplateRevision(set: DaemonSet, reader: Pick<Reader, 'owned'>): KubeObject | undefined {
  const revisions = reader.owned(controllerRevisionRequest(set), set.metadata.uid)
  return (
    findRevision(set.spec?.template, revisions) ?? (updatedPodCount(set) > 0 ? newestRevision(revisions) : undefined)
  )
}

function updatedPodCount(set: DaemonSet): number {
  return isObserved(set) ? (set.status?.updatedNumberScheduled ?? 0) : 0
}

/**
 * Returns a function that decides whether a pod has the present template. It compares the hash of the
 * ControllerRevision or, if the hash is unknown, the template generation (IsPodUpdated, pkg/controller/daemon/util). If
 * both are unknown, all pods have the template once the controller counts all of them as updated.
 */
function presentTemplateTest(set: DaemonSet, present: KubeObject | undefined, reader: Reader): (pod: Pod) => boolean {
  const hash = present?.metadata.labels?.[hashLabel]
  if (hash !== undefined) return ({ metadata: { labels } }) => labels?.[hashLabel] === hash
  const generation = set.metadata.annotations?.[generationAnnotation]
  if (generation !== undefined) return ({ metadata: { labels } }) => labels?.[generationLabel] === generation
  const areAllUpdated = updatedPodCount(set) >= reader.listKnownOwned(set.metadata.uid, 'Pod').length
  return () => areAllUpdated
}

const cordoned = 'cordoned'

interface AwaitedNodes {
  /** Why the gate does not wait for a node; undefined if it waits. */
  readonly skipReason: (node: string) => string | undefined
  /** Whether the controller counts a node as desired. */
  readonly isCounted: (node: string) => boolean
  /** Whether a pod on this node may fail the DaemonSet. A node may itself be the cause, for example a new one. */
  readonly isReliable: (node: string) => boolean
}

/**
 * Decides which nodes the gate waits for. Once a new pod is ready on another node, the gate skips nodes that are not
 * ready, cordoned, gone, tainted, or joined after the gate's start. If all desired nodes are like this, their pods may
 * fail the DaemonSet.
 */
function awaitedNodes(
  set: DaemonSet,
  owned: readonly Pod[],
  isFinished: (pod: Pod) => boolean,
  reader: Reader,
): AwaitedNodes {
  const { desiredNumberScheduled: desired = 0 } = set.status ?? {}
  const tolerations = set.spec?.template?.spec?.tolerations
  const nodes = new Map(reader.list(nodesRequest).map((node) => [node.metadata.name, node]))
  const skipReasonOf = (name: string) => {
    const node = nodes.get(name)
    if (nodes.size === 0 || name === '') return undefined
    if (node === undefined) return 'gone'
    if (!isReadyByCondition(node)) return 'not ready'
    const taint = repellingTaint(node, tolerations)
    if (taint !== undefined) return `it has the taint ${taint.key}`
    if (node.spec?.unschedulable === true) return cordoned
    return (reader.time(node.metadata.creationTimestamp) ?? 0) <= reader.startedAt
      ? undefined
      : 'joined since the gate began'
  }
  const isCounted = (name: string) => {
    const node = nodes.get(name)
    return node !== undefined && repellingTaint(node, tolerations) === undefined
  }
  const skippedNodes = new Set(
    owned.map(nodeNameOf).filter((node) => isCounted(node) && skipReasonOf(node) !== undefined),
  )
  const isReadyElsewhere = owned.some((pod) => isFinished(pod) && skipReasonOf(nodeNameOf(pod)) === undefined)
  return {
    skipReason: isReadyElsewhere ? skipReasonOf : () => undefined,
    isCounted,
    isReliable: (name) => [undefined, cordoned].includes(skipReasonOf(name)) || skippedNodes.size >= desired,
  }
}

/**
 * The taints, with their effects, that the pods of every DaemonSet tolerate (AddOrUpdateDaemonPodTolerations,
 * pkg/controller/daemon/util). The NoSchedule taint of a lost node is not among them.
 */
const toleratedTaints = [
  /^node\.kubernetes\.io\/(?:not-ready|unreachable):NoExecute$/,
  /^node\.kubernetes\.io\/(?:(?:disk|memory|pid)-pressure|unschedulable|network-unavailable):NoSchedule$/,
]

/**
 * A taint that excludes new pods from a node. The controller does not count the node and creates no pod there. With
 * NoSchedule, an existing pod stays (NodeShouldRunDaemonPod, pkg/controller/daemon).
 */
function repellingTaint({ spec: { taints = [] } = {} }: Node, tolerations: readonly Toleration[] = []) {
  return taints.find(
    (taint) =>
      (taint.effect === 'NoSchedule' || taint.effect === 'NoExecute') &&
      !toleratedTaints.some((tolerated) => tolerated.test(`${taint.key}:${taint.effect}`)) &&
      !tolerations.some((toleration) => isTaintTolerated(toleration, taint)),
  )
}

/** Whether a toleration matches a taint (ToleratesTaint, k8s.io/component-helpers/scheduling/corev1). */
function isTaintTolerated({ key, operator = 'Equal', value = '', effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false
  if (key && key !== taint.key) return false
  return operator === 'Exists' || (operator === 'Equal' && value === (taint.value ?? ''))
}

/** The node of a pod. Before the pod is scheduled, its node affinity names the node (pkg/controller/daemon/util). */
function nodeNameOf({ spec }: Pod): string {
  if (spec?.nodeName !== undefined && spec.nodeName !== '') return spec.nodeName
  const terms = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  const fields = terms.flatMap(({ matchFields = [] }) => matchFields)
  return fields.find(({ key }) => key === 'metadata.name')?.values?.[0] ?? ''
}
