import type { Problem } from '../reasons/reasons.ts'

/** One step of a lifecycle, as it stands now. */
export interface Milestone {
  readonly name: string
  /** `skipped`: does not apply, or could not be seen. */
  readonly state: 'done' | 'open' | 'skipped'
  /** Progress within the milestone; a growing `done` is progress for the stall clock. */
  readonly count?: { readonly done: number; readonly total: number }
  /** When it will be done if nothing happens: containers have to run for the settle time, or a controller may still answer. */
  readonly settlesAt?: number
  /** What a person wants to know of it: `revision 3 → ReplicaSet web-688899976b`; empty when it is not worth a word. */
  readonly message: string
}

/** The name of an object that another one needs. */
export interface Awaited {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
}

/** Where a target stands now: what a lifecycle rule says of an object, its relatives and the time. */
export interface Assessment {
  readonly status: 'ready' | 'progressing' | 'failed'
  /** One line: `2 of 3 new pods ready`. */
  readonly message: string
  readonly milestones: readonly Milestone[]
  /** Everything wrong, the most deciding first (DESIGN §4: terminal, strike, slow; deepest; of most pods). */
  readonly problems: readonly Problem[]
  /** Present exactly when `status` is `failed`. */
  readonly failure?: Problem
  /** The object itself says how long this may take: why the stall clock stands still. */
  readonly stallHold?: string
  /**
   * Objects without which it cannot be ready: while a gated target that is one of them, or that one of them belongs to,
   * is open, it is that target's stall clock that runs, not its own.
   */
  readonly awaits?: readonly Awaited[]
  /** It has done its work: nothing that happens to it afterwards counts. */
  readonly completed?: boolean
  /** When the assessment may change although nothing is heard: milliseconds since the epoch, runner's clock. */
  readonly recheckAt?: number
  /** The uids of the pods of the revision that is being gated. */
  readonly pods?: ReadonlySet<string>
  /** The uids of pods of an older revision that are meant to stay: below a StatefulSet's partition. */
  readonly keptPods?: ReadonlySet<string>
  /** Facts worth telling that decide nothing: `2 old pods still draining`. */
  readonly notes: readonly string[]
}
