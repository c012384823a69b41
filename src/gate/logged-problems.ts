import { messageOf, type Problem } from '../reasons/reasons.ts'
import { countsInFull, maxWordings } from '../thresholds.ts'

/** Which problems of a target have been logged, by container and wording, each as it was logged last. */
export type LoggedProblems = ReadonlyMap<string, Pick<Problem, 'reason' | 'count'> & { readonly message: string }>

/**
 * Adds a problem to the logged ones. Undefined if the log need not show it: its wording is known and it has not occurred
 * again, or its reason has too many wordings. Different numbers or identifiers alone are no new wording. A status may
 * contain one sentence in several conditions, which are problems with different reasons: the log shows it once.
 */
export function addLoggedProblem(logged: LoggedProblems, problem: Problem): LoggedProblems | undefined {
  const { reason, container = '', count } = problem
  const message = messageOf(problem)
  const wording = `${container} ${wordingOf(message)}`
  const before = logged.get(wording)
  const isRepetition =
    before !== undefined &&
    count > before.count &&
    message !== before.message &&
    (count <= countsInFull || count >= 2 * before.count)
  const wordings = [...logged.values()].filter((each) => each.reason === reason)
  const isNew = before === undefined && wordings.length < maxWordings
  return isRepetition || isNew ? new Map(logged).set(wording, { reason, count, message }) : undefined
}

/** A message without the parts that differ between repetitions: numbers, identifiers, singular and plural. */
function wordingOf(message: string): string {
  return message
    .replace(/(?<![0-9a-f])[0-9a-f]*\d[0-9a-f]*/gi, '#')
    .replace(/, # times$| \(# pods so far\)/, '')
    .replace(/\b(?:is|are|has|have|does|do)\b/g, '~')
    .replace(/(?<=\w)s\b/g, '')
}
