import type { ContainerStateTerminated, EventObject, Pod, Probe } from '../../cluster/objects.ts'
import { type Problem, type ProblemWith, problemOf, type ReasonCode } from '../../reasons/reasons.ts'
import { missingObject } from '../missing.ts'
import { isSinceStart, type Proof, prove } from '../proof.ts'
import type { RuleContext } from '../rule-context.ts'
import { explainDeath, probeFailure, runtimeError } from './death.ts'
import { presentDeath } from './death-count.ts'
import { type PullReason, pullDetail, registryWords } from './image-pull.ts'
import { type ContainerHistory, type PodHistory, type Refusals, waitsForImage } from './pod-history.ts'
import { containerOfEvent, type PodContainer } from './pod-object.ts'

/** A third death proves a crash loop, but not within this time of the first. */
const strikeMs = 30_000
/** And not within this time while another target still progresses: the container may be waiting for it. */
const strikeWhileOthersProgressMs = 90_000
/** How long a missing Secret or ConfigMap may take to appear: operators create them late. */
export const missingObjectMs = 60_000
/** The kubelet tries a container again that it could not create, after 10 to 15 s (backOffPeriod and its jitter, pkg/kubelet). */
const kubeletRetryMs = 20_000
/** A pod that is older than this at the gate's start was not made by the apply before it. */
const oldPodMs = 60_000

/** What is wrong with one container or pod, and when that judgement may change by time alone. */
export interface Finding {
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
  context: RuleContext,
): Finding {
  if (history === undefined || at.isDoneSidecar) return {}
  if (at.status?.state?.running) return examineRunning(pod, at, history, context)
  const waiting = at.status?.state?.waiting
  switch (waiting?.reason) {
    case 'InvalidImageName':
    case 'ErrImageNeverPull':
      return unusableImage(pod, at, waiting.reason, history, context)
    case 'CreateContainerConfigError':
    case 'CreateContainerError':
      return examineConfig(pod, at, waiting.reason, waiting.message ?? '', history, context)
    default: {
      const refused = lastRefusal(history)
      return refused !== undefined && isHeldUpByImage(at, refused[1], history, context)
        ? refusedPull(pod, at, ...refused, context)
        : examineDeath(pod, at, history, context)
    }
  }
}

/**
 * Terminal: the kubelet will not even try to pull such an image. One that it missed long before the gate began may have been
 * loaded since: then it has to look again.
 */
