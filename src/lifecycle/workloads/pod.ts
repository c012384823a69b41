import type { RequestOf } from '../../cluster/feed.ts'
import type { OwnerReference, Pod } from '../../cluster/objects.ts'
import { buildProblem, type Problem } from '../../reasons/reasons.ts'
import type { Milestone } from '../assessment.ts'
import { trueCondition } from '../conditions.ts'
import type { ContainerView, PodView } from '../pod-view.ts'
import { latestIfAllKnown } from '../proof.ts'
import type { Reader, RuleReader } from '../reader.ts'
import type { Judgement, Rule } from '../rule.ts'
import { namespaceRequest } from '../selector.ts'
import { isStale } from '../stale-status.ts'
import { objectProblemFields } from '../status-problems.ts'
import { lastDeathProblem } from './container-problems.ts'
import { exitOf } from './kubelet-messages.ts'
import { findCondition, hasContainerFailed, isStartError } from './pod-fields.ts'
import { isSettled, problemsOfPod, pulledAt, waitOfPod } from './pod-state.ts'
import { newestRevision } from './revision.ts'
import { podServing } from './workload.ts'

/**
 * Judges pods without a controller: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
 *
 * A pod is ready when it is Running, Ready and settled, whatever its restart policy, or when it has Succeeded. It fails
 * when its phase is Failed, because no controller replaces it, or when a problem of a container is proven.
 */
export const podRule: Rule<Pod> = {
  milestones: ['created', 'scheduled', 'initialized', 'pulled', 'started', 'running', 'ready'],
  serving: podServing,
  changedAt: ({ metadata }, { time }) => time(metadata.creationTimestamp),
  judge: judgePod,
}

function judgePod(pod: Pod, reader: RuleReader): Judgement {
  const view = reader.podView(pod)
  const succeeded = pod.status?.phase === 'Succeeded'
  // The image and resources of a pod may change in place. Kubelets since 1.33 report the observed generation.
  const isObserved = !isStale(pod.status?.observedGeneration, pod.metadata.generation)
  const pending = pendingChange(pod, isObserved && !areContainersOutdated(view, reader))
  // The phase of a deleted pod depends on how its program reacts to SIGTERM, so the phase decides nothing.
  const isTerminating = pod.metadata.deletionTimestamp !== undefined
  const ended = podFailureProblem(view, reader)
  if (!isTerminating) {
    if (ended !== undefined) reader.problem(ended)
    for (const problem of problemsOfPod(view, reader))
      if (ended === undefined || problem.container !== ended.container) reader.problem(problem)
  }
  for (const each of milestonesOfPod(view, succeeded, pending, reader)) reader.milestone(each)
  reader.hold(waitOfPod(view, reader).stallHold)
  for (const text of olderVersionWarnings(pod, reader)) reader.warning(text)
  return {
    ready: succeeded || (isSettled(view, reader) && pending === undefined),
    message: succeeded ? 'succeeded' : 'running and ready',
    completed: (succeeded && !isTerminating) || undefined,
  }
}

function replicaSetsRequest(pod: Pod): RequestOf<'ReplicaSet'> {
  return namespaceRequest('apps/v1', 'ReplicaSet', pod)
}

/** The owner reference of a pod to the ReplicaSet that controls it. */
function replicaSetReference({ metadata: { ownerReferences = [] } }: Pod): OwnerReference | undefined {
  return ownerReferences.find(({ controller, kind }) => controller && kind === 'ReplicaSet')
}

/**
 * Warnings about a pod of an older version. A label selector finds only pods that exist. Right after an apply, these
 * are the old pods, which stay ready even if the new version never becomes ready.
 */
function olderVersionWarnings(pod: Pod, reader: Reader): readonly string[] {
  const uid = replicaSetReference(pod)?.uid
  if (uid === undefined || reader.watch(replicaSetsRequest(pod), 'optional') !== 'complete') return []
  const [replicaSet] = reader.listKnown(replicaSetsRequest(pod), ({ metadata }) => metadata.uid === uid)
  const deployment = replicaSet?.metadata.ownerReferences?.find(({ controller }) => controller)
  if (deployment === undefined || newestRevision(reader.listKnownOwned(deployment.uid, 'ReplicaSet')) === replicaSet)
    return []
  const name = `${deployment.kind.toLowerCase()}/${deployment.name}`
  return [`runs an older version of ${name}: gate ${name} to prove its new version`]
}

/**
 * Whether a container may be older than the change of its image. The kubelet reports the new generation before it ends
 * the old container (SyncPod, pkg/kubelet), which takes up to the grace period. A runtime may report an image by
 * another name or by its ID, so after that time every container counts as new.
 */
function areContainersOutdated({ pod, containers }: PodView, reader: Reader): boolean {
  const { generation = 1, managedFields = [] } = pod.metadata
  const writes = managedFields.flatMap(({ subresource, time }) => (subresource === undefined ? reader.time(time) : []))
  const writtenAt = Math.max(...writes.map((at) => at ?? -Infinity))
  const isContainerOutdated = ({ container, status, isInit, startedAt = Infinity }: ContainerView) =>
    !isInit && startedAt < writtenAt && !isSameImageName(container.image, status?.image)
  if (generation <= 1 || !containers.some(isContainerOutdated)) return false
  const graceMs = (pod.spec?.terminationGracePeriodSeconds ?? 30) * 1_000
  const changedAt = Math.min(writtenAt, reader.history.firstSeenAt)
  return !reader.passed(changedAt + graceMs + reader.settings.settleTimeMs)
}

