import type { ContainerStateTerminated, ContainerStatus, Pod } from '../../cluster/objects.ts'
import { earlierDeathsMs, recoveredMs } from '../../thresholds.ts'
import type { GateTime } from '../gate-time.ts'
import type { DeathCount } from '../pod-history.ts'
import { isSinceStart } from '../proof.ts'
import { condition } from './pod-fields.ts'

/**
 * The observed deaths of one container, numbered over the life of its pod (the kubelet's restartCount, plus a death that no
 * restart has followed yet). `countDeaths` decides which of them count. Moments are on the runner's clock.
 */
export interface DeathObservations {
  readonly total: number
  /** The restart count in the first status that the gate received; absent before. */
  readonly firstRestarts?: number
  /** The longest ready time after each number of deaths, in milliseconds; Infinity after a run of ten minutes. */
  readonly readyFor: ReadonlyMap<number, number>
  /** The moment of each death, by its number. */
  readonly moments: ReadonlyMap<number, number>
  /**
   * The start of each dead instance, by the number of its death; for an instance that never ran, the moment when it ended.
   */
  readonly begins: ReadonlyMap<number, number>
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

export const noDeaths: DeathObservations = {
  total: 0,
  readyFor: new Map(),
  moments: new Map(),
  begins: new Map(),
}

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

/** A death in the status of a container, with its number and its times on the runner's clock. */
interface KnownDeath extends ContainerStateTerminated {
  readonly nth: number
  readonly started: number | undefined
  readonly finished: number | undefined
}

/**
 * Adds a status of a container to the observed deaths. `restartCount` is the kubelet's own count of earlier instances
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
  const readyFor = observeReadyTimes(seen, total, known, change, gateTime)
  observeRecoveries(
    readyFor,
    known.filter((each) => hasRun(each, created)),
    isProbed ? unreadySince(pod, gateTime) : undefined,
  )
  return {
    ...seen,
    total,
    firstRestarts: seen.firstRestarts ?? restarts,
    readyFor,
    // Most containers never die: they share the empty maps.
    ...(total > 0 || known.length > 0 ? addDeaths(seen, total, known, created, now) : {}),
  }
}

/** Whether the container runtime started the instance. If it did not, its start has the time 1970. */
function hasRun({ started }: KnownDeath, created: number): boolean {
  return started !== undefined && started >= created
}

/** The moments of the observed deaths with those that a status contains. */
function addDeaths(
  seen: DeathObservations,
  total: number,
  known: readonly KnownDeath[],
  created: number,
  now: number,
): Pick<DeathObservations, 'begins' | 'moments'> {
  const begins = new Map(seen.begins)
  for (const each of known) {
    const begin = hasRun(each, created) ? each.started : each.finished
    if (begin !== undefined) begins.set(each.nth, begin)
  }
  const moments = new Map(seen.moments)
  for (const { nth, finished } of known.filter((each) => each.nth > 0)) {
    const at = finished !== undefined && finished >= created ? Math.min(finished, now) : now
    moments.set(nth, Math.min(moments.get(nth) ?? at, at))
  }
  if (total > 0 && !moments.has(total)) moments.set(total, now)
  return { begins, moments }
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
  const present = restarts + (death === undefined ? 0 : 1)
  return [
    // While it waits for its restart, lastState is the present instance, else the previous one.
    ...(last === undefined ? [] : [{ ...last, nth: status.state?.waiting ? present : restarts }]),
    ...(death === undefined || death === last ? [] : [{ ...death, nth: present }]),
  ].map((each) => ({ ...each, finished: time(each.finishedAt), started: time(each.startedAt) }))
}

function recover(readyFor: Map<number, number>, after: number, ms: number): void {
  readyFor.set(after, Math.max(readyFor.get(after) ?? 0, ms))
}

/** Adds the ready times of the present instance, and of the instance that was watched before. */
function observeReadyTimes(
  seen: DeathObservations,
  total: number,
  known: readonly KnownDeath[],
  { status, readySince, previous, wasReadySince, now }: StatusChange,
  { time }: GateTime,
): Map<number, number> {
  const readyFor = new Map(seen.readyFor)
  const startedAt = time(status.state?.running?.startedAt)
  if (startedAt !== undefined && now - startedAt >= recoveredMs) recover(readyFor, total, Infinity)
  if (readySince !== undefined) recover(readyFor, total, now - readySince)
  const ran = time(previous?.state?.running?.startedAt)
  if (ran === undefined || total <= seen.total) return readyFor
  const next = known.find(({ nth }) => nth > seen.total)
  const endedAt = (next?.nth === seen.total + 1 ? next.finished : next?.started) ?? now
  // Its status may have arrived late, from a connection that was held up: then it was dead when it was seen to be ready.
  const seenReadyFor = readyFor.get(seen.total)
  if (seenReadyFor !== undefined) readyFor.set(seen.total, Math.min(seenReadyFor, endedAt - ran))
  if (wasReadySince !== undefined) recover(readyFor, seen.total, endedAt - wasReadySince)
  return readyFor
}

/**
 * Adds the recoveries that the deaths of instances show: after a run of ten minutes; and if the pod became unready after the
 * start of an instance, whose probes had passed before. When they passed is only known of a watched instance.
 * @param unreadyAt when the pod with a probed container became unready
 */
function observeRecoveries(
  readyFor: Map<number, number>,
  known: readonly KnownDeath[],
  unreadyAt: number | undefined,
): void {
  for (const { started = 0, finished, nth } of known) {
    if (finished !== undefined && finished - started >= recoveredMs) recover(readyFor, nth - 1, Infinity)
    if (unreadyAt !== undefined && unreadyAt > started && !readyFor.has(nth - 1))
      recover(readyFor, nth - 1, Math.min(unreadyAt, finished ?? unreadyAt) - started)
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
  const recoveredAfter = [...seen.readyFor].flatMap(([after, ms]) => (ms >= settleMs ? [after] : []))
  const forgiven = Math.max(baseline, ...recoveredAfter)
  const deaths = Math.max(0, seen.total - forgiven)
  const isCurrent =
    isSinceStart(created, gateTime) ||
    [...seen.begins].some(([nth, at]) => nth > forgiven && isSinceStart(at, gateTime)) ||
    // Deaths are numbered from 1: after n restarts, the present instance has death n + 1. It started after first sight.
    seen.total - 1 > atFirstSight
  if (deaths === 0) return { deaths, isCurrent: false }
  const moments = [...seen.moments].flatMap(([nth, at]) => (nth > forgiven ? [at] : []))
  const firstDeathAt = Math.min(...moments, ...(forgiven === 0 ? [seen.backOffAt ?? Infinity] : []))
  return { deaths, isCurrent, firstDeathAt: Number.isFinite(firstDeathAt) ? firstDeathAt : undefined }
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
