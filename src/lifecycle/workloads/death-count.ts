import type { ContainerStatus, Pod } from '../../cluster/objects.ts'
import { earlierDeathsMs, recoveredMs } from '../../thresholds.ts'
import { trueCondition } from '../conditions.ts'
import type { DeathCount, Instance, PodContainer } from '../pod-view.ts'
import { earliestMoment, type GateTime, latestMoment, mayBeSinceStart } from '../proof.ts'
import { condition } from './pod-fields.ts'

/**
 * The observed instances of one container. `countDeaths` decides which of their deaths count. An instance is numbered
 * by the deaths before it (the kubelet's restartCount).
 */
export interface DeathObservations {
  /** The number of deaths over the life of the pod, with one that no restart has followed yet. */
  readonly total: number
  /** The restart count in the first status that the gate received; absent before. */
  readonly firstRestarts?: number
  readonly instances: ReadonlyMap<number, Instance>
}

/** The facts about a pod's workload that decide which deaths count. */
export interface WorkloadTiming {
  /** When the pod template was last changed, on the runner's clock; if unknown, ten minutes before the gate's start. */
  readonly changedAt: number | undefined
  /** `minReadySeconds` of the workload, in milliseconds. */
  readonly minReadyMs: number
}

/**
 * Adds a version of a container, seen at `now`, to the observed instances. `restartCount` is the kubelet's own count of earlier
 * instances (pkg/kubelet/kuberuntime), so no death is missed when the watch is interrupted.
 */
export function observeDeaths(
  seen: DeathObservations,
  pod: Pod,
  version: PodContainer & { readonly status: ContainerStatus },
  now: number,
  gateTime: GateTime,
): DeathObservations {
  const { container, status, isDead } = version
  const restarts = status.restartCount ?? 0
  const total = restarts + (isDead ? 1 : 0)
  const ends = instanceEnds(version, restarts, pod, gateTime)
  const instances = new Map(seen.instances)
  const observe = (number: number, part: Instance) => instances.set(number, { ...instances.get(number), ...part })
  const isProbed = container.readinessProbe !== undefined
  if (status.state?.running) observe(total, runningInstance(instances.get(total), status, isProbed, pod, now, gateTime))
  const ranBefore = instances.get(seen.total)
  if (ranBefore?.seenAt !== undefined && total > seen.total) {
    const next = ends.find(({ number }) => number >= seen.total)
    // If the status does not show its end, it ended before the next one began.
    const endedAt = (next?.number === seen.total ? undefined : next?.startedAt) ?? next?.finishedAt ?? now
    observe(seen.total, { readyFor: readyTimeUntilEnd(ranBefore, endedAt) })
  }
  const ready = condition(pod, 'Ready')
  const unreadyAt = isProbed && ready?.status === 'False' ? gateTime.time(ready.lastTransitionTime) : undefined
  for (const end of ends) {
    const known = instances.get(end.number)
    observe(end.number, {
      beganAt: end.startedAt ?? end.finishedAt ?? known?.beganAt,
      diedAt: Math.min(known?.diedAt ?? now, end.finishedAt ?? now, now),
      readyFor: readyTimeOfDeadInstance(known?.readyFor, end, unreadyAt),
    })
  }
  if (total > 0 && instances.get(total - 1)?.diedAt === undefined) observe(total - 1, { diedAt: now })
  return { total, firstRestarts: seen.firstRestarts ?? restarts, instances }
}

/**
 * The running instance. Without a readiness probe it is ready since its start; with one, since the pod became Ready. If
 * this time is absent or in the future (a wrong clock), it is ready since `now`.
 */
function runningInstance(
  before: Instance | undefined,
  { state, ready }: ContainerStatus,
  isProbed: boolean,
  pod: Pod,
  now: number,
  { time }: GateTime,
): Instance {
  const beganAt = time(state?.running?.startedAt)
  const same = before?.beganAt === beganAt ? before : undefined
  const turnedAt = time(trueCondition(pod, 'Ready')?.lastTransitionTime) ?? now
  const readyAt = isProbed && beganAt !== undefined ? Math.min(now, Math.max(beganAt, turnedAt)) : beganAt
  const readySince = ready && beganAt !== undefined ? (same?.readySince ?? readyAt) : undefined
  const isLong = beganAt !== undefined && now - beganAt >= recoveredMs
  const readyFor = isLong ? Infinity : latestMoment([before?.readyFor, readySince && now - readySince])
  return { seenAt: same?.seenAt ?? now, beganAt, readySince, readyFor }
}

