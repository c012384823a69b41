import type { EventObject, Pod } from '../../cluster/objects.ts'
import type { Problem } from '../../reasons/reasons.ts'
import { recoveredMs } from '../../thresholds.ts'
import type { ContainerHistory, PodHistory } from '../pod-history.ts'
import { earliest, isAhead, isSinceStart, latestOfAll } from '../proof.ts'
import type { Reader } from '../reader.ts'
import { examineContainer, hookStartedAt, probesDueAt } from './container-problems.ts'
import { condition, containerOfEvent, containersOf, hasStarted, isStartError, type PodContainer } from './pod-fields.ts'
import { examineSetup, lostNodeToleratedUntil, quietAt, scaleUp } from './pod-problems.ts'

/** The progress of a pod, and its problems. */
export interface PodState {
  readonly pod: Pod
  readonly scheduled: boolean
  /** All init containers have ended, and sidecars run. */
  readonly initialized: boolean
  readonly isPulling: boolean
  readonly pulled: boolean
  /** The time of its slowest pull in milliseconds, by the kubelet's event. */
  readonly pullMs?: number
  /** Every container runs, or ran before it died; every init container has completed. */
  readonly started: boolean
  /** Every container runs, or has completed. */
  readonly running: boolean
  readonly ready: boolean
  /** Ready, and every container that has no readiness probe, or that has died, was ready for the settle time. */
  readonly settled: boolean
  /**
   * A better pod prevents other pods' problems from failing the workload. It is ready and settled (for minReadySeconds
   * if longer), or has started without a death.
   */
  readonly better: boolean
  readonly moments: PodMoments
  readonly problems: readonly Problem[]
  /** For which the next containers wait: `init container migrate is running`. */
  readonly runningStep?: string
  /** Why the stall clock is stopped: an image is being pulled, or probes still have time. */
  readonly stallHold?: string
  /** The node of the pod, if the node may be lost: nothing has been reported about the pod for long. */
  readonly quietNode?: string
}

/**
 * When a pod reached its milestones, as its status and its events show it: milliseconds since the epoch on the runner's clock.
 * Undefined if they do not show it, or if it has not reached the milestone.
 */
interface PodMoments {
  readonly scheduled: number | undefined
  readonly initialized: number | undefined
  readonly pulled: number | undefined
  readonly started: number | undefined
  /** By the kubelet alone, before its containers have settled. */
  readonly ready: number | undefined
  /** Of a ready pod: also before this moment. */
  readonly settled: number | undefined
}

/** The state of a pod without problems, everything that it depends on, and from when to when it holds. */
interface Examination extends Pick<Reader, 'time' | 'settings'> {
  readonly state: PodState
  readonly history: PodHistory
  readonly events: readonly EventObject[]
  readonly from: number
  readonly until: number
}

/** Caches the examination of each pod: after a change of one pod, all pods of its workload are examined. */
const examinations = new WeakMap<Pod, Examination>()

/** Reads a pod's state: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/ */
export function examinePod(pod: Pod, reader: Reader): PodState {
  const { now, time, settings } = reader
  const history = reader.podHistory(pod)
  const events = reader.events(pod)
  const known = examinations.get(pod)
  const isSame =
    known?.history === history && known.events === events && known.time === time && known.settings === settings
  if (isSame && now >= known.from && !reader.passed(known.until)) return known.state
  let until = Infinity
  const passed = (moment = Infinity) => {
    const isPast = reader.passed(moment)
    if (!isPast) until = Math.min(until, moment)
    return isPast
  }
  const state = readState(pod, { ...reader, passed })
  // Problems also depend on other targets and other objects, and so does a pod whose node may be lost.
  if (state.problems.length === 0 && state.quietNode === undefined)
    examinations.set(pod, { state, history, events, time, settings, from: now, until })
  return state
}

