import { duration } from '../duration.ts'
import type { RunRecord, TargetRecord } from '../gate/run-record.ts'
import type { Entry } from '../gate/timeline-entries.ts'
import { namespacesOf } from '../plan/target.ts'
import { titleOf } from '../reasons/reasons.ts'
import { counted, ifPresent, listNames } from '../reasons/wording.ts'
import {
  maxDetails,
  maxEvidenceLines,
  maxRows,
  maxSummaryBytes,
  maxTimelineLines,
  shownBeforeMs,
  unfoldedDetails,
  unfoldedRows,
} from '../thresholds.ts'
import type { TrackedFiles } from '../workspace.ts'
import { renderChecks } from './checks.ts'
import {
  type Align,
  codeBlock,
  escapeMarkdown,
  escapeProse,
  inlineCode,
  markdownTable,
  shortenName,
  shortenNames,
  shortenWords,
} from './escape.ts'
import { renderGantt } from './gantt.ts'
import {
  endDetails,
  gateCounts,
  headline,
  isFailing,
  isJudged,
  namedTargets,
  type TargetWithName,
  urgency,
} from './headline.ts'
import { layoutLog, renderEntries } from './log.ts'
import { type WayBack, wayBackOf } from './rollback.ts'
import {
  changeList,
  type DetailOptions,
  foldedSection,
  longestWait,
  renderCause,
  renderDetails,
  renderSource,
  targetStatus,
} from './target-details.ts'
import {
  isReadyByExistence,
  outcomeLabels,
  reachedSteps,
  startAtChange,
  targetDurationMs,
  timeoutTexts,
  wasReadyAtStart,
} from './target-record.ts'

/* Renders a record as the job summary, and reduces the summary to the size that GitHub accepts. */

interface SummaryOptions {
  /** Maximum size in bytes. The default is just below the 1 MiB that GitHub accepts from a step. */
  readonly maxBytes?: number
  /** The files to which the summary can link; none by default. */
  readonly tracked?: TrackedFiles | undefined
  /** The path of the JSON report, which the summary shows if something is left out. */
  readonly reportPath?: string
}

const fewestForCounts = 10
const maxNameWidth = 60
const maxListedSettings = 20

/**
 * The job summary as GitHub Markdown. First the outcome, the cause with its hint, and the targets that are not ready.
 * Then the timeline, events, logs and the ready targets. The gate may still be open. The summary ends with an empty
 * line, because another summary may follow.
 */
