import { isDeepStrictEqual } from 'node:util'
import type { KubeObject } from '../cluster/objects.ts'

/** What the gate has observed of a target. Its first sight counts as a change. Moments are on the runner's clock. */
export interface TargetHistory {
  readonly firstSeenAt: number
  /** The object at first sight. */
  readonly first: KubeObject
  /** The present spec, and when it was first seen. */
  readonly spec: object | undefined
  readonly specSeenAt: number
  /** The present status, and when it was first seen; without a status, when the present version was. */
  readonly status: object | undefined
  readonly statusSeenAt: number
  /** The names of the fields of the status, as one text, and when they last changed. */
  readonly fields: string
  readonly fieldsMovedAt: number
  /** The numbers in the status, as one text, and when one of them last changed. */
  readonly counters: string
  readonly countersMovedAt: number
  /**
   * The states in the status since the spec last changed, and when the latest new state was seen, which is progress for
   * the stall clock.
   */
  readonly states: ReadonlySet<string>
  readonly statesMovedAt: number
}

/** The maximum number of states that count as progress: a field named like a state may contain a text that varies. */
const maxStates = 1_000

/**
 * Adds a version of a target, seen at `now`, to its history.
 * @param states those in its status; see `progressStatesOf`
 */
export function observeTarget(
  before: TargetHistory | undefined,
  object: KubeObject,
  now: number,
  states: readonly string[] = [],
): TargetHistory {
  const { spec } = object
  const status = object.status ?? {}
  const fields = Object.keys(status).sort().join()
  const counters = JSON.stringify(
    Object.entries(status).filter(([name, value]) => typeof value === 'number' && name !== 'observedGeneration'),
  )
  const isSameSpec = before !== undefined && isDeepStrictEqual(before.spec, spec)
  const known = isSameSpec ? before.states : new Set<string>()
  const isNew = known.size < maxStates && states.some((state) => !known.has(state))
  return {
    firstSeenAt: before?.firstSeenAt ?? now,
    first: before?.first ?? object,
    spec,
    specSeenAt: isSameSpec ? before.specSeenAt : now,
    status: object.status,
    statusSeenAt: before?.status !== undefined && isDeepStrictEqual(before.status, status) ? before.statusSeenAt : now,
    fields,
    fieldsMovedAt: before?.fields === fields ? before.fieldsMovedAt : now,
    counters,
    countersMovedAt: before?.counters === counters ? before.countersMovedAt : now,
    states: isNew ? new Set([...known, ...states]) : known,
    statesMovedAt: isNew || before === undefined ? now : before.statesMovedAt,
  }
}
