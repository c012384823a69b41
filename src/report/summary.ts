import { duration } from '../duration.ts'
import { causeOf, type Entry, gateDurationMs, hasEnded, type RunRecord, type TargetRecord } from '../gate/run-record.ts'
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
export function renderSummary(record: RunRecord, options: SummaryOptions = {}): string {
  const { maxBytes = maxSummaryBytes } = options
  let shape = wholeShape
  let body = renderBody(record, shape, options)
  let leftOut: readonly string[] = []
  const whole = () => `${[body, ...note(leftOut, options), ...footer(record)].join('\n\n')}\n\n`
  for (const { leavesOut, ...smaller } of reductions) {
    if (Buffer.byteLength(whole()) <= maxBytes) break
    shape = { ...shape, ...smaller }
    const reduced = renderBody(record, shape, options)
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
  readonly target: TargetRecord
  readonly name: TargetName
  /** The name in a table: shortened, and escaped. */
  readonly shown: string
  /** The target for which this target only waits. */
  readonly cause?: NamedRecord | undefined
}

/** The summary without its notes and its footer. */
function renderBody(original: RunRecord, shape: Shape, options: SummaryOptions): string {
  const record = sinceChange(original)
  const names = nameTargets(record.targets)
  const short = shortenNames(
    names.map(({ name }) => name),
    maxNameWidth,
  )
  const own = record.targets.map(
    (target, index): NamedRecord => ({
      target,
      name: names[index] ?? { name: '' },
      shown: markdown(short[index] ?? ''),
    }),
  )
  const named = own.map((each) => ({
    ...each,
    cause: own.find(({ target }) => target === causeOf(each.target, record.targets)),
  }))
  const shown = named.filter(({ target }) => isJudged(target, record))
  const judged = { ...record, targets: shown.map(({ target }) => target) }
  const blocks = [
    `### ${outcomeLabels[record.outcome].icon} ${markdown(headline(original))}`,
    ...cause(record, options),
    ...settingsList(record),
    ...gateTable(record),
    ...causes(record, shown, shape, options),
    ...outcomeCounts(judged),
    ...table(judged, shown, shape),
    ...renderChecks(record),
    ...diagram(judged, shape),
    ...textTimeline(record, entriesBefore(original), shape),
    ...details(record, shown, shape, options),
    ...readyTable(judged, shown, shape),
  ]
  return blocks.join('\n\n')
}

function cause(record: RunRecord, { tracked }: SummaryOptions): string[] {
  const [only] = record.targets
  const { outcome } = record
  if ((outcome === 'ready' || outcome === 'progressing') && record.targets.length === 1 && only?.outcome === 'ready') {
    const wait = longestWait(only, record)
    return [`${targetStatus(only)}${wait === '' ? '' : ` · longest wait: ${wait}`}`, ...changeList(only)]
  }
  if (outcome === 'progressing') return []
  const { messages, hint, ...conclusion } = conclude(record)
  const source = renderSource(conclusion.source, tracked)
  const lines = [
    ...(messages.length > 1
      ? messages.map((message) => `- ${prose(message)}`)
      : messages.map((message) => `${prose(message)}${source === '' ? '' : ` · ${source}`}`)),
    ...(hint === undefined ? [] : ['', `**What to do:** ${prose(hint)}`]),
    ...wayBack(record),
  ]
  return lines.length === 0 ? [] : [alert(alertKinds[outcomeLabels[outcome].mark], lines)]
}

/** What serves now, and the way back. */
function wayBack(record: RunRecord): string[] {
  if (!hasEnded(record)) return []
  const { sentences, command } = wayBackOf(record)
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
function settingsList({ annotations = [], healthCheckKinds = [] }: RunRecord): string[] {
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
function outcomeCounts({ targets }: RunRecord): string[] {
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
  readonly cell: (row: NamedRecord, record: RunRecord) => string
}

const columns: readonly Column[] = [
  {
    title: '',
    align: ':-:',
    cell: ({ target, cause }) => outcomeLabels[cause === undefined ? target.outcome : 'progressing'].icon,
  },
  {
    title: 'Target',
    align: ':--',
    cell: ({ target, shown, cause }) => {
      if (cause !== undefined) return `↳ ${shown}`
      return target.outcome === 'ready' ? shown : `**${shown}**`
    },
  },
  { title: 'Namespace', align: ':--', isOptional: true, cell: ({ name }) => nameCell(name.namespace ?? '') },
  { title: 'Gate', align: ':--', isOptional: true, cell: ({ name }) => nameCell(name.gate ?? '') },
  {
    title: 'Status',
    align: ':--',
    cell: ({ target, cause }) =>
      cause === undefined
        ? [targetStatus(target), ...readyChange(target)].join('<br>')
        : `waits for ${nameCell(fullName(cause.name))}`,
  },
  {
    title: 'Took',
    align: '--:',
    cell: ({ target }, record) => duration(tookMs(target, record)),
  },
  {
    title: 'Longest wait',
    align: ':--',
    isOptional: true,
    cell: ({ target }, record) => (target.outcome === 'ready' ? longestWait(target, record) : ''),
  },
]

/** What a ready target runs now in place of what: the first change of its pod template. */
function readyChange({ outcome, changes = [] }: TargetRecord): string[] {
  const [first, ...others] = changes
  if (outcome !== 'ready' || first === undefined) return []
  return [`${prose(shortenWords(first, maxNameWidth), 200)}${others.length === 0 ? '' : ` and ${others.length} more`}`]
}

/** The table of `records`, with the columns that they need. */
function rowsOf(records: readonly NamedRecord[], record: RunRecord): string {
  const shown = columns.filter(({ isOptional, cell }) => !isOptional || records.some((row) => cell(row, record) !== ''))
  const line = (cells: readonly string[]) => `|${cells.join('|')}|`
  return [
    line(shown.map(({ title }) => (title === '' ? ' ' : ` ${title} `))),
    line(shown.map(({ align }) => align)),
    ...records.map((row) => line(shown.map(({ cell }) => ` ${cell(row, record)} `))),
  ].join('\n')
}

/** The targets that are not ready; the ready targets too, if they are few and no target failed. */
function table(record: RunRecord, named: readonly NamedRecord[], shape: Shape): string[] {
  if (record.targets.length < 2) return []
  const rows = (records: readonly NamedRecord[]) => rowsOf(records, record)
  const waiters = Map.groupBy(
    named.filter(({ cause }) => cause !== undefined),
    ({ cause }) => cause?.target,
  )
  const withWaiters = (each: NamedRecord) => [each, ...(waiters.get(each.target) ?? [])]
  // Targets with the same outcome and reason are together; each group is visible at first sight.
  const groups = Map.groupBy(
    named
      .filter(({ target, cause }) => target.outcome !== 'ready' && cause === undefined)
      .toSorted((a, b) => urgency(b.target) - urgency(a.target)),
    ({ target }) => `${target.outcome} ${target.reason}`,
  )
  const notReady = [...groups.values()].flat().flatMap(withWaiters)
  const isLong = notReady.length > Math.min(unfoldedRows, shape.rows)
  const each = isLong ? Math.max(1, Math.floor(Math.min(unfoldedRows, shape.rows) / groups.size)) : Infinity
  const shown = [...groups.values()].flatMap((group) => group.flatMap(withWaiters).slice(0, each)).slice(0, shape.rows)
  const further = notReady.filter((one) => !shown.includes(one)).slice(0, shape.rows - shown.length)
  const hidden = notReady.length - shown.length - further.length
  const ready = readyRows(record, named, shape)
  return [
    ...(shown.length + ready.length === 0 ? [] : [rows([...shown, ...ready])]),
    ...(further.length === 0 ? [] : [folded(`${counted(further.length, 'more target')} not ready`, rows(further))]),
    ...(hidden === 0 ? [] : [`…and ${counted(hidden, 'more target')} not ready.`]),
  ]
}

function isReady({ target }: NamedRecord): boolean {
  return target.outcome === 'ready'
}

/** Whether a target was ready at first sight, with a version that is older than this change. */
function isUnchanged(each: NamedRecord): boolean {
  return isReady(each) && each.target.change === 'none'
}

/** The targets that only exist, which one line lists; empty for fewer than two. */
function listedTargets(named: readonly NamedRecord[]): ReadonlySet<NamedRecord> {
  const existing = named.filter(({ target }) => onlyExists(target))
  return new Set(existing.length > 1 ? existing : [])
}

function slowestFirst(rows: readonly NamedRecord[], record: RunRecord): readonly NamedRecord[] {
  return rows.toSorted((a, b) => tookMs(b.target, record) - tookMs(a.target, record))
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
function readyRows(record: RunRecord, named: readonly NamedRecord[], shape: Shape): readonly NamedRecord[] {
  const { outcome } = record
  const hasFailed = outcome !== 'progressing' && outcome !== 'ready'
  const listed = listedTargets(named)
  const isFolded = named.filter(isUnchanged).length > 1 ? isUnchanged : () => false
  const rows = slowestFirst(
    named.filter((each) => isReady(each) && !isFolded(each) && !listed.has(each)),
    record,
  )
  return shape.readyRows && !hasFailed && rows.length <= unfoldedRows ? rows : []
}

/** The ready targets that the table does not contain: one line for those that are unchanged, one for the others. */
function readyTable(record: RunRecord, named: readonly NamedRecord[], shape: Shape): string[] {
  if (record.targets.length < 2) return []
  const shown = readyRows(record, named, shape)
  const listed = listedTargets(named)
  const rest = slowestFirst(
    named.filter((each) => isReady(each) && !shown.includes(each) && !listed.has(each)),
    record,
  )
  const fold = (ready: readonly NamedRecord[], noun: string) => {
    const title = `✅ ${counted(ready.length, noun)} ready`
    if (ready.length === 0) return []
    return [shape.readyRows ? folded(title, rowsOf(ready, record)) : `${title}.`]
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

function gateTable({ gates = [], targets }: RunRecord): string[] {
  if (gates.length === 0) return []
  const rows = gates.map((gate) => {
    const { name, outcome, reason, message } = gate
    const tookMs = gateDurationMs(gate)
    const own = targets.filter((target) => target.gate === name)
    const ready = own.filter((target) => target.outcome === 'ready').length
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

function diagram(record: RunRecord, shape: Shape): string[] {
  const gantt = shape.gantt ? renderGantt(record) : undefined
  if (gantt === undefined) return []
  const all = record.targets.length
  const words = `The diagram shows ${gantt.drawn} of ${counted(all, 'target')}: what is not ready, and the slowest.`
  const notes = gantt.drawn < all ? [`<sub>${words}</sub>`] : []
  return [`\`\`\`mermaid\n${gantt.diagram}\n\`\`\``, ...notes]
}

/** @param before what happened between the change and the gate */
function textTimeline(record: RunRecord, before: readonly Entry[], { timelineLines }: Shape): string[] {
  if (timelineLines === 0) return []
  const layout = layoutLog(record, { color: false })
  const entries = [...before, ...record.entries.filter(({ kind }) => kind !== 'heartbeat')]
  const lines = renderEntries(entries, layout)
  if (lines.length === 0) return []
  const left = lines.length - timelineLines
  const half = timelineLines / 2
  const shown = left > 0 ? [...lines.slice(0, half), `… ${left} lines left out`, ...lines.slice(-half)] : lines
  return [folded('Timeline as text', fence(shown))]
}

/** How much of a target the summary shows, in its cause and in its details. */
function detailOptions(
  { target, cause }: NamedRecord,
  record: RunRecord,
  explained: readonly NamedRecord[],
  { evidenceLines }: Shape,
  { tracked }: SummaryOptions,
): DetailOptions {
  const deciding = decidingTarget(record)
  return {
    startedAt: record.startedAt,
    finishedAt: record.finishedAt,
    isInBox: target === deciding,
    isHintInBox: target.hint === record.hint || target.hint === deciding?.hint,
    isExplained: cause !== undefined || explained.some((each) => each.target === target),
    evidenceLines,
    tracked,
  }
}

/** The failed targets that are explained at once: the target that decided the verdict, and another one if there are two. */
function explainedTargets(record: RunRecord, named: readonly NamedRecord[]): readonly NamedRecord[] {
  const failing = named.filter(({ target }) => isFailing(target))
  const deciding = decidingTarget(record)
  const others = failing.filter(({ target }) => target !== deciding)
  return [...failing.filter(({ target }) => target === deciding), ...(others.length > 1 ? [] : others)]
}

/** The evidence that helps at once, below the coloured box. The box has the message and hint of the target that decided. */
function causes(record: RunRecord, named: readonly NamedRecord[], shape: Shape, options: SummaryOptions): string[] {
  if (shape.details === 0) return []
  const explained = explainedTargets(record, named)
  return explained.flatMap((each) => {
    const { target, name } = each
    const detail = detailOptions(each, record, explained, shape, options)
    const blocks = renderCause(target, fullName(name), detail)
    if (detail.isInBox) return blocks
    return [section(target, fullName(name), reasonHeadline(target), blocks, true)]
  })
}

/** Milestones between the change and the gate: one line for those that a target reached at the same moment. */
function entriesBefore({ targets, startedAt }: RunRecord): Entry[] {
  return targets
    .flatMap((target, index) => {
      const known = new Set(target.milestones.flatMap(({ name, source }) => (source === undefined ? [] : name)))
      const before = stepsOf(target, startedAt).filter(
        ({ name, at }) => known.has(name) && at <= startedAt - shownBeforeMs,
      )
      return [...Map.groupBy(before, ({ at }) => at)].map(
        ([at, steps]): Entry => ({
          at,
          target: index,
          kind: 'progress',
          text: steps.map(({ name }) => name).join(', '),
        }),
      )
    })
    .toSorted((one, other) => one.at - other.at)
}

function details(record: RunRecord, named: readonly NamedRecord[], shape: Shape, options: SummaryOptions): string[] {
  if (record.outcome === 'progressing') return []
  const own = named.filter(({ cause }) => cause === undefined)
  const failing = own.filter(({ target }) => isFailing(target))
  const open = own.filter(({ target }) => target.outcome === 'progressing')
  const onTheWay = own.filter((each) => isReady(each) && each.target.problems.length > 0)
  const explained = explainedTargets(record, named)
  const notReady = [...failing, ...(failing.length + open.length > maxOpenDetails ? [] : open)]
  const hidden = Math.max(0, notReady.length - shape.details)
  const shown = [...notReady.slice(0, shape.details), ...(shape.detailsOfReady ? onTheWay.slice(0, shape.details) : [])]
  const sections = shown.flatMap((each) => {
    const text = renderDetails(each.target, fullName(each.name), detailOptions(each, record, explained, shape, options))
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
function footer(record: RunRecord): string[] {
  const { cluster, gates } = record
  const { context, version } = cluster
  if (gates !== undefined)
    return [`<sub>${counted(gates.length, 'gate')} · times are since the start of each gate</sub>`]
  const targets = record.targets
  if (context === '' && targets.length === 0) return []
  const namespaces = namespacesOf(targets)
  const { timeout, stall } = clockTexts(record, targets, markdown)
  const parts = [
    context === '' ? '' : `context ${markdown(context)}`,
    version === '' ? '' : `Kubernetes ${markdown(version)}`,
    namespaces.length === 1 ? `namespace ${markdown(namespaces[0] ?? '')}` : '',
    `timeout ${timeout}`,
    `stall timeout ${stall}`,
    lateEnd(record),
  ]
  return [`<sub>${parts.filter((part) => part !== '').join(' · ')}</sub>`]
}

function folded(title: string, content: string): string {
  return `<details><summary>${plain(title)}</summary>\n\n${content}\n\n</details>`
}