export function renderSummary(record: RunRecord, options: SummaryOptions = {}): string {
  const { maxBytes = maxSummaryBytes } = options
  let shape = wholeShape
  let body = renderBody(record, shape, options)
  let leftOut: readonly string[] = []
  const whole = () => `${[body, ...omissionNote(leftOut, options), ...settingsFooter(record)].join('\n\n')}\n\n`
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

/** What to leave out of a summary that is too large. The reductions are applied in order until the summary fits. */
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

/** A target in the summary. `endDetails` is the box at the top. */
interface Row extends TargetWithName {
  /** The name for a table: shortened and escaped. */
  readonly shown: string
}

/** The data from which the blocks of a summary are rendered. */
interface Page {
  readonly record: RunRecord
  /** The targets that the gate judged. */
  readonly rows: readonly Row[]
  readonly ready: ReadyRows
  readonly shape: Shape
  readonly options: SummaryOptions
}

/** The summary without notes and footer. */
function renderBody(original: RunRecord, shape: Shape, options: SummaryOptions): string {
  const record = startAtChange(original)
  const rows = judgedRows(record)
  const page = { record, rows, ready: placeReadyRows(record, rows, shape), shape, options }
  const judged = { ...record, targets: rows.map(({ target }) => target) }
  const deciding = rows.find(({ isDeciding }) => isDeciding)
  const blocks = [
    `### ${outcomeLabels[record.outcome].icon} ${escapeMarkdown(headline(original))}`,
    ...outcomeBox(record, wayBackOf(original), options),
    ...settingsList(record),
    ...gateTable(record),
    ...(deciding === undefined || shape.details === 0 ? [] : renderCause(deciding, detailOptions(page))),
    ...outcomeCounts(judged),
    ...targetTable(page),
    ...renderChecks(record),
    ...ganttBlock(judged, shape),
    ...textTimeline(record, entriesBeforeGate(original), shape),
    ...detailSections(page),
    ...readyTable(page),
  ]
  return blocks.join('\n\n')
}

/** The targets that the gate judged, as rows. */
function judgedRows(record: RunRecord): readonly Row[] {
  const named = namedTargets(record)
  const short = shortenNames(
    named.map(({ parts }) => parts.name),
    maxNameWidth,
  )
  return named
    .map((each, index) => ({ ...each, shown: escapeMarkdown(short[index] ?? '') }))
    .filter(({ target }) => isJudged(target, record))
}

/**
 * The box with the cause, hint and way back of a gate that is not ready. If the only target is ready, its status.
 * @param wayBack from the record before `startAtChange`, because ages count from the gate's start
 */
function outcomeBox(record: RunRecord, wayBack: WayBack | undefined, { tracked }: SummaryOptions): string[] {
  const [only] = record.targets
  const { outcome } = record
  if ((outcome === 'ready' || outcome === 'progressing') && record.targets.length === 1 && only?.outcome === 'ready') {
    const wait = longestWait(only, record)
    return [`${targetStatus(only)}${wait === '' ? '' : ` · longest wait: ${wait}`}`, ...changeList(only)]
  }
  if (outcome === 'progressing') return []
  const { messages, hint, source: written } = endDetails(record)
  const source = renderSource(written, tracked)
  const { sentences = [], command = '' } = wayBack ?? {}
  const back = [
    ...sentences.map((each) => escapeProse(each)),
    ...(command === '' ? [] : [`Back: ${inlineCode(command)}`]),
  ].join(' ')
  const lines = [
    ...(messages.length > 1
      ? messages.map((message) => `- ${escapeProse(message)}`)
      : messages.map((message) => `${escapeProse(message)}${source === '' ? '' : ` · ${source}`}`)),
    ...(hint === undefined ? [] : ['', `**What to do:** ${escapeProse(hint)}`]),
    ...(back === '' ? [] : ['', back]),
  ]
  return lines.length === 0 ? [] : [alertBox(alertKinds[outcomeLabels[outcome].mark], lines)]
}

/** Red for failures, amber for other ends. */
const alertKinds = { '✗': 'CAUTION', '!': 'WARNING', '✓': 'NOTE', '…': 'NOTE' } as const

/** A coloured box of GitHub: https://docs.github.com/get-started/writing-on-github#alerts */
function alertBox(kind: (typeof alertKinds)[keyof typeof alertKinds], lines: readonly string[]): string {
  return [`> [!${kind}]`, ...lines.map((line) => `> ${line}`.trimEnd())].join('\n')
}

/** Warnings about annotations and health checks that change what is gated: reviewers of the change must see them. */
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
  const shown = names.slice(0, maxListedSettings).map((each) => `- ${nameCell(each)}`)
  const more = names.length - shown.length
  return [alertBox('WARNING', [title, '', ...shown, ...(more === 0 ? [] : [`- and ${more} more`])])]
}

/** A name for a table cell, shortened: a table is as wide as its longest word. */
function nameCell(name: string): string {
  return escapeMarkdown(shortenName(name, maxNameWidth))
}

