import { type ContainerStateTerminated, subjectOf } from '../../cluster/objects.ts'
import type { PullReason } from '../../reasons/images.ts'
import { type Problem, type ProblemWith, problemOf, type ReasonCode, traitsOf } from '../../reasons/reasons.ts'
import {
  deathsProvenMs,
  deathsProvenWhileOthersProgressMs,
  kubeletRetryMs,
  longStepMs,
  maxApplyAgeMs,
  missingObjectMs,
  startTimeMs,
} from '../../thresholds.ts'
import type { ContainerView, Refusals } from '../pod-view.ts'
import { isSinceStart, prove } from '../proof.ts'
import type { Reader } from '../reader.ts'
import { pullFailure } from './image-pull.ts'
import { explainDeath, missingObject, probeFailure, refusedStart, runtimeError } from './kubelet-messages.ts'
import { waitsForImage } from './observe-pods.ts'
import { isStartError } from './pod-fields.ts'

/** What decides whether there is a problem, besides the view: nothing but the time, so that findings can be cached. */
export type TimeReader = Pick<Reader, 'now' | 'passed' | 'time' | 'startedAt' | 'settings'>

/** Returns a problem that was found. Other targets and objects decide about its proof and its cause: each assessment calls it. */
export type Finding = (reader: Reader) => Problem

/** The present problem of a container. A status may be `statusLagMs` later than its events, so refusals come from both. */
export function findInContainer(container: ContainerView, reader: TimeReader): Finding | undefined {
  const { status, isInit, isDoneSidecar, hookStartedAt } = container
  const isRunning = status?.state?.running !== undefined
  if (isDoneSidecar) return undefined
  if ((isRunning && isInit) || hookStartedAt !== undefined) return longStep(container, reader)
  if (isRunning) return failingProbe(container, reader) ?? repeatedDeath(container, reader)
  return (
    neverPulled(container, reader) ??
    refusedCreation(container, reader) ??
    refusedPull(container, reader) ??
    repeatedDeath(container, reader)
  )
}

/** The waiting reasons of an image that the kubelet does not try to pull (pkg/kubelet/images/types.go). */
const notTried: Readonly<Record<string, 'image-name-invalid' | 'image-never-pull'>> = {
  InvalidImageName: 'image-name-invalid',
  ErrImageNeverPull: 'image-never-pull',
}

/**
 * A terminal problem: the kubelet does not try to pull such an image. If the image was missing long before the gate
 * began, the image may have been loaded since: then the gate waits until the kubelet has checked again.
 */
function neverPulled(container: ContainerView, reader: TimeReader): Finding | undefined {
  const { pod, waiting: observed, status } = container
  const waiting = status?.state?.waiting?.reason ?? ''
  const reason = notTried[waiting]
  if (reason === undefined) return undefined
  const since = observed?.since ?? reader.now
  const isOld = (reader.time(pod.metadata.creationTimestamp) ?? reader.now) < reader.startedAt - maxApplyAgeMs
  const mayBeLoaded = waiting === 'ErrImageNeverPull' && isOld && observed?.predatesGate
  const proven = reader.passed(since + (mayBeLoaded ? kubeletRetryMs : 0))
  const detail = { image: container.container.image ?? '' }
  const problem = problemIn(container, { reason, count: 1, firstSeenAt: since, detail, proven })
  return () => problem
}

/**
 * The errors of a busy node, which prove nothing: the runtime still works on an earlier attempt, most often because of a
 * slow disk (containerd and CRI-O reserve the container's name until it ends), or the kubelet has not read the Secrets
 * and ConfigMaps yet (pkg/kubelet/util/manager).
 */
const busyNode = /context deadline exceeded|\bis reserved\b|failed to sync \w+ cache/

/** When the kubelet found an object to be missing: at its first and its latest check. Moments are on the runner's clock. */
interface MissingChecks {
  readonly first: number
  readonly last: number
  /** The maximum time until the next check: a state that persists for longer was checked again. */
  readonly retryMs: number
}

/**
 * Whether an object is missing for too long. It may be created late, also by another target of the gate, and only a later
 * check shows it: the latest check itself must be late enough. Checks from before the apply that the gate checks do not
 * count.
 */
export function isProvenMissing({ first, last, retryMs }: MissingChecks, reader: Reader): boolean {
  const since = first < reader.startedAt - maxApplyAgeMs ? reader.startedAt : first
  const neededMs = mayAwaitOther(last, reader) ? deathsProvenWhileOthersProgressMs : missingObjectMs
  const isLate = last - since >= neededMs
  return reader.passed(since + (isLate ? 0 : neededMs + retryMs))
}

