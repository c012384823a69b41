import type { Problem } from '../reasons/reasons.ts'

/* Times, and the proof of problems: whether the observations of a problem suffice to fail a target. */

/** The start of the gate, the settle time and the clock of the server. Moments and durations are milliseconds. */
export interface GateTime {
  /** When the gate began, on the runner's clock. */
  readonly startedAt: number
  readonly settleTimeMs: number
  /** Converts a timestamp of the server to the runner's clock. Undefined unless the year is 1970 to 9998. */
  time(timestamp: string | null | undefined): number | undefined
}

/** Later timestamps are ignored: on the runner's clock, they may be in the year 10000, which `parseMoment` rejects. */
const endOfTime = Date.UTC(9999, 0)

/** @param serverOffsetMs the server's clock minus the runner's */
export function createGateTime({
  startedAt,
  settleTimeMs,
  serverOffsetMs,
}: Pick<GateTime, 'startedAt' | 'settleTimeMs'> & { readonly serverOffsetMs: number }): GateTime {
  const time = (timestamp: string | null | undefined) => {
    const moment = parseMoment(timestamp)
    return moment === undefined || moment >= endOfTime ? undefined : moment - serverOffsetMs
  }
  return { startedAt, settleTimeMs, time }
}

/** Parses a timestamp to milliseconds since the epoch. Undefined unless the value is a time from 1970 to 9999. */
export function parseMoment(timestamp: unknown): number | undefined {
  const moment = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN
  return moment >= 0 && moment < Date.UTC(10_000, 0) ? moment : undefined
}

/** Timestamps of the API are rounded down to this unit. */
export const timestampUnitMs = 1_000

/** The time of an assessment. It records each moment given to `passed`, to assess the target again then. */
export interface Moment {
  /** Milliseconds since the epoch on the runner's clock. */
  readonly now: number
  /** Whether a moment is now or in the past; false for an unknown moment. */
  passed(moment: number | undefined): boolean
  /** The earliest future moment that was given to `passed`; undefined without such a moment. */
  nextMoment(): number | undefined
}

export function createMoment(now: number): Moment {
  let next = Infinity
  return {
    now,
    passed: (moment = Infinity) => {
      if (moment <= now) return true
      next = Math.min(next, moment)
      return false
    },
    nextMoment: () => (next === Infinity ? undefined : next),
  }
}

/** The observations of a problem, and what is required to prove the problem. Moments and durations are milliseconds. */
export interface Observations {
  /** How often the problem was observed, before and after the gate's start. */
  readonly seen: number
  /** How many observations prove the problem. */
  readonly needed: number
  /** The time of the first observation, or the start of a grace period. */
  readonly since: number
  /** The minimum time from `since` to the proof. */
  readonly atLeastMs: number
  /** Whether an observation was made after the gate's start: older observations alone prove nothing. */
  readonly isCurrent: boolean
}

/** Whether the observations of a problem prove the problem now. */
export function isProven(
  { seen, needed, since, atLeastMs, isCurrent }: Observations,
  { passed }: Pick<Moment, 'passed'>,
): boolean {
  return isCurrent && seen >= needed && passed(since + atLeastMs)
}

/** Whether a moment is in the future; false for an unknown moment. */
export function isInFuture(moment: number | undefined, { passed }: Pick<Moment, 'passed'>): boolean {
  return moment !== undefined && !passed(moment)
}

/** Whether a moment on the runner's clock may be after the gate's start; false for an unknown moment. */
export function mayBeSinceStart(moment: number | undefined, { startedAt }: Pick<GateTime, 'startedAt'>): boolean {
  return moment !== undefined && moment > startedAt - timestampUnitMs
}

/** The earliest known moment. */
export function earliestMoment(moments: readonly (number | undefined)[]): number | undefined {
  let first: number | undefined
  for (const moment of moments) if (moment !== undefined && (first === undefined || moment < first)) first = moment
  return first
}

/** The latest moment; undefined if a moment is unknown, or if the list is empty. */
export function latestIfAllKnown(moments: readonly (number | undefined)[]): number | undefined {
  return moments.includes(undefined) ? undefined : latestMoment(moments)
}

/** The latest known moment. */
export function latestMoment(moments: readonly (number | undefined)[]): number | undefined {
  let last: number | undefined
  for (const moment of moments) if (moment !== undefined && (last === undefined || moment > last)) last = moment
  return last
}

/** A copy of a problem that only explains the state of a target and never fails the target. */
export function toExplanation(problem: Problem): Problem {
  return { ...problem, neverFails: true, proven: false }
}
