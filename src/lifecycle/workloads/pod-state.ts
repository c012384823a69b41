import { lastOccurrence } from '../../cluster/event-order.ts'
import type { Condition, EventObject, Pod } from '../../cluster/objects.ts'
import type { MissingObject } from '../../reasons/containers.ts'
import { type Problem, problemOf } from '../../reasons/reasons.ts'
import { missingObject } from '../missing.ts'
import { unboundClaim, waitsForClaims } from '../platform/pvc.ts'
import { isSinceStart, prove } from '../proof.ts'
import type { RuleContext } from '../rule-context.ts'
import { examineContainer, type Finding, missingObjectMs, probesDueAt } from './container.ts'
import type { ContainerHistory } from './pod-history.ts'
import { condition, containerOfEvent, containersOf, eventCount, hasStarted, type PodContainer } from './pod-object.ts'
import { schedulingCauses } from './scheduling.ts'

const autoscalerReasons: readonly string[] = ['TriggeredScaleUp', 'Nominated', 'NotTriggerScaleUp']

/** How far a pod has come, what is wrong with it, and when that may change by time alone. */
export interface PodState {
  readonly pod: Pod
  readonly scheduled: boolean
  /** Every init container that must end has ended, sidecars run. */
  readonly initialized: boolean
  readonly pulled: boolean
  /** How long its slowest pull took, in milliseconds, as the kubelet's event tells. */
  readonly pullMs?: number
  /** Every container has been started, and runs or has done its work. */
  readonly started: boolean
  readonly ready: boolean
  /** Ready, and every container without a readiness probe has run for the settle time. */
  readonly settled: boolean
  /** When it will be settled if nothing happens; absent where it is, or is not ready. */
  readonly settlesAt?: number
  /**
   * It holds the problems of its siblings back: ready and settled, for minReadySeconds where that is longer, or started
   * without a death.
   */
  readonly better: boolean
  readonly problems: readonly Problem[]
  /** Why it may take as long as it takes: an image being pulled, probes within their arithmetic. */
  readonly stallHold?: string
  readonly recheckAt?: number
}

/** Reads a pod's state: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/ */
export function examinePod(pod: Pod, context: RuleContext): PodState {
  const containers = containersOf(pod)
  const history = context.podHistory(pod)
  const findings = [
    ...examineSetup(pod, context),
    ...containers.map((at) => examineContainer(pod, at, history.containers.get(at.container.name), context)),
  ]
  const { ready, settledAt } = readiness(pod, context)
  const isPulling =
    containers.some((at) => isBeingPulled(pod, at, context)) || isVolumeBeingPulled(pod, containers, context)
  const problems = findings.flatMap(({ problem }) => problem ?? [])
  const recheck = [
    ...findings.map((finding) => finding.recheckAt),
    ready && context.now < settledAt ? settledAt : undefined,
  ].filter((moment) => moment !== undefined && moment > context.now)
  const isProbed = containers.some((at) => (probesDueAt(at, context) ?? 0) > context.now)
  const stallHold = isPulling
    ? 'an image is being pulled'
    : isProbed
      ? 'probes are within the time they ask for'
      : autoscalerPatience(pod, context)
  const readySince = ready ? context.time(condition(pod, 'Ready')?.lastTransitionTime) : undefined
  const availableAt = Math.max(settledAt, (readySince ?? 0) + history.minReadyMs)
  const started = containers.every(({ status, isInit, runsOnce }) =>
    status?.state?.running ? !isInit : (isInit || runsOnce) && status?.state?.terminated?.exitCode === 0,
  )
  const hasNoDeaths = [...history.containers.values()].every(({ deaths }) => deaths === 0)
  return {
    pod,
    scheduled: pod.spec?.nodeName !== undefined && pod.spec.nodeName !== '',
    initialized: condition(pod, 'Initialized')?.status === 'True' || pod.status?.phase === 'Running',
    pulled: containers.every(({ status }) => hasStarted(status) || isPulled(status)),
    started,
    ready,
    settled: ready && context.now >= settledAt,
    ...(ready && context.now < settledAt ? { settlesAt: settledAt } : {}),
    better: (ready && context.now >= availableAt) || (started && hasNoDeaths),
    problems,
    ...(stallHold === undefined ? {} : { stallHold }),
    ...slowestPull(context.events(pod)),
    ...earliest(recheck),
  }
}

/** Whether a pod is ready, and when it is settled unless a container dies, in milliseconds on the runner's clock. */
export function readiness(pod: Pod, context: RuleContext): { readonly ready: boolean; readonly settledAt: number } {
  const history = context.podHistory(pod)
  const moments = containersOf(pod).map((at) => settledFrom(at, history.containers.get(at.container.name), context))
  return {
    ready: condition(pod, 'Ready')?.status === 'True' && pod.status?.phase === 'Running',
    settledAt: Math.max(0, ...moments),
  }
}

