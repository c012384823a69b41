import { byLastOccurrence, lastOccurrence } from '../cluster/event-order.ts'
import type { KubeObject, Pod, Service } from '../cluster/objects.ts'
import { groupOf } from '../cluster/store.ts'
import { hintFor } from '../diagnosis/hints.ts'
import { presentConditions } from '../lifecycle/conditions.ts'
import { readCondition } from '../lifecycle/custom/polarity.ts'
import { eventCount } from '../lifecycle/workloads/history.ts'
import { displayName, type Target } from '../plan/target.ts'
import { classOf, messageOf, type Problem } from '../reasons/reasons.ts'
import { clock } from '../report/wording.ts'
import { age, colored, dim, emptyLine, heading, type Line, line, type Mark, mark, volatile } from './line.ts'
import { containerLines, summarizePod } from './pod.ts'
import { selectedPods, serviceLines, serviceType } from './service.ts'
import type { TracedObject, TraceState } from './trace.ts'
import { descendants, treeLines } from './tree.ts'

/** For how long it is told that a resource was made anew. */
const recreatedMs = 60_000

/** How much is told: a picture that is taller than its terminal is drawn with less. */
interface Measure {
  readonly milestones: 'list' | 'trail'
  readonly conditions: boolean
  readonly events: number
}

const measures: readonly Measure[] = [
  { milestones: 'list', conditions: true, events: 8 },
  { milestones: 'list', conditions: true, events: 4 },
  { milestones: 'trail', conditions: true, events: 4 },
  { milestones: 'trail', conditions: false, events: 4 },
  { milestones: 'trail', conditions: false, events: 0 },
]

/**
 * The picture of a resource and of everything behind it: where it stands, what is wrong and what to do, how far its
 * lifecycle has come, what is behind it, its conditions, the latest events.
 *
 * @param rows how many lines there is room for; by default everything is told
 */
export function renderTrace(state: TraceState, rows = Number.POSITIVE_INFINITY): readonly Line[] {
  const pages = measures.map((measure) => wholePage(state, measure))
  const page = pages.find(({ length }) => length <= rows) ?? pages.at(-1) ?? []
  if (page.length <= rows) return page
  const shown = page.slice(0, Math.max(0, rows - 1))
  return [...shown, line(0, dim(`… ${page.length - shown.length} more lines: make the window taller`))]
}

function wholePage(state: TraceState, measure: Measure): readonly Line[] {
  const { traced } = state
  return [
    titleLine(state),
    ...standingLines(state),
    ...state.unreadable.map((words) => line(0, mark('!'), colored(words, '!'))),
    ...(state.connectionError === undefined
      ? []
      : [line(0, mark('!'), colored(`not heard from the server just now: ${state.connectionError}`, '!'))]),
    ...(traced === undefined
      ? remainsLines(state)
      : [
          ...problemLines(state.target, traced),
          ...(measure.milestones === 'list' ? milestoneLines(traced) : [milestoneTrail(traced)]),
          ...behindLines(traced),
          ...(measure.conditions ? conditionLines(traced.object, traced) : []),
          ...eventLines(concerned(traced), measure.events, traced),
        ]),
  ]
}

function titleLine({ target, traced, now, startedAt }: TraceState): Line {
  const { namespace } = target
  const about = traced === undefined ? undefined : aboutWords(traced)
  return line(
    0,
    { text: displayName(target), style: 'bold' },
    namespace === undefined ? undefined : dim(`in ${namespace}`),
    about === undefined ? undefined : `· ${about}`,
    volatile(`· ${clock(now - startedAt)}`),
  )
}

/** What distinguishes this object among its kind: a revision, the type of a Service, the node of a pod. */
function aboutWords({ object }: TracedObject): string | undefined {
  if (isKind(object, '', 'Service')) return serviceType(object as Service)
  const revision = object.metadata.annotations?.['deployment.kubernetes.io/revision']
  if (revision !== undefined) return `revision ${revision}`
  const { podIP } = (object.status ?? {}) as { podIP?: string }
  return object.kind === 'Pod' && podIP ? podIP : undefined
}

