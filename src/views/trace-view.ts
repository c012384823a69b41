import {
  compareLastOccurrence,
  compareTimestamps,
  groupOf,
  isOfKind,
  type KubeObject,
  lastOccurrence,
  type ObjectOf,
  type Pod,
  type ReplicaSet,
  shortName,
  subjectText,
} from '../cluster/objects.ts'
import { targetHint } from '../diagnosis/hints.ts'
import { assessedStatus } from '../lifecycle/assessment.ts'
import { assessNonTarget, readerWithoutWatches } from '../lifecycle/custom/dependents.ts'
import { readCondition } from '../lifecycle/custom/status-conditions.ts'
import { kindRule } from '../lifecycle/rules.ts'
import { presentConditions } from '../lifecycle/stale-status.ts'
import { newReplicaSet } from '../lifecycle/workloads/deployment.ts'
import { eventCount } from '../lifecycle/workloads/pod-fields.ts'
import { displayName, type Target } from '../plan/target.ts'
import { classOf, messageOf, type Problem, traitsOf } from '../reasons/reasons.ts'
import { formatElapsed } from '../report/target-record.ts'
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
import { containerLines, summarizePod, summarizeRestarts } from './pod.ts'
import { selectedPods, serviceLines, serviceType } from './service.ts'
import type { TracedObject, TraceState } from './trace.ts'

/* Renders the state of a trace (`trace.ts`) as lines of a view, with the tree of the objects that a resource owns. */

/**
 * Renders a resource: status, problems with hints, milestones, dependent objects, conditions and latest events.
 * @param rows the height of the terminal: further lines are left out
 */
export function renderTrace(state: TraceState, rows = Number.POSITIVE_INFINITY): readonly Line[] {
  const view = viewLines(state)
  if (view.length <= rows) return view
  const shown = view.slice(0, Math.max(0, rows - 1))
  return [...shown, line(0, dim(`… ${view.length - shown.length} more lines: make the window taller`))]
}

function viewLines(state: TraceState): readonly Line[] {
  const { traced, connectionError } = state
  const warnings = [...state.problems]
  if (connectionError !== undefined) warnings.push(`the server does not answer at present: ${connectionError}`)
  return [
    titleLine(state),
    statusLine(state),
    ...warnings.map((warning) => line(0, mark('!'), colored(warning, '!'))),
    ...(traced === undefined
      ? []
      : [
          ...problemLines(state, traced),
          ...milestoneLines(traced),
          ...dependentLines(traced),
          ...conditionLines(traced),
          ...latestEventLines(traced),
        ]),
  ]
}

function titleLine({ target, traced, now, startedAt }: TraceState): Line {
  const { namespace } = target
  const about = traced === undefined ? undefined : describeObject(traced)
  return line(
    0,
    { text: displayName(target), style: 'bold' },
    namespace === undefined ? undefined : dim(`in ${namespace}`),
    about === undefined ? undefined : `· ${about}`,
    volatile(`· ${formatElapsed(now - startedAt)}`),
  )
}

/** For the title: the revision of a Deployment, the type of a Service, or the address of a pod. */
function describeObject({ object }: TracedObject): string | undefined {
  if (isKind(object, '', 'Service')) return serviceType(object)
  const revision = object.metadata.annotations?.['deployment.kubernetes.io/revision']
  if (revision !== undefined) return `revision ${revision}`
  return (isKind(object, '', 'Pod') && object.status?.podIP) || undefined
}

function statusLine({ target, traced, isLoading, isReady }: TraceState): Line {
  if (traced === undefined) {
    if (isLoading) return line(0, mark('…'), 'looking')
    if (isReady) return line(0, mark('✓'), { text: 'ready', style: 'bold' }, '· it does not exist')
    return line(0, mark('…'), `waiting for ${displayName(target)} to be created`)
  }
  const { message, problems } = traced.assessment
  const status = assessedStatus(traced.assessment)
  const terminating = problems.find((problem) => traitsOf(problem).awaits === 'deletion')
  const headline = terminating === undefined ? statusText[status] : messageOf(terminating)
  return line(
    0,
    mark(statusMarks[status]),
    { text: headline, style: 'bold' },
    message === statusText[status] || message === headline ? undefined : `· ${message}`,
  )
}