/** The number of targets by outcome and reason, if there are many: a long table hides the numbers. */
function outcomeCounts({ targets }: RunRecord): string[] {
  if (targets.length < fewestForCounts) return []
  const groups = Map.groupBy(targets, ({ outcome, reason, causedBy }) => {
    if (causedBy !== undefined) return `${outcomeLabels.progressing.icon} waiting for another target`
    return [outcomeLabels[outcome].icon, reason === '' ? outcomeLabels[outcome].verb : titleOf(reason)].join(' ')
  })
  const parts = [...groups]
    .toSorted(([, one], [, other]) => urgency(other[0]) - urgency(one[0]) || other.length - one.length)
    .map(([words, { length }]) => words.replace(' ', ` ${length} × `))
  return [parts.join(' · ')]
}

/** A column of the table of targets. */
interface Column {
  readonly title: string
  readonly align: Align
  /** The column is left out if all its cells are empty. */
  readonly isOptional?: true
  /** The Markdown of a cell. Text from the cluster must be escaped. */
  readonly cell: (row: Row, record: RunRecord) => string
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
  { title: 'Namespace', align: ':--', isOptional: true, cell: ({ parts }) => nameCell(parts.namespace ?? '') },
  { title: 'Gate', align: ':--', isOptional: true, cell: ({ parts }) => nameCell(parts.gate ?? '') },
  {
    title: 'Status',
    align: ':--',
    cell: ({ target, cause }) =>
      cause === undefined
        ? [targetStatus(target), ...firstChange(target)].join('<br>')
        : `waits for ${nameCell(cause.name)}`,
  },
  {
    title: 'Took',
    align: '--:',
    isOptional: true,
    cell: ({ target }, record) => (wasReadyAtStart(target, record) ? '' : duration(targetDurationMs(target, record))),
  },
  {
    title: 'Longest wait',
    align: ':--',
    isOptional: true,
    cell: ({ target }, record) => (target.outcome === 'ready' ? longestWait(target, record) : ''),
  },
]

/** The first change of a ready target's pod template, and the number of its other changes. */
function firstChange({ outcome, changes = [], changesSince }: TargetRecord): string[] {
  if (outcome !== 'ready' || changes.length === 0) return []
  const shown = changes.map((change) => escapeProse(shortenWords(change, maxNameWidth), 200))
  return [`${ifPresent`since revision ${changesSince}: `}${listNames(shown, 1)}`]
}

/** A table of targets. Optional columns without content are left out. */
function rowTable(rows: readonly Row[], record: RunRecord): string {
  const shown = columns.filter(({ isOptional, cell }) => !isOptional || rows.some((row) => cell(row, record) !== ''))
  return markdownTable(
    Object.fromEntries(shown.map(({ title, align }) => [title, align])),
    rows.map((row) => shown.map(({ cell }) => cell(row, record))),
  )
}

/** The table of the targets that are not ready. If no target failed and few are ready, it contains these too. */
function targetTable({ record, rows, ready, shape }: Page): string[] {
  if (rows.length < 2) return []
  const waiters = Map.groupBy(rows, ({ cause }) => cause?.target)
  const withWaiters = (row: Row) => [row, ...(waiters.get(row.target) ?? [])]
  const notReady = rows
    .filter((row) => !isReadyRow(row) && row.cause === undefined)
    .toSorted((a, b) => urgency(b.target) - urgency(a.target))
    .flatMap(withWaiters)
  const shown = notReady.slice(0, Math.min(unfoldedRows, shape.rows))
  const further = notReady.slice(shown.length, shape.rows)
  const hidden = notReady.length - shown.length - further.length
  return [
    ...(shown.length + ready.inTable.length === 0 ? [] : [rowTable([...shown, ...ready.inTable], record)]),
    ...(further.length === 0
      ? []
      : [foldedSection(`${counted(further.length, 'more target')} not ready`, rowTable(further, record))]),
    ...(hidden === 0 ? [] : [`…and ${counted(hidden, 'more target')} not ready.`]),
  ]
}

function isReadyRow({ target }: Row): boolean {
  return target.outcome === 'ready'
}

/** Whether a target was already ready when the gate first read it, and its version is older than this change. */
function isUnchanged(row: Row): boolean {
  return isReadyRow(row) && row.target.change === 'none'
}