function standingLines({ target, traced, now, deletedAt, recreatedAt, isLoading }: TraceState): readonly Line[] {
  if (traced === undefined) {
    if (isLoading) return [line(0, mark('…'), 'looking')]
    const name = displayName(target)
    if (deletedAt === undefined) return [line(0, mark('…'), `waiting for ${name} to be created`)]
    return [
      line(0, mark('✗'), colored('deleted', '✗'), volatile(`${age(now - deletedAt)} ago`)),
      line(0, mark('…'), `waiting for ${name} to be created again`),
    ]
  }
  const { status, message, problems } = traced.assessment
  const going = problems.find(({ reason }) => reason === 'terminating')
  const being = going === undefined ? undefined : messageOf(going)
  const as: Mark = status === 'ready' ? '✓' : status === 'failed' ? '✗' : '…'
  const isNew = recreatedAt !== undefined && now - recreatedAt < recreatedMs
  return [
    line(
      0,
      mark(as),
      { text: being ?? standing[status], style: 'bold' },
      message === standing[status] || message === being ? undefined : `· ${message}`,
    ),
    ...(isNew
      ? [line(0, mark('·'), 'made anew: a new object of the same name', volatile(`${age(now - recreatedAt)} ago`))]
      : []),
  ]
}

const standing = { ready: 'ready', progressing: 'in progress', failed: 'failing' } as const

/** Everything wrong, and what to do about the first of it. That it is being deleted stands above. */
function problemLines(target: Target, { assessment }: TracedObject): readonly Line[] {
  const { notes } = assessment
  const problems = assessment.problems.filter(({ reason }) => reason !== 'terminating')
  const [first] = problems
  if (first === undefined) return notes.map((note) => line(2, mark('·'), note))
  return [
    ...problems.map((problem) => problemLine(problem, target)),
    line(4, dim('→'), hintFor(target, first.reason, { problem: first })),
    ...notes.map((note) => line(2, mark('·'), note)),
  ]
}

function problemLine(problem: Problem, target: Target): Line {
  const { reason, subject, container, pods = 1 } = problem
  const as: Mark = classOf(problem) === 'slow' ? '!' : '✗'
  const where = [
    ...(subject === displayName(target) ? [] : [subject]),
    ...(container === undefined ? [] : [`container ${container}`]),
  ]
  return line(
    2,
    mark(as),
    colored(reason, as),
    where.length === 0 ? undefined : dim(`${where.join(', ')}:`),
    messageOf(problem),
    pods > 1 ? dim(`(${pods} pods)`) : undefined,
  )
}

function milestoneLines({ object, assessment, context }: TracedObject): readonly Line[] {
  const shown = assessment.milestones.filter(({ state }) => state !== 'skipped')
  const width = Math.max(0, ...shown.map(({ name }) => name.length))
  const createdAt = context.time(object.metadata.creationTimestamp)
  const current = shown.find(({ state }) => state === 'open')
  return [
    emptyLine,
    line(0, heading('milestones')),
    ...shown.map((milestone) => {
      const { name, state, message, count } = milestone
      // What comes after the current one has not begun, but where pods are counted some are ahead of others.
      const isAhead = state === 'open' && milestone !== current && (count?.done ?? 0) === 0
      const as: Mark = state === 'done' ? '✓' : isAhead ? '·' : '…'
      const words = name === 'created' || message === name || isAhead ? undefined : colored(message, as)
      const isAge = name === 'created' && createdAt !== undefined
      const since = isAge ? volatile(`${age(context.now - createdAt)} ago`) : undefined
      return line(2, mark(as), { text: name, width }, words, since)
    }),
  ]
}

/** The milestones on one line: how many are reached, and which are not. */
function milestoneTrail({ assessment }: TracedObject): Line {
  const shown = assessment.milestones.filter(({ state }) => state !== 'skipped')
  const open = shown.filter(({ state }) => state === 'open')
  const reached =
    open.length === 0 ? 'all milestones reached' : `${shown.length - open.length} of ${shown.length} milestones`
  return line(
    2,
    mark(open.length === 0 ? '✓' : '…'),
    reached,
    ...open.map(({ name, count }, index) => {
      const words = count === undefined ? name : `${name} ${count.done}/${count.total}`
      return colored(`${index === 0 ? '· ' : ''}${words}`, '…')
    }),
  )
}

