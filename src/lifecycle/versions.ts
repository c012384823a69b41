import { helmRevisions } from '../cluster/feed.ts'
import { isOfKind, type KubeObject } from '../cluster/objects.ts'
import type { Target } from '../plan/target.ts'
import { compareRevisions, revisionsOfRelease } from './platform/helm-revision.ts'
import { type GateTime, timestampUnitMs } from './proof.ts'
import type { Reader } from './reader.ts'
import type { TargetHistory } from './target-history.ts'
import { findCondition } from './workloads/pod-fields.ts'
import { hasOnlyToolChanges, isSameTemplate, templateChanges } from './workloads/pod-template.ts'
import {
  findRevision,
  formerRevisionNumbers,
  podTemplateOf,
  revisionNumber,
  revisionsOfWorkload,
} from './workloads/revision.ts'

/* Compares versions of an object, to find whether a target was replaced, superseded or rolled back. */

/**
 * How a later version differs from the gated object. `replaced`: the object was created again. `followed`: the gate
 * accepts the change, such as a restart. `superseded`: the gate does not accept the change. `rolled-back`: an older
 * revision is current again; `revision` is its number, if known.
 */
export interface IdentityChange {
  readonly type: 'same' | 'replaced' | 'followed' | 'superseded' | 'rolled-back'
  readonly revision?: number
}

/** The versions of an object that a later version is compared with. */
interface GatedVersions {
  /** `first` is the version that the gate saw first. */
  readonly history: Pick<TargetHistory, 'first'>
  /** The last version with the gated template: the template of `first`, or of a followed change. */
  readonly gated: KubeObject
}

/** All revisions of an object that exist now. */
export function revisionsOf(object: KubeObject, reader: Reader): readonly KubeObject[] {
  if (object.kind === helmRevisions.kind) return revisionsOfRelease(object, reader)
  return revisionsOfWorkload(object.metadata.uid, reader.listKnownOwned)
}

/** The differences between the pod templates of two versions, one line each. */
export function templateDifferences(before: KubeObject, after: KubeObject): readonly string[] {
  return templateChanges(podTemplateOf(before), podTemplateOf(after))
}

/**
 * How a later version differs from the gated versions. An object that an operator deploys is never superseded, because
 * the operator decides about its version.
 * @param revisions all known revisions of the object
 */
export function compareVersions(
  versions: GatedVersions,
  object: KubeObject,
  revisions: readonly KubeObject[],
  { deployedBy }: Pick<Target, 'deployedBy'>,
  gateTime: Pick<GateTime, 'startedAt' | 'time'>,
): IdentityChange {
  if (object.kind === helmRevisions.kind) return { type: compareRevisions(versions.gated, object, revisions) }
  const change = compareTemplates(versions, object, revisions, gateTime)
  const isOther = change.type === 'superseded' || change.type === 'rolled-back'
  return isOther && deployedBy !== undefined ? { type: 'followed' } : change
}

/**
 * Compares a later version of an object with the gated versions. Without a pod template, only the uid is compared. If
 * the first version was being deleted, a new object may have another template.
 * @param revisions all known revisions of the object
 */
function compareTemplates(
  { history: { first }, gated }: GatedVersions,
  object: KubeObject,
  revisions: readonly KubeObject[],
  gateTime: Pick<GateTime, 'startedAt' | 'time'>,
): IdentityChange {
  const [before, after] = [podTemplateOf(gated), podTemplateOf(object)]
  const isSame = before === after || isSameTemplate(before, after)
  if (object.metadata.uid !== gated.metadata.uid) {
    const isExpected = isSame || first.metadata.deletionTimestamp !== undefined || hasOnlyToolChanges(before, after)
    return { type: isExpected ? 'replaced' : 'superseded' }
  }
  if (isSame) return { type: 'same' }
  if (isSameTemplate(podTemplateOf(first), after)) return { type: 'followed' }
  const present = findRevision(before, revisions)
  const older = findRevision(
    after,
    revisions.filter((revision) => isOlderRevision(revision, present, gateTime)),
  )
  if (older !== undefined) {
    const revision = formerRevisionNumber(older, present)
    return { type: 'rolled-back', ...(revision === undefined ? {} : { revision }) }
  }
  return { type: hasOnlyToolChanges(before, after) ? 'followed' : 'superseded' }
}

/**
 * Whether a revision is older than the gated revision, which may not exist yet. A rollback gives the older revision a
 * new number, so former numbers and creation times decide. A revision from before the gate's start is always older.
 */
function isOlderRevision(
  revision: KubeObject,
  present: KubeObject | undefined,
  { startedAt, time }: Pick<GateTime, 'startedAt' | 'time'>,
): boolean {
  if (
    present !== undefined &&
    Math.min(revisionNumber(revision), ...formerRevisionNumbers(revision)) < revisionNumber(present)
  )
    return true
  // The API's timestamps are whole seconds, rounded down.
  const presentMadeAt = time(present?.metadata.creationTimestamp) ?? 0
  return (time(revision.metadata.creationTimestamp) ?? Infinity) < Math.max(presentMadeAt, startedAt - timestampUnitMs)
}

/** The number that an older revision had before the rollback. */
function formerRevisionNumber(older: KubeObject, present: KubeObject | undefined): number | undefined {
  const number = revisionNumber(older)
  const before = present === undefined ? Infinity : revisionNumber(present)
  const numbers = [...formerRevisionNumbers(older), number].filter((each) => each < before)
  return numbers.length === 0 ? undefined : Math.max(...numbers)
}

/** The log message that a pod is being deleted, and why. Undefined if the pod stays. */
export function removalMessage(before: KubeObject, after: KubeObject | undefined): string | undefined {
  if (!isOfKind(before, 'Pod')) return undefined
  const { name, deletionTimestamp } = before.metadata
  // A failed pod is deleted later, and its failure is already logged.
  if (deletionTimestamp !== undefined || before.status?.phase === 'Failed') return undefined
  // The pod was deleted by force, or between two watches.
  if (after === undefined) return `pod/${name} was deleted`
  return after.metadata.deletionTimestamp === undefined
    ? undefined
    : `pod/${name} is being deleted${disruptionText(after)}`
}

/** Why a pod is being deleted, by its condition DisruptionTarget: ` (Taint manager: deleting due to …)`. */
function disruptionText(pod: KubeObject): string {
  const disruption = findCondition(pod, 'DisruptionTarget')
  const words = disruption?.message || disruption?.reason
  return disruption?.status === 'True' && words ? ` (${words})` : ''
}
