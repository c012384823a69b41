import { lastOccurrence, type Pod } from '../../cluster/objects.ts'
import { type NodeState, type SchedulingCause, waitsForClaims } from '../../reasons/pods.ts'
import type { Problem } from '../../reasons/reasons.ts'
import { acknowledgedMs, mountRetryMs, quietNodeMs, replacedMs } from '../../thresholds.ts'
import { trueCondition } from '../conditions.ts'
import { unboundClaim } from '../platform/pvc.ts'
import type { PodView } from '../pod-view.ts'
import { latest } from '../proof.ts'
import type { Reader } from '../reader.ts'
import { nodeRequest } from '../selector.ts'
import { ownProblem } from '../status-problems.ts'
import { type Finding, isProvenMissing, type TimeReader } from './container-problems.ts'
import { deviceError, missingOfVolume, mountFailure, sandboxDetail } from './kubelet-messages.ts'
import { condition, hasStarted, isReady } from './pod-fields.ts'
import { schedulingCauses } from './scheduler-messages.ts'

/** The present problem of a whole pod: before its containers exist, only its conditions and events show it. */
export function findInPod(view: PodView, reader: TimeReader): Finding | undefined {
  if (condition(view.pod, 'PodScheduled')?.status === 'False') return unschedulable(view, reader)
  if (view.pod.status?.phase !== 'Pending') return closedReadinessGates(view, reader) ?? lostNode(view, reader)
  return isSetUp(view) ? undefined : (failedSetup(view, reader) ?? unacknowledged(view, reader))
}

/**
 * Since when a pod waits for a first sign of its scheduler (the condition `PodScheduled`) or, if it has a node, of its
 * kubelet (`startTime`). Not before the gate first saw this state: after an outage, a watch first returns old states.
 * https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#PodStatus
 */
function unacknowledgedSince({ pod, seenAt }: PodView, reader: TimeReader): number | undefined {
  const { metadata, status } = pod
  if (status?.phase !== 'Pending' || status.startTime !== undefined) return undefined
  const scheduled = condition(pod, 'PodScheduled')
  // A pod whose manifest names its node needs no scheduler.
  const waitsSince = reader.time(
    scheduled === undefined ? metadata.creationTimestamp : trueCondition(pod, 'PodScheduled')?.lastTransitionTime,
  )
  if (waitsSince === undefined) return undefined
  return reader.settings.isSingleCheck ? waitsSince : Math.max(waitsSince, seenAt)
}

/**
 * A slow problem: the scheduler or the kubelet has not acknowledged the pod. Both may only be restarting. A scheduler
 * reports nothing while it waits for the volumes of a node that it has chosen (PreBind,
 * pkg/scheduler/framework/plugins/volumebinding).
 */
function unacknowledged(view: PodView, moment: TimeReader): Finding | undefined {
  const { pod } = view
  const since = unacknowledgedSince(view, moment)
  if (since === undefined || !moment.passed(since + acknowledgedMs)) return undefined
  const { nodeName, schedulerName: scheduler = 'default-scheduler' } = pod.spec ?? {}
  if (nodeName) return (reader) => nodeProblem(pod, isNodeMissing(nodeName, reader) ? 'missing' : 'silent', since)
  const claimCause = possibleClaimProblem(view)
  return (reader) => {
    const cause = unboundClaim(pod, reader)
    const waitsFor =
      cause === undefined
        ? claimCause
        : ({ type: 'unbound-claims', message: 'the scheduler waits for its volumes' } as const)
    const detail = waitsFor === undefined ? { scheduler } : { causes: [waitsFor] }
    return { ...ownProblem(pod, since), reason: 'unschedulable', detail, cause }
  }
}

/**
 * The likely cause if the scheduler reports nothing about a pod with ResourceClaims: a claim does not exist
 * (PreEnqueue, pkg/scheduler/framework/plugins/dynamicresources). `claimFailure`: why the controller cannot create it
 * from its template.
 */
