import {
  type Condition,
  cachePerObject,
  type Deployment,
  type KubeObject,
  type ReplicaSet,
  type WorkloadStatus,
} from '../../cluster/objects.ts'
import { classOf, type Problem } from '../../reasons/reasons.ts'
import { recentVersionMs, standingDeadlineMs } from '../../thresholds.ts'
import type { Milestone } from '../assessment.ts'
import type { PodView } from '../pod-view.ts'
import { mayBeSinceStart } from '../proof.ts'
import type { Reader, RuleReader } from '../reader.ts'
import { podRequest, selectedRequest } from '../selector.ts'
import { isObserved } from '../stale-status.ts'
import { objectProblemFields } from '../status-problems.ts'
import { findCondition } from './pod-fields.ts'
import { waitOfPod } from './pod-state.ts'
import { rolloutCreationProblems } from './replica-failure.ts'
import {
  creationTimestampOf,
  findRevision,
  formerRevisionNumbers,
  isRestoredRevision,
  revisionNumber,
} from './revision.ts'
import { allReachedAt, countMilestone, podCountText, readyText } from './revision-pods.ts'
import { type ExaminedPods, examineWorkloadPods, type WorkloadFacts, workloadRule } from './workload.ts'

/**
 * Judges Deployments: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#deployment-status
 *
 * A Deployment is ready under the conditions of `kubectl rollout status` (pkg/polymorphichelpers in kubectl): the
 * present generation is observed, all replicas are updated and available, and no replica of an older revision is left.
 * In addition, every container without a readiness probe, or with a death, must have settled. This excludes a crash
 * loop.
 */
export const deploymentRule = workloadRule<Deployment>({
  milestones: ['created', 'observed', 'replicaset', 'scheduled', 'pulled', 'started', 'ready', 'available', 'drained'],
  presentRevision: newReplicaSet,
  restoredAt: completedAt,
  facts: deploymentFacts,
})

/** The reason of the condition `Progressing` after progressDeadlineSeconds without progress. */
const deadlineExceeded = 'ProgressDeadlineExceeded'
/** The reason of the condition `Progressing` after a complete rollout. */
const completeReason = 'NewReplicaSetAvailable'

const replicaSetRequest = cachePerObject((deployment: Deployment) =>
  selectedRequest('apps/v1', 'ReplicaSet', deployment),
)

function deploymentFacts(deployment: Deployment, reader: RuleReader): WorkloadFacts {
  const { metadata, spec = {}, status = {} } = deployment
  const observed = isObserved(deployment)
  const replicas = spec.replicas ?? 1
  const updated = status.updatedReplicas ?? 0
  const isUpdated = observed && updated >= replicas
  const old = Math.max(0, (status.replicas ?? 0) - updated)
  const canReadReplicaSets = reader.listState(replicaSetRequest(deployment)) === 'complete'
  const replicaSets = reader.owned(replicaSetRequest(deployment), metadata.uid)
  const current = newReplicaSet(deployment, reader)
  const gated = new Set(reader.owned(podRequest(deployment), current?.metadata.uid))
  const owned = replicaSets.flatMap((set) => reader.owned(podRequest(deployment), set.metadata.uid))
  const examined = examineWorkloadPods(
    deployment,
    owned,
    {
      revisionOf: (pod) => (gated.has(pod) ? 'new' : 'old'),
      failedPods: reader.endedPods(current?.metadata.uid, 'Failed'),
      // Only Recreate creates new pods after the old ones have ended.
      waitsForTermination: spec.strategy?.type === 'Recreate' && !isUpdated,
      areKnown: canReadReplicaSets || current !== undefined,
    },
    reader,
  )
  const available = availableNewReplicas(status, current, old)
  const isAvailable = isUpdated && available >= updated
  // Right after a scale, the status may count a surplus: the rollout is not complete (DeploymentComplete).
  const surplus = Math.max(0, updated - replicas)
  const isDrained = isUpdated && old === 0 && surplus === 0
  const isRolledOut = isUpdated || (old === 0 && (current !== undefined || updated > 0))
  const draining = examined.pods.draining.length
  reader.milestone(replicaSetMilestone(deployment, current, isUpdated, canReadReplicaSets, reader))
  reader.milestone({
    ...countMilestone('available', Math.min(available, updated), replicas, 'available', isAvailable),
    at: availableSince(deployment, examined),
  })
  reader.milestone({
    ...drainedMilestone(isDrained, old, surplus, replicaSets.length > 1),
    at: completedAt(deployment, current, reader),
  })
  noteRestoredRevision(deployment, current, reader)
  if (draining > 0) reader.note(`${draining} old ${draining === 1 ? 'pod' : 'pods'} still draining`)
  return {
    examined,
    isComplete: isAvailable && isDrained,
    wanted: replicas,
    counted: isUpdated ? (status.readyReplicas ?? 0) : 0,
    // A rolling update creates new pods step by step, so only the pods of the present step are expected.
    created: Math.min(replicas, Math.max(1, current?.spec?.replicas ?? replicas)),
    message: `${current === undefined ? '' : `revision ${revisionNumberText(current)}, `}${readyText(available, replicas, 'available')}`,
    unchangedSince: examined.state === undefined ? conditionsChangedAt(deployment, reader) : undefined,
    removedAt: reader.removedAt(current?.metadata.uid),
    problems: [
      ...(isRolledOut ? [] : pausedProblem(deployment, reader)),
      ...rolloutCreationProblems(deployment, current, replicaSets, reader),
      ...(observed ? progressDeadlineProblem(deployment, examined, reader) : []),
    ],
    // A scale keeps the reason of a complete rollout (DeploymentComplete, pkg/controller/deployment/util).
    isScale: observed && old === 0 && findCondition(deployment, 'Progressing')?.reason === completeReason,
  }
}

