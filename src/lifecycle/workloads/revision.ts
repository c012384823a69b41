import { isDeepStrictEqual } from 'node:util'
import {
  cachePerObject,
  compareTimestamps,
  type Fields,
  isObject,
  type KubeObject,
  type PodTemplate,
} from '../../cluster/objects.ts'
import type { GateTime } from '../proof.ts'
import type { Reader } from '../reader.ts'
import { specWrittenAt } from '../stale-status.ts'
import { isSameTemplate } from './pod-template.ts'

/* The revisions of a workload: ReplicaSets of a Deployment, ControllerRevisions of a StatefulSet or DaemonSet. */

/** The label of a pod that contains the name or hash of its ControllerRevision. */
export const hashLabel = 'controller-revision-hash'

const numberAnnotation = 'deployment.kubernetes.io/revision'
/**
 * The annotation that contains former revision numbers of a ReplicaSet: each rollback to the ReplicaSet adds one
 * (SetNewReplicaSetAnnotations, pkg/controller/deployment/util).
 */
const historyAnnotation = 'deployment.kubernetes.io/revision-history'

const revisionKinds = ['ReplicaSet', 'ControllerRevision'] as const

/** Finds the objects of a kind that the object with this uid owns. */
type OwnedBy = (uid: string | undefined, kind: string) => readonly KubeObject[]

/** All revisions of the workload with this uid. */
export function revisionsOfWorkload(uid: string | undefined, ownedBy: OwnedBy): readonly KubeObject[] {
  return revisionKinds.flatMap((kind) => ownedBy(uid, kind))
}

/**
 * The pod template of a workload or revision; undefined if there is none. A ControllerRevision contains the patch that
 * restores the template (getPatch, pkg/controller/statefulset and pkg/controller/daemon). Undefined for a Job too: only
 * a queue such as Kueue changes its template, to choose where the pods of a suspended Job run (ValidateJobUpdate,
 * pkg/apis/batch/validation). Cached, because each change of a pod compares the same revisions again.
 */
export const podTemplateOf = cachePerObject((object: KubeObject): PodTemplate | undefined => {
  if (object.kind === 'Job' && object.apiVersion.startsWith('batch/')) return undefined
  const { spec, data } = object as { spec?: Fields; data?: { spec?: Fields } }
  const template = object.kind === 'ControllerRevision' ? data?.spec?.['template'] : spec?.['template']
  if (!isPodTemplate(template)) return undefined
  if (!('$patch' in template)) return template
  const { $patch: _directive, ...rest } = template as PodTemplate & { $patch?: string }
  return rest
})

function isPodTemplate(template: unknown): template is PodTemplate {
  if (!isObject(template)) return false
  const { spec = {} } = template
  if (!isObject(spec)) return false
  return [spec['containers'], spec['initContainers']].every((list) =>
    isListOf(list, ({ env }) => isListOf(env, ({ name }) => typeof name === 'string')),
  )
}

function isListOf(list: unknown, isItem: (item: Fields) => boolean): boolean {
  return list === undefined || list === null || (Array.isArray(list) && list.every((it) => isObject(it) && isItem(it)))
}

/** The number of a revision; NaN if it has none. A rollback gives the restored revision the next, highest number. */
export function revisionNumber(revision: KubeObject): number {
  const { metadata, revision: number } = revision as KubeObject & { revision?: number }
  return number ?? Number.parseInt(metadata.annotations?.[numberAnnotation] ?? '', 10)
}

/** The revision with the highest number; if no revision has a number, the first. */
export function newestRevision<R extends KubeObject>(revisions: readonly R[]): R | undefined {
  return revisions.toSorted((a, b) => (revisionNumber(b) || 0) - (revisionNumber(a) || 0))[0]
}

/** The former numbers of a ReplicaSet; ControllerRevisions have none. */
export function formerRevisionNumbers({ metadata }: KubeObject): readonly number[] {
  const numbers = metadata.annotations?.[historyAnnotation]?.split(',').map((text) => Number.parseInt(text, 10))
  return numbers?.filter((number) => !Number.isNaN(number)) ?? []
}

