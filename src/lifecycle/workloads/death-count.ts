import type { ContainerStatus, Pod } from '../../cluster/objects.ts'
import { earlierDeathsMs, recoveredMs } from '../../thresholds.ts'
import { trueCondition } from '../conditions.ts'
import type { DeathCount, Instance, PodContainer } from '../pod-view.ts'
import { earliestMoment, type GateTime, latestMoment, mayBeSinceStart } from '../proof.ts'
import { findCondition } from './pod-fields.ts'

/**
 * The observed instances of a container, from which `countDeaths` counts the deaths of the rollout. The number of an
 * instance is the number of deaths before it (the kubelet's restartCount).
 */
export interface DeathObservations {
  /** All deaths since the pod was created, including a death that no restart has followed yet. */
  readonly total: number
  /** The restart count in the first status that the gate received; absent before the first status. */
  readonly firstRestarts?: number
  readonly instances: ReadonlyMap<number, Instance>
}

/** The times of a pod's workload that decide which deaths count. */
export interface WorkloadTiming {
  /** When the pod template last changed, on the runner's clock; undefined if unknown. */
  readonly changedAt: number | undefined
  /** `minReadySeconds` of the workload, in milliseconds. */
  readonly minReadyMs: number
}

/**
 * Adds a version of a container, seen at `now`, to its observed instances. An interrupted watch misses no death,
 * because the kubelet counts the restarts (pkg/kubelet/kuberuntime).
 */
export function observeDeaths(
  observed: DeathObservations,
  pod: Pod,
  version: PodContainer & { readonly status: ContainerStatus },
  now: number,
  gateTime: GateTime,
): DeathObservations {
  const { container, status, isDead } = version
  const restarts = status.restartCount ?? 0
  const total = restarts + (isDead ? 1 : 0)
  const ends = instanceEnds(version, restarts, pod, gateTime)
  const instances = new Map(observed.instances)
  const updateInstance = (number: number, fields: Instance) =>
    instances.set(number, { ...instances.get(number), ...fields })
  const isProbed = container.readinessProbe !== undefined
  if (status.state?.running)
    updateInstance(total, runningInstance(instances.get(total), status, isProbed, pod, now, gateTime))
  const ranBefore = instances.get(observed.total)
  if (ranBefore?.seenAt !== undefined && total > observed.total) {
    const next = ends.find(({ number }) => number >= observed.total)
    // If the status does not show the end of this instance, the instance ended when the next one began.
    const endedAt = (next?.number === observed.total ? undefined : next?.startedAt) ?? next?.finishedAt ?? now
    updateInstance(observed.total, { readyFor: readyTimeUntilEnd(ranBefore, endedAt) })
  }
  const ready = findCondition(pod, 'Ready')
  const unreadyAt = isProbed && ready?.status === 'False' ? gateTime.time(ready.lastTransitionTime) : undefined
  for (const end of ends) {
    const known = instances.get(end.number)
    updateInstance(end.number, {
      beganAt: end.startedAt ?? end.finishedAt ?? known?.beganAt,
      diedAt: Math.min(known?.diedAt ?? now, end.finishedAt ?? now, now),
      readyFor: readyTimeOfDeadInstance(known?.readyFor, end, unreadyAt),
    })
  }
  if (total > 0 && instances.get(total - 1)?.diedAt === undefined) updateInstance(total - 1, { diedAt: now })
  return { total, firstRestarts: observed.firstRestarts ?? restarts, instances }
}

/**
 * The running instance of a container. Without a readiness probe, it is ready since its start. With one, it is ready
 * since the pod became Ready, or since `now` if that time is absent or in the future.
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

/** The end of an instance, as the status of its container shows it. Moments are on the runner's clock. */
interface InstanceEnd {
  readonly number: number
  /** Absent if the container runtime could not start the instance. */
  readonly startedAt?: number | undefined
  readonly finishedAt?: number | undefined
}

