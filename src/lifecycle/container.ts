import type { ContainerStateTerminated, Pod, Probe } from '../cluster/objects.ts'
import type { Problem } from './assessment.ts'
import { explainDeath, runtimeWords } from './death.ts'
import { presentDeath } from './death-count.ts'
import { type ContainerHistory, containerOfEvent, type PodContainer, type Refusals } from './history.ts'
import { missingObject } from './missing.ts'
import { type PullReason, registryWords } from './pull.ts'
import type { View } from './view.ts'

/** A third death proves a crash loop, but not within this time of the first. */
const strikeMs = 30_000
/** And not within this time while another target still progresses: the container may be waiting for it. */
const strikeWhileOthersProgressMs = 90_000
/** How long a missing Secret or ConfigMap may take to appear: operators create them late. */
export const missingObjectMs = 60_000

/** What is wrong with one container, and when that judgement may change by time alone. */
export interface ContainerFinding {
  readonly problem?: Problem
  readonly recheckAt?: number
}

/**
 * What is wrong with a container now, if anything. The waiting reasons are the kubelet's (pkg/kubelet/images/types.go,
 * pkg/kubelet/kuberuntime). A state lags behind the events by up to 20 s, so refusals and deaths come from the history,
 * which reads both.
 */
export function examineContainer(
  pod: Pod,
  at: PodContainer,
  history: ContainerHistory | undefined,
  view: View,
): ContainerFinding {
  if (history === undefined || at.isDismissed) return {}
  if (at.status?.state?.running) return examineRunning(pod, at, history, view)
  const waiting = at.status?.state?.waiting
  switch (waiting?.reason) {
    case 'InvalidImageName':
    case 'ErrImageNeverPull':
      return { problem: unusableImage(pod, at, waiting.reason, history, view) }
    case 'CreateContainerConfigError':
    case 'CreateContainerError':
      return examineConfig(pod, at, waiting.reason, waiting.message ?? '', history, view)
    default: {
      const refused = at.status?.state?.terminated === undefined ? lastRefusal(history) : undefined
      return refused !== undefined && history.deaths === 0
        ? refusedPull(pod, at, ...refused)
        : examineDeath(pod, at, history, view)
    }
  }
}

/** Terminal: the kubelet will not even try to pull such an image. */
function unusableImage(pod: Pod, at: PodContainer, waiting: string, history: ContainerHistory, view: View): Problem {
  const image = at.container.image ?? ''
  const isInvalid = waiting === 'InvalidImageName'
  return describe(pod, at, {
    reason: isInvalid ? 'image-name-invalid' : 'image-never-pull',
    class: 'terminal',
    proven: true,
    count: 1,
    firstSeenAt: history.waiting?.since ?? view.now,
    message: isInvalid
      ? `"${image}" is not a valid image name`
      : `image "${image}" is not on the node, and imagePullPolicy Never forbids pulling it`,
    detail: { image },
  })
}

/**
 * Strike: what the container needs is missing, or the runtime cannot create it. Whoever creates the missing may be late, so
 * the same refusal has to stand for a minute; the kubelet tries again every 10 to 15 s and says so.
 */
function examineConfig(
  pod: Pod,
  at: PodContainer,
  waiting: string,
  message: string,
  history: ContainerHistory,
  view: View,
): ContainerFinding {
  const since = Math.min(history.waiting?.since ?? view.now, refusedSince(pod, at, message, view) ?? Infinity)
  const missing = waiting === 'CreateContainerConfigError' ? missingObject(message) : undefined
  const problem = describe(pod, at, {
    // A container that may not run as root cannot be created either, and nothing is missing.
    reason:
      waiting === 'CreateContainerError' || /runAsNonRoot/i.test(message)
        ? 'container-create-failed'
        : 'config-missing',
    class: 'strike',
    proven: view.now - since >= missingObjectMs,
    count: 1,
    firstSeenAt: since,
    message: `cannot be created: ${message === '' ? waiting : runtimeWords(message)}`,
    ...(missing === undefined ? {} : { detail: missing }),
  })
  return { problem, recheckAt: since + missingObjectMs }
}

/** When the kubelet refused for this very reason first, as its event says; the status lags behind. Not before the gate began. */
function refusedSince(pod: Pod, { container }: PodContainer, message: string, view: View): number | undefined {
  const event = view
    .events(pod)
    .find((each) => containerOfEvent(each) === container.name && each.message === `Error: ${message}`)
  const first = view.time(event?.firstTimestamp ?? event?.eventTime)
  return first === undefined ? undefined : Math.max(first, view.startedAt)
}

function refusedPull(pod: Pod, at: PodContainer, reason: PullReason, refusals: Refusals): ContainerFinding {
  const image = at.container.image ?? ''
  const count = Math.max(refusals.attempts, refusals.events)
  return {
    problem: describe(pod, at, {
      reason,
      ...pullClass(reason, count),
      count,
      firstSeenAt: refusals.firstAt,
      message: pullMessage(image, refusals.message, count),
      detail: { image },
    }),
  }
}

function pullMessage(image: string, words: string, count: number): string {
  const answer = registryWords(words)
  return `cannot pull image "${image}"${answer === '' ? '' : `: ${answer}`}${count > 1 ? `, ${count} times now` : ''}`
}

/**
 * Terminal: an image that the registry does not have at the second refusal (a push may be racing the first). Strike: a
 * refusal for lack of authorisation at the third. The rest heals when the registry or the network does.
 */
