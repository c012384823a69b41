import { duration } from '../duration.ts'
import { causeOf, type Entry, gateDurationMs, hasEnded, type TargetRecord, type Timeline } from '../gate/timeline.ts'
import { fullName, namespacesOf, nameTargets, type TargetName } from '../plan/target.ts'
import { reasons } from '../reasons/reasons.ts'
import { counted } from '../reasons/wording.ts'
import {
  maxDetails,
  maxEvidenceLines,
  maxOpenDetails,
  maxRows,
  maxSummaryBytes,
  maxTimelineLines,
  shownBeforeMs,
  unfoldedDetails,
  unfoldedRows,
} from '../thresholds.ts'
import type { TrackedFiles } from '../workspace.ts'
import { renderChecks } from './checks.ts'
import { code, fence, markdown, plain, prose, shorten, shortenNames, shortenWords } from './escape.ts'
import { renderGantt } from './gantt.ts'
import { conclude, decidingTarget, headline, isFailing, isJudged, lateEnd, urgency } from './headline.ts'
import { layoutLog, renderEntries } from './log.ts'
import { wayBackOf } from './rollback.ts'
import {
  changeList,
  type DetailOptions,
  longestWait,
  renderCause,
  renderDetails,
  renderSource,
  section,
  targetStatus,
} from './target-details.ts'
import { clockTexts, onlyExists, outcomeLabels, reasonHeadline, sinceChange, stepsOf, tookMs } from './target-record.ts'

interface SummaryOptions {
  /** Maximum size in bytes; the default is just below the 1 MiB that GitHub accepts for one step. */
  readonly maxBytes?: number
  /** The files that can be linked; by default none. */
  readonly tracked?: TrackedFiles | undefined
  /** Path of the JSON report, shown if something is omitted. */
  readonly reportPath?: string
}

const fewestForCounts = 10
const maxNameWidth = 60
const maxAnnotations = 20

/**
 * The job summary as GitHub Markdown, the most important first: the outcome; for a failure the cause with its hint, the lines
 * of the log that look like the error, and what changed; the targets that are not ready; the timeline as a gantt and as text;
 * then, folded, events, whole logs and the ready targets. It can also show an open gate. It ends with an empty line, because
 * several summaries may follow each other.
 */
export function renderSummary(timeline: Timeline, options: SummaryOptions = {}): string {
  const { maxBytes = maxSummaryBytes } = options
  let shape = wholeShape
  let body = renderBody(timeline, shape, options)
  let leftOut: readonly string[] = []
  const whole = () => `${[body, ...note(leftOut, options), ...footer(timeline)].join('\n\n')}\n\n`
  for (const { leavesOut, ...smaller } of reductions) {
    if (Buffer.byteLength(whole()) <= maxBytes) break
    shape = { ...shape, ...smaller }
    const reduced = renderBody(timeline, shape, options)
    // A reduction that changes nothing is not mentioned.
    if (reduced === body) continue
    body = reduced
    leftOut = [...leftOut, leavesOut]
  }
  return whole()
}

/** How much a summary contains. */
interface Shape {
  readonly detailsOfReady: boolean
  readonly gantt: boolean
  readonly evidenceLines: number
  readonly timelineLines: number
  readonly readyRows: boolean
  /** Maximum number of targets that are not ready, in the table and in the details. */
  readonly rows: number
  readonly details: number
}

const wholeShape: Shape = {
  detailsOfReady: true,
  gantt: true,
  evidenceLines: maxEvidenceLines,
  timelineLines: maxTimelineLines,
  readyRows: true,
  rows: maxRows,
  details: maxDetails,
}

/** Each makes the summary smaller. They are applied in order, but only as many as needed. */
const reductions: readonly (Partial<Shape> & { readonly leavesOut: string })[] = [
  { leavesOut: 'the evidence of ready targets', detailsOfReady: false },
  { leavesOut: 'the diagram', gantt: false },
  { leavesOut: 'most lines of the logs', evidenceLines: 15 },
  { leavesOut: 'the middle of the timeline', timelineLines: 60 },
  { leavesOut: 'the rows of ready targets', readyRows: false },
  { leavesOut: 'the logs', evidenceLines: 0 },
  { leavesOut: 'most targets', rows: 50, details: 5 },
  { leavesOut: 'the timeline and the details', timelineLines: 0, rows: 5, details: 0 },
]

