import { duration } from '../duration.ts'
import type { TargetOutcome } from '../gate/outcome.ts'
import type { EndedRunRecord, ProblemRecord, RunRecord, TargetRecord } from '../gate/run-record.ts'
import type { Entry } from '../gate/timeline-entries.ts'
import { fullNames, namespacesOf } from '../plan/target.ts'
import { counted, listNames } from '../reasons/wording.ts'
import { maxEvidenceLines } from '../thresholds.ts'
import { safeLine, safeLines, shortenName, shortenNames } from './escape.ts'
import {
  decidingTarget,
  endDetails,
  gateCounts,
  headline,
  isJudged,
  namedTargets,
  type TargetWithName,
} from './headline.ts'
import { wayBackLines } from './rollback.ts'
import {
  capitalize,
  evidenceText,
  formatElapsed,
  isInTargetMessage,
  messageBelowName,
  orderEvidence,
  outcomeLabels,
  problemCountText,
  problemPath,
  reasonHeadline,
  timeoutTexts,
} from './target-record.ts'

/* Renders the job log: its header, entries, container logs, verdict and evidence. */

/** A line of a container's log, or a note about this log. Raw text: renderers escape it. */
export interface LogOutput {
  /** When the line arrived, in milliseconds since the epoch. */
  readonly at: number
  /** Index of the target. */
  readonly target: number
  readonly pod: string
  readonly container: string
  readonly type: 'line' | 'note'
  readonly text: string
}

/** The layout that all lines of a log share. */
interface LogLayout {
  readonly startedAt: number
  /** The names of the targets, in the order of the record: safe to print, and shortened to the width of the column. */
  readonly names: readonly string[]
  readonly targets: readonly LogTarget[]
  readonly elapsedWidth: number
  readonly nameWidth: number
  readonly color: boolean
  /** Whether evidence is printed as groups, which only the job log can fold. Otherwise it is printed as paragraphs. */
  readonly groups: boolean
  /** Whether a problem is printed with its time. Otherwise it is printed only with its count. */
  readonly times: boolean
}

/** The settings and targets of a gate that the header shows. */
interface LogHead extends Pick<RunRecord, 'startedAt' | 'cluster' | 'timeoutMs' | 'stallTimeoutMs'> {
  readonly targets: readonly LogTarget[]
}

type LogTarget = NonNullable<Entry['added']>

const maxNameWidth = 48
const maxSourceWidth = 32
/** The maximum length of a printed log line. Log lines are limited in bytes before, but escaping makes them longer. */
const longestLogLine = 12_000
const groupLimit = 20
const namesTogether = 3

/**
 * The layout of a log. Columns are measured before the first line, because lines are printed as they come.
 * @param options.color whether to print ANSI colours, which the runner and terminals show
 * @param options.groups whether to print the runner's commands for groups, which only the job log folds
 */
export function layoutLog(
  { startedAt, targets, timeoutMs = 0 }: Omit<LogHead, 'cluster'>,
  { color = true, groups = true, times = true }: Partial<Pick<LogLayout, 'color' | 'groups' | 'times'>> = {},
): LogLayout {
  const names = shortenNames(fullNames(targets), maxNameWidth)
  return {
    startedAt,
    names,
    targets,
    nameWidth: Math.max(0, ...names.map((name) => name.length)),
    elapsedWidth: formatElapsed(timeoutMs).length > 5 ? 7 : 5,
    color,
    groups,
    times,
  }
}

/** The layout with one more target. Lines that are already printed keep their columns. */
function addTarget(layout: LogLayout, target: LogTarget): LogLayout {
  const targets = [...layout.targets, target]
  const name = shortenNames(fullNames(targets), maxNameWidth).at(-1) ?? ''
  return { ...layout, targets, names: [...layout.names, name], nameWidth: Math.max(layout.nameWidth, name.length) }
}

/** The log's first line: `Rollout Gate · context prod · 2 targets in shop · timeout 10m · stall 5m`. */
export function renderHeader(head: LogHead, { color }: LogLayout): string {
  const {
    targets,
    cluster: { context },
  } = head
  const { timeout, stall } = timeoutTexts(head, targets)
  const parts = [
    ...(context === '' ? [] : [`context ${safeLine(context)}`]),
    `${counted(targets.length, 'target')}${namespaceText(targets)}`,
    `timeout ${timeout}`,
    `stall ${stall}`,
  ]
  return `${colorize('bold', 'Rollout Gate', color)} · ${parts.join(' · ')}`
}