/** The earliest of the moments that are known, as an optional field. */
export function earliest(moments: readonly (number | undefined)[]): { recheckAt?: number } {
  const known = moments.filter((moment) => moment !== undefined)
  return known.length === 0 ? {} : { recheckAt: Math.min(...known) }
}

/**
 * When a running container counts as settled: with a readiness probe at once (Ready is the probe's word), without one
 * when it has run for the settle time. A start in the future (skewed clocks) counts from the first sight of it.
 */
function settledFrom(
  { container, status, isInit }: PodContainer,
  history: ContainerHistory | undefined,
  context: RuleContext,
): number {
  if (isInit || container.readinessProbe !== undefined) return 0
  const startedAt = context.time(status?.state?.running?.startedAt)
  if (startedAt === undefined) return 0
  return Math.min(startedAt, history?.running?.seenAt ?? context.now) + context.settings.settleMs
}

/** What the kubelet comes to once the image is there: startContainer, pkg/kubelet/kuberuntime. */
const afterPull = /^(?:CreateContainer(?:Config)?|PreCreateHook|PreStartHook|RunContainer)Error$/

function isPulled(status: PodContainer['status']): boolean {
  return (status?.imageID ?? '') !== '' || afterPull.test(status?.state?.waiting?.reason ?? '')
}

/** The kubelet said that it pulls, and has said nothing of that container since. */
function isBeingPulled(pod: Pod, { container, status }: PodContainer, context: RuleContext): boolean {
  if (hasStarted(status) || status?.state?.waiting?.reason === 'ImagePullBackOff') return false
  const last = context.events(pod).findLast((event) => event.involvedObject?.fieldPath?.endsWith(`{${container.name}}`))
  return (
    last?.reason === 'Pulling' &&
    Object.keys(context.podHistory(pod).containers.get(container.name)?.refusals ?? {}).length === 0
  )
}

/** The kubelet's events about an image volume are about its pod (getImageVolumes, pkg/kubelet/kuberuntime). */
function isVolumeBeingPulled(pod: Pod, containers: readonly PodContainer[], context: RuleContext): boolean {
  if (!pod.spec?.volumes?.some(({ image }) => image !== undefined)) return false
  const last = context.events(pod).findLast((event) => containerOfEvent(event) === undefined)
  return last?.reason === 'Pulling' && !containers.some(({ status }) => hasStarted(status))
}

/** An autoscaler has promised a node: cluster-autoscaler's TriggeredScaleUp, Karpenter's Nominated. */
function autoscalerPatience(pod: Pod, context: RuleContext): string | undefined {
  if (condition(pod, 'PodScheduled')?.status !== 'False') return undefined
  const last = context.events(pod).findLast(({ reason }) => reason !== undefined && autoscalerReasons.includes(reason))
  return last === undefined || last.reason === 'NotTriggerScaleUp' ? undefined : 'an autoscaler is adding a node'
}

/** What is wrong with the pod as a whole: before its containers exist, only its conditions and events tell. */
function examineSetup(pod: Pod, context: RuleContext): readonly Finding[] {
  const subject = `pod/${pod.metadata.name}`
  const scheduling = condition(pod, 'PodScheduled')
  if (scheduling?.reason === 'SchedulingGated') return [{ problem: schedulingGateProblem(pod, scheduling, context) }]
  if (scheduling?.status === 'False') {
    const detail = schedulingCauses(scheduling.message ?? scheduling.reason ?? 'no node fits')
    const cause = waitsForClaims(detail) ? unboundClaim(pod, context) : undefined
    const problem: Problem = {
      reason: 'unschedulable',
      subject,
      detail,
      count: 1,
      firstSeenAt: context.time(scheduling.lastTransitionTime) ?? context.now,
      proven: false,
      cause,
    }
    return [{ problem }]
  }
  if (pod.status?.phase !== 'Pending') return gateProblems(pod, context).map((problem) => ({ problem }))
  const failures = context.events(pod).filter(({ reason }) => reason !== undefined && setupFailures.includes(reason))
  // The kubelet sums up every two minutes which volumes are not mounted; the event before that says why.
  const last =
    failures.findLast(({ message }) => !/^Unable to attach or mount volumes/.test(message ?? '')) ?? failures.at(-1)
  return last === undefined || isSetUp(pod, context) ? [] : [setupProblem(pod, last, context)]
}

/**
 * Slow: the scheduler does not look at a pod before its scheduling gates are removed, by whoever set them: a queue or a quota.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/pod-scheduling-readiness/
 */
function schedulingGateProblem({ metadata, spec }: Pod, scheduled: Condition, context: RuleContext): Problem {
  return {
    reason: 'unschedulable',
    subject: `pod/${metadata.name}`,
    detail: { schedulingGates: (spec?.schedulingGates ?? []).map(({ name }) => name) },
    count: 1,
    firstSeenAt: context.time(scheduled.lastTransitionTime) ?? context.now,
    proven: false,
  }
}

/**
 * Slow: its containers are ready, and somebody else (a load balancer's controller, most often) has yet to say that it is.
 * https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-readiness-gate
 */