/** Whether a failure at this moment may be due to another target, which still progresses or became ready only later. */
function mayAwaitOther(failedAt: number, { othersProgress, othersReadyAt }: Reader): boolean {
  return othersProgress() || (othersReadyAt() ?? 0) > failedAt
}

/** The waiting reasons after a refused creation (pkg/kubelet/kuberuntime). */
const refusedStates: ReadonlySet<string> = new Set([
  'CreateContainerConfigError',
  'CreateContainerError',
  'PreCreateHookError',
  'PreStartHookError',
])

/** A strike problem: an object is missing, which may be created late, or the runtime cannot create the container. */
function refusedCreation(container: ContainerView, { now, startedAt }: TimeReader): Finding | undefined {
  const { reason = '', message = '' } = container.status?.state?.waiting ?? {}
  if (!refusedStates.has(reason)) return undefined
  const { refused, waiting } = container
  const first = refused?.first ?? waiting?.since ?? now
  const last = refused?.last ?? first
  const isBusy = busyNode.test(message)
  const problem = problemIn(container, {
    ...whyRefused(container, reason, message),
    count: 1,
    firstSeenAt: Math.max(first, startedAt),
    proven: false,
  })
  return (reader) => {
    const proven = !isBusy && isProvenMissing({ first, last, retryMs: kubeletRetryMs }, reader)
    return { ...problem, proven }
  }
}