function behindLines(traced: TracedObject): readonly Line[] {
  const { object } = traced
  if (isKind(object, '', 'Pod')) return containerLines(object as Pod, traced)
  if (isKind(object, '', 'Service')) return serviceLines(object as Service, traced)
  return treeLines(traced)
}

/** The objects whose events are told. */
function concerned(traced: TracedObject): readonly KubeObject[] {
  const { object } = traced
  const others = isKind(object, '', 'Service')
    ? selectedPods(object as Service, traced).filter((pod) => summarizePod(pod, traced.context).mark !== '✓')
    : descendants(object, traced)
  return [object, ...others]
}

function remainsLines({ remains }: TraceState): readonly Line[] {
  if (remains.length === 0) return []
  return [
    emptyLine,
    line(0, heading('still there')),
    ...remains.map(({ kind, metadata }) =>
      line(
        2,
        mark('…'),
        `${kind.toLowerCase()}/${metadata.name}`,
        colored(metadata.deletionTimestamp === undefined ? 'not yet deleted' : 'terminating', '…'),
      ),
    ),
  ]
}

function isKind({ apiVersion, kind }: KubeObject, group: string, wanted: string): boolean {
  return kind === wanted && groupOf(apiVersion) === group
}

const marks: Readonly<Record<NonNullable<ReturnType<typeof readCondition>>['meaning'], Mark>> = {
  ready: '✓',
  progressing: '…',
  failed: '✗',
  suspended: '!',
}

/** Conditions of a pod that its milestones and containers tell. */
const toldOtherwise: ReadonlySet<string> = new Set([
  'PodScheduled',
  'PodReadyToStartContainers',
  'Initialized',
  'ContainersReady',
])

/** The conditions of its status, each with what it says. */
export function conditionLines(object: KubeObject, { context }: TracedObject): readonly Line[] {
  const shown = presentConditions(object).filter(
    ({ type, status }) => object.kind !== 'Pod' || (status !== 'True' && !toldOtherwise.has(type)),
  )
  if (shown.length === 0) return []
  const width = Math.max(...shown.map(({ type }) => type.length))
  return [
    emptyLine,
    line(0, heading('conditions')),
    ...shown.map((condition) => {
      const { type, status, reason, message, lastTransitionTime } = condition
      const reading = readCondition(condition)
      const as = reading === undefined ? '·' : marks[reading.meaning]
      const since = context.time(lastTransitionTime)
      return line(
        2,
        mark(as),
        { text: type, width },
        colored(status, as),
        reason ? dim(`(${reason})`) : undefined,
        message || undefined,
        since === undefined ? undefined : volatile(`· since ${age(context.now - since)}`),
      )
    }),
  ]
}

/** The latest events about these objects, the newest last, as a log reads. Ordinary ones are no news by themselves. */
export function eventLines(objects: readonly KubeObject[], most: number, traced: TracedObject): readonly Line[] {
  const { context } = traced
  const events = objects
    .flatMap((object) => traced.events(object))
    .toSorted(byLastOccurrence)
    .slice(-most)
  if (most === 0 || events.length === 0) return []
  return [
    emptyLine,
    line(0, heading('events')),
    ...events.map((event) => {
      const at = context.time(lastOccurrence(event)) ?? context.startedAt
      const { kind = '', name = '' } = event.involvedObject ?? {}
      const isAboutItself = kind === traced.object.kind && name === traced.object.metadata.name
      const count = eventCount(event)
      const isVolatile = event.type === 'Warning' ? {} : { isVolatile: true }
      return line(
        2,
        volatile(`${age(context.now - at)} ago`.padStart(9)),
        isAboutItself ? undefined : { ...dim(`${kind.toLowerCase()}/${name}`), ...isVolatile },
        { text: event.reason ?? '', style: event.type === 'Warning' ? 'yellow' : 'bold', ...isVolatile },
        count > 1 ? volatile(`×${count}`) : undefined,
        { text: event.message ?? '', ...isVolatile },
      )
    }),
  ]
}