/** ` in shop`, or ` in 3 namespaces`; empty for cluster-wide targets. */
export function namespaceText(targets: readonly LogTarget[]): string {
  const namespaces = namespacesOf(targets)
  if (namespaces.length > 1) return ` in ${namespaces.length} namespaces`
  return namespaces.map((name) => ` in ${safeLine(name)}`).join('')
}

/** The line of an entry: elapsed time, target, text. The text of a verdict follows `✗ failed after 42 s: `. */
export function renderEntry(entry: Entry, layout: LogLayout): string {
  const name = entry.target === undefined ? '' : (layout.names[entry.target] ?? '')
  return entryLine(entry, name, safeLine(entry.text).trim(), layout)
}

/** @param name the column of the target; @param text the text of the entry. Both must be safe to print */
function entryLine(entry: Entry, name: string, text: string, layout: LogLayout): string {
  const words = [
    elapsedColumn(entry.at, layout),
    ...(layout.nameWidth === 0 ? [] : [name.padEnd(layout.nameWidth)]),
    entry.kind === 'verdict'
      ? coloredVerdict(entry, text, layout)
      : colorize(entryStyles[entry.kind], text, layout.color),
  ]
  return words.join('  ').trimEnd()
}

/**
 * The line of a container's output: elapsed time, target, pod and container, a bar, then the text. The gate's own lines
 * have no bar, so a container cannot imitate them.
 */
export function renderLogOutput(output: LogOutput, layout: LogLayout): string {
  const { type, text } = output
  const { color } = layout
  const target = layout.targets[output.target]
  const pod = target === undefined ? output.pod : shortPodName(output.pod, target)
  const who = [pod, output.container].filter((word) => word !== '').map((word) => shortenName(word, maxSourceWidth))
  const words = safeLine(text, longestLogLine)
  const logged = type === 'note' ? colorize('dim', `· ${words}`, color) : `${colorize('dim', '│', color)} ${words}`
  const name = (layout.names[output.target] ?? '').padEnd(layout.nameWidth)
  return `${elapsedColumn(output.at, layout)}  ${name}  ${colorize('dim', who.join(' '), color)} ${logged}`.trimEnd()
}

/** The part of a pod's name that distinguishes it from the other pods of the target. */
function shortPodName(pod: string, { kind, name }: LogTarget): string {
  if (kind === 'Pod') return ''
  const rest = pod.startsWith(`${name}-`) ? pod.slice(name.length + 1) : pod
  return kind === 'Deployment' ? rest.slice(rest.lastIndexOf('-') + 1) : rest
}

/** The whole log of a merged record: a line for each gate, then the outcome and the evidence. */
export function renderMergedLog(record: EndedRunRecord, options: Pick<LogLayout, 'color' | 'groups'>): string[] {
  const { targets, gates = [] } = record
  const layout = layoutLog(record, options)
  const names = shortenNames(
    gates.map(({ name }) => name),
    maxNameWidth,
  )
  const width = Math.max(0, ...names.map((name) => name.length))
  const lines = gateCounts(record).map(({ outcome, reason, message, tookMs, total, ready }, index) => {
    const { mark, verb, preposition } = outcomeLabels[outcome]
    const took = tookMs === undefined ? '' : ` ${preposition} ${duration(tookMs)}`
    const why =
      outcome === 'ready'
        ? `${ready} of ${counted(total, 'target')}`
        : [reason === outcome ? '' : reason, message].filter(Boolean).join(': ')
    return `  ${names[index]?.padEnd(width)}  ${colorize(outcomeStyle(outcome), `${mark} ${verb}${took}`, options.color)}: ${safeLine(why)}`
  })
  const head = `${colorize('bold', 'Rollout Gate', options.color)} · ${counted(gates.length, 'gate')} · ${counted(targets.length, 'target')}`
  return [head, ...lines, ...renderVerdict(record, layout), ...renderEvidence(record, layout)]
}

/** The last lines of a log: the outcome, the cause, what to do, and the number of targets by outcome. */
export function renderVerdict(record: RunRecord, { color }: LogLayout): string[] {
  const { outcome, targets } = record
  if (outcome === 'progressing') return []
  const { messages, hint } = endDetails(record)
  const last = record.entries.at(-1)
  const deciding = decidingTarget(record)
  // If the last line is the verdict of the deciding target, it already contains the message.
  const isShownAbove = last?.kind === 'verdict' && deciding !== undefined && targets[last.target ?? -1] === deciding
  const judged = targets.filter((target) => isJudged(target, record))
  return [
    colorize(outcomeStyle(outcome), `${outcomeLabels[outcome].mark} ${safeLine(headline(record, true))}`, color),
    ...(isShownAbove ? [] : messages.map((message) => `  ${safeLine(message)}`)),
    ...(hint === undefined ? [] : safeLines(hint).map((line, index) => `  ${index === 0 ? '→' : ' '} ${line}`)),
    ...namedTargets(record).flatMap(({ waiting }) => (waiting === '' ? [] : [`  ${safeLine(waiting)}`])),
    ...(judged.length > 1 && outcome !== 'ready' ? [`  ${outcomeCountsText(judged)}`] : []),
    ...wayBackLines(record).map((line) => `  ${safeLine(line)}`),
  ]
}

