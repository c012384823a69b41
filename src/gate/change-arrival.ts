import { isDeepStrictEqual } from 'node:util'
import { hasOnlyStatusChanges, type KubeObject, type ManagedFields } from '../cluster/objects.ts'
import { type GateTime, mayBeSinceStart } from '../lifecycle/proof.ts'
import {
  compareWithLastApplied,
  type Difference,
  describeDifference,
  findDifferences,
  isEqualRecord,
  isRewrittenImage,
  isScaledToZero,
  mayAdmissionChange,
} from '../plan/manifest-equality.ts'
import type { Target } from '../plan/target.ts'
import type { Problem } from '../reasons/reasons.ts'

/* Decides whether the awaited change of an object has arrived (`await-change`). */

/** The subresources that controllers and autoscalers write. A write to one of them is not the awaited change. */
const controllerSubresources: ReadonlySet<string | undefined> = new Set(['status', 'scale'])

/** The facts that show whether the awaited change of an object has arrived. */
interface AwaitedChange {
  /** The object in the first list; undefined if the list does not contain it. */
  readonly listed?: KubeObject
  /** The result of `findOpenFields`. Undefined without a manifest, or if the first list does not contain the object. */
  readonly openFields: readonly string[] | undefined
  /** The result of `StepContext.haveImagesArrived`. */
  readonly haveImagesArrived: boolean | Problem | undefined
  /** Whether the kind has a status subresource; undefined if unknown. */
  readonly declaresStatus: boolean | undefined
}

/**
 * Whether an object contains the awaited change (`await-change`). A new object contains its change. Expected images
 * must have arrived, and fields that differed from the manifest must be equal now. Without images and manifest, the
 * change is a new generation, but not of a scale or status, or a write after the gate's start. For a kind without a
 * status subresource, the change is a new spec, because a write of the status looks the same as other writes.
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
 * Finds the fields that still differ from the manifest, as sentences; empty after the change has arrived. The applier's
 * record in the object (`last-applied-configuration` or `managedFields`) decides, because it also shows removed fields.
 * Without a record, the fields that differed in the first list must have the values of the manifest. After one of them
 * has arrived, fields that admission may change can still differ, because an apply writes all fields at once.
 */
export function findOpenFields(
  listed: KubeObject,
  object: KubeObject,
  manifest: NonNullable<Target['manifest']>,
): readonly string[] {
  const record = compareWithLastApplied(manifest, object)
  const pathKey = ({ path }: Difference) => JSON.stringify(path)
  const before = new Map(findDifferences(manifest, listed).map((difference) => [pathKey(difference), difference]))
  const now = findDifferences(manifest, object)
  const isAutoscaled = findAutoscaler(object.metadata) !== undefined || isScaledToZero(object)
  const differing = now.filter((difference) => {
    const known = before.get(pathKey(difference))
    if (known === undefined || isRewrittenImage(difference, known)) return false
    return !isAutoscaled || difference.path.join('.') !== 'spec.replicas'
  })
  const texts = differing.map(describeDifference)
  const { removed = [], applier } = record ?? {}
  const withRemoved = (sentences: readonly string[]) => [...new Set([...sentences, ...removed])]
  // If the record of the applier contains values, it decides. `texts` describes the same differences with both values,
  // and is empty if only the record differs.
  if (record?.hasValues) return isEqualRecord(record) ? [] : withRemoved(texts.length > 0 ? texts : record.differing)
  // If the applier has written since the first list, fields beyond the manifest are defaults or from a webhook.
  const isWrittenSinceListed = () =>
    applier?.operation === 'Update' && compareWithLastApplied(manifest, listed)?.applier?.time !== applier.time
  if (removed.length > 0 && !isWrittenSinceListed()) return withRemoved(texts)
  // Without recorded values, the differences decide. After one field has arrived, fields that admission may change do
  // not count.
  const hasArrivedInPart = [...before.keys()].some((key) => now.every((difference) => pathKey(difference) !== key))
  return hasArrivedInPart && differing.every(mayAdmissionChange) ? [] : texts
}

/** Whether the object has another uid or a new generation, apart from changes of only the status or the scale. */
function hasNewVersion(listed: KubeObject, object: KubeObject): boolean {
  const { metadata: before } = listed
  const { metadata: now } = object
  if (before.uid !== now.uid) return true
  if (now.generation !== undefined) return before.generation !== now.generation && !isOnlyScaled(listed, object)
  if (before.resourceVersion === now.resourceVersion) return false
  return isDeepStrictEqual(listed.status, object.status) || !hasOnlyStatusChanges(listed, object)
}

/** Whether an autoscaler wrote the object, and at most the number of replicas has changed. */
function isOnlyScaled({ spec: before }: KubeObject, { spec: now, metadata }: KubeObject): boolean {
  const { replicas: _from, ...fieldsBefore } = (before ?? {}) as { replicas?: unknown }
  const { replicas: _to, ...fieldsNow } = (now ?? {}) as { replicas?: unknown }
  return findAutoscaler(metadata) !== undefined && isDeepStrictEqual(fieldsBefore, fieldsNow)
}

/** The autoscaler that last wrote the subresource `scale`: any writer except kubectl. */
function findAutoscaler({ managedFields = [] }: KubeObject['metadata']): ManagedFields | undefined {
  const scaler = managedFields.find(({ subresource }) => subresource === 'scale')
  return scaler?.manager?.startsWith('kubectl') ? undefined : scaler
}

function wasWrittenSinceStart({ metadata }: KubeObject, { time, startedAt }: GateTime): boolean {
  return (metadata.managedFields ?? []).some(
    (entry) => !controllerSubresources.has(entry.subresource) && mayBeSinceStart(time(entry.time), { startedAt }),
  )
}
