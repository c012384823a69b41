import type { Pod, Probe } from '../../cluster/objects.ts'
import { recoveredMs } from '../../thresholds.ts'
import { trueCondition } from '../conditions.ts'
import type { ContainerHistory, ContainerReports, PodHistory, PodReports } from '../pods.ts'
import { earliest, latestOfAll } from '../proof.ts'
import type { Reader } from '../reader.ts'
import { containersOf, hasStarted, isReady, isStartError, type PodContainer } from './pod-fields.ts'

/** A container in a version of its pod, with everything that a rule reads about it. Moments are on the runner's clock. */
export interface ContainerView extends PodContainer, ContainerReports {
  readonly pod: Pod
  readonly history: ContainerHistory
  /** When its present instance started. */
  readonly startedAt: number | undefined
  /**
   * When the time that its probes allow ends: first of the startup probe, then of the readiness probe. Undefined for a
   * container that is ready, does not run or must end.
   */
  readonly probesDueAt: number | undefined
}

/**
 * A version of a pod: its containers, and which milestones it has reached. It does not depend on the present time:
 * where the time decides, it contains a moment on the runner's clock.
 * https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
 */
export interface PodView extends PodReports {
  readonly pod: Pod
  readonly history: PodHistory
  /** In start order. */
  readonly containers: readonly ContainerView[]
  readonly scheduled: boolean
  /** All init containers have ended, and sidecars run. */
  readonly initialized: boolean
  readonly isPulling: boolean
  readonly pulled: boolean
  /** Every container runs, or ran before it died; every init container has completed. */
  readonly started: boolean
  /** Every container runs, or has completed. */
  readonly running: boolean
  readonly ready: boolean
  /** From when every container that has no readiness probe, or that has died, was ready for the settle time. */
  readonly settledAt: number
  readonly moments: PodMoments
  /** What the next containers wait for: `init container migrate is running`. */
  readonly runningStep?: string
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
  /** When a ready pod is settled; this may be in the future. */
  readonly settled: number | undefined
}

/** Reads a version of a pod, with its history. */
export function viewPod(pod: Pod, history: PodHistory, reader: Reader): PodView {
  const { time } = reader
  const { reports } = history
  const containers = containersOf(pod).flatMap((each) => {
    const known = history.containers.get(each.container.name)
    return known === undefined ? [] : [viewContainer(each, pod, known, reader)]
  })
  const since = (type: string) => time(trueCondition(pod, type)?.lastTransitionTime)
  const ready = isReady(pod) && pod.status?.phase === 'Running'
  const createdAt = time(pod.metadata.creationTimestamp)
  const settledAt = Math.max(0, ...containers.map((each) => settledFrom(each, createdAt, reader)))
  const readySince = ready ? since('Ready') : undefined
  const started = containers.every(hasOnceStarted)
  const firstStarts = containers.map((each) => firstStartOf(each, createdAt, reader))
  return {
    ...reports,
    pod,
    history,
    containers,
    scheduled: (pod.spec?.nodeName ?? '') !== '',
    initialized: trueCondition(pod, 'Initialized') !== undefined || pod.status?.phase === 'Running',
    isPulling:
      containers.some(isBeingPulled) ||
      (reports.isVolumePulling && !containers.some(({ status }) => hasStarted(status))),
    pulled: containers.every(isPulled),
    started,
    running: containers.every(runsOrHasCompleted),
    ready,
    settledAt,
    moments: {
      scheduled: since('PodScheduled'),
      initialized: since('Initialized'),
      pulled: latestOfAll(firstStarts),
      started: latestOfAll(
        containers.map(({ isInit, status }, index) =>
          isInit ? time(status?.state?.terminated?.finishedAt) : firstStarts[index],
        ),
      ),
      ready: readySince,
      settled: readySince === undefined ? undefined : Math.max(readySince, settledAt),
    },
    runningStep: runningStep(containers),
    counters: started ? [] : reports.counters,
  }
}

function viewContainer(each: PodContainer, pod: Pod, history: ContainerHistory, { time }: Reader): ContainerView {
  const { container, status, isInit } = each
  const { startupProbe, readinessProbe } = container
  const startedAt = time(status?.state?.running?.startedAt)
  const isUnready = startedAt !== undefined && !isInit && !status?.ready
  return {
    ...each,
    ...history.reports,
    pod,
    history,
    startedAt,
    probesDueAt: isUnready
      ? startedAt + (probeSeconds(startupProbe) + probeSeconds(readinessProbe)) * 1_000
      : undefined,
  }
}