/** The ready targets, by the place in the summary that shows them. */
interface ReadyRows {
  /** Targets in the main table; none if a target failed, or if many targets are ready. */
  readonly inTable: readonly Row[]
  /** Targets that only need to exist, whose names share one line; none if there is only one. */
  readonly listed: readonly Row[]
  /** Targets in folded tables below the main table. If several are unchanged, they have their own table. */
  readonly folded: readonly Row[]
}

/** Distributes the ready targets over the places that show them, the slowest first. */
function placeReadyRows(record: RunRecord, rows: readonly Row[], shape: Shape): ReadyRows {
  const { outcome } = record
  const several = (some: readonly Row[]) => (some.length > 1 ? some : [])
  const listed = several(rows.filter(({ target }) => isReadyByExistence(target)))
  const unchanged = several(rows.filter(isUnchanged))
  const took = ({ target }: Row) => (wasReadyAtStart(target, record) ? 0 : targetDurationMs(target, record))
  const shown = rows.filter((row) => isReadyRow(row) && !listed.includes(row)).toSorted((a, b) => took(b) - took(a))
  const changed = shown.filter((row) => !unchanged.includes(row))
  const hasFailed = outcome !== 'progressing' && outcome !== 'ready'
  const inTable = shape.readyRows && !hasFailed && changed.length <= unfoldedRows ? changed : []
  return { inTable, listed, folded: shown.filter((row) => !inTable.includes(row)) }
}

const listedNames = 6

/** The ready targets that the main table does not contain: a line of names, and folded tables. */
function readyTable({ record, rows, ready, shape }: Page): string[] {
  if (rows.length < 2) return []
  const fold = (some: readonly Row[], noun: string) => {
    const title = `✅ ${counted(some.length, noun)} ready`
    if (some.length === 0) return []
    return [shape.readyRows ? foldedSection(title, rowTable(some, record)) : `${title}.`]
  }
  const { listed } = ready
  const names = listNames(
    listed.map(({ name }) => nameCell(name)),
    listedNames,
  )
  return [
    ...(listed.length === 0 ? [] : [`✅ ${listed.length} targets exist: ${names}`]),
    ...fold(
      ready.folded.filter((row) => !isUnchanged(row)),
      'target',
    ),
    ...fold(ready.folded.filter(isUnchanged), 'unchanged target'),
  ]
}

/** The table of the gates of a merged record. */
function gateTable(record: RunRecord): string[] {
  const rows = gateCounts(record).map(({ name, outcome, reason, message, tookMs, total, ready }) => {
    const why =
      outcome === 'ready'
        ? 'ready'
        : `**${escapeMarkdown(reason === '' ? outcome : titleOf(reason))}**<br>${escapeProse(shortenWords(message, maxNameWidth), 300)}`
    return [
      outcomeLabels[outcome].icon,
      nameCell(name),
      why,
      total === 0 ? '' : `${ready} of ${total}`,
      tookMs === undefined ? '' : duration(tookMs),
    ]
  })
  if (rows.length === 0) return []
  return [markdownTable({ '': ':-:', Gate: ':--', Status: ':--', Ready: '--:', Took: '--:' }, rows)]
}

/** The gantt, with a note if the gantt does not show all targets. */
function ganttBlock(record: RunRecord, shape: Shape): string[] {
  const gantt = shape.gantt ? renderGantt(record) : undefined
  if (gantt === undefined) return []
  const all = record.targets.length
  const words = `The diagram shows ${gantt.drawn} of ${counted(all, 'target')}: what is not ready, and the slowest.`
  const notes = gantt.drawn < all ? [`<sub>${words}</sub>`] : []
  return [`\`\`\`mermaid\n${gantt.diagram}\n\`\`\``, ...notes]
}

