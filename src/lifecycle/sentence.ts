import type { Problem } from './assessment.ts'

/** What our own messages begin with when they say something of their subject: `is paused`, `cannot be scheduled: …`. */
const predicate =
  /^(?:is|was|are|has|have|had|does|did|made|cannot|could|exited|ended|fails|failed|ran|runs|carries|holds|matches|stays|selects|exists|still exists|stands|needs)\b/

/** A message and what it is about as one sentence: `deployment/web is paused`, `pod/web-x: volume "v" is missing`. */
export function sentence(subject: string, message: string): string {
  if (subject === '' || message === '') return `${subject}${message}`
  return `${subject}${predicate.test(message) ? '' : ':'} ${message}`
}

/** Where a problem sits: `container app of pod/web-fc8b-8xkbh`. Not yet escaped. */
export function placeOfProblem(problem: Pick<Problem, 'reason' | 'subject' | 'container' | 'detail'>): string {
  const { subject, container } = problem
  return container === undefined ? subject : `${containerWord(problem)} ${container} of ${subject}`
}

/** What the container of a problem is called: one that has to end before the others start is an init container. */
export function containerWord({ reason, detail }: Pick<Problem, 'reason' | 'detail'>): 'container' | 'init container' {
  return reason === 'init-container-failed' || detail?.isInit ? 'init container' : 'container'
}

/** A problem in one sentence: `container app of pod/web-x exited with code 3, 3 times now (2 pods)`. Not yet escaped. */
export function problemSentence(problem: Problem): string {
  const many = (problem.pods ?? 1) > 1 ? ` (${problem.pods} pods)` : ''
  return `${sentence(placeOfProblem(problem), problem.message)}${many}`
}
