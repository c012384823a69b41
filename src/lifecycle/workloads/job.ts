import {
  type Condition,
  type EventObject,
  hasEnded,
  isPodSubject,
  type Job,
  lastOccurrence,
  type Pod,
} from '../../cluster/objects.ts'
import { buildProblem, type Problem, traitsOf } from '../../reasons/reasons.ts'
import { firstJobBackOffMs, longStepMs, maxApplyAgeMs, maxJobBackOffMs, recentVersionMs } from '../../thresholds.ts'
import type { Milestone } from '../assessment.ts'
import { trueCondition } from '../conditions.ts'
import type { PodView } from '../pod-view.ts'
import { isInFuture, latestMoment, toExplanation } from '../proof.ts'
import type { Reader, RuleReader } from '../reader.ts'
import type { Judgement, Rule } from '../rule.ts'
import { podRequest } from '../selector.ts'
import { objectProblemFields } from '../status-problems.ts'
import { lastDeathProblem } from './container-problems.ts'
import { backOffSeconds } from './kubelet-messages.ts'
import { containersOf, findCondition, hasStarted } from './pod-fields.ts'
import { podCreationProblems } from './replica-failure.ts'
import {
  classifyPods,
  compareByImportance,
  endedPodProblem,
  examinePods,
  type PodsState,
  podEndedAt,
  stuckPodProblems,
} from './revision-pods.ts'
import { stallHoldOfPods } from './workload.ts'

/**
 * Judges Jobs: https://kubernetes.io/docs/concepts/workloads/controllers/job/
 *
 * A Job is ready or failed when its controller reports Complete or Failed. The controller applies retries, deadlines,
 * failure and success policies, and per-index limits. While a container runs, the stall clock is stopped.
 */
export const jobRule: Rule<Job> = {
  milestones: ['created', 'started', 'succeeded', 'complete'],
  changedAt: ({ metadata }, { time }) => time(metadata.creationTimestamp),
  judge: judgeJob,
}

function judgeJob(job: Job, reader: RuleReader): Judgement {
  const { metadata, spec = {}, status = {} } = job
  if (spec.selector !== undefined) reader.watch(podRequest(job))
  const owned = reader.listKnownOwned(metadata.uid, 'Pod')
  const failedPods = reader.endedPods(metadata.uid, 'Failed')
  const pods = withoutDuplicates([...failedPods, ...owned])
  const isReplaced = isReplacedByApply(job, reader)
  const isComplete = !isReplaced && trueCondition(job, 'Complete') !== undefined
  const ended = isReplaced ? undefined : jobFailureProblem(job, pods, reader)
  const isOver = isReplaced || isComplete || ended !== undefined
  // Once the Job has ended, its end explains its failed pods. Until then, all pods that failed since its start count.
  const state =
    reader.listState(podRequest(job)) === 'complete'
      ? examinePods(owned, reader, isOver ? [] : failedPods, reader.time(status.startTime))
      : undefined
  const triesAt = isOver ? undefined : nextTryAt(job, pods, reader)
  const problems = [
    ...(ended === undefined ? [] : [ended]),
    ...podCreationProblems(job, reader, !isOver && (status.active ?? 0) === 0),
    ...(state?.problems ?? []).map(toJobProblem),
    ...(isOver ? [] : jobDelays(job, state, owned, reader)),
  ].toSorted(compareByImportance)
  for (const problem of problems) reader.problem(problem)
  for (const each of jobMilestones(job, isComplete, failedPods.length, reader)) reader.milestone(each)
  if (isJobRunning(job, state)) reader.hold('its containers are running')
  reader.hold(stallHoldOfPods(state, owned, reader))
  if (isInFuture(triesAt, reader)) reader.hold('its next try has to wait')
  if (isComplete && (status.failed ?? 0) > 0) reader.note(`${status.failed} failed before it completed`)
  // A running Job fails if its pods are refused, or if a pod has a proven problem and no pod works.
  const proven = problems.filter((problem) => problem.proven)
  const refused = proven.find(({ subject }) => !isPodSubject(subject))
  const failed = state?.failure && proven.find(({ subject }) => isPodSubject(subject))
  const succeeded = status.succeeded ?? 0
  return {
    ready: isComplete,
    message: succeeded > 0 ? `complete, ${succeeded} succeeded` : 'complete',
    failure: ended ?? refused ?? failed ?? 'none',
    isEnd: ended !== undefined,
    counters: state?.counters,
    hasRun: hasRunContainers(job, isComplete, pods, reader),
    completed: isComplete && metadata.deletionTimestamp === undefined,
    pods: classifyPods(withoutDuplicates([...owned, ...reader.endedPods(metadata.uid, 'Succeeded')]), () => 'new'),
  }
}

