import { isDeepStrictEqual } from 'node:util'
import { differsOnlyInStatus, specAuthorOf } from '../cluster/author.ts'
import type { KubeObject, ManagedFields } from '../cluster/objects.ts'
import type { GateTime } from '../lifecycle/gate-time.ts'
import { isSinceStart, timestampUnitMs } from '../lifecycle/proof.ts'
import { findRevision, formerNumbersOf, numberOf, templateOf } from '../lifecycle/workloads/revision.ts'
import { isFollowedChange, isSameTemplate, templateChanges } from '../lifecycle/workloads/template.ts'
import { type Difference, findDifferences } from '../plan/manifests/differences.ts'
import type { Target } from '../plan/target.ts'
import { type Verdict, verdictOf } from './timeline.ts'

/** How a later version differs from the gated object; `revision`: the number of the older revision, if known. */
interface IdentityChange {
  readonly type: 'same' | 'replaced' | 'returned' | 'followed' | 'superseded' | 'rolled-back'
  readonly revision?: number
}

/** Two versions of the gated object. */
interface GatedVersions {
  /** The version that was gated first. */
  readonly first: KubeObject
  /** The last version that has the gated template: that of the first one, or of a change that the gate followed. */
  readonly gated: KubeObject
}

/**
 * Compares a later version of an object with the gated ones. Without a template, only the uid is compared. An object
 * that was being deleted when it was gated first is expected to come back with another template.
 * @param revisions all known revisions of the object
 */
export function compareIdentity(
  { first, gated }: GatedVersions,
  object: KubeObject,
  revisions: readonly KubeObject[],
  gateTime: Pick<GateTime, 'startedAt' | 'time'>,
): IdentityChange {
  const [before, after] = [templateOf(gated), templateOf(object)]
  const isSame = before === after || isSameTemplate(before, after)
  if (object.metadata.uid !== gated.metadata.uid) {
    const isExpected = isSame || first.metadata.deletionTimestamp !== undefined || isFollowedChange(before, after)
    return { type: isExpected ? 'replaced' : 'superseded' }
  }
  if (isSame) return { type: 'same' }
  if (isSameTemplate(templateOf(first), after)) return { type: 'returned' }
  const present = findRevision(before, revisions)
  const older = findRevision(
    after,
    revisions.filter((revision) => isOlder(revision, present, gateTime)),
  )
  if (older !== undefined) {
    const revision = formerNumber(older, present)
    return { type: 'rolled-back', ...(revision === undefined ? {} : { revision }) }
  }
  return { type: isFollowedChange(before, after) ? 'followed' : 'superseded' }
}

/**
 * Whether a revision is older than the gated one, which may not exist yet. A rollback gives the older revision a new
 * number, so its former numbers and its creation time decide. A revision with another template is always older if it
 * existed before the gate's start.
 */
function isOlder(
  revision: KubeObject,
  present: KubeObject | undefined,
  { startedAt, time }: Pick<GateTime, 'startedAt' | 'time'>,
): boolean {
  if (present !== undefined && Math.min(numberOf(revision), ...formerNumbersOf(revision)) < numberOf(present))
    return true
  // The API's timestamps are whole seconds, rounded down.
  const presentMadeAt = time(present?.metadata.creationTimestamp) ?? 0
  return (time(revision.metadata.creationTimestamp) ?? Infinity) < Math.max(presentMadeAt, startedAt - timestampUnitMs)
}

/** The number of an older revision before the rollback. */
function formerNumber(older: KubeObject, present: KubeObject | undefined): number | undefined {
  const number = numberOf(older)
  const before = present === undefined ? Infinity : numberOf(present)
  const numbers = [...formerNumbersOf(older), number].filter((each) => each < before)
  return numbers.length === 0 ? undefined : Math.max(...numbers)
}

/** The verdict of a superseded or rolled-back target: its author, revision or differences. */
export function identityVerdict(
  type: 'superseded' | 'rolled-back',
  revision: IdentityChange['revision'],
  gated: KubeObject,
  object: KubeObject,
): Verdict<'superseded'> {
  const who = {
    author: specAuthorOf(gated, object),
    isRecreated: gated.metadata.uid !== object.metadata.uid,
    fromGeneration: gated.metadata.generation,
    toGeneration: object.metadata.generation,
  }
  if (type === 'rolled-back') return verdictOf('superseded', type, { ...who, revision })
  const differences = templateChanges(templateOf(gated), templateOf(object))
  return verdictOf('superseded', type, { ...who, differences })
}

/** Subresources that controllers and autoscalers write: these writes are not the awaited change. */
const controllerSubresources: ReadonlySet<string | undefined> = new Set(['status', 'scale'])

