import { cachePerObject, subjectOf } from '../../cluster/objects.ts'
import { buildProblem, type Problem, type ProblemWith, type ReasonCode, traitsOf } from '../../reasons/reasons.ts'
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

/** The present problem of a container. Events show refused pulls too: the status may lag behind (`statusLagMs`). */
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

/** The waiting reasons for images that the kubelet never tries to pull (pkg/kubelet/images/types.go). */
const notTried: Readonly<Record<string, 'image-name-invalid' | 'image-never-pull'>> = {
  InvalidImageName: 'image-name-invalid',
  ErrImageNeverPull: 'image-never-pull',
}

/**
 * The problem of an image that the kubelet does not try to pull. It is proven at once. Exception: if the image was
 * missing long before the gate began, somebody may have loaded it since. Then the gate waits until the kubelet checks
 * again.
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
 * Errors that also occur on a busy node, so they do not prove a failure. The runtime may still work on an earlier
 * attempt, often on a slow disk: containerd and CRI-O reserve the container's name until that attempt ends. Or the
 * kubelet has not read the Secrets, ConfigMaps, Services or addresses of its node yet (pkg/kubelet/util/manager,
 * pkg/kubelet/kubelet_pods.go).
 */
const busyNode =
  /context deadline exceeded|\bis reserved\b|failed to sync \w+ cache|code = Unavailable|services have not yet been read|host IP unknown/

/** When the kubelet first and last found that an object is missing, on the runner's clock. */
interface MissingChecks {
  readonly first: number
  readonly last: number
  /**
   * The longest time until the kubelet checks again. If the state persists for longer, the object is still missing.
   * Infinity if no state shows this: then only a later check proves it.
   */
  readonly retryMs: number
}

/**
 * Whether an object has been missing for too long. Another target may create it late, so a grace period must end before
 * the kubelet's latest check. If the first check is older than the apply, the period starts with the gate.
 */
export function isProvenMissing({ first, last, retryMs }: MissingChecks, reader: Reader): boolean {
  const since = first < reader.startedAt - maxApplyAgeMs ? reader.startedAt : first
  const neededMs = mayAwaitOtherTarget(last, reader) ? deathsProvenWhileOthersProgressMs : missingObjectMs
  const isLate = last - since >= neededMs
  return reader.passed(since + (isLate ? 0 : neededMs + retryMs))
}

/** Whether another target may be the cause of this failure: it still progresses, or became ready only later. */
function mayAwaitOtherTarget(failedAt: number, { othersProgress, othersReadyAt }: Reader): boolean {
  return othersProgress() || (othersReadyAt() ?? 0) > failedAt
}

/** The waiting reasons of a container that cannot be created (pkg/kubelet/kuberuntime). */
const refusedStates: ReadonlySet<string> = new Set([
  'CreateContainerConfigError',
  'CreateContainerError',
  'PreCreateHookError',
  'PreStartHookError',
])

/** The problem of a container that cannot be created: an object is missing, or the runtime reports an error. */
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

