import { cachePerObject, subjectOf } from '../../cluster/objects.ts'
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
import { isInFuture, isProven, mayBeSinceStart } from '../proof.ts'
import type { Reader } from '../reader.ts'
import { causeOfDeath, causeOfFailedStart, missingObject, probeFailure, runtimeError } from './kubelet-messages.ts'
import { isRefusedPullReason } from './observe-pods.ts'
import { isStartError } from './pod-fields.ts'

/** The present problem of a container. A status may be `statusLagMs` later than its events, so refusals come from both. */
export function containerProblem(container: ContainerView, reader: Reader): Problem | undefined {
  const { status, isInit, isDoneSidecar, hookStartedAt } = container
  const isRunning = status?.state?.running !== undefined
  if (isDoneSidecar) return undefined
  if ((isRunning && isInit) || hookStartedAt !== undefined) return longStepProblem(container, reader)
  if (isRunning) return failingProbeProblem(container, reader) ?? repeatedDeathProblem(container, reader)
  return (
    pullNotTriedProblem(container, reader) ??
    containerCreationProblem(container, reader) ??
    refusedPullProblem(container, reader) ??
    repeatedDeathProblem(container, reader)
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
function pullNotTriedProblem(container: ContainerView, reader: Reader): Problem | undefined {
  const { pod, waiting: observed, status } = container
  const waiting = status?.state?.waiting?.reason ?? ''
  const reason = notTried[waiting]
  if (reason === undefined) return undefined
  const since = observed?.since ?? reader.now
  const isOld = (reader.time(pod.metadata.creationTimestamp) ?? reader.now) < reader.startedAt - maxApplyAgeMs
  const mayBeLoaded = waiting === 'ErrImageNeverPull' && isOld && observed?.predatesGate
  const proven = reader.passed(since + (mayBeLoaded ? kubeletRetryMs : 0))
  const detail = { image: container.container.image ?? '' }
  return createContainerProblem(container, { reason, count: 1, firstSeenAt: since, detail, proven })
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
  const neededMs = mayAwaitOtherTarget(last, reader) ? deathsProvenWhileOthersProgressMs : missingObjectMs
  const isLate = last - since >= neededMs
  return reader.passed(since + (isLate ? 0 : neededMs + retryMs))
}

/** Whether a failure at this moment may be due to another target, which still progresses or became ready only later. */
function mayAwaitOtherTarget(failedAt: number, { othersProgress, othersReadyAt }: Reader): boolean {
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
function containerCreationProblem(container: ContainerView, reader: Reader): Problem | undefined {
  const { reason = '', message = '' } = container.status?.state?.waiting ?? {}
  if (!refusedStates.has(reason)) return undefined
  const { refused, waiting } = container
  const first = refused?.first ?? waiting?.since ?? reader.now
  const last = refused?.last ?? first
  return createContainerProblem(container, {
    ...creationRefusal(container),
    count: 1,
    firstSeenAt: Math.max(first, reader.startedAt),
    proven: !busyNode.test(message) && isProvenMissing({ first, last, retryMs: kubeletRetryMs }, reader),
  })
}

/** Why a container is not created, by the reason and the message of its state. */
const creationRefusal = cachePerObject(({ container, status }: ContainerView) => {
  const { reason = '', message = '' } = status?.state?.waiting ?? {}
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
  return causeOfFailedStart(container, error, { isCreated: false })
})

/**
 * A terminal problem: the registry does not have the image, or not for the node's platform, at the second refusal (a
 * push may race the first). Strike: a refusal for missing authorization, at the third. If the Secret with the credentials
 * is missing, it may be created late. Other problems end when the registry or the network recovers. A back-off is no
 * refusal, but the kubelet's pause before the next pull.
 */
function refusedPullProblem(container: ContainerView, reader: Reader): Problem | undefined {
  const refused = findRefusedPull(container)
  if (refused === undefined) return undefined
  const { problem, refusals } = refused
  const { count, firstAt, lastAt } = refusals
  const { class: certainty, provenAfter: needed = Infinity } = traitsOf(problem)
  const isMissing = certainty === 'strike' && container.lacksPullSecret
  const isFinal = !isMissing || isProvenMissing({ first: firstAt, last: lastAt ?? firstAt, retryMs: Infinity }, reader)
  const isCurrent = isFinal && mayBeSinceStart(lastAt, reader)
  return { ...problem, proven: isProven({ seen: count, needed, since: firstAt, atLeastMs: 0, isCurrent }, reader) }
}

/** The refused pull of a container that waits for its image, before its proof. */
const findRefusedPull = cachePerObject((container: ContainerView) => {
  const refusals = latestPullRefusals(container)
  if (refusals === undefined) return undefined
  const { reason, answer, cause, count, firstAt } = refusals
  const detail = { image: refusedImage(container, refusals), answer, cause }
  return {
    refusals,
    problem: createContainerProblem(container, { reason, count, firstSeenAt: firstAt, detail, proven: false }),
  }
})

/**
 * The refused image: that of the container, or of an image volume that it mounts, if the message names one
 * (toKubeContainerImageVolumes, pkg/kubelet/kuberuntime).
 */
function refusedImage({ pod, container }: ContainerView, { message }: Refusals): string {
  const { image = '', volumeMounts = [] } = container
  if (message.includes(`"${image}"`)) return image
  const mounted = new Set(volumeMounts.map(({ name }) => name))
  const volumes = (pod.spec?.volumes ?? []).filter(({ name }) => mounted.has(name))
  const references = volumes.flatMap((volume) => volume.image?.reference ?? [])
  return references.find((reference) => message.includes(`"${reference}`)) ?? image
}

/**
 * The refusals of the latest pull, if the container waits for its image: the kubelet pulls before each start, also after a
 * death. The status may show the refusal later than the events. A refusal with a known cause is preferred to a back-off.
 */
function latestPullRefusals({ refusals, status, deaths, endedAt }: ContainerView): Refusals | undefined {
  const all = [...refusals.values()]
  const caused = all.filter(({ answer }) => answer !== '')
  const timeOf = ({ lastAt, firstAt }: Refusals) => lastAt ?? firstAt
  const last = (caused.length > 0 ? caused : all).toSorted((a, b) => timeOf(b) - timeOf(a))[0]
  if (isRefusedPullReason(status?.state?.waiting?.reason)) return last
  const isAfterEnd = endedAt === undefined ? deaths.count === 0 : (last?.lastAt ?? 0) >= endedAt
  return isAfterEnd ? last : undefined
}

/**
 * A strike problem: a dead container, proven by its third death. While another target progresses, the container may
 * wait for it. An instance that started before that target was ready may have failed for this reason: only the next one
 * is proof. If the container runs again, its last death is shown while its probes have time, but is no proof.
 */
function repeatedDeathProblem(container: ContainerView, reader: Reader): Problem | undefined {
  const { end, endBeganAt = Infinity, isDead, deaths, probesDueAt } = container
  const mayLive = isInFuture(probesDueAt, reader)
  if (end === undefined || !(isDead || mayLive) || deaths.count === 0) return undefined
  const { count, firstAt = reader.now } = deaths
  // An instance that never ran waited for no target.
  const isWaiting = mayAwaitOtherTarget(endBeganAt, reader)
  const proof = {
    seen: mayLive ? 0 : count,
    needed: reader.settings.maxRestarts + 1,
    // The other targets progress only since the gate's start.
    since: isWaiting ? Math.max(firstAt, reader.startedAt) : firstAt,
    atLeastMs: isWaiting ? deathsProvenWhileOthersProgressMs : deathsProvenMs,
    isCurrent: deaths.isCurrent,
  }
  const death = undatedDeathProblem(container)
  return death && { ...death, count, firstSeenAt: firstAt, proven: isProven(proof, reader) }
}

/** Its last death, as a problem that began at an unknown time. */
const undatedDeathProblem = cachePerObject((container: ContainerView) => {
  const { end } = container
  return (
    end &&
    createContainerProblem(container, { ...causeOfDeath(container, end), count: 1, firstSeenAt: 0, proven: false })
  )
})

/** The last death of a container, which proves nothing alone; undefined if none is known. */
export function lastDeathProblem(container: ContainerView, firstSeenAt: number): Problem | undefined {
  const death = undatedDeathProblem(container)
  return death && { ...death, firstSeenAt }
}

/**
 * The problem of a container that never started; undefined for a container that ran. The exit code is that of the
 * runtime, and there is no log. The caller decides whether it fails the object.
 */
export function startFailureProblem(container: ContainerView, { now }: Pick<Reader, 'now'>): Problem | undefined {
  const { end, endedAt = now } = container
  const problem = end && isStartError(end) ? lastDeathProblem(container, endedAt) : undefined
  return problem && { ...problem, proven: true }
}

/** A slow problem: the startup or readiness probe of a running container fails after the time that its probes allow. */
function failingProbeProblem(each: ContainerView, { passed }: Reader): Problem | undefined {
  const { status, container, probesDueAt, startedAt } = each
  if (probesDueAt === undefined || startedAt === undefined || !passed(probesDueAt)) return undefined
  const isStartup = status?.started === false && container.startupProbe !== undefined
  // Without a probe, it is ready at the kubelet's next status.
  if (!isStartup && container.readinessProbe === undefined) return undefined
  const kind = isStartup ? 'startup' : 'readiness'
  const detail = { isRunning: true, ...probeFailures(each)[kind] }
  const found = { reason: `${kind}-failing`, detail, count: 1, firstSeenAt: probesDueAt, proven: false } as const
  return { ...createContainerProblem(each, found), isStarting: !passed(startedAt + startTimeMs) }
}

const probeFailures = cachePerObject(({ failedProbes: { startup, readiness } }: ContainerView) => ({
  startup: probeFailure(startup),
  readiness: probeFailure(readiness),
}))

/** A slow problem: an init container or a postStart hook runs for long, and the next containers wait for its end. */
function longStepProblem(container: ContainerView, { passed }: Reader): Problem | undefined {
  const { isInit, startedAt, hookStartedAt } = container
  const since = isInit ? startedAt : hookStartedAt
  if (since === undefined || !passed(since + longStepMs)) return undefined
  const reason = isInit ? 'init-container-running' : 'post-start-hook-running'
  return createContainerProblem(container, { reason, detail: {}, count: 1, firstSeenAt: since, proven: false })
}

/** A problem without subject and container. */
type Found = {
  [Reason in ReasonCode]: Pick<ProblemWith<Reason>, 'reason' | 'detail' | 'count' | 'firstSeenAt' | 'proven'>
}[ReasonCode]

function createContainerProblem({ pod, container, isInit }: ContainerView, found: Found): Problem {
  return problemOf({ ...found, subject: subjectOf(pod), container: container.name, isInit: isInit || undefined })
}
