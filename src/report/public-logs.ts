import type { Timeline } from '../gate/timeline.ts'

const shownElsewhere = 'Shown in the job log and the job summary only, because the repository may be public.'

/**
 * The timeline as those read it who can read the repository: without container logs if it may be public. A log may contain
 * secrets that no rule finds, and the runner masks only its own log.
 */
export function forReaders<T extends Timeline>(timeline: T, { isPrivate }: { readonly isPrivate: boolean }): T {
  if (isPrivate) return timeline
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
