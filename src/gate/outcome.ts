import { traitsOf } from '../reasons/reasons.ts'
import { joinSubject } from '../reasons/spec.ts'
import type { Conclusion, EndedRunRecord, Outcome, TargetOutcome, Verdict } from './run-record.ts'
import type { GateSettings } from './settings.ts'
import type { GatedTarget } from './target-state.ts'

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

/** When the first target ended without being ready. With `on-superseded: pass`, a superseded target does not count. */
export function firstFailureAt(targets: readonly GatedTarget[], { onSuperseded }: GateSettings): number | undefined {
  let first: number | undefined
  for (const { state } of targets) {
    if (state.type !== 'ended' || state.verdict.outcome === 'unknown') continue
    if (traitsOf(state.verdict).mayPass && onSuperseded === 'pass') continue
    first = Math.min(first ?? state.at, state.at)
  }
  return first
}

/** Whether a target with the outcome `cause` may be why another target has `outcome`: `cause` must be at least as grave. */
export function isCause(cause: TargetOutcome, outcome: TargetOutcome): boolean {
  const order: readonly TargetOutcome[] = precedence
  if (outcome === 'progressing') return cause !== 'ready'
  const isFailure = outcome === 'failed' || outcome === 'stalled' || outcome === 'timed-out'
  return isFailure && order.includes(cause) && order.indexOf(cause) <= order.indexOf(outcome)
}

/**
 * The gate's verdict: the verdict of the target with the gravest outcome. Among equally grave targets, the one that ended first
 * decides, then the order of the input. A target that only waits for another one does not decide, and is not counted.
 * @param causes the causes that `findCauses` found
 */
export function decide(targets: readonly GatedTarget[], causes: ReadonlyMap<number, number>): Conclusion {
  const ended = targets.flatMap(({ name, index, state }) =>
    state.type === 'ended' && !causes.has(index) ? [{ ...state.verdict, name, at: state.at }] : [],
  )
  const conclusion = concludeWorst(ended.toSorted((a, b) => a.at - b.at))
  if (conclusion !== undefined) return conclusion
  const message =
    targets.length === 1 && targets[0] ? `${targets[0].name} is ready` : `all ${targets.length} targets are ready`
  return { outcome: 'ready', reason: '', message: targets.length === 0 ? 'nothing to wait for' : message }
}

/** The conclusion of the first target with the gravest outcome; undefined if every outcome is `ready` or `progressing`. */
export function concludeWorst(
  targets: readonly (Pick<Verdict<TargetOutcome>, 'outcome' | 'reason' | 'message' | 'form'> & {
    readonly name: string
  })[],
): Conclusion | undefined {
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
