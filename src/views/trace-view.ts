import {
  compareLastOccurrence,
  groupOf,
  type KubeObject,
  lastOccurrence,
  type ObjectOf,
  subjectText,
} from '../cluster/objects.ts'
import { targetHint } from '../diagnosis/hints.ts'
import { assessedStatus } from '../lifecycle/assessment.ts'
import { readCondition } from '../lifecycle/custom/status-conditions.ts'
import { presentConditions } from '../lifecycle/stale-status.ts'
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
import { containerLines, summarizePod } from './pod.ts'
import { selectedPods, serviceLines, serviceType } from './service.ts'
import type { TracedObject, TraceState } from './trace.ts'
import { descendants, treeLines } from './tree.ts'

/* Renders the state of a trace (`trace.ts`) as lines of a view. */

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
  const { object } = traced
  if (isKind(object, '', 'Pod')) return containerLines(object, traced)
  if (isKind(object, '', 'Service')) return serviceLines(object, traced)
  return treeLines(traced)
}

/** The objects whose events are shown: the resource and what it owns; for a Service, its pods with a problem. */
function objectsWithEvents(traced: TracedObject): readonly KubeObject[] {
  const { object } = traced
  const others = isKind(object, '', 'Service')
    ? selectedPods(object, traced).filter((pod) => summarizePod(pod, traced.reader).mark !== '✓')
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
    .flatMap((object) => traced.events(object))
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
