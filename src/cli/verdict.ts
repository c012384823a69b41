import { describeMistake, type UserError } from '../errors.ts'
import { passes } from '../gate/outcome.ts'
import type { EndedTimeline } from '../gate/timeline.ts'
import { plain } from '../report/escape.ts'
import { buildReport } from '../report/json-report.ts'
import type { Output } from './output.ts'

export const cancelledCode = 130

/**
 * The exit code of a gate (DESIGN §4): 0 ready, 1 not ready, 2 misconfigured, 130 cancelled.
 * @param onSuperseded what the input of that name says
 */
export function exitCodeOf(timeline: EndedTimeline, onSuperseded: 'fail' | 'pass' = 'fail'): number {
  switch (timeline.verdict.outcome) {
    case 'misconfigured':
      return 2
    case 'cancelled':
      return cancelledCode
    default:
      return passes(timeline, onSuperseded) ? 0 : 1
  }
}

/** The report of a gate as one line. */
export function reportLine(timeline: EndedTimeline): string {
  return `${JSON.stringify(buildReport(timeline))}\n`
}

/** Tells the user of his mistakes, one a line. */
export function complain(output: Output, error: UserError): void {
  for (const mistake of error.mistakes) output.write(`${plain(describeMistake(mistake))}\n`)
}
