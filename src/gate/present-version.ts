import type { KubeObject } from '../cluster/objects.ts'
import { duration } from '../duration.ts'
import type { ChangeReader, Rule } from '../lifecycle/rule.ts'
import { specWrittenAt } from '../lifecycle/status-age.ts'
import type { Target } from '../plan/target.ts'
import { recentVersionMs } from '../thresholds.ts'
import { type Verdict, type VersionAge, verdictOf } from './run-record.ts'
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

/** When an object got its present version, by its rule or by the last write of its spec; see `Rule.changedAt`. */
export function versionChangedAt(
  object: KubeObject,
  { changedAt = specWrittenAt }: Pick<Rule, 'changedAt'>,
  reader: ChangeReader,
): number | undefined {
  return changedAt(object, reader)
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

/**
 * The age of a target's present version, for the report. `change` is `recent` within `require-change`, by default an hour. It is
 * `none` for an older version if `require-change` rejects it or if the target was always ready.
 * @param wasReady the target was ready when the gate first saw it, and has stayed ready
 */
export function versionAge(changedAt: number | undefined, wasReady: boolean, context: VersionContext): VersionAge {
  if (changedAt === undefined) return {}
  const ageMs = context.settings.startedAt - changedAt
  if (ageMs <= (requiredMsOf(context) || recentVersionMs)) return { changedAt, change: 'recent' }
  const isOld = wasReady && ageMs > recentVersionMs
  return isOld || unchangedVerdict(changedAt, context) !== undefined ? { changedAt, change: 'none' } : { changedAt }
}

/** `unchanged for 3 d 4 h`; empty unless the target is certainly unchanged. */
export function unchangedText({ changedAt, change }: VersionAge, startedAt: number): string {
  return changedAt === undefined || change !== 'none' ? '' : `unchanged for ${duration(startedAt - changedAt)}`
}
