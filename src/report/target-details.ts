import { findErrorLine } from '../cluster/logs.ts'
import { duration } from '../duration.ts'
import type { Evidence, ProblemRecord, TargetRecord } from '../gate/run-record.ts'
import type { Source } from '../plan/target.ts'
import { counted } from '../reasons/wording.ts'
import { linesAfterError, linesBeforeError, maxShownChanges, maxShownProblems, shortestWaitMs } from '../thresholds.ts'
import type { TrackedFiles } from '../workspace.ts'
import {
  codeBlock,
  escapeHtml,
  escapeMarkdown,
  escapeProse,
  inlineCode,
  markdownTable,
  safeLine,
  safeLines,
  shortenWords,
} from './escape.ts'
import type { TargetWithName } from './headline.ts'
import {
  capitalize,
  evidenceText,
  failedOrCurrentMilestone,
  failedOrCurrentMilestoneMs,
  formatElapsed,
  type GateTimes,
  isInTargetMessage,
  messageBelowName,
  orderEvidence,
  outcomeLabels,
  problemCountText,
  problemPath,
  reachedSteps,
  reasonHeadline,
  slowestStep,
  targetEnd,
} from './target-record.ts'

/* Renders a target for the summary: its cause, evidence, milestones and status. */

/** How much of a target is shown. */
export interface DetailOptions extends GateTimes {
  /** The maximum number of lines for each piece of evidence; 0 hides all evidence. */
  readonly evidenceLines: number
  /** The files to which the summary can link. */
  readonly tracked: TrackedFiles | undefined
}

const evidenceLineLimit = 500
/** The maximum length of a word in a table: a longer word would make the table wider than the page. */
export const maxWordWidth = 48

/**
 * The cause of a target that is not ready: message, hint, log lines that look like the error, and changes. Message,
 * hint and source are left out if the box at the top shows them.
 */
export function renderCause(
  { target, name, isDeciding, isHintAbove }: TargetWithName,
  { tracked, evidenceLines }: DetailOptions,
): readonly string[] {
  const { hint, outcome, source } = target
  const message = isDeciding || outcome === 'ready' ? '' : escapeProse(messageBelowName(name, target))
  const place = isDeciding ? '' : renderSource(source, tracked)
  const excerpt = logExcerpt(target, evidenceLines)
  return [
    ...(message === '' ? [] : [message]),
    ...(hint === undefined || isHintAbove ? [] : [`**What to do:** ${escapeProse(hint)}`]),
    ...(place === '' ? [] : [`**Written in** ${place}`]),
    ...(excerpt === undefined ? [] : [`**${escapeMarkdown(excerpt.title)}**`, codeBlock(excerpt.lines)]),
    ...changeList(target),
  ]
}

/** Content that GitHub shows after a click on the title. */
export function foldedSection(title: string, content: string): string {
  return `<details><summary>${safeLine(title)}</summary>\n\n${content}\n\n</details>`
}

/** The folded section of a target: cause (unless it is shown above), evidence and milestones. Empty without content. */
export function renderDetails(row: TargetWithName, options: DetailOptions): string {
  const { target, name, isDeciding } = row
  const { icon } = outcomeLabels[target.outcome]
  const headline = target.outcome === 'ready' ? 'ready, with problems on the way' : reasonHeadline(target)
  const title = isDeciding ? 'events, logs and milestones' : headline
  const problems = target.problems.slice(0, maxShownProblems)
  const rest = target.problems.length - problems.length
  const excerpt = logExcerpt(target, options.evidenceLines)
  // If the excerpt is a whole log, this log is not repeated.
  const quoted = excerpt?.isWhole ? excerpt.text : undefined
  const blocks = [
    ...(isDeciding ? [] : renderCause(row, options)),
    ...problems.flatMap((problem) => [
      renderProblem(problem, target, options),
      ...orderEvidence(problem.evidence)
        .filter(({ text }) => text !== quoted)
        .flatMap((piece) => renderEvidencePiece(piece, options)),
    ]),
    ...(rest > 0 ? [`…and ${counted(rest, 'more problem')} in the report.`] : []),
    ...(target.notes === undefined ? [] : [target.notes.map((note) => `- ${escapeProse(note)}`).join('\n')]),
    ...milestoneTable(target, options),
  ]
  if (blocks.length === 0) return ''
  return [
    `<details><summary>${icon} <b>${escapeHtml(name)}</b>: ${escapeHtml(title)}</summary>`,
    '<br>', // vertical space below the title
    ...blocks,
    '</details>',
  ].join('\n\n')
}

