import { cachePerObject, lastOccurrence, type Pod } from '../../cluster/objects.ts'
import type { NodeState, SchedulingCause } from '../../reasons/pods.ts'
import type { Problem } from '../../reasons/reasons.ts'
import { acknowledgedMs, mountRetryMs, quietNodeMs, replacedMs, statusLagMs } from '../../thresholds.ts'
import { trueCondition } from '../conditions.ts'
import { unboundClaimOfPod } from '../platform/pvc.ts'
import type { PodView } from '../pod-view.ts'
import { mayBeSinceStart } from '../proof.ts'
import type { Reader } from '../reader.ts'
import { nodeRequest } from '../selector.ts'
import { objectProblemFields } from '../status-problems.ts'
import { isProvenMissing } from './container-problems.ts'
import {
  deviceError,
  isCacheNotFilled,
  missingVolumeObject,
  mountFailure,
  sandboxErrorDetail,
} from './kubelet-messages.ts'
import { findCondition, hasStarted, isReadyByCondition } from './pod-fields.ts'
import { schedulingCauses } from './scheduler-messages.ts'

/** The present problem of a pod as a whole. Before containers exist, only its conditions and Events show it. */
export function podLevelProblem(view: PodView, reader: Reader): Problem | undefined {
  if (view.pod.status?.phase !== 'Pending') return readinessGateProblem(view, reader) ?? lostNodeProblem(view, reader)
  if (findCondition(view.pod, 'PodScheduled')?.status === 'False') return unschedulableProblem(view, reader)
  return isSetUp(view) ? undefined : (failedSetupProblem(view, reader) ?? unacknowledgedProblem(view, reader))
}

/**
 * Since when a pod waits for the first report of its scheduler (the condition `PodScheduled`) or, if it has a node, of
 * its kubelet (`startTime`). After an outage, the watch may first return old states, so the time starts when the gate
 * first saw the state. https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#PodStatus
 */
function unacknowledgedSince({ pod, seenAt }: PodView, reader: Reader): number | undefined {
  const { metadata, status } = pod
  if (status?.phase !== 'Pending' || status.startTime !== undefined) return undefined
  const scheduled = findCondition(pod, 'PodScheduled')
  // A pod whose manifest names its node needs no scheduler.
  const waitsSince = reader.time(
    scheduled === undefined ? metadata.creationTimestamp : trueCondition(pod, 'PodScheduled')?.lastTransitionTime,
  )
  if (waitsSince === undefined) return undefined
  return reader.settings.isSingleCheck ? waitsSince : Math.max(waitsSince, seenAt)
}

/**
 * The problem that the scheduler or the kubelet has not acknowledged a pod. One of them may be restarting. While a
 * scheduler waits for the volumes of a node that it has chosen, it reports nothing (PreBind,
 * pkg/scheduler/framework/plugins/volumebinding).
 */
function unacknowledgedProblem(view: PodView, reader: Reader): Problem | undefined {
  const { pod } = view
  const since = unacknowledgedSince(view, reader)
  if (since === undefined || !reader.passed(since + acknowledgedMs)) return undefined
  const { nodeName, schedulerName: scheduler = 'default-scheduler' } = pod.spec ?? {}
  if (nodeName) return unresponsiveNodeProblem(pod, isNodeMissing(nodeName, reader) ? 'missing' : 'silent', since)
  const cause = unboundClaimOfPod(pod, reader)
  const waitsFor =
    cause === undefined
      ? possibleClaimCause(view)
      : ({ type: 'unbound-claims', message: 'the scheduler waits for its volumes' } as const)
  const reported = view.schedulingFailure === undefined ? { scheduler } : schedulingCauses(view.schedulingFailure)
  const detail = waitsFor === undefined ? reported : { causes: [waitsFor] }
  return { ...objectProblemFields(pod, since), reason: 'unschedulable', detail, cause }
}

/**
 * If the scheduler reports nothing about a pod with ResourceClaims, a claim probably does not exist (PreEnqueue,
 * pkg/scheduler/framework/plugins/dynamicresources). `claimFailure`: why the controller cannot create the claim from
 * its template.
 */
function possibleClaimCause({ pod, claimFailure }: PodView): SchedulingCause | undefined {
  const names = (pod.spec?.resourceClaims ?? []).map(({ name, resourceClaimName = name }) => resourceClaimName)
  if (names.length === 0) return undefined
  return { type: 'resource-claim', message: claimFailure ?? `its ResourceClaim ${names.join(', ')} may not exist` }
}

/**
 * The problem that the node of a pod has stopped reporting: the containers are ready, but the pod is not, and the
 * condition has no reason. The kubelet always writes a reason, so the node controller wrote this condition, after 40 s
 * without a report (MarkPodsNotReady, pkg/controller/util/node).
 */
