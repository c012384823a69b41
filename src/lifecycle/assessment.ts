import type { ObjectName } from '../cluster/objects.ts'
import type { PodPort } from '../cluster/port-forward.ts'
import type { RequestCheck } from '../plan/checks.ts'
import { type Problem, traitsOf } from '../reasons/reasons.ts'
import type { Pods } from './pods.ts'

/* The types of an assessment: the milestones, problems and messages that a rule finds. */

export interface Milestone {
  readonly name: string
  /** `skipped`: the milestone does not apply, or the gate cannot read its objects. */
  readonly state: 'done' | 'open' | 'skipped'
  /** The progress within the milestone. When `done` grows, the stall clock restarts. */
  readonly count?: { readonly done: number; readonly total: number }
  /** When the milestone is done if nothing changes: after the settle time, or once the status is no longer stale. */
  readonly settlesAt?: number
  /** When a done milestone was reached, by a timestamp of an object (milliseconds since the epoch, runner's clock). */
  readonly at?: number | undefined
  /** For the log: `revision 3 → ReplicaSet web-688899976b`; empty if there is nothing to report. */
  readonly message: string
}

/**
 * A request of `http-checks` to a port of a pod. The feed reports the answer as an event `ANSWER`. The request is
 * cancelled when it is missing in the latest assessment.
 */
export interface Question extends PodPort {
  readonly check: RequestCheck
  readonly uid: string
  /** When to send the request: milliseconds since the epoch on the clock of the feed; 0: at once. */
  readonly at: number
}

/** The request of a check as text: `GET /healthz`. */
export function requestText({ method, path }: RequestCheck): string {
  return `${method} ${path}`
}

/**
 * The pods that were ready during the hold (the time for which a ready target must stay ready), by uid. The values are
 * the deaths of each container and the time of the condition Ready when the pod was first seen ready.
 */
export type HeldPods = ReadonlyMap<
  string | undefined,
  { readonly deaths: ReadonlyMap<string, number>; readonly readySince: string | null | undefined }
>

/** The state of a target, as its rule and the checks of the rule find it. */
export interface Assessment {
  readonly ready: boolean
  /** The problem that fails the target; absent if the target is ready. */
  readonly failure?: Problem | undefined
  /** One line: `2 of 3 new pods ready`. */
  readonly message: string
  readonly milestones: readonly Milestone[]
  /** Other counts of finished parts or steps, by name. When a count grows, the stall clock restarts. */
  readonly counters?: ReadonlyMap<string, number>
  /** The most important problem first, as `compareByImportance` sorts them. */
  readonly problems: readonly Problem[]
  /** Why the stall clock is stopped, such as the pull of an image. */
  readonly stallHold?: string
  /**
   * The objects that this target needs to become ready. While another open target is one of these objects or owns one,
   * the stall clock of this target is stopped.
   */
  readonly awaits?: readonly ObjectName[]
  /** The objects that the target has deployed. These objects become targets too. */
  readonly deployed?: readonly ObjectName[] | undefined
  /** The problem to report if a deadline ends the target now. Before the deadline, the problem is not reported. */
  readonly overdue?: Problem
  /** The requests of `http-checks`; absent until the target itself is ready. */
  readonly questions?: readonly Question[]
  /** The names of all pods since the first request. An answer of one of these pods requires a new assessment. */
  readonly answering?: ReadonlySet<string> | undefined
  /** Present only during the hold. */
  readonly heldPods?: HeldPods
  /** The object has ended successfully. The gate ignores later changes. */
  readonly completed?: boolean
  /** The object is a Job that has run: an undo does not reverse its work. */
  readonly hasRun?: boolean
  readonly pods?: Pods
  /** Facts that do not affect the status: `2 old pods still draining`. */
  readonly notes: readonly string[]
  /** Probable mistakes that do not affect the status: `its TLS Secret web-tls does not exist`. */
  readonly warnings?: readonly string[]
}

/** The status of a target, by its assessment. */
export function assessedStatus({ ready, failure }: Assessment): 'ready' | 'progressing' | 'failed' {
  if (ready) return 'ready'
  return failure === undefined ? 'progressing' : 'failed'
}

/** Whether time or the awaited change ends all problems of an object, so that others may wait for the object. */
export function isOnlyWaiting({ problems }: Pick<Assessment, 'problems'>): boolean {
  return problems.map(traitsOf).every(({ awaits }) => awaits === 'time' || awaits === 'change')
}