interface NamedRecord {
  readonly record: TargetRecord
  readonly name: TargetName
  /** The name in a table: shortened, and escaped. */
  readonly shown: string
  /** The target for which this target only waits. */
  readonly cause?: NamedRecord | undefined
}

/** The summary without its notes and its footer. */
function renderBody(original: Timeline, shape: Shape, options: SummaryOptions): string {
  const timeline = sinceChange(original)
  const names = nameTargets(timeline.targets)
  const short = shortenNames(
    names.map(({ name }) => name),
    maxNameWidth,
  )
  const own = timeline.targets.map(
    (record, index): NamedRecord => ({
      record,
      name: names[index] ?? { name: '' },
      shown: markdown(short[index] ?? ''),
    }),
  )
  const named = own.map((each) => ({
    ...each,
    cause: own.find(({ record }) => record === causeOf(each.record, timeline.targets)),
  }))
  const shown = named.filter(({ record }) => isJudged(record, timeline))
  const judged = { ...timeline, targets: shown.map(({ record }) => record) }
  const blocks = [
    `### ${outcomeLabels[timeline.outcome].icon} ${markdown(headline(original))}`,
    ...cause(timeline, options),
    ...settingsList(timeline),
    ...gateTable(timeline),
    ...causes(timeline, shown, shape, options),
    ...outcomeCounts(judged),
    ...table(judged, shown, shape),
    ...renderChecks(timeline),
    ...diagram(judged, shape),
    ...textTimeline(timeline, entriesBefore(original), shape),
    ...details(timeline, shown, shape, options),
    ...readyTable(judged, shown, shape),
  ]
  return blocks.join('\n\n')
}

function cause(timeline: Timeline, { tracked }: SummaryOptions): string[] {
  const [only] = timeline.targets
  const { outcome } = timeline
  if (
    (outcome === 'ready' || outcome === 'progressing') &&
    timeline.targets.length === 1 &&
    only?.outcome === 'ready'
  ) {
    const wait = longestWait(only, timeline)
    return [`${targetStatus(only)}${wait === '' ? '' : ` · longest wait: ${wait}`}`, ...changeList(only)]
  }
  if (outcome === 'progressing') return []
  const { messages, hint, ...conclusion } = conclude(timeline)
  const source = renderSource(conclusion.source, tracked)
  const lines = [
    ...(messages.length > 1
      ? messages.map((message) => `- ${prose(message)}`)
      : messages.map((message) => `${prose(message)}${source === '' ? '' : ` · ${source}`}`)),
    ...(hint === undefined ? [] : ['', `**What to do:** ${prose(hint)}`]),
    ...wayBack(timeline),
  ]
  return lines.length === 0 ? [] : [alert(alertKinds[outcomeLabels[outcome].mark], lines)]
}

/** What serves now, and the way back. */
function wayBack(timeline: Timeline): string[] {
  if (!hasEnded(timeline)) return []
  const { sentences, command } = wayBackOf(timeline)
  const back = command === '' ? [] : [`Back: ${code(command)}`]
  return sentences.length + back.length === 0 ? [] : ['', [...sentences.map((each) => prose(each)), ...back].join(' ')]
}

/** Red for failures, amber for other ends. */
const alertKinds = { '✗': 'CAUTION', '!': 'WARNING', '✓': 'NOTE', '…': 'NOTE' } as const

/** A coloured box of GitHub: https://docs.github.com/get-started/writing-on-github#alerts */
function alert(kind: (typeof alertKinds)[keyof typeof alertKinds], lines: readonly string[]): string {
  return [`> [!${kind}]`, ...lines.map((line) => `> ${line}`.trimEnd())].join('\n')
}

/** The settings of files that changed what is gated. The summary is read by those who decide on a change that contains them. */
function settingsList({ annotations = [], healthCheckKinds = [] }: Timeline): string[] {
  return [
    ...warningList('Annotations of the objects change what is gated:', annotations),
    ...warningList(
      'Expressions of `health-check-exprs` decide when objects of these kinds are ready:',
      healthCheckKinds,
    ),
  ]
}