function possibleClaimProblem({ pod, claimFailure }: PodView): SchedulingCause | undefined {
  const names = (pod.spec?.resourceClaims ?? []).map(({ name, resourceClaimName = name }) => resourceClaimName)
  if (names.length === 0) return undefined
  return { type: 'resource-claim', message: claimFailure ?? `its ResourceClaim ${names.join(', ')} may not exist` }
}

/**
 * A slow problem: the containers are ready, and the pod is not, without a reason. The kubelet always gives one, so the
 * node controller made the pod not ready (MarkPodsNotReady, pkg/controller/util/node). It does so when the node has not
 * reported for 40 s.
 */
function lostNode({ pod }: PodView, { now, time }: TimeReader): Finding | undefined {
  if (!isLostWithNode(pod)) return undefined
  const since = time(condition(pod, 'Ready')?.lastTransitionTime) ?? now
  return () => nodeProblem(pod, 'lost', since)
}

/** Whether the node controller made a pod not ready; see `lostNode`. */
function isLostWithNode(pod: Pod): boolean {
  const ready = condition(pod, 'Ready')
  return ready?.status === 'False' && !ready.reason && trueCondition(pod, 'ContainersReady') !== undefined
}

const nodeTaints: readonly string[] = ['node.kubernetes.io/unreachable', 'node.kubernetes.io/not-ready']

/**
 * Until when a pod tolerates that its node does not respond, on the runner's clock. Then the pod is deleted, and its
 * owner replaces it (pkg/controller/tainteviction). 300 s by default (plugin/pkg/admission/defaulttolerationseconds).
 * Undefined if the node responds as far as known, or if the pod tolerates this without end.
 */
export function lostNodeToleratedUntil(pod: Pod, reader: Reader): number | undefined {
  const tolerated = (pod.spec?.tolerations ?? []).filter(
    ({ key, effect }) => (!key || nodeTaints.includes(key)) && (!effect || effect === 'NoExecute'),
  )
  const longest = Math.max(0, ...tolerated.map(({ tolerationSeconds = Infinity }) => tolerationSeconds))
  if (longest === Infinity) return undefined
  const since = isLostWithNode(pod) ? condition(pod, 'Ready')?.lastTransitionTime : silentSince(pod, reader)
  const lostAt = reader.time(since)
  return lostAt === undefined ? undefined : lostAt + longest * 1_000 + replacedMs
}

/** Since when the node of a pod that is not ready is not ready either: it was lost while the pod started. */
function silentSince(pod: Pod, reader: Reader): string | null | undefined {
  if (!isStarting(pod)) return undefined
  const [node] = reader.known(nodeRequest(pod.spec?.nodeName ?? ''))
  return node === undefined || isReady(node) ? undefined : condition(node, 'Ready')?.lastTransitionTime
}

function isStarting(pod: Pod): boolean {
  const { metadata, spec, status } = pod
  const isAlive =
    metadata.deletionTimestamp === undefined && (status?.phase === 'Pending' || status?.phase === 'Running')
  return isAlive && !!spec?.nodeName && !isReady(pod)
}

/**
 * The moment from which the node of a pod may be lost, because nothing has been reported about the pod for long. Undefined
 * unless the pod is starting on a node.
 */
export function quietAt({ pod, seenAt }: PodView, { now, time, events }: Reader): number | undefined {
  if (!isStarting(pod)) return undefined
  const last = events(pod).at(-1)
  return (latest([last && time(lastOccurrence(last)), seenAt]) ?? now) + quietNodeMs
}

/** Whether the gate knows that no node has this name, after `assess` has asked for the node of a problem. */
function isNodeMissing(name: string, reader: Reader): boolean {
  return reader.listState(nodeRequest(name)) === 'complete' && reader.known(nodeRequest(name)).length === 0
}

function nodeProblem(pod: Pod, state: NodeState, firstSeenAt: number): Problem {
  const detail = { node: pod.spec?.nodeName ?? '', state }
  return { ...ownProblem(pod, firstSeenAt), reason: 'node-unresponsive', detail }
}

/**
 * A slow problem: the scheduler finds no node, or the pod has scheduling gates, which a queue or a quota removes.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/pod-scheduling-readiness/
 */
