import type { Timeline } from '../../src/gate/timeline.ts'
import { layoutLog, renderEntries, renderEvidence, renderHeader, renderVerdict } from '../../src/report/log.ts'

/** The complete log of a timeline, as lines without line breaks. */
export function renderLog(timeline: Timeline, options: { readonly color?: boolean } = {}): string[] {
  const layout = layoutLog(timeline, options)
  return [
    renderHeader(timeline, layout),
    ...renderEntries(timeline.entries, layout),
    ...renderVerdict(timeline, layout),
    ...renderEvidence(timeline, layout),
  ]
}