/**
 * The number of available pods of the new revision: the count of the new ReplicaSet, but at most the count of the
 * Deployment. The count of the Deployment includes older revisions (calculateStatus, pkg/controller/deployment).
 * @param old the number of older pods, by the counts of the Deployment
 */
function availableNewReplicas(status: WorkloadStatus, current: ReplicaSet | undefined, old: number): number {
  const all = status.availableReplicas ?? 0
  return Math.min(all, Math.max(0, all - old, current?.status?.availableReplicas ?? 0))
}

/**
 * The ReplicaSet of the present template; undefined until the controller has created it. If the controller does not
 * know a field, no template matches. Then the ReplicaSet with the Deployment's revision number counts, once pods are
 * updated.
 */
export function newReplicaSet(deployment: Deployment, reader: Pick<Reader, 'owned'>): ReplicaSet | undefined {
  const owned = reader.owned(replicaSetRequest(deployment), deployment.metadata.uid)
  const found = findRevision(deployment.spec?.template, owned)
  const isCreated = isObserved(deployment) && (deployment.status?.updatedReplicas ?? 0) > 0
  return found ?? (isCreated ? owned.find((set) => revisionNumber(set) === revisionNumber(deployment)) : undefined)
}

function revisionNumberText(object: KubeObject): string {
  const number = revisionNumber(object)
  return Number.isNaN(number) ? '?' : `${number}`
}

/** Reports that an undo has restored an older revision, unless the undo was long ago. */
function noteRestoredRevision(deployment: Deployment, current: ReplicaSet | undefined, reader: RuleReader): void {
  const former = current === undefined ? undefined : formerRevisionNumbers(current).at(-1)
  const changedAt = reader.time(findCondition(deployment, 'Progressing')?.lastUpdateTime) ?? -Infinity
  if (current !== undefined && former !== undefined && changedAt >= reader.startedAt - recentVersionMs)
    reader.note(`revision ${revisionNumberText(current)} restores revision ${former}`)
}

/** When the conditions of the rollout last changed, on the runner's clock. */
function conditionsChangedAt(deployment: Deployment, reader: Reader): number {
  const changed = (deployment.status?.conditions ?? [])
    .filter(({ type }) => type === 'Available' || type === 'Progressing')
    .map((each) => reader.time(each.lastUpdateTime ?? each.lastTransitionTime) ?? 0)
  return Math.max(0, ...changed)
}

/** When the last ready pod became available, on the runner's clock: minReadySeconds after it became ready. */
function availableSince({ spec }: Deployment, { state }: ExaminedPods): number | undefined {
  const readyAt = allReachedAt(state?.pods.filter((pod) => pod.ready) ?? [], 'ready')
  return readyAt === undefined ? undefined : readyAt + (spec?.minReadySeconds ?? 0) * 1_000
}

/**
 * When the controller reported the present rollout as complete, on the runner's clock (DeploymentComplete,
 * pkg/controller/deployment/util). Undefined if the report may belong to an earlier rollout: after an undo, the earlier
 * report stays until the rollout progresses.
 */
function completedAt(deployment: Deployment, current: ReplicaSet | undefined, { time }: Reader): number | undefined {
  const progressing = findCondition(deployment, 'Progressing')
  const at = progressing?.reason === completeReason ? time(progressing.lastUpdateTime) : undefined
  if (at === undefined || current === undefined) return undefined
  const { replicas = 0, updatedReplicas = 0 } = deployment.status ?? {}
  const isOfCurrent = isRestoredRevision(current)
    ? updatedReplicas > 0 && updatedReplicas === replicas
    : at >= (time(creationTimestampOf(current)) ?? Infinity)
  return isOfCurrent ? at : undefined
}

