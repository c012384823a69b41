import type { Condition, KubeObject, ObjectMeta, Pod } from '../cluster/objects.ts'
import type { MilestoneName } from '../inputs.ts'
import type { RevisionChange } from '../reasons/gate.ts'
import type { Problem } from '../reasons/reasons.ts'
import type { Assessment, Milestone } from './assessment.ts'
import type { KnownRevision, Reader, RuleReader } from './reader.ts'

/** Whether the awaited revision of an object (`--revision`) is deployed; `text` is for the log. */
export type Arrival = { readonly known: KnownRevision } & (
  | { readonly type: 'awaited'; readonly problem: Problem<'wrong-revision'> }
  /** `attempted`: the operator is deploying the revision, or failed to deploy it. */
  | { readonly type: 'attempted' | 'deployed'; readonly text: string }
  /** The revision was deployed, and a newer one (`superseded`) or an older one is deployed now. */
  | { readonly type: 'superseded' | 'rolled-back'; readonly detail: RevisionChange }
)

/** What serves while an object is not ready: the newest older revision that has ready pods, else the present one. */
export interface ServingRevision {
  /** Absent if no pod of an older one is ready. */
  readonly revision?: number
  /** The images of its containers. */
  readonly images: readonly string[]
  readonly ready: number
  /** How many pods the object wants. */
  readonly wanted: number
  /** There is no older revision. */
  readonly isFirst?: true
}

/** What the undo of a failed object restores, or why it does not restore what ran before. */
export interface Undo {
  readonly revision?: number
  /** When it was created, in milliseconds since the epoch. Only for Helm releases, and for the last revision before. */
  readonly since?: number
  /** Why the undo does not restore what ran before, as a clause: `it is paused`. Raw text: renderers escape it. */
  readonly obstacle?: string
  /**
   * The revisions differ only in metadata, such as the checksum of a ConfigMap: only `helm rollback` restores the rest.
   */
  readonly isOnlyRestart?: true
  /** Absent if unknown. */
  readonly serving?: ServingRevision
}

/** Finds which older revision of an object serves, and whether it can be restored. */
export interface UndoRule<Gated extends KubeObject = KubeObject> {
  /** The number of the newest older revision that is available now. Called at the first assessment of the object. */
  availableRevision(object: Gated, reader: Reader): number | undefined
  /**
   * For an object that has just failed, stalled or timed out: what serves in its place, and whether `kubectl rollout
   * undo` restores what ran before.
   * @param revision the result of `availableRevision`
   * @param problem the problem that ended the target
   */
  find(object: Gated, revision: number | undefined, problem: Problem | undefined, reader: Reader): Undo
}

/** A TCP port by which requests reach the pods behind an object. */
export interface ServedPort {
  readonly name?: string | undefined
  readonly port: number
  /** The port of the pods: its number, or the name of a container port, whose number each pod declares. */
  readonly target: number | string
}

/** A pod, or the template of pods. */
export interface Labelled {
  readonly metadata: Pick<ObjectMeta, 'labels'>
}

/** How requests reach the pods behind an object (`http-checks`). */
export interface Serving<Gated extends KubeObject = KubeObject> {
  ports(object: Gated): readonly ServedPort[]
  /** Whether the object selects a pod of any revision, or the pods of a template; absent for kinds that create pods. */
  selects?(object: Gated, pod: Labelled): boolean
  /**
   * The pods of the present revision behind the object. Asks for the watches of these pods, and of the objects that
   * show whether there should be such pods, because `judge` does not do so for every kind.
   * @param assessed the pods of the present revision, if the rule of the object finds them
   */
  pods(object: Gated, assessed: Pick<Assessment, 'pods'>, reader: Reader): readonly Pod[]
  /** Whether the object is scaled to zero, and needs no pod. */
  isEmpty(object: Gated, reader: Reader): boolean
}

/** The lifecycle of a kind: everything that is kind-specific in the gate. */
export interface Rule<Gated extends KubeObject = KubeObject> {
  /** The names of its milestones, in order. They are a contract. */
  readonly milestones: readonly MilestoneName[]
  /** How requests reach its pods; absent for kinds that serve none. */
  readonly serving?: Serving<Gated>
  /**
   * When the present version began, in milliseconds since the epoch on the runner's clock; undefined if unknown. A
   * change of the scale, the labels or the status makes no new version. Kinds that run no pods lack this method: for
   * them, the last write of the spec counts, and `require-change` does not apply.
   */
  changedAt?(object: Gated, reader: Reader): number | undefined
  /**
   * Whether the awaited revision is deployed. Until the operator deploys the revision, the object is not judged.
   * @param before the object in the first list, before the revision arrived
   */
  arrival?(object: Gated, reader: Reader, before?: KubeObject): Arrival
  /** Absent for kinds without revisions. */
  readonly undo?: UndoRule<Gated>
  /**
   * Judges the object: reads what it needs, states what it finds, and returns whether the object is ready. The gate
   * also calls it while a needed list is pending, only to learn what it reads: an empty list must not be an error.
   */
  judge(object: Gated, reader: RuleReader): Judgement
  /** They change the result of `judge`, in this order. */
  readonly checks?: readonly Check[]
}

/** Decides about an object after `judge`: returns the assessment, changed if needed. */
export type Check = (assessment: Assessment, object: KubeObject, reader: Reader) => Assessment

/** The rule with one more check. */
export function addCheck(rule: Rule, check: Check): Rule {
  return { ...rule, checks: [...(rule.checks ?? []), check] }
}

/** The assessment of an object that is neither ready nor failed: it waits for something else. */
export function toWaiting(assessment: Assessment, message: string): Assessment {
  const milestones = assessment.milestones.map((each): Milestone => {
    return each.name === 'ready' ? { ...each, state: 'open', message } : each
  })
  return { ...assessment, ready: false, failure: undefined, message, milestones }
}

/**
 * The result of `judge`. `message` is used if the object is ready or no milestone is open, and for the milestone
 * `ready` unless the rule states this milestone.
 */
export interface Judgement
  extends Omit<Assessment, 'failure' | 'milestones' | 'problems' | 'notes' | 'warnings' | 'stallHold'> {
  /** The problem that fails the object, or `none`. By default, the first stated problem that is proven. */
  readonly failure?: Problem | 'none'
  /** A failure of the object is final even during its deletion, as for a Job. */
  readonly isEnd?: boolean
  /** The conditions that make the object ready; an undefined entry stands for another part of the status. */
  readonly readyConditions?: readonly (Condition | undefined)[] | undefined
  /** The controller may copy the state of other objects; see `staleUntil`. */
  readonly copiesOthers?: boolean | undefined
}

export const commonMilestones = ['created', 'observed', 'ready'] as const