/** The evidence of each target that is not ready: its message, hint, problems, logs and events. */
export function renderEvidence(record: RunRecord, layout: LogLayout): string[] {
  const groups = namedTargets(record).flatMap((named, index) => {
    const { target } = named
    if (target.outcome === 'ready' || target.causedBy !== undefined || !isJudged(target, record)) return []
    const group = renderTargetGroup(named, layout.names[index] ?? '', layout)
    return group.length === 0 ? [] : [group]
  })
  const rest = groups.length - groupLimit
  return [
    ...groups.slice(0, groupLimit).flat(),
    ...(rest > 0 ? [`${counted(rest, 'more target')} not ready: see the report.`] : []),
  ]
}

function elapsedColumn(at: number, { startedAt, elapsedWidth, color }: LogLayout): string {
  return colorize('dim', formatElapsed(at - startedAt).padStart(elapsedWidth), color)
}

function coloredVerdict({ at, outcome = 'progressing' }: Entry, text: string, { startedAt, color }: LogLayout): string {
  const { mark, verb, preposition } = outcomeLabels[outcome]
  const words = colorize(outcomeStyle(outcome), `${mark} ${verb} ${preposition} ${duration(at - startedAt)}`, color)
  return text === '' ? words : `${words}: ${text}`
}

function renderTargetGroup(
  { target, isDeciding, isHintAbove }: TargetWithName,
  name: string,
  { startedAt, color, groups, times }: LogLayout,
): string[] {
  const { mark } = outcomeLabels[target.outcome]
  // The verdict already contains a problem of the deciding target that has no evidence.
  const hasNews = (problem: ProblemRecord) =>
    !isDeciding ||
    problem.evidence.length > 0 ||
    problem.count > 1 ||
    (problem.chain ?? []).length > 1 ||
    !isInTargetMessage(problem, target)
  const countText = (problem: ProblemRecord) => {
    if (times) return [problemCountText(problem, startedAt)]
    return problem.count > 1 ? [`${problem.count} times`] : []
  }
  // The verdict already contains the reason and the message of the deciding target.
  const why = isDeciding ? ': evidence' : target.reason === '' ? '' : `: ${safeLine(reasonHeadline(target))}`
  const lines = [
    ...(isDeciding ? [] : [safeLine(messageBelowName(name, target))]),
    ...(isHintAbove || target.hint === undefined ? [] : [`What to do: ${safeLine(target.hint)}`]),
    ...target.problems.filter(hasNews).flatMap((problem) => [
      safeLine([problem.reason, problemPath(problem), ...countText(problem)].join(' · ')),
      ...(isInTargetMessage(problem, target) ? [] : [`  ${safeLine(capitalize(problem.message))}`]),
      ...orderEvidence(problem.evidence).flatMap((piece) => {
        const { type, title } = piece
        const all = safeLines(evidenceText(piece, startedAt))
        if (type === 'manifest') return [`  ${safeLine(title)}: ${all.join(' ')}`]
        return [`  ${safeLine(title)}`, ...all.slice(-maxEvidenceLines).map((line) => `  │ ${line}`)]
      }),
    ]),
    ...(target.notes ?? []).map((note) => safeLine(note)),
  ]
  if (lines.length === 0) return []
  const title = `${mark} ${name}${why}`
  const body = lines.map((line) => `  ${line}`)
  if (!groups) return ['', colorize('bold', title, color), ...body]
  // The title is the data of a runner command, and the runner decodes it.
  return [`::group::${title.replaceAll('%', '%25')}`, ...body, '::endgroup::']
}

/** The number of targets by outcome: `1 failed, 1 waiting for another target, 2 ready`. */
export function outcomeCountsText(
  targets: readonly TargetRecord[],
  verbOf = (outcome: TargetOutcome): string => outcomeLabels[outcome].verb,
): string {
  const rank = ({ outcome, causedBy }: TargetRecord) => (causedBy !== undefined ? 1 : outcome === 'ready' ? 2 : 0)
  const worstFirst = targets.toSorted((one, other) => rank(one) - rank(other))
  const byVerb = Map.groupBy(worstFirst, ({ outcome, causedBy }) =>
    causedBy === undefined ? verbOf(outcome) : 'waiting for another target',
  )
  return [...byVerb].map(([verb, { length }]) => `${length} ${verb}`).join(', ')
}

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'none'

