import type { RunRecord, TargetRecord } from '../gate/run-record.ts'
import { shortestDiagramMs } from '../thresholds.ts'
import { mermaidName, mermaidTask } from './escape.ts'
import { namedTargets, urgency } from './headline.ts'
import {
  commonTimelineStart,
  failedOrCurrentMilestone,
  isReadyByExistence,
  outcomeLabels,
  reachedSteps,
  targetEnd,
  timelineStart,
} from './target-record.ts'

/* Renders the timeline of the summary as a Mermaid gantt. */

const sectionLimit = 16
/** If there are more targets than sections, the diagram shows only this many ready targets, the slowest. */
const slowestReady = 6
/** GitHub draws no longer diagram. */
const characterLimit = 50_000
const sectionNameLimit = 34
/** The minimum length of a bar as a fraction of the diagram: a shorter bar is not visible. */
const shortestBar = 1 / 150
/** The minimum length of a bar in milliseconds. */
const shortestBarMs = 300

/**
 * The milestones of each target as bars: red for failed, amber for in progress. With more than 16 targets, the diagram
 * shows the targets that are not ready and the slowest ready targets. Undefined if everything took almost no time, or
 * if the diagram is too long for GitHub.
 *
 * The axis counts seconds; in a long gate, minutes. Only the format `%s` of d3 does not depend on the viewer's time
 * zone. With `dateFormat x`, 1,000 units are one second or minute of the axis.
 */
export function renderGantt(record: RunRecord): { readonly diagram: string; readonly drawn: number } | undefined {
  const begin = commonTimelineStart(record)
  const total = record.finishedAt - begin
  if (total < shortestDiagramMs) return undefined
  const inMinutes = total > 10 * 60_000
  const scale = (ms: number) => Math.round(inMinutes ? ms / 60 : ms)
  const sections = chooseSections(record).map(({ target, name }) => {
    const tasks = barsOf(target, record, begin).map(({ label, tag, from, to }) => {
      return `    ${mermaidTask(label)} :${tag}${scale(from)}, ${scale(to)}`
    })
    return { name, text: [`    section ${name}`, ...tasks].join('\n') }
  })
  if (sections.length === 0) return undefined
  const head = [
    mermaidSettings(Math.max(...sections.map(({ name }) => name.length))),
    'gantt',
    '    dateFormat x',
    `    axisFormat %s ${inMinutes ? 'min' : 's'}`,
    `    tickInterval ${tickInterval(scale(total))}`,
  ]
  const diagram = [...head, ...sections.map(({ text }) => text)].join('\n')
  return diagram.length > characterLimit ? undefined : { diagram, drawn: sections.length }
}

/** The distance of ticks that gives at most twelve: Mermaid's default draws too many. */
function tickInterval(total: number): string {
  const seconds = [1, 2, 5, 10, 15, 30].find((step) => total / step <= 12_000)
  return seconds === undefined ? `${Math.ceil(total / 720_000)}minute` : `${seconds}second`
}

interface Bar {
  readonly label: string
  readonly tag: '' | 'crit, ' | 'active, '
  /** Milliseconds from the start of the diagram. */
  readonly from: number
  readonly to: number
}

/** One bar for each reached milestone, which starts at the previous milestone, and a bar for the open milestone. */
function barsOf(target: TargetRecord, { startedAt, finishedAt }: RunRecord, begin: number): Bar[] {
  const end = targetEnd(target, finishedAt) - begin
  const visible = Math.max(shortestBarMs, (finishedAt - begin) * shortestBar)
  const bars: Bar[] = []
  let from = Math.max(0, timelineStart(target, startedAt) - begin)
  const steps = reachedSteps(target, startedAt)
  const last = steps.findLast(({ isKnown }) => isKnown) ?? steps.at(-1)
  for (const { name, at, isKnown } of steps) {
    const to = Math.min(Math.max(at - begin, from), end)
    // A milestone without a known time has no bar. A step that is too short to see is part of the next bar.
    if (!isKnown || to - from < visible) continue
    bars.push({ label: name, tag: '', from, to })
    from = to
  }
  const open = failedOrCurrentMilestone(target)
  if (open !== undefined || (target.outcome !== 'ready' && bars.length === 0)) {
    const { mark } = outcomeLabels[target.outcome]
    const tag = mark === '✗' ? 'crit, ' : 'active, '
    bars.push({
      label: `${mark === '✗' ? mark : '…'} ${open?.name ?? target.outcome}`,
      tag,
      from,
      to: Math.max(end, from + visible),
    })
  } else if (bars.length === 0) {
    const at = last?.isKnown ? Math.max(0, Math.min(last.at - begin, from)) : from
    bars.push({ label: last?.name ?? target.outcome, tag: '', from: at, to: at + visible })
  }
  return bars
}

function chooseSections(record: RunRecord): { target: TargetRecord; name: string }[] {
  const { targets, finishedAt } = record
  const used = new Map<string, number>()
  const notReady = targets.filter(({ outcome }) => outcome !== 'ready').length
  const limit = targets.length > sectionLimit ? Math.min(notReady + slowestReady, sectionLimit) : sectionLimit
  const chosen = namedTargets(record)
    .map((named, index) => ({ ...named, index }))
    .filter(({ target }) => !isReadyByExistence(target))
    .toSorted(
      (one, other) =>
        urgency(other.target) - urgency(one.target) ||
        (other.target.endedAt ?? finishedAt) - (one.target.endedAt ?? finishedAt),
    )
    .slice(0, limit)
  // If all targets are shown, they keep the order of the input.
  const ordered = targets.length > sectionLimit ? chosen : chosen.toSorted((one, other) => one.index - other.index)
  return ordered.map(({ target, name: full }) => {
    const name = mermaidName(full, sectionNameLimit)
    const times = (used.get(name) ?? 0) + 1
    used.set(name, times)
    // Mermaid merges sections with the same name.
    return { target, name: times === 1 ? name : `${name} (${times})` }
  })
}

/** The layout and colours. Without padding, names overlap the bars. The colours are readable on white and black. */
function mermaidSettings(longestName: number): string {
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
