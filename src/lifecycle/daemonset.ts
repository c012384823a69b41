import type { DaemonSet, KubeObject, Node, Pod } from '../cluster/objects.ts'
import { milestonesOf } from '../plan/milestones.ts'
import type { Assessment } from './assessment.ts'
import { condition, earliest, isReplaced } from './pod-state.ts'
import { byImportance, examinePods, type PodsState, settledByPods, settledUnseen } from './pods.ts'
import { creationProblem } from './replica-failure.ts'
import { countMilestone, minReadyPatience, podMilestones, pods, terminatingUntil } from './replicas.ts'
import { conclude, createdMilestone, isObserved, observedMilestone, type Rule } from './rule.ts'
import { podRequest, selectedRequest } from './selector.ts'
import type { View } from './view.ts'

const hashLabel = 'controller-revision-hash'
const generationLabel = 'pod-template-generation'
const generationAnnotation = 'deprecated.daemonset.template.generation'

/**
 * A DaemonSet: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/
 *
 * Ready as `kubectl rollout status` has it: the present generation observed, the pods of all its nodes updated and
 * available; and settled. Nodes that are not ready, cordoned, gone or newly joined are told and not waited for, once one
 * new pod is ready elsewhere. With OnDelete all existing pods must be ready, and old ones are told.
 */
export const daemonSetRule: Rule = {
  milestones: milestonesOf({ apiVersion: 'apps/v1', kind: 'DaemonSet' }),
  concernedBy: ['Node'],
  relatives: (object) => [
    podRequest(object as DaemonSet),
    selectedRequest('apps/v1', 'ControllerRevision', object as DaemonSet),
    { apiVersion: 'v1', kind: 'Node' },
  ],
  assess: (object, view) => assessDaemonSet(object as DaemonSet, view),
}

function assessDaemonSet(set: DaemonSet, view: View): Assessment {
  const { status = {} } = set
  const observed = isObserved(set)
  const isOnDelete = set.spec?.updateStrategy?.type === 'OnDelete'
  const desired = status.desiredNumberScheduled ?? 0
  const isNew = revisionTest(set, view)
  const owned = view.owned(set.metadata.uid, 'Pod') as readonly Pod[]
  const excuse = excuses(view)
  const isExcused = (node: string) => excuse(node) !== undefined
  const awaitedPods = observed ? owned.filter((pod) => !isExcused(nodeOf(pod))) : []
  const gated = awaitedPods.filter((pod) => isOnDelete || isNew(pod))
  const seesPods = view.knowledge(podRequest(set)) === 'complete'
  const state = seesPods ? examinePods(gated, view) : undefined
  // Only pods of the new revision fail it (DESIGN §2); with OnDelete the old ones stay, and are among those that count.
  const current = seesPods ? examinePods(awaitedPods.filter(isNew), view) : undefined

  const passed = state?.pods.filter((pod) => pod.settled).length ?? 0
  const unfinished = passed === 0 ? [] : unfinishedNodes(owned, isExcused, isNew)
  const awaited = Math.max(0, desired - unfinished.length)
  const updated = isOnDelete ? desired : (status.updatedNumberScheduled ?? 0)
  const available = (isOnDelete ? status.numberReady : status.numberAvailable) ?? 0
  const isUpdated = observed && updated >= awaited
  const isAvailable = isUpdated && available >= awaited
  const settled = state === undefined ? settledUnseen(view) : settledByPods(state, awaited, view)
  const old = owned.filter((pod) => !isReplaced(pod) && !isNew(pod)).length
  const problems = [
    ...(current?.problems ?? []),
    ...creationProblem(set, view, (status.currentNumberScheduled ?? 0) < desired),
  ].toSorted(byImportance)
  const failure = current?.failure ?? problems.find((problem) => problem.proven && !problem.subject.startsWith('pod/'))
  const terminating = terminatingUntil(owned, view.time, view.now)
  const patience =
    state?.patience ??
    minReadyPatience(set.spec?.minReadySeconds, state, status.numberAvailable ?? 0) ??
    (terminating === undefined ? undefined : 'a pod is within its grace period')
  const created = Math.max(desired === 0 ? 0 : 1, gated.length)

  return conclude(set, view, {
    ready: isAvailable && settled.done,
    readyMessage:
      desired === 0
        ? 'no node takes its pods'
        : `${available} of ${pods(desired)} ${isOnDelete ? 'ready' : 'available'}`,
    milestones: [
      createdMilestone,
      observedMilestone(set),
      ...podMilestones(state, observed ? Math.min(awaited, created) : created),
      readyMilestone(state, observed ? available : 0, awaited, isAvailable && settled.done, observed),
      { ...countMilestone('updated', updated, awaited, 'updated'), state: isUpdated ? 'done' : 'open' },
    ],
    problems,
    ...(failure === undefined ? {} : { failure }),
    ...(patience === undefined ? {} : { patience }),
    ...earliest([state?.recheckAt, settled.at, terminating]),
    pods: new Set(gated.flatMap((pod) => pod.metadata.uid ?? [])),
    notes: [
      ...(isOnDelete && old > 0
        ? [`${pods(old)} of an older revision: updateStrategy OnDelete replaces a pod only when it is deleted`]
        : []),
      ...(unfinished.length > 0
        ? [
            `not waiting for ${unfinished
              .slice(0, 5)
              .map((node) => `${node} (${excuse(node)})`)
              .join(', ')}${unfinished.length > 5 ? ` and ${unfinished.length - 5} more nodes` : ''}`,
          ]
        : []),
    ],
  })
}

