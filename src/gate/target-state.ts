import type { WatchRequest } from '../cluster/feed.ts'
import type { KubeObject } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'
import type { Assessment } from '../lifecycle/assessment.ts'
import type { EvidenceSnapshot } from '../lifecycle/evidence-snapshot.ts'
import type { GateTime } from '../lifecycle/proof.ts'
import type { KnownRevision, Reader } from '../lifecycle/reader.ts'
import type { Need, Reads } from '../lifecycle/reads.ts'
import type { Rule, Undo } from '../lifecycle/rule.ts'
import type { TargetHistory } from '../lifecycle/target-history.ts'
import { isDeletionAwaited, type Target, watchRequestOf } from '../plan/target.ts'
import type { Problem } from '../reasons/reasons.ts'
import { createMilestones, type MilestoneProgress } from './milestones.ts'
import type { TargetOutcome, Verdict } from './outcome.ts'
import type { GateSettings } from './settings.ts'

/** The constant facts about a target. A step (`target-step.ts`) reads them: it returns the state after an event. */
export interface StepContext {
  readonly target: Target
  /** Index among the targets. */
  readonly index: number
  /** A readable name, unique among the targets. */
  readonly name: string
  readonly rule: Rule
  readonly settings: GateSettings
  readonly gateTime: GateTime
  readonly store: Store
  /** What its rule may read of a version of its object now. */
  readonly readerOf: (object: KubeObject) => Reader
  /**
   * Whether an object has the expected images, by its spec, else by its pods: a problem if these run other images;
   * undefined if the images do not decide. It also watches what `versionChangedAt` reads, for `require-change`.
   */
  readonly haveImagesArrived: (object: KubeObject, listed: KubeObject | undefined) => boolean | Problem | undefined
}

/** A target with its present state. */
export interface GatedTarget extends StepContext {
  /** The state that the last step returned. */
  state: TargetState
  /** When it is assessed again although nothing changes: the next moment that its last assessment asked for. */
  recheckAt?: number | undefined
  /** When and how it ends if nothing changes; undefined if no deadline is set. */
  end?: End | undefined
  /** What its last assessment read. */
  reads?: Reads
  /** The watches that it needs, by its last assessment. The same arrays while they are equal. */
  requests: Requests
  /** The version of the object that its rule read last, also if a list was pending and no assessment was possible. */
  readObject?: KubeObject
}

/** When a target ends if its state does not change, in milliseconds since the epoch, and with which verdict. */
export interface End {
  readonly at: number
  readonly verdict: () => TargetVerdict
}

/** The state of a target. Moments are milliseconds since the epoch. */
export type TargetState = AwaitingChange | Absent | Present | Ended
export type UnendedState = Exclude<TargetState, Ended>

interface StateFacts {
  readonly milestones: MilestoneProgress
  /** Kept after the deletion of the object. */
  readonly seen?: Seen
  /** The last assessment; of an awaited revision (`--revision`), only which revision is deployed instead. */
  readonly assessment?: Assessment | undefined
  /** Since when the target is ready; undefined if it is not, or has ended. */
  readonly readyAt?: number | undefined
  /** When the object was deleted while it was watched; undefined while it exists, or if it never existed. */
  readonly deletedAt?: number | undefined
}

interface Unended extends StateFacts {
  readonly stall: StallClock
}

/** The awaited change has not arrived: the object is not judged yet. */
export interface AwaitingChange extends Unended {
  readonly type: 'awaiting-change'
  /** The object as the first list contained it. */
  readonly listed?: KubeObject
  /** The fields that still differ from the manifest, as sentences. */
  readonly openFields?: readonly string[]
  readonly known?: KnownRevision
  readonly seen?: undefined
  readonly readyAt?: undefined
}

/**
 * The object does not exist. The target is ready without it with `--for=delete`, if it is a hook that its tool has
 * removed, or if it may not be read.
 */
export interface Absent extends Unended {
  readonly type: 'absent'
  /** Whether the log already reports that it does not exist yet. */
  readonly isLogged?: boolean
}

