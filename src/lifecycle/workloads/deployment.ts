import type { Deployment, DeploymentStatus, KubeObject, Pod, ReplicaSet } from '../../cluster/objects.ts'
import { milestonesOf } from '../../plan/milestones.ts'
import { classOf, type Problem } from '../../reasons/reasons.ts'
import type { Assessment, Milestone } from '../assessment.ts'
import { podRequest, selectedRequest } from '../network/selector.ts'
import { proveReported } from '../proof.ts'
import { conclude, createdMilestone, isObserved, observedMilestone, type Rule } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'
import { condition, earliest } from './pod-state.ts'
import {
  byImportance,
  examinePods,
  notesOf,
  type PodsState,
  type Settled,
  settledByPods,
  settledUnseen,
} from './pods.ts'
import { rolloutCreationProblem } from './replica-failure.ts'
import { countMilestone, podMilestones, pods, settlingMilestone, stallHold } from './replicas.ts'
import { findRevision, numberOf } from './revision.ts'
import { type StuckPods, stuckPods } from './stuck-termination.ts'

/** A deadline that already stood at first sight is believed when no number of the status moved for this long. */
const standingDeadlineMs = 10_000

/**
 * A Deployment: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#deployment-status
 *
 * Ready as `kubectl rollout status` has it (pkg/polymorphichelpers in kubectl): the present generation observed, all
 * replicas updated, none of an older revision left by the controller's counts, all of them available; and, beyond it,
 * every container without a readiness probe has run for the settle time, so that a crash loop does not pass.
 */
export const deploymentRule: Rule = {
  milestones: milestonesOf({ apiVersion: 'apps/v1', kind: 'Deployment' }),
  relatives: (object) => [replicaSetRequest(object as Deployment), podRequest(object as Deployment)],
  assess: (object, context) => assessDeployment(object as Deployment, context),
}

function replicaSetRequest(deployment: Deployment) {
  return selectedRequest('apps/v1', 'ReplicaSet', deployment)
}

function assessDeployment(deployment: Deployment, context: RuleContext): Assessment {
  const status = deployment.status ?? {}
  const observed = isObserved(deployment)
  const replicas = deployment.spec?.replicas ?? 1
  const updated = status.updatedReplicas ?? 0
  const seesReplicaSets = context.listState(replicaSetRequest(deployment)) === 'complete'
  const seesPods = seesReplicaSets && context.listState(podRequest(deployment)) === 'complete'
  const current = newReplicaSet(deployment, context)
  const revisionPods = context.owned(current?.metadata.uid, 'Pod') as readonly Pod[]
  const podsState = seesPods ? examinePods(revisionPods, context, context.lostPods(current?.metadata.uid)) : undefined

  const isUpdated = observed && updated >= replicas
  const old = Math.max(0, (status.replicas ?? 0) - updated)
  const available = availableReplicas(status, current, old)
  const isAvailable = isUpdated && available >= updated
  // A scale is observed with the counts of before, which the controller itself does not take for complete (DeploymentComplete).
  const surplus = Math.max(0, updated - replicas)
  const isDrained = isUpdated && old === 0 && surplus === 0
  const settled =
    podsState === undefined ? settledByConditions(deployment, context) : settledByPods(podsState, replicas, context)
  const replicaSets = context.owned(deployment.metadata.uid, 'ReplicaSet')
  const all = replicaSets.flatMap((set) => context.owned(set.metadata.uid, 'Pod') as readonly Pod[])
  const draining = all.filter(
    (pod) => pod.metadata.deletionTimestamp !== undefined && !revisionPods.includes(pod),
  ).length

  // Any other strategy makes new pods whatever becomes of the old ones.
  const stuck: StuckPods =
    deployment.spec?.strategy?.type === 'Recreate' && !isUpdated ? stuckPods(all, context) : { problems: [] }
  const deadline = progressDeadline(deployment, observed, context, podsState?.problems[0] ?? stuck.problems[0])
  const problems = [
    ...(podsState?.problems ?? []),
    ...stuck.problems,
    ...(isUpdated || (old === 0 && (current !== undefined || updated > 0)) ? [] : pausedProblem(deployment, context)),
    ...rolloutCreationProblem(deployment, current, replicaSets as readonly ReplicaSet[], context),
    ...(deadline === undefined ? [] : [deadline]),
  ].sort(byImportance)
  const failure = podsState?.failure ?? failureOf(problems)
  const hold = stallHold(podsState, all, deployment.spec?.minReadySeconds, context)

  return conclude(deployment, context, {
    ready: isAvailable && isDrained && settled.done,
    readyMessage: `${current === undefined ? '' : `revision ${revisionOf(current)}, `}${available} of ${pods(replicas)} available`,
    milestones: [
      createdMilestone,
      observedMilestone(deployment),
      replicaSetMilestone(deployment, current, isUpdated, seesReplicaSets),
      ...podMilestones(podsState, wanted(current, replicas)),
      readyMilestone(deployment, podsState, replicas),
      {
        ...countMilestone('available', Math.min(available, updated), replicas, 'available'),
        ...(isAvailable ? { state: 'done' } : { state: 'open' }),
      },
      drainedMilestone(isDrained, old, surplus, replicaSets.length > 1),
    ],
    problems,
    ...(failure === undefined ? {} : { failure }),
    ...hold,
    ...earliest(
      [podsState?.recheckAt, settled.at, hold.recheckAt, stuck.recheckAt].map((at) =>
        at !== undefined && at > context.now ? at : undefined,
      ),
    ),
    pods: new Set(revisionPods.flatMap((pod) => pod.metadata.uid ?? [])),
    notes: [
      ...notesOf(podsState, isAvailable && isDrained && settled.done),
      ...(draining === 0 ? [] : [`${draining} old ${draining === 1 ? 'pod' : 'pods'} still draining`]),
    ],
  })
}