function warningList(title: string, names: readonly string[]): string[] {
  if (names.length === 0) return []
  const shown = names.slice(0, maxAnnotations).map((each) => `- ${nameCell(each)}`)
  const more = names.length - shown.length
  return [alert('WARNING', [title, '', ...shown, ...(more === 0 ? [] : [`- and ${more} more`])])]
}

/** A name in a table: shortened, because a table is as wide as its longest word. */
function nameCell(name: string): string {
  return markdown(shorten(name, maxNameWidth))
}

/** The number of targets by outcome and reason, which a table of hundreds of rows hides. */
function outcomeCounts({ targets }: Timeline): string[] {
  if (targets.length < fewestForCounts) return []
  const groups = Map.groupBy(targets, ({ outcome, reason, causedBy }) => {
    if (causedBy !== undefined) return `${outcomeLabels.progressing.icon} waiting for another target`
    return [outcomeLabels[outcome].icon, reason === '' ? outcomeLabels[outcome].verb : reasons[reason].title].join(' ')
  })
  const parts = [...groups]
    .toSorted(([, one], [, other]) => urgency(other[0]) - urgency(one[0]) || other.length - one.length)
    .map(([words, { length }]) => words.replace(' ', ` ${length} × `))
  return [parts.join(' · ')]
}

/** A column of the table of targets. */
interface Column {
  readonly title: string
  readonly align: ':--' | ':-:' | '--:'
  /** The column is omitted if it is empty for every target. */
  readonly isOptional?: true
  /** The text of a cell: escaped, unless it contains no text from the cluster. */
  readonly cell: (row: NamedRecord, timeline: Timeline) => string
}

const columns: readonly Column[] = [
  {
    title: '',
    align: ':-:',
    cell: ({ record, cause }) => outcomeLabels[cause === undefined ? record.outcome : 'progressing'].icon,
  },
  {
    title: 'Target',
    align: ':--',
    cell: ({ record, shown, cause }) => {
      if (cause !== undefined) return `↳ ${shown}`
      return record.outcome === 'ready' ? shown : `**${shown}**`
    },
  },
  { title: 'Namespace', align: ':--', isOptional: true, cell: ({ name }) => nameCell(name.namespace ?? '') },
  { title: 'Gate', align: ':--', isOptional: true, cell: ({ name }) => nameCell(name.gate ?? '') },
  {
    title: 'Status',
    align: ':--',
    cell: ({ record, cause }) =>
      cause === undefined
        ? [targetStatus(record), ...readyChange(record)].join('<br>')
        : `waits for ${nameCell(fullName(cause.name))}`,
  },
  {
    title: 'Took',
    align: '--:',
    cell: ({ record }, timeline) => duration(tookMs(record, timeline)),
  },
  {
    title: 'Longest wait',
    align: ':--',
    isOptional: true,
    cell: ({ record }, timeline) => (record.outcome === 'ready' ? longestWait(record, timeline) : ''),
  },
]

/** What a ready target runs now in place of what: the first change of its pod template. */
function readyChange({ outcome, changes = [] }: TargetRecord): string[] {
  const [first, ...others] = changes
  if (outcome !== 'ready' || first === undefined) return []
  return [`${prose(shortenWords(first, maxNameWidth), 200)}${others.length === 0 ? '' : ` and ${others.length} more`}`]
}

/** The table of `records`, with the columns that they need. */
function rowsOf(records: readonly NamedRecord[], timeline: Timeline): string {
  const shown = columns.filter(
    ({ isOptional, cell }) => !isOptional || records.some((row) => cell(row, timeline) !== ''),
  )
  const line = (cells: readonly string[]) => `|${cells.join('|')}|`
  return [
    line(shown.map(({ title }) => (title === '' ? ' ' : ` ${title} `))),
    line(shown.map(({ align }) => align)),
    ...records.map((record) => line(shown.map(({ cell }) => ` ${cell(record, timeline)} `))),
  ].join('\n')
}

