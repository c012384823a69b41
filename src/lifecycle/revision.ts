import type { KubeObject, PodTemplate } from '../cluster/objects.ts'
import { isSameTemplate } from './template.ts'

const numberAnnotation = 'deployment.kubernetes.io/revision'
/** The numbers that a ReplicaSet had before a rollback to it (SetNewReplicaSetAnnotations, pkg/controller/deployment/util). */
const historyAnnotation = 'deployment.kubernetes.io/revision-history'

/** The kinds in which controllers keep revisions: of Deployments; of StatefulSets and DaemonSets. */
const kinds = ['ReplicaSet', 'ControllerRevision'] as const

/**
 * All revisions of a workload.
 * @param uid of the workload
 * @param owned the objects of a kind that an owner has
 */
export function revisionsOf(
  uid: string | undefined,
  owned: (uid: string | undefined, kind: string) => readonly KubeObject[],
): readonly KubeObject[] {
  return kinds.flatMap((kind) => owned(uid, kind))
}

/**
 * The pod template of a workload or of a revision; undefined for kinds without one. A ControllerRevision contains the patch
 * that restores the template (getPatch, pkg/controller/statefulset and pkg/controller/daemon).
 */
export function templateOf(object: KubeObject): PodTemplate | undefined {
  if (object.kind !== 'ControllerRevision') return (object.spec as { template?: PodTemplate } | undefined)?.template
  const { data } = object as { data?: { spec?: { template?: PodTemplate & { $patch?: string } } } }
  if (data?.spec?.template === undefined) return undefined
  const { $patch: _directive, ...template } = data.spec.template
  return template
}

/** The number of a revision: the newest has the highest, and a rollback gives it the next. NaN where it has none. */
export function numberOf(revision: KubeObject): number {
  const { metadata, revision: number } = revision as KubeObject & { revision?: number }
  return number ?? Number.parseInt(metadata.annotations?.[numberAnnotation] ?? '', 10)
}

/** The revision with the highest number; of those without numbers any. */
export function newestOf<R extends KubeObject>(revisions: readonly R[]): R | undefined {
  return revisions.toSorted((a, b) => (numberOf(b) || 0) - (numberOf(a) || 0))[0]
}

/** The numbers that a ReplicaSet had before; ControllerRevisions keep none. */
export function formerNumbersOf({ metadata }: KubeObject): readonly number[] {
  const numbers = (metadata.annotations?.[historyAnnotation] ?? '').split(',').map((text) => Number.parseInt(text, 10))
  return numbers.filter((number) => !Number.isNaN(number))
}

/**
 * The revision of a template. Several can have the same one, after an upgrade of the cluster; the controllers take one and
 * give it the highest number (FindNewReplicaSet, pkg/controller/deployment/util; dedupCurHistories, pkg/controller/daemon).
 * Without numbers it is the oldest. Undefined while the controller has not made it: paused, Recreate, not yet observed.
 */
export function findRevision<R extends KubeObject>(
  template: PodTemplate | undefined,
  revisions: readonly R[],
): R | undefined {
  const made = ({ metadata }: KubeObject) => metadata.creationTimestamp ?? ''
  const higher = (a: number, b: number) => (a === b || Number.isNaN(a - b) ? 0 : b - a)
  return revisions
    .filter((revision) => isSameTemplate(templateOf(revision), template))
    .toSorted((a, b) => higher(numberOf(a), numberOf(b)) || made(a).localeCompare(made(b)))[0]
}