/** Whether the apply replaces this Job: it was terminating at first sight, and its end predates the apply. */
function isReplacedByApply(job: Job, { history, startedAt, time }: Reader): boolean {
  const end = trueCondition(job, 'Complete') ?? trueCondition(job, 'Failed')
  const endedAt = time(end?.lastTransitionTime) ?? Infinity
  return history.first.metadata.deletionTimestamp !== undefined && endedAt < startedAt - maxApplyAgeMs
}

/** What delays a Job: it is suspended, a container prevents the end of a pod, or terminating pods are not removed. */
function jobDelays(job: Job, state: PodsState | undefined, owned: readonly Pod[], reader: Reader): readonly Problem[] {
  const suspended: Problem = {
    ...objectProblemFields(job, reader.history.firstSeenAt),
    reason: 'suspended',
    detail: {},
  }
  return [
    ...(job.spec?.suspend ? [suspended] : []),
    ...(state?.pods ?? []).flatMap((each) => runningSidecarProblem(each, job, reader) ?? []),
    ...(isAwaitingTermination(job) ? stuckPodProblems(owned, reader) : []),
  ]
}

/** Whether the Job has run containers for this change, not for an earlier one. */
function hasRunContainers({ status = {} }: Job, isComplete: boolean, pods: readonly Pod[], reader: Reader): boolean {
  const isOfThisChange = (reader.time(status.startTime) ?? reader.now) >= reader.startedAt - recentVersionMs
  const isAnyStarted = pods.some((pod) => containersOf(pod).some((each) => hasStarted(each.status)))
  return isOfThisChange && (isAnyStarted || isComplete || (status.failed ?? 0) > 0)
}

/**
 * Whether the Job has running containers. If its pods cannot be read or run in another cluster, uses the number of
 * ready pods in its status.
 */
function isJobRunning(job: Job, state: PodsState | undefined): boolean {
  const areCountsAll = state === undefined || !isManagedByJobController(job)
  const isAnyWorking = state?.pods.some((each) => hasRunningWork(each, job)) ?? false
  return isAnyWorking || (areCountsAll && (job.status?.ready ?? 0) > 0)
}

function jobMilestones(job: Job, isComplete: boolean, failedPods: number, { time }: Reader): readonly Milestone[] {
  const { status = {}, spec = {} } = job
  const conditionAt = (type: string) => time(findCondition(job, type)?.lastTransitionTime ?? status.completionTime)
  const { succeeded = 0, active = 0, failed = 0 } = status
  const wanted = spec.completions ?? 1
  // The counts omit the failed pods that podFailurePolicy ignores.
  const hasStarted = isComplete || succeeded + active + failed + failedPods > 0
  return [
    hasStarted
      ? {
          name: 'started',
          state: 'done',
          at: time(status.startTime),
          message: active > 0 ? `started, ${active} active` : 'started',
        }
      : { name: 'started', state: 'open', message: 'waiting for its first pod' },
    {
      name: 'succeeded',
      state: isComplete || (spec.completions !== undefined && succeeded >= wanted) ? 'done' : 'open',
      count: { done: Math.min(succeeded, wanted), total: wanted },
      // The controller reports SuccessCriteriaMet before Complete, while it removes the finalizers of the pods.
      at: conditionAt('SuccessCriteriaMet'),
      message: progressText(job),
    },
    {
      name: 'complete',
      state: isComplete ? 'done' : 'open',
      at: conditionAt('Complete'),
      message: isComplete ? 'complete' : 'waiting for the controller to report Complete',
    },
  ]
}

/** Reasons of the controller's Event about a failed Job (recordJobFinished, pkg/controller/job). */
const failureReasons: ReadonlySet<string | undefined> = new Set([
  'BackoffLimitExceeded',
  'DeadlineExceeded',
  'PodFailurePolicy',
  'MaxFailedIndexesExceeded',
  'FailedIndexes',
])

/**
 * The last state of a deleted Job, which shows how the Job ended. With `ttlSecondsAfterFinished: 0`, the gate may miss
 * the last condition, but an Event contains the same. The result has no deletionTimestamp, because the Job ended before
 * its deletion.
 * @returns undefined if neither the last known version nor the Events show how the Job ended
 */
