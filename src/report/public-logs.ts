import type { Timeline } from '../gate/timeline.ts'
import type { LogLines } from '../input-types.ts'

const shownElsewhere =
  'Shown in the job log and the job summary only, because the repository may be public. The input `log-lines` can show it here.'

/**
 * The timeline as it may be published at a place: in a repository that may be public, without container logs unless the
 * input `log-lines` names the place. A log may contain secrets that no rule finds, and the runner masks only its own log.
 * @param place an extra, or `report`
 */
export function forPlace<T extends Timeline>(
  timeline: T,
  place: string,
  { places }: LogLines,
  { isPrivate }: { readonly isPrivate: boolean },
): T {
  if (isPrivate || places.some((each) => each === place)) return timeline
  return {
    ...timeline,
    targets: timeline.targets.map((record) => ({
      ...record,
      hint: record.hintWithoutLog ?? record.hint,
      problems: record.problems.map((problem) => ({
        ...problem,
        evidence: problem.evidence.map((piece) => (piece.type === 'log' ? { ...piece, text: shownElsewhere } : piece)),
      })),
    })),
  }
}
