import type { Deployment, KubeObject, Pod, ReplicaSet } from '../cluster/objects.ts'
import { ruleOf } from '../lifecycle/rules.ts'
import { newReplicaSet } from '../lifecycle/workloads/deployment.ts'
import { observeTarget } from '../lifecycle/workloads/history.ts'
import { emptyLine, type Line, line } from './line.ts'
import { age, dim, heading, type Mark, mark, marked, ticking } from './marks.ts'
import { podWords, restartWords } from './pod-words.ts'
import type { Parting, Present } from './scene.ts'

/** Owners may name each other in a circle; an operator's resource → Deployment → ReplicaSet → Pod is the deepest honest one. */
const deepest = 5

/** What a resource owns, and what that owns, with what left lately. Empty for one that owns nothing. */
export function treeLines(present: Present): readonly Line[] {
  const lines = childrenLines(present.object, 2, present, deepest)
  return lines.length === 0 ? [] : [emptyLine, line(0, heading(headingOf(present.object))), ...lines]
}

/** Pods, one a line, in columns. */
function podLines(pods: readonly Pod[], indent: number, present: Present): readonly Line[] {
  const width = widest(pods)
  return pods.map((pod) => podLine(pod, indent, width, present))
}

/** All that a resource owns, down to the depth that is drawn. */
export function descendants(object: KubeObject, present: Present, depth = deepest): readonly KubeObject[] {
  if (depth === 0) return []
  return present.owned(object.metadata.uid).flatMap((child) => [child, ...descendants(child, present, depth - 1)])
}

function headingOf({ kind }: KubeObject): string {
  if (kind === 'Deployment') return 'ReplicaSets and pods'
  return kind === 'CronJob' ? 'Jobs and pods' : ruleOwnsPods.has(kind) ? 'pods' : 'what it owns'
}

const ruleOwnsPods: ReadonlySet<string> = new Set([
  'ReplicaSet',
  'ReplicationController',
  'StatefulSet',
  'DaemonSet',
  'Job',
])

function childrenLines(object: KubeObject, indent: number, present: Present, depth: number): readonly Line[] {
  if (depth === 0) return []
  const owned = present.owned(object.metadata.uid)
  const pods = owned.filter(({ kind }) => kind === 'Pod') as readonly Pod[]
  const sets = owned.filter(({ kind }) => kind === 'ReplicaSet') as readonly ReplicaSet[]
  const others = owned.filter(({ kind }) => !['Pod', 'ReplicaSet', 'ControllerRevision'].includes(kind))
  return [
    ...replicaSetLines(object, sets, indent, present, depth),
    ...others.flatMap((child) => [
      otherLine(child, indent, present),
      ...childrenLines(child, indent + 2, present, depth - 1),
    ]),
    ...podLines(pods.toSorted(byAge), indent, present),
    ...present.partings
      .filter(
        ({ from, object: { metadata } }) =>
          from === object.metadata.uid && !owned.some((each) => each.metadata.uid === metadata.uid),
      )
      .map((parting) => partingLine(parting, indent, present)),
  ]
}

/** The current ReplicaSet, those that still have pods, and the one that an undo would go back to. */
function replicaSetLines(
  owner: KubeObject,
  sets: readonly ReplicaSet[],
  indent: number,
  present: Present,
  depth: number,
): readonly Line[] {
  const newest = sets.toSorted((a, b) => revisionOf(b) - revisionOf(a))
  const current = owner.kind === 'Deployment' ? newReplicaSet(owner as Deployment, present.view) : undefined
  const previous = newest.find((set) => set !== current)
  const hasPods = (set: ReplicaSet) =>
    (set.spec?.replicas ?? 1) > 0 || (set.status?.replicas ?? 0) > 0 || present.owned(set.metadata.uid).length > 0
  const hasParted = ({ metadata }: ReplicaSet) => present.partings.some(({ from }) => from === metadata.uid)
  const shown = newest.filter((set) => set === current || set === previous || hasPods(set) || hasParted(set))
  return shown.flatMap((set) => {
    const role = current === undefined ? '' : set === current ? 'current' : hasPods(set) ? 'draining' : 'previous'
    return [replicaSetLine(set, role, indent, present), ...childrenLines(set, indent + 2, present, depth - 1)]
  })
}

function replicaSetLine(set: ReplicaSet, role: string, indent: number, { view }: Present): Line {
  const wanted = set.spec?.replicas ?? 1
  const available = set.status?.availableReplicas ?? 0
  const isEmpty = wanted === 0 && (set.status?.replicas ?? 0) === 0
  const as: Mark =
    role === 'previous' || (role === 'draining' && isEmpty)
      ? '·'
      : role === 'draining'
        ? '…'
        : available >= wanted
          ? '✓'
          : '…'
  const revision = Number.isNaN(revisionOf(set)) ? '' : `revision ${revisionOf(set)}`
  const images = (set.spec?.template?.spec?.containers ?? []).flatMap(({ image }) => image ?? [])
  const count = isEmpty ? 'scaled to zero' : `${available} of ${wanted} available`
  const madeAt = view.time(set.metadata.creationTimestamp)
  return line(
    indent,
    mark(as),
    { text: set.metadata.name, style: 'bold' },
    [revision, role].filter(Boolean).join(', ') || undefined,
    marked(`· ${count}`, as),
    images.length === 0 ? undefined : dim(`· ${images.join(', ')}`),
    madeAt === undefined ? undefined : ticking(`· ${age(view.now - madeAt)} old`),
  )
}

function podLine(pod: Pod, indent: number, width: number, { view }: Present): Line {
  const { mark: as, words, ticking: ticks } = podWords(pod, view)
  const restarts = restartWords(pod)
  return line(
    indent,
    mark(as),
    { text: pod.metadata.name, width },
    marked(words, as),
    ticks === undefined ? undefined : ticking(`· ${ticks}`),
    restarts === '' ? undefined : marked(`· ${restarts}`, '!'),
  )
}

/** An object of any other kind, as its own lifecycle rule judges it. */
function otherLine(object: KubeObject, indent: number, { view }: Present): Line {
  const { status, message } = ruleOf(object).assess(object, {
    ...view,
    history: observeTarget(undefined, object, view.now),
  })
  const as: Mark = status === 'ready' ? '✓' : status === 'failed' ? '✗' : '…'
  return line(
    indent,
    mark(as),
    { text: `${object.kind.toLowerCase()}/${object.metadata.name}`, style: 'bold' },
    marked(message, as),
  )
}

function partingLine({ object, at, how }: Parting, indent: number, { view }: Present): Line {
  const words = how === 'gone' ? 'gone: it was deleted' : 'left: its labels no longer match; it runs on by itself'
  return line(indent, mark('·'), dim(object.metadata.name), dim(words), ticking(`· ${age(view.now - at)} ago`))
}

function revisionOf({ metadata }: ReplicaSet): number {
  return Number(metadata.annotations?.['deployment.kubernetes.io/revision'] ?? Number.NaN)
}

function byAge(a: KubeObject, b: KubeObject): number {
  return (
    (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? '') ||
    a.metadata.name.localeCompare(b.metadata.name, 'en', { numeric: true })
  )
}

function widest(objects: readonly KubeObject[]): number {
  return Math.max(0, ...objects.map(({ metadata }) => metadata.name.length))
}
