import type { KubeObject } from '../cluster/objects.ts'

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

/**
 * The last write of an object's spec and metadata, or of one subresource, which the API server dates for each manager. See
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management.
 * @returns milliseconds since the epoch on the runner's clock; undefined if unknown
 */
export function lastWriteOf(
  { metadata: { managedFields = [] } }: KubeObject,
  time: GateTime['time'],
  subresource?: 'status',
): number | undefined {
  const writes = managedFields.flatMap((entry) => (entry.subresource === subresource ? (time(entry.time) ?? []) : []))
  return writes.length === 0 ? undefined : Math.max(...writes)
}