/** Why a container cannot be created, from the reason and message of its waiting state. */
const creationRefusal = cachePerObject(({ container, status }: ContainerView) => {
  const { reason = '', message = '' } = status?.state?.waiting ?? {}
  const missing = missingObject(message)
  if (reason === 'CreateContainerConfigError' && missing !== undefined)
    return { reason: 'config-missing', detail: { missing, message } } as const
  // The image may run as root, which the security context forbids (verifyRunAsNonRoot, pkg/kubelet/kuberuntime).
  if (/runAsNonRoot|breaks non-root policy/.test(message)) {
    const words = message.replace(/ \(pod: "[^"]*", container: \S+\)$/, '')
    return { reason: 'container-create-failed', detail: { isCreated: false, message: words, mayBeRoot: true } } as const
  }
  // CRI-O reports a missing program already when it creates the container.
  const error = message === '' ? ({ step: 'other', message: reason } as const) : runtimeError(message)
  return causeOfFailedStart(container, error, { isCreated: false })
})

/**
 * The problem of a refused pull. If the registry does not have the image or denies access, repeated refusals prove it
 * (`provenAfter`). A missing Secret with credentials may be created late. Other refusals are never proven, because the
 * registry or the network may recover. A back-off is only the kubelet's pause before the next pull.
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

/** The refusals of a container's pull, and their problem before it is proven; undefined if no pull is refused. */
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

/** The image whose pull was refused: of the container, or of a volume (toKubeContainerImageVolumes, pkg/kubelet). */
function refusedImage({ pod, container }: ContainerView, { message }: Refusals): string {
  const { image = '', volumeMounts = [] } = container
  if (message.includes(`"${image}"`)) return image
  const mounted = new Set(volumeMounts.map(({ name }) => name))
  const volumes = (pod.spec?.volumes ?? []).filter(({ name }) => mounted.has(name))
  const references = volumes.flatMap((volume) => volume.image?.reference ?? [])
  return references.find((reference) => message.includes(`"${reference}`)) ?? image
}

/**
 * The refusals of the latest pull; undefined if the container no longer waits for its image. Before a restart, the
 * kubelet may pull again. Events may show a refusal before the status does. A refusal with a known cause has priority
 * over a back-off.
 */
function latestPullRefusals({ refusals, status, deaths, endedAt }: ContainerView): Refusals | undefined {
  const all = [...refusals.values()]
  const withCause = all.filter(({ answer }) => answer !== '')
  const latestAttemptAt = ({ lastAt, firstAt }: Refusals) => lastAt ?? firstAt
  const last = (withCause.length > 0 ? withCause : all).toSorted((a, b) => latestAttemptAt(b) - latestAttemptAt(a))[0]
  if (isRefusedPullReason(status?.state?.waiting?.reason)) return last
  const isAfterEnd = endedAt === undefined ? deaths.count === 0 : (last?.lastAt ?? 0) >= endedAt
  return isAfterEnd ? last : undefined
}

/**
 * The problem of a container that dies repeatedly. It is proven when the deaths exceed the allowed restarts. The
 * container may need another target that is not ready yet: then the proof takes longer. If the container runs again,
 * its last death stays an unproven problem until the time of its probes ends.
 */
function repeatedDeathProblem(container: ContainerView, reader: Reader): Problem | undefined {
  const { end, endBeganAt = Infinity, isDead, deaths, probesDueAt } = container
  const mayLive = isInFuture(probesDueAt, reader)
  if (end === undefined || !(isDead || mayLive) || deaths.count === 0) return undefined
  const { count, firstAt = reader.now } = deaths
  // An instance that never ran has no start (Infinity), so no target can have become ready after its start.
  const isWaiting = mayAwaitOtherTarget(endBeganAt, reader)
  const proof = {
    seen: mayLive ? 0 : count,
    needed: reader.settings.maxRestarts + 1,
    // The gate observes other targets only since its start.
    since: isWaiting ? Math.max(firstAt, reader.startedAt) : firstAt,
    atLeastMs: isWaiting ? deathsProvenWhileOthersProgressMs : deathsProvenMs,
    isCurrent: deaths.isCurrent,
  }
  const death = undatedDeathProblem(container)
  return death && { ...death, count, firstSeenAt: firstAt, proven: isProven(proof, reader) }
}

/** The last death of a container as an unproven problem, still without its time. Cached. */
const undatedDeathProblem = cachePerObject((container: ContainerView) => {
  const { end } = container
  return (
    end &&
    createContainerProblem(container, { ...causeOfDeath(container, end), count: 1, firstSeenAt: 0, proven: false })
  )
})

/** The last death of a container as an unproven problem; undefined if no death is known. */
export function lastDeathProblem(container: ContainerView, firstSeenAt: number): Problem | undefined {
  const death = undatedDeathProblem(container)
  return death && { ...death, firstSeenAt }
}

/** The problem of a running container whose startup or readiness probe fails for longer than the probes allow. */
function failingProbeProblem(view: ContainerView, { passed }: Reader): Problem | undefined {
  const { status, container, probesDueAt, startedAt } = view
  if (probesDueAt === undefined || startedAt === undefined || !passed(probesDueAt)) return undefined
  const isStartup = status?.started === false && container.startupProbe !== undefined
  // A container without a readiness probe becomes ready at the kubelet's next status update.
  if (!isStartup && container.readinessProbe === undefined) return undefined
  const kind = isStartup ? 'startup' : 'readiness'
  const detail = { isRunning: true, ...probeFailures(view)[kind] }
  const found = { reason: `${kind}-failing`, detail, count: 1, firstSeenAt: probesDueAt, proven: false } as const
  return { ...createContainerProblem(view, found), isStarting: !passed(startedAt + startTimeMs) }
}

const probeFailures = cachePerObject(({ failedProbes: { startup, readiness } }: ContainerView) => ({
  startup: probeFailure(startup),
  readiness: probeFailure(readiness),
}))

/** The problem of an init container or postStart hook that runs for long: the next containers wait for its end. */
function longStepProblem(container: ContainerView, { passed }: Reader): Problem | undefined {
  const { isInit, startedAt, hookStartedAt } = container
  const since = isInit ? startedAt : hookStartedAt
  if (since === undefined || !passed(since + longStepMs)) return undefined
  const reason = isInit ? 'init-container-running' : 'post-start-hook-running'
  return createContainerProblem(container, { reason, detail: {}, count: 1, firstSeenAt: since, proven: false })
}

/** A problem without the fields that name its container. */
type ContainerProblemFacts = {
  [Reason in ReasonCode]: Pick<ProblemWith<Reason>, 'reason' | 'detail' | 'count' | 'firstSeenAt' | 'proven'>
}[ReasonCode]

function createContainerProblem({ pod, container, isInit }: ContainerView, found: ContainerProblemFacts): Problem {
  return buildProblem({ ...found, subject: subjectOf(pod), container: container.name, isInit: isInit || undefined })
}