function readState(pod: Pod, reader: Reader): PodState {
  const containers = containersOf(pod)
  const { containers: histories, minReadyMs } = reader.podHistory(pod)
  const observed = containers.flatMap((each) => {
    const history = histories.get(each.container.name)
    return history === undefined ? [] : [{ ...each, pod, history, reader }]
  })
  const problems = [examineSetup(pod, reader), ...observed.map(examineContainer)].filter(
    (problem) => problem !== undefined,
  )
  const { ready, settledAt } = readiness(pod, reader)
  const isProbing = containers.some((each) => isAhead(probesDueAt(each, reader), reader))
  const isHookRunning = (each: PodContainer) => hookStartedAt({ ...each, pod }, reader) !== undefined
  const isPulling =
    containers.some((each) => isBeingPulled(pod, each, reader)) || isVolumeBeingPulled(pod, containers, reader)
  const wait = knownWait(pod, { isPulling, isProbing }, reader)
  const readySince = ready ? reader.time(condition(pod, 'Ready')?.lastTransitionTime) : undefined
  const availableAt = Math.max(settledAt, (readySince ?? 0) + minReadyMs)
  const running = containers.every(runsOrHasCompleted)
  const hasNoDeaths = [...histories.values()].every(({ deaths }) => deaths === 0)
  return {
    pod,
    scheduled: (pod.spec?.nodeName ?? '') !== '',
    initialized: condition(pod, 'Initialized')?.status === 'True' || pod.status?.phase === 'Running',
    isPulling,
    pulled: containers.every((each) => hasStarted(each.status) || isPulled(each.status) || isHookRunning(each)),
    pullMs: slowestPull(reader.events(pod)),
    started: containers.every(hasOnceStarted),
    running,
    ready,
    settled: ready && reader.passed(settledAt),
    better: (ready && reader.passed(availableAt)) || (running && hasNoDeaths),
    moments: momentsOf(pod, containers, { readySince, settledAt }, reader),
    problems,
    runningStep: runningStep(containers, isHookRunning),
    stallHold:
      wait ??
      (isAhead(lostNodeToleratedUntil(pod, reader), reader)
        ? 'the node of a pod does not respond, and the pod tolerates that for a time'
        : undefined),
    quietNode: wait === undefined && reader.passed(quietAt(pod, reader)) ? pod.spec?.nodeName : undefined,
  }
}

/**
 * @param readySince since when the kubelet reports it as ready; undefined while it is not
 * @param settledAt when its containers have settled
 */
function momentsOf(
  pod: Pod,
  containers: readonly PodContainer[],
  { readySince, settledAt }: { readonly readySince: number | undefined; readonly settledAt: number },
  reader: Reader,
): PodMoments {
  const { time } = reader
  const since = (type: string) => {
    const found = condition(pod, type)
    return found?.status === 'True' ? time(found.lastTransitionTime) : undefined
  }
  return {
    scheduled: since('PodScheduled'),
    initialized: since('Initialized'),
    pulled: latestOfAll(containers.map((each) => firstStartOf(each, pod, reader))),
    started: latestOfAll(
      containers.map((each) =>
        each.isInit ? time(each.status?.state?.terminated?.finishedAt) : firstStartOf(each, pod, reader),
      ),
    ),
    ready: readySince,
    settled: readySince === undefined ? undefined : Math.max(readySince, settledAt),
  }
}

/**
 * The first known start of a container, by its status. Undefined if the clock of its node is wrong, or if the container
 * runtime never started it: then its start has the time 1970.
 */
function firstStartOf({ status }: PodContainer, { metadata }: Pod, { time }: Reader): number | undefined {
  const { state, lastState } = status ?? {}
  const createdAt = time(metadata.creationTimestamp) ?? -Infinity
  const starts = [state?.running, state?.terminated, lastState?.terminated].map((each) => time(each?.startedAt))
  return earliest(starts.filter((at) => at !== undefined && at >= createdAt))
}

/** The moment of the milestone `pulled`: its containers start directly after it. Nothing shows when an older pod pulled its images. */
export function pulledAt(startedAt: number | undefined, reader: Reader): number | undefined {
  return isSinceStart(startedAt, reader) ? startedAt : undefined
}

/** What the containers of a pod may need time for. */
interface Waits {
  readonly isPulling: boolean
  readonly isProbing: boolean
}

/** What a pod waits for, which takes a known time. */
function knownWait(pod: Pod, { isPulling, isProbing }: Waits, reader: Reader): string | undefined {
  if (isPulling) return 'an image is being pulled'
  if (isProbing) return 'the probes of a pod still have time'
  return scaleUp(pod, reader)?.isAdding ? 'an autoscaler is adding a node' : undefined
}

function runsOrHasCompleted({ status, isInit, runsOnce }: PodContainer): boolean {
  if (status?.state?.running) return !isInit
  return (isInit || runsOnce) && status?.state?.terminated?.exitCode === 0
}

function runningStep(
  containers: readonly PodContainer[],
  isHookRunning: (each: PodContainer) => boolean,
): string | undefined {
  const init = containers.find(({ isInit, status }) => isInit && status?.state?.running)
  if (init !== undefined) return `init container ${init.container.name} is running`
  const hooked = containers.find(isHookRunning)
  return hooked && `the postStart hook of ${hooked.container.name} is running`
}

