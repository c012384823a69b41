import type { Evidence, MilestoneRecord, ProblemRecord, TargetRecord } from '../gate/timeline.ts'
import type { Source } from '../plan/target.ts'
import { clock } from './elapsed.ts'
import { code, fence, html, markdown, plainLines, prose } from './escape.ts'
import { isFailing } from './headline.ts'
import { problemCount, problemSubject } from './problem.ts'
import { capitalised, outcomeWords, reasonPhrases } from './words.ts'

/** How much of a target is shown. */
export interface DetailShape {
  /** Milliseconds since the epoch of the gate's start and of its end. */
  readonly startedAt: number
  readonly finishedAt: number
  readonly open: boolean
  /** The hint already stands above. */
  readonly withHint: boolean
  /** The most lines of one piece of evidence; 0 shows none. */
  readonly evidenceLines: number
  /** Where files of the workspace can be looked at, with a slash at the end. */
  readonly sourceBaseUrl: string | undefined
}

const problemLimit = 5
const evidenceLineLimit = 500

/** One target in a folded section: what happened, why, what to do, evidence. `name` is not yet escaped. */
export function renderDetails(record: TargetRecord, name: string, shape: DetailShape): string {
  const { icon, verb } = outcomeWords[record.outcome]
  const why = record.reason === '' ? verb : reasonPhrases[record.reason]
  const title = record.outcome === 'ready' ? 'ready, with problems on the way' : why
  const problems = record.problems.slice(0, problemLimit)
  const rest = record.problems.length - problems.length
  return [
    `<details${shape.open ? ' open' : ''}><summary>${icon} <b>${html(name)}</b>: ${html(title)}</summary>`,
    ...milestoneTable(record, shape),
    ...(problems.length === 0
      ? []
      : [['**Why**', ...problems.map((problem) => problemItem(problem, shape))].join('\n')]),
    ...(rest > 0 ? [`…and ${rest} more in the report.`] : []),
    ...(record.notes.length === 0 ? [] : [record.notes.map((note) => `- ${prose(note)}`).join('\n')]),
    ...(record.hint === undefined || !shape.withHint ? [] : [`**What to do:** ${prose(record.hint)}`]),
    ...sourceLine(record, shape),
    ...problems.flatMap(({ evidence }) => evidence.flatMap((piece) => renderEvidencePiece(piece, shape.evidenceLines))),
    '</details>',
  ].join('\n\n')
}

/** `` `k8s/web.yaml` line 12``, as a link where the address of the files is known; empty when no file is known. */
export function renderSource(source: Source | undefined, baseUrl: string | undefined): string {
  if (!isManifest(source)) return ''
  const text = `${code(source.file)} line ${source.line}`
  if (baseUrl === undefined) return text
  const path = source.file.split('/').map(encodeURIComponent).join('/')
  return `[${text}](${baseUrl}${path.replace(/[()]/g, (mark) => (mark === '(' ? '%28' : '%29'))}#L${source.line})`
}

/** The target was named by a file of the workspace, not by a line of the input. */
export function isManifest(source: Source | undefined): source is Source {
  if (source === undefined || source.file === 'resources') return false
  return !/^(?:$|-$|[/\\]|[A-Za-z]:|\.\.(?:[/\\]|$))/.test(source.file)
}

/** Where a target stands, for a table cell. */
export function whereItStands(record: TargetRecord): string {
  if (record.outcome === 'ready')
    return [record.message || 'ready', ...record.notes].map((text) => prose(text, 200)).join(' · ')
  const open = openMilestone(record)
  if (open === undefined) return prose(record.message, 200)
  const { done, total } = {
    done: record.milestones.filter(({ state }) => state === 'done').length,
    total: record.milestones.filter(({ state }) => state !== 'skipped').length,
  }
  const message = open.message === '' ? '' : `: ${prose(open.message, 200)}`
  return `**${markdown(open.name)}**${message} <sub>(step ${done + 1} of ${total})</sub>`
}

function openMilestone({ milestones }: TargetRecord): MilestoneRecord | undefined {
  return milestones.find(({ state }) => state === 'failed') ?? milestones.find(({ state }) => state === 'current')
}

function milestoneTable(record: TargetRecord, { startedAt, finishedAt }: DetailShape): string[] {
  const marks = { done: '✓', failed: '✗', current: isFailing(record) ? '✗' : '…', pending: '', skipped: '' }
  const rows = record.milestones.flatMap(({ name, state, at, message }) => {
    if (state === 'pending' || state === 'skipped') return []
    const moment = state === 'done' ? at : (record.endedAt ?? finishedAt)
    const elapsed = moment === undefined ? '' : clock(moment - startedAt)
    return [`| ${elapsed} | ${marks[state]} ${markdown(name)} | ${prose(message)} |`]
  })
  return rows.length === 0 ? [] : [['| Elapsed | Milestone | What happened |', '|--:|:--|:--|', ...rows].join('\n')]
}

function problemItem(problem: ProblemRecord, { startedAt }: DetailShape): string {
  const seen = problemCount(problem, startedAt)
  return `- ${code(problem.reason)} ${markdown(problemSubject(problem))} (${seen})<br>${prose(capitalised(problem.message))}`
}

function sourceLine({ target }: TargetRecord, { sourceBaseUrl }: DetailShape): string[] {
  const source = renderSource(target.source, sourceBaseUrl)
  return source === '' ? [] : [`**Written in** ${source}`]
}

function renderEvidencePiece({ title, text }: Evidence, limit: number): string[] {
  const lines = limit === 0 ? [] : plainLines(text, evidenceLineLimit)
  if (lines.length === 0) return []
  const left = lines.length - limit
  const shown = left > 0 ? [`… ${left} earlier lines left out`, ...lines.slice(-limit)] : lines
  return [`**${markdown(title)}**`, fence(shown)]
}
