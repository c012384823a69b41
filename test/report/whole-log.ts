import type { RunRecord } from '../../src/gate/run-record.ts'
import { layoutLog, renderEntries, renderEvidence, renderHeader, renderVerdict } from '../../src/report/log.ts'

/** The complete log of a record, as lines without line breaks. */
export function renderLog(record: RunRecord, options: { readonly color?: boolean } = {}): string[] {
  const layout = layoutLog(record, options)
  return [
    renderHeader(record, layout),
    ...renderEntries(record.entries, layout),
    ...renderVerdict(record, layout),
    ...renderEvidence(record, layout),
  ]
}
