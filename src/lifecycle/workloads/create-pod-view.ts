import { type EventObject, firstOccurrence, type Pod, type Probe } from '../../cluster/objects.ts'
import { recoveredMs } from '../../thresholds.ts'
import { eventCounters } from '../assess.ts'
import { trueCondition } from '../conditions.ts'
import type { ContainerView, PodContainer, PodView } from '../pod-view.ts'
import { earliestMoment, type GateTime, latestIfAllKnown } from '../proof.ts'
import { countDeaths, type WorkloadTiming } from './death-count.ts'
import { type PodObservations, unobserved, withReportedRefusals } from './observe-pods.ts'
import {
  autoscalerReport,
  failedProbeMessages,
  latestSetupFailure,
  longestPullMs,
  postStartHookBeganAt,
  probeThatKilled,
  refusedCreationTimes,
} from './pod-events.ts'
import { containerOfEvent, containersOf, hasStarted, isReadyByCondition, isStartError } from './pod-fields.ts'

/** Creates the view of a pod, which rules read. `events`: the latest last. */
export function createPodView(
  pod: Pod,
  { seenAt, containers: observed }: PodObservations,
  events: readonly EventObject[],
  timing: WorkloadTiming,
  gateTime: GateTime,
): PodView {
  const { time } = gateTime
  const createdAt = time(pod.metadata.creationTimestamp)
  // The key of the Events about the pod as a whole is undefined.
  const eventsOf = Map.groupBy(events, containerOfEvent)
  const lacksPullSecret = events.some(({ reason }) => reason === 'FailedToRetrieveImagePullSecret')
  const containers = containersOf(pod).map((each): ContainerView => {
    const observations = observed.get(each.container.name) ?? unobserved
    const containerEvents = eventsOf.get(each.container.name) ?? []
    const startedAt = time(each.status?.state?.running?.startedAt)
    const refusals = withReportedRefusals(observations.refusals, containerEvents, seenAt, gateTime)
    return {
      ...each,
      pod,
      // The number of an instance is the number of deaths before it.
      running: each.status?.state?.running && observations.instances.get(observations.total),
      waiting: observations.waiting,
      deaths: countDeaths(observations, createdAt, backOffSince(containerEvents, seenAt, gateTime), timing, gateTime),
      refusals,
      startedAt,
      // If an instance never started, its start is 1970.
      endBeganAt: each.end?.reason === 'StartError' ? undefined : time(each.end?.startedAt),
      endedAt: time(each.end?.finishedAt),
      probesDueAt: probesDueAt(each, startedAt),
      isPulling: refusals.size === 0 && containerEvents.at(-1)?.reason === 'Pulling' && mayBePulling(each),
      lacksPullSecret,
      refused: refusedCreationTimes(each, containerEvents, time),
      failedProbes: failedProbeMessages(containerEvents),
      killedBy: probeThatKilled(containerEvents),
      failedHook: containerEvents.findLast(({ reason }) => reason === 'FailedPostStartHook')?.message,
      hookStartedAt: postStartHookBeganAt(each, containerEvents.at(-1), time),
    }
  })
  const trueSince = (type: string) => time(trueCondition(pod, type)?.lastTransitionTime)
  const ready = isReadyByCondition(pod) && pod.status?.phase === 'Running'
  const settledAt = Math.max(0, ...containers.map((each) => containerSettledAt(each, createdAt, seenAt, gateTime)))
  const readySince = ready ? trueSince('Ready') : undefined
  const started = containers.every(hasEverStarted)
  // An Event about an image volume refers to the pod, not to a container (getImageVolumes, pkg/kubelet/kuberuntime).
  const isVolumePulling = eventsOf.get(undefined)?.at(-1)?.reason === 'Pulling'
  const firstStarts = containers.map((each) => firstStartedAt(each, createdAt, gateTime))
  return {
    pod,
    seenAt,
    minReadyMs: timing.minReadyMs,
    containers,
    scheduled: (pod.spec?.nodeName ?? '') !== '',
    initialized: trueCondition(pod, 'Initialized') !== undefined || pod.status?.phase === 'Running',
    isPulling:
      containers.some(({ isPulling }) => isPulling) ||
      (isVolumePulling && !containers.some(({ status }) => hasStarted(status))),
    pulled: containers.every(isImagePulled),
    started,
    running: containers.every(isRunningOrCompleted),
    ready,
    settledAt,
    moments: {
      scheduled: trueSince('PodScheduled'),
      initialized: trueSince('Initialized'),
      pulled: latestIfAllKnown(firstStarts),
      started: latestIfAllKnown(
        // An init container counts as started once it has ended.
        containers.map(({ isInit, status }, index) =>
          isInit ? time(status?.state?.terminated?.finishedAt) : firstStarts[index],
        ),
      ),
      ready: readySince,
      settled: readySince === undefined ? undefined : Math.max(readySince, settledAt),
    },
    runningStep: runningStep(containers),
    setupFailure: latestSetupFailure(pod, events, time),
    hasContainers: events.some((event) => containerOfEvent(event) !== undefined),
    schedulingFailure: events.findLast(({ reason }) => reason === 'FailedScheduling')?.message,
    claimFailure: events.findLast(({ reason }) => reason === 'FailedResourceClaimCreation')?.message,
    scaleUp: autoscalerReport(pod, events),
    pullMs: longestPullMs(events),
    counters: started ? [] : eventCounters(events),
  }
}

