import type { KindName, KubeObject } from '../cluster/objects.ts'

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
    const parsed = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN
    return parsed >= 0 && parsed < endOfTime ? parsed - serverOffsetMs : undefined
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
  let last: number | undefined
  for (const entry of managedFields) {
    const writtenAt = entry.subresource === subresource ? time(entry.time) : undefined
    if (writtenAt !== undefined && (last === undefined || writtenAt > last)) last = writtenAt
  }
  return last
}

/**
 * The last write of an object's spec. Undefined if unknown: without a status subresource, a controller writes the status as
 * clients write the spec.
 * @returns milliseconds since the epoch on the runner's clock
 */
export function specWrittenAt(
  object: KubeObject,
  { time, declaresStatus }: Pick<GateTime, 'time'> & { declaresStatus(kind: KindName): boolean | undefined },
): number | undefined {
  return object.status !== undefined && declaresStatus(object) === false ? undefined : lastWriteOf(object, time)
}