function unusableImage(
  pod: Pod,
  at: PodContainer,
  waiting: string,
  history: ContainerHistory,
  context: RuleContext,
): Finding {
  const image = at.container.image ?? ''
  const isInvalid = waiting === 'InvalidImageName'
  const since = history.waiting?.since ?? context.now
  const isOld = (context.time(pod.metadata.creationTimestamp) ?? context.now) < context.startedAt - oldPodMs
  const atLeastMs = !isInvalid && isOld && history.waiting?.isOfBefore ? kubeletRetryMs : 0
  const proof = prove({ seen: 1, needed: 1, since, atLeastMs, isCurrent: true }, context.now)
  return finding(proof, pod, at, {
    reason: isInvalid ? 'image-name-invalid' : 'image-never-pull',
    count: 1,
    firstSeenAt: since,
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
  context: RuleContext,
): Finding {
  const since = refusedSince(pod, at, message, context) ?? history.waiting?.since ?? context.now
  // The kubelet tries again every 10 to 15 s: a refusal that still stands has been repeated.
  const proof = prove({ seen: 1, needed: 1, since, atLeastMs: missingObjectMs, isCurrent: true }, context.now)
  const own = { count: 1, firstSeenAt: since }
  const error = message === '' ? waiting : runtimeError(message)
  // Where a container may not run as root, nothing is missing.
  return waiting === 'CreateContainerError' || /runAsNonRoot/i.test(message)
    ? finding(proof, pod, at, {
        ...own,
        reason: 'container-create-failed',
        detail: { isCreated: false, message: error },
      })
    : finding(proof, pod, at, {
        ...own,
        reason: 'config-missing',
        detail: { missing: missingObject(message), message: error },
      })
}

/** When the kubelet refused for this very reason first, as its event says; the status lags behind. Not before the gate began. */
function refusedSince(
  pod: Pod,
  { container }: PodContainer,
  message: string,
  context: RuleContext,
): number | undefined {
  const event = context
    .events(pod)
    .find((each) => containerOfEvent(each) === container.name && each.message === `Error: ${message}`)
  const first = context.time(event?.firstTimestamp ?? event?.eventTime)
  return first === undefined ? undefined : Math.max(first, context.startedAt)
}

/**
 * Terminal: an image that the registry does not have, or not for the node's platform, at the second refusal (a push may be
 * racing the first). Strike: a
 * refusal for lack of authorisation at the third. The rest heals when the registry or the network does. A back-off is no
 * refusal: the kubelet has not asked again.
 */
function refusedPull(
  pod: Pod,
  at: PodContainer,
  reason: PullReason,
  refusals: Refusals,
  context: RuleContext,
): Finding {
  const image = refusedImage(pod, at, refusals.message)
  const seen = Math.max(refusals.attempts, refusals.events)
  const needed = refusalsNeeded[reason] ?? Infinity
  const isCurrent = isSinceStart(refusals.lastAt, context)
  const proof = prove({ seen, needed, since: refusals.firstAt, atLeastMs: 0, isCurrent }, context.now)
  return finding(proof, pod, at, {
    reason,
    count: seen,
    firstSeenAt: refusals.firstAt,
    detail: pullDetail(image, refusals.message),
  })
}

/**
 * The image that was refused: that of the container, unless the message names the one of an image volume that it mounts. It
 * waits with the refusal of that (toKubeContainerImageVolumes, pkg/kubelet/kuberuntime).
 */
function refusedImage({ spec }: Pod, { container: { image = '', volumeMounts = [] } }: PodContainer, message: string) {
  if (message.includes(`"${image}"`)) return image
  const mounted = new Set(volumeMounts.map(({ name }) => name))
  const references = (spec?.volumes ?? []).flatMap((volume) =>
    mounted.has(volume.name) ? (volume.image?.reference ?? []) : [],
  )
  return references.find((reference) => message.includes(`"${reference}`)) ?? image
}

/** How many refusals prove a reason; the other reasons are never proven. */
const refusalsNeeded: Readonly<Partial<Record<PullReason, number>>> = {
  'image-not-found': 2,
  'image-platform-missing': 2,
  'image-unauthorized': 3,
}

/**
 * Whether a container that does not run is held up by its image: the kubelet pulls before each start, so also one that has
 * died, once the pull is refused after that. The status may show that later than the events.
 */
function isHeldUpByImage(
  { status }: PodContainer,
  { lastAt }: Refusals,
  { deaths }: ContainerHistory,
  context: RuleContext,
) {
  if (waitsForImage(status?.state?.waiting?.reason)) return true
  const endedAt = context.time((status?.state?.terminated ?? status?.lastState?.terminated)?.finishedAt)
  return endedAt === undefined ? deaths === 0 : (lastAt ?? 0) >= endedAt
}

/** The refusals of the latest attempt. A back-off whose cause nobody has seen gives way to whatever names one. */
function lastRefusal(history: ContainerHistory): readonly [PullReason, Refusals] | undefined {
  const all = Object.entries(history.refusals) as [PullReason, Refusals][]
  const caused = all.filter(([, { message }]) => registryWords(message) !== '')
  const lastAt = ({ lastAt: at, firstAt }: Refusals) => at ?? firstAt
  return (caused.length > 0 ? caused : all).toSorted(([, a], [, b]) => lastAt(b) - lastAt(a))[0]
}

/**
 * Strike: a container that died and is not running, proven by its third death. While another target progresses it may be
 * waiting for that one, and so may the instance have that started before that one was ready: only the next shows it.
 */
function examineDeath(pod: Pod, at: PodContainer, history: ContainerHistory, context: RuleContext): Finding {
  const death = at.status === undefined ? undefined : presentDeath(at.status, at.runsOnce)
  if (death === undefined || history.deaths === 0) return {}
  const firstDeathAt = history.firstDeathAt ?? context.now
  // An instance that never started waited for nobody (its startedAt is 1970).
  const startedAt = death.reason === 'StartError' ? undefined : context.time(death.startedAt)
  const mayHaveWaited = startedAt !== undefined && (context.othersReadyAt ?? 0) > startedAt
  const needed = context.settings.maxRestarts + 1
  const observed = { seen: history.deaths, needed, isCurrent: history.isCurrent }
  const proof =
    context.othersProgress || mayHaveWaited
      ? // The others progress since the gate began, whatever was before.
        prove(
          { ...observed, since: Math.max(firstDeathAt, context.startedAt), atLeastMs: strikeWhileOthersProgressMs },
          context.now,
        )
      : prove({ ...observed, since: firstDeathAt, atLeastMs: strikeMs }, context.now)
  return finding(proof, pod, at, deathProblem(at, death, history, context.events(pod), context))
}

function deathProblem(
  at: PodContainer,
  death: ContainerStateTerminated,
  { deaths, firstDeathAt }: ContainerHistory,
  events: readonly EventObject[],
  { now }: RuleContext,
): Found {
  return { ...explainDeath(at, death, events), count: deaths, firstSeenAt: firstDeathAt ?? now }
}

/**
 * Slow: a container that runs but is not ready, once its probes had the time that they ask for. Until then an earlier
 * death is told, but proves nothing: this instance may live. Slow as well: one whose readiness comes and goes, until it has
 * stayed ready for as long as its workload asks for.
 */
function examineRunning(pod: Pod, at: PodContainer, history: ContainerHistory, context: RuleContext): Finding {
  const { status, container } = at
  if (status === undefined || at.isInit) return {}
  const lost = history.running?.readinessLost
  const comesAndGoes = (lost?.count ?? 0) > 1 && isReadinessOpen(history, context.podHistory(pod), context)
  const due = probesDueAt(at, context)
  if (due === undefined && !comesAndGoes) return {}
  if (due !== undefined && context.now < due && !comesAndGoes) {
    const death = status.lastState?.terminated
    const isToldOf = history.deaths > 0 && death !== undefined
    return {
      ...(isToldOf ? finding(unproven, pod, at, deathProblem(at, death, history, context.events(pod), context)) : {}),
      recheckAt: due,
    }
  }
  const isStarting = status.started === false && container.startupProbe !== undefined
  // Without a probe it is ready as soon as the kubelet writes it down.
  if (!isStarting && container.readinessProbe === undefined) return {}
  const kind = isStarting ? 'startup' : 'readiness'
  return finding(unproven, pod, at, {
    reason: `${kind}-failing`,
    detail: { isRunning: true, wasReady: lost !== undefined, ...probeFailure(kind, container, context.events(pod)) },
    count: lost?.count ?? 1,
    firstSeenAt: lost?.firstAt ?? due ?? context.now,
  })
}

/** Whether a container is not ready, or has been for less time than its workload asks for. */
function isReadinessOpen(
  { running }: ContainerHistory,
  { minReadyMs }: PodHistory,
  { now, settings }: RuleContext,
): boolean {
  return running?.readySince === undefined || now < running.readySince + Math.max(minReadyMs, settings.settleMs)
}

/**
 * When a container that runs without being ready has used up the time that its own probes allow: the startup probe's
 * whole arithmetic, then the readiness probe's. Undefined for a container that is ready, does not run or has to end.
 */
export function probesDueAt({ container, status, isInit }: PodContainer, context: RuleContext): number | undefined {
  const startedAt = context.time(status?.state?.running?.startedAt)
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

/** A problem without its place and proof. */
type Found = {
  [Reason in ReasonCode]: Pick<ProblemWith<Reason>, 'reason' | 'detail' | 'count' | 'firstSeenAt'>
}[ReasonCode]

const unproven: Proof = { proven: false }

function finding({ proven, recheckAt }: Proof, pod: Pod, { container, isInit }: PodContainer, found: Found): Finding {
  const subject = `pod/${pod.metadata.name}`
  const own = { ...found, proven, subject, container: container.name, ...(isInit ? { isInit } : {}) }
  return { problem: problemOf(own), recheckAt }
}
