import { isDeepStrictEqual } from 'node:util'
import { lastOccurrence } from '../../cluster/event-order.ts'
import type { Container, ContainerStatus, EventObject, KubeObject, Pod } from '../../cluster/objects.ts'
import type { GateTime } from '../gate-time.ts'
import { isSinceStart } from '../proof.ts'
import { countDeaths, type DeathCount, type DeathsSeen, noDeaths, observeDeaths } from './death-count.ts'
import { isPullRefusal, type PullReason, pullReason } from './image-pull.ts'

/** Refusals of a pull for one reason. How many there were is the larger of the two counts. */
export interface Refusals {
  /** Attempts that the container's state showed. */
  readonly attempts: number
  /** Attempts that the kubelet's events counted. */
  readonly events: number
  readonly firstAt: number
  /** The latest attempt was at this moment or later; absent where only a state at first sight shows one. */
  readonly lastAt?: number
  /** The registry's last words. */
  readonly message: string
}

/** What was seen of the instance of a container that runs now. */
export interface RunningSeen {
  /** As the kubelet wrote it. */
  readonly startedAt: string | undefined
  readonly seenAt: number
  /** Absent while it is not ready. */
  readonly readySince?: number
  /** How often it was ready and then was not any more, and when that was seen first. */
  readonly readinessLost?: { readonly count: number; readonly firstAt: number }
}

/** What was seen of one container since its pod was first seen. All moments are on the runner's clock. */
export interface ContainerSeen {
  readonly deaths: DeathsSeen
  readonly refusals: Readonly<Partial<Record<PullReason, Refusals>>>
  readonly running?: RunningSeen
  /** The waiting reason that stands now, since when it was seen, and whether it stood before the gate began. */
  readonly waiting?: { readonly reason: string; readonly since: number; readonly isOfBefore: boolean }
  /** The last status seen. */
  readonly status?: ContainerStatus
}

/** What was seen of a pod: facts, whatever they mean. */
export interface PodSeen {
  readonly firstSeenAt: number
  readonly containers: ReadonlyMap<string, ContainerSeen>
}

/** What was seen of one container, with the deaths that count. */
export interface ContainerHistory extends Omit<ContainerSeen, 'deaths'>, DeathCount {}

/** What was seen of a pod, as far as it counts. */
export interface PodHistory {
  readonly firstSeenAt: number
  /** How long its workload wants it to be ready before it is available, in milliseconds. */
  readonly minReadyMs: number
  readonly containers: ReadonlyMap<string, ContainerHistory>
}

/** What was seen of a target since it was first seen. */
export interface TargetHistory {
  readonly firstSeenAt: number
  /** Its state at first sight. */
  readonly first: KubeObject
  /** Its present spec, and when that was first seen. */
  readonly spec: object | undefined
  readonly specSeenAt: number
  /** The names of the fields in its status, and when they last changed (the first sight counts as a change). */
  readonly fields: string
  readonly fieldsMovedAt: number
  /** The numbers in its status, and when one of them last changed (the first sight counts as a change). */
  readonly counters: string
  readonly countersMovedAt: number
  /** The words of failure that stand now, as its rule reads them, and since when each was seen. */
  readonly failures: ReadonlyMap<string, number>
}

/** A state that the kubelet writes down may be of an attempt so long ago; its events are not late. */
const statusLagMs = 20_000
/** The kubelet does not try to pull again before this, unless a node is made to begin with less (pkg/kubelet). */
const pullBackOffMs = 10_000

const nothing: ContainerSeen = { deaths: noDeaths, refusals: {} }

/** Folds one more version of a pod, seen at `now`, into what was seen of it. */
export function observePod(before: PodSeen | undefined, pod: Pod, now: number, gateTime: GateTime): PodSeen {
  const containers = new Map(before?.containers)
  for (const { container, status, runsOnce } of containersOf(pod)) {
    if (status === undefined) continue
    const known = containers.get(container.name) ?? nothing
    const mortal = { isProbed: container.readinessProbe !== undefined, runsOnce }
    const running = observeRunning(known.running, status, mortal.isProbed, pod, now, gateTime)
    const change = {
      status,
      readySince: running?.readySince,
      previous: known.status,
      wasReadySince: known.running?.readySince,
      now,
    }
    const deaths = observeDeaths(known.deaths, pod, mortal, change, gateTime)
    const { running: _ended, ...rest } = known
    const seen = { ...rest, deaths, ...(running === undefined ? {} : { running }) }
    const created = gateTime.time(pod.metadata.creationTimestamp)
    const isOfBefore = known.status === undefined && !isSinceStart(created, gateTime)
    containers.set(container.name, { ...observeWaiting(seen, status, { isOfBefore, created }, now), status })
  }
  return { firstSeenAt: before?.firstSeenAt ?? now, containers }
}