/** How long a probe may fail before it counts. Defaults of the API: period 10 s, failureThreshold 3, timeout 1 s. */
function probeSeconds(probe: Probe | undefined): number {
  if (probe === undefined) return 0
  const { initialDelaySeconds = 0, periodSeconds = 10, failureThreshold = 3, timeoutSeconds = 1 } = probe
  return initialDelaySeconds + periodSeconds * failureThreshold + timeoutSeconds
}

/**
 * When a running container is settled: without a readiness probe, after the settle time; with one, at once. A probed
 * container that has died before must stay ready for the settle time. If its start is in the future or before the
 * creation of its pod, the clock of its node is wrong, and the settle time starts at first sight.
 */
function settledFrom(
  { container, status, isInit, startedAt, history }: ContainerView,
  createdAt: number | undefined,
  { now, time, settings }: Reader,
): number {
  const isProbed = container.readinessProbe !== undefined
  if (isInit || startedAt === undefined) return 0
  const diedAt = time(status?.lastState?.terminated?.finishedAt)
  const hasDied = history.deaths > 0 || (diedAt !== undefined && startedAt - diedAt < recoveredMs)
  if (isProbed && !hasDied) return 0
  const seenAt = history.running?.seenAt ?? now
  const isClockWrong = startedAt > seenAt || (createdAt !== undefined && startedAt < createdAt)
  const runsSince = isClockWrong ? seenAt : startedAt
  const since = isProbed ? Math.max(runsSince, history.running?.readySince ?? now) : runsSince
  return since + settings.settleTimeMs
}

/**
 * The first known start of a container, by its status. Undefined if the clock of its node is wrong, or if the container
 * runtime never started it: then its start has the time 1970.
 */
function firstStartOf(
  { status, startedAt }: ContainerView,
  createdAt = -Infinity,
  { time }: Reader,
): number | undefined {
  const ends = [status?.state?.terminated, status?.lastState?.terminated].map((end) => time(end?.startedAt))
  return earliest([startedAt, ...ends].filter((at) => at !== undefined && at >= createdAt))
}

function runsOrHasCompleted({ status, isInit, runsOnce }: PodContainer): boolean {
  if (status?.state?.running) return !isInit
  return (isInit || runsOnce) && status?.state?.terminated?.exitCode === 0
}

/** Whether a container has run, also if it died since; an init container must have completed. */
function hasOnceStarted({ status, isInit }: PodContainer): boolean {
  const { running, terminated } = status?.state ?? {}
  if (isInit) return terminated?.exitCode === 0
  const ended = terminated ?? status?.lastState?.terminated
  return running !== undefined || (ended !== undefined && !isStartError(ended))
}

function runningStep(containers: readonly ContainerView[]): string | undefined {
  const init = containers.find(({ isInit, status }) => isInit && status?.state?.running)
  if (init !== undefined) return `init container ${init.container.name} is running`
  const hooked = containers.find(({ hookStartedAt }) => hookStartedAt !== undefined)
  return hooked && `the postStart hook of ${hooked.container.name} is running`
}

/** Errors of the steps that follow the pull: startContainer, pkg/kubelet/kuberuntime. */
const afterPull = /^(?:CreateContainer(?:Config)?|PreCreateHook|PreStartHook|RunContainer)Error$/

/** Whether the image of a container has been pulled: a later step shows it. */
function isPulled({ status, hookStartedAt }: ContainerView): boolean {
  const isAfterPull = (status?.imageID ?? '') !== '' || afterPull.test(status?.state?.waiting?.reason ?? '')
  return hasStarted(status) || isAfterPull || hookStartedAt !== undefined
}

/** Whether the image of a container is being pulled: its state may show a refusal later than the Events. */
function isBeingPulled({ status, isPulling, history }: ContainerView): boolean {
  if (hasStarted(status) || status?.state?.waiting?.reason === 'ImagePullBackOff') return false
  return isPulling && Object.keys(history.refusals).length === 0
}
