import { duration } from '../duration.ts'
import type { Rule } from '../lifecycle/rule.ts'
import type { Target } from '../plan/target.ts'
import { recentVersionMs } from '../thresholds.ts'
import type { MilestoneProgress } from './milestones.ts'
import { type Verdict, verdictOf } from './outcome.ts'
import type { GateSettings } from './settings.ts'

/** The facts about a target that decide how old its present version may be (`require-change`). */
interface VersionContext {
  readonly target: Pick<Target, 'clocks' | 'applied'>
  readonly rule: Pick<Rule, 'changedAt'>
  readonly settings: Pick<GateSettings, 'startedAt' | 'requireChangeMs'>
}

/** The `require-change` of a target in milliseconds: that of its reference, else that of the gate; 0 if there is none. */
function requiredMsOf({ target, settings }: VersionContext): number {
  return target.clocks.requireChangeMs ?? settings.requireChangeMs
}

/** Whether `require-change` limits the age of a target. It does not for kinds without pods, whose age is only reported. */
export function isChangeRequired(context: VersionContext): boolean {
  return context.rule.changedAt !== undefined && requiredMsOf(context) > 0
}

/**
 * The verdict of a target whose present version is older than `require-change` permits. Undefined if it is younger, if its age
 * is unknown or if no age is required.
 * @param changedAt when the target got its present version, in milliseconds since the epoch
 */
export function unchangedVerdict(
  changedAt: number | undefined,
  context: VersionContext,
): Verdict<'failed'> | undefined {
  const requiredMs = requiredMsOf(context)
  const ageMs = context.settings.startedAt - (changedAt ?? Infinity)
  if (!isChangeRequired(context) || ageMs <= requiredMs) return undefined
  return verdictOf('failed', 'not-changed', { ageMs, requiredMs, applied: context.target.applied })
}

/** The facts about the state of a target from which the age of its present version follows. */
interface VersionState {
  readonly readyAt?: number | undefined
  readonly seen?: { readonly changedAt?: number | undefined; readonly existedBefore: boolean }
  readonly milestones: Pick<MilestoneProgress, 'reached'>
}

/** The age of a target's present version, as the report contains it. */
interface VersionAge {
  readonly changedAt?: number
  readonly change?: 'recent' | 'none'
}

/**
 * The age of a target's present version, for the report. `change` is `recent` within `require-change`, by default an hour. It is
 * `none` for an older version if `require-change` rejects it or if the target was always ready.
 */
export function versionAge(state: VersionState, context: VersionContext): VersionAge {
  const { changedAt } = state.seen ?? {}
  if (changedAt === undefined) return {}
  const ageMs = context.settings.startedAt - changedAt
  if (ageMs <= (requiredMsOf(context) || recentVersionMs)) return { changedAt, change: 'recent' }
  const isOld = wasReadyAtFirstSight(state, context) && ageMs > recentVersionMs
  return isOld || unchangedVerdict(changedAt, context) !== undefined ? { changedAt, change: 'none' } : { changedAt }
}

/** Whether a target was ready when the gate first saw it, and has stayed ready. */
function wasReadyAtFirstSight({ readyAt, seen, milestones }: VersionState, { settings }: VersionContext): boolean {
  const wasReachedBefore = milestones.reached.every(({ at }) => at === settings.startedAt)
  return readyAt !== undefined && seen?.existedBefore === true && wasReachedBefore
}

/** The message of a ready target. It begins with `unchanged for 3 d` if the target has certainly not changed for long. */
export function readyMessage(message: string, state: VersionState, context: VersionContext): string {
  const { changedAt, change } = versionAge(state, context)
  const isUnchanged = changedAt !== undefined && change === 'none'
  const unchanged = isUnchanged ? [`unchanged for ${duration(context.settings.startedAt - changedAt)}`] : []
  return [...unchanged, ...(message === '' ? [] : [message])].join(', ')
}