const entryStyles: Readonly<Record<Exclude<Entry['kind'], 'verdict'>, Style>> = {
  progress: 'none',
  note: 'none',
  problem: 'yellow',
  heartbeat: 'dim',
}

function outcomeStyle(outcome: TargetOutcome): Style {
  if (outcome === 'ready') return 'green'
  return outcomeLabels[outcome].mark === '✗' ? 'red' : 'yellow'
}

const ansiCodes = { bold: 1, dim: 90, red: 31, green: 32, yellow: 33 }

function colorize(style: Style, text: string, color: boolean): string {
  return color && style !== 'none' && text !== '' ? `\x1b[${ansiCodes[style]}m${text}\x1b[0m` : text
}

/** The minimum number of entries that share a line. */
const fewestTogether = 4

/** The lines of entries. Targets that become ready in the same second with the same text share a line. */
export function renderEntries(entries: readonly Entry[], layout: LogLayout): string[] {
  const groups: [Entry, ...Entry[]][] = []
  for (const entry of entries) {
    const last = groups.at(-1)
    if (last !== undefined && mayShareLine(last[0], entry)) last.push(entry)
    else groups.push([entry])
  }
  return groups.flatMap((group) =>
    group.length >= fewestTogether
      ? [renderReadyGroup(group, layout)]
      : group.map((entry) => renderEntry(entry, layout)),
  )
}

/** One line for targets that became ready together: `45 targets  ✓ ready in 0.2 s: exists (configmap/a, …)`. */
function renderReadyGroup(entries: readonly [Entry, ...Entry[]], layout: LogLayout): string {
  const [first] = entries
  const names = entries.flatMap(({ target }) => (target === undefined ? [] : (layout.names[target] ?? [])))
  const text = `${safeLine(first.text).trim()} (${listNames(names, namesTogether)})`.trim()
  return entryLine(first, counted(entries.length, 'target'), text, layout)
}

function isReadyEntry({ kind, outcome, target }: Entry): boolean {
  return kind === 'verdict' && outcome === 'ready' && target !== undefined
}

function mayShareLine(one: Entry, other: Entry): boolean {
  const second = ({ at }: Entry) => Math.floor(at / 1_000)
  return isReadyEntry(one) && isReadyEntry(other) && one.text === other.text && second(one) === second(other)
}

/** Prints the log of one gate as it happens. */
export class LogPrinter {
  readonly #print: (lines: readonly string[]) => void
  readonly #options: Pick<LogLayout, 'color' | 'groups'>
  #layout: LogLayout | undefined
  /** Entries of targets that became ready, which may share a line with the next entry. */
  #waiting: Entry[] = []

  constructor(print: (lines: readonly string[]) => void, options: Pick<LogLayout, 'color' | 'groups'>) {
    this.#print = print
    this.#options = options
  }

  /** The names of the targets as the log prints them; empty before the header. */
  get names(): readonly string[] {
    return this.#layout?.names ?? []
  }

  /** @param notices messages about the inputs, as raw text */
  onStart(present: () => LogHead, notices: readonly string[]): void {
    const head = present()
    this.#layout = layoutLog(head, this.#options)
    this.#print([renderHeader(head, this.#layout), ...notices.map((text) => safeLine(text))])
  }

  /**
   * Adds an entry. Targets that become ready together share a line. The line is printed before the next entry of
   * another kind, or at the end of this turn of the event loop.
   */
  onEntry(entry: Entry): void {
    const [first] = this.#waiting
    if (first !== undefined && !mayShareLine(first, entry)) this.#flush()
    if (entry.added !== undefined && this.#layout !== undefined) this.#layout = addTarget(this.#layout, entry.added)
    if (this.#waiting.length === 0) queueMicrotask(() => this.#flush())
    this.#waiting.push(entry)
    if (!isReadyEntry(entry)) this.#flush()
  }

  #flush(): void {
    if (this.#layout !== undefined && this.#waiting.length > 0) this.#print(renderEntries(this.#waiting, this.#layout))
    this.#waiting = []
  }

  /** Prints a log line of a container. */
  onLog(output: LogOutput): void {
    if (this.#layout !== undefined) this.#print([renderLogOutput(output, this.#layout)])
  }

  end(record: EndedRunRecord): void {
    this.#flush()
    const layout = this.#layout ?? layoutLog({ ...record, targets: [] }, this.#options)
    this.#print([...renderVerdict(record, layout), ...renderEvidence(record, layout)])
  }
}
