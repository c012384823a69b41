import { duration } from '../duration.ts'
import type { Rule } from '../lifecycle/rule.ts'
import type { Target } from '../plan/target.ts'
import { recentVersionMs } from '../thresholds.ts'
import type { MilestoneProgress } from './milestones.ts'
import { createVerdict, type Verdict } from './outcome.ts'
import type { GateSettings } from './settings.ts'

/* The age of the present version of a target (`require-change`). */

/** The facts that decide how old the present version of a target may be (`require-change`). */
interface VersionContext {
  readonly target: Pick<Target, 'clocks' | 'applied'>
  readonly rule: Pick<Rule, 'changedAt'>
  readonly settings: Pick<GateSettings, 'startedAt' | 'requireChangeMs'>
}

/** The `require-change` of a target in milliseconds: from its reference, else from the gate. 0: any age is accepted. */
function requiredChangeMs({ target, settings }: VersionContext): number {
  return target.clocks.requireChangeMs ?? settings.requireChangeMs
}

/** Whether `require-change` limits the age of a target. For kinds without pods, the age is only reported. */
export function isChangeRequired(context: VersionContext): boolean {
  return context.rule.changedAt !== undefined && requiredChangeMs(context) > 0
}

/**
 * The verdict if the present version of a target is older than `require-change` permits.
 * @param changedAt when the present version began, in milliseconds since the epoch; undefined if unknown
 */
export function unchangedVerdict(
  changedAt: number | undefined,
  context: VersionContext,
): Verdict<'failed'> | undefined {
  const requiredMs = requiredChangeMs(context)
  const ageMs = context.settings.startedAt - (changedAt ?? Infinity)
  if (!isChangeRequired(context) || ageMs <= requiredMs) return undefined
  return createVerdict('failed', 'not-changed', { ageMs, requiredMs, applied: context.target.applied })
}

/** The state of a target, as far as it shows the age of the present version. */
interface VersionState {
  readonly readyAt?: number | undefined
  readonly seen?: { readonly changedAt?: number | undefined; readonly existedBefore: boolean }
  readonly milestones: Pick<MilestoneProgress, 'reached'>
}

/**
 * The age of the present version of a target, for the report. `recent`: the version began within `require-change` (by
 * default an hour) before the gate. `none`: it is older, and was always ready or is rejected by `require-change`.
 */
export function versionAge(
  state: VersionState,
  context: VersionContext,
): { readonly changedAt?: number; readonly change?: 'recent' | 'none' } {
  const { readyAt, seen, milestones } = state
  const { changedAt } = seen ?? {}
  if (changedAt === undefined) return {}
  const { startedAt } = context.settings
  const ageMs = startedAt - changedAt
  if (ageMs <= (requiredChangeMs(context) || recentVersionMs)) return { changedAt, change: 'recent' }
  const wasReachedBefore = milestones.reached.every(({ at }) => at === startedAt)
  // Whether the target was ready when the gate first saw it, and has been ready since.
  const wasAlwaysReady = readyAt !== undefined && seen?.existedBefore === true && wasReachedBefore
  const isOld = wasAlwaysReady && ageMs > recentVersionMs
  return isOld || unchangedVerdict(changedAt, context) !== undefined ? { changedAt, change: 'none' } : { changedAt }
}

/** The message of a ready target. If its version is old, the message begins with `unchanged for 3 d`. */
export function readyMessage(message: string, state: VersionState, context: VersionContext): string {
  const { changedAt, change } = versionAge(state, context)
  const isUnchanged = changedAt !== undefined && change === 'none'
  const unchanged = isUnchanged ? [`unchanged for ${duration(context.settings.startedAt - changedAt)}`] : []
  return [...unchanged, ...(message === '' ? [] : [message])].join(', ')
}
