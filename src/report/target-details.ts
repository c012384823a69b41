import { findErrorLine } from '../cluster/error-lines.ts'
import { duration } from '../duration.ts'
import type { Evidence, ProblemRecord, TargetRecord } from '../gate/run-record.ts'
import type { Source } from '../plan/target.ts'
import { counted } from '../reasons/wording.ts'
import { linesAfterError, linesBeforeError, maxShownChanges, maxShownProblems, shortestWaitMs } from '../thresholds.ts'
import type { TrackedFiles } from '../workspace.ts'
import { code, fence, html, markdown, markdownTable, prose, safeLine, safeLines, shortenWords } from './escape.ts'
import {
  capitalised,
  endOf,
  evidenceText,
  formatElapsed,
  type GateTimes,
  isInMessage,
  messageBelowName,
  openMilestone,
  openMs,
  orderEvidence,
  outcomeLabels,
  problemCount,
  problemPath,
  reasonHeadline,
  slowestStep,
  stepsOf,
} from './target-record.ts'

/** A target, and which parts of its details the summary shows elsewhere. */
export interface DetailedTarget {
  readonly target: TargetRecord
  /** Not escaped. */
  readonly name: string
  /** The summary already shows the target's message, hint and source in its box, and below it {@link renderCause}. */
  readonly isInBox: boolean
  readonly isHintInBox: boolean
}

/** How much of a target is shown. */
export interface DetailOptions extends GateTimes {
  /** Maximum number of lines of one piece of evidence; 0 shows none. */
  readonly evidenceLines: number
  /** The files that can be linked. */
  readonly tracked: TrackedFiles | undefined
}

const evidenceLineLimit = 500
/** The maximum length of a word in a table: a longer one would make the table wider than the page. */
export const maxWordWidth = 48

/**
 * What helps at once with a target that is not ready: message, hint, the lines of the log that look like the error, and
 * what changed.
 */
export function renderCause(
  { target, name, isInBox, isHintInBox }: DetailedTarget,
  { tracked, evidenceLines }: DetailOptions,
): readonly string[] {
  const { hint, outcome, source } = target
  const message = isInBox || outcome === 'ready' ? '' : prose(messageBelowName(name, target))
  const place = isInBox ? '' : renderSource(source, tracked)
  const excerpt = excerptOf(target, evidenceLines)
  return [
    ...(message === '' ? [] : [message]),
    ...(hint === undefined || isHintInBox ? [] : [`**What to do:** ${prose(hint)}`]),
    ...(place === '' ? [] : [`**Written in** ${place}`]),
    ...(excerpt === undefined ? [] : [`**${markdown(excerpt.title)}**`, fence(excerpt.lines)]),
    ...changeList(target),
  ]
}

/** What is folded, and is shown on a click. */
export function folded(title: string, content: string): string {
  return `<details><summary>${safeLine(title)}</summary>\n\n${content}\n\n</details>`
}

/** The folded section of a target. */
function targetSection({ target, name }: DetailedTarget, title: string, blocks: readonly string[]): string {
  const { icon } = outcomeLabels[target.outcome]
  return [
    `<details><summary>${icon} <b>${html(name)}</b>: ${html(title)}</summary>`,
    '<br>', // keeps what follows off the title
    ...blocks,
    '</details>',
  ].join('\n\n')
}

/**
 * One target in a folded section: what helps at once unless that is shown already, evidence, milestones. Empty if there is
 * nothing to show.
 */
