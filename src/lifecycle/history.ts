import type { Container, ContainerStatus, EventObject, KubeObject, Pod } from '../cluster/objects.ts'
import { isPullRefusal, type PullReason, pullReason } from './pull.ts'
import { saysOf } from './says.ts'

/** Refusals of a pull for one reason. How many there were is the larger of the two counts. */
export interface Refusals {
  /** Attempts that the container's state showed. */
  readonly attempts: number
  /** Attempts that the kubelet's events counted. */
  readonly events: number
  readonly firstAt: number
  /** The registry's last words. */
  readonly message: string
}

/** What was seen of one container since its pod was first seen. All moments are on the runner's clock. */
export interface ContainerHistory {
  /** Deaths, counted over the pod's life, that are not held against the container. */
  readonly forgiven: number
  /** Deaths beyond those: by the restart count, or by the states seen, whichever says more. */
  readonly deaths: number
  /** The earliest death known of those. */
  readonly firstDeathAt?: number
  readonly refusals: Readonly<Partial<Record<PullReason, Refusals>>>
  /** The start of the instance that runs now, as the kubelet wrote it, and when it was first seen. */
  readonly running?: { readonly startedAt: string | undefined; readonly seenAt: number }
  /** The waiting reason that stands now, and since when it was seen. */
  readonly waiting?: { readonly reason: string; readonly since: number }
  /** The finish of each death seen since the last forgiveness: distinct ones are distinct deaths. */
  readonly finishes: ReadonlySet<string>
  /** The last status seen. */
  readonly status?: ContainerStatus
}

export interface PodHistory {
  readonly firstSeenAt: number
  readonly containers: ReadonlyMap<string, ContainerHistory>
}

/** What was seen of a target since it was first seen. */
export interface TargetHistory {
  readonly firstSeenAt: number
  /** Its state at first sight. */
  readonly first: KubeObject
  /** The numbers in its status, and when one of them last changed (the first sight counts as a change). */
  readonly counters: string
  readonly countersMovedAt: number
  /** Its own words of failure that stand now, by their keys, and since when each was seen. */
  readonly failures: ReadonlyMap<string, number>
}

/** What a history needs to know of its surroundings. */
export interface Surroundings {
  /** When the gate began, on the runner's clock. */
  readonly startedAt: number
  readonly settleMs: number
  /** A timestamp of the server on the runner's clock. */
  time(timestamp: string | null | undefined): number | undefined
}

/** A pod older than this at the gate's start has a past that this rollout did not cause (DESIGN §2). */
const oldPodMs = 10 * 60_000
/** A container that ran this long has recovered; the kubelet forgets its back-off after the same time. */
const recoveredMs = 10 * 60_000

const nothing: ContainerHistory = { forgiven: 0, deaths: 0, refusals: {}, finishes: new Set() }

/**
 * Folds one more version of a pod, seen at `now`, into its history.
 *
 * Deaths count since the container was last ready and settled, or last ran for ten minutes; of a pod that is older than
 * the rollout can be, the restarts at first sight are forgiven. `restartCount` is the kubelet's own count of earlier
 * instances (pkg/kubelet/kuberuntime), so a watch that was cut loses none.
 */
export function observePod(before: PodHistory | undefined, pod: Pod, now: number, around: Surroundings): PodHistory {
  const created = around.time(pod.metadata.creationTimestamp)
  const isOld = created !== undefined && created < around.startedAt - oldPodMs
  const containers = new Map(before?.containers)
  for (const { container, status, runsOnce } of containersOf(pod)) {
    if (status === undefined) continue
    const known = containers.get(container.name)
    // Events may have come first: until a status was seen, the restarts of an old pod are still to be forgiven.
    const start = known?.status ? known : { ...nothing, ...known, forgiven: isOld ? (status.restartCount ?? 0) : 0 }
    const withDeaths = observeDeaths(start, { container, status, runsOnce }, created ?? 0, now, around)
    const withRunning = observeRunning(withDeaths, status, now)
    containers.set(container.name, { ...observeWaiting(withRunning, status, now), status })
  }
  return { firstSeenAt: before?.firstSeenAt ?? now, containers }
}

/** Folds the events known about a pod into its history, whenever one of them changed. */
export function observePodEvents(
  before: PodHistory | undefined,
  events: readonly EventObject[],
  now: number,
  around: Surroundings,
): PodHistory {
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
          ...refused.map((event) => eventStart(event, around) ?? now),
        ),
        message: refused.at(-1)?.message ?? '',
      }
    }
    const backOffs = about.filter(
      (event) => event.reason === 'BackOff' && event.message?.startsWith('Back-off restarting'),
    )
    const firstDeathAt = start.forgiven > 0 ? [] : backOffs.map((event) => eventStart(event, around) ?? now)
    containers.set(name, { ...start, refusals, ...earliest(start.firstDeathAt, ...firstDeathAt) })
  }
  return { firstSeenAt: before?.firstSeenAt ?? now, containers }
}

/** Folds one more version of a target, seen at `now`, into its history. */
export function observeTarget(before: TargetHistory | undefined, object: KubeObject, now: number): TargetHistory {
  const counters = JSON.stringify(
    Object.entries(object.status ?? {}).filter(
      ([name, value]) => typeof value === 'number' && name !== 'observedGeneration',
    ),
  )
  const failed = saysOf(object).filter(({ meaning }) => meaning === 'failed')
  const failures = new Map(failed.map(({ key }) => [key, before?.failures.get(key) ?? now]))
  if (before === undefined) return { firstSeenAt: now, first: object, counters, countersMovedAt: now, failures }
  return { ...before, failures, ...(counters === before.counters ? {} : { counters, countersMovedAt: now }) }
}

