import type { ContainerStatus, Pod } from '../../cluster/objects.ts'
import type { GateTime } from '../gate-time.ts'
import { isSinceStart } from '../proof.ts'

/**
 * The observed deaths of one container, numbered over the life of its pod (the kubelet's restartCount, plus a death that no
 * restart has followed yet). `countDeaths` decides which of them count. Moments are on the runner's clock.
 */
export interface DeathObservations {
  readonly total: number
  /** Restarts that the pod had at first sight; absent until its status was seen. */
  readonly firstRestarts?: number
  /** The longest time that it was ready after so many deaths, in milliseconds; Infinity after a run of ten minutes. */
  readonly readyFor: ReadonlyMap<number, number>
  /** The number of deaths before the present crash loop, by the kubelet's back-off. */
  readonly loopsAfter?: number
  /** The number of each death by its finish: distinct finishes are distinct deaths. */
  readonly finishes: ReadonlyMap<string, number>
  /** The moment of each death, by its number. */
  readonly moments: ReadonlyMap<number, number>
  /** When the instance that died began, by the number of its death; one that never ran began when it ended. */
  readonly begins: ReadonlyMap<number, number>
  /** When the kubelet first reported a back-off in an event. */
  readonly backOffAt?: number
}

/** The deaths of a container that count. */
export interface DeathCount {
  readonly deaths: number
  /** The earliest death known of those; absent where there are none. */
  readonly firstDeathAt?: number
  /** One of them is of an instance that began after the gate's start: an older one may not have had the change. */
  readonly isCurrent: boolean
}

/** The facts about a pod and its workload that decide which deaths count. Moments are on the runner's clock. */
export interface DeathTerms {
  /** When the pod was created. */
  readonly created: number | undefined
  /** When the template was last changed; where that is unknown, ten minutes before the gate began. */
  readonly changedAt: number | undefined
  /** For how long the container must have been ready to have recovered, in milliseconds. */
  readonly settleMs: number
}

/** The parts of a container's spec that decide what counts as a death. */
export interface RestartTraits {
  /** It has a readiness probe. */
  readonly isProbed: boolean
  /** Its exit with code 0 is its success, not a death. */
  readonly runsOnce: boolean
}

/** A pod older than this at the gate's start may have died before this rollout (DESIGN §2). */
const oldPodMs = 10 * 60_000
/** A container that ran this long has recovered; the kubelet resets its back-off after the same time. */
const recoveredMs = 10 * 60_000
/** The kubelet's first back-off, unless a node is configured with less. */
const firstBackOffSeconds = 10

export const noDeaths: DeathObservations = {
  total: 0,
  readyFor: new Map(),
  finishes: new Map(),
  moments: new Map(),
  begins: new Map(),
}

/** Two successive versions of a container's status, and since when the container was ready in each. */
export interface StatusChange {
  readonly status: ContainerStatus
  readonly readySince: number | undefined
  readonly previous: ContainerStatus | undefined
  readonly wasReadySince: number | undefined
  /** When `status` was seen. */
  readonly now: number
}

/** The death of the container's present instance, if it is dead. */
export function presentDeath(status: ContainerStatus, runsOnce: boolean) {
  if (status.state?.running) return undefined
  // While a restart waits, the state is `waiting` and the death stands in lastState.
  const death = status.state?.terminated ?? status.lastState?.terminated
  return death?.exitCode === 0 && runsOnce ? undefined : death
}

/**
 * Adds one more status of a container to the observed deaths. `restartCount` is the kubelet's own count of earlier instances
 * (pkg/kubelet/kuberuntime), so an interrupted watch misses none.
 */
