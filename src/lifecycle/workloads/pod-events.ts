import { type EventObject, firstOccurrence, lastOccurrence, type Pod } from '../../cluster/objects.ts'
import type { ContainerView, PodContainer, ScaleUp, SetupFailure } from '../pod-view.ts'
import { earliestMoment, type GateTime, latestMoment } from '../proof.ts'
import { isCacheNotFilled } from './kubelet-messages.ts'
import { eventCount, findCondition, hasStarted } from './pod-fields.ts'

/*
 * The facts that rules read from the Events about a pod. Besides these facts, rules read only the time of the latest
 * Event (`nodeWithoutReports`), so other Events require no new assessment.
 */

/** Matches the ID of a container and the number of a temporary folder, which differ in each attempt. */
const attemptIds = /\b[\da-f]{32,}\b|\d{6,}/g

/** When the error in the state of a container occurred first and last. */
export function refusedCreationTimes(
  { status }: PodContainer,
  containerEvents: readonly EventObject[],
  time: GateTime['time'],
): ContainerView['refused'] {
  const refusal = `Error: ${status?.state?.waiting?.message ?? ''}`.replaceAll(attemptIds, '')
  const refused = containerEvents.filter(({ message = '' }) => message.replaceAll(attemptIds, '') === refusal)
  if (refused.length === 0) return undefined
  return {
    first: earliestMoment(refused.map((event) => time(firstOccurrence(event)))),
    last: latestMoment(refused.map((event) => time(lastOccurrence(event)))),
  }
}

/** When the postStart hook of a container began, if it runs. */
export function postStartHookBeganAt(
  { container, status }: PodContainer,
  lastEvent: EventObject | undefined,
  time: GateTime['time'],
): number | undefined {
  const isRunning =
    container.lifecycle?.postStart !== undefined && !hasStarted(status) && lastEvent?.reason === 'Started'
  return isRunning ? time(lastOccurrence(lastEvent)) : undefined
}

/** The last message about each failed probe of a container. */
export function failedProbeMessages(containerEvents: readonly EventObject[]): ContainerView['failedProbes'] {
  const probes = (['liveness', 'readiness', 'startup'] as const).flatMap((kind) => {
    const last = containerEvents.findLast(
      ({ reason, message }) => reason === 'Unhealthy' && message?.toLowerCase().startsWith(`${kind} probe`),
    )
    return last === undefined ? [] : [[kind, last.message ?? ''] as const]
  })
  return Object.fromEntries(probes)
}

/** The probe for which the kubelet killed a container. */
export function probeThatKilled(containerEvents: readonly EventObject[]): ContainerView['killedBy'] {
  const killings = containerEvents.filter(({ reason }) => reason === 'Killing')
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
  'FailedCreatePodContainer',
  'FailedCreatePodSandBox',
  'FailedPodSandBoxStatus',
  'NetworkNotReady',
])

/** The latest failed step of a pod's setup, before its containers exist. */
export function latestSetupFailure(
  pod: Pod,
  podEvents: readonly EventObject[],
  time: GateTime['time'],
): SetupFailure | undefined {
  const isOpen = (event: EventObject, index: number) =>
    setupFailures.has(event.reason ?? '') && !isSolvedSince(event, podEvents.slice(index + 1), pod)
  // An old kubelet lists the unmounted volumes every two minutes. An earlier Event contains the cause.
  const isCause = ({ message = '' }: EventObject) => !unmountedVolumes.test(message) && !isCacheNotFilled(message)
  // From the last Event: each earlier one would be compared with all Events after it.
  const last =
    podEvents.findLast((event, index) => isCause(event) && isOpen(event, index)) ?? podEvents.findLast(isOpen)
  if (last === undefined) return undefined
  const { reason, message } = last
  const [firstAt, lastAt] = [time(firstOccurrence(last)), time(lastOccurrence(last))]
  return { reason: reason ?? '', message: message ?? '', count: eventCount(last), first: firstAt, last: lastAt }
}

/** The kubelet's list of the volumes of a pod that are not mounted yet, by their names in the pod. */
const unmountedVolumes = /^Unable to attach or mount volumes: unmounted volumes=\[([^\]]*)\]/

/**
 * Whether the volume of this failure has been attached or mounted since. The failure of a claim contains the name of
 * its PersistentVolume, so a list of unmounted volumes says nothing about it.
 */
function isSolvedSince({ reason, message }: EventObject, later: readonly EventObject[], { spec }: Pod): boolean {
  const [, name = ''] = / for volume "([^"]+)"/.exec(message ?? '') ?? []
  const isInPod = spec?.volumes?.some((volume) => volume.name === name) === true
  const isAttached = (event: EventObject) =>
    event.reason === 'SuccessfulAttachVolume' && event.message?.includes(`"${name}"`)
  const isMounted = (event: EventObject) =>
    unmountedVolumes
      .exec(event.message ?? '')?.[1]
      ?.split(' ')
      .includes(name) === false
  return (reason === 'FailedAttachVolume' && later.some(isAttached)) || (isInPod && later.some(isMounted))
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