function gateProblems(pod: Pod, context: RuleContext): Problem[] {
  const ready = condition(pod, 'Ready')
  if (ready?.status !== 'False' || ready.reason !== 'ReadinessGatesNotReady') return []
  const closed = (pod.spec?.readinessGates ?? [])
    .map(({ conditionType }) => conditionType)
    .filter((type) => condition(pod, type)?.status !== 'True')
  return [
    {
      reason: 'readiness-gate-pending',
      subject: `pod/${pod.metadata.name}`,
      detail: { gates: closed },
      count: 1,
      firstSeenAt: context.time(condition(pod, 'ContainersReady')?.lastTransitionTime) ?? context.now,
      proven: false,
    },
  ]
}

/** The kubelet's and the attach controller's events about what a pod needs before its containers (pkg/kubelet/events). */
const setupFailures: readonly string[] = [
  'FailedMount',
  'FailedAttachVolume',
  'FailedMapVolume',
  'FailedCreatePodSandBox',
  'NetworkNotReady',
]
const sandboxFailures: readonly (string | undefined)[] = ['FailedCreatePodSandBox', 'NetworkNotReady']

/**
 * Strike: a Secret or ConfigMap that a volume needs and that does not exist. It has a minute to appear since the first
 * refusal, or since the gate began, whichever is later; and the kubelet, which looks ever more rarely (every 2 minutes at
 * the end), must have looked again since then. Slow: other volumes and the network sandbox, which are tried for ever.
 */
function setupProblem(pod: Pod, event: EventObject, context: RuleContext): Finding {
  const first = context.time(event.firstTimestamp ?? event.eventTime) ?? context.now
  const last = context.time(lastOccurrence(event)) ?? first
  const message = event.message ?? ''
  const isSandbox = sandboxFailures.includes(event.reason)
  const missing = isSandbox ? undefined : named(missingObject(message), message, pod)
  const { proven, recheckAt } = prove(
    {
      seen: missing === undefined ? 0 : 1,
      needed: 1,
      since: Math.max(first, context.startedAt),
      atLeastMs: missingObjectMs,
      isCurrent: isSinceStart(last, context),
    },
    context.now,
  )
  const problem = problemOf({
    reason: isSandbox ? 'sandbox-failed' : missing === undefined ? 'volume-not-mounted' : 'config-missing',
    subject: `pod/${pod.metadata.name}`,
    detail: isSandbox ? { message: setupError(message) } : { ...mountFailure(message), missing },
    count: eventCount(event),
    firstSeenAt: first,
    proven,
  })
  return { problem, ...(recheckAt === undefined ? {} : { recheckAt }) }
}

/** Of a missing key the kubelet says only which volume wanted it: the pod knows from what that is made. */
function named(missing: MissingObject | undefined, message: string, { spec }: Pod): MissingObject | undefined {
  if (missing === undefined || missing.name !== undefined) return missing
  const [, volumeName] = /\bvolume "([^"]+)"/.exec(message) ?? []
  const volume = spec?.volumes?.find((each) => each.name === volumeName)
  return { ...missing, name: missing.kind === 'secret' ? volume?.secret?.secretName : volume?.configMap?.name }
}

/** `MountVolume.SetUp failed for volume "v" : secret "nope" not found` → the volume `v`, and `secret "nope" not found`. */
function mountFailure(message: string): { volume?: string; message: string } {
  const [, volume, why = message] = /^\w+\.\w+ failed for volume "([^"]+)" ?:\s*(.+)$/s.exec(message) ?? []
  return { volume, message: setupError(why) }
}

function setupError(message: string): string {
  return message.replace(/^Failed to create pod sandbox:\s*/i, '').replace(/rpc error: code = \w+ desc = /g, '')
}

/** `Successfully pulled image "…" in 12.234s (12.234s including waiting).` */
function slowestPull(events: readonly EventObject[]): { pullMs?: number } {
  const took = events.flatMap(({ reason, message = '' }) => {
    const [, minutes = '0', amount, unit] =
      (reason === 'Pulled' && /" in (?:(\d+)m)?([\d.]+)(ms|s)\b/.exec(message)) || []
    return amount === undefined ? [] : [Number(minutes) * 60_000 + Number(amount) * (unit === 's' ? 1_000 : 1)]
  })
  return took.length === 0 ? {} : { pullMs: Math.max(...took) }
}

/** Volumes and sandbox come before images: once the kubelet speaks of a container, they are there (syncPod, pkg/kubelet). */
function isSetUp(pod: Pod, context: RuleContext): boolean {
  return (
    containersOf(pod).some(({ status }) => hasStarted(status) || isPastCreating(status?.state?.waiting?.reason)) ||
    context.events(pod).some((event) => containerOfEvent(event) !== undefined)
  )
}

function isPastCreating(waiting: string | undefined): boolean {
  return waiting !== undefined && waiting !== 'ContainerCreating' && waiting !== 'PodInitializing'
}