function readyMilestone(
  state: PodsState | undefined,
  available: number,
  awaited: number,
  isDone: boolean,
  observed: boolean,
) {
  const ready = state === undefined ? available : state.pods.filter((pod) => pod.settled).length
  const milestone = countMilestone('ready', ready, awaited, 'ready')
  return { ...milestone, state: isDone ? ('done' as const) : observed ? milestone.state : ('open' as const) }
}

/**
 * Whether a pod is of the present template: by the hash of the newest ControllerRevision, or by the template generation,
 * either of which satisfies the controller (IsPodUpdated, pkg/controller/daemon/util).
 */
function revisionTest(set: DaemonSet, view: View): (pod: Pod) => boolean {
  const revisions = view.owned(set.metadata.uid, 'ControllerRevision') as readonly (KubeObject & {
    revision?: number
  })[]
  const newest = revisions.toSorted((a, b) => (b.revision ?? 0) - (a.revision ?? 0))[0]?.metadata.labels?.[hashLabel]
  const generation = set.metadata.annotations?.[generationAnnotation]
  if (newest === undefined && generation === undefined) return () => true
  return ({ metadata: { labels = {} } }) =>
    (newest !== undefined && labels[hashLabel] === newest) ||
    (generation !== undefined && labels[generationLabel] === generation)
}

/** Why nobody should wait for a node: it is not ready, cordoned, gone, or joined since the gate began. */
function excuses(view: View): (node: string) => string | undefined {
  const nodes = new Map((view.list('Node', undefined) as readonly Node[]).map((node) => [node.metadata.name, node]))
  return (name) => {
    const node = nodes.get(name)
    if (nodes.size === 0 || name === '') return undefined
    if (node === undefined) return 'gone'
    if (node.spec?.unschedulable === true) return 'cordoned'
    if (condition(node, 'Ready')?.status !== 'True') return 'not ready'
    return (view.time(node.metadata.creationTimestamp) ?? 0) <= view.startedAt
      ? undefined
      : 'joined since the gate began'
  }
}

/**
 * The excused nodes that have a pod of this set which is not finished, and so holds nothing up. A node without one may not
 * be meant by the set at all (node selector, taints), and is not among them.
 */
function unfinishedNodes(
  owned: readonly Pod[],
  isExcused: (node: string) => boolean,
  isNew: (pod: Pod) => boolean,
): readonly string[] {
  const isFinished = (pod: Pod) => isNew(pod) && !isReplaced(pod) && condition(pod, 'Ready')?.status === 'True'
  const finished = new Set(owned.filter(isFinished).map(nodeOf))
  return [...new Set(owned.map(nodeOf))].filter((node) => isExcused(node) && !finished.has(node))
}

/** A pod that waits for its node names it by the affinity that the controller gives it (pkg/controller/daemon/util). */
function nodeOf({ spec }: Pod): string {
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
