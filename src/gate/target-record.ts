import type { Assessment, Milestone } from '../lifecycle/assessment.ts'
import { type Target, targetId } from '../plan/target.ts'
import { type Problem, sentenceOf } from '../reasons/reasons.ts'
import { milestoneRecords } from './milestones.ts'
import { unchangedText, versionAge } from './present-version.ts'
import { causedBy, type JudgedTargetRecord, type TargetOutcome, unlessEmpty, type Verdict } from './run-record.ts'
import {
  type GatedTarget,
  hasStallHold,
  isUndecided,
  objectOf,
  problemsIn,
  type Ready,
  type StepContext,
  type TargetState,
  wasDeleted,
} from './target-state.ts'
import { problemHeadline, problemStatement, recordProblem } from './timeline-entries.ts'

/** The state as readable text. */
export function describeState(state: TargetState): string {
  if (state.type === 'awaiting-change')
    return state.problem === undefined ? 'waiting for its change to arrive' : sentenceOf(state.problem).text
  // The last milestone has the reason why an absent object is ready.
  if (state.type === 'ready' && state.absence !== undefined) return state.milestones.present.at(-1)?.message ?? ''
  if (objectOf(state) === undefined) return wasDeleted(state) ? 'was deleted' : 'waiting for it to be created'
  return state.assessment?.message ?? 'not assessed yet'
}

/**
 * What an open target waits for, in a few words: another target, the end of its problem, or its next milestone; and why its stall
 * clock is stopped.
 */
export function describeOpen(gated: GatedTarget, cause: GatedTarget | undefined): string {
  const { state, target } = gated
  const [problem] = problemsOf(state)
  if (cause !== undefined) return `waits for ${cause.name}`
  const description = describeState(state)
  // If the state is the sentence of the problem, it says more than the headline.
  const isState = problem === undefined || sentenceOf(problem).text === description
  const hold = hasStallHold(gated, () => false) ? `; ${state.assessment?.stallHold}` : ''
  return `${isState ? description : problemHeadline(problem, target)}${hold}`
}

/** The verdict of a problem, with the count of ready pods: `… (2 of 3 pods ready)`. */
export function problemVerdict<O extends TargetOutcome>(
  outcome: O,
  problem: Problem,
  assessment: Assessment | undefined,
  target: Target,
): Verdict<O> {
  const { count } = assessment?.milestones.find(({ name }) => name === 'ready') ?? ({} as Partial<Milestone>)
  const { done = 0, total = 0 } = count ?? {}
  const others = done > 0 && done < total ? ` (${done} of ${total} pods ready)` : ''
  const { text, form } = problemStatement(problem, target)
  return { outcome, reason: problem.reason, message: `${text}${others}`, form }
}

/** The problems that keep a target from ready, or that an ended target had at its end. */
function problemsOf(state: TargetState): readonly Problem[] {
  if (state.type === 'ended') return state.problems
  return state.type === 'ready' ? [] : problemsIn(state)
}

/** The outcome of a target if the gate ended now, its reason, and the problem that is the reason. */
export function verdictSoFar({ state }: Pick<GatedTarget, 'state'>): Pick<
  Verdict<TargetOutcome>,
  'outcome' | 'reason'
> & {
  readonly problem?: Problem | undefined
} {
  const problems = problemsOf(state)
  if (state.type === 'ended') {
    const { outcome, reason } = state.verdict
    return { outcome, reason, problem: problems.find((each) => each.reason === reason) }
  }
  const [problem] = problems
  return { outcome: state.type === 'ready' ? 'ready' : 'progressing', reason: problem?.reason ?? '', problem }
}

/**
 * The record of a target for the record of the run.
 * @param cause the target that it only waits for
 */
export function targetRecord(gated: GatedTarget, cause?: GatedTarget): JudgedTargetRecord {
  const { state, target } = gated
  const { assessment, milestones } = state
  const isReady = state.type === 'ready'
  const problems = problemsOf(state)
  const { outcome, reason, message, form }: Verdict<TargetOutcome> =
    state.type === 'ended' ? state.verdict : { ...verdictSoFar(gated), ...openStatement(gated, problems[0]) }
  const { apiVersion, kind, namespace, name, selector, source, clocks, deployedBy, release, hook } = target
  const notes = remarksOf(assessment, target)
  return {
    target: targetId(target),
    apiVersion,
    kind,
    namespace,
    name,
    selector,
    outcome,
    reason,
    message,
    form,
    ...(cause && causedBy(cause.target, target)),
    source,
    clocks,
    ...(isUndecided(state) ? {} : { endedAt: state.at }),
    milestones: milestoneRecords(
      milestones,
      isUndecided(state) ? 'open' : isReady ? 'ready' : 'failed',
      gated.holding() !== undefined,
    ),
    problems: problems.map((problem) => recordProblem(problem, target)),
    notes: unlessEmpty(notes),
    ...versionAge(state.seen?.changedAt, wasReadyAtFirstSight(state, gated), gated),
    warnings: unlessEmpty(assessment?.warnings),
    ...(assessment?.hasRun ? { hasRun: true } : {}),
    ...(state.type === 'ended' && state.undo ? { undo: state.undo } : {}),
    deployedBy,
    hook,
    release,
    basis: {
      target,
      availableRevision: state.seen?.availableRevision,
      ...(state.type === 'ended' ? { snapshot: state.snapshot } : {}),
    },
  }
}

/** What kubectl reported when it applied the target, then the notes and warnings of its assessment. */
export function remarksOf(
  { notes, warnings = [] }: Pick<Assessment, 'notes' | 'warnings'> = { notes: [] },
  { applied }: Target,
): readonly string[] {
  return [...(applied === undefined ? [] : [`kubectl: ${applied}`]), ...notes, ...warnings]
}

/** Whether a target was ready when the gate first saw it, and has stayed ready. */
function wasReadyAtFirstSight(state: TargetState, { settings }: StepContext): boolean {
  const { seen, milestones } = state
  return (
    state.type === 'ready' &&
    seen?.existedBefore === true &&
    milestones.reached.every(({ at }) => at === settings.startedAt)
  )
}

/** The message of a ready target. It begins with `unchanged for 3 d` if the target has not changed for long. */
export function readyMessage(state: Ready, { message }: Pick<Assessment, 'message'>, context: StepContext): string {
  const { changedAt } = state.seen ?? {}
  const age = versionAge(changedAt, wasReadyAtFirstSight(state, context), context)
  const unchanged = unchangedText(age, context.settings.startedAt)
  return [unchanged, message].filter((text) => text !== '').join(', ')
}

/** The state of an open or ready target as text, and how the text joins its name. */
function openStatement(gated: GatedTarget, problem: Problem | undefined): Pick<Verdict, 'message' | 'form'> {
  const { state } = gated
  const message =
    state.type === 'ready' && state.assessment !== undefined && state.absence === undefined
      ? readyMessage(state, state.assessment, gated)
      : describeState(state)
  const sentence = problem && sentenceOf(problem)
  if (sentence?.text === message) return { message, form: sentence.form }
  return { message, form: objectOf(state) === undefined && wasDeleted(state) ? 'predicate' : 'clause' }
}