function lostNodeProblem({ pod }: PodView, { now, time }: Reader): Problem | undefined {
  if (!isNodeLost(pod)) return undefined
  const since = time(findCondition(pod, 'Ready')?.lastTransitionTime) ?? now
  return unresponsiveNodeProblem(pod, 'lost', since)
}

/** Whether the node controller made a pod not ready; see `lostNodeProblem`. */
function isNodeLost(pod: Pod): boolean {
  const ready = findCondition(pod, 'Ready')
  return ready?.status === 'False' && !ready.reason && trueCondition(pod, 'ContainersReady') !== undefined
}

const nodeTaints: readonly string[] = ['node.kubernetes.io/unreachable', 'node.kubernetes.io/not-ready']

/**
 * Until when a pod tolerates that its node does not respond, on the runner's clock: 300 s by default
 * (plugin/pkg/admission/defaulttolerationseconds). Then the pod is deleted and replaced (pkg/controller/tainteviction).
 * Undefined if the node seems to respond, or if the pod tolerates this without end.
 */
export function lostNodeToleratedUntil(
  { pod }: PodView,
  possiblyLost: string | undefined,
  reader: Reader,
): number | undefined {
  const since = isNodeLost(pod)
    ? findCondition(pod, 'Ready')?.lastTransitionTime
    : nodeNotReadySince(possiblyLost, reader)
  const lostAt = reader.time(since)
  if (lostAt === undefined) return undefined
  const tolerated = (pod.spec?.tolerations ?? []).filter(
    ({ key, effect }) => (!key || nodeTaints.includes(key)) && (!effect || effect === 'NoExecute'),
  )
  const longest = Math.max(0, ...tolerated.map(({ tolerationSeconds = Infinity }) => tolerationSeconds))
  return longest === Infinity ? undefined : lostAt + longest * 1_000 + replacedMs
}

/** Since when a node is not Ready; undefined if the node is Ready or unknown. */
function nodeNotReadySince(name: string | undefined, reader: Reader): string | null | undefined {
  const [node] = name === undefined ? [] : reader.listKnown(nodeRequest(name))
  return node === undefined || isReadyByCondition(node) ? undefined : findCondition(node, 'Ready')?.lastTransitionTime
}

function isPodStarting({ pod: { metadata, status }, scheduled, ready }: PodView): boolean {
  const isAlive =
    metadata.deletionTimestamp === undefined && (status?.phase === 'Pending' || status?.phase === 'Running')
  return isAlive && scheduled && !ready
}

/** The node of a starting pod about which nothing has been reported for a long time: the node may be lost. */
export function nodeWithoutReports(view: PodView, { passed, time, events }: Reader): string | undefined {
  const { pod, seenAt } = view
  if (!isPodStarting(view) || !passed(seenAt + quietNodeMs)) return undefined
  const last = events(pod).at(-1)
  const reportedAt = (last && time(lastOccurrence(last))) ?? seenAt
  return passed(reportedAt + quietNodeMs) ? pod.spec?.nodeName : undefined
}

/** Whether no node has this name. `assess` requests the watch of each node that a problem names. */
function isNodeMissing(name: string, reader: Reader): boolean {
  return reader.listState(nodeRequest(name)) === 'complete' && reader.listKnown(nodeRequest(name)).length === 0
}

function unresponsiveNodeProblem(pod: Pod, state: NodeState, firstSeenAt: number): Problem {
  const detail = { node: pod.spec?.nodeName ?? '', state }
  return { ...objectProblemFields(pod, firstSeenAt), reason: 'node-unresponsive', detail }
}

/**
 * The problem that the scheduler finds no node, or that the pod has scheduling gates, which a queue or a quota removes.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/pod-scheduling-readiness/
 */
function unschedulableProblem(view: PodView, reader: Reader): Problem | undefined {
  const { pod, scaleUp } = view
  const { reason, lastTransitionTime } = findCondition(pod, 'PodScheduled') ?? {}
  const isGated = reason === 'SchedulingGated'
  const schedulingGates = (pod.spec?.schedulingGates ?? []).map(({ name }) => name)
  // All scheduling gates are removed, but the scheduler has not updated the condition yet.
  if (isGated && schedulingGates.length === 0) return undefined
  const detail = isGated ? { schedulingGates } : { ...schedulingCausesOf(view), autoscaler: scaleUp?.refusal }
  // pkg/scheduler/framework/plugins/volumebinding
  const isWaitingForClaims = 'causes' in detail && detail.causes.some(({ type }) => type === 'unbound-claims')
  return {
    ...objectProblemFields(pod, reader.time(lastTransitionTime) ?? reader.now),
    reason: 'unschedulable',
    detail,
    cause: isWaitingForClaims ? unboundClaimOfPod(pod, reader) : undefined,
  }
}