/** Why a container is not created, by the reason and the message of its state. */
function whyRefused({ container }: ContainerView, reason: string, message: string) {
  const missing = missingObject(message)
  if (reason === 'CreateContainerConfigError' && missing !== undefined)
    return { reason: 'config-missing', detail: { missing, message } } as const
  // If a container may not run as root (verifyRunAsNonRoot, pkg/kubelet/kuberuntime), nothing is missing.
  if (/runAsNonRoot|breaks non-root policy/.test(message)) {
    const words = message.replace(/ \(pod: "[^"]*", container: \S+\)$/, '')
    return { reason: 'container-create-failed', detail: { isCreated: false, message: words, mayBeRoot: true } } as const
  }
  // CRI-O finds that a program is missing when it creates the container.
  const error = message === '' ? ({ step: 'other', message: reason } as const) : runtimeError(message)
  return refusedStart(container, error, { isCreated: false })
}

/**
 * A terminal problem: the registry does not have the image, or not for the node's platform, at the second refusal (a
 * push may race the first). Strike: a refusal for missing authorization, at the third. If the Secret with the credentials
 * is missing, it may be created late. Other problems end when the registry or the network recovers. A back-off is no
 * refusal, but the kubelet's pause before the next pull.
 */
function refusedPull(container: ContainerView, { startedAt, time }: TimeReader): Finding | undefined {
  const [reason, refusals] = lastRefusal(container) ?? []
  if (reason === undefined || refusals === undefined || !isWaitingForImage(container, refusals, time)) return undefined
  const { count, firstAt, lastAt, message } = refusals
  const { class: certainty, provenAfter: needed = Infinity } = traitsOf({ reason })
  const isMissing = certainty === 'strike' && container.lacksPullSecret
  const isCurrent = isSinceStart(lastAt, { startedAt })
  const { answer, cause } = pullFailure(message)
  const detail = { image: refusedImage(container, message), answer, cause }
  const problem = problemIn(container, { reason, count, firstSeenAt: firstAt, detail, proven: false })
  return (reader) => {
    const isFinal =
      !isMissing || isProvenMissing({ first: firstAt, last: lastAt ?? firstAt, retryMs: Infinity }, reader)
    const proof = { seen: count, needed, since: firstAt, atLeastMs: 0, isCurrent: isFinal && isCurrent }
    return { ...problem, proven: prove(proof, reader) }
  }
}

/**
 * The refused image: that of the container, or of an image volume that it mounts, if the message names one
 * (toKubeContainerImageVolumes, pkg/kubelet/kuberuntime).
 */
function refusedImage({ pod, container }: ContainerView, message: string): string {
  const { image = '', volumeMounts = [] } = container
  if (message.includes(`"${image}"`)) return image
  const mounted = new Set(volumeMounts.map(({ name }) => name))
  const volumes = (pod.spec?.volumes ?? []).filter(({ name }) => mounted.has(name))
  const references = volumes.flatMap((volume) => volume.image?.reference ?? [])
  return references.find((reference) => message.includes(`"${reference}`)) ?? image
}

/**
 * Whether a container waits for its image: the kubelet pulls before each start, also after a death. The status may show
 * the refusal later than the events.
 */
function isWaitingForImage({ status, deaths }: ContainerView, { lastAt }: Refusals, time: TimeReader['time']): boolean {
  if (waitsForImage(status?.state?.waiting?.reason)) return true
  const endedAt = time((status?.state?.terminated ?? status?.lastState?.terminated)?.finishedAt)
  return endedAt === undefined ? deaths.count === 0 : (lastAt ?? 0) >= endedAt
}

/** The refusals of the latest pull. A refusal with a known cause is preferred to a back-off. */
function lastRefusal({ refusals }: ContainerView): readonly [PullReason, Refusals] | undefined {
  const all = Object.entries(refusals) as [PullReason, Refusals][]
  const caused = all.filter(([, { message }]) => pullFailure(message).answer !== '')
  const lastAt = ({ lastAt: at, firstAt }: Refusals) => at ?? firstAt
  return (caused.length > 0 ? caused : all).toSorted(([, a], [, b]) => lastAt(b) - lastAt(a))[0]
}

/**
 * A strike problem: a dead container, proven by its third death. While another target progresses, the container may
 * wait for it. An instance that started before that target was ready may have failed for this reason: only the next one
 * is proof. If the container runs again, its last death is shown while its probes have time, but is no proof.
 */
function repeatedDeath(container: ContainerView, { now, passed, time }: TimeReader): Finding | undefined {
  const { status, deaths, probesDueAt } = container
  const mayLive = probesDueAt !== undefined && !passed(probesDueAt)
  const death = container.death ?? (mayLive ? status?.lastState?.terminated : undefined)
  if (death === undefined || deaths.count === 0) return undefined
  const { count, firstAt = now } = deaths
  const problem = { ...deathProblem(container, death, firstAt), count }
  // An instance that never started waited for no target (its startedAt is 1970).
  const beganAt = death.reason === 'StartError' ? undefined : time(death.startedAt)
  return (reader) => {
    const isWaiting = mayAwaitOther(beganAt ?? Infinity, reader)
    const proof = {
      seen: mayLive ? 0 : count,
      needed: reader.settings.maxRestarts + 1,
      // The other targets progress only since the gate's start.
      since: isWaiting ? Math.max(firstAt, reader.startedAt) : firstAt,
      atLeastMs: isWaiting ? deathsProvenWhileOthersProgressMs : deathsProvenMs,
      isCurrent: deaths.isCurrent,
    }
    return { ...problem, proven: prove(proof, reader) }
  }
}

/** A death of a container, which proves nothing alone. */
export function deathProblem(container: ContainerView, death: ContainerStateTerminated, firstSeenAt: number): Problem {
  return problemIn(container, { ...explainDeath(container, death), count: 1, firstSeenAt, proven: false })
}

/**
 * The problem of a container that never started; undefined for a container that ran. The exit code is that of the
 * runtime, and there is no log. The caller decides whether it fails the object.
 */
export function startFailure(
  container: ContainerView,
  death: ContainerStateTerminated,
  { now, time }: TimeReader,
): Problem | undefined {
  if (!isStartError(death)) return undefined
  return { ...deathProblem(container, death, time(death.finishedAt) ?? now), proven: true }
}

/** A slow problem: the startup or readiness probe of a running container fails after the time that its probes allow. */
function failingProbe(each: ContainerView, { passed }: TimeReader): Finding | undefined {
  const { status, container, probesDueAt, startedAt } = each
  if (probesDueAt === undefined || startedAt === undefined || !passed(probesDueAt)) return undefined
  const isStartup = status?.started === false && container.startupProbe !== undefined
  // Without a probe, it is ready at the kubelet's next status.
  if (!isStartup && container.readinessProbe === undefined) return undefined
  const kind = isStartup ? 'startup' : 'readiness'
  const detail = { isRunning: true, ...probeFailure(each.failedProbes[kind]) }
  const found = { reason: `${kind}-failing`, detail, count: 1, firstSeenAt: probesDueAt, proven: false } as const
  const problem = { ...problemIn(each, found), isStarting: !passed(startedAt + startTimeMs) }
  return () => problem
}

/** A slow problem: an init container or a postStart hook runs for long, and the next containers wait for its end. */
function longStep(container: ContainerView, { passed }: TimeReader): Finding | undefined {
  const { isInit, startedAt, hookStartedAt } = container
  const since = isInit ? startedAt : hookStartedAt
  if (since === undefined || !passed(since + longStepMs)) return undefined
  const reason = isInit ? 'init-container-running' : 'post-start-hook-running'
  const problem = problemIn(container, { reason, detail: {}, count: 1, firstSeenAt: since, proven: false })
  return () => problem
}

/** A problem without subject and container. */
type Found = {
  [Reason in ReasonCode]: Pick<ProblemWith<Reason>, 'reason' | 'detail' | 'count' | 'firstSeenAt' | 'proven'>
}[ReasonCode]

function problemIn({ pod, container, isInit }: ContainerView, found: Found): Problem {
  return problemOf({ ...found, subject: subjectOf(pod), container: container.name, isInit: isInit || undefined })
}
