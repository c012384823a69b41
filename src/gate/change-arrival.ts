import { isDeepStrictEqual } from 'node:util'
import { hasOnlyStatusChanges, type KubeObject, type ManagedFields } from '../cluster/objects.ts'
import { type GateTime, mayBeSinceStart } from '../lifecycle/proof.ts'
import {
  compareRecord,
  type Difference,
  describeDifference,
  findDifferences,
  isEqualRecord,
} from '../plan/manifest-equality.ts'
import type { Target } from '../plan/target.ts'
import type { Problem } from '../reasons/reasons.ts'

/** Subresources that controllers and autoscalers write: these writes are not the awaited change. */
const controllerSubresources: ReadonlySet<string | undefined> = new Set(['status', 'scale'])

/** How the awaited change of an object is recognised. */
interface AwaitedChange {
  /** The object in the first list; undefined if the list does not contain it. */
  readonly listed?: KubeObject
  /** See `findOpenFields`; undefined without a manifest, and unless the first list contains the object. */
  readonly openFields: readonly string[] | undefined
  /** Whether the expected images have arrived; see `StepContext.haveImagesArrived`. */
  readonly haveImagesArrived: boolean | Problem | undefined
  /** Whether the kind has a status subresource; undefined if unknown. */
  readonly declaresStatus: boolean | undefined
}

/**
 * Whether an object contains the awaited change (`await-change`). Expected images must have arrived, and each field of
 * the manifest that differed in the first list must be equal now. A new object contains its change. Without such
 * expectations, the change is a new generation (or resourceVersion) with more than a new scale or status, or a write
 * after the gate's start (`managedFields`). For a kind without a status subresource, only a new spec is the change: a
 * write of its status looks the same as any other.
 */
export function hasChangeArrived(object: KubeObject, awaited: AwaitedChange, gateTime: GateTime): boolean {
  const { listed, openFields, haveImagesArrived, declaresStatus } = awaited
  if (haveImagesArrived !== undefined && haveImagesArrived !== true) return false
  if (listed === undefined) return true
  if (openFields !== undefined) return openFields.length === 0
  if (haveImagesArrived === true) return true
  if (declaresStatus === false && object.spec !== undefined)
    return listed.metadata.uid !== object.metadata.uid || !isDeepStrictEqual(listed.spec, object.spec)
  return hasNewVersion(listed, object) || wasWrittenSinceStart(object, gateTime)
}

/**
 * The fields, as sentences, in which an object still lacks the change of its manifest; empty once the change has
 * arrived. What the applier recorded in the object decides, since it also shows removed fields. Without a record, the
 * fields that differed in the first list must have the values of the manifest. An apply writes all fields at once: once
 * one field has arrived, fields that admission may change can still differ.
 */
export function findOpenFields(
  listed: KubeObject,
  object: KubeObject,
  manifest: NonNullable<Target['manifest']>,
): readonly string[] {
  const record = compareRecord(manifest, object)
  const pathKey = ({ path }: Difference) => JSON.stringify(path)
  const before = new Map(findDifferences(manifest, listed).map((difference) => [pathKey(difference), difference]))
  const now = findDifferences(manifest, object)
  const differing = now.filter((difference) => {
    const known = before.get(pathKey(difference))
    return known !== undefined && !isAutoscaledReplicas(difference, object) && !isRewrittenImage(difference, known)
  })
  const texts = differing.map(describeDifference)
  // What the applier recorded decides, if it has values. `texts` describes the same differences with both values;
  // if only the record differs, it is empty.
  if (record?.hasValues)
    return isEqualRecord(record) ? [] : [...(texts.length > 0 ? texts : record.differing), ...record.removed]
  const { removed = [], applier } = record ?? {}
  // After a later write by the applier, fields beyond the manifest are defaults, or a webhook added them.
  const isWrittenSinceListed = () =>
    applier?.operation === 'Update' && compareRecord(manifest, listed)?.applier?.time !== applier.time
  if (removed.length > 0 && !isWrittenSinceListed()) return [...texts, ...removed]
  // Without recorded values, the differences decide. Those that admission may cause do not count once one has arrived.
  const hasArrivedInPart = [...before.keys()].some((key) => now.every((difference) => pathKey(difference) !== key))
  return hasArrivedInPart && differing.every(mayAdmissionChange) ? [] : texts
}