const statusText = { ready: 'ready', progressing: 'in progress', failed: 'failing' } as const

/** The problems, a hint for the first problem, and the way back. `terminating` is already in the status line. */
function problemLines({ target, wayBack }: TraceState, { assessment }: TracedObject): readonly Line[] {
  const notes = [...assessment.notes, ...(assessment.warnings ?? [])]
  const problems = assessment.problems.filter((problem) => traitsOf(problem).awaits !== 'deletion')
  const [first] = problems
  if (first === undefined) return notes.map((note) => line(2, mark('·'), note))
  return [
    ...problems.map((problem) => problemLine(problem, target)),
    { ...line(4, dim('→'), targetHint(target, first.reason, { problem: first, usesFlags: true })), wraps: true },
    ...wayBack.map((text) => ({ ...line(4, text), wraps: true })),
    ...notes.map((note) => line(2, mark('·'), note)),
  ]
}

function problemLine(problem: Problem, target: Target): Line {
  const { reason, subject, container, pods = 1 } = problem
  const as: Mark = classOf(problem) === 'slow' ? '!' : '✗'
  const where = [
    ...(subjectText(subject) === displayName(target) ? [] : [subjectText(subject)]),
    ...(container === undefined ? [] : [`container ${container}`]),
  ]
  const place = where.length === 0 ? '' : `${where.join(', ')}: `
  const count = pods > 1 ? ` (${pods} pods)` : ''
  return { ...line(2, mark(as), colored(reason, as), `${place}${messageOf(problem)}${count}`), wraps: true }
}

function milestoneLines({ object, assessment, reader }: TracedObject): readonly Line[] {
  const shown = assessment.milestones.filter(({ state }) => state !== 'skipped')
  const width = Math.max(0, ...shown.map(({ name }) => name.length))
  const createdAt = reader.time(object.metadata.creationTimestamp)
  const current = shown.find(({ state }) => state === 'open')
  return titledLines(
    'milestones',
    shown.map((milestone) => {
      const { name, state, message, count } = milestone
      // A milestone after the current milestone is pending, unless some pods have reached it.
      const isPending = state === 'open' && milestone !== current && (count?.done ?? 0) === 0
      const as: Mark = state === 'done' ? '✓' : isPending ? '·' : '…'
      const showsMessage = name !== 'created' && message !== name && !isPending
      const showsAge = name === 'created' && createdAt !== undefined
      return line(
        2,
        mark(as),
        { text: name, width },
        showsMessage ? colored(message, as) : undefined,
        showsAge ? volatile(`${formatAge(reader.now - createdAt)} ago`) : undefined,
      )
    }),
  )
}

function dependentLines(traced: TracedObject): readonly Line[] {
  const { object, reader } = traced
  if (isKind(object, '', 'Pod')) return containerLines(object, reader)
  if (isKind(object, '', 'Service')) return serviceLines(object, reader)
  return treeLines(traced)
}

/** The objects whose events are shown: the resource and what it owns; for a Service, its pods with a problem. */
function objectsWithEvents(traced: TracedObject): readonly KubeObject[] {
  const { object, reader } = traced
  const others = isKind(object, '', 'Service')
    ? selectedPods(object, reader).filter((pod) => summarizePod(pod, reader).mark !== '✓')
    : descendants(object, traced)
  return [object, ...others]
}

function isKind<Kind extends string>(object: KubeObject, group: string, kind: Kind): object is ObjectOf<Kind> {
  return object.kind === kind && groupOf(object.apiVersion) === group
}

