import type { Problem } from '../reasons/reasons.ts'

/** The present state of one step of a lifecycle. */
export interface Milestone {
  readonly name: string
  /** `skipped`: does not apply, or cannot be read. */
  readonly state: 'done' | 'open' | 'skipped'
  /** Progress within the milestone; a growing `done` is progress for the stall clock. */
  readonly count?: { readonly done: number; readonly total: number }
  /** When it will be done if nothing happens: after the settle time, or once a status is no longer stale. */
  readonly settlesAt?: number
  /** For the log: `revision 3 → ReplicaSet web-688899976b`; empty where there is nothing to report. */
  readonly message: string
}

/** The name of an object that another one needs. */
export interface Awaited {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
}

/** The state of a target, by the rule of its kind: of the object, its relatives and the time. */
export interface Assessment {
  readonly status: 'ready' | 'progressing' | 'failed'
  /** One line: `2 of 3 new pods ready`. */
  readonly message: string
  readonly milestones: readonly Milestone[]
  /** The most decisive first (DESIGN §4: terminal, strike, slow; deepest; of most pods). */
  readonly problems: readonly Problem[]
  /** Present exactly when `status` is `failed`. */
  readonly failure?: Problem
  /** Why the stall clock is stopped: the object itself states how long this may take. */
  readonly stallHold?: string
  /**
   * Objects without which it cannot be ready. While a gated target is open that is or owns one of them, the stall clock of
   * that target runs, and not its own.
   */
  readonly awaits?: readonly Awaited[]
  /** It has ended successfully: later changes do not count. */
  readonly completed?: boolean
  /** When the assessment may change without an event: milliseconds since the epoch, runner's clock. */
  readonly recheckAt?: number
  /** The uids of the pods of the revision that is being gated. */
  readonly pods?: ReadonlySet<string>
  /** The uids of pods of an older revision that are meant to stay: below a StatefulSet's partition. */
  readonly keptPods?: ReadonlySet<string>
  /** Facts that decide nothing: `2 old pods still draining`. */
  readonly notes: readonly string[]
}
