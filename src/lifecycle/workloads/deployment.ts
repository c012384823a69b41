import type { Deployment, KubeObject, Pod, ReplicaSet, WorkloadStatus } from '../../cluster/objects.ts'
import { classOf, type Problem } from '../../reasons/reasons.ts'
import type { Assessment, Milestone } from '../assessment.ts'
import { podRequest, selectedRequest } from '../network/selector.ts'
import { provePersisted } from '../proof.ts'
import { isObserved, type Rule } from '../rule.ts'

import type { RuleContext } from '../rule-context.ts'
import { condition } from './pod-object.ts'
import { notesOf } from './pods.ts'
import { rolloutCreationProblem } from './replica-failure.ts'
import { findRevision, numberOf } from './revision.ts'
import {
  assessWorkload,
  countMilestone,
  type ExaminedPods,
  examineWorkloadPods,
  podCount,
  settledAs,
  settledPods,
  settlingMilestone,
} from './workload.ts'

/** The reason of the condition `Progressing` once nothing moved for progressDeadlineSeconds. */
const deadlineExceeded = 'ProgressDeadlineExceeded'

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
  milestones: ['created', 'observed', 'replicaset', 'scheduled', 'pulled', 'started', 'ready', 'available', 'drained'],
  relatives: (object) => [replicaSetRequest(object as Deployment), podRequest(object as Deployment)],
  assess: (object, context) => assessDeployment(object as Deployment, context),
}

function replicaSetRequest(deployment: Deployment) {
  return selectedRequest('apps/v1', 'ReplicaSet', deployment)
}

function assessDeployment(deployment: Deployment, context: RuleContext): Assessment {
  const { metadata, spec = {}, status = {} } = deployment
  const observed = isObserved(deployment)
  const replicas = spec.replicas ?? 1
  const updated = status.updatedReplicas ?? 0

  const isUpdated = observed && updated >= replicas
  const old = Math.max(0, (status.replicas ?? 0) - updated)
  const seesReplicaSets = context.listState(replicaSetRequest(deployment)) === 'complete'
  const replicaSets = context.owned(metadata.uid, 'ReplicaSet') as readonly ReplicaSet[]
  const current = newReplicaSet(deployment, context)
  const gated = context.owned(current?.metadata.uid, 'Pod') as readonly Pod[]
  const owned = replicaSets.flatMap((set) => context.owned(set.metadata.uid, 'Pod') as readonly Pod[])
  const examined = examineWorkloadPods(
    deployment,
    {
      owned,
      gated,
      lost: context.lostPods(current?.metadata.uid),
      // Any other strategy makes new pods whatever becomes of the old ones.
      waitsForTermination: spec.strategy?.type === 'Recreate' && !isUpdated,
      areKnown: seesReplicaSets,
    },
    context,
  )

  const available = availableReplicas(status, current, old)
  const isAvailable = isUpdated && available >= updated
  // A scale is observed with the counts of before, which the controller itself does not take for complete (DeploymentComplete).
  const surplus = Math.max(0, updated - replicas)
  const isDrained = isUpdated && old === 0 && surplus === 0
  const settled = settledAs(examined, replicas, context, { unchangedSince: conditionsChangedAt(deployment, context) })
  const ready = isAvailable && isDrained && settled.done
  const readyPods = settledPods(examined, isUpdated ? (status.readyReplicas ?? 0) : 0)
  const isRolledOut = isUpdated || (old === 0 && (current !== undefined || updated > 0))
  const draining = owned.filter((pod) => pod.metadata.deletionTimestamp !== undefined && !gated.includes(pod)).length
  const findings = {
    ready,
    readyMessage: `${current === undefined ? '' : `revision ${revisionOf(current)}, `}${available} of ${podCount(replicas)} available`,
    settled,
    revision: replicaSetMilestone(deployment, current, isUpdated, seesReplicaSets),
    // A rolling update raises the new ReplicaSet wave by wave: the first wave shows whether its pods are scheduled and start.
    created: Math.min(replicas, Math.max(1, current?.spec?.replicas ?? replicas)),
    milestones: [
      settlingMilestone(countMilestone('ready', readyPods, replicas, 'ready'), examined.state, replicas),
      countMilestone('available', Math.min(available, updated), replicas, 'available', isAvailable),
      drainedMilestone(isDrained, old, surplus, replicaSets.length > 1),
    ],
    problems: [
      ...(isRolledOut ? [] : pausedProblem(deployment, context)),
      ...rolloutCreationProblem(deployment, current, replicaSets, context),
      ...(observed ? progressDeadlineProblem(deployment, examined, context) : []),
    ],
    explain: explainDeadline,
    notes: [
      ...notesOf(examined.state, ready),
      ...(draining === 0 ? [] : [`${draining} old ${draining === 1 ? 'pod' : 'pods'} still draining`]),
    ],
  }
  return assessWorkload(deployment, examined, findings, context)
}