export function renderDetails(row: DetailedTarget, options: DetailOptions): string {
  const { target, isInBox } = row
  const title = target.outcome === 'ready' ? 'ready, with problems on the way' : reasonHeadline(target)
  const problems = target.problems.slice(0, maxShownProblems)
  const rest = target.problems.length - problems.length
  const excerpt = excerptOf(target, options.evidenceLines)
  // A log that is quoted as a whole is not repeated.
  const quoted = excerpt?.isWhole ? excerpt.text : undefined
  const blocks = [
    ...(isInBox ? [] : renderCause(row, options)),
    ...problems.flatMap((problem) => [
      renderProblem(problem, target, options),
      ...orderEvidence(problem.evidence)
        .filter(({ text }) => text !== quoted)
        .flatMap((piece) => renderEvidencePiece(piece, options)),
    ]),
    ...(rest > 0 ? [`…and ${counted(rest, 'more problem')} in the report.`] : []),
    ...(target.notes === undefined ? [] : [target.notes.map((note) => `- ${prose(note)}`).join('\n')]),
    ...milestoneTable(target, options),
  ]
  if (blocks.length === 0) return ''
  return targetSection(row, isInBox ? 'events, logs and milestones' : title, blocks)
}

interface Excerpt {
  readonly title: string
  readonly lines: readonly string[]
  /** The whole log that contains the excerpt. */
  readonly text: string
  /** The excerpt is the whole log. */
  readonly isWhole: boolean
}

/**
 * The lines of a container's log around the line that looks like the error; the last lines if none does. If there are
 * several logs, the first log with an error.
 */
function excerptOf({ problems }: TargetRecord, limit: number): Excerpt | undefined {
  const logs = problems
    .flatMap(({ evidence }) => orderEvidence(evidence))
    .flatMap(({ type, title, text, isUnread }) => {
      const lines = type === 'log' && !isUnread && limit > 0 ? safeLines(text, evidenceLineLimit) : []
      return lines.length === 0 ? [] : [{ title, text, lines, error: findErrorLine(lines) }]
    })
  const found = logs.find(({ error }) => error >= 0) ?? logs[0]
  if (found === undefined) return undefined
  const { title, text, lines, error } = found
  const at = error < 0 ? lines.length - 1 : error
  const [from, to] = [Math.max(0, at - linesBeforeError), at + 1 + linesAfterError]
  const shown = [
    ...(from > 0 ? [`… ${counted(from, 'line')} above`] : []),
    ...lines.slice(from, to),
    ...(to < lines.length ? [`… ${counted(lines.length - to, 'line')} below`] : []),
  ]
  return { title, text, lines: shown, isWhole: from === 0 && to >= lines.length }
}

/** `` `k8s/web.yaml` line 12``, as a link if the file is tracked; empty without a file. */
export function renderSource(source: Source | undefined, tracked: TrackedFiles | undefined): string {
  if (!isManifest(source)) return ''
  const text = `${code(source.file)} line ${source.line}`
  const file = tracked?.get(source.file)
  if (file === undefined || file === 'untracked') return text
  // A bracket would end the link.
  const url = file.url.replace(/[()]/g, (mark) => (mark === '(' ? '%28' : '%29'))
  return `[${text}](${url}#L${source.line})`
}

/** Whether the source is a file of the workspace, not a line of the input. */
export function isManifest(source: Source | undefined): source is Source {
  if (source === undefined || source.file === 'resources') return false
  return !/^(?:$|-$|[/\\]|[A-Za-z]:|\.\.(?:[/\\]|$))/.test(source.file)
}

/** The status of a target for a table cell. */
export function targetStatus(target: TargetRecord): string {
  if (target.outcome === 'ready') return [target.message || 'ready', ...(target.notes ?? [])].map(inCell).join(' · ')
  const why = target.reason === '' ? '' : `**${markdown(shortenWords(reasonHeadline(target), maxWordWidth))}**<br>`
  const open = openMilestone(target)
  if (open === undefined) return why === '' ? inCell(target.message) : why.slice(0, -'<br>'.length)
  const done = target.milestones.filter(({ state }) => state === 'done').length
  const total = target.milestones.filter(({ state }) => state !== 'skipped').length
  const message = open.message === '' ? '' : `: ${inCell(open.message)}`
  return `${why}step ${done + 1} of ${total}, ${markdown(open.name)}${message}`
}

function inCell(text: string): string {
  return prose(shortenWords(text, maxWordWidth), 200)
}