/** Whether a pod is ready, and from when it is settled if no container dies before: milliseconds on the runner's clock. */
export function readiness(pod: Pod, reader: Reader): { readonly ready: boolean; readonly settledAt: number } {
  const history = reader.podHistory(pod)
  const created = reader.time(pod.metadata.creationTimestamp)
  const moments = containersOf(pod).map((at) =>
    settledFrom(at, history.containers.get(at.container.name), created, reader),
  )
  return {
    ready: condition(pod, 'Ready')?.status === 'True' && pod.status?.phase === 'Running',
    settledAt: Math.max(0, ...moments),
  }
}

/**
 * When a running container is settled: without a readiness probe after the settle time; with one immediately, unless it
 * has died before: then it must stay ready for the settle time. If its start is in the future or before the creation of
 * its pod, the clock of its node is wrong, and the settle time starts at first sight.
 */
function settledFrom(
  { container, status, isInit }: PodContainer,
  history: ContainerHistory | undefined,
  created: number | undefined,
  reader: Reader,
): number {
  const isProbed = container.readinessProbe !== undefined
  const startedAt = reader.time(status?.state?.running?.startedAt)
  if (isInit || startedAt === undefined) return 0
  const diedAt = reader.time(status?.lastState?.terminated?.finishedAt)
  const hasDied = (history?.deaths ?? 0) > 0 || (diedAt !== undefined && startedAt - diedAt < recoveredMs)
  if (isProbed && !hasDied) return 0
  const seenAt = history?.running?.seenAt ?? reader.now
  const isClockWrong = startedAt > seenAt || (created !== undefined && startedAt < created)
  const runsSince = isClockWrong ? seenAt : startedAt
  const since = isProbed ? Math.max(runsSince, history?.running?.readySince ?? reader.now) : runsSince
  return since + reader.settings.settleTimeMs
}

/** Whether a container has run, also if it died since; an init container must have completed. */
function hasOnceStarted({ status, isInit }: PodContainer): boolean {
  const { running, terminated } = status?.state ?? {}
  if (isInit) return terminated?.exitCode === 0
  const ended = terminated ?? status?.lastState?.terminated
  return running !== undefined || (ended !== undefined && !isStartError(ended))
}

/** Errors of the steps that follow the pull: startContainer, pkg/kubelet/kuberuntime. */
const afterPull = /^(?:CreateContainer(?:Config)?|PreCreateHook|PreStartHook|RunContainer)Error$/

function isPulled(status: PodContainer['status']): boolean {
  return (status?.imageID ?? '') !== '' || afterPull.test(status?.state?.waiting?.reason ?? '')
}

/** Whether the kubelet's last event about the container is a pull. */
function isBeingPulled(pod: Pod, { container, status }: PodContainer, reader: Reader): boolean {
  if (hasStarted(status) || status?.state?.waiting?.reason === 'ImagePullBackOff') return false
  const last = reader.events(pod).findLast((event) => event.involvedObject?.fieldPath?.endsWith(`{${container.name}}`))
  return (
    last?.reason === 'Pulling' &&
    Object.keys(reader.podHistory(pod).containers.get(container.name)?.refusals ?? {}).length === 0
  )
}

/**
 * Whether an image volume is being pulled. The kubelet's events about it name only its pod (getImageVolumes,
 * pkg/kubelet/kuberuntime).
 */
function isVolumeBeingPulled(pod: Pod, containers: readonly PodContainer[], reader: Reader): boolean {
  if (!pod.spec?.volumes?.some(({ image }) => image !== undefined)) return false
  const last = reader.events(pod).findLast((event) => containerOfEvent(event) === undefined)
  return last?.reason === 'Pulling' && !containers.some(({ status }) => hasStarted(status))
}

/** Reads the longest pull from the events: `Successfully pulled image "…" in 12.234s (12.234s including waiting).` */
function slowestPull(events: readonly EventObject[]): number | undefined {
  const took = events.flatMap(({ reason, message = '' }) => {
    const [, minutes = '0', amount, unit] =
      (reason === 'Pulled' && /" in (?:(\d+)m)?([\d.]+)(ms|s)\b/.exec(message)) || []
    return amount === undefined ? [] : [Number(minutes) * 60_000 + Number(amount) * (unit === 's' ? 1_000 : 1)]
  })
  return took.length === 0 ? undefined : Math.max(...took)
}
