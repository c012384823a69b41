import { firstOccurrence, lastOccurrence } from '../../cluster/event-order.ts'
import type { ContainerStateTerminated, EventObject, Pod, Probe } from '../../cluster/objects.ts'
import { subjectOf } from '../../cluster/objects.ts'
import { type Problem, type ProblemWith, problemOf, type ReasonCode, traitsOf } from '../../reasons/reasons.ts'
import {
  deathsProvenMs,
  deathsProvenWhileOthersProgressMs,
  earlierMs,
  kubeletRetryMs,
  longStepMs,
  missingObjectMs,
  startTimeMs,
} from '../../thresholds.ts'
import type { ContainerHistory, PullReason, Refusals } from '../pod-history.ts'
import { isSinceStart, prove } from '../proof.ts'
import type { Reader } from '../reader.ts'
import { presentDeath } from './death-count.ts'
import { pullDetail, registryAnswer } from './image-pull.ts'
import { explainDeath, missingObject, probeFailure, refusedStart } from './kubelet-messages.ts'
import { waitsForImage } from './observe-pods.ts'
import {
  concernsContainer,
  containerOfEvent,
  containersOf,
  hasStarted,
  isStartError,
  type PodContainer,
} from './pod-fields.ts'
import { runtimeError } from './runtime-error.ts'

/** A container of a pod, with everything that a rule reads about it. */
interface ContainerFacts extends ContainerOfPod {
  readonly history: ContainerHistory
  readonly reader: Reader
}

/**
 * The present problem of a container. The waiting reasons are the kubelet's (pkg/kubelet/images/types.go,
 * pkg/kubelet/kuberuntime). A status may be `statusLagMs` later than its events, so refusals and deaths come from the
 * history, which reads both.
 */
export function examineContainer(facts: ContainerFacts): Problem | undefined {
  const { status, isDoneSidecar, history } = facts
  if (isDoneSidecar) return undefined
  if (status?.state?.running) return runningProblem(facts)
  if (hookStartedAt(facts, facts.reader) !== undefined) return longStep(facts)
  switch (status?.state?.waiting?.reason) {
    case 'InvalidImageName':
      return neverPulledProblem(facts, true)
    case 'ErrImageNeverPull':
      return neverPulledProblem(facts, false)
    case 'CreateContainerConfigError':
    case 'CreateContainerError':
    case 'PreCreateHookError':
    case 'PreStartHookError':
      return creationProblem(facts)
    default: {
      const refused = lastRefusal(history)
      return refused !== undefined && isWaitingForImage(facts, refused[1])
        ? refusedPull(facts, ...refused)
        : deathProblem(facts)
    }
  }
}

/**
 * A terminal problem: the kubelet does not try to pull such an image. If the image was missing long before the gate
 * began, the image may have been loaded since: then the gate waits until the kubelet has checked again.
 */
function neverPulledProblem(facts: ContainerFacts, isInvalid: boolean): Problem {
  const { pod, history, reader } = facts
  const since = history.waiting?.since ?? reader.now
  const isOld = (reader.time(pod.metadata.creationTimestamp) ?? reader.now) < reader.startedAt - earlierMs
  const atLeastMs = !isInvalid && isOld && history.waiting?.predatesGate ? kubeletRetryMs : 0
  return problemOfContainer(facts, {
    reason: isInvalid ? 'image-name-invalid' : 'image-never-pull',
    count: 1,
    firstSeenAt: since,
    detail: { image: facts.container.image ?? '' },
    proven: reader.passed(since + atLeastMs),
  })
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
  const since = first < reader.startedAt - earlierMs ? reader.startedAt : first
  const neededMs = mayAwaitOther(last, reader) ? deathsProvenWhileOthersProgressMs : missingObjectMs
  const isLate = last - since >= neededMs
  return reader.passed(since + (isLate ? 0 : neededMs + retryMs))
}

/** Whether what failed at this moment may have waited for another target: one still progresses, or was ready only later. */
function mayAwaitOther(failedAt: number, { othersProgress, othersReadyAt }: Reader): boolean {
  return othersProgress() || (othersReadyAt() ?? 0) > failedAt
}

