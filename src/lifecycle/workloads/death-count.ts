import type { ContainerStatus, Pod } from '../../cluster/objects.ts'
import type { GateTime } from '../gate-time.ts'
import { isSinceStart } from '../proof.ts'

/**
 * What was seen of the deaths of one container, numbered over the life of its pod (the kubelet's restartCount, plus a death
 * that no restart has followed yet). Which of them count is for `countDeaths` to say. Moments are on the runner's clock.
 */
export interface DeathObservations {
  readonly total: number
  /** Restarts that the pod had at first sight; absent until its status was seen. */
  readonly firstRestarts?: number
  /** For how long it was ready after so many deaths, in milliseconds, at the most; Infinity after a run of ten minutes. */
  readonly readyFor: ReadonlyMap<number, number>
  /** So many came before those that the kubelet's present back-off stands for. */
  readonly loopsAfter?: number
  /** The number of each death seen, by its finish: distinct finishes are distinct deaths. */
  readonly finishes: ReadonlyMap<string, number>
  /** When a death was, by its number. */
  readonly moments: ReadonlyMap<number, number>
  /** When the instance that died had begun, by the number of its death, where known; one that never ran began when it ended. */
  readonly begins: ReadonlyMap<number, number>
  /** When the kubelet's events began to speak of a back-off. */
  readonly backOffAt?: number
}

/** The deaths that are held against a container. */
export interface DeathCount {
  readonly deaths: number
  /** The earliest death known of those; absent where there are none. */
  readonly firstDeathAt?: number
  /** One of them is of an instance that began after the gate's start: what it reads then may have been mended before. */
  readonly isCurrent: boolean
}

/** What of a pod and its workload says which of its deaths count. Moments are on the runner's clock. */
export interface DeathTerms {
  /** When the pod was made. */
  readonly created: number | undefined
  /** When the template was last changed; where that is unknown, ten minutes before the gate began. */
  readonly changedAt: number | undefined
  /** For how long the container must have been ready to have recovered, in milliseconds. */
  readonly settleMs: number
}

/** What of a container's spec says what its deaths mean. */
export interface RestartTraits {
  /** It has a readiness probe. */
  readonly isProbed: boolean
  /** Its exit with code 0 is its success, not a death. */
  readonly runsOnce: boolean
}

/** A pod older than this at the gate's start may have a past that this rollout did not cause (DESIGN §2). */
const oldPodMs = 10 * 60_000
/** A container that ran this long has recovered; the kubelet forgets its back-off after the same time. */
const recoveredMs = 10 * 60_000
/** The kubelet's first back-off, unless a node is made to begin with less. */
const firstBackOffSeconds = 10

export const noDeaths: DeathObservations = {
  total: 0,
  readyFor: new Map(),
  finishes: new Map(),
  moments: new Map(),
  begins: new Map(),
}

/** Two versions of the status of a container, one after the other, and since when the container was ready in each. */
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
 * Folds one more status of a container into what was seen of its deaths. `restartCount` is the kubelet's own count of earlier
 * instances (pkg/kubelet/kuberuntime), so a watch that was cut loses none.
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
  const loopsAfter = loopStart(status, total) ?? seen.loopsAfter
  return {
    ...seen,
    total,
    firstRestarts: seen.firstRestarts ?? restarts,
    readyFor,
    ...(loopsAfter === undefined ? {} : { loopsAfter }),
    finishes: new Map([
      ...seen.finishes,
      ...known.map((each) => [each.finishedAt ?? `${each.nth}`, each.nth] as const),
    ]),
    moments,
    begins,
  }
}

/**
 * The deaths that count: since the container last recovered, and not those that this rollout did not cause. A pod made
 * before the last change of its template has those behind it that it had at first sight. One made after it has none; but of
 * an old one nobody has seen whether it recovered in between, so there the kubelet's back-off, which starts anew after a run
 * of ten minutes, says how many belong together.
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
  return { deaths, isCurrent, ...(Number.isFinite(firstDeathAt) ? { firstDeathAt } : {}) }
}

function unreadyCondition({ status }: Pod) {
  return status?.conditions?.find((each) => each.type === 'Ready' && each.status === 'False')
}

/**
 * How many deaths came before those of the present crash loop. The kubelet says how long it backs off: `back-off 40s
 * restarting failed container`. The first death without a run of ten minutes before it is followed by a restart at once, the
 * second by its first back-off, and each further one doubles that up to a limit (doBackOff, pkg/kubelet/kuberuntime), so
 * they are at least as many; where it does not say, all of them.
 */
function loopStart({ state }: ContainerStatus, total: number): number | undefined {
  if (state?.waiting?.reason !== 'CrashLoopBackOff') return undefined
  const [, minutes, seconds] = /back-off (?:(\d+)m)?(\d+)s\b/i.exec(state.waiting.message ?? '') ?? []
  if (seconds === undefined) return 0
  const backOff = Number(minutes ?? 0) * 60 + Number(seconds)
  const deaths = 2 + Math.max(0, Math.ceil(Math.log2(backOff / firstBackOffSeconds)))
  return Math.max(0, total - deaths)
}