function pullClass(reason: PullReason, count: number): Pick<Problem, 'class' | 'proven'> {
  switch (reason) {
    case 'image-not-found':
      return { class: 'terminal', proven: count >= 2 }
    case 'image-unauthorized':
      return { class: 'strike', proven: count >= 3 }
    default:
      return { class: 'slow', proven: false }
  }
}

function lastRefusal(history: ContainerHistory): readonly [PullReason, Refusals] | undefined {
  const all = Object.entries(history.refusals) as [PullReason, Refusals][]
  return all.sort(([, a], [, b]) => b.firstAt - a.firstAt)[0]
}

/**
 * Strike: a container that died and is not running, proven by its third death. While another target progresses it may be
 * waiting for that one, and so may the instance have that started before that one was ready: only the next shows it.
 */
function examineDeath(pod: Pod, at: PodContainer, history: ContainerHistory, view: View): ContainerFinding {
  const death = at.status === undefined ? undefined : presentDeath(at.status, at.runsOnce)
  if (death === undefined || history.deaths === 0) return {}
  const firstDeathAt = history.firstDeathAt ?? view.now
  // An instance that never started waited for nobody (its startedAt is 1970).
  const startedAt = death.reason === 'StartError' ? undefined : view.time(death.startedAt)
  const mayHaveWaited = startedAt !== undefined && (view.othersReadyAt ?? 0) > startedAt
  const patience = view.othersProgress || mayHaveWaited ? strikeWhileOthersProgressMs : strikeMs
  const isEnough = history.deaths > view.settings.maxRestarts
  const proven = isEnough && view.now - firstDeathAt >= patience
  return {
    problem: deathProblem(pod, at, death, history, proven, view),
    ...(isEnough && !proven ? { recheckAt: firstDeathAt + patience } : {}),
  }
}

function deathProblem(
  pod: Pod,
  at: PodContainer,
  death: ContainerStateTerminated,
  history: ContainerHistory,
  proven: boolean,
  view: View,
): Problem {
  const { reason, message } = explainDeath(at, death, view.events(pod))
  return describe(pod, at, {
    reason,
    class: 'strike',
    message: `${message}${history.deaths > 1 ? `, ${history.deaths} times now` : ''}`,
    count: history.deaths,
    firstSeenAt: history.firstDeathAt ?? view.now,
    proven,
    detail: {
      ...(at.container.image === undefined ? {} : { image: at.container.image }),
      ...(death.exitCode === undefined ? {} : { exitCode: death.exitCode }),
      ...(death.signal === undefined ? {} : { signal: death.signal }),
    },
  })
}

/**
 * Slow: a container that runs but is not ready, once its probes had the time that they ask for. Until then an earlier
 * death is told, but proves nothing: this instance may live.
 */
function examineRunning(pod: Pod, at: PodContainer, history: ContainerHistory, view: View): ContainerFinding {
  const { status, container } = at
  const due = probesDueAt(at, view)
  if (status === undefined || due === undefined) return {}
  if (view.now < due) {
    const death = status.lastState?.terminated
    return {
      ...(history.deaths > 0 && death !== undefined
        ? { problem: deathProblem(pod, at, death, history, false, view) }
        : {}),
      recheckAt: due,
    }
  }
  const isStarting = status.started === false && container.startupProbe !== undefined
  // Without a probe it is ready as soon as the kubelet writes it down.
  if (!isStarting && container.readinessProbe === undefined) return {}
  const probe = isStarting ? 'Startup' : 'Readiness'
  const words = view.events(pod).findLast((e) => e.reason === 'Unhealthy' && e.message?.startsWith(probe))?.message
  const problem = describe(pod, at, {
    reason: isStarting ? 'startup-failing' : 'readiness-failing',
    class: 'slow',
    message: probeMessage(probe, words),
    count: 1,
    firstSeenAt: due,
    proven: false,
  })
  return { problem }
}

/** `Readiness probe failed: HTTP probe failed with statuscode: 503` → `fails its readiness probe: HTTP probe …`. */
function probeMessage(probe: string, words: string | undefined): string {
  if (words === undefined) return `runs, but its ${probe.toLowerCase()} probe has not succeeded`
  // A probe that says nothing leaves the kubelet's sentence with a colon at its end.
  const why = words.replace(/^\w+ probe (?:failed|errored)[^:]*:?\s*/, '').trim()
  return `fails its ${probe.toLowerCase()} probe${why === '' ? '' : `: ${why}`}`
}

/**
 * When a container that runs without being ready has used up the time that its own probes allow: the startup probe's
 * whole arithmetic, then the readiness probe's. Undefined for a container that is ready, does not run or has to end.
 */
export function probesDueAt({ container, status, isInit }: PodContainer, view: View): number | undefined {
  const startedAt = view.time(status?.state?.running?.startedAt)
  if (startedAt === undefined || isInit || status?.ready) return undefined
  return startedAt + (probeSeconds(container.startupProbe) + probeSeconds(container.readinessProbe)) * 1000
}

/** How long a probe may fail before it counts. Defaults of the API: period 10 s, failureThreshold 3, timeout 1 s. */
export function probeSeconds(probe: Probe | undefined): number {
  if (probe === undefined) return 0
  return (
    (probe.initialDelaySeconds ?? 0) +
    (probe.periodSeconds ?? 10) * (probe.failureThreshold ?? 3) +
    (probe.timeoutSeconds ?? 1)
  )
}

function describe(
  pod: Pod,
  { container, isInit }: PodContainer,
  problem: Omit<Problem, 'subject' | 'container'>,
): Problem {
  const about = { ...problem, subject: `pod/${pod.metadata.name}`, container: container.name }
  return isInit ? { ...about, detail: { ...problem.detail, isInit } } : about
}
