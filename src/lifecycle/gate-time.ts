/** The times that rules use. Moments and durations are milliseconds. */
export interface GateTime {
  /** When the gate began, on the runner's clock. */
  readonly startedAt: number
  readonly settleTimeMs: number
  /** Converts a timestamp of the server to the runner's clock. */
  time(timestamp: string | null | undefined): number | undefined
}

/** @param serverOffsetMs the server's clock minus the runner's */
export function createGateTime({
  startedAt,
  settleTimeMs,
  serverOffsetMs,
}: Pick<GateTime, 'startedAt' | 'settleTimeMs'> & { readonly serverOffsetMs: number }): GateTime {
  const time = (timestamp: string | null | undefined) => {
    const parsed = timestamp ? Date.parse(timestamp) : Number.NaN
    return Number.isNaN(parsed) ? undefined : parsed - serverOffsetMs
  }
  return { startedAt, settleTimeMs, time }
}
