import type { Evidence, MilestoneRecord, ProblemRecord, TargetRecord } from '../gate/timeline.ts'
import type { Source } from '../plan/target.ts'
import { clock } from './elapsed.ts'
import { code, fence, html, markdown, plainLines, prose } from './escape.ts'
import { problemCount, problemSubject } from './problem.ts'
import { capitalised, outcomeWords, reasonPhrases } from './words.ts'

/** How much of a target is shown. */
export interface DetailShape {
  /** Milliseconds since the epoch of the gate's start and of its end. */
  readonly startedAt: number
  readonly finishedAt: number
  readonly open: boolean
  /** The message, the hint and the source stand above the table already. */
  readonly decided: boolean
  /** The most lines of one piece of evidence; 0 shows none. */
  readonly evidenceLines: number
  /** Where files of the workspace can be looked at, with a slash at the end. */
  readonly sourceBaseUrl: string | undefined
}

const problemLimit = 5
const changeLimit = 20
const evidenceLineLimit = 500

/** One target in a folded section: what happened, why, what to do, evidence. `name` is not yet escaped. */
export function renderDetails(record: TargetRecord, name: string, shape: DetailShape): string {
  const { icon, verb } = outcomeWords[record.outcome]
  const why = record.reason === '' ? verb : reasonPhrases[record.reason]
  const title = record.outcome === 'ready' ? 'ready, with problems on the way' : why
  const problems = record.problems.slice(0, problemLimit)
  const rest = record.problems.length - problems.length
  const told = shape.decided || problems.some(({ message }) => message === record.message)
  const message = told || record.outcome === 'ready' ? '' : prose(capitalised(record.message))
  return [
    `<details${shape.open ? ' open' : ''}><summary>${icon} <b>${html(name)}</b>: ${html(title)}</summary>`,
    message || '<br>', // one of the two keeps the table off the title
    ...milestoneTable(record, shape),
    ...(problems.length === 0
      ? []
      : [['**Why**', ...problems.map((problem) => problemItem(problem, shape))].join('\n')]),
    ...(rest > 0 ? [`…and ${rest} more in the report.`] : []),
    ...(record.changes === undefined || record.changes.length === 0
      ? []
      : [
          ['**What changed**', ...record.changes.slice(0, changeLimit).map((change) => `- ${prose(change)}`)].join(
            '\n',
          ),
        ]),
    ...(record.notes.length === 0 ? [] : [record.notes.map((note) => `- ${prose(note)}`).join('\n')]),
    ...(record.hint === undefined || shape.decided ? [] : [`**What to do:** ${prose(record.hint)}`]),
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
  return `step ${done + 1} of ${total}, **${markdown(open.name)}**${message}`
}

function openMilestone({ milestones }: TargetRecord): MilestoneRecord | undefined {
  return milestones.find(({ state }) => state === 'failed') ?? milestones.find(({ state }) => state === 'current')
}

function milestoneTable(record: TargetRecord, { startedAt, finishedAt }: DetailShape): string[] {
  const marks = {
    done: '✓',
    failed: '✗',
    current: outcomeWords[record.outcome].mark === '✗' ? '✗' : '…',
    pending: '',
    skipped: '',
  }
  const rows: { elapsed: string; names: string; message: string }[] = []
  for (const { name, state, at, message } of record.milestones) {
    if (state === 'pending' || state === 'skipped') continue
    const moment = state === 'done' ? at : (record.endedAt ?? finishedAt)
    const elapsed = moment === undefined ? '' : clock(moment - startedAt)
    const names = `${marks[state]} ${markdown(name)}`
    const last = rows.at(-1)
    // What was reached in the same second and has nothing to tell needs no row of its own.
    if (last !== undefined && last.message === '' && last.elapsed === elapsed && state === 'done') {
      last.names += ` ${names}`
      last.message = prose(message)
    } else {
      rows.push({ elapsed, names, message: prose(message) })
    }
  }
  const lines = rows.map(({ elapsed, names, message }) => `| ${elapsed} | ${names} | ${message} |`)
  return lines.length === 0 ? [] : [['| Elapsed | Milestone | What happened |', '|--:|:--|:--|', ...lines].join('\n')]
}

function problemItem(problem: ProblemRecord, { startedAt }: DetailShape): string {
  const seen = problemCount(problem, startedAt)
  const where = (problem.chain?.length ?? 0) > 1 ? (problem.chain ?? []).join(' → ') : problemSubject(problem)
  return `- ${code(problem.reason)} ${markdown(where)} (${seen})<br>${prose(capitalised(problem.message))}`
}

function sourceLine({ target }: TargetRecord, { decided, sourceBaseUrl }: DetailShape): string[] {
  const source = decided ? '' : renderSource(target.source, sourceBaseUrl)
  return source === '' ? [] : [`**Written in** ${source}`]
}

function renderEvidencePiece({ title, text }: Evidence, limit: number): string[] {
  const lines = limit === 0 ? [] : plainLines(text, evidenceLineLimit)
  if (lines.length === 0) return []
  const left = lines.length - limit
  const shown = left > 0 ? [`… ${left} earlier lines left out`, ...lines.slice(-limit)] : lines
  return [`**${markdown(title)}**`, fence(shown)]
}
