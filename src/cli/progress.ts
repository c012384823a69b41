import { styleText } from 'node:util'
import type { MilestoneRecord, TargetRecord, Timeline } from '../gate/timeline.ts'
import { plain } from '../report/escape.ts'
import { clock, outcomeLabels, setting } from '../report/wording.ts'

/** What the present state of a gate is drawn with. */
export interface ProgressLayout {
  /** Of the targets, in their order, safe to print. */
  readonly names: readonly string[]
  readonly columns: number
  /** The most lines to draw. */
  readonly rows: number
  readonly color: boolean
  /** Grows with every drawing, and turns the spinner. */
  readonly frame: number
}

type Style = Parameters<typeof styleText>[0]

/** A piece of a line with its style; lines are cut to the terminal's width before they are coloured. */
type Piece = readonly [text: string, style?: Style]

const spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

const dots: Readonly<Record<MilestoneRecord['state'], Piece>> = {
  done: ['●', 'green'],
  current: ['◐', 'yellow'],
  pending: ['○', 'dim'],
  failed: ['✗', 'red'],
  skipped: ['·', 'dim'],
}

/**
 * Where every open target stands: its milestones, what it waits for and for how long, what is wrong. Targets that ended
 * have had their line in the log; here they are counted.
 */
export function renderProgress(timeline: Timeline, layout: ProgressLayout): string[] {
  const { targets, startedAt, finishedAt: now, timeoutMs } = timeline
  const { names, rows, frame } = layout
  const open = targets.flatMap((record, index) =>
    record.outcome === 'progressing' ? [{ record, name: names[index] ?? '' }] : [],
  )
  const shown = open.slice(0, Math.max(1, open.length > rows - 1 ? rows - 2 : rows - 1))
  const nameWidth = Math.max(0, ...shown.map(({ name }) => name.length))
  const trailWidth = Math.max(0, ...shown.map(({ record }) => record.milestones.length))
  const turn = spinner[frame % spinner.length] ?? ''

  const lines: Piece[][] = [
    [
      [`${turn} `, 'cyan'],
      [clock(now - startedAt), 'bold'],
      [`  ${tally(targets)}${timeoutMs === 0 ? '' : ` · timeout ${setting(timeoutMs)}`}`],
    ],
    ...shown.map(({ record, name }): Piece[] => [
      ['  '],
      [name.padEnd(nameWidth), 'bold'],
      ['  '],
      ...record.milestones.map(({ state }): Piece => dots[state]),
      [' '.repeat(trailWidth - record.milestones.length)],
      ...standing(record, timeline),
    ]),
    ...(open.length > shown.length ? [[[`  and ${open.length - shown.length} more`, 'dim'] as const]] : []),
  ]
  return lines.map((pieces) => paint(pieces, layout))
}

/** `  pulled 0:12  2 of 3 new pods started  image-not-found ×2` */
function standing({ milestones, message, problems }: TargetRecord, { startedAt, finishedAt: now }: Timeline): Piece[] {
  const current = milestones.find(({ state }) => state === 'current')
  const since = Math.max(startedAt, ...milestones.map(({ at }) => at ?? startedAt))
  const [problem] = problems
  return [
    ...(current === undefined ? [] : [[`  ${current.name} ${clock(now - since)}`, 'cyan'] as const]),
    ...(problem === undefined
      ? []
      : [[`  ${problem.reason}${problem.count > 1 ? ` ×${problem.count}` : ''}`, 'yellow'] as const]),
    [`  ${plain(message)}`],
  ]
}

/** `3 targets: 1 ready, 2 in progress` */
function tally(targets: readonly TargetRecord[]): string {
  const counts = Map.groupBy(targets, ({ outcome }) => outcomeLabels[outcome].verb)
  const parts = [...counts].map(([verb, records]) => (targets.length === 1 ? verb : `${records.length} ${verb}`))
  return targets.length === 1 ? parts.join() : `${targets.length} targets: ${parts.join(', ')}`
}

function paint(pieces: readonly Piece[], { columns, color }: ProgressLayout): string {
  let left = columns
  return pieces
    .map(([text, style]) => {
      const cut = text.length <= left ? text : left < 1 ? '' : `${text.slice(0, left - 1)}…`
      left -= text.length
      // Whether the stream shows colours is decided elsewhere.
      return color && style !== undefined && cut !== '' ? styleText(style, cut, { validateStream: false }) : cut
    })
    .join('')
}
