import type { MilestoneRecord, TargetRecord, Timeline } from '../gate/timeline.ts'
import { fullName, nameTargets } from '../plan/target.ts'
import { mermaidName, mermaidTask } from './escape.ts'
import { urgency } from './headline.ts'
import { openMilestone } from './target-details.ts'
import { outcomeLabels } from './wording.ts'

const sectionLimit = 16
/** Of more targets than that, so many ready ones are drawn beside those that are not: the slowest. */
const slowestReady = 6
/** GitHub draws no diagram of more than 50,000 characters. */
const characterLimit = 50_000
const sectionNameLimit = 34
/** A bar shorter than this part of the whole cannot be seen. */
const shortestBar = 1 / 150
/** A gate that ended sooner has nothing to draw. */
const shortestGateMs = 2_000

/** A Mermaid gantt and of how many targets. */
export interface Gantt {
  readonly diagram: string
  readonly drawn: number
}

/**
 * The milestones of each target as bars: red for what failed, amber for what was still going on. Of more than 16 targets
 * those that are not ready and the slowest are drawn. Returns undefined when there is nothing to see: all was done at
 * first sight.
 *
 * The axis counts plain seconds (minutes in a long gate): `%s` is the one format of d3 that does not move with the
 * viewer's time zone, and with `dateFormat x` a millisecond stands for a thousandth of either.
 */
export function renderGantt(timeline: Timeline): Gantt | undefined {
  const total = timeline.finishedAt - timeline.startedAt
  if (total < shortestGateMs) return undefined
  const inMinutes = total > 10 * 60_000
  const scale = (ms: number) => Math.round(inMinutes ? ms / 60 : ms)
  const sections = chooseSections(timeline).map(({ record, name }) => {
    const tasks = barsOf(record, timeline).map(({ label, tag, from, to }) => {
      return `    ${mermaidTask(label)} :${tag}${scale(from)}, ${scale(to)}`
    })
    return { name, text: [`    section ${name}`, ...tasks].join('\n') }
  })
  if (sections.length === 0) return undefined
  const head = [
    directive(Math.max(...sections.map(({ name }) => name.length))),
    'gantt',
    '    dateFormat x',
    `    axisFormat %s ${inMinutes ? 'min' : 's'}`,
    `    tickInterval ${tickInterval(scale(total))}`,
  ]
  let diagram = head.join('\n')
  let drawn = 0
  for (const { text } of sections) {
    if (diagram.length + text.length + 1 > characterLimit) break
    diagram += `\n${text}`
    drawn += 1
  }
  return { diagram, drawn }
}

/** At most a dozen ticks: the diagram's own choice crowds them. */
function tickInterval(total: number): string {
  const seconds = [1, 2, 5, 10, 15, 30].find((step) => total / step <= 12_000)
  return seconds === undefined ? `${Math.ceil(total / 720_000)}minute` : `${seconds}second`
}

interface Bar {
  readonly label: string
  readonly tag: '' | 'crit, ' | 'active, '
  /** Milliseconds since the gate's start. */
  readonly from: number
  readonly to: number
}

/** Each milestone from the one before it to its own moment, then the one that was never reached. */
function barsOf(record: TargetRecord, { startedAt, finishedAt }: Timeline): Bar[] {
  const end = (record.endedAt ?? finishedAt) - startedAt
  const visible = (finishedAt - startedAt) * shortestBar
  const bars: Bar[] = []
  let from = 0
  let last = ''
  for (const { name, at } of reached(record.milestones)) {
    const to = Math.min(Math.max(at - startedAt, from), end)
    last = name
    // Steps that took no time to see are part of the next one that did.
    if (to - from < visible) continue
    bars.push({ label: name, tag: '', from, to })
    from = to
  }
  const open = openMilestone(record)
  if (record.outcome !== 'ready' && (open !== undefined || bars.length === 0)) {
    const { mark } = outcomeLabels[record.outcome]
    const tag = mark === '✗' ? 'crit, ' : 'active, '
    bars.push({
      label: `${mark === '✗' ? mark : '…'} ${open?.name ?? record.outcome}`,
      tag,
      from,
      to: Math.max(end, from + visible),
    })
  } else if (bars.length === 0) {
    bars.push({ label: last || record.outcome, tag: '', from: 0, to: visible })
  }
  return bars
}

function reached(milestones: readonly MilestoneRecord[]): { name: string; at: number }[] {
  return milestones
    .flatMap(({ name, state, at }) => (state === 'done' && at !== undefined ? [{ name, at }] : []))
    .toSorted((one, other) => one.at - other.at)
}

function chooseSections({ targets, finishedAt }: Timeline): { record: TargetRecord; name: string }[] {
  const names = nameTargets(targets.map(({ target }) => target))
  const used = new Map<string, number>()
  const notReady = targets.filter(({ outcome }) => outcome !== 'ready').length
  const limit = targets.length > sectionLimit ? Math.min(notReady + slowestReady, sectionLimit) : sectionLimit
  const chosen = targets
    .map((record, index) => ({ record, index }))
    .toSorted(
      (one, other) =>
        urgency(other.record) - urgency(one.record) ||
        (other.record.endedAt ?? finishedAt) - (one.record.endedAt ?? finishedAt),
    )
    .slice(0, limit)
  // Few targets stay in the order that the user wrote.
  const ordered = targets.length > sectionLimit ? chosen : chosen.toSorted((one, other) => one.index - other.index)
  return ordered.map(({ record, index }) => {
    const name = mermaidName(fullName(names[index] ?? { name: '' }), sectionNameLimit)
    const times = (used.get(name) ?? 0) + 1
    used.set(name, times)
    // Mermaid takes sections of one name for one section.
    return { record, name: times === 1 ? name : `${name} (${times})` }
  })
}

/**
 * Room for the names (the default lets them run under the bars), and colours that read on white and on black: the
 * diagram takes the viewer's theme, and these override only what that theme shows badly.
 */
function directive(longestName: number): string {
  const settings = {
    themeCSS: '.grid .tick line{opacity:.3}',
    gantt: { leftPadding: Math.max(90, 24 + longestName * 6), barHeight: 16, barGap: 4, fontSize: 11 },
    themeVariables: {
      sectionBkgColor: '#80808070',
      sectionBkgColor2: '#80808070',
      altSectionBkgColor: '#80808000',
      taskBkgColor: '#2da44e',
      taskBorderColor: '#2da44e',
      activeTaskBkgColor: '#d4a72c',
      activeTaskBorderColor: '#d4a72c',
      critBkgColor: '#cf222e',
      critBorderColor: '#cf222e',
      taskTextColor: '#ffffff',
    },
  }
  return `%%{init: ${JSON.stringify(settings)}}%%`
}