/** The timeline as text, folded. @param before the entries between the change and the gate */
function textTimeline(record: RunRecord, before: readonly Entry[], { timelineLines }: Shape): string[] {
  if (timelineLines === 0) return []
  const layout = layoutLog(record, { color: false })
  const entries = [...before, ...record.entries.filter(({ kind }) => kind !== 'heartbeat')]
  const lines = renderEntries(entries, layout)
  if (lines.length === 0) return []
  const left = lines.length - timelineLines
  const half = timelineLines / 2
  const shown = left > 0 ? [...lines.slice(0, half), `… ${left} lines left out`, ...lines.slice(-half)] : lines
  return [foldedSection('Timeline as text', codeBlock(shown))]
}

function detailOptions({ record, shape, options }: Page): DetailOptions {
  const { startedAt, finishedAt } = record
  return { startedAt, finishedAt, evidenceLines: shape.evidenceLines, tracked: options.tracked }
}

/**
 * Entries for milestones reached after the change and before the gate's start. Milestones of one target at the same
 * time share an entry.
 */
function entriesBeforeGate({ targets, startedAt }: RunRecord): Entry[] {
  return targets
    .flatMap((target, index) => {
      const known = new Set(target.milestones.flatMap(({ name, source }) => (source === undefined ? [] : name)))
      const before = reachedSteps(target, startedAt).filter(
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

/** The folded sections of the targets that are not ready, and of ready targets that had problems. */
function detailSections(page: Page): string[] {
  const { record, rows, shape } = page
  if (record.outcome === 'progressing') return []
  const own = rows.filter(({ cause }) => cause === undefined)
  const failing = own.filter(({ target }) => isFailing(target))
  const open = own.filter(({ target }) => target.outcome === 'progressing')
  const withProblems = own.filter((row) => isReadyRow(row) && row.target.problems.length > 0)
  const notReady = [...failing, ...(failing.length + open.length > unfoldedDetails ? [] : open)]
  const hidden = Math.max(0, notReady.length - shape.details)
  const shown = [
    ...notReady.slice(0, shape.details),
    ...(shape.detailsOfReady ? withProblems.slice(0, shape.details) : []),
  ]
  const sections = shown.map((row) => renderDetails(row, detailOptions(page))).filter((text) => text !== '')
  const further = sections.splice(unfoldedDetails)
  return [
    ...sections,
    ...(further.length === 0
      ? []
      : [foldedSection(`Details of ${counted(further.length, 'more target')}`, further.join('\n\n'))]),
    ...(hidden > 0 && shape.details > 0 ? [`Details of ${counted(hidden, 'more target')} are in the report.`] : []),
  ]
}

/** A note about what the summary leaves out, and where to find it. */
function omissionNote(leftOut: readonly string[], { reportPath }: SummaryOptions): string[] {
  if (leftOut.length === 0) return []
  const where =
    reportPath === undefined ? 'the JSON report (output `report`)' : `the JSON report: ${inlineCode(reportPath)}`
  return [
    alertBox('NOTE', [`Left out, to stay below GitHub's size limit: ${leftOut.join(', ')}. All of it is in ${where}.`]),
  ]
}

/** A line with the settings of the gate; empty if the gate never started. */
function settingsFooter(record: RunRecord): string[] {
  const { cluster, gates } = record
  const { context, version } = cluster
  if (gates !== undefined)
    return [`<sub>${counted(gates.length, 'gate')} · times are since the start of each gate</sub>`]
  const targets = record.targets
  if (context === '' && targets.length === 0) return []
  const namespaces = namespacesOf(targets)
  const { timeout, stall } = timeoutTexts(record, targets)
  const parts = [
    context === '' ? '' : `context ${escapeMarkdown(context)}`,
    version === '' ? '' : `Kubernetes ${escapeMarkdown(version)}`,
    namespaces.length === 1 ? `namespace ${escapeMarkdown(namespaces[0] ?? '')}` : '',
    `timeout ${timeout}`,
    `stall timeout ${stall}`,
  ]
  return [`<sub>${parts.filter((part) => part !== '').join(' · ')}</sub>`]
}
