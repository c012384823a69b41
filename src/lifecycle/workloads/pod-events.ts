import { type EventObject, firstOccurrence, lastOccurrence, type Pod } from '../../cluster/objects.ts'
import type { ContainerView, PodContainer, ScaleUp, SetupFailure } from '../pod-view.ts'
import type { GateTime } from '../proof.ts'
import { eventCount, findCondition, hasStarted } from './pod-fields.ts'

/*
 * Reads the Events about a pod. Apart from this, rules use only the time of the latest Event (`nodeWithoutReports`), so
 * an Event that changes nothing here requires no new assessment.
 */

/**
 * When the error in the state of a container occurred first and last.
 * @param events the Events about the container
 */
export function refusedCreationTimes(
  { status }: PodContainer,
  events: readonly EventObject[],
  time: GateTime['time'],
): ContainerView['refused'] {
  const refusal = `Error: ${status?.state?.waiting?.message ?? ''}`
  const refused = events.find(({ message }) => message === refusal)
  return refused && { first: time(firstOccurrence(refused)), last: time(lastOccurrence(refused)) }
}

/**
 * When the running postStart hook of a container began.
 * @param last the last Event about the container
 */
export function postStartHookBeganAt(
  { container, status }: PodContainer,
  last: EventObject | undefined,
  time: GateTime['time'],
): number | undefined {
  const isRunning = container.lifecycle?.postStart !== undefined && !hasStarted(status) && last?.reason === 'Started'
  return isRunning ? time(lastOccurrence(last)) : undefined
}

/**
 * The last message about each failed probe of a container.
 * @param events the Events about the container
 */
export function failedProbeMessages(events: readonly EventObject[]): ContainerView['failedProbes'] {
  const probes = (['liveness', 'readiness', 'startup'] as const).flatMap((kind) => {
    const last = events.findLast(
      ({ reason, message }) => reason === 'Unhealthy' && message?.toLowerCase().startsWith(`${kind} probe`),
    )
    return last === undefined ? [] : [[kind, last.message ?? ''] as const]
  })
  return Object.fromEntries(probes)
}

/** The probe for which the kubelet killed a container. @param events the Events about the container */
export function probeThatKilled(events: readonly EventObject[]): ContainerView['killedBy'] {
  const killings = events.filter(({ reason }) => reason === 'Killing')
  return (['liveness', 'startup'] as const).find((kind) =>
    killings.some(({ message }) => message?.includes(`failed ${kind} probe`)),
  )
}

/** Reasons of Events about a failed setup of a pod, from the kubelet (pkg/kubelet/events) and the attach controller. */
const setupFailures: ReadonlySet<string> = new Set([
  'FailedMount',
  'FailedAttachVolume',
  'FailedMapVolume',
  'FailedPrepareDynamicResources',
  'FailedCreatePodSandBox',
  'NetworkNotReady',
])

/**
 * The latest failed step of a pod's setup, before its containers exist.
 * @param events the Events about the pod
 */
export function latestSetupFailure(events: readonly EventObject[], time: GateTime['time']): SetupFailure | undefined {
  const failures = events.filter(({ reason }) => setupFailures.has(reason ?? ''))
  // Every two minutes, the kubelet lists the unmounted volumes. An earlier Event contains the cause.
  const last =
    failures.findLast(({ message }) => !/^Unable to attach or mount volumes/.test(message ?? '')) ?? failures.at(-1)
  if (last === undefined) return undefined
  const { reason, message } = last
  const [firstAt, lastAt] = [time(firstOccurrence(last)), time(lastOccurrence(last))]
  return { reason: reason ?? '', message: message ?? '', count: eventCount(last), first: firstAt, last: lastAt }
}

/** Messages of Karpenter's refusals: their reason `FailedScheduling` is the same as the scheduler's. */
const karpenterRefusal = /^Failed to schedule pod\b|\bexceed limits for nodepool\b/

/**
 * What an autoscaler last reported about a pod without a node. cluster-autoscaler reports TriggeredScaleUp and
 * NotTriggerScaleUp (clusterstate/utils and processors/status); on GKE also FailedScaleUp (no machines or no quota).
 * Karpenter reports Nominated and FailedScheduling (pkg/controllers/provisioning/scheduling/events.go).
 */
export function autoscalerReport(pod: Pod, events: readonly EventObject[]): ScaleUp | undefined {
  if (findCondition(pod, 'PodScheduled')?.status !== 'False') return undefined
  const isRefusal = ({ reason, message }: EventObject) =>
    reason === 'NotTriggerScaleUp' ||
    reason === 'FailedScaleUp' ||
    (reason === 'FailedScheduling' && karpenterRefusal.test(message ?? ''))
  const isStart = ({ reason }: EventObject) => reason === 'TriggeredScaleUp' || reason === 'Nominated'
  const last = events.findLast((event) => isStart(event) || isRefusal(event))
  if (last === undefined) return undefined
  return isStart(last) ? { isAdding: true } : { isAdding: false, refusal: last.message }
}

/** The time of the longest pull: `Successfully pulled image "…" in 12.234s (12.234s including waiting).` */
export function longestPullMs(events: readonly EventObject[]): number | undefined {
  const durationsMs = events.flatMap(({ reason, message }) => {
    const [, minutes = '0', amount, unit] =
      (reason === 'Pulled' && /" in (?:(\d+)m)?([\d.]+)(ms|s)\b/.exec(message ?? '')) || []
    return amount === undefined ? [] : [Number(minutes) * 60_000 + Number(amount) * (unit === 's' ? 1_000 : 1)]
  })
  return durationsMs.length === 0 ? undefined : Math.max(...durationsMs)
}