const conditionMarks: Readonly<Record<NonNullable<ReturnType<typeof readCondition>>['meaning'], Mark>> = {
  ready: '✓',
  progressing: '…',
  failed: '✗',
  suspended: '!',
}

/** Conditions of a pod that are not shown, because its milestones and containers show the same. */
const repeatedConditions: ReadonlySet<string> = new Set([
  'PodScheduled',
  'PodReadyToStartContainers',
  'Initialized',
  'ContainersReady',
])

function conditionLines({ object, reader }: TracedObject): readonly Line[] {
  const shown = presentConditions(object).filter(
    ({ type, status }) => object.kind !== 'Pod' || (status !== 'True' && !repeatedConditions.has(type)),
  )
  const width = Math.max(0, ...shown.map(({ type }) => type.length))
  return titledLines(
    'conditions',
    shown.map((condition) => {
      const { type, status, reason, message, lastTransitionTime } = condition
      const meaning = readCondition(condition)?.meaning
      const as = meaning === undefined ? '·' : conditionMarks[meaning]
      const since = reader.time(lastTransitionTime)
      return line(
        2,
        mark(as),
        { text: type, width },
        colored(status, as),
        reason ? dim(`(${reason})`) : undefined,
        message || undefined,
        since === undefined ? undefined : volatile(`· since ${formatAge(reader.now - since)}`),
      )
    }),
  )
}

const maxEvents = 8

/** The latest events, the newest last. New events of type Normal alone do not cause the view to be printed again. */
function latestEventLines(traced: TracedObject): readonly Line[] {
  const { reader } = traced
  const events = objectsWithEvents(traced)
    .flatMap((object) => reader.events(object))
    .toSorted(compareLastOccurrence)
    .slice(-maxEvents)
  return titledLines(
    'events',
    events.map((event) => {
      const at = reader.time(lastOccurrence(event)) ?? reader.startedAt
      const { kind = '', name = '' } = event.involvedObject ?? {}
      const isAboutResource = kind === traced.object.kind && name === traced.object.metadata.name
      const count = eventCount(event)
      const isVolatile = event.type !== 'Warning'
      return line(
        2,
        volatile(`${formatAge(reader.now - at)} ago`.padStart(9)),
        isAboutResource ? undefined : { ...dim(`${kind.toLowerCase()}/${name}`), isVolatile },
        { text: event.reason ?? '', style: isVolatile ? 'bold' : 'yellow', isVolatile },
        count > 1 ? volatile(`×${count}`) : undefined,
        { text: event.message ?? '', isVolatile },
      )
    }),
  )
}

/** The maximum depth: owner references may form a cycle. A usual tree: custom resource, Deployment, ReplicaSet, Pod. */
const maxDepth = 5

/** The tree of the objects that a resource owns. Empty if it owns none. */
function treeLines(traced: TracedObject): readonly Line[] {
  return titledLines('what it owns', childrenLines(traced.object, 2, traced, maxDepth))
}

/** All objects that an object owns, directly or indirectly, down to a maximum depth. */
function descendants(object: KubeObject, traced: TracedObject, depth = maxDepth): readonly KubeObject[] {
  if (depth === 0) return []
  return traced.reader
    .listKnownOwned(object.metadata.uid)
    .flatMap((child) => [child, ...descendants(child, traced, depth - 1)])
}

function childrenLines(object: KubeObject, indent: number, traced: TracedObject, depth: number): readonly Line[] {
  if (depth === 0) return []
  const owned = traced.reader.listKnownOwned(object.metadata.uid)
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
    (set.spec?.replicas ?? 1) > 0 ||
    (set.status?.replicas ?? 0) > 0 ||
    traced.reader.listKnownOwned(set.metadata.uid).length > 0
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
  const rule = kindRule(object, traced.checks)
  const assessment = assessNonTarget(object, rule, readerWithoutWatches(traced.reader))
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