/**
 * How many pods of the new revision are available. The Deployment's count contains those of the older ones (calculateStatus,
 * pkg/controller/deployment): it is the most that there can be, and without all of these the least. Between them the new
 * ReplicaSet's own count decides.
 * @param old how many pods of older revisions the Deployment counts
 */
function availableReplicas(status: DeploymentStatus, current: ReplicaSet | undefined, old: number): number {
  const all = status.availableReplicas ?? 0
  return Math.min(all, Math.max(0, all - old, current?.status?.availableReplicas ?? 0))
}

/**
 * The ReplicaSet of the present template, as the controller finds it; undefined while the controller has not made it. Where
 * templates cannot be compared (a field that the controller's version does not have) it is the one with the Deployment's own
 * revision, once the controller counts its pods as updated.
 */
export function newReplicaSet(deployment: Deployment, context: RuleContext): ReplicaSet | undefined {
  const owned = context.owned(deployment.metadata.uid, 'ReplicaSet') as readonly ReplicaSet[]
  const found = findRevision(deployment.spec?.template, owned)
  const isMade = isObserved(deployment) && (deployment.status?.updatedReplicas ?? 0) > 0
  return found ?? (isMade ? owned.find((set) => numberOf(set) === numberOf(deployment)) : undefined)
}

/**
 * How many pods the new ReplicaSet is to have by now. A rolling update raises it wave by wave, so the first wave already
 * shows whether pods are scheduled, their images pulled and their containers started.
 */
function wanted(current: ReplicaSet | undefined, replicas: number): number {
  return Math.min(replicas, Math.max(1, current?.spec?.replicas ?? replicas))
}

function revisionOf(object: KubeObject): string {
  const number = numberOf(object)
  return Number.isNaN(number) ? '?' : `${number}`
}

/** Without pods to look at, the conditions tell since when the Deployment has stood as it stands. */
function settledByConditions(deployment: Deployment, context: RuleContext): Settled {
  const changed = (deployment.status?.conditions ?? [])
    .filter(({ type }) => type === 'Available' || type === 'Progressing')
    .map((each) => context.time(each.lastUpdateTime ?? each.lastTransitionTime) ?? 0)
  return settledUnseen(context, Math.max(0, ...changed))
}