/** The object exists. It has no assessment until the first lists that it needs are complete. */
export interface Present extends Unended {
  readonly type: 'present'
  readonly seen: Seen
}

interface Ended extends StateFacts {
  readonly type: 'ended'
  readonly at: number
  readonly verdict: Verdict<TargetOutcome>
  readonly snapshot: EvidenceSnapshot
  readonly problems: readonly Problem[]
  /** What serves, and whether an undo restores it; only if it failed, stalled or timed out. */
  readonly undo?: Undo | undefined
}

/** How a target ends. */
export interface TargetVerdict extends Verdict<TargetOutcome> {
  /** Set if the message repeats the outcome: the log shows this text instead, after `stalled after 5 m: `. */
  readonly logText?: string
  /** The only problem of the ended target: it concerns all targets together, or was no problem before. */
  readonly problem?: Problem | undefined
}

/** The facts about the gated object. */
export interface Seen {
  /** The latest version of the object. */
  readonly object: KubeObject
  /** The latest version of the object with the gated template. */
  readonly gated: KubeObject
  /** The awaited revision: when it arrived, the object before that, and what is known of the revision. */
  readonly arrival?: { readonly at: number; readonly before: KubeObject; readonly known: KnownRevision } | undefined
  /** The object existed when the gate began. */
  readonly existedBefore: boolean
  readonly history: TargetHistory
  /** When the object got its present version, by the last assessment. */
  readonly changedAt?: number | undefined
  /** All revisions seen, by uid: a controller may delete one as soon as the next is rolled out. */
  readonly revisions: ReadonlyMap<string, KubeObject>
  /** The older revision that was available when the object was judged first. */
  readonly availableRevision?: number | undefined
  readonly loggedProblems: LoggedProblems
  /** The last problem of another object, such as a pod of the target; without `endedAt`, the problem persists. */
  readonly relatedProblem?: { readonly problem: Problem; readonly endedAt?: number } | undefined
}

/** The state of a target before its first event. @param addedAt when it was added, if after the gate's start */
export function initialState(
  { rule, settings, target }: Pick<StepContext, 'rule' | 'settings' | 'target'>,
  addedAt?: number,
): TargetState {
  const { startedAt, awaitChangeMs } = settings
  const since = addedAt ?? startedAt
  const milestones = createMilestones(rule.milestones)
  const unended = {
    milestones: addedAt === undefined ? milestones : { ...milestones, restartedAt: addedAt },
    stall: { since },
  }
  const isAwaited = rule.arrival !== undefined || (awaitChangeMs > 0 && !isDeletionAwaited(target))
  // A gate without verdicts shows any revision. A pending revision of a Helm release is the change of its objects.
  return isAwaited && !settings.givesNoVerdict && target.deployedBy === undefined && target.release === undefined
    ? { ...unended, type: 'awaiting-change' }
    : { ...unended, type: 'absent' }
}

/** Which problems of a target have been logged, by container and wording, each as it was logged last. */
export type LoggedProblems = ReadonlyMap<string, Pick<Problem, 'reason' | 'count'> & { readonly message: string }>

/** The problems that keep a target from ready, or that an ended target had at its end. */
export function problemsUnlessReady(state: TargetState): readonly Problem[] {
  if (state.type === 'ended') return state.problems
  return isTargetReady(state) ? [] : (state.assessment?.problems ?? [])
}

/** The outcome of a target if the gate ended now, its reason, and the problem that is the reason. */
export function verdictSoFar({ state }: Pick<GatedTarget, 'state'>): Pick<
  Verdict<TargetOutcome>,
  'outcome' | 'reason'
> & {
  readonly problem?: Problem | undefined
} {
  const problems = problemsUnlessReady(state)
  if (state.type === 'ended') {
    const { outcome, reason } = state.verdict
    return { outcome, reason, problem: problems.find((each) => each.reason === reason) }
  }
  const [problem] = problems
  return { outcome: isTargetReady(state) ? 'ready' : 'progressing', reason: problem?.reason ?? '', problem }
}