/** The targets that are not ready; the ready targets too, if they are few and no target failed. */
function table(timeline: Timeline, named: readonly NamedRecord[], shape: Shape): string[] {
  if (timeline.targets.length < 2) return []
  const rows = (records: readonly NamedRecord[]) => rowsOf(records, timeline)
  const waiters = Map.groupBy(
    named.filter(({ cause }) => cause !== undefined),
    ({ cause }) => cause?.record,
  )
  const withWaiters = (each: NamedRecord) => [each, ...(waiters.get(each.record) ?? [])]
  // Targets with the same outcome and reason are together; each group is visible at first sight.
  const groups = Map.groupBy(
    named
      .filter(({ record, cause }) => record.outcome !== 'ready' && cause === undefined)
      .toSorted((a, b) => urgency(b.record) - urgency(a.record)),
    ({ record }) => `${record.outcome} ${record.reason}`,
  )
  const notReady = [...groups.values()].flat().flatMap(withWaiters)
  const isLong = notReady.length > Math.min(unfoldedRows, shape.rows)
  const each = isLong ? Math.max(1, Math.floor(Math.min(unfoldedRows, shape.rows) / groups.size)) : Infinity
  const shown = [...groups.values()].flatMap((group) => group.flatMap(withWaiters).slice(0, each)).slice(0, shape.rows)
  const further = notReady.filter((one) => !shown.includes(one)).slice(0, shape.rows - shown.length)
  const hidden = notReady.length - shown.length - further.length
  const ready = readyRows(timeline, named, shape)
  return [
    ...(shown.length + ready.length === 0 ? [] : [rows([...shown, ...ready])]),
    ...(further.length === 0 ? [] : [folded(`${counted(further.length, 'more target')} not ready`, rows(further))]),
    ...(hidden === 0 ? [] : [`…and ${counted(hidden, 'more target')} not ready.`]),
  ]
}

function isReady({ record }: NamedRecord): boolean {
  return record.outcome === 'ready'
}

/** Whether a target was ready at first sight, with a version that is older than this change. */
function isUnchanged(each: NamedRecord): boolean {
  return isReady(each) && each.record.change === 'none'
}

/** The targets that only exist, which one line lists; empty for fewer than two. */
function listedTargets(named: readonly NamedRecord[]): ReadonlySet<NamedRecord> {
  const existing = named.filter(({ record }) => onlyExists(record))
  return new Set(existing.length > 1 ? existing : [])
}

function slowestFirst(rows: readonly NamedRecord[], timeline: Timeline): readonly NamedRecord[] {
  return rows.toSorted((a, b) => tookMs(b.record, timeline) - tookMs(a.record, timeline))
}

const listedNames = 6

/** `✅ 8 targets exist: configmap/web, secret/web and 6 more`; empty without targets. */
function existenceLine(listed: ReadonlySet<NamedRecord>): string[] {
  if (listed.size === 0) return []
  const rest = listed.size - listedNames
  const names = [...listed].slice(0, listedNames).map(({ name }) => nameCell(fullName(name)))
  return [`✅ ${listed.size} targets exist: ${names.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`]
}

/** The ready targets in the table: none if a target failed or there are many. Several unchanged targets are folded. */
function readyRows(timeline: Timeline, named: readonly NamedRecord[], shape: Shape): readonly NamedRecord[] {
  const { outcome } = timeline
  const hasFailed = outcome !== 'progressing' && outcome !== 'ready'
  const listed = listedTargets(named)
  const isFolded = named.filter(isUnchanged).length > 1 ? isUnchanged : () => false
  const rows = slowestFirst(
    named.filter((each) => isReady(each) && !isFolded(each) && !listed.has(each)),
    timeline,
  )
  return shape.readyRows && !hasFailed && rows.length <= unfoldedRows ? rows : []
}

