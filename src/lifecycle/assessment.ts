import type { ObjectName } from '../cluster/objects.ts'
import type { PodPort } from '../cluster/port-forward.ts'
import type { RequestCheck } from '../plan/checks.ts'
import { type Problem, traitsOf } from '../reasons/reasons.ts'
import type { Pods } from './pods.ts'

export interface Milestone {
  readonly name: string
  /** `skipped`: the milestone does not apply, or the gate cannot read its objects. */
  readonly state: 'done' | 'open' | 'skipped'
  /** Progress within the milestone; a growing `done` is progress for the stall clock. */
  readonly count?: { readonly done: number; readonly total: number }
  /**
   * When the milestone will be done if nothing changes: after the settle time, or when the status is no longer stale.
   */
  readonly settlesAt?: number
  /**
   * When it was reached, as an object shows it: milliseconds since the epoch on the runner's clock. Only for a done
   * milestone. Undefined if no object shows it.
   */
  readonly at?: number | undefined
  /** For the log: `revision 3 → ReplicaSet web-688899976b`; empty if there is nothing to report. */
  readonly message: string
}

/**
 * A request of `http-checks` to the port of a pod. The feed reports the answer as an event `ANSWER`. A question is
 * dropped when no assessment contains it any more.
 */
export interface Question extends PodPort {
  readonly check: RequestCheck
  readonly uid: string
  /** When it is due: milliseconds since the epoch on the clock of the feed; 0: at once. */
  readonly at: number
}

/** The request of a check, as texts name it: `GET /healthz`. */
export function requestText({ method, path }: RequestCheck): string {
  return `${method} ${path}`
}

/**
 * The pods that have been ready during the hold (`hold`, the time for which a ready target has to stay ready), by uid, with
 * the number of deaths that each container had when the pod was first seen ready.
 */
export type HeldPods = ReadonlyMap<string | undefined, ReadonlyMap<string, number>>

/**
 * The state of a target: what its rule finds, changed by the checks of the rule. It follows from the object, the time,
 * and what the rule of the object reads.
 */
export interface Assessment {
  readonly ready: boolean
  /** The problem that fails the target; absent if the target is ready. */
  readonly failure?: Problem | undefined
  /** One line: `2 of 3 new pods ready`. */
  readonly message: string
  readonly milestones: readonly Milestone[]
  /** Other counts of finished parts or steps, by name: a growing one is progress for the stall clock. */
  readonly counters?: ReadonlyMap<string, number>
  /** The most important problem first, as `byImportance` sorts them. */
  readonly problems: readonly Problem[]
  /** Why the stall clock is stopped: the object itself states how long this may take. */
  readonly stallHold?: string
  /**
   * The objects that this target needs to become ready. While another open target is or owns one of them, only the
   * stall clock of that other target runs.
   */
  readonly awaits?: readonly ObjectName[]
  /** The objects that the target has deployed. They become targets too. */
  readonly deployed?: readonly ObjectName[] | undefined
  /** The problem if a deadline ends the target now. Until then, it is too early to report it. */
  readonly overdue?: Problem
  /** The requests of its `http-checks`; absent until the target itself is ready. */
  readonly questions?: readonly Question[]
  /** The names of its pods since its first request: an answer of such a pod requires a new assessment. */
  readonly answering?: ReadonlySet<string> | undefined
  /** Set during the hold. */
  readonly heldPods?: HeldPods
  /** The object ended successfully: the gate ignores later changes. */
  readonly completed?: boolean
  /** The object has done work that an undo does not reverse: a Job. */
  readonly hasRun?: boolean
  /** The pods of a workload or a Job. */
  readonly pods?: Pods
  /** Facts that do not affect the status: `2 old pods still draining`. */
  readonly notes: readonly string[]
  /** Facts that do not affect the status, but are probably a mistake: `its TLS Secret web-tls does not exist`. */
  readonly warnings?: readonly string[]
}

/** Whether a target is ready, has failed, or still progresses. */
export function assessedStatus({ ready, failure }: Assessment): 'ready' | 'progressing' | 'failed' {
  if (ready) return 'ready'
  return failure === undefined ? 'progressing' : 'failed'
}

/** Whether an object only needs time, or the awaited change. A crashing container of another target may wait for it. */
export function isOnlyWaiting({ problems }: Pick<Assessment, 'problems'>): boolean {
  return problems.map(traitsOf).every(({ awaits }) => awaits === 'time' || awaits === 'change')
}
