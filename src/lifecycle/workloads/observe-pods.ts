import { isDeepStrictEqual } from 'node:util'
import {
  type ContainerStatus,
  type EventObject,
  firstOccurrence,
  isOfKind,
  type KubeObject,
  lastOccurrence,
  type Pod,
} from '../../cluster/objects.ts'
import { ByUid, type Change, type Store } from '../../cluster/store.ts'
import { firstPullBackOffMs, statusLagMs } from '../../thresholds.ts'
import { trueCondition } from '../conditions.ts'
import type { ContainerHistory, DeathCount, PodHistory, Refusals, RunningInstance } from '../pods.ts'
import { type GateTime, isSinceStart, latest } from '../proof.ts'
import { countDeaths, type DeathObservations, noDeaths, observeDeaths, type PodTerms } from './death-count.ts'
import { isPullRefusal, pullReason } from './image-pull.ts'
import { containersOf, eventCount } from './pod-fields.ts'
import { containerReports, podEvents, podReports } from './pod-reports.ts'
import { hashLabel, isSameRevision, templateChangedAt } from './revision.ts'

/** The observations of a container, before `countDeaths` decides which deaths count. */
interface ContainerObservations extends Omit<ContainerHistory, keyof DeathCount | 'reports'> {
  readonly deaths: DeathObservations
}

/** The observations of a pod since its first sight, before `countDeaths` decides which deaths count. */
export interface PodObservations {
  /** When its present version was first seen: after an outage, the watch first returns the old versions. */
  readonly seenAt: number
  readonly containers: ReadonlyMap<string, ContainerObservations>
}

/** A cached history, and what it was made from. */
interface Made {
  readonly observations: PodObservations | undefined
  readonly events: readonly EventObject[]
  readonly history: PodHistory
}

/** The histories of all pods; `observe` must receive every change of the store. */
export class PodHistories {
  readonly #store: Store
  readonly #gateTime: GateTime
  readonly #observations = new ByUid<PodObservations>()
  /** When the template of each controller of pods was last changed; cleared when a revision changes. */
  readonly #changes = new Map<string, number | undefined>()
  /** Pods that ended before their deletion, by the uid of their controller and then by their own uid. */
  readonly #ended = new Map<string, Map<string, Pod>>()
  /** When the last deletion of a pod began, by controller and revision. */
  readonly #removed = new Map<string, number>()
  #histories = new WeakMap<Pod, Made>()

  constructor(store: Store, gateTime: GateTime) {
    this.#store = store
    this.#gateTime = gateTime
  }

  /**
   * Observes a change of any object at `now`, after the store has applied it.
   * @returns the pod whose history an Event changes: most Events repeat an earlier one, or report a step that a status shows too
   */
  observe({ before, after }: Change, now: number): Pod | undefined {
    const object = after ?? before
    const { kind } = object
    const isRevisionChanged = (kind === 'ReplicaSet' || kind === 'ControllerRevision') && !isSameRevision(before, after)
    if (isRevisionChanged) this.#changes.clear()
    if (isRevisionChanged || minReadySeconds(before) !== minReadySeconds(after)) {
      this.#histories = new WeakMap()
    } else {
      if (isOfKind(before, 'Pod')) this.#observeRemoval(before, after, now)
      if (isOfKind(after, 'Pod')) this.#observePod(after, now)
    }
    const uid = isOfKind(object, 'Event') ? object.involvedObject?.uid : undefined
    const pod = uid === undefined ? undefined : this.#store.withUid(uid)
    if (!isOfKind(pod, 'Pod')) return undefined
    return this.#histories.get(pod)?.history === this.of(pod, now) ? undefined : pod
  }

