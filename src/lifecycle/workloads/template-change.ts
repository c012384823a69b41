import type { KubeObject, OwnerReference } from '../../cluster/objects.ts'
import type { RuleContext } from '../rule-context.ts'
import { formerNumbersOf, numberOf } from './revision.ts'

/** What it takes to find a workload's revisions. */
export interface Revisions {
  get(reference: { apiVersion: string; kind: string; namespace?: string; name: string }): KubeObject | undefined
  ownedBy(uid: string | undefined, kind: string): readonly KubeObject[]
}

/**
 * When the template of a pod's workload was last changed, as a timestamp of the server: when the revision of today was made.
 * Undefined where that is unknown: revisions may not be read, the workload has none, or it went back to one that it had
 * before, whose creation says nothing of that.
 * @param owner the controller of the pod
 */
export function templateChangedAt(
  owner: OwnerReference,
  namespace: string | undefined,
  revisions: Revisions,
): string | undefined {
  if (owner.kind !== 'ReplicaSet') return lastMade(revisions.ownedBy(owner.uid, 'ControllerRevision'))
  const { apiVersion, kind, name } = owner
  const own = revisions.get({ apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) })
  const deployment = own?.metadata.ownerReferences?.find(({ controller }) => controller)
  return lastMade(revisions.ownedBy(deployment?.uid, 'ReplicaSet'))
}

/**
 * When the present template of a StatefulSet or DaemonSet was made, on the runner's clock. Where its revisions may not be
 * read, or it went back to an older one: as late as the gate began. Infinity while its revision is not seen: whatever is
 * known is about another template.
 * @param present the revision of the present template
 */
export function templateMadeAt(
  { metadata }: KubeObject,
  present: KubeObject | undefined,
  context: Pick<RuleContext, 'owned' | 'startedAt' | 'time'>,
): number {
  const revisions = context.owned(metadata.uid, 'ControllerRevision')
  if (revisions.length > 0 && present === undefined) return Infinity
  return context.time(lastMade(revisions)) ?? context.startedAt
}

/** The creation of the newest revision, where it is the one that is rolled out, and never was before. */
function lastMade(revisions: readonly KubeObject[]): string | undefined {
  const made = ({ metadata }: KubeObject) => metadata.creationTimestamp ?? ''
  const newest = revisions.toSorted((a, b) => made(b).localeCompare(made(a)) || numberOf(b) - numberOf(a))[0]
  if (newest === undefined || formerNumbersOf(newest).length > 0) return undefined
  const isLatest = revisions.every((each) => numberOf(each) <= numberOf(newest))
  return isLatest ? newest.metadata.creationTimestamp : undefined
}
