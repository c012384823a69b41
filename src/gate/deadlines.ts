import { podsOf } from '../lifecycle/pods.ts'
import type { Hold } from '../lifecycle/reader.ts'
import { versionChangedAt } from '../lifecycle/stale-status.ts'
import { objectProblemFields } from '../lifecycle/status-problems.ts'
import { isDeletionAwaited } from '../plan/target.ts'
import { type Problem, problemSentence } from '../reasons/reasons.ts'
import { deletedMs, fallenMs, maxOpenFields } from '../thresholds.ts'
import { currentMilestone, waitingSince } from './milestones.ts'
import { absentVerdict, createVerdict } from './outcome.ts'
import { milestoneTimeoutMs } from './settings.ts'
import {
  describeState,
  type End,
  type GatedTarget,
  isUndecided,
  objectOf,
  type TargetState,
  type TargetVerdict,
  unchangedVerdict,
  wasDeleted,
} from './target-state.ts'
import { problemVerdict } from './timeline-entries.ts'

/* The deadlines of targets, and the verdicts after them. */

/** The next end of a target by a deadline. @param isDeadlineBlocked if true, no deadline may end the target now */
export function nextEnd(gated: GatedTarget, isDeadlineBlocked: boolean, hold: Hold | undefined): End | undefined {
  const { state } = gated
  if (isDeadlineBlocked || !isUndecided(state) || gated.settings.givesNoVerdict) return undefined
  const ends =
    state.type === 'awaiting-change'
      ? [changeDeadline(gated), gated.rule.arrival && timeoutDeadline(gated)]
      : hold !== undefined
        ? [holdDeadline(gated, hold)]
        : [deletionDeadline(gated), milestoneDeadline(gated), stallDeadline(gated), timeoutDeadline(gated)]
  const [first] = ends.filter((end) => end !== undefined).toSorted((a, b) => a.at - b.at)
  return first
}

/** The end by the timeout `await-change`: the change of the target, or its awaited revision, has not arrived. */
function changeDeadline(gated: GatedTarget): End | undefined {
  const { rule, settings } = gated
  const { startedAt, awaitChangeMs, awaitRevisionMs } = settings
  const awaitMs = rule.arrival === undefined ? awaitChangeMs : awaitRevisionMs
  return awaitMs === 0 ? undefined : { at: startedAt + awaitMs, verdict: () => changeVerdict(gated) }
}

/** The verdict if the change has not arrived: `not-changed` if `require-change` rejects the present version. */
function changeVerdict(gated: GatedTarget): TargetVerdict {
  const { rule, settings, state, target } = gated
  if (rule.arrival === undefined) {
    const present = state.type === 'awaiting-change' ? state.listed : undefined
    const unchanged = present && unchangedVerdict(versionChangedAt(present, rule, gated.readerOf(present)), gated)
    if (unchanged !== undefined) return unchanged
    const other = present && gated.haveImagesArrived(present, present)
    const cause = typeof other === 'object' ? problemSentence(other) : openFieldsText(gated)
    return createVerdict('stalled', 'change-not-seen', { awaitChangeMs: settings.awaitChangeMs, cause })
  }
  const [problem] = state.assessment?.problems ?? []
  return problem === undefined
    ? absentVerdict('stalled', target)
    : problemVerdict('stalled', problem, undefined, target)
}

/** The first fields that still differ from the manifest, as one text. Undefined if no field differs. */
function openFieldsText({ state }: GatedTarget): string | undefined {
  const { openFields = [] } = state.type === 'awaiting-change' ? state : {}
  const more = openFields.length - maxOpenFields
  return [...openFields.slice(0, maxOpenFields), ...(more > 0 ? [`${more} more`] : [])].join('; ') || undefined
}

/** The end of a deleted target that was not created again in time. */
function deletionDeadline({ state, target }: GatedTarget): End | undefined {
  // An operator creates a deleted object again, and its custom resource reports whether all objects exist.
  if (state.type !== 'absent' || state.deletedAt === undefined || target.deployedBy !== undefined) return undefined
  return {
    at: state.deletedAt + deletedMs,
    verdict: () => createVerdict('failed', 'deleted', {}),
  }
}

/**
 * The end of a target that is not ready in the hold. Pods must be ready again when the hold ends. A target without pods
 * has `fallenMs` more, because its controller may report not ready during each reconciliation.
 */
