import type { GateTime } from './gate-time.ts'

/** Timestamps of the API are whole seconds, rounded down. */
const roundedMs = 1_000

/** What has been observed of a problem, and what it takes to be certain of it. Moments and durations are milliseconds. */
export interface Observations {
  /** How often the problem was observed, before and after the gate's start. */
  readonly seen: number
  /** How many observations prove it. */
  readonly needed: number
  /** The first of them, or the moment from which the problem is given time. */
  readonly since: number
  /** It is proven no earlier than this long after `since`. */
  readonly atLeastMs: number
  /** One of the observations was made after the gate's start: those before it prove nothing by themselves (DESIGN §2). */
  readonly isCurrent: boolean
}

/** Whether a problem is certain; where only time is missing, when that changes. */
export interface Proof {
  readonly proven: boolean
  readonly recheckAt?: number
}

/** Whether the observations of a problem prove it at `now`. */
export function prove({ seen, needed, since, atLeastMs, isCurrent }: Observations, now: number): Proof {
  if (!isCurrent || seen < needed) return { proven: false }
  const provenAt = since + atLeastMs
  return now >= provenAt ? { proven: true } : { proven: false, recheckAt: provenAt }
}

/** Whether a state has persisted long enough: what controllers report may change while they retry. */
export function provePersisted(since: number, atLeastMs: number, now: number): Proof {
  return prove({ seen: 1, needed: 1, since, atLeastMs, isCurrent: true }, now)
}

/** Whether a moment, on the runner's clock, may lie after the gate's start; an unknown one does not. */
export function isSinceStart(moment: number | undefined, { startedAt }: Pick<GateTime, 'startedAt'>): boolean {
  return moment !== undefined && moment > startedAt - roundedMs
}

/** The earliest of the moments that are known. */
export function earliest(moments: readonly (number | undefined)[]): number | undefined {
  const known = moments.filter((moment) => moment !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
