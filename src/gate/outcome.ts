import { parseDeniedAccess } from '../cluster/failures.ts'
import type { Target } from '../plan/target.ts'
import { type ReasonCode, type ReasonDetails, sentenceOfReason, traitsOf } from '../reasons/reasons.ts'
import { type HintFacts, joinSubject, type Sentence } from '../reasons/spec.ts'

/* The outcomes and verdicts of targets and gates. */

/** All outcomes except `ready`, the gravest first. If the gate could not judge, this is graver than a failure. */
const badOutcomes = ['cancelled', 'unknown', 'misconfigured', 'failed', 'superseded', 'stalled', 'timed-out'] as const

/** The outcomes of a gate, the gravest first. */
export const outcomes = [...badOutcomes, 'ready'] as const
export type Outcome = (typeof outcomes)[number]

/** The outcomes of a target, the gravest first. `progressing`: the target was open when the gate ended. */
export const targetOutcomes = [...badOutcomes, 'progressing', 'ready'] as const
export type TargetOutcome = (typeof targetOutcomes)[number]

/** An outcome with its reason (empty for `ready`), a readable message, and facts for the hint. */
export interface Verdict<O extends TargetOutcome = Outcome> {
  readonly outcome: O
  readonly reason: ReasonCode | ''
  readonly message: string
  /** How the message follows the name of the target. By default, as a clause. */
  readonly form?: Sentence['form']
  /** The denied access, if it ended the gate. */
  readonly denied?: HintFacts['denied']
  /** The kinds that cannot be read, if this outage ended the gate although the API server answers. */
  readonly unreadable?: HintFacts['unreadable']
}

/** Creates a verdict with the message of its reason. */
export function createVerdict<O extends TargetOutcome, Reason extends ReasonCode>(
  outcome: O,
  reason: Reason,
  detail: ReasonDetails[Reason],
): Verdict<O> {
  const { text, form } = sentenceOfReason(reason, detail)
  return { outcome, reason, message: text, form }
}

/** The verdict of a target that does not exist. @param timeoutMs the timeout of the milestone `created` */
export function absentVerdict<O extends TargetOutcome>(
  outcome: O,
  { selector, hook }: Target,
  timeoutMs?: number,
): Verdict<O> {
  if (selector !== undefined) return createVerdict(outcome, 'not-found', { isSelector: true })
  return createVerdict(outcome, 'not-found', {
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(hook && { hook: hook.annotation }),
  })
}

/** The verdict if access to a target is denied. */
export function deniedVerdict<O extends TargetOutcome>(outcome: O, detail: ReasonDetails['forbidden']): Verdict<O> {
  const access = [parseDeniedAccess(detail.message) ?? []].flat()
  const { wasReadable } = detail
  return { ...createVerdict(outcome, 'forbidden', detail), denied: { wasReadable, access } }
}

/** Whether one target's outcome `cause` may explain the outcome of another target: it must be at least as grave. */
export function mayBeCause(cause: TargetOutcome, outcome: TargetOutcome): boolean {
  const mayWait = ['progressing', 'failed', 'stalled', 'timed-out'].includes(outcome)
  return mayWait && targetOutcomes.indexOf(cause) <= targetOutcomes.indexOf(outcome)
}

/** The verdict of the first target with the gravest outcome. Undefined if all outcomes are `ready` or `progressing`. */
export function worstVerdict(
  targets: readonly (Pick<Verdict<TargetOutcome>, 'outcome' | 'reason' | 'message' | 'form'> & {
    readonly name: string
  })[],
): Verdict | undefined {
  const bad = targets.filter((each) => badOutcomes.some((outcome) => outcome === each.outcome))
  const outcome = badOutcomes.find((each) => bad.some((target) => target.outcome === each))
  const first = bad.find((target) => target.outcome === outcome)
  if (outcome === undefined || first === undefined) return undefined
  const { name, reason, message, form = 'clause' } = first
  const others = bad.length === 1 ? '' : ` (and ${bad.length - 1} more)`
  return { outcome, reason, message: `${joinSubject(name, { text: message, form })}${others}` }
}

/** Whether the job passes: the gate is ready or, with `on-superseded: pass`, superseded. A rollback never passes. */
export function isPassing(
  {
    outcome,
    targets,
  }: { readonly outcome: Outcome; readonly targets: readonly Pick<Verdict<TargetOutcome>, 'outcome' | 'reason'>[] },
  onSuperseded: 'fail' | 'pass',
): boolean {
  if (outcome === 'ready') return true
  if (outcome !== 'superseded' || onSuperseded !== 'pass') return false
  const others = targets.filter((judged) => judged.outcome !== 'ready')
  return others.length > 0 && others.every((judged) => traitsOf(judged).mayPass)
}
