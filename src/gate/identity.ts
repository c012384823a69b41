import { specAuthorOf } from '../cluster/author.ts'
import type { KubeObject } from '../cluster/objects.ts'
import type { GateTime } from '../lifecycle/gate-time.ts'
import { findRevision, formerNumbersOf, numberOf, templateOf } from '../lifecycle/workloads/revision.ts'
import { isFollowedChange, isSameTemplate } from '../lifecycle/workloads/template.ts'
import { templateChanges } from '../lifecycle/workloads/template-diff.ts'

/** What a later version of the gated object means; `revision` is the number of the older one, where that is known. */
export interface IdentityChange {
  readonly type: 'same' | 'replaced' | 'followed' | 'superseded' | 'rolled-back'
  readonly revision?: number
}

/**
 * Compares a later version of an object with the gated one (DESIGN §2, Identity). Kinds without a template are their uid
 * alone.
 * @param gated the last version of the object that has the gated template
 * @param revisions all known revisions of the object
 */
export function compareIdentity(
  gated: KubeObject,
  object: KubeObject,
  revisions: readonly KubeObject[],
  gateTime: Pick<GateTime, 'startedAt' | 'time'>,
): IdentityChange {
  if (object.metadata.uid !== gated.metadata.uid) return { type: 'replaced' }
  const [before, after] = [templateOf(gated), templateOf(object)]
  if (before === after || isSameTemplate(before, after)) return { type: 'same' }
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
 * Whether a revision is older than that of the gated template, which may not be made yet. A rollback gives the older
 * revision the next number, and its event can arrive before that of the object: then its former numbers show its age, or
 * its creation. A revision that existed before the gate began, and has another template, is always older.
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
  return (time(revision.metadata.creationTimestamp) ?? Infinity) < Math.max(presentMadeAt, startedAt - 1_000)
}

/** The number that an older revision had before it was rolled back to. */
function formerNumber(older: KubeObject, present: KubeObject | undefined): number | undefined {
  const number = numberOf(older)
  const before = present === undefined ? Infinity : numberOf(present)
  const numbers = [...formerNumbersOf(older), number].filter((each) => each < before)
  return numbers.length === 0 ? undefined : Math.max(...numbers)
}

/** How a target was rolled back or superseded: by whom, to which revision or with which differences. */
export function identityMessage(change: IdentityChange, gated: KubeObject, object: KubeObject): string {
  const author = specAuthorOf(gated, object)
  const by = author === undefined ? '' : ` by ${author}`
  const generations = `(generation ${gated.metadata.generation} → ${object.metadata.generation})`
  if (change.type === 'rolled-back') {
    const revision = change.revision === undefined ? 'an older revision' : `revision ${change.revision}`
    return `was rolled back to ${revision} during the wait${by} ${generations}`
  }
  const [difference, ...others] = templateChanges(templateOf(gated), templateOf(object))
  const more = others.length === 0 ? '' : `, and ${others.length} more`
  const what = difference === undefined ? '' : `: ${difference}${more}`
  return `another change${by} replaced the one being gated ${generations}${what}`
}
