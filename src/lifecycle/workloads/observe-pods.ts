import {
  type ContainerStatus,
  type EventObject,
  firstOccurrence,
  lastOccurrence,
  type Pod,
} from '../../cluster/objects.ts'
import { firstPullBackOffMs, statusLagMs } from '../../thresholds.ts'
import type { ContainerView, Refusals } from '../pod-view.ts'
import { type GateTime, latestMoment, mayBeSinceStart } from '../proof.ts'
import { type DeathObservations, observeDeaths } from './death-count.ts'
import { isPullRefusal, pullFailure } from './image-pull.ts'
import { containersOf, totalEventCount } from './pod-fields.ts'

/* Records what the gate observes of pods. */

/** What the gate has observed of a container: its deaths, its refused pulls and its waiting state. */
interface ContainerObservations extends DeathObservations, Pick<ContainerView, 'refusals' | 'waiting'> {}

/** What the gate has observed of a pod since it first saw the pod. */
export interface PodObservations {
  /** When the present version was first seen: after an outage, the watch may first return old versions. */
  readonly seenAt: number
  readonly containers: ReadonlyMap<string, ContainerObservations>
}

export const unobserved: ContainerObservations = { total: 0, instances: new Map(), refusals: new Map() }

/** Adds a version of a pod, seen at `now`, to its observations. */
export function observePod(
  before: PodObservations | undefined,
  pod: Pod,
  now: number,
  gateTime: GateTime,
): PodObservations {
  const created = gateTime.time(pod.metadata.creationTimestamp)
  const containers = new Map(before?.containers)
  for (const each of containersOf(pod)) {
    const { container, status } = each
    if (status === undefined) continue
    const known = containers.get(container.name) ?? unobserved
    const deaths = observeDeaths(known, pod, { ...each, status }, now, gateTime)
    const predatesGate = known.firstRestarts === undefined && !mayBeSinceStart(created, gateTime)
    containers.set(container.name, observeWaitingState({ ...known, ...deaths }, status, { predatesGate, created }, now))
  }
  return { seenAt: now, containers }
}

/** The refused pulls of a container, as its states (`observed`) or Events show them. */
export function withReportedRefusals(
  observed: ContainerObservations['refusals'],
  containerEvents: readonly EventObject[],
  seenAt: number,
  { time }: GateTime,
): ContainerObservations['refusals'] {
  const refusals = new Map(observed)
  const reported = Map.groupBy(
    containerEvents.filter(isPullRefusal),
    ({ message }) => pullFailure(message ?? '').reason,
  )
  for (const [reason, refused] of reported) {
    const known = observed.get(reason)
    const message = refused.at(-1)?.message ?? ''
    refusals.set(reason, {
      ...pullFailure(message),
      message,
      count: Math.max(known?.count ?? 0, totalEventCount(refused)),
      firstAt: Math.min(known?.firstAt ?? seenAt, ...refused.map((event) => time(firstOccurrence(event)) ?? seenAt)),
      lastAt: latestMoment([known?.lastAt, ...refused.map((event) => time(lastOccurrence(event)))]),
    })
  }
  return refusals
}

/** The waiting reasons after a refused pull or a failed look-up of the image (pkg/kubelet/images, errors of cri-api). */
const refusedStates: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
])

/** Whether a waiting reason means that a pull was refused. */
export function isRefusedPullReason(reason = ''): boolean {
  return refusedStates.has(reason) || reason === 'ImagePullBackOff'
}

/** Adds the waiting state of a container. `predatesGate`: the first status, of a pod that is older than the gate. */
function observeWaitingState(
  known: ContainerObservations,
  status: ContainerStatus,
  { predatesGate, created = 0 }: { readonly predatesGate: boolean; readonly created: number | undefined },
  now: number,
): ContainerObservations {
  const waiting = status.state?.waiting
  if (waiting === undefined) return { ...known, waiting: undefined }
  const reason = waiting.reason ?? ''
  const isSame = known.waiting?.reason === reason
  const observed = { ...known, waiting: isSame ? known.waiting : { reason, since: now, predatesGate } }
  // Each attempt is first a refusal, then a back-off. Without a refusal, the first back-off counts as one attempt.
  const isAttempt = refusedStates.has(reason) && !isSame
  if (!isAttempt && reason !== 'ImagePullBackOff') return observed
  // The message of a back-off contains nothing that the refusal did not contain.
  if (!isAttempt && known.refusals.size > 0) return observed
  const { message = '' } = waiting
  const failure = pullFailure(message)
  const before = known.refusals.get(failure.reason)
  const count = before?.count ?? 0
  const attemptedAt = Math.max(now - statusLagMs, created + count * firstPullBackOffMs)
  const refusals: Refusals = {
    ...failure,
    message,
    count: count + 1,
    firstAt: before?.firstAt ?? now,
    lastAt: latestMoment([before?.lastAt, predatesGate ? undefined : attemptedAt]),
  }
  return { ...observed, refusals: new Map([...known.refusals, [failure.reason, refusals]]) }
}
