import type { KubeObject, Pod, Service } from '../cluster/objects.ts'
import { groupOf } from '../cluster/store.ts'
import { hintFor } from '../diagnosis/hints.ts'
import { displayName, type Target } from '../plan/target.ts'
import { classOf, messageOf, type Problem } from '../reasons/reasons.ts'
import { clock } from '../report/wording.ts'
import { conditionLines } from './conditions.ts'
import { containerLines } from './containers.ts'
import { eventLines } from './events.ts'
import { emptyLine, type Line, line } from './line.ts'
import { age, dim, heading, type Mark, mark, marked, ticking } from './marks.ts'
import { podWords } from './pod-words.ts'
import type { Present, Scene } from './scene.ts'
import { selectedPods, serviceLines, serviceType } from './service.ts'
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
export function pageLines(scene: Scene, rows = Number.POSITIVE_INFINITY): readonly Line[] {
  const pages = measures.map((measure) => wholePage(scene, measure))
  const page = pages.find(({ length }) => length <= rows) ?? pages.at(-1) ?? []
  if (page.length <= rows) return page
  const shown = page.slice(0, Math.max(0, rows - 1))
  return [...shown, line(0, dim(`… ${page.length - shown.length} more lines: make the window taller`))]
}

function wholePage(scene: Scene, measure: Measure): readonly Line[] {
  const { present } = scene
  return [
    titleLine(scene),
    ...standingLines(scene),
    ...scene.unreadable.map((words) => line(0, mark('!'), marked(words, '!'))),
    ...(scene.trouble === undefined
      ? []
      : [line(0, mark('!'), marked(`not heard from the server just now: ${scene.trouble}`, '!'))]),
    ...(present === undefined
      ? remainsLines(scene)
      : [
          ...problemLines(scene.target, present),
          ...(measure.milestones === 'list' ? milestoneLines(present) : [milestoneTrail(present)]),
          ...behindLines(present),
          ...(measure.conditions ? conditionLines(present.object, present) : []),
          ...eventLines(concerned(present), measure.events, present),
        ]),
  ]
}

function titleLine({ target, present, now, startedAt }: Scene): Line {
  const { namespace } = target
  const about = present === undefined ? undefined : aboutWords(present)
  return line(
    0,
    { text: displayName(target), style: 'bold' },
    namespace === undefined ? undefined : dim(`in ${namespace}`),
    about === undefined ? undefined : `· ${about}`,
    ticking(`· ${clock(now - startedAt)}`),
  )
}

/** What distinguishes this object among its kind: a revision, the type of a Service, the node of a pod. */
function aboutWords({ object }: Present): string | undefined {
  if (isKind(object, '', 'Service')) return serviceType(object as Service)
  const revision = object.metadata.annotations?.['deployment.kubernetes.io/revision']
  if (revision !== undefined) return `revision ${revision}`
  const { podIP } = (object.status ?? {}) as { podIP?: string }
  return object.kind === 'Pod' && podIP ? podIP : undefined
}

function standingLines({ target, present, now, deletedAt, recreatedAt, isLooking }: Scene): readonly Line[] {
  if (present === undefined) {
    if (isLooking) return [line(0, mark('…'), 'looking')]
    const name = displayName(target)
    if (deletedAt === undefined) return [line(0, mark('…'), `waiting for ${name} to be created`)]
    return [
      line(0, mark('✗'), marked('deleted', '✗'), ticking(`${age(now - deletedAt)} ago`)),
      line(0, mark('…'), `waiting for ${name} to be created again`),
    ]
  }
  const { status, message, problems } = present.assessment
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
      ? [line(0, mark('·'), 'made anew: a new object of the same name', ticking(`${age(now - recreatedAt)} ago`))]
      : []),
  ]
}

const standing = { ready: 'ready', progressing: 'in progress', failed: 'failing' } as const

/** Everything wrong, and what to do about the first of it. That it is being deleted stands above. */
function problemLines(target: Target, { assessment }: Present): readonly Line[] {
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
    marked(reason, as),
    where.length === 0 ? undefined : dim(`${where.join(', ')}:`),
    messageOf(problem),
    pods > 1 ? dim(`(${pods} pods)`) : undefined,
  )
}

function milestoneLines({ object, assessment, view }: Present): readonly Line[] {
  const shown = assessment.milestones.filter(({ state }) => state !== 'skipped')
  const width = Math.max(0, ...shown.map(({ name }) => name.length))
  const createdAt = view.time(object.metadata.creationTimestamp)
  const current = shown.find(({ state }) => state === 'open')
  return [
    emptyLine,
    line(0, heading('milestones')),
    ...shown.map((milestone) => {
      const { name, state, message, count } = milestone
      // What comes after the current one has not begun, but where pods are counted some are ahead of others.
      const isAhead = state === 'open' && milestone !== current && (count?.done ?? 0) === 0
      const as: Mark = state === 'done' ? '✓' : isAhead ? '·' : '…'
      const words = name === 'created' || message === name || isAhead ? undefined : marked(message, as)
      const isAge = name === 'created' && createdAt !== undefined
      const since = isAge ? ticking(`${age(view.now - createdAt)} ago`) : undefined
      return line(2, mark(as), { text: name, width }, words, since)
    }),
  ]
}

/** The milestones on one line: how many are reached, and which are not. */
function milestoneTrail({ assessment }: Present): Line {
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
      return marked(`${index === 0 ? '· ' : ''}${words}`, '…')
    }),
  )
}

function behindLines(present: Present): readonly Line[] {
  const { object } = present
  if (isKind(object, '', 'Pod')) return containerLines(object as Pod, present)
  if (isKind(object, '', 'Service')) return serviceLines(object as Service, present)
  return treeLines(present)
}

/** The objects whose events are told. */
function concerned(present: Present): readonly KubeObject[] {
  const { object } = present
  const others = isKind(object, '', 'Service')
    ? selectedPods(object as Service, present).filter((pod) => podWords(pod, present.view).mark !== '✓')
    : descendants(object, present)
  return [object, ...others]
}

function remainsLines({ remains }: Scene): readonly Line[] {
  if (remains.length === 0) return []
  return [
    emptyLine,
    line(0, heading('still there')),
    ...remains.map(({ kind, metadata }) =>
      line(
        2,
        mark('…'),
        `${kind.toLowerCase()}/${metadata.name}`,
        marked(metadata.deletionTimestamp === undefined ? 'not yet deleted' : 'terminating', '…'),
      ),
    ),
  ]
}

function isKind({ apiVersion, kind }: KubeObject, group: string, wanted: string): boolean {
  return kind === wanted && groupOf(apiVersion) === group
}