/** Whether a runtime reports the requested image: for `nginx`, it reports `docker.io/library/nginx:latest`. */
function isSameImageName(requested = '', reported = ''): boolean {
  return [requested, `${requested}:latest`].some((name) => reported === name || reported.endsWith(`/${name}`))
}

/** What an in-place change of a pod still waits for. `isObserved`: the kubelet has started to apply the change. */
function pendingChange(pod: Pod, isObserved: boolean): string | undefined {
  if (!isObserved) return 'waiting for the kubelet to take its change'
  // A resize: https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/#pod-resize-status
  const resize = ['PodResizePending', 'PodResizeInProgress']
    .map((type) => trueCondition(pod, type))
    .find((each) => each !== undefined)
  if (resize === undefined) return undefined
  const why = [resize.reason, resize.message].filter((words) => words !== undefined && words !== '').join(': ')
  return `waiting for the kubelet to change its resources${why === '' ? '' : `: ${why}`}`
}

function milestonesOfPod(
  view: PodView,
  succeeded: boolean,
  pending: string | undefined,
  reader: Reader,
): readonly Milestone[] {
  const { pod, moments, containers, runningStep } = view
  const settled = isSettled(view, reader)
  const step = (name: string, done: boolean, at: number | undefined, reached: string, waiting: string): Milestone =>
    done || succeeded ? { name, state: 'done', at, message: reached } : { name, state: 'open', message: waiting }
  const stepOf = (name: 'scheduled' | 'initialized' | 'pulled' | 'started', reached: string, waiting: string) =>
    step(name, view[name], moments[name], reached, waiting)
  const hasInits = containers.some(({ isInit }) => isInit)
  const running = pod.status?.phase === 'Running'
  return [
    stepOf('scheduled', `scheduled on ${pod.spec?.nodeName ?? 'a node'}`, 'waiting for a node'),
    hasInits
      ? stepOf('initialized', 'init containers done', runningStep ?? 'waiting for init containers')
      : { name: 'initialized', state: 'skipped', message: 'no init containers' },
    {
      ...stepOf('pulled', 'images pulled', runningStep ?? 'pulling images'),
      at: pulledAt(moments.pulled, reader),
    },
    stepOf('started', 'containers started', runningStep ?? 'starting containers'),
    // The phase is Running once no container waits for its start (getPhase, pkg/kubelet).
    step('running', running, moments.started, 'running', 'waiting for all containers to run'),
    {
      ...step(
        'ready',
        settled && pending === undefined,
        succeeded ? lastContainerEndedAt(pod, reader) : moments.settled,
        'ready',
        pending ?? (view.ready ? 'ready, settling' : 'running, not ready yet'),
      ),
      settlesAt: pending === undefined && !settled ? moments.settled : undefined,
    },
  ]
}

/** When the last container of a succeeded pod ended, on the runner's clock; undefined if one of them shows no end. */
function lastContainerEndedAt({ status }: Pod, { time }: Reader): number | undefined {
  return latestIfAllKnown((status?.containerStatuses ?? []).map(({ state }) => time(state?.terminated?.finishedAt)))
}

/**
 * The problem of a pod that has failed or will fail. It is proven, unless a StatefulSet owns the pod: then the
 * controller deletes the failed pod and creates another with the same name (processReplica,
 * pkg/controller/statefulset).
 */
function podFailureProblem({ pod, containers }: PodView, reader: Reader): Problem | undefined {
  // The pod garbage collector writes no message in the status, only in the condition.
  const { phase, reason, message = findCondition(pod, 'DisruptionTarget')?.message ?? '' } = pod.status ?? {}
  // A reason such as Evicted or DeadlineExceeded shows that the kubelet killed the containers.
  const isKilled = phase === 'Failed' && !!reason
  const dead = isKilled ? undefined : containers.find(phase === 'Failed' ? hasContainerFailed : hasFailedWithoutRestart)
  if (phase !== 'Failed' && dead === undefined) return undefined
  const death = dead?.end
  const unstarted = dead?.end && isStartError(dead.end) ? lastDeathProblem(dead, dead.endedAt ?? reader.now) : undefined
  const isReplaced = pod.metadata.ownerReferences?.some(({ controller, kind }) => controller && kind === 'StatefulSet')
  const failure =
    unstarted ??
    buildProblem({
      ...objectProblemFields(pod, dead?.endedAt ?? reader.now),
      reason: reason === 'Evicted' ? 'evicted' : 'pod-failed',
      container: dead?.container.name,
      detail: {
        statusReason: reason,
        message,
        exit: death && { ...exitOf(death), isOutOfMemory: death.reason === 'OOMKilled' },
      },
    })
  return { ...failure, isReplaced: isReplaced || undefined, proven: !isReplaced }
}

/**
 * Whether a container has failed and is never restarted. Then the pod never becomes Ready, and its phase becomes Failed
 * when the other containers have ended (getPhase, pkg/kubelet). From Kubernetes 1.34 on, a container may have rules
 * that restart it (KEP-5307).
 */
function hasFailedWithoutRestart({ pod, container, status, isInit }: ContainerView): boolean {
  return (
    !isInit &&
    (container.restartPolicy ?? pod.spec?.restartPolicy) === 'Never' &&
    !('restartPolicyRules' in container) &&
    (status?.state?.terminated?.exitCode ?? 0) !== 0
  )
}