/**
 * How many pods of the new revision are available. The Deployment's count contains those of the older ones (calculateStatus,
 * pkg/controller/deployment): it is the most that there can be, and without all of these the least. Between them the new
 * ReplicaSet's own count decides.
 * @param old how many pods of older revisions the Deployment counts
 */
function availableReplicas(status: WorkloadStatus, current: ReplicaSet | undefined, old: number): number {
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

function revisionOf(object: KubeObject): string {
  const number = numberOf(object)
  return Number.isNaN(number) ? '?' : `${number}`
}

/** When the conditions that describe the rollout last changed, on the runner's clock. */
function conditionsChangedAt(deployment: Deployment, context: RuleContext): number {
  const changed = (deployment.status?.conditions ?? [])
    .filter(({ type }) => type === 'Available' || type === 'Progressing')
    .map((each) => context.time(each.lastUpdateTime ?? each.lastTransitionTime) ?? 0)
  return Math.max(0, ...changed)
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

/** @param surplus how many more pods of the new revision the Deployment has than it wants, after a scale */
function drainedMilestone(isDrained: boolean, old: number, surplus: number, hasOlder: boolean): Milestone {
  if (isDrained)
    return { name: 'drained', state: 'done', message: hasOlder ? 'no active pods of older revisions left' : '' }
  const what =
    old === 0 && surplus > 0 ? `${podCount(surplus)} more than wanted` : `${podCount(old)} of older revisions`
  return { name: 'drained', state: 'open', message: `${what} still running` }
}

/**
 * Terminal: the controller gave up (progressDeadlineSeconds without progress) on the generation that is being gated: at
 * once when it turned while watched; when it already stood at first sight (an undo or a scale leaves it standing), once
 * nothing moved for 10 s. While a Deployment is paused its controller estimates no progress, and leaves an earlier report
 * standing (checkPausedConditions, pkg/controller/deployment/sync.go).
 */
function progressDeadlineProblem(
  deployment: Deployment,
  { state, stuck }: ExaminedPods,
  context: RuleContext,
): readonly Problem[] {
  const { metadata, spec = {} } = deployment
  const progressing = condition(deployment, 'Progressing')
  const isExceeded = progressing?.status === 'False' && progressing.reason === deadlineExceeded
  if (spec.paused || !isExceeded) return []
  const stood = condition(context.history.first as Deployment, 'Progressing')?.reason === deadlineExceeded
  return [
    {
      reason: 'progress-deadline-exceeded',
      subject: `deployment/${metadata.name}`,
      detail: {
        deadlineSeconds: spec.progressDeadlineSeconds ?? 600,
        message: progressing.message ?? 'the deadline has passed',
      },
      // The controller reports only that the deadline has passed; the problem of a pod is why.
      cause: state?.problems[0] ?? stuck.problems[0],
      count: 1,
      firstSeenAt: context.time(progressing.lastTransitionTime) ?? context.now,
      ...provePersisted(context.history.countersMovedAt, stood ? standingDeadlineMs : 0, context.now),
    },
  ]
}

/** The deadline gives way as the reason to a terminal or strike problem of a pod that explains it. */
function explainDeadline({ reason }: Problem, problems: readonly Problem[]): Problem | undefined {
  if (reason !== 'progress-deadline-exceeded') return undefined
  return problems.find((problem) => classOf(problem) !== 'slow' && problem.subject.startsWith('pod/'))
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