interface Excerpt {
  readonly title: string
  readonly lines: readonly string[]
  /** The whole log from which the excerpt is taken. */
  readonly text: string
  /** The excerpt is the whole log. */
  readonly isWhole: boolean
}

/** The log lines around the first line that looks like an error, otherwise the last lines of the first log. */
function logExcerpt({ problems }: TargetRecord, limit: number): Excerpt | undefined {
  const logs = problems
    .flatMap(({ evidence }) => orderEvidence(evidence))
    .flatMap(({ type, title, text, isUnread }) => {
      const lines = type === 'log' && !isUnread && limit > 0 ? safeLines(text, evidenceLineLimit) : []
      return lines.length === 0 ? [] : [{ title, text, lines, errorIndex: findErrorLine(lines) }]
    })
  const shownLog = logs.find(({ errorIndex }) => errorIndex >= 0) ?? logs[0]
  if (shownLog === undefined) return undefined
  const { title, text, lines, errorIndex } = shownLog
  const at = errorIndex < 0 ? lines.length - 1 : errorIndex
  const [from, to] = [Math.max(0, at - linesBeforeError), at + 1 + linesAfterError]
  const shown = [
    ...(from > 0 ? [`… ${counted(from, 'line')} above`] : []),
    ...lines.slice(from, to),
    ...(to < lines.length ? [`… ${counted(lines.length - to, 'line')} below`] : []),
  ]
  return { title, text, lines: shown, isWhole: from === 0 && to >= lines.length }
}

/** `` `k8s/web.yaml` line 12``, as a link if git tracks the file; empty if there is no file. */
export function renderSource(source: Source | undefined, tracked: TrackedFiles | undefined): string {
  if (!isManifest(source)) return ''
  const text = `${inlineCode(source.file)} line ${source.line}`
  const file = tracked?.get(source.file)
  if (file === undefined || file === 'untracked') return text
  // A bracket would end the Markdown link.
  const url = file.url.replace(/[()]/g, (mark) => (mark === '(' ? '%28' : '%29'))
  return `[${text}](${url}#L${source.line})`
}

/** Whether the source is a manifest in the workspace, not a line of the input. */
export function isManifest(source: Source | undefined): source is Source {
  if (source === undefined || source.file === 'resources') return false
  return !/^(?:$|-$|[/\\]|[A-Za-z]:|\.\.(?:[/\\]|$))/.test(source.file)
}

/** The status of a target for a table cell. */
export function targetStatus(target: TargetRecord): string {
  if (target.outcome === 'ready') return [target.message || 'ready', ...(target.notes ?? [])].map(cellText).join(' · ')
  const why =
    target.reason === '' ? '' : `**${escapeMarkdown(shortenWords(reasonHeadline(target), maxWordWidth))}**<br>`
  const open = failedOrCurrentMilestone(target)
  if (open === undefined) return why === '' ? cellText(target.message) : why.slice(0, -'<br>'.length)
  const done = target.milestones.filter(({ state }) => state === 'done').length
  const total = target.milestones.filter(({ state }) => state !== 'skipped').length
  const message = open.message === '' ? '' : `: ${cellText(open.message)}`
  return `${why}step ${done + 1} of ${total}, ${escapeMarkdown(open.name)}${message}`
}

function cellText(text: string): string {
  return escapeProse(shortenWords(text, maxWordWidth), 200)
}

/** The slowest milestone of a ready target: `ready 17 s`. Empty if no milestone took a noticeable time. */
export function longestWait(target: TargetRecord, times: GateTimes): string {
  const { name = '', tookMs = 0 } = slowestStep(target, times) ?? {}
  return tookMs < shortestWaitMs ? '' : `${escapeMarkdown(name)} ${duration(tookMs)}`
}

