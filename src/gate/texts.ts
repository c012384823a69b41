import type { Problem } from '../lifecycle/assessment.ts'
import type { Entry, ProblemRecord, TargetRecord, Timeline } from './timeline.ts'

/** A timeline with every text in it changed, by which the cluster or an error may speak; names and codes stay. */
export function mapTexts<T extends Timeline>(timeline: T, map: (text: string) => string): T {
  const { verdict, hint, targets, entries } = timeline
  return {
    ...timeline,
    ...(verdict === undefined ? {} : { verdict: { ...verdict, message: map(verdict.message) } }),
    ...(hint === undefined ? {} : { hint: map(hint) }),
    targets: targets.map((record) => mapTarget(record, map)),
    entries: entries.map((entry): Entry => ({ ...entry, text: map(entry.text) })),
  }
}

function mapTarget(record: TargetRecord, map: (text: string) => string): TargetRecord {
  const { message, milestones, problems, notes, hint, changes } = record
  return {
    ...record,
    message: map(message),
    milestones: milestones.map((milestone) => ({ ...milestone, message: map(milestone.message) })),
    problems: problems.map(
      (problem): ProblemRecord => ({
        ...mapProblem(problem, map),
        evidence: problem.evidence.map((piece) => ({ ...piece, title: map(piece.title), text: map(piece.text) })),
      }),
    ),
    notes: notes.map(map),
    ...(hint === undefined ? {} : { hint: map(hint) }),
    ...(changes === undefined ? {} : { changes: changes.map(map) }),
  }
}

function mapProblem<P extends Problem>(problem: P, map: (text: string) => string): P {
  const { message, cause, checks } = problem
  return {
    ...problem,
    message: map(message),
    ...(cause === undefined ? {} : { cause: mapProblem(cause, map) }),
    ...(checks === undefined ? {} : { checks: checks.map((check) => ({ ...check, text: map(check.text) })) }),
  }
}