export function observeDeaths(
  seen: DeathObservations,
  pod: Pod,
  { isProbed, runsOnce }: RestartTraits,
  { status, readySince, previous, wasReadySince, now }: StatusChange,
  gateTime: GateTime,
): DeathObservations {
  const created = gateTime.time(pod.metadata.creationTimestamp) ?? 0
  const restarts = status.restartCount ?? 0
  const death = presentDeath(status, runsOnce)
  const total = restarts + (death === undefined ? 0 : 1)
  const last = status.lastState?.terminated
  const known = [
    // The instance in lastState is the present one while it waits for its restart, else the one before it.
    ...(last === undefined ? [] : [{ ...last, nth: status.state?.waiting ? total : restarts }]),
    ...(death === undefined || death === last ? [] : [{ ...death, nth: total }]),
  ].map((each) => ({ ...each, finished: gateTime.time(each.finishedAt), started: gateTime.time(each.startedAt) }))

  const readyFor = new Map(seen.readyFor)
  const recover = (after: number, ms: number) => readyFor.set(after, Math.max(readyFor.get(after) ?? 0, ms))
  const startedAt = gateTime.time(status.state?.running?.startedAt)
  if (startedAt !== undefined && now - startedAt >= recoveredMs) recover(total, Infinity)
  if (readySince !== undefined) recover(total, now - readySince)
  if (previous?.state?.running && wasReadySince !== undefined && total > seen.total)
    recover(seen.total, (known.at(-1)?.finished ?? now) - wasReadySince)
  const unreadySince = gateTime.time(unreadyCondition(pod)?.lastTransitionTime)
  const begins = new Map(seen.begins)
  for (const { started, finished, nth } of known) {
    const hasRun = started !== undefined && started >= created
    const begin = hasRun ? started : finished
    if (begin !== undefined) begins.set(nth, begin)
    if (!hasRun) continue
    if (finished !== undefined && finished - started >= recoveredMs) recover(nth - 1, Infinity)
    // The pod became unready after this instance had begun, so its probes had passed in this instance.
    if (isProbed && unreadySince !== undefined && unreadySince > started) recover(nth - 1, unreadySince - started)
  }

  const moments = new Map(seen.moments)
  for (const { nth, finished } of known) {
    if (nth === 0) continue
    const at = finished !== undefined && finished >= created ? Math.min(finished, now) : now
    moments.set(nth, Math.min(moments.get(nth) ?? at, at))
  }
  if (total > 0 && !moments.has(total)) moments.set(total, now)
  return {
    ...seen,
    total,
    firstRestarts: seen.firstRestarts ?? restarts,
    readyFor,
    loopsAfter: loopStart(status, total) ?? seen.loopsAfter,
    finishes: new Map([
      ...seen.finishes,
      ...known.map((each) => [each.finishedAt ?? `${each.nth}`, each.nth] as const),
    ]),
    moments,
    begins,
  }
}

/**
 * The deaths that count: those since the container last recovered that this rollout caused. Where the pod was created before
 * the last change of its template, the deaths at first sight do not count. Where it was created later, all count; but an old
 * pod may have recovered unseen, so the kubelet's back-off, which starts anew after a run of ten minutes, gives the number
 * of those that belong together.
 */
export function countDeaths(
  seen: DeathObservations,
  { created, changedAt, settleMs }: DeathTerms,
  gateTime: Pick<GateTime, 'startedAt'>,
): DeathCount {
  const { startedAt } = gateTime
  const isOld = created !== undefined && created < startedAt - oldPodMs
  const isOfBefore = created !== undefined && created < (changedAt ?? startedAt - oldPodMs)
  const atFirstSight = seen.firstRestarts ?? 0
  const baseline = isOfBefore ? atFirstSight : isOld ? Math.min(seen.loopsAfter ?? atFirstSight, atFirstSight) : 0
  const recoveredAfter = [...seen.readyFor].flatMap(([after, ms]) => (ms >= settleMs ? [after] : []))
  const forgiven = Math.max(baseline, ...recoveredAfter)
  const held = [...seen.finishes.values()].filter((nth) => nth > forgiven)
  const deaths = Math.max(seen.total - forgiven, held.length)
  const isCurrent =
    isSinceStart(created, gateTime) ||
    [...seen.begins].some(([nth, at]) => nth > forgiven && isSinceStart(at, gateTime)) ||
    // The instance after so many restarts is the one whose death has the next number: it came after first sight.
    seen.total - 1 > atFirstSight
  if (deaths === 0) return { deaths, isCurrent: false }
  const moments = [...seen.moments].flatMap(([nth, at]) => (nth > forgiven ? [at] : []))
  const firstDeathAt = Math.min(...moments, ...(forgiven === 0 ? [seen.backOffAt ?? Infinity] : []))
  return { deaths, isCurrent, firstDeathAt: Number.isFinite(firstDeathAt) ? firstDeathAt : undefined }
}

function unreadyCondition({ status }: Pod) {
  return status?.conditions?.find((each) => each.type === 'Ready' && each.status === 'False')
}

/**
 * The number of deaths before the present crash loop, from the kubelet's message `back-off 40s restarting failed container`.
 * The kubelet restarts at once after the first death of a loop, after its first back-off for the second, and doubles the
 * back-off up to a limit (doBackOff, pkg/kubelet/kuberuntime). Without a time in the message, all deaths belong to the loop.
 */
function loopStart({ state }: ContainerStatus, total: number): number | undefined {
  if (state?.waiting?.reason !== 'CrashLoopBackOff') return undefined
  const [, minutes, seconds] = /back-off (?:(\d+)m)?(\d+)s\b/i.exec(state.waiting.message ?? '') ?? []
  if (seconds === undefined) return 0
  const backOff = Number(minutes ?? 0) * 60 + Number(seconds)
  const deaths = 2 + Math.max(0, Math.ceil(Math.log2(backOff / firstBackOffSeconds)))
  return Math.max(0, total - deaths)
}
