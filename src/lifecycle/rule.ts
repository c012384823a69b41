import type { Condition, KubeObject, ObjectMeta, Pod } from '../cluster/objects.ts'
import type { MilestoneName } from '../inputs.ts'
import type { RevisionChange } from '../reasons/gate.ts'
import type { Problem } from '../reasons/reasons.ts'
import type { Assessment, Milestone } from './assessment.ts'
import type { KnownRevision, Reader, RuleReader } from './reader.ts'

/* The types of a rule. A rule assesses the objects of one kind. */

/** Whether the operator has deployed the awaited revision of an object (`--revision`); `text` is for the log. */
export type Arrival = { readonly known: KnownRevision } & (
  | { readonly type: 'awaited'; readonly problem: Problem<'wrong-revision'> }
  /** `attempted`: the operator is deploying the revision, or could not deploy the revision. */
  | { readonly type: 'attempted' | 'deployed'; readonly text: string }
  /** The revision was deployed before. Now a newer revision (`superseded`) or an older revision is deployed. */
  | { readonly type: 'superseded' | 'rolled-back'; readonly detail: RevisionChange }
)

/** The revision that serves while an object is not ready: the newest older one with ready pods, else the new one. */
export interface ServingRevision {
  /** Absent if no older revision has a ready pod. */
  readonly revision?: number
  readonly images: readonly string[]
  readonly ready: number
  /** How many pods the object wants. */
  readonly wanted: number
  /** There is no older revision. */
  readonly isFirst?: true
}

/** The revision that an undo of a failed object restores, or why an undo does not restore the previous state. */
export interface Undo {
  readonly revision?: number
  /** When the revision was created (milliseconds since the epoch). Only for the previous revision of a Helm release. */
  readonly since?: number
  /** Why an undo does not restore the previous state, as a clause: `it is paused`. Raw text: renderers escape it. */
  readonly obstacle?: string
  /** The revisions differ only in metadata, such as a ConfigMap checksum: only `helm rollback` restores the rest. */
  readonly isOnlyRestart?: true
  readonly serving?: ServingRevision
}

/** Finds which older revision of an object serves, and whether an undo can restore the revision. */
export interface UndoRule<Gated extends KubeObject = KubeObject> {
  /** The number of the newest older revision that is available now. Called only at the first assessment. */
  availableRevision(object: Gated, reader: Reader): number | undefined
  /**
   * For an object that has just failed, stalled or timed out: finds the revision that serves, and whether `kubectl
   * rollout undo` restores the previous state.
   * @param revision the result of `availableRevision`
   * @param problem the problem that ended the target
   */
  find(object: Gated, revision: number | undefined, problem: Problem | undefined, reader: Reader): Undo
}

/** A TCP port for requests to the pods of an object. */
export interface ServedPort {
  readonly name?: string | undefined
  readonly port: number
  /** The port of the pods: a number, or the name of a container port. */
  readonly target: number | string
}

/** A pod or a pod template. */
export interface Labelled {
  readonly metadata: Pick<ObjectMeta, 'labels'>
}

/** How requests of `http-checks` reach the pods of an object. */
export interface Serving<Gated extends KubeObject = KubeObject> {
  ports(object: Gated): readonly ServedPort[]
  /** Whether the object selects this pod, or the pods of this template. Absent for kinds that create their pods. */
  selects?(object: Gated, pod: Labelled): boolean
  /**
   * The pods of the present revision. Requests the watches of these pods and of their workloads, because `judge` does
   * not request these watches for every kind.
   * @param assessed the pods of the present revision, if the rule of the object finds the pods
   */
  pods(object: Gated, assessed: Pick<Assessment, 'pods'>, reader: Reader): readonly Pod[]
  /** Whether the object is scaled to zero and needs no pod. */
  isEmpty(object: Gated, reader: Reader): boolean
}

/** The lifecycle of a kind. All code that is specific to a kind is in its rule. */
export interface Rule<Gated extends KubeObject = KubeObject> {
  /** The names of the milestones, in order. Users refer to these names, so they must not change. */
  readonly milestones: readonly MilestoneName[]
  /** How requests reach the pods; absent for kinds that serve no requests. */
  readonly serving?: Serving<Gated>
  /**
   * When the present version began, in milliseconds since the epoch on the runner's clock; undefined if unknown. A
   * change of the scale, the labels or the status is no new version. Absent for kinds without pods: then the last write
   * of the spec counts, and `require-change` does not apply.
   */
  changedAt?(object: Gated, reader: Reader): number | undefined
  /**
   * Finds whether the awaited revision is deployed. Before that, the gate does not judge the object.
   * @param before the object in the first list, before the revision arrived
   */
  arrival?(object: Gated, reader: Reader, before?: KubeObject): Arrival
  /** Absent for kinds without revisions. */
  readonly undo?: UndoRule<Gated>
  /**
   * Judges the object: reads related objects, states what it finds, and returns whether the object is ready. The gate
   * also calls `judge` while a needed list is pending, to find which lists it reads: an empty list must not be an
   * error.
   */
  judge(object: Gated, reader: RuleReader): Judgement
  /** The checks that may change the result of `judge`, in this order. */
  readonly checks?: readonly Check[]
}

/** Runs after `judge`, and returns the assessment, changed if necessary. */
export type Check = (assessment: Assessment, object: KubeObject, reader: Reader) => Assessment

export function addCheck(rule: Rule, check: Check): Rule {
  return { ...rule, checks: [...(rule.checks ?? []), check] }
}

/** Changes an assessment so that the object is in progress, with this message. */
export function toWaitingAssessment(assessment: Assessment, message: string): Assessment {
  const milestones = assessment.milestones.map((each): Milestone => {
    return each.name === 'ready' ? { ...each, state: 'open', message } : each
  })
  return { ...assessment, ready: false, failure: undefined, message, milestones }
}

/**
 * The result of `judge`. `message` applies if the object is ready or no milestone is open. It is also the default
 * message of the milestone `ready`.
 */
export interface Judgement
  extends Omit<Assessment, 'failure' | 'milestones' | 'problems' | 'notes' | 'warnings' | 'stallHold'> {
  /** The problem that fails the object, or `none`. By default, the first proven problem that the rule has stated. */
  readonly failure?: Problem | 'none'
  /** A failure counts even while the object is being deleted, as for a Job. */
  readonly isEnd?: boolean
  /** The conditions that make the object ready. An undefined entry is a part of the status that is not a condition. */
  readonly readyConditions?: readonly (Condition | undefined)[] | undefined
  /** The controller may copy the state of other objects; see `staleUntil`. */
  readonly copiesOthers?: boolean | undefined
}

export const commonMilestones = ['created', 'observed', 'ready'] as const
