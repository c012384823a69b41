import { sentence } from '../lifecycle/sentence.ts'
import type { GateSettings } from './settings.ts'
import type { Outcome, TargetOutcome, Verdict } from './timeline.ts'
import type { Track } from './track.ts'

/** How long siblings of a failed target may still say what is wrong with them. */
export const failFastMs = 5_000

/** DESIGN §4; ready is what remains. Cancelled and unknown end the gate directly. */
const precedence: readonly TargetOutcome[] = ['failed', 'superseded', 'stalled', 'timed-out']

/** Whether the end of this target is one that ends the gate soon; a superseded one may be welcome. */
export function endsGate(track: Track, settings: GateSettings): boolean {
  const verdict = track.ended?.verdict
  return verdict !== undefined && !(verdict.reason === 'superseded' && settings.onSuperseded === 'pass')
}

/** The gate's verdict from its targets': the gravest outcome, of those the earliest, then the first in input order. */
export function decide(tracks: readonly Track[]): Verdict {
  for (const outcome of precedence) {
    const [first] = tracks
      .filter(({ ended }) => ended?.verdict.outcome === outcome)
      .toSorted((a, b) => (a.ended?.at ?? 0) - (b.ended?.at ?? 0))
    if (first?.ended === undefined) continue
    const { reason, message } = first.ended.verdict
    const more =
      tracks.filter(({ ended }) => ended !== undefined && precedence.includes(ended.verdict.outcome)).length - 1
    const others = more === 0 ? '' : ` (and ${more} more)`
    return { outcome: outcome as Outcome, reason, message: `${sentence(first.name, message)}${others}` }
  }
  const message =
    tracks.length === 1 && tracks[0] ? `${tracks[0].name} is ready` : `all ${tracks.length} targets are ready`
  return { outcome: 'ready', reason: '', message: tracks.length === 0 ? 'nothing to wait for' : message }
}
