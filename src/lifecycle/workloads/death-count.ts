import type { ContainerStateTerminated, ContainerStatus, Pod } from '../../cluster/objects.ts'
import { earlierDeathsMs, recoveredMs } from '../../thresholds.ts'
import type { GateTime } from '../gate-time.ts'
import type { DeathCount } from '../pod-history.ts'
import { isSinceStart } from '../proof.ts'
import { condition } from './pod-fields.ts'

/** One instance of a container: it ends with a death. Moments are on the runner's clock. */
interface Instance {
  /** When it started; of an instance that never ran, when it ended. */
  readonly beganAt?: number
  /** When it died. */
  readonly diedAt?: number
  /** Its longest ready time in milliseconds; Infinity after a run of ten minutes. */
  readonly readyFor?: number
}

/**
 * The observed instances of one container. `countDeaths` decides which of their deaths count. The number of an instance is that
 * of the deaths before it, by the kubelet's restartCount.
 */
export interface DeathObservations {
  /** The number of deaths over the life of the pod, with one that no restart has followed yet. */
  readonly total: number
  /** The restart count in the first status that the gate received; absent before. */
  readonly firstRestarts?: number
  readonly instances: ReadonlyMap<number, Instance>
  /** When the kubelet first reported a back-off in an event. */
  readonly backOffAt?: number
}

/** The facts about a pod and its workload that decide which deaths count. Moments are on the runner's clock. */
interface DeathTerms {
  readonly created: number | undefined
  /** When the template was last changed; if unknown, ten minutes before the gate's start. */
  readonly changedAt: number | undefined
  /** How long a container must be ready until it counts as recovered, in milliseconds. */
  readonly settleMs: number
}

/** The parts of a container's spec that decide what counts as a death. */
interface RestartTraits {
  /** The container has a readiness probe. */
  readonly isProbed: boolean
  /** Exit code 0 is the success of the container, not a death. */
  readonly runsOnce: boolean
}

export const noDeaths: DeathObservations = { total: 0, instances: new Map() }

/** Two successive statuses of a container, and since when it was ready in each. */
interface StatusChange {
  readonly status: ContainerStatus
  readonly readySince: number | undefined
  readonly previous: ContainerStatus | undefined
  readonly wasReadySince: number | undefined
  /** When `status` was seen. */
  readonly now: number
}

/** The death of the present instance, if it is dead. */
export function presentDeath(status: ContainerStatus, runsOnce: boolean) {
  if (status.state?.running) return undefined
  // While a restart waits, the state is `waiting` and lastState contains the death.
  const death = status.state?.terminated ?? status.lastState?.terminated
  return death?.exitCode === 0 && runsOnce ? undefined : death
}

/** A death in the status of a container, with the number of its instance, and its times on the runner's clock. */
interface KnownDeath extends ContainerStateTerminated {
  readonly instance: number
  readonly started: number | undefined
  readonly finished: number | undefined
}

/**
 * Adds a status of a container to the observed instances. `restartCount` is the kubelet's own count of earlier instances
 * (pkg/kubelet/kuberuntime), so no death is missed when the watch is interrupted.
 */
export function observeDeaths(
  seen: DeathObservations,
  pod: Pod,
  { isProbed, runsOnce }: RestartTraits,
  change: StatusChange,
  gateTime: GateTime,
): DeathObservations {
  const { status, now } = change
  const created = gateTime.time(pod.metadata.creationTimestamp) ?? 0
  const restarts = status.restartCount ?? 0
  const death = presentDeath(status, runsOnce)
  const total = restarts + (death === undefined ? 0 : 1)
  const known = knownDeaths(status, death, restarts, gateTime)
  const instances = new Map(seen.instances)
  observeReadyTimes(instances, seen.total, total, known, change, gateTime)
  observeRecoveries(
    instances,
    known.filter((each) => hasRun(each, created)),
    isProbed ? unreadySince(pod, gateTime) : undefined,
  )
  observeEnds(instances, known, created, now)
  if (total > 0 && instances.get(total - 1)?.diedAt === undefined) observe(instances, total - 1, { diedAt: now })
  return { ...seen, total, firstRestarts: seen.firstRestarts ?? restarts, instances }
}

function observe(instances: Map<number, Instance>, instance: number, part: Instance): void {
  instances.set(instance, { ...instances.get(instance), ...part })
}

/** An instance was ready for this time at least. */
function observeReady(instances: Map<number, Instance>, instance: number, ms: number): void {
  observe(instances, instance, { readyFor: Math.max(instances.get(instance)?.readyFor ?? 0, ms) })
}

/** Whether the container runtime started the instance. If it did not, its start has the time 1970. */
function hasRun({ started }: KnownDeath, created: number): boolean {
  return started !== undefined && started >= created
}

/** Adds when the instances began and died whose deaths a status contains. */
function observeEnds(
  instances: Map<number, Instance>,
  known: readonly KnownDeath[],
  created: number,
  now: number,
): void {
  for (const death of known) {
    const { instance, started, finished } = death
    const beganAt = hasRun(death, created) ? started : finished
    if (beganAt !== undefined) observe(instances, instance, { beganAt })
    const at = finished !== undefined && finished >= created ? Math.min(finished, now) : now
    observe(instances, instance, { diedAt: Math.min(instances.get(instance)?.diedAt ?? at, at) })
  }
}

/**
 * The deaths that a status contains.
 * @param death the death of the present instance
 */
