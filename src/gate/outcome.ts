import { traitsOf } from '../reasons/reasons.ts'
import { joinSubject } from '../reasons/spec.ts'
import type { EndedRunRecord, Outcome, TargetOutcome, Verdict } from './run-record.ts'

/** All outcomes except `ready`, the gravest first. An outcome without a judgement is graver than a failure. */
const precedence = [
  'cancelled',
  'unknown',
  'misconfigured',
  'failed',
  'superseded',
  'stalled',
  'timed-out',
] as const satisfies readonly Outcome[]

/** The outcome of several gates: the gravest. */
export function gravest(outcomes: readonly Outcome[]): Outcome {
  return precedence.find((outcome) => outcomes.includes(outcome)) ?? 'ready'
}

/** Whether a target with the outcome `cause` may be why another target has `outcome`: `cause` must be at least as grave. */
export function isCause(cause: TargetOutcome, outcome: TargetOutcome): boolean {
  const order: readonly TargetOutcome[] = precedence
  if (outcome === 'progressing') return cause !== 'ready'
  const isFailure = outcome === 'failed' || outcome === 'stalled' || outcome === 'timed-out'
  return isFailure && order.includes(cause) && order.indexOf(cause) <= order.indexOf(outcome)
}

/** The conclusion of the first target with the gravest outcome; undefined if every outcome is `ready` or `progressing`. */
export function concludeWorst(
  targets: readonly (Pick<Verdict<TargetOutcome>, 'outcome' | 'reason' | 'message' | 'form'> & {
    readonly name: string
  })[],
): Verdict | undefined {
  const bad = targets.filter((each) => precedence.some((outcome) => outcome === each.outcome))
  const outcome = precedence.find((each) => bad.some((target) => target.outcome === each))
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
export function passes(
  { outcome, targets }: Pick<EndedRunRecord, 'outcome' | 'targets'>,
  onSuperseded: 'fail' | 'pass',
): boolean {
  if (outcome === 'ready') return true
  if (outcome !== 'superseded' || onSuperseded !== 'pass') return false
  const others = targets.filter((judged) => judged.outcome !== 'ready')
  return others.length > 0 && others.every((judged) => traitsOf(judged).mayPass)
}
