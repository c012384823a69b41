import { describeMistake, type UserError } from './errors.ts'
import type { EndedTimeline, Verdict } from './gate/timeline.ts'

/** The timeline of a gate that ended before it knew its targets. Moments are milliseconds since the epoch. */
export function neverBegun(verdict: Verdict, startedAt: number, finishedAt: number): EndedTimeline {
  const nothing = { context: '', serverVersion: '', timeoutMs: 0, stallTimeoutMs: 0, targets: [], entries: [] }
  return { startedAt, finishedAt, ...nothing, verdict }
}

/** What only the user can mend is an outcome too. */
export function misconfigured({ reason, mistakes }: UserError, startedAt: number, finishedAt: number): EndedTimeline {
  const message = mistakes.map(describeMistake).join('\n')
  return neverBegun({ outcome: 'misconfigured', reason, message }, startedAt, finishedAt)
}