/** How the awaited change of an object is recognised. */
interface AwaitedChange {
  /** The object in the first list; undefined if the list does not contain it. */
  readonly listed?: KubeObject
  /** The object was deleted since. */
  readonly wasDeleted: boolean
  readonly manifest: Target['manifest']
  /** Whether the object has the expected images; undefined if its spec does not show them. */
  readonly hasExpectedImages: boolean | undefined
  /** Whether its kind has a status subresource; undefined if unknown. */
  readonly declaresStatus: boolean | undefined
}

/**
 * Whether an object contains the awaited change (`await-change`). It is a new object, or it contains what the user
 * expects: the images, and each field of the manifest that differed in the first list. Other writers may change other
 * fields. If the user expects nothing in particular: its generation changed (without one, its resourceVersion), but not by
 * an autoscaler or a status alone, or its managedFields contain a write after the gate's start. If its kind has no status
 * subresource, a status is such a write too, and only a new spec is the change.
 */
export function hasArrived(object: KubeObject, awaited: AwaitedChange, gateTime: GateTime): boolean {
  const { listed, wasDeleted, manifest, hasExpectedImages, declaresStatus } = awaited
  if (hasExpectedImages === false) return false
  if (listed === undefined) return true
  if (manifest !== undefined) return carriesManifest(listed, object, manifest)
  if (hasExpectedImages || wasDeleted) return true
  if (declaresStatus === false && object.spec !== undefined)
    return listed.metadata.uid !== object.metadata.uid || !isDeepStrictEqual(listed.spec, object.spec)
  return isChanged(listed, object) || wasWritten(object, gateTime)
}

/** Whether an object matches its manifest in each field that differed in the first list. */
function carriesManifest(listed: KubeObject, object: KubeObject, manifest: NonNullable<Target['manifest']>): boolean {
  const keyOf = ({ path }: Difference) => JSON.stringify(path)
  const before = new Map(findDifferences(manifest, listed).map((difference) => [keyOf(difference), difference]))
  return findDifferences(manifest, object).every((difference) => {
    const known = before.get(keyOf(difference))
    return known === undefined || isHeldReplicas(difference, object) || isPinned(difference, known)
  })
}

/** Whether an autoscaler sets this number of replicas. */
function isHeldReplicas({ path }: Difference, { metadata }: KubeObject): boolean {
  return path.join('.') === 'spec.replicas' && scalerOf(metadata) !== undefined
}

/**
 * Whether a webhook replaced the tag of an image by its digest: `web:v2` by `web:v2@sha256:…`, or by `web@sha256:…` if that is
 * not the previous image.
 */
function isPinned({ path, manifest, live }: Difference, before: Difference): boolean {
  if (path.at(-1) !== 'image' || typeof manifest !== 'string' || typeof live !== 'string') return false
  const [name, digest] = live.split('@')
  if (digest === undefined) return false
  return name === manifest || (name === manifest.replace(/:[^:/]+$/, '') && live !== before.live)
}

function isChanged(listed: KubeObject, object: KubeObject): boolean {
  const { metadata: before } = listed
  const { metadata: now } = object
  if (before.uid !== now.uid) return true
  return now.generation === undefined
    ? before.resourceVersion !== now.resourceVersion && !hasOnlyNewStatus(listed, object)
    : before.generation !== now.generation && !isAutoscaled(listed, object)
}

/**
 * Whether only the number of replicas was written, through the subresource `scale` by a program: an autoscaler. It may have
 * changed the number back.
 */
function isAutoscaled({ spec: before }: KubeObject, { spec: now, metadata }: KubeObject): boolean {
  const { replicas: _from, ...fieldsBefore } = (before ?? {}) as { replicas?: unknown }
  const { replicas: _to, ...fieldsNow } = (now ?? {}) as { replicas?: unknown }
  return scalerOf(metadata) !== undefined && isDeepStrictEqual(fieldsBefore, fieldsNow)
}

/** The program that sets the number of replicas through the subresource `scale`: an autoscaler. */
function scalerOf({ managedFields = [] }: KubeObject['metadata']): ManagedFields | undefined {
  const scaler = managedFields.find(({ subresource }) => subresource === 'scale')
  return scaler?.manager?.startsWith('kubectl') ? undefined : scaler
}

/** Whether two versions differ in nothing but their status, which a controller wrote. */
function hasOnlyNewStatus(before: KubeObject, now: KubeObject): boolean {
  return !isDeepStrictEqual(before.status, now.status) && differsOnlyInStatus(before, now)
}

function wasWritten({ metadata }: KubeObject, { time, startedAt }: GateTime): boolean {
  return (metadata.managedFields ?? []).some(
    (entry) => !controllerSubresources.has(entry.subresource) && isSinceStart(time(entry.time), { startedAt }),
  )
}