function knownDeaths(
  status: ContainerStatus,
  death: ContainerStateTerminated | undefined,
  restarts: number,
  { time }: GateTime,
): readonly KnownDeath[] {
  const last = status.lastState?.terminated
  const isOfPresent = status.state?.waiting !== undefined && death !== undefined
  return [
    // While it waits for its restart, lastState is the present instance, else the previous one.
    ...(last === undefined ? [] : [{ ...last, instance: isOfPresent ? restarts : restarts - 1 }]),
    ...(death === undefined || death === last ? [] : [{ ...death, instance: restarts }]),
  ]
    .filter(({ instance }) => instance >= 0)
    .map((each) => ({ ...each, finished: time(each.finishedAt), started: time(each.startedAt) }))
}

/**
 * Adds the ready times of the present instance, and of the instance that was watched before.
 * @param before the number of deaths in the previous status
 */
function observeReadyTimes(
  instances: Map<number, Instance>,
  before: number,
  total: number,
  known: readonly KnownDeath[],
  { status, readySince, previous, wasReadySince, now }: StatusChange,
  { time }: GateTime,
): void {
  const startedAt = time(status.state?.running?.startedAt)
  if (startedAt !== undefined && now - startedAt >= recoveredMs) observeReady(instances, total, Infinity)
  if (readySince !== undefined) observeReady(instances, total, now - readySince)
  const ran = time(previous?.state?.running?.startedAt)
  if (ran === undefined || total <= before) return
  const next = known.find(({ instance }) => instance >= before)
  const endedAt = (next?.instance === before ? next.finished : next?.started) ?? now
  // Its status may have arrived late, from a connection that was held up: then it was dead when it was seen to be ready.
  const seenReadyFor = instances.get(before)?.readyFor
  if (seenReadyFor !== undefined) observe(instances, before, { readyFor: Math.min(seenReadyFor, endedAt - ran) })
  if (wasReadySince !== undefined) observeReady(instances, before, endedAt - wasReadySince)
}

/**
 * Adds the recoveries that the deaths of instances show: after a run of ten minutes; and if the pod became unready after the
 * start of an instance, whose probes had passed before. When they passed is only known of a watched instance.
 * @param unreadyAt when the pod with a probed container became unready
 */
function observeRecoveries(
  instances: Map<number, Instance>,
  known: readonly KnownDeath[],
  unreadyAt: number | undefined,
): void {
  for (const { started = 0, finished, instance } of known) {
    if (finished !== undefined && finished - started >= recoveredMs) observeReady(instances, instance, Infinity)
    if (unreadyAt !== undefined && unreadyAt > started && instances.get(instance)?.readyFor === undefined)
      observeReady(instances, instance, Math.min(unreadyAt, finished ?? unreadyAt) - started)
  }
}

/**
 * The deaths that count: those in this rollout, after the container's last recovery. If the pod is older than its template's
 * last change, its restarts at first sight do not count.
 */
export function countDeaths(
  seen: DeathObservations,
  { created, changedAt, settleMs }: DeathTerms,
  gateTime: Pick<GateTime, 'startedAt'>,
): DeathCount {
  const { startedAt } = gateTime
  const isOlderThanTemplate = created !== undefined && created < (changedAt ?? startedAt - earlierDeathsMs)
  const atFirstSight = seen.firstRestarts ?? 0
  const baseline = isOlderThanTemplate ? atFirstSight : 0
  const recovered = [...seen.instances].flatMap(([number, { readyFor = 0 }]) => (readyFor >= settleMs ? [number] : []))
  const forgiven = Math.max(baseline, ...recovered)
  const deaths = Math.max(0, seen.total - forgiven)
  const counted = [...seen.instances].flatMap(([number, instance]) => (number >= forgiven ? [instance] : []))
  const isCurrent =
    isSinceStart(created, gateTime) ||
    counted.some(({ beganAt }) => beganAt !== undefined && isSinceStart(beganAt, gateTime)) ||
    // Deaths are numbered from 1: after n restarts, the present instance has death n + 1. It started after first sight.
    seen.total - 1 > atFirstSight
  if (deaths === 0) return { deaths, total: seen.total, isCurrent: false }
  const moments = counted.flatMap(({ diedAt }) => diedAt ?? [])
  const firstDeathAt = Math.min(...moments, ...(forgiven === 0 ? [seen.backOffAt ?? Infinity] : []))
  return {
    deaths,
    total: seen.total,
    isCurrent,
    firstDeathAt: Number.isFinite(firstDeathAt) ? firstDeathAt : undefined,
  }
}

function unreadySince(pod: Pod, { time }: GateTime): number | undefined {
  const ready = condition(pod, 'Ready')
  return ready?.status === 'False' ? time(ready.lastTransitionTime) : undefined
}

/**
 * How long the kubelet waits between the end of a container and its restart, from its message `back-off 2m40s restarting
 * failed container`. Undefined if the container is not in a back-off, or if the message has no time.
 */
export function backOffSeconds({ state }: ContainerStatus): number | undefined {
  if (state?.waiting?.reason !== 'CrashLoopBackOff') return undefined
  const [, minutes, seconds] = /back-off (?:(\d+)m)?(\d+)s\b/i.exec(state.waiting.message ?? '') ?? []
  return seconds === undefined ? undefined : Number(minutes ?? 0) * 60 + Number(seconds)
}