/** A strike problem: an object is missing, which may be created late, or the runtime cannot create the container. */
function creationProblem(facts: ContainerFacts): Problem {
  const { history, reader } = facts
  const { reason = '', message = '' } = facts.status?.state?.waiting ?? {}
  const event = refusalEvent(facts, message)
  const seenAt = history.waiting?.since ?? reader.now
  // The event has the moment of the refusal; the status is updated later.
  const first = reader.time(event && firstOccurrence(event)) ?? seenAt
  const last = event && reader.time(lastOccurrence(event))
  const checks = { first, last: last ?? first, retryMs: kubeletRetryMs }
  const proven = !busyNode.test(message) && isProvenMissing(checks, reader)
  const own = { count: 1, firstSeenAt: Math.max(first, reader.startedAt), proven }
  const missing = missingObject(message)
  if (reason === 'CreateContainerConfigError' && missing !== undefined)
    return problemOfContainer(facts, { ...own, reason: 'config-missing', detail: { missing, message } })
  // If a container may not run as root (verifyRunAsNonRoot, pkg/kubelet/kuberuntime), nothing is missing.
  if (/runAsNonRoot|breaks non-root policy/.test(message)) {
    const words = message.replace(/ \(pod: "[^"]*", container: \S+\)$/, '')
    const detail = { isCreated: false, message: words, mayBeRoot: true }
    return problemOfContainer(facts, { ...own, reason: 'container-create-failed', detail })
  }
  // CRI-O finds that a program is missing when it creates the container.
  const error = message === '' ? ({ step: 'other', message: reason } as const) : runtimeError(message)
  return problemOfContainer(facts, { ...own, ...refusedStart(facts.container, error, { isCreated: false }) })
}

/** The kubelet's event about a refusal with this message. */
function refusalEvent({ pod, container, reader }: ContainerFacts, message: string): EventObject | undefined {
  return reader
    .events(pod)
    .find((each) => containerOfEvent(each) === container.name && each.message === `Error: ${message}`)
}

/**
 * A terminal problem: the registry does not have the image, or not for the node's platform, at the second refusal (a
 * push may race the first). Strike: a refusal for missing authorization, at the third. If the Secret with the credentials
 * is missing, it may be created late. Other problems end when the registry or the network recovers. A back-off is no
 * refusal, but the kubelet's pause before the next pull.
 */
function refusedPull(facts: ContainerFacts, reason: PullReason, refusals: Refusals): Problem {
  const { attempts, events, firstAt, lastAt, message } = refusals
  const { pod, reader } = facts
  const count = Math.max(attempts, events)
  const { class: certainty, provenAfter: needed = Infinity } = traitsOf({ reason })
  const isMissing = certainty === 'strike' && reader.events(pod).some((event) => event.reason === pullSecretMissing)
  const isFinal = !isMissing || isProvenMissing({ first: firstAt, last: lastAt ?? firstAt, retryMs: Infinity }, reader)
  const isCurrent = isFinal && isSinceStart(lastAt, reader)
  return problemOfContainer(facts, {
    reason,
    count,
    firstSeenAt: firstAt,
    detail: pullDetail(refusedImage(facts, message), message),
    proven: prove({ seen: count, needed, since: firstAt, atLeastMs: 0, isCurrent }, reader),
  })
}

/** The reason of an event about a missing Secret of imagePullSecrets (getPullSecretsForPod, pkg/kubelet). */
const pullSecretMissing = 'FailedToRetrieveImagePullSecret'

/**
 * The refused image: that of the container, or of an image volume that it mounts, if the message names one
 * (toKubeContainerImageVolumes, pkg/kubelet/kuberuntime).
 */
function refusedImage({ pod, container }: ContainerFacts, message: string): string {
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
function isWaitingForImage({ status, history, reader }: ContainerFacts, { lastAt }: Refusals): boolean {
  if (waitsForImage(status?.state?.waiting?.reason)) return true
  const endedAt = reader.time((status?.state?.terminated ?? status?.lastState?.terminated)?.finishedAt)
  return endedAt === undefined ? history.deaths === 0 : (lastAt ?? 0) >= endedAt
}

/** The refusals of the latest pull. A refusal with a known cause is preferred to a back-off. */
function lastRefusal(history: ContainerHistory): readonly [PullReason, Refusals] | undefined {
  const all = Object.entries(history.refusals) as [PullReason, Refusals][]
  const caused = all.filter(([, { message }]) => registryAnswer(message) !== '')
  const lastAt = ({ lastAt: at, firstAt }: Refusals) => at ?? firstAt
  return (caused.length > 0 ? caused : all).toSorted(([, a], [, b]) => lastAt(b) - lastAt(a))[0]
}

/**
 * A strike problem: a dead container, proven by its third death. While another target progresses, the container may wait for
 * it. An instance that started before that target was ready may have waited too: only the next one shows it.
 */
function deathProblem(facts: ContainerFacts): Problem | undefined {
  const { status, runsOnce, history, reader } = facts
  const death = status && presentDeath(status, runsOnce)
  if (death === undefined || history.deaths === 0) return undefined
  const firstDeathAt = history.firstDeathAt ?? reader.now
  // An instance that never started waited for no target (its startedAt is 1970).
  const startedAt = death.reason === 'StartError' ? undefined : reader.time(death.startedAt)
  const isWaiting = mayAwaitOther(startedAt ?? Infinity, reader)
  const proven = prove(
    {
      seen: history.deaths,
      needed: reader.settings.maxRestarts + 1,
      // The other targets progress only since the gate's start.
      since: isWaiting ? Math.max(firstDeathAt, reader.startedAt) : firstDeathAt,
      atLeastMs: isWaiting ? deathsProvenWhileOthersProgressMs : deathsProvenMs,
      isCurrent: history.isCurrent,
    },
    reader,
  )
  return explainedDeath(facts, death, proven)
}

/**
 * Why a container never started, for owners that decide themselves whether this fails them; undefined for a container that
 * ran. The exit code is that of the runtime, and there is no log.
 */
export function startFailure(
  pod: Pod,
  each: PodContainer,
  death: ContainerStateTerminated,
  reader: Reader,
): Problem | undefined {
  if (!isStartError(death)) return undefined
  return problemOfContainer(
    { ...each, pod },
    {
      ...explainDeath(each, death, pod, reader.events(pod)),
      count: 1,
      firstSeenAt: reader.time(death.finishedAt) ?? reader.now,
      proven: true,
    },
  )
}

function explainedDeath(facts: ContainerFacts, death: ContainerStateTerminated, proven: boolean): Problem {
  const { pod, history, reader } = facts
  return problemOfContainer(facts, {
    ...explainDeath(facts, death, pod, reader.events(pod)),
    count: history.deaths,
    firstSeenAt: history.firstDeathAt ?? reader.now,
    proven,
  })
}

/**
 * A slow problem: a running container that is not ready after the time of its probes. Until then an earlier death is shown,
 * but proves nothing: this instance may live.
 */
function runningProblem(facts: ContainerFacts): Problem | undefined {
  const { status, isInit, history, reader } = facts
  if (status === undefined) return undefined
  if (isInit) return longStep(facts)
  const due = probesDueAt(facts, reader)
  if (due === undefined) return undefined
  if (reader.passed(due)) {
    const problem = probeProblem(facts, due)
    const startedAt = reader.time(status.state?.running?.startedAt) ?? due
    return problem && { ...problem, isStarting: !reader.passed(startedAt + startTimeMs) }
  }
  const death = status.lastState?.terminated
  return history.deaths === 0 || death === undefined ? undefined : explainedDeath(facts, death, false)
}

/** A slow problem: the startup or readiness probe of a running container fails; undefined if it has no such probe. */
function probeProblem(
  { pod, status, container, isInit, reader }: ContainerOfPod & { readonly reader: Reader },
  firstSeenAt: number,
): Problem | undefined {
  const isStarting = status?.started === false && container.startupProbe !== undefined
  // Without a probe, it is ready at the kubelet's next status.
  if (!isStarting && container.readinessProbe === undefined) return undefined
  const kind = isStarting ? 'startup' : 'readiness'
  const failure = probeFailure(kind, container, reader.events(pod))
  return problemOfContainer(
    { pod, container, isInit },
    {
      reason: `${kind}-failing`,
      detail: { isRunning: true, ...failure },
      count: 1,
      firstSeenAt,
      proven: false,
    },
  )
}

/** The probe that fails in a running container, by the kubelet's Events; also before its `failureThreshold` is reached. */
export function failingProbe(pod: Pod, reader: Reader): Problem | undefined {
  for (const each of containersOf(pod)) {
    const startedAt = reader.time(each.status?.state?.running?.startedAt)
    const isFailing = reader
      .events(pod)
      .some((event) => event.reason === 'Unhealthy' && concernsContainer(event, each.container.name))
    if (startedAt === undefined || each.status?.ready || !isFailing) continue
    const problem = probeProblem({ ...each, pod, reader }, startedAt)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** A slow problem: an init container or a postStart hook runs for long, and the next containers wait for its end. */
function longStep(facts: ContainerFacts): Problem | undefined {
  const { isInit, status, reader } = facts
  const startedAt = isInit ? reader.time(status?.state?.running?.startedAt) : hookStartedAt(facts, reader)
  if (startedAt === undefined || !reader.passed(startedAt + longStepMs)) return undefined
  return problemOfContainer(facts, {
    reason: isInit ? 'init-container-running' : 'post-start-hook-running',
    detail: {},
    count: 1,
    firstSeenAt: startedAt,
    proven: false,
  })
}

type ContainerOfPod = PodContainer & { readonly pod: Pod }

/**
 * When the postStart hook of a new container began, if it runs. The kubelet reports the container, and starts the next
 * ones, when the hook has ended (startContainer, pkg/kubelet/kuberuntime): until then only the container's events show it.
 */
export function hookStartedAt({ pod, container, status }: ContainerOfPod, reader: Reader): number | undefined {
  if (container.lifecycle?.postStart === undefined || hasStarted(status)) return undefined
  const last = reader.events(pod).findLast((event) => containerOfEvent(event) === container.name)
  return last?.reason === 'Started' ? reader.time(lastOccurrence(last)) : undefined
}

/**
 * When the time that the probes of a container allow ends: first of the startup probe, then of the readiness probe.
 * Undefined for a container that is ready, does not run or must end.
 */
export function probesDueAt({ container, status, isInit }: PodContainer, reader: Reader): number | undefined {
  const startedAt = reader.time(status?.state?.running?.startedAt)
  if (startedAt === undefined || isInit || status?.ready) return undefined
  return startedAt + (probeSeconds(container.startupProbe) + probeSeconds(container.readinessProbe)) * 1000
}

/** How long a probe may fail before it counts. Defaults of the API: period 10 s, failureThreshold 3, timeout 1 s. */
function probeSeconds(probe: Probe | undefined): number {
  if (probe === undefined) return 0
  const { initialDelaySeconds = 0, periodSeconds = 10, failureThreshold = 3, timeoutSeconds = 1 } = probe
  return initialDelaySeconds + periodSeconds * failureThreshold + timeoutSeconds
}

/** A problem without subject and container. */
type Found = {
  [Reason in ReasonCode]: Pick<ProblemWith<Reason>, 'reason' | 'detail' | 'count' | 'firstSeenAt' | 'proven'>
}[ReasonCode]

function problemOfContainer(
  { pod, container, isInit }: Pick<ContainerOfPod, 'pod' | 'container' | 'isInit'>,
  found: Found,
): Problem {
  const place = { subject: subjectOf(pod), container: container.name, isInit: isInit || undefined }
  return problemOf({ ...found, ...place })
}
