import type { Evidence, ProblemRecord, TargetRecord } from '../gate/timeline.ts'
import { placeOfProblem } from '../reasons/reasons.ts'
import { clock } from './elapsed.ts'

/** The way from the target to where a problem sits: `deployment/web → pod/web-fc8b-8xkbh → container app`. Not yet escaped. */
export function problemWay(problem: ProblemRecord): string {
  const { chain = [] } = problem
  return chain.length > 1 ? chain.join(' → ') : placeOfProblem(problem)
}

/** What is this much older than the gate was not caused by the apply right before it. */
const longMs = 60_000

/** How often and since when a problem was seen: `2 times since 0:03`; once: `at 0:03`. */
export function problemCount({ count, firstSeenAt }: ProblemRecord, startedAt: number): string {
  if (firstSeenAt < startedAt - longMs)
    return count > 1 ? `${count} times since before the gate began` : 'before the gate began'
  const first = clock(firstSeenAt - startedAt)
  return count > 1 ? `${count} times since ${first}` : `at ${first}`
}

/** Whether a target's own message says already what its problem does. */
export function isTold({ message }: ProblemRecord, record: TargetRecord): boolean {
  return record.outcome !== 'ready' && record.message.includes(message)
}

/** What says most comes first; a run that logged the same as the one before it is told once. */
export function inOrder(evidence: readonly Evidence[]): readonly Evidence[] {
  return evidence
    .filter(
      ({ type, text }, index) => evidence.findIndex((other) => other.type === type && other.text === text) === index,
    )
    .toSorted((one, other) => evidenceOrder.indexOf(one.type) - evidenceOrder.indexOf(other.type))
}

const evidenceOrder: readonly Evidence['type'][] = ['condition', 'log', 'event', 'manifest']
