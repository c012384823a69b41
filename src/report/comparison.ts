import { duration } from '../duration.ts'
import { counted } from '../reasons/wording.ts'
import { notableMs, notableRatio, shortestWaitMs } from '../thresholds.ts'
import { markdown, plain, shorten } from './escape.ts'

/** A milestone of a target beside those of earlier good gates. All durations are in milliseconds. */
export interface ComparedMilestone {
  readonly name: string
  readonly tookMs: number
  /** Not reached: it has taken that long so far. */
  readonly isOpen?: true
  readonly medianMs: number
  /** How long the milestone took in the earlier gates, the newest last. */
  readonly earlierMs: readonly number[]
}

/** A target with the milestones that earlier gates reached too. */
export interface ComparedTarget {
  /** The full name of the target. Raw text. */
  readonly name: string
  readonly milestones: readonly ComparedMilestone[]
}

const maxRows = 30
const maxNotable = 3
const maxNameWidth = 60
const bars = '▁▂▃▄▅▆▇█'

/** Durations as a line of bars, the longest of them the highest: `▁▁▂▁█`. */
export function sparkline(values: readonly number[]): string {
  const most = Math.max(...values, 1)
  return values.map((value) => bars[Math.round((Math.max(0, value) / most) * (bars.length - 1))] ?? '').join('')
}

/** `3.1 × the median`; empty if there is no time to compare with. */
function ratioText({ tookMs, medianMs }: Pick<ComparedMilestone, 'tookMs' | 'medianMs'>): string {
  return medianMs <= 0 ? '' : `${(tookMs / medianMs).toFixed(1)} × the median`
}

/** `pulled 41 s, 3.1 × the median`; `not pulled after 41 s, …` if it was not reached. Raw text. */
function milestoneText(milestone: ComparedMilestone): string {
  const { name, tookMs, isOpen } = milestone
  const took = isOpen ? `not ${name} after ${duration(tookMs)}` : `${name} ${duration(tookMs)}`
  return [took, ratioText(milestone)].filter((text) => text !== '').join(', ')
}

/** What took much longer than in earlier gates, the longest first: `deployment/web pulled 41 s, 3.1 × the median`. Raw. */
export function slowerThanUsual(targets: readonly ComparedTarget[]): readonly string[] {
  return targets
    .flatMap(({ name, milestones }) =>
      milestones.map((milestone) => ({ name, milestone, overMs: milestone.tookMs - milestone.medianMs })),
    )
    .filter(({ milestone, overMs }) => overMs >= notableMs && milestone.tookMs >= notableRatio * milestone.medianMs)
    .toSorted((one, other) => other.overMs - one.overMs)
    .slice(0, maxNotable)
    .map(({ name, milestone }) => `${name} ${milestoneText(milestone)}`)
}

/** The comparison as Markdown: a sentence for what was slow, and a folded table. Empty if there is nothing to compare. */
export function renderComparison(targets: readonly ComparedTarget[]): readonly string[] {
  const rows = targets.flatMap(({ name, milestones }) =>
    milestones
      .filter(({ tookMs, medianMs }) => Math.max(tookMs, medianMs) >= shortestWaitMs)
      .map((milestone) => ({ name, milestone })),
  )
  if (rows.length === 0) return []
  const slow = slowerThanUsual(targets)
  const lines = rows.slice(0, maxRows).map(({ name, milestone }) => {
    const { tookMs, medianMs, earlierMs, isOpen } = milestone
    const took = `${duration(tookMs)}${isOpen ? ' so far' : ''}`
    return `| ${markdown(shorten(name, maxNameWidth))} | ${markdown(milestone.name)} | ${took} | ${duration(medianMs)} | ${ratioText(milestone)} | ${sparkline([...earlierMs, tookMs])} |`
  })
  const gates = Math.max(...rows.map(({ milestone }) => milestone.earlierMs.length))
  const rest = rows.length - lines.length
  return [
    ...(slow.length === 0 ? [] : [`**Slower than usual:** ${slow.map((text) => markdown(text)).join(' · ')}`]),
    [
      `<details><summary>${plain(`Compared with the last ${counted(gates, 'good gate')}`)}</summary>`,
      [
        '| Target | Milestone | Took | Median | | The last one is this gate |',
        '|:--|:--|--:|--:|:--|:--|',
        ...lines,
      ].join('\n'),
      ...(rest > 0 ? [`…and ${counted(rest, 'more milestone')}.`] : []),
      '</details>',
    ].join('\n\n'),
  ]
}
