import { helmRevisions } from '../cluster/feed.ts'
import { isOfKind, type KubeObject } from '../cluster/objects.ts'
import type { Target } from '../plan/target.ts'
import { compareRevisions, revisionsOfRelease } from './platform/helm-revision.ts'
import { type GateTime, timestampUnitMs } from './proof.ts'
import type { Reader } from './reader.ts'
import type { TargetHistory } from './target-history.ts'
import { condition } from './workloads/pod-fields.ts'
import {
  findRevision,
  formerRevisionNumbers,
  revisionNumber,
  revisionsOfWorkload,
  templateOf,
} from './workloads/revision.ts'
import { hasOnlyToolChanges, isSameTemplate, templateChanges } from './workloads/template.ts'

/**
 * How a later version differs from the gated object. `replaced`: recreated. `followed`: the gate accepts the change,
 * such as a restart, or the return to the template that was gated first. `superseded`: the gate does not.
 * `rolled-back`: an older revision is the present one again; `revision` is its number, if known.
 */
export interface IdentityChange {
  readonly type: 'same' | 'replaced' | 'followed' | 'superseded' | 'rolled-back'
  readonly revision?: number
}

/** The versions of an object with which a later one is compared. */
interface GatedVersions {
  /** Its `first` is the version that was gated first. */
  readonly history: Pick<TargetHistory, 'first'>
  /** The last version with the gated template: the template of `first`, or of a change that the gate followed. */
  readonly gated: KubeObject
}

/** All revisions of an object that exist now. */
export function revisionsOf(object: KubeObject, reader: Reader): readonly KubeObject[] {
  if (object.kind === helmRevisions.kind) return revisionsOfRelease(object, reader)
  return revisionsOfWorkload(object.metadata.uid, reader.listKnownOwned)
}

/** How the templates of two versions differ, one line each. */
export function templateDifferences(before: KubeObject, after: KubeObject): readonly string[] {
  return templateChanges(templateOf(before), templateOf(after))
}

/**
 * How a later version differs from the gated ones. What an operator deployed is not superseded: the operator states which
 * version is deployed, and corrects changes by others.
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
 * Compares a later version of an object with the gated ones. Without a template, only the uid is compared. An object
 * that was being deleted when it was gated first is expected to come back with another template.
 * @param revisions all known revisions of the object
 */
function compareTemplates(
  { history: { first }, gated }: GatedVersions,
  object: KubeObject,
  revisions: readonly KubeObject[],
  gateTime: Pick<GateTime, 'startedAt' | 'time'>,
): IdentityChange {
  const [before, after] = [templateOf(gated), templateOf(object)]
  const isSame = before === after || isSameTemplate(before, after)
  if (object.metadata.uid !== gated.metadata.uid) {
    const isExpected = isSame || first.metadata.deletionTimestamp !== undefined || hasOnlyToolChanges(before, after)
    return { type: isExpected ? 'replaced' : 'superseded' }
  }
  if (isSame) return { type: 'same' }
  if (isSameTemplate(templateOf(first), after)) return { type: 'followed' }
  const present = findRevision(before, revisions)
  const older = findRevision(
    after,
    revisions.filter((revision) => isOlderRevision(revision, present, gateTime)),
  )
  if (older !== undefined) {
    const revision = formerNumber(older, present)
    return { type: 'rolled-back', ...(revision === undefined ? {} : { revision }) }
  }
  return { type: hasOnlyToolChanges(before, after) ? 'followed' : 'superseded' }
}

/**
 * Whether a revision is older than the gated one, which may not exist yet. A rollback gives the older revision a new
 * number, so its former numbers and its creation time decide. A revision with another template is always older if it
 * existed before the gate's start.
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
function formerNumber(older: KubeObject, present: KubeObject | undefined): number | undefined {
  const number = revisionNumber(older)
  const before = present === undefined ? Infinity : revisionNumber(present)
  const numbers = [...formerRevisionNumbers(older), number].filter((each) => each < before)
  return numbers.length === 0 ? undefined : Math.max(...numbers)
}

/** That a pod of the gated revision is deleted and replaced, and why; undefined while it stays. */
export function removalMessage(before: KubeObject, after: KubeObject | undefined): string | undefined {
  if (!isOfKind(before, 'Pod')) return undefined
  const { name, deletionTimestamp } = before.metadata
  // A failed pod is deleted later; its failure is already logged.
  if (deletionTimestamp !== undefined || before.status?.phase === 'Failed') return undefined
  // Deleted by force, or between two watches. An object whose labels no longer match is reported as changed.
  if (after === undefined) return `pod/${name} was deleted`
  return after.metadata.deletionTimestamp === undefined
    ? undefined
    : `pod/${name} is being deleted${disruptionText(after)}`
}

/** The cause of a pod's removal, by its condition DisruptionTarget: ` (Taint manager: deleting due to …)`. */
function disruptionText(pod: KubeObject): string {
  const disruption = condition(pod, 'DisruptionTarget')
  const words = disruption?.message || disruption?.reason
  return disruption?.status === 'True' && words ? ` (${words})` : ''
}
