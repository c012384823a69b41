import type { ReasonCode } from '../reasons.ts'

/**
 * How certain a problem is (DESIGN §2): `terminal`: nothing but a new apply can fix it; `strike`: only repetition
 * proves it; `slow`: never fails by itself, only a clock ends it.
 */
export type ProblemClass = 'terminal' | 'strike' | 'slow'

/** Something wrong with a target or with an object behind it. */
export interface Problem {
  readonly reason: ReasonCode
  readonly class: ProblemClass
  /** The object that has the problem: `pod/web-fc8b-8xkbh`, `deployment/web`. */
  readonly subject: string
  readonly container?: string
  /** One line for people: what is wrong, in the cluster's words where they say it best. Not yet escaped. */
  readonly message: string
  /** How often it was seen: refusals of a pull, deaths of a container. */
  readonly count: number
  /** How many pods have it, where several do; `subject` is one of them. */
  readonly pods?: number
  /** Milliseconds since the epoch on the runner's clock. */
  readonly firstSeenAt: number
  /** The class's proof is complete: this problem fails its target unless a better pod holds it back. */
  readonly proven: boolean
  /** When it will be proven if nothing happens; absent where time alone does not prove it. */
  readonly recheckAt?: number
  /** What a hint needs to be specific. */
  readonly detail?: ProblemDetail
  /** The problem of another object that is behind this one: that of a pod, behind a Service without endpoints. */
  readonly cause?: Problem
  /** What was looked at to find it, in the order in which people look. */
  readonly checks?: readonly Check[]
}

/** One question that was asked to find a cause, as its answer. */
export interface Check {
  /** `remark`: worth knowing, and no mistake. */
  readonly state: 'passed' | 'failed' | 'remark'
  readonly text: string
}

/** The image, exit code or object that a problem is about, where known. */
export interface ProblemDetail {
  readonly image?: string
  readonly exitCode?: number
  readonly signal?: number
  readonly object?: string
  readonly key?: string
  /** The names in `expect-images` that no container of the gated pods has. */
  readonly containers?: readonly string[]
  /** The scheduling gates of its pod. */
  readonly schedulingGates?: readonly string[]
  /** Its container is an init container. */
  readonly isInit?: boolean
  /** Its pod has ended, and its controller makes another one. */
  readonly isReplaced?: boolean
  /** It is a pod of an older revision, which holds the new one up until somebody deletes it. */
  readonly isOld?: boolean
}

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