/** `ready 17 s`: the milestone of a ready target that took longest; empty if none took time. */
export function longestWait(target: TargetRecord, times: GateTimes): string {
  const { name = '', tookMs = 0 } = slowestStep(target, times) ?? {}
  return tookMs < shortestWaitMs ? '' : `${markdown(name)} ${duration(tookMs)}`
}

interface MilestoneRow {
  readonly elapsed: string
  readonly names: string[]
  readonly messages: string[]
  tookMs: number
}

/** The milestones by time, with one row for those of the same second. */
function milestoneTable(target: TargetRecord, times: DetailOptions): string[] {
  const { startedAt, finishedAt } = times
  const steps = stepsOf(target, startedAt)
  const open = openMilestone(target)
  const end = endOf(target, finishedAt)
  const rows: MilestoneRow[] = []
  const byTime = target.milestones.toSorted((one, other) => (one.at ?? Infinity) - (other.at ?? Infinity))
  for (const { name, state, message } of byTime) {
    const step = steps.find((each) => each.name === name)
    if (step === undefined && name !== open?.name) continue
    const elapsed = formatElapsed((step?.at ?? end) - startedAt)
    const tookMs = step?.tookMs ?? openMs(target, times)
    // A long message that is shown above is not repeated.
    const isAbove = message.length > 60 && target.message.includes(message)
    // An object that existed before the gate was not created by it.
    const shown = name === 'created' && message === 'exists' ? message : name
    const messages = message === '' || message === shown || isAbove ? [] : [prose(message)]
    const last = rows.at(-1)
    if (step !== undefined && last?.elapsed === elapsed) {
      last.names.push(markdown(shown))
      last.messages.push(...messages)
      last.tookMs += tookMs
      continue
    }
    const isLost = state === 'failed' || outcomeLabels[target.outcome].mark === '✗'
    const mark = step !== undefined ? '✓' : isLost ? '✗' : '…'
    rows.push({ elapsed, names: [`${mark} ${markdown(shown)}`], messages, tookMs })
  }
  if (rows.length === 0) return []
  const cells = rows.map(({ elapsed, names, tookMs, messages }) => {
    const took = tookMs < shortestWaitMs ? '' : duration(tookMs)
    return [elapsed, names.join(', '), took, messages.join(' · ')]
  })
  return [markdownTable({ Elapsed: '--:', Milestone: ':--', Took: '--:', 'What happened': ':--' }, cells)]
}

/** The reason, the path to the object, and the message unless it is shown above. */
function renderProblem(problem: ProblemRecord, target: TargetRecord, { startedAt }: DetailOptions): string {
  const line = `${code(problem.reason)} ${markdown(problemPath(problem))} · ${problemCount(problem, startedAt)}`
  return isInMessage(problem, target) ? line : `${line}<br>${prose(capitalised(problem.message))}`
}

/** The list of what changed. */
export function changeList({ changes = [], changesSince, outcome }: TargetRecord): string[] {
  if (changes.length === 0) return []
  const since = changesSince === undefined ? '' : ` since revision ${changesSince}`
  const title = outcome === 'superseded' ? 'What the newer change changed' : `What changed${since}`
  const rest = changes.length - maxShownChanges
  return [
    [
      `**${title}**`,
      ...changes.slice(0, maxShownChanges).map((change) => `- ${prose(change)}`),
      ...(rest > 0 ? [`- …and ${rest} more`] : []),
    ].join('\n'),
  ]
}

function renderEvidencePiece(piece: Evidence, { evidenceLines: limit, startedAt }: DetailOptions): string[] {
  const { type, title, text } = piece
  if (type === 'manifest') return [`**${markdown(title)}:** ${code(text)}`]
  const lines = limit === 0 ? [] : safeLines(evidenceText(piece, startedAt), evidenceLineLimit)
  if (lines.length === 0) return []
  const left = lines.length - limit
  const shown = left > 0 ? [`… ${left} earlier lines left out`, ...lines.slice(-limit)] : lines
  return [`**${markdown(title)}**`, fence(shown)]
}