/** The state as readable text. */
export function describeState(state: TargetState): string {
  if (state.type === 'awaiting-change') return state.assessment?.message ?? 'waiting for its change to arrive'
  // The last milestone has the reason why an absent object is ready.
  if (state.type === 'absent' && isTargetReady(state)) return state.milestones.present.at(-1)?.message ?? ''
  if (objectOf(state) === undefined) return wasDeleted(state) ? 'was deleted' : 'waiting for it to be created'
  return state.assessment?.message ?? 'not assessed yet'
}

/** The object, while it exists or at the end; undefined while its change is awaited. */
export function objectOf({ seen, deletedAt }: TargetState): KubeObject | undefined {
  return deletedAt === undefined ? seen?.object : undefined
}

/** The watches of a target, by what they are needed for; the first one needed is that of the target itself. */
export type Requests = Readonly<Record<Need, readonly WatchRequest[]>>

/** The watches of a target that needs none. */
export const noRequests: Requests = { needed: [], optional: [], explaining: [], undo: [] }

/** The watches of a target that has not been assessed. A selector that matched nothing names no object to watch. */
export function firstRequests(target: Target): Requests {
  return target.selector === undefined ? { ...noRequests, needed: [watchRequestOf(target)] } : noRequests
}

/**
 * The watches of a target, by what an assessment read. While its change is awaited, only the object is needed. For the
 * other lists, the first assessment and the end of `await-change` wait while the server answers.
 */
export function requestsOfReads({ state, target }: GatedTarget, { requests }: Reads): Requests {
  const first = firstRequests(target)
  if (state.type !== 'awaiting-change') return { ...requests, needed: [...first.needed, ...requests.needed] }
  return { ...first, optional: [...requests.needed, ...requests.optional] }
}

/** Whether a target is neither ready nor ended. */
export function isUndecided(state: TargetState): state is UnendedState {
  return state.type !== 'ended' && state.readyAt === undefined
}

export function isTargetReady({ readyAt }: TargetState): boolean {
  return readyAt !== undefined
}

/** Whether an absent object was deleted while it was watched. */
export function wasDeleted({ deletedAt }: TargetState): boolean {
  return deletedAt !== undefined
}

/**
 * Whether a target is a hook that does not exist, and that its tool removes after success. A hook that was deleted
 * before it was ready has not succeeded.
 */
export function isRemovedHook({ state, target }: GatedTarget): boolean {
  if (target.hook?.removal === undefined || isDeletionAwaited(target) || wasDeleted(state)) return false
  if (state.type === 'ended') return state.assessment === undefined && state.verdict.outcome !== 'unknown'
  return state.type === 'awaiting-change' ? state.listed === undefined : objectOf(state) === undefined
}

/**
 * Whether the stall clock of a target is stopped: the object itself states how long it may take, or the target waits
 * for another one. It is never stopped if the user set the stall timeout.
 */
export function hasStallHold({ state, target, settings }: GatedTarget, awaitsOther: () => boolean): boolean {
  const isSetByUser = target.clocks.stallTimeoutMs !== undefined || settings.isStallTimeoutSetByUser
  return !isSetByUser && (state.assessment?.stallHold !== undefined || awaitsOther())
}

/** Measures the time without progress (`since`). Time in a stall hold (from `heldSince`) does not count. */
interface StallClock {
  readonly since: number
  readonly heldSince?: number
}

/** Restarts the stall clock after progress; a hold continues. */
export function restartStall({ heldSince }: StallClock, now: number): StallClock {
  return heldSince === undefined ? { since: now } : { since: now, heldSince: now }
}

/** Stops the stall clock, or lets it continue. */
export function setStallHold(clock: StallClock, isHeld: boolean, now: number): StallClock {
  const { since, heldSince } = clock
  if (isHeld === (heldSince !== undefined)) return clock
  return heldSince === undefined ? { since, heldSince: now } : { since: since + now - heldSince }
}