/**
 * The milestone `replicaset`: the ReplicaSet of the present template exists.
 * @param isUpdated whether all pods count as updated: then the ReplicaSet exists, even if no watch has reported it
 */
function replicaSetMilestone(
  deployment: Deployment,
  current: ReplicaSet | undefined,
  isUpdated: boolean,
  canReadReplicaSets: boolean,
  { time }: Reader,
): Milestone {
  if (current !== undefined) {
    return {
      name: 'replicaset',
      state: 'done',
      at: isRestoredRevision(current) ? undefined : time(creationTimestampOf(current)),
      message: `revision ${revisionNumberText(current)} → ReplicaSet ${current.metadata.name}`,
    }
  }
  if (!canReadReplicaSets) return { name: 'replicaset', state: 'skipped', message: 'ReplicaSets cannot be read' }
  if (isUpdated) return { name: 'replicaset', state: 'done', message: `revision ${revisionNumberText(deployment)}` }
  return { name: 'replicaset', state: 'open', message: 'waiting for the new ReplicaSet' }
}

/** The milestone `drained`: no older pod is active. `surplus`: the number of new pods that a scale removes. */
function drainedMilestone(isDrained: boolean, old: number, surplus: number, hasOlder: boolean): Milestone {
  if (isDrained)
    return { name: 'drained', state: 'done', message: hasOlder ? 'no active pods of older revisions left' : '' }
  const what =
    old === 0 && surplus > 0 ? `${podCountText(surplus)} more than wanted` : `${podCountText(old)} of older revisions`
  return { name: 'drained', state: 'open', message: `${what} still running` }
}

/**
 * The problem that the controller reports no progress within progressDeadlineSeconds. An undo or a scale keeps an
 * earlier report, so a report from before the gate counts only after `standingDeadlineMs` without progress. A paused
 * Deployment keeps an earlier report too, which does not count (checkPausedConditions,
 * pkg/controller/deployment/sync.go).
 */
function progressDeadlineProblem(
  deployment: Deployment,
  { state, stuck }: ExaminedPods,
  reader: Reader,
): readonly Problem[] {
  const { spec = {} } = deployment
  const progressing = findCondition(deployment, 'Progressing')
  const isExceeded = progressing?.status === 'False' && progressing.reason === deadlineExceeded
  if (spec.paused || !isExceeded) return []
  const existedBefore = findCondition(reader.history.first, 'Progressing')?.reason === deadlineExceeded
  const cause = state?.problems[0] ?? stuck[0]
  return [
    {
      ...objectProblemFields(deployment, reader.time(progressing.lastTransitionTime) ?? reader.now),
      reason: 'progress-deadline-exceeded',
      detail: {
        deadlineSeconds: spec.progressDeadlineSeconds ?? 600,
        message: progressing.message ?? 'the deadline has passed',
      },
      // The controller reports no cause, so the problem of a pod is the cause. The pod had enough time to start.
      cause: cause && { ...cause, isStarting: false },
      proven:
        !(existedBefore && (hasUnprovenProblem(state) || state?.pods.some((pod) => isPodProgressing(pod, reader)))) &&
        reader.passed(reader.history.countersMovedAt + (existedBefore ? standingDeadlineMs : 0)),
    },
  ]
}

/** Whether a pod has a problem that may fail the rollout but is not proven yet: the apply may have fixed its cause. */
function hasUnprovenProblem(state: ExaminedPods['state']): boolean {
  return (
    state?.problems.some((problem) => classOf(problem) !== 'slow' && !problem.proven && !problem.neverFails) === true
  )
}

/**
 * Whether a pod progresses: the stall clock is stopped for it, an init container or a hook runs, or a condition became
 * True after the gate began. Until such a pod is ready, the Deployment keeps an earlier report.
 */
function isPodProgressing(view: PodView, reader: Reader): boolean {
  const { pod, started, runningStep } = view
  const isCurrent = ({ type, status, lastTransitionTime }: Condition) =>
    status === 'True' && (type === 'Ready' || !started) && mayBeSinceStart(reader.time(lastTransitionTime), reader)
  const hasMoved = pod.status?.conditions?.some(isCurrent) === true
  return waitOfPod(view, reader).stallHold !== undefined || runningStep !== undefined || hasMoved
}

/** The problem that a paused Deployment does not roll out its template. */
function pausedProblem(deployment: Deployment, reader: Reader): readonly Problem[] {
  if (!deployment.spec?.paused) return []
  return [{ ...objectProblemFields(deployment, reader.history.firstSeenAt), reason: 'paused', detail: {} }]
}