export function lastStateOfJob(job: Job, events: readonly EventObject[]): Job | undefined {
  const { deletionTimestamp: _, ...metadata } = job.metadata
  if (['Complete', 'Failed', 'FailureTarget'].some((type) => trueCondition(job, type))) return { ...job, metadata }
  const end = events.findLast(({ reason }) => reason === 'Completed' || failureReasons.has(reason))
  if (end === undefined) return undefined
  const { reason = '', message = '' } = end
  const ended: Condition = {
    type: reason === 'Completed' ? 'Complete' : 'Failed',
    status: 'True',
    reason,
    message,
    lastTransitionTime: lastOccurrence(end),
  }
  return { ...job, metadata, status: { ...job.status, conditions: [...(job.status?.conditions ?? []), ended] } }
}

/** Whether a Job waits for terminating pods before it replaces them, or before it is Complete (enactJobFinished). */
function isAwaitingTermination(job: Job): boolean {
  return job.spec?.podReplacementPolicy === 'Failed' || trueCondition(job, 'SuccessCriteriaMet') !== undefined
}

/**
 * Whether a pod does the work of its Job: an init container runs, or all containers run or have completed. Sidecars and
 * containers that a webhook has added do not count.
 */
function hasRunningWork({ pod, running }: PodView, job: Job): boolean {
  const working = containersOf(pod).filter(
    ({ container, status, isInit }) =>
      container.restartPolicy !== 'Always' &&
      (isInit || isTemplateContainer(container.name, job)) &&
      status?.state?.running !== undefined,
  )
  return working.some(({ isInit }) => isInit) || (running && working.length > 0)
}

function isTemplateContainer(name: string, { spec }: Job): boolean {
  const { containers } = spec?.template?.spec ?? {}
  return containers === undefined || containers.some((each) => each.name === name)
}

/**
 * The problem of a container that prevents the end of a pod: all other containers of the Job's template have completed.
 * It is reported at once if the container was added to the pod, otherwise after `longStepMs`.
 */
function runningSidecarProblem({ pod }: PodView, job: Job, reader: Reader): Problem | undefined {
  const main = containersOf(pod).filter(({ isInit, container }) => !isInit && container.restartPolicy !== 'Always')
  const [kept, ...others] = main.filter(({ status }) => status?.state?.running)
  const templateContainers = main.filter(({ container }) => isTemplateContainer(container.name, job))
  const isAdded = kept !== undefined && !templateContainers.includes(kept)
  const ends = templateContainers.filter((each) => each !== kept).map(({ status }) => status?.state?.terminated)
  const isOtherRunning = others.some((each) => templateContainers.includes(each))
  if (kept === undefined || isOtherRunning || ends.length === 0 || !ends.every((end) => end?.exitCode === 0))
    return undefined
  const since = latestMoment(ends.map((end) => reader.time(end?.finishedAt))) ?? reader.now
  if (!isAdded && !reader.passed(since + longStepMs)) return undefined
  return { ...objectProblemFields(pod, since), reason: 'sidecar-running', container: kept.container.name, detail: {} }
}

function progressText({ status = {}, spec = {} }: Job): string {
  const failed = (status.failed ?? 0) > 0 ? `, ${status.failed} failed` : ''
  return `${status.succeeded ?? 0} of ${spec.completions ?? 1} succeeded${failed}`
}

/** Removes duplicate pods: a failed pod that still exists is in two lists. */
function withoutDuplicates(pods: readonly Pod[]): readonly Pod[] {
  return [...new Map(pods.map((pod) => [pod.metadata.uid, pod])).values()]
}

/** Converts a problem of a pod to a problem of its Job. A death proves no failure, because retries follow. */
function toJobProblem(problem: Problem): Problem {
  // A start that the runtime refused is retried too. Its reason is not a death, but its detail contains an exit code.
  const isDeath = traitsOf(problem).isDeath || ('exitCode' in problem.detail && problem.detail.exitCode !== undefined)
  return isDeath ? toExplanation(problem) : problem
}

/**
 * The problem of a failed Job. FailureTarget comes seconds before Failed, while pods are deleted. The reasons come from
 * pkg/controller/job: BackoffLimitExceeded, DeadlineExceeded, PodFailurePolicy, FailedIndexes …
 */
