import type { EndedTimeline } from './timeline.ts'

/**
 * Whether the job passes (DESIGN §3, §4): only on ready, or, where the user welcomes it, when a newer change took over
 * and every other target is ready. A rollback never passes.
 */
export function passes(
  { verdict, targets }: Pick<EndedTimeline, 'verdict' | 'targets'>,
  onSuperseded: 'fail' | 'pass',
): boolean {
  if (verdict.outcome === 'ready') return true
  if (verdict.outcome !== 'superseded' || onSuperseded !== 'pass') return false
  return targets.every(({ outcome, reason }) => outcome === 'ready' || reason === 'superseded')
}
