/** The times that rules use. Moments and durations are milliseconds. */
export interface GateTime {
  /** When the gate began, on the runner's clock. */
  readonly startedAt: number
  readonly settleTimeMs: number
  /** Converts a timestamp of the server to the runner's clock; undefined without one, and for one that nobody wrote in earnest. */
  time(timestamp: string | null | undefined): number | undefined
}

/** Later moments are no times of this cluster, and cannot be converted to each clock and back. */
const endOfTime = Date.UTC(9999, 0)

/** @param serverOffsetMs the server's clock minus the runner's */
export function createGateTime({
  startedAt,
  settleTimeMs,
  serverOffsetMs,
}: Pick<GateTime, 'startedAt' | 'settleTimeMs'> & { readonly serverOffsetMs: number }): GateTime {
  const time = (timestamp: string | null | undefined) => {
    const moment = momentOf(timestamp)
    return moment === undefined || moment >= endOfTime ? undefined : moment - serverOffsetMs
  }
  return { startedAt, settleTimeMs, time }
}

/** The moment of a timestamp, in milliseconds since the epoch; undefined for anything else, and before 1970 or after 9999. */
export function momentOf(timestamp: unknown): number | undefined {
  const moment = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN
  return moment >= 0 && moment < Date.UTC(10_000, 0) ? moment : undefined
}