function unschedulable({ pod, scaleUp }: PodView, { now, time }: TimeReader): Finding | undefined {
  const { reason, message, lastTransitionTime } = condition(pod, 'PodScheduled') ?? {}
  const isGated = reason === 'SchedulingGated'
  const schedulingGates = (pod.spec?.schedulingGates ?? []).map(({ name }) => name)
  // The last gate was removed, and the scheduler has not updated the condition yet.
  if (isGated && schedulingGates.length === 0) return undefined
  const detail = isGated
    ? { schedulingGates }
    : { ...schedulingCauses(message ?? reason ?? 'no node fits'), autoscaler: scaleUp?.refusal }
  const own = ownProblem(pod, time(lastTransitionTime) ?? now)
  return (reader) => ({
    ...own,
    reason: 'unschedulable',
    detail,
    cause: waitsForClaims(detail) ? unboundClaim(pod, reader) : undefined,
  })
}

/**
 * A slow problem: the containers are ready, and the condition of a readiness gate is not True yet; most often the controller
 * of a load balancer sets it. https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-readiness-gate
 */
function closedReadinessGates({ pod }: PodView, { now, time }: TimeReader): Finding | undefined {
  const ready = condition(pod, 'Ready')
  if (ready?.status !== 'False' || ready.reason !== 'ReadinessGatesNotReady') return undefined
  const gates = (pod.spec?.readinessGates ?? []).flatMap(({ conditionType: type }) => {
    const { status, reason = '', message = '' } = condition(pod, type) ?? {}
    return status === 'True' ? [] : [{ type, reason, message }]
  })
  // All gates are True; the kubelet has not updated the condition Ready yet.
  if (gates.length === 0) return undefined
  const own = ownProblem(pod, time(condition(pod, 'ContainersReady')?.lastTransitionTime) ?? now)
  return () => ({ ...own, reason: 'readiness-gate-pending', detail: { gates } })
}

const sandboxFailures: ReadonlySet<string> = new Set(['FailedCreatePodSandBox', 'NetworkNotReady'])

/**
 * A strike problem: a Secret or ConfigMap of a volume is missing for too long. The kubelet checks at growing intervals (up
 * to 2 minutes). A slow problem: other volumes, the devices of ResourceClaims and the network sandbox, which are retried
 * without end.
 */
function failedSetup({ pod, setupFailure }: PodView, { now }: TimeReader): Finding | undefined {
  if (setupFailure === undefined) return undefined
  const { reason, message, count, first = now, last = first } = setupFailure
  const own = { ...ownProblem(pod, first), count }
  if (sandboxFailures.has(reason)) {
    const detail = sandboxDetail(message)
    return () => ({ ...own, reason: 'sandbox-failed', detail })
  }
  if (reason === 'FailedPrepareDynamicResources') {
    const detail = { message: deviceError(message) }
    return () => ({ ...own, reason: 'devices-not-prepared', detail })
  }
  const failure = mountFailure(message)
  const missing = missingOfVolume(message, pod)
  // The attach controller: reportMultiAttachError, pkg/controller/volume/attachdetach/reconciler.
  const isInUse = /^Multi-Attach error\b/.test(message) || undefined
  if (missing === undefined) return () => ({ ...own, reason: 'volume-not-mounted', detail: { ...failure, isInUse } })
  return (reader) => ({
    ...own,
    reason: 'config-missing',
    detail: { ...failure, missing },
    proven: isProvenMissing({ first, last, retryMs: mountRetryMs }, reader),
  })
}

/** Volumes and sandbox come before images: once a container is reported, they are set up (syncPod, pkg/kubelet). */
function isSetUp({ containers, hasContainers }: PodView): boolean {
  return (
    hasContainers ||
    containers.some(({ status }) => hasStarted(status) || isPastCreating(status?.state?.waiting?.reason))
  )
}

/** Whether a waiting reason is of a step after the setup of the pod. */
function isPastCreating(waiting: string | undefined): boolean {
  return waiting !== undefined && waiting !== 'ContainerCreating' && waiting !== 'PodInitializing'
}