/** Why the scheduler finds no node for a pod. */
const schedulingCausesOf = cachePerObject(({ pod }: PodView) => {
  const { reason, message } = findCondition(pod, 'PodScheduled') ?? {}
  return schedulingCauses(message ?? reason ?? 'no node fits')
})

/**
 * The problem that a readiness gate is not True yet, although the containers are ready. Most often the controller of a
 * load balancer sets this condition.
 * https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-readiness-gate
 */
function readinessGateProblem({ pod }: PodView, { now, time }: Reader): Problem | undefined {
  const ready = findCondition(pod, 'Ready')
  if (ready?.status !== 'False' || ready.reason !== 'ReadinessGatesNotReady') return undefined
  const gates = (pod.spec?.readinessGates ?? []).flatMap(({ conditionType: type }) => {
    const { status, reason = '', message = '' } = findCondition(pod, type) ?? {}
    return status === 'True' ? [] : [{ type, reason, message }]
  })
  // All gates are True; the kubelet has not updated the condition Ready yet.
  if (gates.length === 0) return undefined
  const since = time(findCondition(pod, 'ContainersReady')?.lastTransitionTime) ?? now
  return { ...objectProblemFields(pod, since), reason: 'readiness-gate-pending', detail: { gates } }
}

/** The reasons of Events about a sandbox that is not created, and whether the kubelet or its runtime is the cause. */
const sandboxFailures: ReadonlyMap<string, boolean> = new Map([
  ['FailedCreatePodContainer', true],
  ['FailedCreatePodSandBox', false],
  ['FailedPodSandBoxStatus', true],
  ['NetworkNotReady', false],
])

/**
 * The problem of a pod whose volumes, devices (ResourceClaims) or network sandbox are not set up. It is proven only if
 * a late check still finds a Secret or ConfigMap missing: the kubelet checks at growing intervals (up to 2 minutes), and
 * reports nothing once the object exists. If all Events are older than the gate, the state proves it. Everything else is
 * retried without end.
 */
function failedSetupProblem(view: PodView, reader: Reader): Problem | undefined {
  const why = failedSetupReason(view)
  if (why === undefined) return undefined
  const { count = 1, first = reader.now, last = first, message = '' } = view.setupFailure ?? {}
  if (isCacheNotFilled(message) && reader.passed(last + mountRetryMs + statusLagMs)) return undefined
  const retryMs = mayBeSinceStart(last, reader) ? Infinity : mountRetryMs
  const proven = 'missing' in why.detail && isProvenMissing({ first, last, retryMs }, reader)
  return { ...objectProblemFields(view.pod, first), ...why, count, proven }
}

/** The reason and detail of the problem, from the message about the failed setup. */
const failedSetupReason = cachePerObject(({ pod, setupFailure }: PodView) => {
  if (setupFailure === undefined) return undefined
  const { reason, message } = setupFailure
  const isOfRuntime = sandboxFailures.get(reason)
  if (isOfRuntime !== undefined)
    return { reason: 'sandbox-failed', detail: { ...sandboxErrorDetail(message), isOfRuntime } } as const
  if (reason === 'FailedPrepareDynamicResources')
    return { reason: 'devices-not-prepared', detail: { message: deviceError(message) } } as const
  const failure = mountFailure(message)
  const missing = missingVolumeObject(message, pod)
  if (missing !== undefined) return { reason: 'config-missing', detail: { ...failure, missing } } as const
  // Messages of the attach controller (reportMultiAttachError, pkg/controller/volume/attachdetach/reconciler) and clouds.
  const isInUse =
    /^Multi-Attach error\b|already attached to (?:node|an instance)|VolumeInUse|IN_USE_BY_ANOTHER_RESOURCE/.test(
      message,
    ) || undefined
  return { reason: 'volume-not-mounted', detail: { ...failure, isInUse } } as const
})

/** Whether the volumes and sandbox of a pod are set up: only then the kubelet reports its containers (syncPod). */
function isSetUp({ containers, hasContainers }: PodView): boolean {
  return (
    hasContainers ||
    containers.some(({ status }) => hasStarted(status) || isPastCreating(status?.state?.waiting?.reason))
  )
}

/** Whether a container with this waiting reason has passed the setup of its pod. */
function isPastCreating(waiting: string | undefined): boolean {
  return waiting !== undefined && waiting !== 'ContainerCreating' && waiting !== 'PodInitializing'
}