/** When an Event first reported a back-off before the next start of a container. */
function backOffSince(containerEvents: readonly EventObject[], seenAt: number, { time }: GateTime): number | undefined {
  const backOffs = containerEvents.filter(
    ({ reason, message }) => reason === 'BackOff' && message?.startsWith('Back-off restarting'),
  )
  return earliestMoment(backOffs.map((event) => time(firstOccurrence(event)) ?? seenAt))
}

/** When the time that the probes allow ends; undefined if the container is ready or does not run. */
function probesDueAt({ container, status, isInit }: PodContainer, startedAt: number | undefined): number | undefined {
  if (startedAt === undefined || isInit || status?.ready) return undefined
  return startedAt + (probeLimitSeconds(container.startupProbe) + probeLimitSeconds(container.readinessProbe)) * 1_000
}

/** How long a probe may fail before it counts. Defaults of the API: period 10 s, failureThreshold 3, timeout 1 s. */
function probeLimitSeconds(probe: Probe | undefined): number {
  if (probe === undefined) return 0
  const { initialDelaySeconds = 0, periodSeconds = 10, failureThreshold = 3, timeoutSeconds = 1 } = probe
  return initialDelaySeconds + periodSeconds * failureThreshold + timeoutSeconds
}

/**
 * When a running container has settled: at once if it has a readiness probe and never died, otherwise after the settle
 * time. If its start is in the future or before the creation of its pod, the clock of its node is wrong. Then the
 * settle time starts when the gate first saw the container.
 */
function containerSettledAt(
  { container, isInit, startedAt, endedAt, running, deaths }: ContainerView,
  createdAt: number | undefined,
  observedAt: number,
  { settleTimeMs }: GateTime,
): number {
  const isProbed = container.readinessProbe !== undefined
  if (isInit || startedAt === undefined || running === undefined) return 0
  const hasDied = deaths.count > 0 || (endedAt !== undefined && startedAt - endedAt < recoveredMs)
  if (isProbed && !hasDied) return 0
  const { seenAt = observedAt, readySince = observedAt } = running
  const isClockWrong = startedAt > seenAt || (createdAt !== undefined && startedAt < createdAt)
  const runsSince = isClockWrong ? seenAt : startedAt
  const since = isProbed ? Math.max(runsSince, readySince) : runsSince
  return since + settleTimeMs
}

/** The first known start of a container. A time before the creation of its pod (1970, a wrong clock) is ignored. */
function firstStartedAt(
  { status, startedAt }: ContainerView,
  createdAt = -Infinity,
  { time }: GateTime,
): number | undefined {
  const ends = [status?.state?.terminated, status?.lastState?.terminated].map((end) => time(end?.startedAt))
  return earliestMoment([startedAt, ...ends].filter((at) => at !== undefined && at >= createdAt))
}

function isRunningOrCompleted({ status, isInit, runsOnce }: PodContainer): boolean {
  if (status?.state?.running) return !isInit
  return (isInit || runsOnce) && status?.state?.terminated?.exitCode === 0
}

/** Whether a container runs or has run; an init container must have completed. */
function hasEverStarted({ status, isInit, end }: PodContainer): boolean {
  const { running, terminated } = status?.state ?? {}
  if (isInit) return terminated?.exitCode === 0
  return running !== undefined || (end !== undefined && !isStartError(end))
}

function runningStep(containers: readonly ContainerView[]): string | undefined {
  const init = containers.find(({ isInit, status }) => isInit && status?.state?.running)
  if (init !== undefined) return `init container ${init.container.name} is running`
  const hooked = containers.find(({ hookStartedAt }) => hookStartedAt !== undefined)
  return hooked && `the postStart hook of ${hooked.container.name} is running`
}

/** Waiting reasons for errors after the pull (startContainer, pkg/kubelet/kuberuntime). */
const afterPull = /^(?:CreateContainer(?:Config)?|PreCreateHook|PreStartHook|RunContainer)Error$/

/** Whether the image of a container has been pulled: a later step shows it. */
function isImagePulled({ status, hookStartedAt }: ContainerView): boolean {
  const isAfterPull = (status?.imageID ?? '') !== '' || afterPull.test(status?.state?.waiting?.reason ?? '')
  return hasStarted(status) || isAfterPull || hookStartedAt !== undefined
}

/** Whether an image may be in the process of being pulled, by the container's state, which may be old. */
function mayBePulling({ status }: PodContainer): boolean {
  return !hasStarted(status) && status?.state?.waiting?.reason !== 'ImagePullBackOff'
}
