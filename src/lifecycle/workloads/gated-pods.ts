import type { KubeObject, Pod } from '../../cluster/objects.ts'
import type { Assessment } from '../assessment.ts'
import { condition } from './pod-object.ts'

/** The pods of the revision that is gated; of a bare pod, itself. */
export function gatedPods(
  object: KubeObject | undefined,
  assessment: Assessment | undefined,
  podWithUid: (uid: string) => KubeObject | undefined,
): readonly Pod[] {
  if (object?.kind === 'Pod') return [object as Pod]
  return [...(assessment?.pods ?? [])].flatMap((uid) => (podWithUid(uid) as Pod | undefined) ?? [])
}

/** Why a pod of the gated revision goes, which its controller then replaces; undefined while it stays. */
export function removalMessage(before: Pod, after: Pod | undefined): string | undefined {
  const { name, deletionTimestamp, ownerReferences = [] } = before.metadata
  const owner = ownerReferences.find(({ controller }) => controller)?.kind ?? 'controller'
  // A pod that failed is deleted later; its failure has been logged.
  if (deletionTimestamp !== undefined || before.status?.phase === 'Failed') return undefined
  // Deleted by force, or while nobody watched: an object whose labels no longer match is reported as changed.
  if (after === undefined) return `pod ${name} was deleted`
  if (after.metadata.deletionTimestamp !== undefined) {
    const isForced = after.metadata.deletionGracePeriodSeconds === 0 && isGraceful(before)
    return `pod ${name} ${isForced ? 'was deleted by force' : 'is being deleted'}${disruptionOf(after)}`
  }
  const isReleased = (after.metadata.ownerReferences ?? []).length < ownerReferences.length
  return isReleased ? `pod ${name} left its ${owner}: its labels no longer match` : undefined
}

/** Whether a deletion gives the pod time to end: one without a node has nothing to end. */
function isGraceful({ spec }: Pod): boolean {
  return (spec?.nodeName ?? '') !== '' && spec?.terminationGracePeriodSeconds !== 0
}

/** What takes a pod away, by its condition DisruptionTarget: ` (Taint manager: deleting due to …)`. */
function disruptionOf(pod: Pod): string {
  const disruption = condition(pod, 'DisruptionTarget')
  const words = disruption?.message || disruption?.reason
  return disruption?.status === 'True' && words ? ` (${words})` : ''
}