function holdDeadline(gated: GatedTarget, { since, until }: Hold): End {
  const { state } = gated
  const object = objectOf(state)
  const fallenAt = object === undefined ? undefined : state.milestones.restartedAt
  const graceMs =
    fallenAt === undefined || (podsOf(object, state.assessment?.pods) !== undefined && fallenAt < until) ? 0 : fallenMs
  const at = deletionDeadline(gated)?.at ?? Math.max(until, (fallenAt ?? until) + graceMs)
  const verdict = () => {
    const problem = problemInHold(state, at)
    const cause = problem === undefined ? describeState(state) : problemSentence(problem)
    const detail = { holdMs: until - since, afterMs: (fallenAt ?? at) - since, cause }
    return { ...createVerdict('failed', 'not-held', detail), problem }
  }
  return { at, verdict }
}

/** The problem that explains why a target is not ready in the hold: its first problem, or its deletion. */
function problemInHold(state: TargetState, now: number): Problem | undefined {
  const { seen, assessment } = state
  if (objectOf(state) !== undefined || seen === undefined) return assessment?.problems[0] ?? assessment?.overdue
  return { ...objectProblemFields(seen.object, now), reason: 'deleted', detail: {} }
}

/** The end by the timeout of the current milestone (`milestone-timeouts`). */
function milestoneDeadline(gated: GatedTarget): End | undefined {
  const { target, settings, state } = gated
  const { milestones } = state
  const current = currentMilestone(milestones)
  const exists = objectOf(state) !== undefined
  const mayBeAbsent = wasDeleted(state) || isDeletionAwaited(target)
  if (current === undefined || (exists ? current === 'created' : mayBeAbsent)) return undefined
  const timeoutMs = milestoneTimeoutMs(current, target, settings)
  if (timeoutMs === 0) return undefined
  const verdict = (): TargetVerdict => {
    if (current === 'created')
      return { ...absentVerdict('failed', target, timeoutMs), logText: absentVerdict('failed', target).message }
    const detail = { timeoutMs, milestone: current, state: describeState(state) }
    const verdict = createVerdict('timed-out', 'still-running', detail)
    return overdueVerdict(gated, { ...verdict, logText: verdict.message })
  }
  return { at: (waitingSince(milestones) ?? settings.startedAt) + timeoutMs, verdict }
}

/** The end by `stall-timeout`. Undefined while the stall clock is stopped. */
function stallDeadline(gated: GatedTarget): End | undefined {
  const { target, settings, state } = gated
  const timeoutMs = target.clocks.stallTimeoutMs ?? settings.stallTimeoutMs
  if (timeoutMs === 0 || state.type === 'ended' || state.stall.heldSince !== undefined) return undefined
  const verdict = () => {
    const logText = describeState(state)
    const verdict = createVerdict('stalled', 'no-progress', { stallTimeoutMs: timeoutMs, state: logText })
    return overdueVerdict(gated, { ...verdict, logText })
  }
  return { at: state.stall.since + timeoutMs, verdict }
}

/** The end by the `timeout` of the target itself. */
function timeoutDeadline(gated: GatedTarget): End | undefined {
  const { timeoutMs } = gated.target.clocks
  if (timeoutMs === undefined || timeoutMs === 0) return undefined
  return { at: gated.settings.startedAt + timeoutMs, verdict: () => timeoutVerdict(gated, timeoutMs) }
}

/** The verdict of a target after its own timeout, or after the timeout of the gate. */
export function timeoutVerdict(gated: GatedTarget, timeoutMs: number): TargetVerdict {
  const logText = describeState(gated.state)
  const verdict = createVerdict('timed-out', 'still-running', { timeoutMs, state: logText })
  return overdueVerdict(gated, { ...verdict, logText })
}

/** The verdict when a deadline ends a target: for its first problem, or `withoutProblem` if it has no problem. */
function overdueVerdict(gated: GatedTarget, withoutProblem: TargetVerdict): TargetVerdict {
  const { state, target } = gated
  const { outcome } = withoutProblem
  if (state.type === 'awaiting-change') return { ...changeVerdict(gated), outcome }
  if (objectOf(state) === undefined) return absentVerdict(outcome, target)
  const problem = state.assessment?.problems[0] ?? state.assessment?.overdue
  if (problem === undefined) return withoutProblem
  return problemVerdict(outcome, problem, state.assessment, target)
}
