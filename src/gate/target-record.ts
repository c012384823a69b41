import { subjectText } from '../cluster/objects.ts'
import type { Hold } from '../lifecycle/reader.ts'
import { type Target, targetId } from '../plan/target.ts'
import { classOf, messageOf, type Problem, sentenceOf } from '../reasons/reasons.ts'
import { findMilestone, heldMilestone, type MilestoneProgress } from './milestones.ts'
import type { TargetOutcome, Verdict } from './outcome.ts'
import {
  causeFields,
  type JudgedProblem,
  type JudgedTargetRecord,
  type MilestoneRecord,
  undefinedIfEmpty,
} from './run-record.ts'
import {
  describeState,
  type GatedTarget,
  hasStallHold,
  isTargetReady,
  objectOf,
  problemsUnlessReady,
  readyMessage,
  verdictSoFar,
  versionAge,
  wasDeleted,
} from './target-state.ts'
import { problemHeadline, remarksOf } from './timeline-entries.ts'

/* Creates the record of a target from its state. */

/** Describes in a few words what an open target waits for, and why its stall clock is stopped. */
export function describeOpenTarget(gated: GatedTarget, cause: GatedTarget | undefined): string {
  const { state, target } = gated
  const [problem] = problemsUnlessReady(state)
  if (cause !== undefined) return `waits for ${cause.name}`
  const description = describeState(state)
  // If the state is the sentence of the problem, this sentence contains more than the headline.
  const isState = problem === undefined || sentenceOf(problem).text === description
  const hold = hasStallHold(gated, () => false) ? `; ${state.assessment?.stallHold}` : ''
  return `${isState ? description : problemHeadline(problem, target)}${hold}`
}

/** Creates the record of a target. @param cause the target that it waits for, if this is the only reason */
export function targetRecord(gated: GatedTarget, hold?: Hold, cause?: GatedTarget): JudgedTargetRecord {
  const { state, target } = gated
  const { assessment, milestones } = state
  const problems = problemsUnlessReady(state)
  const { outcome, reason, message, form }: Verdict<TargetOutcome> =
    state.type === 'ended' ? state.verdict : { ...verdictSoFar(gated), ...openTargetStatement(gated, problems[0]) }
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
    ...(cause && causeFields(cause.target, target)),
    source,
    clocks,
    endedAt: state.type === 'ended' ? state.at : state.readyAt,
    milestones: milestoneRecords(milestones, outcome, hold !== undefined),
    problems: problems.map((problem) => problemRecord(problem, target)),
    notes: undefinedIfEmpty(notes),
    ...versionAge(state, gated),
    warnings: undefinedIfEmpty(assessment?.warnings),
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

/** The state of an open or ready target as text; `form` is how the text follows the name (see `joinSubject`). */
function openTargetStatement(gated: GatedTarget, problem: Problem | undefined): Pick<Verdict, 'message' | 'form'> {
  const { state } = gated
  const message =
    isTargetReady(state) && state.type !== 'absent' && state.assessment !== undefined
      ? readyMessage(state.assessment.message, state, gated)
      : describeState(state)
  const sentence = problem && sentenceOf(problem)
  if (sentence?.text === message) return { message, form: sentence.form }
  return { message, form: objectOf(state) === undefined && wasDeleted(state) ? 'predicate' : 'clause' }
}

export function problemRecord(problem: Problem, target: Target): JudgedProblem {
  const { reason, subject, isElsewhere, container, isInit, firstSeenAt, count } = problem
  return {
    reason,
    class: classOf(problem),
    subject: subjectText(subject),
    ...(isElsewhere && { namespace: subject.namespace }),
    container,
    isInit,
    message: messageOf(problem),
    headline: problemHeadline(problem, target),
    firstSeen: firstSeenAt,
    count,
    evidence: [],
    basis: problem,
  }
}

/** Creates the records of the milestones of a target. @param isHolding the hold has begun */
export function milestoneRecords(
  { names, reached, present }: MilestoneProgress,
  outcome: TargetOutcome,
  isHolding = false,
): readonly MilestoneRecord[] {
  return names.map((name, index) => {
    const { at, shownAt } = reached[index] ?? {}
    const { state, message } = findMilestone(present, name) ?? { message: '' }
    if (state === 'skipped') return { name, state, message }
    if (at !== undefined)
      return {
        name,
        state: 'done',
        at: shownAt ?? at,
        ...(shownAt === undefined ? {} : { source: 'object' }),
        message: state === 'open' ? '' : message,
      }
    if (outcome === 'ready' && name === heldMilestone)
      return { name, state: isHolding ? 'current' : 'pending', message: '' }
    // A ready target waits for no other milestone.
    if (outcome === 'ready') return { name, state: 'skipped', message: '' }
    if (index > reached.length) return { name, state: 'pending', message: '' }
    return { name, state: outcome === 'progressing' ? 'current' : 'failed', message }
  })
}
