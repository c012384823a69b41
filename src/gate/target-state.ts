import type { WatchRequest } from '../cluster/feed.ts'
import type { KubeObject } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'
import { duration } from '../duration.ts'
import type { Assessment } from '../lifecycle/assessment.ts'
import type { EvidenceSnapshot } from '../lifecycle/evidence-snapshot.ts'
import type { GateTime } from '../lifecycle/proof.ts'
import type { KnownRevision, Reader } from '../lifecycle/reader.ts'
import type { Need, Reads } from '../lifecycle/reads.ts'
import type { Rule, Undo } from '../lifecycle/rule.ts'
import type { TargetHistory } from '../lifecycle/target-history.ts'
import { isDeletionAwaited, type Target, watchRequestOf } from '../plan/target.ts'
import type { Problem } from '../reasons/reasons.ts'
import { recentVersionMs } from '../thresholds.ts'
import { createMilestones, type MilestoneProgress } from './milestones.ts'
import { createVerdict, type TargetOutcome, type Verdict } from './outcome.ts'
import type { GateSettings } from './settings.ts'

/* The state of a target, and what follows from it. */

/** The constant facts about a target that a step (`target-step.ts`) reads. */
export interface StepContext {
  readonly target: Target
  readonly index: number
  /** A readable name, unique among the targets. */
  readonly name: string
  readonly rule: Rule
  readonly settings: GateSettings
  readonly gateTime: GateTime
  readonly store: Store
  /** Creates the reader for the rule, for an assessment of this version of the object at `now`, by default now. */
  readonly readerOf: (object: KubeObject, now?: number) => Reader
  /**
   * Whether an object has the expected images, by its spec, else by its pods. Returns a problem if the pods run other
   * images, and undefined if the images do not decide. Also requests the watches for `require-change`.
   */
  readonly haveImagesArrived: (object: KubeObject, listed: KubeObject | undefined) => boolean | Problem | undefined
}

export interface GatedTarget extends StepContext {
  state: TargetState
  /** When the target was last assessed. */
  assessedAt?: number
  /**
   * When the target is assessed again if nothing changes, as its last assessment requested; or for changes that came too
   * soon after that assessment.
   */
  recheckAt?: number | undefined
  /** The next end by a deadline; undefined without a deadline. */
  end?: End | undefined
  reads?: Reads
  /** The watches that the last assessment requested. The same arrays while nothing changes. */
  requests: Requests
  /** The version of the object that the rule last read, even if a pending list prevented an assessment. */
  readObject?: KubeObject
}

/** When a target ends by a deadline, in milliseconds since the epoch, and with which verdict. */
export interface End {
  readonly at: number
  readonly verdict: () => TargetVerdict
}

/** The state of a target. Moments are milliseconds since the epoch. */
export type TargetState = AwaitingChange | Absent | Present | Ended
export type UnendedState = Exclude<TargetState, Ended>

interface StateFacts {
  readonly milestones: MilestoneProgress
  /** The facts about the object. Kept after its deletion. */
  readonly seen?: Seen
  /** The last assessment. While a revision is awaited (`--revision`), only the problem `wrong-revision`. */
  readonly assessment?: Assessment | undefined
  /** Since when the target is ready; undefined if the target is not ready or has ended. */
  readonly readyAt?: number | undefined
  /** When the object was deleted; undefined if the object exists or never existed. */
  readonly deletedAt?: number | undefined
}

interface Unended extends StateFacts {
  readonly stall: StallClock
}

/** The awaited change has not arrived, so the object is not judged yet. */
export interface AwaitingChange extends Unended {
  readonly type: 'awaiting-change'
  /** The version of the object in the first list. */
  readonly listed?: KubeObject
  /** The fields that still differ from the manifest, as sentences. */
  readonly openFields?: readonly string[]
  readonly known?: KnownRevision
  readonly seen?: undefined
  readonly readyAt?: undefined
}

/** The object does not exist. The target may be ready: with `--for=delete`, as a removed hook, or if access is denied. */
export interface Absent extends Unended {
  readonly type: 'absent'
  /** Whether the log already contains that the object does not exist yet. */
  readonly isLogged?: boolean
}

/** The object exists. There is no assessment until all needed first lists are complete. */
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
  /** The revision that serves, and whether an undo restores it. Only if the target failed, stalled or timed out. */
  readonly undo?: Undo | undefined
}

