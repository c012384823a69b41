import { type Problem, problemOf } from '../reasons/reasons.ts'
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
        class: problem.class,
        message: map(problem.message),
        chain: problem.chain,
        evidence: problem.evidence.map((piece) => ({ ...piece, title: map(piece.title), text: map(piece.text) })),
      }),
    ),
    notes: notes.map(map),
    ...(hint === undefined ? {} : { hint: map(hint) }),
    ...(changes === undefined ? {} : { changes: changes.map(map) }),
  }
}

function mapProblem(problem: Problem, map: (text: string) => string): Problem {
  const { detail, cause, checks } = problem
  return problemOf({
    ...problem,
    detail: mapStrings(detail, map),
    cause: cause && mapProblem(cause, map),
    checks: checks?.map((check) => ({ ...check, text: map(check.text) })),
  })
}

/** A value with every string in it changed. */
function mapStrings<Value>(value: Value, map: (text: string) => string): Value {
  if (typeof value === 'string') return map(value) as Value
  if (Array.isArray(value)) return value.map((each) => mapStrings(each, map)) as Value
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, mapStrings(each, map)])) as Value
}