function jobFailureProblem(job: Job, pods: readonly Pod[], reader: Reader): Problem | undefined {
  const failed = trueCondition(job, 'Failed') ?? trueCondition(job, 'FailureTarget')
  if (failed === undefined) return undefined
  const own = { ...objectProblemFields(job, reader.time(failed.lastTransitionTime) ?? reader.now), proven: true }
  if (failed.reason === 'DeadlineExceeded') {
    const { activeDeadlineSeconds } = job.spec ?? {}
    return { ...own, reason: 'job-deadline-exceeded', detail: { activeDeadlineSeconds } }
  }
  const { failedIndexes } = job.status ?? {}
  const detail = { message: failed.message, failedIndexes, conditionReason: failed.reason }
  return buildProblem({ ...own, reason: 'job-failed', detail, cause: lastPodFailure(pods, reader) })
}

/** The latest failure of a pod, which is the cause of the failure of the Job. */
function lastPodFailure(pods: readonly Pod[], reader: Reader): Problem | undefined {
  return pods
    .flatMap((pod) => failuresOfPod(pod, reader))
    .toSorted((a, b) => a.firstSeenAt - b.firstSeenAt)
    .at(-1)
}

/**
 * The deaths of a pod's containers. If they did not end the pod, only the end of the pod counts: the kubelet refused or
 * evicted the pod, or its node no longer exists. The controller counts a terminating pod as failed before the pod has
 * ended.
 */
function failuresOfPod(pod: Pod, reader: Reader): readonly Problem[] {
  const { phase, reason = '' } = pod.status ?? {}
  const deaths = reader.podView(pod).containers.flatMap((each) => {
    const hasDied = !each.isDoneSidecar && (each.end?.exitCode ?? 0) !== 0
    const problem = hasDied ? lastDeathProblem(each, each.endedAt ?? 0) : undefined
    return problem === undefined ? [] : [{ ...problem, isReplaced: phase === 'Failed' }]
  })
  const disruption = trueCondition(pod, 'DisruptionTarget')
  const disruptedAt = disruption && (reader.time(disruption.lastTransitionTime) ?? 0)
  const isEnded = phase === 'Failed' || (disruption !== undefined && pod.metadata.deletionTimestamp !== undefined)
  const hasDied = deaths.some(({ firstSeenAt }) => firstSeenAt < (disruptedAt ?? Infinity))
  return isEnded && (reason !== '' || !hasDied) ? [endedPodProblem(pod, reader)] : deaths
}

/** Whether the built-in controller manages a Job. Another controller may run the pods in another cluster. */
function isManagedByJobController({ spec }: Pick<Job, 'spec'>): boolean {
  return [undefined, 'kubernetes.io/job-controller'].includes(spec?.managedBy)
}

/**
 * When the next retry begins at the latest, on the runner's clock; undefined if no retry is pending. The Job controller
 * doubles its wait with each failure since the last success, or of one index (backoff_utils.go, pkg/controller/job).
 * The gate counts all failures, so the actual wait may be shorter. The kubelet restarts dead containers.
 */
function nextTryAt(job: Job, pods: readonly Pod[], reader: Reader): number | undefined {
  const failed = pods.filter((pod) => pod.status?.phase === 'Failed')
  const failedAt = latestMoment(failed.map((pod) => podEndedAt(pod, reader)))
  const isWaiting =
    !job.spec?.suspend && isManagedByJobController(job) && pods.filter(isActivePod).length < wantedRunningPods(job)
  const waitMs = Math.min(firstJobBackOffMs * 2 ** (failed.length - 1), maxJobBackOffMs)
  const nextPodAt = isWaiting && failedAt !== undefined ? failedAt + waitMs : undefined
  return latestMoment([nextPodAt, ...pods.map((pod) => containerRestartAt(pod, reader))])
}

/** The number of pods that should run now (manageJob). Without `completions`, the first success is enough. */
function wantedRunningPods({ spec = {}, status = {} }: Pick<Job, 'spec' | 'status'>): number {
  const { completions, parallelism = 1 } = spec
  const succeeded = status.succeeded ?? 0
  if (completions === undefined) return succeeded > 0 ? 0 : parallelism
  return Math.min(parallelism, completions - succeeded)
}

function isActivePod(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp === undefined && !hasEnded(pod)
}

/** When the kubelet will have restarted the dead containers of a pod. Restarts of sidecars do not count. */
function containerRestartAt(pod: Pod, { time }: Reader): number | undefined {
  return latestMoment(
    containersOf(pod).map(({ container, status }) => {
      const seconds = container.restartPolicy === 'Always' || !status ? undefined : backOffSeconds(status)
      const diedAt = time(status?.lastState?.terminated?.finishedAt)
      return seconds === undefined || diedAt === undefined ? undefined : diedAt + seconds * 1_000
    }),
  )
}