/** What of a pod's workload says which of its deaths count. */
export interface PodTerms {
  /** When its template was last changed, on the runner's clock; undefined where unknown. */
  readonly changedAt: number | undefined
  /** Its minReadySeconds, in milliseconds. */
  readonly minReadyMs: number
}

/** A pod's history, with the deaths that count. */
export function historyOf(
  seen: PodSeen,
  pod: Pod,
  { changedAt, minReadyMs }: PodTerms,
  gateTime: GateTime,
): PodHistory {
  const created = gateTime.time(pod.metadata.creationTimestamp)
  const probed = new Set(
    containersOf(pod).flatMap(({ container }) => (container.readinessProbe === undefined ? [] : [container.name])),
  )
  const containers = [...seen.containers].map(([name, { deaths, ...rest }]) => {
    // With a readiness probe, Ready is the probe's word; without one it must have run for the settle time.
    const settleMs = Math.max(minReadyMs, probed.has(name) ? 0 : gateTime.settleMs)
    return [name, { ...rest, ...countDeaths(deaths, { created, changedAt, settleMs }, gateTime) }] as const
  })
  return { firstSeenAt: seen.firstSeenAt, minReadyMs, containers: new Map(containers) }
}

/** Folds the events known about a pod into its history, whenever one of them changed. */
export function observePodEvents(
  before: PodSeen | undefined,
  events: readonly EventObject[],
  now: number,
  gateTime: GateTime,
): PodSeen {
  const containers = new Map(before?.containers)
  for (const [name, about] of Map.groupBy(events, (event) => containerOfEvent(event) ?? '')) {
    if (name === '') continue
    const start = containers.get(name) ?? nothing
    const refusals = { ...start.refusals }
    for (const [reason, refused] of Map.groupBy(about.filter(isPullRefusal), (event) =>
      pullReason(event.message ?? ''),
    )) {
      refusals[reason] = {
        attempts: refusals[reason]?.attempts ?? 0,
        events: refused.reduce((sum, event) => sum + eventCount(event), 0),
        firstAt: Math.min(
          refusals[reason]?.firstAt ?? now,
          ...refused.map((event) => eventStart(event, gateTime) ?? now),
        ),
        ...latest([refusals[reason]?.lastAt, ...refused.map((event) => gateTime.time(lastOccurrence(event)))]),
        message: refused.at(-1)?.message ?? '',
      }
    }
    const backOffs = about.filter(
      (event) => event.reason === 'BackOff' && event.message?.startsWith('Back-off restarting'),
    )
    const backOffAt = Math.min(...backOffs.map((event) => eventStart(event, gateTime) ?? now))
    const deaths = backOffs.length === 0 ? start.deaths : { ...start.deaths, backOffAt }
    containers.set(name, { ...start, refusals, deaths })
  }
  return { firstSeenAt: before?.firstSeenAt ?? now, containers }
}

/** Folds one more version of a target, seen at `now`, into its history; `failed` are the words of failure that it says now. */
export function observeTarget(
  before: TargetHistory | undefined,
  object: KubeObject,
  now: number,
  failed: readonly string[] = [],
): TargetHistory {
  const { spec } = object
  const status = object.status ?? {}
  const fields = Object.keys(status).sort().join()
  const counters = JSON.stringify(
    Object.entries(status).filter(([name, value]) => typeof value === 'number' && name !== 'observedGeneration'),
  )
  const isSameSpec = before !== undefined && isDeepStrictEqual(before.spec, spec)
  return {
    firstSeenAt: before?.firstSeenAt ?? now,
    first: before?.first ?? object,
    spec,
    specSeenAt: isSameSpec ? before.specSeenAt : now,
    fields,
    fieldsMovedAt: before?.fields === fields ? before.fieldsMovedAt : now,
    counters,
    countersMovedAt: before?.counters === counters ? before.countersMovedAt : now,
    // A failure of the spec before may be mended by the change.
    failures: new Map(failed.map((word) => [word, (isSameSpec ? before.failures.get(word) : undefined) ?? now])),
  }
}

/** How often an event stands for what it says. */
export function eventCount(event: EventObject): number {
  return Math.max(event.count ?? 1, event.series?.count ?? 1, 1)
}

/** Whether an event is about this container, or about its pod as a whole. */
export function concernsContainer(event: EventObject, container: string): boolean {
  return [undefined, container].includes(containerOfEvent(event))
}

/** The container that an event is about: `spec.containers{app}` → `app`. */
export function containerOfEvent(event: EventObject): string | undefined {
  return /\{([^{}]+)\}$/.exec(event.involvedObject?.fieldPath ?? '')?.[1]
}

export interface PodContainer {
  readonly container: Container
  readonly status?: ContainerStatus
  /** An init container that is no sidecar: it must end, with success, before the next one starts. */
  readonly isInit: boolean
  /** Its exit with code 0 is its success, not a death. */
  readonly runsOnce: boolean
  /** A sidecar whose pod has done its work: the kubelet ends it then, and how it goes says nothing (KEP-753). */
  readonly isDismissed: boolean
}

