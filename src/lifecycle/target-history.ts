import { isDeepStrictEqual } from 'node:util'
import type { KubeObject } from '../cluster/objects.ts'

/** The history of a target since first sight. The first version is a change. Moments are on the runner's clock. */
export interface TargetHistory {
  readonly firstSeenAt: number
  /** The first version that the gate saw. */
  readonly first: KubeObject
  /** The present spec, and when the gate first saw it. */
  readonly spec: object | undefined
  readonly specSeenAt: number
  /** The present status, and when the gate first saw it. Without a status, when the gate first saw this version. */
  readonly status: object | undefined
  readonly statusSeenAt: number
  /** The names of the fields of the status, as one text, and when they last changed. */
  readonly fields: string
  readonly fieldsMovedAt: number
  /** The numbers in the status, as one text, and when one of them last changed. */
  readonly counters: string
  readonly countersMovedAt: number
  /** All states in the status since the spec last changed, and when the last new state (progress) appeared. */
  readonly states: ReadonlySet<string>
  readonly statesMovedAt: number
}

/** The maximum number of states that count as progress: a field with the name of a state may contain any text. */
const maxStates = 1_000

/** Adds a version of a target to its history. @param states the states in its status; see `progressStatesOf` */
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
