import {
  compareTimestamps,
  isOfKind,
  type KubeObject,
  type Pod,
  type ReplicaSet,
  shortName,
} from '../cluster/objects.ts'
import { assessedStatus } from '../lifecycle/assessment.ts'
import { newReplicaSet } from '../lifecycle/workloads/deployment.ts'
import {
  colored,
  dim,
  formatAge,
  type Line,
  line,
  type Mark,
  mark,
  statusMarks,
  titledLines,
  volatile,
} from './line.ts'
import { summarizePod, summarizeRestarts } from './pod.ts'
import type { TracedObject } from './trace.ts'

/* Renders the tree of the objects that a resource owns. */

/** The maximum depth: owner references may form a cycle. A usual tree: custom resource, Deployment, ReplicaSet, Pod. */
const maxDepth = 5

/** The tree of the objects that a resource owns. Empty if it owns none. */
export function treeLines(traced: TracedObject): readonly Line[] {
  return titledLines('what it owns', childrenLines(traced.object, 2, traced, maxDepth))
}

/** All objects that an object owns, directly or indirectly, down to a maximum depth. */
export function descendants(object: KubeObject, traced: TracedObject, depth = maxDepth): readonly KubeObject[] {
  if (depth === 0) return []
  return traced.owned(object.metadata.uid).flatMap((child) => [child, ...descendants(child, traced, depth - 1)])
}

function childrenLines(object: KubeObject, indent: number, traced: TracedObject, depth: number): readonly Line[] {
  if (depth === 0) return []
  const owned = traced.owned(object.metadata.uid)
  const pods = owned.filter((each) => isOfKind(each, 'Pod'))
  const sets = owned.filter((each) => isOfKind(each, 'ReplicaSet'))
  const nameWidth = Math.max(0, ...pods.map(({ metadata }) => metadata.name.length))
  const others = owned.filter(({ kind }) => !['Pod', 'ReplicaSet', 'ControllerRevision'].includes(kind))
  return [
    ...replicaSetLines(object, sets, indent, traced, depth),
    ...others.flatMap((child) => [
      objectLine(child, indent, traced),
      ...childrenLines(child, indent + 2, traced, depth - 1),
    ]),
    ...pods.toSorted(compareAge).map((pod) => podLine(pod, indent, nameWidth, traced)),
  ]
}

/** The current ReplicaSet, the previous one, which `kubectl rollout undo` restores, and all ReplicaSets with pods. */
function replicaSetLines(
  owner: KubeObject,
  sets: readonly ReplicaSet[],
  indent: number,
  traced: TracedObject,
  depth: number,
): readonly Line[] {
  const newest = sets.toSorted((a, b) => revisionOf(b) - revisionOf(a))
  const current = isOfKind(owner, 'Deployment') ? newReplicaSet(owner, traced.reader) : undefined
  const previous = newest.find((set) => set !== current)
  const hasPods = (set: ReplicaSet) =>
    (set.spec?.replicas ?? 1) > 0 || (set.status?.replicas ?? 0) > 0 || traced.owned(set.metadata.uid).length > 0
  const shown = newest.filter((set) => set === current || set === previous || hasPods(set))
  return shown.flatMap((set) => {
    const role = current === undefined ? '' : set === current ? 'current' : oldReplicaSetRole(set, hasPods(set))
    return [replicaSetLine(set, role, indent, traced), ...childrenLines(set, indent + 2, traced, depth - 1)]
  })
}

/** The role of an old ReplicaSet: its pods may still serve, until the new pods are available. */
function oldReplicaSetRole({ status }: ReplicaSet, hasPods: boolean): string {
  if (!hasPods) return 'previous'
  return (status?.availableReplicas ?? 0) > 0 ? 'still serving' : 'draining'
}

function replicaSetLine(set: ReplicaSet, role: string, indent: number, { reader }: TracedObject): Line {
  const desired = set.spec?.replicas ?? 1
  const available = set.status?.availableReplicas ?? 0
  const isEmpty = desired === 0 && (set.status?.replicas ?? 0) === 0
  const isOld = role === 'previous' || role === 'draining' || role === 'still serving'
  const isDone = isOld ? role === 'previous' || isEmpty : available >= desired
  const as: Mark = isDone ? (isOld ? '·' : '✓') : '…'
  const revision = Number.isNaN(revisionOf(set)) ? '' : `revision ${revisionOf(set)}`
  const images = (set.spec?.template?.spec?.containers ?? []).flatMap(({ image }) => image ?? [])
  const count = isEmpty ? 'scaled to zero' : `${available} of ${desired} available`
  const createdAt = reader.time(set.metadata.creationTimestamp)
  return line(
    indent,
    mark(as),
    { text: set.metadata.name, style: 'bold' },
    [revision, role].filter(Boolean).join(', ') || undefined,
    colored(`· ${count}`, as),
    images.length === 0 ? undefined : dim(`· ${images.join(', ')}`),
    createdAt === undefined ? undefined : volatile(`· ${formatAge(reader.now - createdAt)} old`),
  )
}

function podLine(pod: Pod, indent: number, width: number, { reader }: TracedObject): Line {
  const { mark: as, text, timeLeft } = summarizePod(pod, reader)
  const restarts = summarizeRestarts(pod)
  return line(
    indent,
    mark(as),
    { text: pod.metadata.name, width },
    colored(text, as),
    timeLeft === undefined ? undefined : volatile(`· ${timeLeft}`),
    restarts === '' ? undefined : colored(`· ${restarts}`, '!'),
  )
}

/** An object of another kind than Pod or ReplicaSet, with its assessment. */
function objectLine(object: KubeObject, indent: number, traced: TracedObject): Line {
  const assessment = traced.assessNonTarget(object)
  const as = statusMarks[assessedStatus(assessment)]
  return line(indent, mark(as), { text: shortName(object), style: 'bold' }, colored(assessment.message, as))
}

function revisionOf({ metadata }: ReplicaSet): number {
  return Number(metadata.annotations?.['deployment.kubernetes.io/revision'] ?? Number.NaN)
}

function compareAge(a: KubeObject, b: KubeObject): number {
  return (
    compareTimestamps(a.metadata.creationTimestamp, b.metadata.creationTimestamp) ||
    a.metadata.name.localeCompare(b.metadata.name, 'en', { numeric: true })
  )
}
