import { type EventObject, firstOccurrence, lastOccurrence, type Pod } from '../../cluster/objects.ts'
import { eventCounters } from '../assess.ts'
import type { ContainerReports, PodContainer, PodReports, ScaleUp, SetupFailure } from '../pod-view.ts'
import type { GateTime } from '../proof.ts'
import { condition, containerOfEvent, eventCount, hasStarted } from './pod-fields.ts'

/*
 * What the Events about a pod report. Besides this, rules read only the time of the latest one (`quietAt`): an Event that
 * changes nothing of this requires no new assessment.
 */

/** What Events report about a container. @param events the Events about it */
export function containerReports(
  { container, status }: PodContainer,
  events: readonly EventObject[],
  time: GateTime['time'],
): ContainerReports {
  const last = events.at(-1)
  const isHookRunning =
    container.lifecycle?.postStart !== undefined && !hasStarted(status) && last?.reason === 'Started'
  const refusal = `Error: ${status?.state?.waiting?.message ?? ''}`
  const refused = events.find(({ message }) => message === refusal)
  return {
    failedProbes: failedProbes(events),
    killedBy: killedBy(events),
    failedHook: events.findLast(({ reason }) => reason === 'FailedPostStartHook')?.message,
    refused: refused && { first: time(firstOccurrence(refused)), last: time(lastOccurrence(refused)) },
    isPulling: last?.reason === 'Pulling',
    hookStartedAt: isHookRunning ? time(lastOccurrence(last)) : undefined,
  }
}

function failedProbes(events: readonly EventObject[]): ContainerReports['failedProbes'] {
  const probes = (['liveness', 'readiness', 'startup'] as const).flatMap((kind) => {
    const last = events.findLast(
      ({ reason, message }) => reason === 'Unhealthy' && message?.toLowerCase().startsWith(`${kind} probe`),
    )
    return last === undefined ? [] : [[kind, last.message ?? ''] as const]
  })
  return Object.fromEntries(probes)
}

/** The probe for which the kubelet killed a container. */
function killedBy(events: readonly EventObject[]): ContainerReports['killedBy'] {
  const killings = events.filter(({ reason }) => reason === 'Killing')
  return (['liveness', 'startup'] as const).find((kind) =>
    killings.some(({ message }) => message?.includes(`failed ${kind} probe`)),
  )
}

/** What Events report about a pod as a whole. @param events the Events about the pod and its containers */
export function podReports(pod: Pod, events: readonly EventObject[], time: GateTime['time']): PodReports {
  return {
    setupFailure: setupFailure(events, time),
    hasContainers: events.some((each) => containerOfEvent(each) !== undefined),
    lacksPullSecret: events.some(({ reason }) => reason === 'FailedToRetrieveImagePullSecret'),
    claimFailure: events.findLast(({ reason }) => reason === 'FailedResourceClaimCreation')?.message,
    scaleUp: scaleUp(pod, events),
    // The kubelet's events about an image volume name only its pod (getImageVolumes, pkg/kubelet/kuberuntime).
    isVolumePulling: events.findLast((each) => containerOfEvent(each) === undefined)?.reason === 'Pulling',
    pullMs: slowestPull(events),
    counters: eventCounters(events),
  }
}

/** The reasons of failures before the containers, of the kubelet and the attach controller (pkg/kubelet/events). */
const setupFailures: ReadonlySet<string> = new Set([
  'FailedMount',
  'FailedAttachVolume',
  'FailedMapVolume',
  'FailedPrepareDynamicResources',
  'FailedCreatePodSandBox',
  'NetworkNotReady',
])

function setupFailure(events: readonly EventObject[], time: GateTime['time']): SetupFailure | undefined {
  const failures = events.filter(({ reason }) => setupFailures.has(reason ?? ''))
  // Every two minutes the kubelet lists the volumes that are not mounted; the event before contains the cause.
  const last =
    failures.findLast(({ message }) => !/^Unable to attach or mount volumes/.test(message ?? '')) ?? failures.at(-1)
  if (last === undefined) return undefined
  const { reason, message } = last
  const [firstAt, lastAt] = [time(firstOccurrence(last)), time(lastOccurrence(last))]
  return { reason: reason ?? '', message: message ?? '', count: eventCount(last), first: firstAt, last: lastAt }
}

/** Karpenter writes its refusals with the scheduler's reason `FailedScheduling`, so its message decides. */
const karpenterRefusal = /^Failed to schedule pod\b|\bexceed limits for nodepool\b/

/**
 * What an autoscaler last reported about a pod without a node: TriggeredScaleUp and NotTriggerScaleUp of cluster-autoscaler
 * (clusterstate/utils and processors/status) and FailedScaleUp of GKE's (no machines, or no quota of the cloud), Nominated
 * and FailedScheduling of Karpenter (pkg/controllers/provisioning/scheduling/events.go).
 */
function scaleUp(pod: Pod, events: readonly EventObject[]): ScaleUp | undefined {
  if (condition(pod, 'PodScheduled')?.status !== 'False') return undefined
  const isRefusal = ({ reason, message }: EventObject) =>
    reason === 'NotTriggerScaleUp' ||
    reason === 'FailedScaleUp' ||
    (reason === 'FailedScheduling' && karpenterRefusal.test(message ?? ''))
  const isStart = ({ reason }: EventObject) => reason === 'TriggeredScaleUp' || reason === 'Nominated'
  const last = events.findLast((event) => isStart(event) || isRefusal(event))
  if (last === undefined) return undefined
  return isStart(last) ? { isAdding: true } : { isAdding: false, refusal: last.message }
}

/** Reads the longest pull from the events: `Successfully pulled image "…" in 12.234s (12.234s including waiting).` */
function slowestPull(events: readonly EventObject[]): number | undefined {
  const took = events.flatMap(({ reason, message }) => {
    const [, minutes = '0', amount, unit] =
      (reason === 'Pulled' && /" in (?:(\d+)m)?([\d.]+)(ms|s)\b/.exec(message ?? '')) || []
    return amount === undefined ? [] : [Number(minutes) * 60_000 + Number(amount) * (unit === 's' ? 1_000 : 1)]
  })
  return took.length === 0 ? undefined : Math.max(...took)
}
