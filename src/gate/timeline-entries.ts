import { groupOf, isSameSubject, subjectText } from '../cluster/objects.ts'
import type { Assessment, Milestone } from '../lifecycle/assessment.ts'
import type { NamedTarget, Target } from '../plan/target.ts'
import { headlineOf, type Problem, problemSentence, sentenceOf, traitsOf } from '../reasons/reasons.ts'
import type { Sentence } from '../reasons/spec.ts'
import { listNames, shortenMiddle } from '../reasons/wording.ts'
import { heartbeatTargets, shortestSettlingMs } from '../thresholds.ts'
import type { TargetOutcome, Verdict } from './outcome.ts'

/** An entry of the timeline and the log. */
export interface Entry {
  readonly at: number
  /** The index in `RunRecord.targets`; absent for entries about the gate itself. */
  readonly target?: number
  readonly kind: 'progress' | 'problem' | 'note' | 'verdict' | 'heartbeat'
  /** Only for verdicts. */
  readonly outcome?: TargetOutcome
  /**
   * Raw text, which may contain hostile text from the cluster: renderers escape it. The text of a verdict does not
   * contain the outcome, because the log adds it: `✗ failed after 42 s: `.
   */
  readonly text: string
  /** The target that was added with this entry, because an operator deployed it. */
  readonly added?: NamedTarget & Partial<Pick<Target, 'clocks'>>
}

/** The maximum length of the state of a target in a heartbeat. */
const heartbeatCharacters = 90

/**
 * The text of a heartbeat, with the open targets and the outages.
 * @param open the names of the open targets, with their states as text
 * @param unavailable one sentence for each outage
 */
export function heartbeatText(
  open: readonly { readonly name: string; readonly description: string }[],
  unavailable: readonly string[],
): string {
  const states = open.map(({ name, description }) => {
    const isLong = description.length > heartbeatCharacters
    return `${name} (${isLong ? `${description.slice(0, heartbeatCharacters - 1)}…` : description})`
  })
  const waiting =
    open.length === 0 ? 'all targets are ready' : `still waiting for ${listNames(states, heartbeatTargets)}`
  return [waiting, ...unavailable].join(' · ')
}

/**
 * One line for milestones that were reached together. If several milestones have counts, only the last is shown.
 * @param createdSince a creation before this moment is not shown
 */
export function reachedMilestonesText(reached: readonly Milestone[], createdSince: number): string {
  const furthest = reached.findLast(({ count }) => count !== undefined)
  return reached
    .filter((milestone) => milestone.message !== '' && (milestone.count === undefined || milestone === furthest))
    .filter(({ name, at = createdSince }, _, shown) => name !== 'created' || (shown.length === 1 && at >= createdSince))
    .map(({ message }) => message)
    .join(' · ')
}

/** The text while a milestone settles: `3 pods ready, settling for 10 s`. */
export function settlingText({ milestones }: Assessment, now: number): string | undefined {
  const open = milestones.find(({ state }) => state === 'open')
  const leftMs = (open?.settlesAt ?? now) - now
  return open === undefined || leftMs < shortestSettlingMs
    ? undefined
    : `${open.message} for ${Math.round(leftMs / 1_000)} s`
}

/** A problem in one line. The text names the object with the problem, unless this is the target itself. */
export function problemStatement(problem: Problem, target: Target): Sentence {
  return isProblemOfTarget(problem, target) ? sentenceOf(problem) : { text: problemSentence(problem), form: 'complete' }
}

const subjectLimit = 60

/** The headline of a problem. It may name another object than the target: `certificaterequest/tls-1: …`. */
export function problemHeadline(problem: Problem, target: Target): string {
  const headline = headlineOf(problem)
  const deepest = problem.cause ?? problem
  const isNamed = isProblemOfTarget(deepest, target) || !traitsOf(deepest).isAnonymous
  return isNamed ? headline : `${shortenMiddle(subjectText(deepest.subject), subjectLimit)}: ${headline}`
}

/** Whether the target itself has the problem. */
export function isProblemOfTarget({ subject, container }: Problem, { apiVersion, ...name }: Target): boolean {
  return isSameSubject(subject, { ...name, group: groupOf(apiVersion) }) && container === undefined
}

/** The text of a verdict in the log, after the outcome. A reason that repeats the outcome is omitted. */
export function verdictText({ outcome, reason, message }: Verdict<TargetOutcome>, logText: string | undefined): string {
  if (reason === outcome) return message
  return logText === undefined ? `${reason}: ${message}` : `${logText} (${reason})`
}

/** Creates a verdict from a problem, with the count of ready pods: `… (2 of 3 pods ready)`. */
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

/** The remarks on a target: what kubectl reported when it applied the target, then the notes and warnings. */
export function remarksOf(
  { notes, warnings = [] }: Pick<Assessment, 'notes' | 'warnings'> = { notes: [] },
  { applied }: Target,
): readonly string[] {
  return [...(applied === undefined ? [] : [`kubectl: ${applied}`]), ...notes, ...warnings]
}
