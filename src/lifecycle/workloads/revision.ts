import type { KubeObject, PodTemplate } from '../../cluster/objects.ts'
import type { Fields } from '../conditions.ts'
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

/** Every change of a pod has its workload judged again, whose revisions stay the same objects. */
const templates = new WeakMap<KubeObject, PodTemplate | undefined>()

/**
 * The pod template of a workload or of a revision; undefined for kinds without one, and for custom kinds whose `template` is
 * something else. A ControllerRevision contains the patch that restores the template (getPatch, pkg/controller/statefulset
 * and pkg/controller/daemon).
 */
export function templateOf(object: KubeObject): PodTemplate | undefined {
  if (!templates.has(object)) templates.set(object, readTemplate(object))
  return templates.get(object)
}

function readTemplate(object: KubeObject): PodTemplate | undefined {
  const { spec, data } = object as { spec?: Fields; data?: { spec?: Fields } }
  const template = object.kind === 'ControllerRevision' ? data?.spec?.['template'] : spec?.['template']
  if (!isPodTemplate(template)) return undefined
  const { $patch: _directive, ...rest } = template as PodTemplate & { $patch?: string }
  return rest
}

function isPodTemplate(template: unknown): template is PodTemplate {
  if (!isFields(template)) return false
  const { spec = {} } = template
  if (!isFields(spec)) return false
  return [spec['containers'], spec['initContainers']].every((list) =>
    isListOf(list, ({ env }) => isListOf(env, ({ name }) => typeof name === 'string')),
  )
}

function isListOf(list: unknown, isItem: (item: Fields) => boolean): boolean {
  return list === undefined || list === null || (Array.isArray(list) && list.every((it) => isFields(it) && isItem(it)))
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
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
