import type { RunRecord } from '../gate/run-record.ts'

const shownElsewhere = 'Shown in the job log and the job summary only, because the repository may be public.'

/**
 * The record as those read it who can read the repository: without container logs if it may be public. A log may contain
 * secrets that no rule finds, and the runner masks only its own log.
 */
export function forReaders<T extends RunRecord>(record: T, { isPrivate }: { readonly isPrivate: boolean }): T {
  if (isPrivate) return record
  return {
    ...record,
    targets: record.targets.map((target) => ({
      ...target,
      hint: target.hintWithoutLog ?? target.hint,
      problems: target.problems.map((problem) => ({
        ...problem,
        evidence: problem.evidence.map((piece) => (piece.type === 'log' ? { ...piece, text: shownElsewhere } : piece)),
      })),
    })),
  }
}