/** The ends of instances in the status of a container. Runtimes write the year 1970 for an unknown time. */
function instanceEnds(
  { status, end, isDead }: Pick<PodContainer, 'end' | 'isDead'> & { readonly status: ContainerStatus },
  restarts: number,
  { metadata }: Pod,
  { time }: GateTime,
): readonly InstanceEnd[] {
  const last = status.lastState?.terminated
  const isOfPresent = status.state?.waiting !== undefined && isDead
  const created = time(metadata.creationTimestamp) ?? 0
  const momentAfterCreation = (timestamp: string | undefined) => {
    const moment = time(timestamp)
    return moment !== undefined && moment >= created ? moment : undefined
  }
  return [
    // While a restart is pending, lastState is the end of the present instance, otherwise of the previous one.
    ...(last === undefined ? [] : [{ ...last, number: isOfPresent ? restarts : restarts - 1 }]),
    ...(end === undefined || end === last || !isDead ? [] : [{ ...end, number: restarts }]),
  ]
    .filter(({ number }) => number >= 0)
    .map(({ number, startedAt, finishedAt }) => ({
      number,
      startedAt: momentAfterCreation(startedAt),
      finishedAt: momentAfterCreation(finishedAt),
    }))
}

/** The minimum ready time of a watched instance, in milliseconds. Its end limits the time: a status may arrive late. */
function readyTimeUntilEnd({ beganAt, readySince, readyFor }: Instance, endedAt: number): number | undefined {
  if (beganAt === undefined) return readyFor
  const limited = readyFor === undefined ? undefined : Math.min(readyFor, endedAt - beganAt)
  return readySince === undefined ? limited : Math.max(limited ?? 0, endedAt - readySince)
}

/**
 * The minimum ready time of a dead instance, in milliseconds; Infinity after a long run (`recoveredMs`). If the pod
 * became unready after the instance started, the probes had succeeded before.
 * @param observedMs the ready time that the gate has observed
 * @param unreadyAt when the pod became unready; only for a container with a readiness probe
 */
function readyTimeOfDeadInstance(
  observedMs: number | undefined,
  { startedAt, finishedAt }: InstanceEnd,
  unreadyAt: number | undefined,
): number | undefined {
  if (startedAt === undefined) return observedMs
  if (finishedAt !== undefined && finishedAt - startedAt >= recoveredMs) return Infinity
  if (observedMs !== undefined || unreadyAt === undefined || unreadyAt <= startedAt) return observedMs
  return Math.max(0, Math.min(unreadyAt, finishedAt ?? unreadyAt) - startedAt)
}

/**
 * Counts the deaths of this rollout since the container last recovered. If the pod is older than the last change of its
 * template, restarts before the gate first saw the pod do not count.
 * @param created when the pod was created, on the runner's clock
 * @param backOffAt when an Event first reported a back-off: the first death is at least as old
 */
export function countDeaths(
  observed: DeathObservations,
  created: number | undefined,
  backOffAt: number | undefined,
  { changedAt, minReadyMs }: WorkloadTiming,
  gateTime: Pick<GateTime, 'startedAt' | 'settleTimeMs'>,
): DeathCount {
  const { startedAt, settleTimeMs } = gateTime
  const settleMs = Math.max(minReadyMs, settleTimeMs)
  const isOlderThanTemplate = created !== undefined && created < (changedAt ?? startedAt - earlierDeathsMs)
  const atFirstSight = observed.firstRestarts ?? 0
  const baseline = isOlderThanTemplate ? atFirstSight : 0
  const recovered = [...observed.instances].flatMap(([number, { readyFor = 0 }]) =>
    readyFor >= settleMs ? [number] : [],
  )
  const uncounted = Math.max(baseline, ...recovered)
  const count = Math.max(0, observed.total - uncounted)
  const counted = [...observed.instances].flatMap(([number, instance]) =>
    number >= uncounted && number < observed.total ? [instance] : [],
  )
  const isCurrent =
    mayBeSinceStart(created, gateTime) ||
    counted.some(({ beganAt }) => beganAt !== undefined && mayBeSinceStart(beganAt, gateTime)) ||
    // The instance that died last started after the gate first saw the pod.
    observed.total - 1 > atFirstSight
  const reportedAt = count > 0 && uncounted === 0 ? backOffAt : undefined
  const firstAt = earliestMoment([reportedAt, ...counted.map(({ diedAt }) => diedAt)])
  return { count, total: observed.total, isCurrent, firstAt }
}