function replicaSetMilestone(
  deployment: Deployment,
  current: ReplicaSet | undefined,
  isUpdated: boolean,
  canSee: boolean,
): Milestone {
  if (current !== undefined) {
    return {
      name: 'replicaset',
      state: 'done',
      message: `revision ${revisionOf(current)} → ReplicaSet ${current.metadata.name}`,
    }
  }
  if (!canSee) return { name: 'replicaset', state: 'skipped', message: 'ReplicaSets cannot be seen' }
  if (isUpdated) return { name: 'replicaset', state: 'done', message: `revision ${revisionOf(deployment)}` }
  return { name: 'replicaset', state: 'open', message: 'waiting for the new ReplicaSet' }
}

function readyMilestone(deployment: Deployment, state: PodsState | undefined, replicas: number): Milestone {
  if (state === undefined) {
    const ready =
      isObserved(deployment) && (deployment.status?.updatedReplicas ?? 0) >= replicas
        ? (deployment.status?.readyReplicas ?? 0)
        : 0
    return countMilestone('ready', ready, replicas, 'ready')
  }
  const settled = state.pods.filter((pod) => pod.settled).length
  return settlingMilestone(countMilestone('ready', settled, replicas, 'ready'), state, replicas)
}

/** @param surplus how many more pods of the new revision the Deployment has than it wants, after a scale */
function drainedMilestone(isDrained: boolean, old: number, surplus: number, hasOlder: boolean): Milestone {
  if (isDrained)
    return { name: 'drained', state: 'done', message: hasOlder ? 'no active pods of older revisions left' : '' }
  const what = old === 0 && surplus > 0 ? `${pods(surplus)} more than wanted` : `${pods(old)} of older revisions`
  return { name: 'drained', state: 'open', message: `${what} still running` }
}

/**
 * Terminal: the controller gave up (progressDeadlineSeconds without progress) on the generation that is being gated: at
 * once when it turned while watched; when it already stood at first sight (an undo or a scale leaves it standing), once
 * nothing moved for 10 s. While a Deployment is paused its controller estimates no progress, and leaves an earlier report
 * standing (checkPausedConditions, pkg/controller/deployment/sync.go).
 */
function progressDeadline(
  deployment: Deployment,
  observed: boolean,
  context: RuleContext,
  cause: Problem | undefined,
): Problem | undefined {
  const progressing = condition(deployment, 'Progressing')
  if (
    !observed ||
    deployment.spec?.paused ||
    progressing?.status !== 'False' ||
    progressing.reason !== 'ProgressDeadlineExceeded'
  )
    return undefined
  const first = condition(context.history.first as Deployment, 'Progressing')
  const stood = first?.reason === 'ProgressDeadlineExceeded'
  return {
    reason: 'progress-deadline-exceeded',
    subject: `deployment/${deployment.metadata.name}`,
    detail: {
      deadlineSeconds: deployment.spec?.progressDeadlineSeconds ?? 600,
      message: progressing.message ?? 'the deadline has passed',
    },
    // The controller reports only that the deadline has passed; the problem of a pod is why.
    cause,
    count: 1,
    firstSeenAt: context.time(progressing.lastTransitionTime) ?? context.now,
    ...proveReported(context.history.countersMovedAt, stood ? standingDeadlineMs : 0, context.now),
  }
}

/** A proven problem fails the Deployment; the deadline gives way to a pod's problem that explains it. */
function failureOf(problems: readonly Problem[]): Problem | undefined {
  const proven = problems.find(
    (problem) => problem.proven && problem.container === undefined && !problem.subject.startsWith('pod/'),
  )
  if (proven?.reason !== 'progress-deadline-exceeded') return proven
  return problems.find((problem) => classOf(problem) !== 'slow' && problem.subject.startsWith('pod/')) ?? proven
}

/** Slow: nothing is rolled out while it is paused. A scale is, unless it has pods of several revisions. */
function pausedProblem(deployment: Deployment, context: RuleContext): readonly Problem[] {
  if (!deployment.spec?.paused) return []
  return [
    {
      reason: 'paused',
      subject: `deployment/${deployment.metadata.name}`,
      detail: {},
      count: 1,
      firstSeenAt: context.history.firstSeenAt,
      proven: false,
    },
  ]
}