  /**
   * The history of a pod: the same object while nothing that rules read of it changes. If the pod was never observed, its present
   * state is the only observation.
   */
  of(pod: Pod, now: number): PodHistory {
    const { uid = '', namespace } = pod.metadata
    const observations = this.#observations.get(uid, namespace)
    const events = this.#store.eventsOf(pod)
    const known = this.#histories.get(pod)
    if (known !== undefined && known.observations === observations && known.events === events) return known.history
    const seen = observations ?? observePod(undefined, pod, now, this.#gateTime)
    const found = historyOf(seen, pod, events, this.#termsOf(pod), this.#gateTime)
    const history = isDeepStrictEqual(found, known?.history) && known !== undefined ? known.history : found
    this.#histories.set(pod, { observations, events, history })
    return history
  }

  #termsOf({ metadata: { namespace, ownerReferences = [] } }: Pod): PodTerms {
    const owner = ownerReferences.find(({ controller }) => controller)
    if (owner === undefined) return { changedAt: undefined, minReadyMs: 0 }
    if (!this.#changes.has(owner.uid))
      this.#changes.set(owner.uid, this.#gateTime.time(templateChangedAt(owner, namespace, this.#store)))
    const found = this.#store.get({ ...owner, namespace })
    return { changedAt: this.#changes.get(owner.uid), minReadyMs: (minReadySeconds(found) ?? 0) * 1_000 }
  }

  /** See `Reader.endedPods`. */
  ended(controller: string | undefined, phase: 'Failed' | 'Succeeded'): readonly Pod[] {
    return [...(this.#ended.get(controller ?? '')?.values() ?? [])].filter(({ status }) => status?.phase === phase)
  }

  /** See `Reader.removedAt`. */
  removedAt(controller: string | undefined, revision = ''): number | undefined {
    return this.#removed.get(`${controller} ${revision}`)
  }

  #observeRemoval(before: Pod, after: KubeObject | undefined, now: number): void {
    const owner = before.metadata.ownerReferences?.find(({ controller }) => controller)?.uid
    const begins = after === undefined || after.metadata.deletionTimestamp !== undefined
    if (owner === undefined || !begins || before.metadata.deletionTimestamp !== undefined) return
    this.#removed.set(`${owner} ${before.metadata.labels?.[hashLabel] ?? ''}`, now)
  }

  #observePod(pod: Pod, now: number): void {
    const { uid, namespace, deletionTimestamp, ownerReferences = [] } = pod.metadata
    const owner = ownerReferences.find(({ controller }) => controller)?.uid
    const hasEnded = pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded'
    if (hasEnded && deletionTimestamp === undefined && owner !== undefined && uid !== undefined)
      this.#ended.set(owner, (this.#ended.get(owner) ?? new Map<string, Pod>()).set(uid, pod))
    if (uid === undefined) return
    const before = this.#observations.get(uid, namespace)
    this.#observations.set(uid, namespace, observePod(before, pod, now, this.#gateTime))
  }
}

/** Kinds that own pods and have minReadySeconds. */
const podControllerKinds: ReadonlySet<string> = new Set([
  'ReplicaSet',
  'ReplicationController',
  'StatefulSet',
  'DaemonSet',
])

/** The minReadySeconds of a controller of pods; undefined for any other object. */
function minReadySeconds(object: KubeObject | undefined): number | undefined {
  if (object === undefined || !podControllerKinds.has(object.kind)) return undefined
  const seconds = (object.spec as { minReadySeconds?: unknown } | undefined)?.minReadySeconds
  return typeof seconds === 'number' ? seconds : 0
}

const unobserved: ContainerObservations = { deaths: noDeaths, refusals: {} }

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
    const running = observeRunning(known.running, status, container.readinessProbe !== undefined, pod, now, gateTime)
    const deaths = observeDeaths(
      known.deaths,
      pod,
      { ...each, status, running, ranBefore: known.running },
      now,
      gateTime,
    )
    const predatesGate = known.deaths.firstRestarts === undefined && !isSinceStart(created, gateTime)
    containers.set(
      container.name,
      observeWaiting({ ...known, deaths, running }, status, { predatesGate, created }, now),
    )
  }
  return { seenAt: now, containers }
}

/** The history of a pod, from its observations and the Events about it, the latest last. */
export function historyOf(
  { seenAt, containers: observed }: PodObservations,
  pod: Pod,
  events: readonly EventObject[],
  terms: PodTerms,
  gateTime: GateTime,
): PodHistory {
  const created = gateTime.time(pod.metadata.creationTimestamp)
  const about = podEvents(events)
  const containers = containersOf(pod).map((each) => {
    const { name } = each.container
    const { deaths, refusals, ...rest } = observed.get(name) ?? unobserved
    const own = about.flatMap(({ container, event }) => (container === name ? [event] : []))
    const history: ContainerHistory = {
      ...rest,
      ...countDeaths(deaths, created, terms, gateTime),
      refusals: withReported(refusals, own, seenAt, gateTime),
      reports: containerReports(each, about, gateTime.time),
    }
    return [name, history] as const
  })
  const reports = podReports(pod, about, gateTime.time)
  return { seenAt, minReadyMs: terms.minReadyMs, reports, containers: new Map(containers) }
}

/** The refused pulls that a container's states showed (`observed`) or Events report. @param about its Events */
function withReported(
  observed: ContainerObservations['refusals'],
  about: readonly EventObject[],
  seenAt: number,
  { time }: GateTime,
): ContainerHistory['refusals'] {
  const refusals = { ...observed }
  const reported = Map.groupBy(about.filter(isPullRefusal), ({ message }) => pullReason(message ?? ''))
  for (const [reason, refused] of reported) {
    const known = observed[reason]
    refusals[reason] = {
      attempts: known?.attempts ?? 0,
      events: refused.reduce((sum, event) => sum + eventCount(event), 0),
      firstAt: Math.min(known?.firstAt ?? seenAt, ...refused.map((event) => time(firstOccurrence(event)) ?? seenAt)),
      lastAt: latest([known?.lastAt, ...refused.map((event) => time(lastOccurrence(event)))]),
      message: refused.at(-1)?.message ?? '',
    }
  }
  return refusals
}

/**
 * The running instance. Without a readiness probe it is ready since its start; with one, since the pod became Ready. If
 * this time is absent or in the future (a wrong clock), it is ready since `now`.
 */
function observeRunning(
  before: RunningInstance | undefined,
  { state, ready }: ContainerStatus,
  isProbed: boolean,
  pod: Pod,
  now: number,
  gateTime: GateTime,
): RunningInstance | undefined {
  if (state?.running === undefined) return undefined
  const { startedAt } = state.running
  const started = gateTime.time(startedAt)
  const same = before?.startedAt === startedAt ? before : undefined
  const instance = { startedAt, seenAt: same?.seenAt ?? now }
  if (!ready || started === undefined) return instance
  const turnedAt = gateTime.time(trueCondition(pod, 'Ready')?.lastTransitionTime) ?? now
  const passedAt = Math.min(now, Math.max(started, turnedAt))
  return { ...instance, readySince: same?.readySince ?? (isProbed ? passedAt : started) }
}

/** The waiting reasons after a refused pull (pkg/kubelet/images, errors of cri-api). */
const refusedStates: ReadonlySet<string> = new Set(['ErrImagePull', 'RegistryUnavailable', 'SignatureValidationFailed'])

/** Whether this waiting reason means a refused pull. */
export function waitsForImage(reason = ''): boolean {
  return refusedStates.has(reason) || reason === 'ImagePullBackOff'
}

/** Adds the waiting state of a container. `predatesGate`: the first status seen, of a pod older than the gate. */
function observeWaiting(
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
  // Each attempt is first a refusal, then a back-off; a back-off at first sight counts as one attempt.
  const isAttempt = refusedStates.has(reason) && !isSame
  if (!isAttempt && reason !== 'ImagePullBackOff') return observed
  // The message of a back-off adds nothing to that of the refusal.
  if (!isAttempt && Object.keys(known.refusals).length > 0) return observed
  const kind = pullReason(waiting.message ?? '')
  const before = known.refusals[kind]
  const attempts = before?.attempts ?? 0
  const attemptedAt = Math.max(now - statusLagMs, created + attempts * firstPullBackOffMs)
  const refusals: Refusals = {
    attempts: attempts + 1,
    events: before?.events ?? 0,
    firstAt: before?.firstAt ?? now,
    lastAt: latest([before?.lastAt, predatesGate ? undefined : attemptedAt]),
    message: waiting.message ?? before?.message ?? '',
  }
  return { ...observed, refusals: { ...known.refusals, [kind]: refusals } }
}
