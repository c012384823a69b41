import { messageOf, type Problem } from '../reasons/reasons.ts'

/** Up to this count every repetition of a problem is logged, above it each doubling. */
const countsInFull = 10
/** The most wordings of one problem that are logged without a repetition. */
const mostWordings = 5

interface Reported {
  count: number
  message: string
  readonly wordings: Set<string>
}

/** Which problems of one target have been logged, and in which words: a line is written only for what is new. */
export class ReportedProblems {
  readonly #reported = new Map<string, Reported>()

  /**
   * Whether a problem is to be logged now, which is then taken as done: one that is new, that was seen more often than
   * before, or whose cause is known by now. Numbers and identifiers alone are no new cause.
   */
  report(problem: Problem): boolean {
    const { reason, container = '', count } = problem
    const message = messageOf(problem)
    const key = `${reason} ${container}`
    const wording = wordingOf(message)
    const before = this.#reported.get(key)
    if (before === undefined) {
      this.#reported.set(key, { count, message, wordings: new Set([wording]) })
      return true
    }
    const isRepetition =
      count > before.count && message !== before.message && (count <= countsInFull || count >= 2 * before.count)
    const isNewWording = !before.wordings.has(wording) && before.wordings.size < mostWordings
    if (!isRepetition && !isNewWording) return false
    before.count = Math.max(count, before.count)
    before.message = message
    before.wordings.add(wording)
    return true
  }

  /** Takes that another object is judged from now on: nothing has been logged of it. */
  clear(): void {
    this.#reported.clear()
  }
}

/** A message without what differs each time that the same is said: numbers, identifiers, and one or several of something. */
function wordingOf(message: string): string {
  return message
    .replace(/[0-9a-f]*\d[0-9a-f]*/gi, '#')
    .replace(/, # times now$| \(# pods now\)/, '')
    .replace(/\b(?:is|are|has|have|does|do)\b/g, '~')
    .replace(/(?<=\w)s\b/g, '')
}
