import {
  type EventObject,
  firstOccurrence,
  hasEnded,
  nameOf,
  type PersistentVolumeClaim,
  type Pod,
  type Subject,
  subjectOf,
} from '../../cluster/objects.ts'
import type { Problem } from '../../reasons/reasons.ts'
import { lostClaimMs } from '../../thresholds.ts'
import type { Reader, RuleReader } from '../reader.ts'
import type { Judgement, Rule } from '../rule.ts'
import { namespaceRequest } from '../selector.ts'
import { objectProblemFields, problemSeenSince } from '../status-problems.ts'

/**
 * Judges PersistentVolumeClaims: https://kubernetes.io/docs/concepts/storage/persistent-volumes/
 *
 * A claim is ready when it is Bound, or when no pod uses it and its class binds only for the first consumer
 * (WaitForFirstConsumer). The gate does not wait for a resize, which may need another pod. A claim fails if it has been
 * Lost for `lostClaimMs`, because its volume no longer exists.
 */
export const pvcRule: Rule<PersistentVolumeClaim> = {
  milestones: ['created', 'provisioned', 'bound'],
  judge: judgeClaim,
}

const classesRequest = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass' } as const

function judgeClaim(claim: PersistentVolumeClaim, reader: RuleReader): Judgement {
  const phase = claim.status?.phase ?? 'Pending'
  const isBound = phase === 'Bound'
  const consumers = consumersOf(claim, reader)
  const bindsLate = isWaitingForConsumer(claim, reader)
  // Once the scheduler has chosen a node, the claim waits only for its provisioner.
  const isScheduled = claim.metadata.annotations?.['volume.kubernetes.io/selected-node'] !== undefined
  const isUsed = isScheduled || (consumers === undefined ? hasPendingConsumer(claim, reader) : consumers.length > 0)
  const volume = claim.spec?.volumeName ?? ''
  if (phase === 'Pending' && bindsLate && !isUsed) {
    reader.milestone({ name: 'provisioned', state: 'skipped', message: 'provisioned for its first consumer' })
    reader.milestone({ name: 'bound', state: 'skipped', message: 'bound for its first consumer' })
    return { ready: true, message: 'waits for its first consumer, and nothing uses it yet' }
  }
  const at = isBound ? boundAt(claim, reader) : undefined
  reader.milestone({
    name: 'provisioned',
    state: isBound || volume !== '' ? 'done' : 'open',
    at,
    message: volume === '' ? 'waiting for a volume' : `volume ${volume}`,
  })
  reader.milestone({
    name: 'bound',
    state: isBound ? 'done' : 'open',
    at,
    message: isBound ? 'bound' : `phase ${phase}`,
  })
  if (phase === 'Lost') reader.problem(lostClaimProblem(claim, reader))
  else if (!isBound) {
    const failure = bindingFailureEvent(reader.events(claim))
    reader.problem(pendingClaimProblem(subjectOf(claim), reader.history.firstSeenAt, failure?.message))
  }
  return {
    ready: isBound,
    message: `bound to ${volume === '' ? 'its volume' : volume}`,
    awaits: isBound || isScheduled || !bindsLate ? undefined : consumers?.map(nameOf),
  }
}

/**
 * When a claim was bound, on the runner's clock: when the controller wrote the name of the volume. The phase follows at
 * once (bindClaimToVolume and updateClaimStatus, pkg/controller/volume/persistentvolume). Later writes of the status do
 * not count.
 */
function boundAt({ metadata: { managedFields = [] } }: PersistentVolumeClaim, { time }: Reader): number | undefined {
  const controller = managedFields.find(({ subresource }) => subresource === 'status')?.manager
  const written = managedFields.findLast((each) => each.manager === controller && each.subresource === undefined)
  return time(written?.time)
}

/**
 * The problem of a claim that prevents the scheduling of a pod, by the latest Event about the claim. The claim itself
 * need not be watched. Undefined if no Event reports that a claim of the pod cannot be bound.
 */