export interface TargetVerdict extends Verdict<TargetOutcome> {
  /** The text for the log after `stalled after 5 m: `. Set if the message repeats the outcome. */
  readonly logText?: string
  /** Replaces the problems of the target, if the verdict has its own problem. */
  readonly problem?: Problem | undefined
}

export interface Seen {
  readonly object: KubeObject
  /** The latest version of the object with the gated template. */
  readonly gated: KubeObject
  /** The arrival of the awaited revision: when, the object before, and what is known about the revision. */
  readonly arrival?: { readonly at: number; readonly before: KubeObject; readonly known: KnownRevision } | undefined
  /** The object existed when the gate began. */
  readonly existedBefore: boolean
  readonly history: TargetHistory
  /** When the present version of the object began, by the last assessment. */
  readonly changedAt?: number | undefined
  /** All revisions since first sight, by uid: a controller may delete a revision after the next rollout. */
  readonly revisions: ReadonlyMap<string, KubeObject>
  /** The older revision that was available at the first assessment. */
  readonly availableRevision?: number | undefined
  readonly loggedProblems: LoggedProblems
  /** The last problem of a related object, such as a pod. Without `endedAt`, the problem persists. */
  readonly relatedProblem?: { readonly problem: Problem; readonly endedAt?: number } | undefined
}

/** The state of a target before its first event. @param addedAt when the target was added, if after the gate's start */
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
  // A gate without verdicts shows any revision. For a Helm release, the pending revision itself is the awaited change.
  return isAwaited && !settings.givesNoVerdict && target.deployedBy === undefined && target.release === undefined
    ? { ...unended, type: 'awaiting-change' }
    : { ...unended, type: 'absent' }
}

/** The logged problems of a target, by container and wording. The values are from the last log entry. */
export type LoggedProblems = ReadonlyMap<string, Pick<Problem, 'reason' | 'count'> & { readonly message: string }>

/** The problems of a target: none if it is ready; after its end, the problems at the end. */
export function problemsUnlessReady(state: TargetState): readonly Problem[] {
  if (state.type === 'ended') return state.problems
  return isTargetReady(state) ? [] : (state.assessment?.problems ?? [])
}

/** The outcome and reason of a target if the gate ended now, and the problem with this reason. */
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

export function describeState(state: TargetState): string {
  if (state.type === 'awaiting-change') return state.assessment?.message ?? 'waiting for its change to arrive'
  // The message of the last milestone contains why the target is ready without an object.
  if (state.type === 'absent' && isTargetReady(state)) return state.milestones.present.at(-1)?.message ?? ''
  if (objectOf(state) === undefined) return wasDeleted(state) ? 'was deleted' : 'waiting for it to be created'
  return state.assessment?.message ?? 'not assessed yet'
}

/** The object of a target. Undefined if it does not exist, or while its change is awaited. */
export function objectOf({ seen, deletedAt }: TargetState): KubeObject | undefined {
  return deletedAt === undefined ? seen?.object : undefined
}

/** The watches of a target, by need. The first needed watch is the watch of the target itself. */
export type Requests = Readonly<Record<Need, readonly WatchRequest[]>>

export const noRequests: Requests = { needed: [], optional: [], explaining: [], undo: [] }

/** The watches of a target before its first assessment: the object itself, unless a selector matched nothing. */
export function firstRequests(target: Target): Requests {
  return target.selector === undefined ? { ...noRequests, needed: [watchRequestOf(target)] } : noRequests
}