/** Whether a rollback has restored this ReplicaSet: then it was created before it became the present one. */
export function isRestoredRevision(revision: KubeObject): boolean {
  return formerRevisionNumbers(revision).length > 0
}

export function creationTimestampOf({ metadata }: KubeObject): string {
  return metadata.creationTimestamp ?? ''
}

/**
 * The revision with this template; undefined until the controller has created it. After an upgrade of the cluster,
 * several revisions may have the same template: the controllers give one of them the highest number (FindNewReplicaSet,
 * pkg/controller/deployment/util; dedupCurHistories, pkg/controller/daemon).
 */
export function findRevision<R extends KubeObject>(
  template: PodTemplate | undefined,
  revisions: readonly R[],
): R | undefined {
  return newestRevision(revisions.filter((revision) => isSameTemplate(podTemplateOf(revision), template)))
}

/** Whether two versions of a revision have the same owners and numbers. Most changes concern only its status. */
export function isRevisionUnchanged(before: KubeObject | undefined, after: KubeObject | undefined): boolean {
  if (before === undefined || after === undefined) return false
  const ownersAndNumbers = (object: KubeObject) => [
    object.metadata.ownerReferences,
    revisionNumber(object),
    formerRevisionNumbers(object),
  ]
  return isDeepStrictEqual(ownersAndNumbers(before), ownersAndNumbers(after))
}

/**
 * When the template of a workload last changed, as a timestamp of the server: when its present revision was created.
 * Undefined if the revisions cannot be read or do not exist, or if a rollback restored an older one.
 * @param uid the workload's uid
 */
export function templateChangedAt(uid: string, ownedBy: OwnedBy): string | undefined {
  return lastCreationTimestamp(revisionsOfWorkload(uid, ownedBy))
}

/**
 * When the present template of a workload replaced the previous one, on the runner's clock; undefined if unknown.
 * @param present the revision of the present template; undefined until its controller has observed the template
 * @param restoredAt when a rollback restored an older revision; by default, the last write of the spec
 */
export function templateBecamePresentAt(
  workload: KubeObject,
  present: KubeObject | undefined,
  reader: Reader,
  restoredAt?: number,
): number | undefined {
  // No version is newer than the last write of the spec.
  const writtenAt = specWrittenAt(workload, reader)
  if (present === undefined) return writtenAt
  const revisions = reader.listKnownOwned(workload.metadata.uid, present.kind)
  // The controller has not yet given `present` the highest number.
  if (revisions.some((other) => revisionNumber(other) > revisionNumber(present))) return writtenAt
  const created = lastCreationTimestamp(revisions)
  return created === undefined ? (restoredAt ?? writtenAt) : (reader.time(created) ?? writtenAt)
}

/**
 * When the present template of a StatefulSet or DaemonSet was created, on the runner's clock; if unknown, the gate's
 * start. Infinity until its revision exists, because all Events so far concern another template.
 * @param present the revision of the present template
 */
export function templateCreatedAt(
  { metadata }: KubeObject,
  present: KubeObject | undefined,
  reader: Pick<GateTime, 'startedAt' | 'time'> & { readonly listKnownOwned: OwnedBy },
): number {
  const revisions = reader.listKnownOwned(metadata.uid, 'ControllerRevision')
  if (revisions.length > 0 && present === undefined) return Infinity
  return reader.time(lastCreationTimestamp(revisions)) ?? reader.startedAt
}

/** When the newest revision was created; undefined if a rollback has restored this or an older revision. */
function lastCreationTimestamp(revisions: readonly KubeObject[]): string | undefined {
  const lastCreated = revisions.toSorted(
    (a, b) =>
      compareTimestamps(creationTimestampOf(b), creationTimestampOf(a)) || revisionNumber(b) - revisionNumber(a),
  )[0]
  if (lastCreated === undefined || isRestoredRevision(lastCreated)) return undefined
  const hasHighestNumber = revisions.every((each) => revisionNumber(each) <= revisionNumber(lastCreated))
  return hasHighestNumber ? lastCreated.metadata.creationTimestamp : undefined
}
