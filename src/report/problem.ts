import type { ProblemRecord } from '../gate/timeline.ts'
import { clock } from './elapsed.ts'

/** Where a problem sits: `pod/web-fc8b-8xkbh, container app`. Not yet escaped. */
export function problemSubject({ subject, container }: ProblemRecord): string {
  return container === undefined ? subject : `${subject}, container ${container}`
}

/** How often and since when a problem was seen: `2 times since 0:03`; once: `at 0:03`. */
export function problemCount({ count, firstSeenAt }: ProblemRecord, startedAt: number): string {
  const first = clock(firstSeenAt - startedAt)
  return count > 1 ? `${count} times since ${first}` : `at ${first}`
}

/** A problem in one line: `pod/web-x, container app: image-not-found (2 times since 0:03): …`. Not yet escaped. */
export function describeProblem(problem: ProblemRecord, startedAt: number): string {
  return `${problemSubject(problem)}: ${problem.reason} (${problemCount(problem, startedAt)}): ${problem.message}`
}