/** The watches of a target after an assessment. While its change is awaited, only the object itself is needed. */
export function requestsAfterAssessment({ state, target }: GatedTarget, { requests }: Reads): Requests {
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

/** Whether the object of a target was deleted while the gate watched it. */
export function wasDeleted({ deletedAt }: TargetState): boolean {
  return deletedAt !== undefined
}

/**
 * Whether the gate knows if a target exists: its list is complete, it was deleted, or its selector matched nothing. So a
 * target without an object is certainly absent.
 */
export function isAbsenceKnown({ state, target, store }: GatedTarget): boolean {
  const isListed = () => store.listState(watchRequestOf(target)) === 'complete'
  return target.selector !== undefined || wasDeleted(state) || isListed()
}

/** Whether a target is a hook that certainly does not exist, because its tool may have removed it after success. */
export function isConfirmedRemovedHook(gated: GatedTarget): boolean {
  return isRemovedHook(gated) && isAbsenceKnown(gated) && gated.store.get(gated.target) === undefined
}

/** Whether a target is a missing hook that its tool removes after success, and was not deleted during the gate. */
export function isRemovedHook({ state, target }: GatedTarget): boolean {
  if (target.hook?.removal === undefined || isDeletionAwaited(target) || wasDeleted(state)) return false
  if (state.type === 'ended') return state.assessment === undefined && state.verdict.outcome !== 'unknown'
  return state.type === 'awaiting-change' ? state.listed === undefined : objectOf(state) === undefined
}

/**
 * Whether the stall clock of a target is stopped: its assessment has a stall hold, or the target waits for another
 * target. If the user set the stall timeout, the clock is never stopped.
 */
export function hasStallHold({ state, target, settings }: GatedTarget, isWaitingForOther: () => boolean): boolean {
  const isSetByUser = target.clocks.stallTimeoutMs !== undefined || settings.isStallTimeoutSetByUser
  return !isSetByUser && (state.assessment?.stallHold !== undefined || isWaitingForOther())
}

/** Measures the time without progress since `since`. While `heldSince` is set, the time does not count. */
interface StallClock {
  readonly since: number
  readonly heldSince?: number
}

/** Restarts the stall clock after progress. A stall hold continues. */
export function restartStallClock({ heldSince }: StallClock, now: number): StallClock {
  return heldSince === undefined ? { since: now } : { since: now, heldSince: now }
}

/** Stops the stall clock (`isHeld`), or lets the clock continue. */
export function setStallHold(clock: StallClock, isHeld: boolean, now: number): StallClock {
  const { since, heldSince } = clock
  if (isHeld === (heldSince !== undefined)) return clock
  return heldSince === undefined ? { since, heldSince: now } : { since: since + now - heldSince }
}

/** The `require-change` of a target in milliseconds: from its reference, else from the gate. 0: any age is accepted. */
function requiredChangeMs({ target, settings }: StepContext): number {
  return target.clocks.requireChangeMs ?? settings.requireChangeMs
}

/** Whether `require-change` limits the age of a target. For kinds without pods, the age is only reported. */
export function isChangeRequired(context: StepContext): boolean {
  return context.rule.changedAt !== undefined && requiredChangeMs(context) > 0
}

/**
 * The verdict if the present version of a target is older than `require-change` permits.
 * @param changedAt when the present version began, in milliseconds since the epoch; undefined if unknown
 */
export function unchangedVerdict(changedAt: number | undefined, context: StepContext): Verdict<'failed'> | undefined {
  const requiredMs = requiredChangeMs(context)
  const ageMs = context.settings.startedAt - (changedAt ?? Infinity)
  if (!isChangeRequired(context) || ageMs <= requiredMs) return undefined
  return createVerdict('failed', 'not-changed', { ageMs, requiredMs, applied: context.target.applied })
}

/**
 * The age of the present version of a target, for the report. `recent`: the version began within `require-change` (by
 * default an hour) before the gate. `none`: it is older, and was always ready or is rejected by `require-change`.
 */
export function versionAge(
  { readyAt, seen, milestones }: TargetState,
  context: StepContext,
): { readonly changedAt?: number; readonly change?: 'recent' | 'none' } {
  const { changedAt, existedBefore } = seen ?? {}
  if (changedAt === undefined) return {}
  const { startedAt } = context.settings
  const ageMs = startedAt - changedAt
  if (ageMs <= (requiredChangeMs(context) || recentVersionMs)) return { changedAt, change: 'recent' }
  const wasReachedBefore = milestones.reached.every(({ at }) => at === startedAt)
  // Whether the target was ready when the gate first saw it, and has been ready since.
  const wasAlwaysReady = readyAt !== undefined && existedBefore && wasReachedBefore
  const isOld = wasAlwaysReady && ageMs > recentVersionMs
  return isOld || unchangedVerdict(changedAt, context) !== undefined ? { changedAt, change: 'none' } : { changedAt }
}

/** The message of a ready target. If its version is old, the message begins with `unchanged for 3 d`. */
export function readyMessage(message: string, state: TargetState, context: StepContext): string {
  const { changedAt, change } = versionAge(state, context)
  const isUnchanged = changedAt !== undefined && change === 'none'
  const unchanged = isUnchanged ? [`unchanged for ${duration(context.settings.startedAt - changedAt)}`] : []
  return [...unchanged, ...(message === '' ? [] : [message])].join(', ')
}