/**
 * Fields of a pod template that admission changes on each write: resources (GKE Autopilot, LimitRanger), pull policies
 * (AlwaysPullImages) and security contexts (Kyverno, OpenShift).
 */
function mayAdmissionChange({ path }: Difference): boolean {
  return path.includes('containers') || path.includes('initContainers')
    ? path.some((step) => step === 'resources' || step === 'imagePullPolicy' || step === 'securityContext')
    : path.at(-1) === 'securityContext' || path.at(-2) === 'securityContext' || path.at(-2) === 'nodeSelector'
}

/** Whether an autoscaler sets this number of replicas. */
function isAutoscaledReplicas({ path }: Difference, { metadata }: KubeObject): boolean {
  return path.join('.') === 'spec.replicas' && scalerOf(metadata) !== undefined
}

/**
 * Whether a webhook rewrote the image of the manifest: it replaced the tag by a digest (`web:v2` by `web:v2@sha256:…`,
 * or by `web@sha256:…` if that is not the previous image) or the registry (`web:v2` by `mirror.example/web:v2`).
 */
function isRewrittenImage({ path, manifest, live }: Difference, before: Difference): boolean {
  if (path.at(-1) !== 'image' || typeof manifest !== 'string' || typeof live !== 'string') return false
  const [name, digest] = live.split('@')
  const [host = '', ...rest] = manifest.split('/')
  const bare = /[.:]|^localhost$/.test(host) && rest.length > 0 ? rest.join('/') : manifest
  if (name?.endsWith(`/${bare}`)) return live !== before.live
  if (digest === undefined) return false
  return name === manifest || (name === manifest.replace(/:[^:/]+$/, '') && live !== before.live)
}

/** Whether the object has another uid, or a new generation or version with more than a new status or scale. */
function hasNewVersion(listed: KubeObject, object: KubeObject): boolean {
  const { metadata: before } = listed
  const { metadata: now } = object
  if (before.uid !== now.uid) return true
  return now.generation === undefined
    ? before.resourceVersion !== now.resourceVersion && !hasOnlyNewStatus(listed, object)
    : before.generation !== now.generation && !isOnlyScaled(listed, object)
}

/**
 * Whether only an autoscaler wrote the object: through the subresource `scale`, which changes only the number of
 * replicas. The number may be the old one again.
 */
function isOnlyScaled({ spec: before }: KubeObject, { spec: now, metadata }: KubeObject): boolean {
  const { replicas: _from, ...fieldsBefore } = (before ?? {}) as { replicas?: unknown }
  const { replicas: _to, ...fieldsNow } = (now ?? {}) as { replicas?: unknown }
  return scalerOf(metadata) !== undefined && isDeepStrictEqual(fieldsBefore, fieldsNow)
}

/** The last writer of the subresource `scale`, unless that is kubectl: an autoscaler. */
function scalerOf({ managedFields = [] }: KubeObject['metadata']): ManagedFields | undefined {
  const scaler = managedFields.find(({ subresource }) => subresource === 'scale')
  return scaler?.manager?.startsWith('kubectl') ? undefined : scaler
}

/** Whether two versions differ in their status, and in nothing else. */
function hasOnlyNewStatus(before: KubeObject, now: KubeObject): boolean {
  return !isDeepStrictEqual(before.status, now.status) && hasOnlyStatusChanges(before, now)
}

function wasWrittenSinceStart({ metadata }: KubeObject, { time, startedAt }: GateTime): boolean {
  return (metadata.managedFields ?? []).some(
    (entry) => !controllerSubresources.has(entry.subresource) && mayBeSinceStart(time(entry.time), { startedAt }),
  )
}