export function unboundClaimOfPod(pod: Pod, reader: Reader): Problem | undefined {
  const { namespace } = pod.metadata
  for (const name of claimNamesOf(pod)) {
    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name, namespace } }
    const event = bindingFailureEvent(reader.events(claim))
    if (event === undefined) continue
    const firstSeenAt = reader.time(firstOccurrence(event)) ?? reader.now
    return pendingClaimProblem(subjectOf(claim), firstSeenAt, event.message)
  }
  return undefined
}

/** Reasons of Events about a claim that cannot be bound. FailedBinding is often a Normal Event. */
const bindingFailures: ReadonlySet<string> = new Set(['FailedBinding', 'ProvisioningFailed', 'VolumeMismatch'])

/**
 * The Event that shows why a claim is not bound: the latest failure since its volume was provisioned. Without a
 * failure, the Event that it waits for an external provisioner (provisionClaim,
 * pkg/controller/volume/persistentvolume).
 */
function bindingFailureEvent(events: readonly EventObject[]): EventObject | undefined {
  const present = events.slice(events.findLastIndex(({ reason }) => reason === 'ProvisioningSucceeded') + 1)
  return (
    present.findLast(({ reason = '' }) => bindingFailures.has(reason)) ??
    present.findLast(({ reason }) => reason === 'ExternalProvisioning')
  )
}

function lostClaimProblem(claim: PersistentVolumeClaim, reader: Reader): Problem<'claim-lost'> {
  const since = problemSeenSince(claim, 'claim-lost', reader)
  return {
    ...objectProblemFields(claim, since),
    reason: 'claim-lost',
    detail: {},
    proven: reader.passed(since + lostClaimMs),
  }
}

/** The problem of a claim that is not bound, with the message of the latest Event about the claim. */
function pendingClaimProblem(subject: Subject, firstSeenAt: number, message?: string): Problem<'claim-pending'> {
  const missingClass = /storageclass\S{0,60} "([^"]{1,253})" not found/i.exec(message ?? '')?.[1]
  return {
    reason: 'claim-pending',
    subject,
    detail: { message, missingClass },
    count: 1,
    firstSeenAt,
    proven: false,
  }
}

/**
 * Whether a claim waits for its first consumer, by its class or, if classes cannot be read, by an Event. A claim with a
 * `volumeName` is bound at once, whatever its class (syncUnboundClaim, pkg/controller/volume/persistentvolume).
 */
function isWaitingForConsumer(claim: PersistentVolumeClaim, reader: Reader): boolean {
  const { storageClassName, volumeName = '' } = claim.spec ?? {}
  const [storageClass] = reader.list(classesRequest, ({ metadata }) => metadata.name === storageClassName)
  if (volumeName !== '') return false
  if (storageClass !== undefined) return storageClass.volumeBindingMode === 'WaitForFirstConsumer'
  return reader.events(claim).some(({ reason }) => binderReasons.has(reason ?? ''))
}

/** Reasons of Events about a claim whose class waits for a consumer (pkg/controller/volume/events). */
const binderReasons = new Set(['WaitForFirstConsumer', 'WaitForPodScheduled'])

/** Whether a pod uses the claim, if pods cannot be read: the latest Event reports that the pod is being scheduled. */
function hasPendingConsumer(claim: PersistentVolumeClaim, reader: Reader): boolean {
  const last = reader.events(claim).findLast(({ reason }) => binderReasons.has(reason ?? ''))
  return last?.reason === 'WaitForPodScheduled'
}

/** The pods that use the claim and have not ended; undefined if pods cannot be read. */
function consumersOf(claim: PersistentVolumeClaim, reader: Reader): readonly Pod[] | undefined {
  const request = namespaceRequest('v1', 'Pod', claim)
  const consumers = reader.list(request, (pod) => !hasEnded(pod) && claimNamesOf(pod).includes(claim.metadata.name))
  return reader.listState(request) === 'complete' ? consumers : undefined
}

/** The names of the claims that the volumes of a pod use, including ephemeral volumes. */
function claimNamesOf({ metadata, spec }: Pod): readonly string[] {
  return (spec?.volumes ?? []).flatMap(
    ({ persistentVolumeClaim, ephemeral, name }) =>
      persistentVolumeClaim?.claimName ?? (ephemeral === undefined ? [] : `${metadata.name}-${name}`),
  )
}
