import type { DaemonSet, KubeObject, Pod } from '../../cluster/objects.ts'
import { milestonesOf } from '../../plan/milestones.ts'
import type { Assessment, Milestone } from '../assessment.ts'
import { podRequest, selectedRequest } from '../network/selector.ts'
import { conclude, createdMilestone, isObserved, observedMilestone, type Rule } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'
import { excuses, nodeOf, unfinishedNodes } from './daemon-nodes.ts'
import { earliest, isReplaced } from './pod-state.ts'
import { byImportance, examinePods, type PodsState, settledByPods, settledUnseen } from './pods.ts'
import { creationProblem } from './replica-failure.ts'
import { countMilestone, podMilestones, pods, settlingMilestone, stallHold } from './replicas.ts'
import { findRevision, newestOf } from './revision.ts'
import { stuckPods } from './stuck-termination.ts'
import { templateMadeAt } from './template-change.ts'

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
  assess: (object, context) => assessDaemonSet(object as DaemonSet, context),
}

function assessDaemonSet(set: DaemonSet, context: RuleContext): Assessment {
  const { status = {} } = set
  const observed = isObserved(set)
  const isOnDelete = set.spec?.updateStrategy?.type === 'OnDelete'
  const desired = status.desiredNumberScheduled ?? 0
  const present = presentRevision(set, context)
  const isNew = revisionTest(set, present, context)
  const owned = context.owned(set.metadata.uid, 'Pod') as readonly Pod[]
  const excuse = excuses(context)
  const isExcused = (node: string) => excuse(node) !== undefined
  const awaitedPods = observed ? owned.filter((pod) => !isExcused(nodeOf(pod))) : []
  const gated = awaitedPods.filter((pod) => isOnDelete || isNew(pod))
  const seesPods = context.listState(podRequest(set)) === 'complete'
  const state = seesPods ? examinePods(gated, context) : undefined
  // Only pods of the new revision fail it (DESIGN §2); with OnDelete the old ones stay, and are among those that count.
  const current = seesPods
    ? examinePods(awaitedPods.filter(isNew), context, context.lostPods(set.metadata.uid).filter(isNew))
    : undefined

  const passed = state?.pods.filter((pod) => pod.settled).length ?? 0
  const unfinished = passed === 0 ? [] : unfinishedNodes(owned, isExcused, isNew)
  // Of a node that is gone, or that has a pod although none should be there, the controller counts nothing.
  const uncounted = Math.max(0, new Set(owned.map(nodeOf)).size - (status.currentNumberScheduled ?? 0))
  const awaited = Math.max(0, desired - Math.max(0, unfinished.length - uncounted))
  const updated = isOnDelete ? desired : (status.updatedNumberScheduled ?? 0)
  const available = (isOnDelete ? status.numberReady : status.numberAvailable) ?? 0
  const isUpdated = observed && updated >= awaited
  const isAvailable = isUpdated && available >= awaited
  const settled = state === undefined ? settledUnseen(context) : settledByPods(state, awaited, context)
  const isOld = (pod: Pod) => !isReplaced(pod) && !isNew(pod)
  const old = owned.filter(isOld).length
  // The controller's counts contain excused nodes, and none that the set should not run on any more (NodeShouldRunDaemonPod,
  // pkg/controller/daemon): of both, only the pods show whether the others are done.
  const seesRevisions = context.owned(set.metadata.uid, 'ControllerRevision').length > 0
  const leftOver = isOnDelete || (unfinished.length === 0 && !seesRevisions) ? 0 : awaitedPods.filter(isOld).length
  const isDoneElsewhere = unfinished.length === 0 || gated.filter((pod) => !isReplaced(pod)).length >= awaited
  const isDone = isAvailable && isDoneElsewhere && leftOver === 0 && settled.done
  const stuck = stuckPods(owned, context)
  const problems = [
    ...(current?.problems ?? []),
    ...(isDone ? [] : stuck.problems),
    ...creationProblem(
      set,
      context,
      observed && (status.currentNumberScheduled ?? 0) < desired,
      templateMadeAt(set, present, context),
    ),
  ].toSorted(byImportance)
  const failure = current?.failure ?? problems.find((problem) => problem.proven && !problem.subject.startsWith('pod/'))
  const hold = stallHold(state, owned, set.spec?.minReadySeconds, context)
  const created = Math.max(desired === 0 ? 0 : 1, gated.length)

  return conclude(set, context, {
    ready: isDone,
    readyMessage:
      desired === 0
        ? 'no node takes its pods'
        : `${available} of ${pods(desired)} ${isOnDelete ? 'ready' : 'available'}`,
    milestones: [
      createdMilestone,
      observedMilestone(set),
      ...podMilestones(state, observed ? Math.min(awaited, created) : created),
      readyMilestone(state, observed ? available : 0, awaited, isDone, observed),
      updatedMilestone(updated, awaited, isUpdated, leftOver),
    ],
    problems,
    ...(failure === undefined ? {} : { failure }),
    ...hold,
    ...earliest([state?.recheckAt, settled.at, hold.recheckAt, stuck.recheckAt]),
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
  const milestone = settlingMilestone(countMilestone('ready', ready, awaited, 'ready'), state, awaited)
  return { ...milestone, state: isDone ? ('done' as const) : observed ? milestone.state : ('open' as const) }
}

/** @param leftOver how many pods of an older revision are left, on nodes that count or not */
function updatedMilestone(updated: number, awaited: number, isUpdated: boolean, leftOver: number): Milestone {
  const milestone = countMilestone('updated', updated, awaited, 'updated')
  if (!isUpdated || leftOver === 0) return { ...milestone, state: isUpdated ? 'done' : 'open' }
  return { ...milestone, state: 'open', message: `${pods(leftOver)} of an older revision still running` }
}

/**
 * The ControllerRevision with the present template. Where no template can be compared, it is the newest one, as soon as the
 * controller counts pods of it.
 */
function presentRevision(set: DaemonSet, context: RuleContext): KubeObject | undefined {
  const revisions = context.owned(set.metadata.uid, 'ControllerRevision')
  return findRevision(set.spec?.template, revisions) ?? (updatedPods(set) > 0 ? newestOf(revisions) : undefined)
}

function updatedPods(set: DaemonSet): number {
  return isObserved(set) ? (set.status?.updatedNumberScheduled ?? 0) : 0
}

/**
 * Whether a pod is of the present template: by the hash of its ControllerRevision, or by the template generation, either of
 * which satisfies the controller (IsPodUpdated, pkg/controller/daemon/util). Without both, all pods are, once the controller
 * counts them all as updated.
 */
function revisionTest(set: DaemonSet, present: KubeObject | undefined, context: RuleContext): (pod: Pod) => boolean {
  const hash = present?.metadata.labels?.[hashLabel]
  const generation = set.metadata.annotations?.[generationAnnotation]
  if (hash === undefined && generation === undefined) {
    const areAllUpdated = updatedPods(set) >= context.owned(set.metadata.uid, 'Pod').length
    return () => areAllUpdated
  }
  return ({ metadata: { labels = {} } }) =>
    (hash !== undefined && labels[hashLabel] === hash) ||
    (generation !== undefined && labels[generationLabel] === generation)
}
