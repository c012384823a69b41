/** What our own messages begin with when they say something of their subject: `is paused`, `cannot be scheduled: …`. */
const predicate =
  /^(?:is|was|are|has|have|had|does|did|made|cannot|could|exited|ended|fails|failed|ran|runs|carries|holds|matches|stays|selects|exists|still exists|stands|needs)\b/

/** A message and what it is about as one sentence: `deployment/web is paused`, `pod/web-x: volume "v" is missing`. */
export function sentence(subject: string, message: string): string {
  if (subject === '' || message === '') return `${subject}${message}`
  return `${subject}${predicate.test(message) ? '' : ':'} ${message}`
}
