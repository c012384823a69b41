import type { Deployment, KubeObject, Pod, ReplicaSet } from '../cluster/objects.ts'
import { kindsBehind, ruleOf } from '../lifecycle/rules.ts'
import { newReplicaSet } from '../lifecycle/workloads/deployment.ts'
import { observeTarget } from '../lifecycle/workloads/history.ts'
import { pluralOf } from '../plan/kinds.ts'
import { age, colored, dim, emptyLine, heading, type Line, line, type Mark, mark, volatile } from './line.ts'
import { restartWords, summarizePod } from './pod.ts'
import type { DepartedObject, TracedObject } from './trace.ts'

/** Owners may name each other in a circle; an operator's resource → Deployment → ReplicaSet → Pod is the deepest honest one. */
const deepest = 5

/** What a resource owns, and what that owns, with what left lately. Empty for one that owns nothing. */
export function treeLines(traced: TracedObject): readonly Line[] {
  const lines = childrenLines(traced.object, 2, traced, deepest)
  return lines.length === 0 ? [] : [emptyLine, line(0, heading(headingOf(traced.object))), ...lines]
}

/** Pods, one a line, in columns. */
function podLines(pods: readonly Pod[], indent: number, traced: TracedObject): readonly Line[] {
  const width = widest(pods)
  return pods.map((pod) => podLine(pod, indent, width, traced))
}

/** All that a resource owns, down to the depth that is drawn. */
export function descendants(object: KubeObject, traced: TracedObject, depth = deepest): readonly KubeObject[] {
  if (depth === 0) return []
  return traced.owned(object.metadata.uid).flatMap((child) => [child, ...descendants(child, traced, depth - 1)])
}

/** `ReplicaSets and pods`, `Jobs and pods`, `pods`. */
function headingOf(object: KubeObject): string {
  const { kinds, isKnown } = kindsBehind(object)
  if (!isKnown) return 'what it owns'
  return kinds.map(({ kind }) => (kind === 'Pod' ? 'pods' : pluralOf(kind))).join(' and ')
}

function childrenLines(object: KubeObject, indent: number, traced: TracedObject, depth: number): readonly Line[] {
  if (depth === 0) return []
  const owned = traced.owned(object.metadata.uid)
  const pods = owned.filter(({ kind }) => kind === 'Pod') as readonly Pod[]
  const sets = owned.filter(({ kind }) => kind === 'ReplicaSet') as readonly ReplicaSet[]
  const others = owned.filter(({ kind }) => !['Pod', 'ReplicaSet', 'ControllerRevision'].includes(kind))
  return [
    ...replicaSetLines(object, sets, indent, traced, depth),
    ...others.flatMap((child) => [
      otherLine(child, indent, traced),
      ...childrenLines(child, indent + 2, traced, depth - 1),
    ]),
    ...podLines(pods.toSorted(byAge), indent, traced),
    ...traced.departed
      .filter(
        ({ from, object: { metadata } }) =>
          from === object.metadata.uid && !owned.some((each) => each.metadata.uid === metadata.uid),
      )
      .map((parting) => departedLine(parting, indent, traced)),
  ]
}

/** The current ReplicaSet, those that still have pods, and the one that an undo would go back to. */
function replicaSetLines(
  owner: KubeObject,
  sets: readonly ReplicaSet[],
  indent: number,
  traced: TracedObject,
  depth: number,
): readonly Line[] {
  const newest = sets.toSorted((a, b) => revisionOf(b) - revisionOf(a))
  const current = owner.kind === 'Deployment' ? newReplicaSet(owner as Deployment, traced.context) : undefined
  const previous = newest.find((set) => set !== current)
  const hasPods = (set: ReplicaSet) =>
    (set.spec?.replicas ?? 1) > 0 || (set.status?.replicas ?? 0) > 0 || traced.owned(set.metadata.uid).length > 0
  const hasDepartedPods = ({ metadata }: ReplicaSet) => traced.departed.some(({ from }) => from === metadata.uid)
  const shown = newest.filter((set) => set === current || set === previous || hasPods(set) || hasDepartedPods(set))
  return shown.flatMap((set) => {
    const role = current === undefined ? '' : set === current ? 'current' : hasPods(set) ? 'draining' : 'previous'
    return [replicaSetLine(set, role, indent, traced), ...childrenLines(set, indent + 2, traced, depth - 1)]
  })
}

function replicaSetLine(set: ReplicaSet, role: string, indent: number, { context }: TracedObject): Line {
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
  const madeAt = context.time(set.metadata.creationTimestamp)
  return line(
    indent,
    mark(as),
    { text: set.metadata.name, style: 'bold' },
    [revision, role].filter(Boolean).join(', ') || undefined,
    colored(`· ${count}`, as),
    images.length === 0 ? undefined : dim(`· ${images.join(', ')}`),
    madeAt === undefined ? undefined : volatile(`· ${age(context.now - madeAt)} old`),
  )
}

function podLine(pod: Pod, indent: number, width: number, { context }: TracedObject): Line {
  const { mark: as, words, timeLeft } = summarizePod(pod, context)
  const restarts = restartWords(pod)
  return line(
    indent,
    mark(as),
    { text: pod.metadata.name, width },
    colored(words, as),
    timeLeft === undefined ? undefined : volatile(`· ${timeLeft}`),
    restarts === '' ? undefined : colored(`· ${restarts}`, '!'),
  )
}

/** An object of any other kind, as its own lifecycle rule judges it. */
function otherLine(object: KubeObject, indent: number, { context }: TracedObject): Line {
  const { status, message } = ruleOf(object).assess(object, {
    ...context,
    history: observeTarget(undefined, object, context.now),
  })
  const as: Mark = status === 'ready' ? '✓' : status === 'failed' ? '✗' : '…'
  return line(
    indent,
    mark(as),
    { text: `${object.kind.toLowerCase()}/${object.metadata.name}`, style: 'bold' },
    colored(message, as),
  )
}

function departedLine({ object, at, how }: DepartedObject, indent: number, { context }: TracedObject): Line {
  const words = how === 'deleted' ? 'gone: it was deleted' : 'left: its labels no longer match; it runs on by itself'
  return line(indent, mark('·'), dim(object.metadata.name), dim(words), volatile(`· ${age(context.now - at)} ago`))
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