/** The containers of a pod with their statuses, init containers and sidecars first, in the order in which they start. */
export function containersOf(pod: Pod): readonly PodContainer[] {
  const status = new Map(
    [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])].map((s) => [s.name, s]),
  )
  const policy = pod.spec?.restartPolicy ?? 'Always'
  const isOver =
    policy !== 'Always' &&
    (pod.spec?.containers ?? []).every(({ name }) => status.get(name)?.state?.terminated !== undefined)
  const join = (container: Container, isInit: boolean): PodContainer => {
    const found = status.get(container.name)
    return {
      container,
      ...(found === undefined ? {} : { status: found }),
      isInit,
      // Its own policy goes before that of the pod (KEP-753, and KEP-5307 for containers that are no init containers).
      runsOnce: isInit || (container.restartPolicy ?? policy) !== 'Always',
      isDismissed: isOver && container.restartPolicy === 'Always',
    }
  }
  return [
    // restartPolicy Always makes an init container a sidecar (KEP-753): it runs along with the others.
    ...(pod.spec?.initContainers ?? []).map((container) => join(container, container.restartPolicy !== 'Always')),
    ...(pod.spec?.containers ?? []).map((container) => join(container, false)),
  ]
}

/**
 * The instance that runs now. Without a readiness probe it is ready since it started; with one, since the pod turned Ready,
 * or since that was seen.
 */
function observeRunning(
  before: RunningSeen | undefined,
  { state, ready }: ContainerStatus,
  isProbed: boolean,
  pod: Pod,
  now: number,
  gateTime: GateTime,
): RunningSeen | undefined {
  if (state?.running === undefined) return undefined
  const { startedAt } = state.running
  const started = gateTime.time(startedAt)
  const same = before?.startedAt === startedAt ? before : undefined
  const isLost = same?.readySince !== undefined && !ready
  const { count = 0, firstAt = now } = same?.readinessLost ?? {}
  const lost = isLost ? { count: count + 1, firstAt } : same?.readinessLost
  const seen = { startedAt, seenAt: same?.seenAt ?? now, ...(lost === undefined ? {} : { readinessLost: lost }) }
  if (!ready || started === undefined) return seen
  const turned = pod.status?.conditions?.find(({ type, status }) => type === 'Ready' && status === 'True')
  const turnedAt = gateTime.time(turned?.lastTransitionTime) ?? now
  return { ...seen, readySince: same?.readySince ?? (isProbed ? Math.max(started, turnedAt) : started) }
}

/** The waiting reasons of a container whose pull was just refused (pkg/kubelet/images, errors of cri-api). */
const refusedStates: ReadonlySet<string> = new Set(['ErrImagePull', 'RegistryUnavailable', 'SignatureValidationFailed'])

/** Whether a container waits with this reason because its pull was refused. */
export function waitsForImage(reason = ''): boolean {
  return refusedStates.has(reason) || reason === 'ImagePullBackOff'
}

/** @param pod when it was made, and whether this is the first status seen of it and it is older than the gate */
function observeWaiting(
  seen: ContainerSeen,
  status: ContainerStatus,
  { isOfBefore, created = 0 }: { readonly isOfBefore: boolean; readonly created: number | undefined },
  now: number,
): ContainerSeen {
  const { waiting: before, ...rest } = seen
  const waiting = status.state?.waiting
  if (waiting === undefined) return rest
  const reason = waiting.reason ?? ''
  const isSame = before?.reason === reason
  const history = { ...rest, waiting: isSame ? before : { reason, since: now, isOfBefore } }
  // Each attempt shows as a refusal before its back-off does; a back-off at first sight stands for one attempt.
  const isAttempt = refusedStates.has(reason) && !isSame
  if (!isAttempt && reason !== 'ImagePullBackOff') return history
  const kind = pullReason(waiting.message ?? '')
  const known = rest.refusals[kind]
  // A back-off says no more than the refusal before it, and often less.
  if (!isAttempt && Object.keys(rest.refusals).length > 0) return history
  const attempts = known?.attempts ?? 0
  const earliest = Math.max(now - statusLagMs, created + attempts * pullBackOffMs)
  const refusals: Refusals = {
    attempts: attempts + 1,
    events: known?.events ?? 0,
    firstAt: known?.firstAt ?? now,
    ...latest([known?.lastAt, isOfBefore ? undefined : earliest]),
    message: waiting.message ?? known?.message ?? '',
  }
  return { ...history, refusals: { ...rest.refusals, [kind]: refusals } }
}

/** The latest of the moments that are known, as an optional field. */
function latest(moments: readonly (number | undefined)[]): { lastAt?: number } {
  const known = moments.filter((moment) => moment !== undefined)
  return known.length === 0 ? {} : { lastAt: Math.max(...known) }
}

function eventStart(event: EventObject, gateTime: GateTime): number | undefined {
  return gateTime.time(event.firstTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp)
}
