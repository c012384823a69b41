import { parseDeniedAccess } from '../cluster/failures.ts'
import type { Target } from '../plan/target.ts'
import { type ReasonCode, type ReasonDetails, sentenceOfReason, traitsOf } from '../reasons/reasons.ts'
import { type HintFacts, joinSubject, type Sentence } from '../reasons/spec.ts'

/** All outcomes except `ready`, the gravest first. An outcome without a judgement is graver than a failure. */
const badOutcomes = ['cancelled', 'unknown', 'misconfigured', 'failed', 'superseded', 'stalled', 'timed-out'] as const

/** How a gate ends, the gravest first. */
export const outcomes = [...badOutcomes, 'ready'] as const
export type Outcome = (typeof outcomes)[number]

/** How a target ends, the gravest first; `progressing`: it is open when the gate ends. */
export const targetOutcomes = [...badOutcomes, 'progressing', 'ready'] as const
export type TargetOutcome = (typeof targetOutcomes)[number]

/** An outcome with its reason (empty on ready), one line for people, and the facts that its hint is made from. */
export interface Verdict<O extends TargetOutcome = Outcome> {
  readonly outcome: O
  readonly reason: ReasonCode | ''
  readonly message: string
  /** How the message follows the name of its target; by default as a clause. */
  readonly form?: Sentence['form']
  /** The denied access, if it ended the gate. */
  readonly denied?: HintFacts['denied']
  /** The kinds that the API server could not read, if that ended the gate although the server answers. */
  readonly unreadable?: HintFacts['unreadable']
}

/** A verdict with the message that belongs to its reason. */
export function verdictOf<O extends TargetOutcome, Reason extends ReasonCode>(
  outcome: O,
  reason: Reason,
  detail: ReasonDetails[Reason],
): Verdict<O> {
  const { text, form } = sentenceOfReason(reason, detail)
  return { outcome, reason, message: text, form }
}

/** The verdict of a target that does not exist. `timeoutMs`: the timeout of the milestone `created`. */
export function absentVerdict<O extends TargetOutcome>(
  outcome: O,
  { selector, hook }: Target,
  timeoutMs?: number,
): Verdict<O> {
  if (selector !== undefined) return verdictOf(outcome, 'not-found', { isSelector: true })
  return verdictOf(outcome, 'not-found', {
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(hook && { hook: hook.annotation }),
  })
}

/** The verdict of a target that the gate cannot read, or can no longer read. */
export function deniedVerdict<O extends TargetOutcome>(outcome: O, detail: ReasonDetails['forbidden']): Verdict<O> {
  const access = [parseDeniedAccess(detail.message) ?? []].flat()
  const { wasReadable } = detail
  return { ...verdictOf(outcome, 'forbidden', detail), denied: { wasReadable, access } }
}

/** The outcome of several gates: the gravest. */
export function gravestOutcome(ofGates: readonly Outcome[]): Outcome {
  return outcomes.find((outcome) => ofGates.includes(outcome)) ?? 'ready'
}

/** Whether a target with the outcome `cause` may be why another target has `outcome`: `cause` must be at least as grave. */
export function isCause(cause: TargetOutcome, outcome: TargetOutcome): boolean {
  const mayWait = ['progressing', 'failed', 'stalled', 'timed-out'].includes(outcome)
  return mayWait && targetOutcomes.indexOf(cause) <= targetOutcomes.indexOf(outcome)
}

/** The conclusion of the first target with the gravest outcome; undefined if every outcome is `ready` or `progressing`. */
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

/**
 * Whether the job passes: the gate is ready or, with `on-superseded: pass`, each target is ready or superseded. A target that was
 * rolled back never passes.
 */
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