/** How often an event stands for what it says. */
export function eventCount(event: EventObject): number {
  return Math.max(event.count ?? 1, event.series?.count ?? 1, 1)
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
}

/** The containers of a pod with their statuses, init containers and sidecars first, in the order in which they start. */
export function containersOf(pod: Pod): readonly PodContainer[] {
  const status = new Map(
    [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])].map((s) => [s.name, s]),
  )
  const join = (container: Container, isInit: boolean): PodContainer => {
    const found = status.get(container.name)
    const policy = pod.spec?.restartPolicy ?? 'Always'
    return {
      container,
      ...(found === undefined ? {} : { status: found }),
      isInit,
      runsOnce: isInit || (policy !== 'Always' && container.restartPolicy !== 'Always'),
    }
  }
  return [
    // restartPolicy Always makes an init container a sidecar (KEP-753): it runs along with the others.
    ...(pod.spec?.initContainers ?? []).map((container) => join(container, container.restartPolicy !== 'Always')),
    ...(pod.spec?.containers ?? []).map((container) => join(container, false)),
  ]
}

/** The death of the container's present instance, if it is dead. */
export function presentDeath(status: ContainerStatus, runsOnce: boolean) {
  if (status.state?.running) return undefined
  // While a restart waits, the state is `waiting` and the death stands in lastState.
  const death = status.state?.terminated ?? status.lastState?.terminated
  return death?.exitCode === 0 && runsOnce ? undefined : death
}

function observeDeaths(
  seen: ContainerHistory,
  { container, status, runsOnce }: Pick<PodContainer, 'container' | 'runsOnce'> & { status: ContainerStatus },
  created: number,
  now: number,
  around: Surroundings,
): ContainerHistory {
  const restarts = status.restartCount ?? 0
  const death = presentDeath(status, runsOnce)
  const total = restarts + (death === undefined ? 0 : 1)
  const last = status.lastState?.terminated
  // Whether the instance in lastState is the present one (waiting for its restart) or the one before it.
  const lastTotal = status.state?.waiting ? total : restarts
  const known = [
    ...(last === undefined ? [] : [{ ...last, total: lastTotal }]),
    ...(death === undefined || death === last ? [] : [{ ...death, total }]),
  ].map((each) => ({ ...each, finished: around.time(each.finishedAt), started: around.time(each.startedAt) }))

  let { forgiven } = seen
  const previous = seen.status
  const totalBefore = (previous?.restartCount ?? 0) + (previous && presentDeath(previous, runsOnce) ? 1 : 0)
  if (previous?.ready && previous.state?.running && total > totalBefore) {
    const started = around.time(previous.state.running.startedAt)
    const finished = known.at(-1)?.finished ?? now
    // With a readiness probe, Ready is the probe's word; without one it must have run for the settle time.
    if (container.readinessProbe || (started !== undefined && finished - started >= around.settleMs))
      forgiven = Math.max(forgiven, totalBefore)
  }
  for (const { started, finished, total: nth } of known) {
    if (started !== undefined && started >= created && finished !== undefined && finished - started >= recoveredMs) {
      forgiven = Math.max(forgiven, nth - 1)
    }
  }

  const isForgivenAnew = forgiven > seen.forgiven
  const held = known.filter((each) => each.total > forgiven)
  const finishes = new Set([
    ...(isForgivenAnew ? [] : seen.finishes),
    ...held.map((each) => each.finishedAt ?? String(each.total)),
  ])
  const deaths = Math.max(total - forgiven, finishes.size)
  const moments = held.map(({ finished }) =>
    finished !== undefined && finished >= created ? Math.min(finished, now) : now,
  )
  const { firstDeathAt, ...rest } = seen
  return {
    ...rest,
    forgiven,
    deaths,
    finishes,
    ...(deaths === 0
      ? {}
      : earliest(isForgivenAnew ? undefined : firstDeathAt, ...(moments.length === 0 ? [now] : moments))),
  }
}

function observeRunning(seen: ContainerHistory, { state }: ContainerStatus, now: number): ContainerHistory {
  const { running: before, ...rest } = seen
  if (state?.running === undefined) return rest
  const { startedAt } = state.running
  return { ...rest, running: before?.startedAt === startedAt && before ? before : { startedAt, seenAt: now } }
}

function observeWaiting(seen: ContainerHistory, status: ContainerStatus, now: number): ContainerHistory {
  const { waiting: before, ...rest } = seen
  const waiting = status.state?.waiting
  if (waiting === undefined) return rest
  const reason = waiting.reason ?? ''
  const since = before?.reason === reason ? before.since : now
  const history = { ...rest, waiting: { reason, since } }
  // Each attempt shows as ErrImagePull before its back-off does; a back-off at first sight stands for one attempt.
  const isAttempt = reason === 'ErrImagePull' && before?.reason !== reason
  if (!isAttempt && reason !== 'ImagePullBackOff') return history
  const kind = pullReason(waiting.message ?? '')
  const known = rest.refusals[kind]
  // A back-off says no more than the refusal before it, and often less.
  if (!isAttempt && Object.keys(rest.refusals).length > 0) return history
  const refusals: Refusals = {
    attempts: (known?.attempts ?? 0) + 1,
    events: known?.events ?? 0,
    firstAt: known?.firstAt ?? now,
    message: waiting.message ?? known?.message ?? '',
  }
  return { ...history, refusals: { ...rest.refusals, [kind]: refusals } }
}

function eventStart(event: EventObject, around: Surroundings): number | undefined {
  return around.time(event.firstTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp)
}

function earliest(...moments: (number | undefined)[]): { firstDeathAt?: number } {
  const known = moments.filter((moment) => moment !== undefined)
  return known.length === 0 ? {} : { firstDeathAt: Math.min(...known) }
}
