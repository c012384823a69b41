import type { Timeline } from '../../src/gate/timeline.ts'
import { layoutLog, renderEntries, renderEvidence, renderHeader, renderVerdict } from '../../src/report/log.ts'

/** The complete log of a timeline, as lines without line breaks. */
export function renderLog(timeline: Timeline, options: { readonly color?: boolean } = {}): string[] {
  const head = { ...timeline, targets: timeline.targets.map(({ target }) => target) }
  const layout = layoutLog(head, options)
  return [
    renderHeader(head, layout),
    ...renderEntries(timeline.entries, layout),
    ...renderVerdict(timeline, layout),
    ...renderEvidence(timeline, layout),
  ]
}