interface MilestoneRow {
  readonly elapsed: string
  readonly names: string[]
  readonly messages: string[]
  tookMs: number
}

/** The milestones in the order of time. Milestones of the same second share a row. */
function milestoneTable(target: TargetRecord, times: DetailOptions): string[] {
  const { startedAt, finishedAt } = times
  const steps = reachedSteps(target, startedAt)
  const open = failedOrCurrentMilestone(target)
  const end = targetEnd(target, finishedAt)
  const rows: MilestoneRow[] = []
  const byTime = target.milestones.toSorted((one, other) => (one.at ?? Infinity) - (other.at ?? Infinity))
  for (const { name, state, message } of byTime) {
    const step = steps.find((each) => each.name === name)
    if (step === undefined && name !== open?.name) continue
    const elapsed = formatElapsed((step?.at ?? end) - startedAt)
    const tookMs = step?.tookMs ?? failedOrCurrentMilestoneMs(target, times)
    // A long message that the message of the target contains is not repeated.
    const isAbove = message.length > 60 && target.message.includes(message)
    // The message says "exists" if the object is older than the gate: "created" would be wrong.
    const shown = name === 'created' && message === 'exists' ? message : name
    const messages = message === '' || message === shown || isAbove ? [] : [escapeProse(message)]
    const last = rows.at(-1)
    if (step !== undefined && last?.elapsed === elapsed) {
      last.names.push(escapeMarkdown(shown))
      last.messages.push(...messages)
      last.tookMs += tookMs
      continue
    }
    const isLost = state === 'failed' || outcomeLabels[target.outcome].mark === '✗'
    const mark = step !== undefined ? '✓' : isLost ? '✗' : '…'
    rows.push({ elapsed, names: [`${mark} ${escapeMarkdown(shown)}`], messages, tookMs })
  }
  if (rows.length === 0) return []
  const cells = rows.map(({ elapsed, names, tookMs, messages }) => {
    const took = tookMs < shortestWaitMs ? '' : duration(tookMs)
    return [elapsed, names.join(', '), took, messages.join(' · ')]
  })
  return [markdownTable({ Elapsed: '--:', Milestone: ':--', Took: '--:', 'What happened': ':--' }, cells)]
}

/** The reason of a problem, the path to the object, and the message unless the target's message contains it. */
function renderProblem(problem: ProblemRecord, target: TargetRecord, { startedAt }: DetailOptions): string {
  const line = `${inlineCode(problem.reason)} ${escapeMarkdown(problemPath(problem))} · ${problemCountText(problem, startedAt)}`
  return isInTargetMessage(problem, target) ? line : `${line}<br>${escapeProse(capitalize(problem.message))}`
}

/** A list of the changes of a target's pod template; empty if there are none. */
export function changeList({ changes = [], changesSince, outcome }: TargetRecord): string[] {
  if (changes.length === 0) return []
  const since = changesSince === undefined ? '' : ` since revision ${changesSince}`
  const title = outcome === 'superseded' ? 'What the newer change changed' : `What changed${since}`
  const rest = changes.length - maxShownChanges
  return [
    [
      `**${title}**`,
      ...changes.slice(0, maxShownChanges).map((change) => `- ${escapeProse(change)}`),
      ...(rest > 0 ? [`- …and ${rest} more`] : []),
    ].join('\n'),
  ]
}

function renderEvidencePiece(piece: Evidence, { evidenceLines: limit, startedAt }: DetailOptions): string[] {
  const { type, title, text } = piece
  if (type === 'manifest') return [`**${escapeMarkdown(title)}:** ${inlineCode(text)}`]
  const lines = limit === 0 ? [] : safeLines(evidenceText(piece, startedAt), evidenceLineLimit)
  if (lines.length === 0) return []
  const left = lines.length - limit
  const shown = left > 0 ? [`… ${left} earlier lines left out`, ...lines.slice(-limit)] : lines
  return [`**${escapeMarkdown(title)}**`, codeBlock(shown)]
}