/** The end of an instance, in the status of its container. Moments are on the runner's clock. */
interface End {
  readonly number: number
  /** Absent if the container runtime could not start the instance. */
  readonly startedAt?: number | undefined
  readonly finishedAt?: number | undefined
}

/** The ends in the status of a container. A time before the creation of the pod is unknown: the runtime writes 1970. */
function instanceEnds(
  { status, end, isDead }: Pick<PodContainer, 'end' | 'isDead'> & { readonly status: ContainerStatus },
  restarts: number,
  { metadata }: Pod,
  { time }: GateTime,
): readonly End[] {
  const last = status.lastState?.terminated
  const isOfPresent = status.state?.waiting !== undefined && isDead
  const created = time(metadata.creationTimestamp) ?? 0
  const known = (timestamp: string | undefined) => {
    const moment = time(timestamp)
    return moment !== undefined && moment >= created ? moment : undefined
  }
  return [
    // While it waits for its restart, lastState is the present instance, else the previous one.
    ...(last === undefined ? [] : [{ ...last, number: isOfPresent ? restarts : restarts - 1 }]),
    ...(end === undefined || end === last || !isDead ? [] : [{ ...end, number: restarts }]),
  ]
    .filter(({ number }) => number >= 0)
    .map(({ number, startedAt, finishedAt }) => ({
      number,
      startedAt: known(startedAt),
      finishedAt: known(finishedAt),
    }))
}

/**
 * How long an instance that was watched was ready at least, in milliseconds: at most the time until it ended, because a
 * status may have arrived late, from a slow connection.
 */
function readyTimeUntilEnd({ beganAt, readySince, readyFor }: Instance, endedAt: number): number | undefined {
  if (beganAt === undefined) return readyFor
  const limited = readyFor === undefined ? undefined : Math.min(readyFor, endedAt - beganAt)
  return readySince === undefined ? limited : Math.max(limited ?? 0, endedAt - readySince)
}

/**
 * How long a dead instance was ready at least, in milliseconds. Infinity after a run of ten minutes. If the pod became
 * unready after the start of the instance, its probes had passed before.
 * @param known this time, if the gate has seen the instance run
 * @param unreadyAt when the pod with a probed container became unready
 */
function readyTimeOfDeadInstance(
  known: number | undefined,
  { startedAt, finishedAt }: End,
  unreadyAt: number | undefined,
): number | undefined {
  if (startedAt === undefined) return known
  if (finishedAt !== undefined && finishedAt - startedAt >= recoveredMs) return Infinity
  if (known !== undefined || unreadyAt === undefined || unreadyAt <= startedAt) return known
  return Math.max(0, Math.min(unreadyAt, finishedAt ?? unreadyAt) - startedAt)
}

/**
 * The deaths that count: those in this rollout, after the container's last recovery. If the pod is older than the last
 * change of its template, the restarts before the gate first saw it do not count.
 * @param created when the pod was created, on the runner's clock
 * @param backOffAt when the kubelet first reported in an Event that it waits before the next start: the first death is older
 */
export function countDeaths(
  seen: DeathObservations,
  created: number | undefined,
  backOffAt: number | undefined,
  { changedAt, minReadyMs }: WorkloadTiming,
  gateTime: Pick<GateTime, 'startedAt' | 'settleTimeMs'>,
): DeathCount {
  const { startedAt, settleTimeMs } = gateTime
  const settleMs = Math.max(minReadyMs, settleTimeMs)
  const isOlderThanTemplate = created !== undefined && created < (changedAt ?? startedAt - earlierDeathsMs)
  const atFirstSight = seen.firstRestarts ?? 0
  const baseline = isOlderThanTemplate ? atFirstSight : 0
  const recovered = [...seen.instances].flatMap(([number, { readyFor = 0 }]) => (readyFor >= settleMs ? [number] : []))
  const uncounted = Math.max(baseline, ...recovered)
  const count = Math.max(0, seen.total - uncounted)
  const counted = [...seen.instances].flatMap(([number, instance]) =>
    number >= uncounted && number < seen.total ? [instance] : [],
  )
  const isCurrent =
    mayBeSinceStart(created, gateTime) ||
    counted.some(({ beganAt }) => beganAt !== undefined && mayBeSinceStart(beganAt, gateTime)) ||
    // Deaths are numbered from 1: after n restarts, the present instance has death n + 1. It started after first sight.
    seen.total - 1 > atFirstSight
  const reportedAt = count > 0 && uncounted === 0 ? backOffAt : undefined
  const firstAt = earliestMoment([reportedAt, ...counted.map(({ diedAt }) => diedAt)])
  return { count, total: seen.total, isCurrent, firstAt }
}