/** The ready targets that the table does not contain: one line for those that are unchanged, one for the others. */
function readyTable(timeline: Timeline, named: readonly NamedRecord[], shape: Shape): string[] {
  if (timeline.targets.length < 2) return []
  const shown = readyRows(timeline, named, shape)
  const listed = listedTargets(named)
  const rest = slowestFirst(
    named.filter((each) => isReady(each) && !shown.includes(each) && !listed.has(each)),
    timeline,
  )
  const fold = (ready: readonly NamedRecord[], noun: string) => {
    const title = `✅ ${counted(ready.length, noun)} ready`
    if (ready.length === 0) return []
    return [shape.readyRows ? folded(title, rowsOf(ready, timeline)) : `${title}.`]
  }
  return [
    ...existenceLine(listed),
    ...fold(
      rest.filter((each) => !isUnchanged(each)),
      'target',
    ),
    ...fold(rest.filter(isUnchanged), 'unchanged target'),
  ]
}

function gateTable({ gates = [], targets }: Timeline): string[] {
  if (gates.length === 0) return []
  const rows = gates.map((gate) => {
    const { name, outcome, reason, message } = gate
    const tookMs = gateDurationMs(gate)
    const own = targets.filter((record) => record.gate === name)
    const ready = own.filter((record) => record.outcome === 'ready').length
    const why =
      outcome === 'ready'
        ? 'ready'
        : `**${markdown(reason === '' ? outcome : reasons[reason].title)}**<br>${prose(shortenWords(message, maxNameWidth), 300)}`
    return [
      outcomeLabels[outcome].icon,
      nameCell(name),
      why,
      own.length === 0 ? '' : `${ready} of ${own.length}`,
      tookMs === undefined ? '' : duration(tookMs),
    ]
  })
  const titles = [' ', 'Gate', 'Status', 'Ready', 'Took']
  const aligns = [':-:', ':--', ':--', '--:', '--:']
  return [[titles, aligns, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')]
}

function diagram(timeline: Timeline, shape: Shape): string[] {
  const gantt = shape.gantt ? renderGantt(timeline) : undefined
  if (gantt === undefined) return []
  const all = timeline.targets.length
  const words = `The diagram shows ${gantt.drawn} of ${counted(all, 'target')}: what is not ready, and the slowest.`
  const notes = gantt.drawn < all ? [`<sub>${words}</sub>`] : []
  return [`\`\`\`mermaid\n${gantt.diagram}\n\`\`\``, ...notes]
}

/** @param before what happened between the change and the gate */
function textTimeline(timeline: Timeline, before: readonly Entry[], { timelineLines }: Shape): string[] {
  if (timelineLines === 0) return []
  const layout = layoutLog(timeline, { color: false })
  const entries = [...before, ...timeline.entries.filter(({ kind }) => kind !== 'heartbeat')]
  const lines = renderEntries(entries, layout)
  if (lines.length === 0) return []
  const left = lines.length - timelineLines
  const half = timelineLines / 2
  const shown = left > 0 ? [...lines.slice(0, half), `… ${left} lines left out`, ...lines.slice(-half)] : lines
  return [folded('Timeline as text', fence(shown))]
}

/** How much of a target the summary shows, in its cause and in its details. */
function detailOptions(
  { record, cause }: NamedRecord,
  timeline: Timeline,
  explained: readonly NamedRecord[],
  { evidenceLines }: Shape,
  { tracked }: SummaryOptions,
): DetailOptions {
  const deciding = decidingTarget(timeline)
  return {
    startedAt: timeline.startedAt,
    finishedAt: timeline.finishedAt,
    isInBox: record === deciding,
    isHintInBox: record.hint === timeline.hint || record.hint === deciding?.hint,
    isExplained: cause !== undefined || explained.some((each) => each.record === record),
    evidenceLines,
    tracked,
  }
}

/** The failed targets that are explained at once: the target that decided the verdict, and another one if there are two. */
function explainedTargets(timeline: Timeline, named: readonly NamedRecord[]): readonly NamedRecord[] {
  const failing = named.filter(({ record }) => isFailing(record))
  const deciding = decidingTarget(timeline)
  const others = failing.filter(({ record }) => record !== deciding)
  return [...failing.filter(({ record }) => record === deciding), ...(others.length > 1 ? [] : others)]
}

/** The evidence that helps at once, below the coloured box. The box has the message and hint of the target that decided. */
function causes(timeline: Timeline, named: readonly NamedRecord[], shape: Shape, options: SummaryOptions): string[] {
  if (shape.details === 0) return []
  const explained = explainedTargets(timeline, named)
  return explained.flatMap((each) => {
    const { record, name } = each
    const detail = detailOptions(each, timeline, explained, shape, options)
    const blocks = renderCause(record, fullName(name), detail)
    if (detail.isInBox) return blocks
    return [section(record, fullName(name), reasonHeadline(record), blocks, true)]
  })
}

/** Milestones between the change and the gate: one line for those that a target reached at the same moment. */
function entriesBefore({ targets, startedAt }: Timeline): Entry[] {
  return targets
    .flatMap((record, target) => {
      const known = new Set(record.milestones.flatMap(({ name, source }) => (source === undefined ? [] : name)))
      const before = stepsOf(record, startedAt).filter(
        ({ name, at }) => known.has(name) && at <= startedAt - shownBeforeMs,
      )
      return [...Map.groupBy(before, ({ at }) => at)].map(
        ([at, steps]): Entry => ({ at, target, kind: 'progress', text: steps.map(({ name }) => name).join(', ') }),
      )
    })
    .toSorted((one, other) => one.at - other.at)
}

function details(timeline: Timeline, named: readonly NamedRecord[], shape: Shape, options: SummaryOptions): string[] {
  if (timeline.outcome === 'progressing') return []
  const own = named.filter(({ cause }) => cause === undefined)
  const failing = own.filter(({ record }) => isFailing(record))
  const open = own.filter(({ record }) => record.outcome === 'progressing')
  const onTheWay = own.filter((each) => isReady(each) && each.record.problems.length > 0)
  const explained = explainedTargets(timeline, named)
  const notReady = [...failing, ...(failing.length + open.length > maxOpenDetails ? [] : open)]
  const hidden = Math.max(0, notReady.length - shape.details)
  const shown = [...notReady.slice(0, shape.details), ...(shape.detailsOfReady ? onTheWay.slice(0, shape.details) : [])]
  const sections = shown.flatMap((each) => {
    const text = renderDetails(
      each.record,
      fullName(each.name),
      detailOptions(each, timeline, explained, shape, options),
    )
    return text === '' ? [] : [text]
  })
  const further = sections.splice(unfoldedDetails)
  return [
    ...sections,
    ...(further.length === 0
      ? []
      : [folded(`Details of ${counted(further.length, 'more target')}`, further.join('\n\n'))]),
    ...(hidden > 0 && shape.details > 0 ? [`Details of ${counted(hidden, 'more target')} are in the report.`] : []),
  ]
}

function note(leftOut: readonly string[], { reportPath }: SummaryOptions): string[] {
  if (leftOut.length === 0) return []
  const where = reportPath === undefined ? 'the JSON report (output `report`)' : `the JSON report: ${code(reportPath)}`
  return [
    alert('NOTE', [`Left out, to stay below GitHub's size limit: ${leftOut.join(', ')}. All of it is in ${where}.`]),
  ]
}

/** The settings of the gate; empty for a gate that never began. */
function footer(timeline: Timeline): string[] {
  const { cluster, gates } = timeline
  const { context, version } = cluster
  if (gates !== undefined)
    return [`<sub>${counted(gates.length, 'gate')} · times are since the start of each gate</sub>`]
  const targets = timeline.targets
  if (context === '' && targets.length === 0) return []
  const namespaces = namespacesOf(targets)
  const { timeout, stall } = clockTexts(timeline, targets, markdown)
  const parts = [
    context === '' ? '' : `context ${markdown(context)}`,
    version === '' ? '' : `Kubernetes ${markdown(version)}`,
    namespaces.length === 1 ? `namespace ${markdown(namespaces[0] ?? '')}` : '',
    `timeout ${timeout}`,
    `stall timeout ${stall}`,
    lateEnd(timeline),
  ]
  return [`<sub>${parts.filter((part) => part !== '').join(' · ')}</sub>`]
}

function folded(title: string, content: string): string {
  return `<details><summary>${plain(title)}</summary>\n\n${content}\n\n</details>`
}
