import type { Condition, EventObject, KubeObject, ObjectMeta, Pod } from '../cluster/objects.ts'
import type { MilestoneName } from '../inputs.ts'
import type { RevisionChange } from '../reasons/gate.ts'
import type { Problem } from '../reasons/reasons.ts'
import type { AssessedFacts, Draft, Milestone } from './assessment.ts'
import type { GateTime } from './proof.ts'
import type { KnownRevision, Reader, RuleReader } from './reader.ts'
import type { ReportedStatus } from './target-history.ts'

/** What the gate knows of an awaited revision besides the object. */
export interface ArrivalFacts extends Pick<GateTime, 'startedAt' | 'time'> {
  readonly firstSeenAt: number
  /** The object in the first list, before the revision arrived. */
  readonly before?: KubeObject | undefined
  /** What the arrival at the last version of the object was. */
  readonly known?: KnownRevision | undefined
}

/** Whether the awaited revision of an object (`--revision`) is deployed; `text` is for the log. */
export type Arrival = { readonly known: KnownRevision } & (
  | { readonly type: 'awaited'; readonly problem: Problem<'wrong-revision'> }
  /** The operator is deploying the revision, or failed to deploy it. */
  | { readonly type: 'attempted' | 'deployed'; readonly text: string }
  /** The revision was deployed, and a newer or an older one is deployed now. */
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

/** Whether the undo of a failed object restores what ran before: to this revision, unless there is an obstacle. */
export interface Undo {
  readonly revision?: number
  /** Of a Helm release: when this revision was made, if it is the one before the present one, in milliseconds since the epoch. */
  readonly since?: number
  /** Why not, as a clause: `it is paused`. Raw text: renderers escape it. */
  readonly obstacle?: string
  /** Only metadata differ, such as the checksum of a ConfigMap: the undo of a Helm release restores that too. */
  readonly isOnlyRestart?: true
  /** Absent if it is unknown. */
  readonly serving?: ServingRevision
}

/** How the older revision of an object serves, and can be restored. */
export interface UndoRule<Gated extends KubeObject = KubeObject> {
  /** The number of the newest older revision that is available now. Asked when the object is judged first. */
  availableRevision(object: Gated, reader: Reader): number | undefined
  /**
   * What serves in place of an object that has just failed, stalled or timed out, and whether `kubectl rollout undo` restores what
   * ran before.
   * @param revision the answer of `availableRevision`
   * @param problem the problem that failed it
   */
  find(object: Gated, revision: number | undefined, problem: Problem | undefined, reader: Reader): Undo
}

/** The facts that show when the present version of an object came. */
export type ChangeReader = Pick<Reader, 'time' | 'owned' | 'knownOwned' | 'declaresStatus'>

/** A TCP port by which requests reach the pods behind an object. */
export interface ServedPort {
  readonly name?: string | undefined
  readonly port: number
  /** The port of the pods: its number, or the name to which each pod gives a number. */
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
   * The pods of the present revision behind the object. Not every kind needs them to be judged, so their watches are asked for,
   * and those of the objects that show whether there should be such pods.
   * @param assessed the pods of the present revision, if the rule of the object finds them
   */
  pods(object: Gated, assessed: Pick<AssessedFacts, 'pods'>, reader: Reader): readonly Pod[]
  /** Whether the object is scaled to zero, and needs no pod. */
  isEmpty(object: Gated, reader: Reader): boolean
  /** Requests go to one pod after another, in the order of the ordinals. */
  readonly isOrdered?: true
}

/** What distinguishes the versions of an object. A member is absent for kinds without such facts. */
export interface Versions<Gated extends KubeObject = KubeObject> {
  /**
   * When the present version came, in milliseconds since the epoch on the runner's clock; undefined if unknown. A scale, a
   * label or a status makes no version. Without this method, the last write of the spec counts, and `require-change` does not
   * ask for it: it asks for the age of what pods run.
   */
  changedAt?(object: Gated, reader: ChangeReader): number | undefined
  /** Whether the awaited revision is deployed. With this method, the object is not judged before it is. */
  arrival?(object: Gated, facts: ArrivalFacts): Arrival
  /** How `kubectl rollout undo` goes back. */
  readonly undo?: UndoRule<Gated>
}

/** The lifecycle of a kind: everything that is kind-specific in the gate. */
export interface Rule<Gated extends KubeObject = KubeObject> {
  /** The names of its milestones, in order. They are a contract. */
  readonly milestones: readonly MilestoneName[]
  /** What the object's status reports; the target's history records since when. */
  reported?(object: Gated): ReportedStatus
  /**
   * The last state of a deleted object, if its end can be derived: from its last version, or from its events,
   * because the gate may miss the last status.
   */
  lastState?(object: Gated, events: readonly EventObject[]): Gated | undefined
  /** How requests reach its pods; absent for kinds that serve none. */
  readonly serving?: Serving<Gated>
  /** If set, the target is ready when the object is absent, with this message. */
  readonly readyWhenAbsent?: string
  readonly versions?: Versions<Gated>
  /**
   * Judges the object: reads what it needs, states what it finds, and returns whether the object is ready. The gate also calls it
   * while a list that it needs is pending, to learn what it reads: then only that counts, so an empty list must not be an error.
   */
  judge(object: Gated, reader: RuleReader): Judgement
  /** What decides besides `judge`, in this order. */
  readonly checks?: readonly Check[]
}

/** What decides about an object besides the rule of its kind: it changes the draft before the assessment is concluded. */
export type Check = (draft: Draft, object: KubeObject, reader: Reader) => Draft

/** The rule with one more check. */
export function withCheck(rule: Rule, check: Check): Rule {
  return { ...rule, checks: [...(rule.checks ?? []), check] }
}

/** The draft of an object that is neither ready nor failed: it waits for something else. */
export function waitingDraft(draft: Draft, message: string): Draft {
  const milestones = draft.milestones.map((each): Milestone => {
    return each.name === 'ready' ? { ...each, state: 'open', message } : each
  })
  return { ...draft, ready: false, failure: undefined, message, milestones }
}

/**
 * Whether an object is ready, and the facts about it that are no statements. Its `message` counts if the object is
 * ready, or if no milestone is open, and for the milestone `ready` unless the rule states that one.
 */
export interface Judgement extends Omit<AssessedFacts, 'milestones' | 'problems' | 'notes' | 'warnings' | 'stallHold'> {
  readonly ready: boolean
  /** The problem that fails the object, or `none`. By default it is the first stated one that is proven. */
  readonly failure?: Problem | 'none'
  /** A failure of the object is final even during its deletion, as for a Job. */
  readonly isEnd?: boolean
  /** The conditions that make the object ready; an undefined entry stands for another part of the status. */
  readonly readyConditions?: readonly (Condition | undefined)[] | undefined
  /** The controller may copy the state of other objects; see `staleUntil`. */
  readonly copiesOthers?: boolean | undefined
}

/** The default milestones. */
export const commonMilestones = ['created', 'observed', 'ready'] as const
