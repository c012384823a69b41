import { type KubeObject, specAuthorsOf } from '../cluster/objects.ts'
import { duration } from '../duration.ts'
import type { Assessment } from '../lifecycle/assessment.ts'
import { takeEvidenceSnapshot } from '../lifecycle/evidence-snapshot.ts'
import type { Rule, Undo } from '../lifecycle/rule.ts'
import { progressStatesOf } from '../lifecycle/rules.ts'
import { observeTarget } from '../lifecycle/target-history.ts'
import { compareVersions, type IdentityChange, templateDifferences } from '../lifecycle/versions.ts'
import { isDeletionAwaited, type Target } from '../plan/target.ts'
import { messageOf, type Problem, traitsOf } from '../reasons/reasons.ts'
import { countsInFull, deletedMs, maxWordings, removedCauseMs } from '../thresholds.ts'
import { findOpenFields, hasChangeArrived } from './change-arrival.ts'
import {
  createMilestones,
  finishMilestones,
  heldMilestone,
  loseMilestones,
  restartCounters,
  updateMilestones,
} from './milestones.ts'
import { createVerdict, type TargetOutcome, type Verdict } from './outcome.ts'
import { milestoneTimeoutMs } from './settings.ts'
import {
  type Absent,
  type AwaitingChange,
  isTargetReady,
  isUndecided,
  type LoggedProblems,
  objectOf,
  type Present,
  readyMessage,
  restartStallClock,
  type Seen,
  type StepContext,
  setStallHold,
  type TargetState,
  type TargetVerdict,
  type UnendedState,
  unchangedVerdict,
  wasDeleted,
} from './target-state.ts'
import {
  type Entry,
  isProblemOfTarget,
  problemStatement,
  problemVerdict,
  reachedMilestonesText,
  remarksOf,
  settlingText,
  verdictText,
} from './timeline-entries.ts'

/* Changes the state of a target after an event, and creates the log entries. */

/** An event that may change the state of a target. */
export type TargetEvent =
  /** A version of the object; `isFirstSight` until the first list of the target is complete. */
  | { readonly type: 'found'; readonly object: KubeObject; readonly isFirstSight: boolean }
  | { readonly type: 'deleted' }
  /** The last state of a deleted object was judged. If the target is still open, it becomes absent. */
  | { readonly type: 'last-state-judged'; readonly deletedAt: number }
  /** The complete list does not contain the object. */
  | { readonly type: 'absence-known' }
  /** The target is ready without an object; `text` is the reason. */
  | { readonly type: 'absence-accepted'; readonly text: string }
  /** A needed list is not complete. */
  | { readonly type: 'list-pending' }
  /** The present revisions of the object. */
  | { readonly type: 'revisions-listed'; readonly revisions: readonly KubeObject[] }
  | {
      readonly type: 'assessed'
      readonly assessment: Assessment
      /** A needed watch is unavailable, so that a failure may be over. */
      readonly isUnavailable: boolean
      readonly awaitsOther: boolean
      /** When the present version of the object began; undefined if unknown. */
      readonly changedAt?: number | undefined
      /** Set only with the first assessment; see `UndoRule.availableRevision`. */
      readonly availableRevision?: number | undefined
    }
  | { readonly type: 'stall-held'; readonly isHeld: boolean }
  /** The target has stayed ready until the end of the hold. */
  | { readonly type: 'hold-ended'; readonly message: string }
  | { readonly type: 'end'; readonly verdict: TargetVerdict }
  /** The object cannot be judged: it is invalid, or a rule threw an error. */
  | { readonly type: 'unjudged'; readonly message: string }

type TargetEntry = Pick<Entry, 'kind' | 'text' | 'outcome'>

/** The result of an event: the new state, and the entries to log. */
export interface Step {
  readonly state: TargetState
  readonly entries: readonly TargetEntry[]
}

/** Applies an event to the state of a target. An event that does not fit the state changes nothing. */
export function step(state: TargetState, event: TargetEvent, now: number, context: StepContext): Step {
  const unchanged = { state, entries: [] }
  if (state.type === 'ended') return unchanged
  switch (event.type) {
    case 'found':
      return handleFound(state, event, now, context)
    case 'deleted':
      return handleDeletion(state, now, context)
    case 'last-state-judged':
      return state.type === 'awaiting-change' || state.assessment?.completed
        ? unchanged
        : { state: stateWithoutObject(state, event.deletedAt, now), entries: [] }
    case 'absence-known':
      return handleAbsence(state, context)
    case 'absence-accepted':
      return state.type === 'present' || isTargetReady(state)
        ? unchanged
        : handleAcceptedAbsence(state, event.text, now)
    case 'list-pending': {
      if (state.type !== 'present' || !isTargetReady(state) || state.assessment === undefined) return unchanged
      const message = 'the objects that its spec selects now are being listed'
      const assessment = { ...state.assessment, ready: false, failure: undefined, message }
      return loseReadiness(state, assessment, now)
    }
    case 'revisions-listed':
      return state.type === 'present' ? handleRevisions(state, event.revisions, now, context) : unchanged
    case 'assessed':
      return state.type === 'present' ? handleAssessment(state, event, now, context) : unchanged
    case 'hold-ended': {
      if (!isTargetReady(state) || state.milestones.names.at(-1) !== heldMilestone) return unchanged
      const milestones = finishMilestones(state.milestones, event.message, now)
      return { state: { ...state, milestones }, entries: [{ kind: 'progress', text: event.message }] }
    }
    case 'stall-held': {
      const stall = setStallHold(state.stall, event.isHeld, now)
      return isUndecided(state) && stall !== state.stall ? { state: { ...state, stall }, entries: [] } : unchanged
    }
    case 'end':
      return endTarget(state, event.verdict, now, context)
    // Reading the object again may throw the same error.
    case 'unjudged': {
      const { milestones } = state
      const verdict: Verdict<TargetOutcome> = { outcome: 'unknown', reason: '', message: event.message }
      return {
        state: { type: 'ended', at: now, verdict, snapshot: [], problems: [], milestones },
        entries: [{ kind: 'verdict', text: event.message, outcome: 'unknown' }],
      }
    }
  }
}

/** The step after a watch reports an object: a new version, or another object with the same name. */
function handleFound(
  state: UnendedState,
  event: TargetEvent & { type: 'found' },
  now: number,
  context: StepContext,
): Step {
  if (state.type === 'absent' && isTargetReady(state) && !isDeletionAwaited(context.target)) {
    const { entries, ...reopened } = handleFound(stateAwaitingHook(state, now, context), event, now, context)
    return { ...reopened, entries: [noteEntry('exists again: no longer ready'), ...entries] }
  }
  const { object, isFirstSight } = event
  const isSameObject = object.metadata.uid === objectOf(state)?.metadata.uid
  if (state.assessment?.completed && isSameObject) return { state, entries: [] }
  const { seen: before } = state
  const isOther = before !== undefined && before.gated.metadata.uid !== object.metadata.uid
  // With `--for=delete`, another object with the same name means that the first object was deleted, as in `kubectl
  // wait`.
  if (isOther && isDeletionAwaited(context.target)) return handleDeletion(state, now, context)
  const { arrival } = context.rule
  if (state.type === 'awaiting-change' && arrival === undefined)
    return handleAwaitedChange(state, object, isFirstSight, now, context)
  const next = stateWithObject(state, object, isFirstSight, now, context)
  const isRevisionAwaited = state.type === 'awaiting-change' || (!isOther && next.seen.arrival !== undefined)
  if (arrival !== undefined && isRevisionAwaited) return handleAwaitedRevision(state, next, arrival, now, context)
  if (isOther) return handleReplacement(next, before, object, now, context)
  return { state: next, entries: [] }
}

/**
 * The step after a new version of an object, while a revision is awaited (`--revision`). The gate judges the object
 * after the operator starts to deploy the revision. If another revision is deployed later, the target ends.
 * @param next the state if the gate judges this version
 */
function handleAwaitedRevision(
  state: UnendedState,
  next: Present,
  arrivalOf: NonNullable<Rule['arrival']>,
  now: number,
  context: StepContext,
): Step {
  const { target } = context
  const { object, arrival } = next.seen
  const awaiting = state.type === 'awaiting-change' ? state : undefined
  const before = awaiting?.listed ?? arrival?.before ?? object
  const reader = context.readerOf(object)
  const found = arrivalOf(object, reader, before)
  if (found.type === 'awaited' && awaiting !== undefined) {
    const { problems: [known = found.problem] = [], message } = awaiting.assessment ?? {}
    const problem = { ...found.problem, firstSeenAt: known.firstSeenAt }
    const { text } = problemStatement(problem, target)
    const assessment = { ready: false, message: text, milestones: [], problems: [problem], notes: [] }
    return {
      state: { ...awaiting, listed: before, assessment, known: found.known },
      entries: text === message ? [] : [{ kind: 'problem', text }],
    }
  }
  if ('detail' in found) return endTarget(next, createVerdict('superseded', found.type, found.detail), now, context)
  const isNew = awaiting !== undefined || (found.type === 'deployed' && reader.knownRevision?.wasDeployed !== true)
  const reached = { at: arrival?.at ?? now, before, known: found.known }
  return {
    state: { ...next, seen: { ...next.seen, arrival: reached } },
    entries: isNew && 'text' in found ? [noteEntry(found.text)] : [],
  }
}

/** Handles a new version of an object while the target waits for its change. */
function handleAwaitedChange(
  state: AwaitingChange,
  object: KubeObject,
  isFirstSight: boolean,
  now: number,
  context: StepContext,
): Step {
  const listed = state.listed ?? (isFirstSight ? object : undefined)
  const { manifest } = context.target
  const declaresStatus = context.store.hasStatusSubresource(context.target)
  const same = listed?.metadata.uid === object.metadata.uid ? listed : undefined
  const haveImagesArrived = context.haveImagesArrived(object, manifest === undefined ? same : undefined)
  const open = manifest && listed && findOpenFields(listed, object, manifest)
  const awaited = { listed, openFields: open, haveImagesArrived, declaresStatus }
  if (!hasChangeArrived(object, awaited, context.gateTime))
    return {
      state: { ...state, listed, openFields: open },
      entries: listed === state.listed ? [] : [noteEntry('exists already: waiting for its change to arrive')],
    }
  // If only the pods were listed later, the version is older than the gate.
  const cameBefore = haveImagesArrived === true && same?.metadata.generation === object.metadata.generation
  return {
    state: stateWithObject(state, object, isFirstSight || cameBefore, now, context),
    entries: [noteEntry('its change has arrived')],
  }
}

/**
 * The step after an object was created again. With another pod template, the target ends. Otherwise its milestones
 * restart.
 * @param next the state with the new object
 * @param before the facts about the deleted object
 */
function handleReplacement(
  next: UnendedState,
  before: Seen,
  object: KubeObject,
  now: number,
  context: StepContext,
): Step {
  const type = compareVersions(before, object, [], context.target, context.gateTime).type
  if (type === 'superseded')
    return endTarget(next, supersededVerdict(type, undefined, before.gated, object), now, context)
  const text = 'was replaced by a new object of the same name, which is gated from its first milestone'
  return { state: next, entries: [noteEntry(text)] }
}

/** The verdict of a superseded or rolled-back target, with the author and the revision or the differences. */
function supersededVerdict(
  type: 'superseded' | 'rolled-back',
  revision: IdentityChange['revision'],
  gated: KubeObject,
  object: KubeObject,
): Verdict<'superseded'> {
  const who = {
    author: specAuthorsOf(gated, object),
    isRecreated: gated.metadata.uid !== object.metadata.uid,
  }
  if (type === 'rolled-back') return createVerdict('superseded', type, { ...who, revision })
  return createVerdict('superseded', type, { ...who, differences: templateDifferences(gated, object) })
}

/** The state with a new version of the object. With another uid, the target begins again at its first milestone. */
function stateWithObject(
  state: UnendedState,
  object: KubeObject,
  isFirstSight: boolean,
  now: number,
  { rule, target }: StepContext,
): Present {
  const isOther = state.seen !== undefined && state.seen.gated.metadata.uid !== object.metadata.uid
  const before = isOther ? undefined : state.seen
  const seen: Seen = {
    gated: object,
    arrival: state.seen?.arrival,
    existedBefore: !isOther && isFirstSight,
    revisions: new Map(),
    loggedProblems: new Map(),
    ...before,
    object,
    history: observeTarget(before?.history, object, now, progressStatesOf(target, object)),
  }
  const hasArrived = isOther || state.type === 'awaiting-change'
  const isProgress = before !== undefined && seen.history.statesMovedAt > before.history.statesMovedAt
  const stall = hasArrived || isProgress ? restartStallClock(state.stall, now) : state.stall
  if (isOther) return { type: 'present', milestones: createMilestones(rule.milestones), stall, seen }
  const { milestones, readyAt } = state
  const assessment = state.type === 'awaiting-change' ? undefined : state.assessment
  return { type: 'present', milestones, stall, readyAt, seen, assessment }
}

/** The state of a hook after its tool has removed it or created it again. */
function stateAwaitingHook({ stall }: UnendedState, now: number, { rule }: Pick<StepContext, 'rule'>): UnendedState {
  return { type: 'absent', milestones: createMilestones(rule.milestones), stall: restartStallClock(stall, now) }
}

function handleDeletion(state: UnendedState, now: number, { rule, target }: StepContext): Step {
  // A completed object counts as ready after its deletion, until there is a new object with its name.
  if (state.assessment?.completed) return { state, entries: [] }
  if (state.type === 'awaiting-change') return { state: { ...state, deletedAt: now }, entries: [] }
  const absent = stateWithoutObject(state, now, now)
  // With `--for=delete`, the target waits for the deletion.
  if (isDeletionAwaited(target)) return { state: { ...absent, readyAt: state.readyAt }, entries: [] }
  // The tool removes a hook after success or before it creates the hook again. So the target waits for a new hook, but
  // does not need one.
  if (isTargetReady(state) && target.hook?.removal !== undefined) {
    const text = `was deleted: its tool removes it after success (${target.hook.removal})`
    return { state: stateAwaitingHook(state, now, { rule }), entries: [noteEntry(text)] }
  }
  const next =
    target.deployedBy === undefined ? `it has ${deletedMs / 1000} s to come back` : 'its operator may create it again'
  return { state: absent, entries: [noteEntry(`was deleted; ${next}`)] }
}

/** The state after the object was deleted: the target is not ready. */
function stateWithoutObject(state: Absent | Present, deletedAt: number, now: number): Absent {
  const { milestones, stall, seen, assessment } = state
  const kept = isTargetReady(state) ? restartStallClock(stall, now) : stall
  return { type: 'absent', milestones, stall: kept, deletedAt, seen, assessment }
}

function handleAbsence(state: UnendedState, { target, settings }: StepContext): Step {
  if (state.type !== 'absent' || isTargetReady(state) || wasDeleted(state) || state.isLogged)
    return { state, entries: [] }
  const timeoutMs = milestoneTimeoutMs('created', target, settings)
  const wait = timeoutMs === 0 ? 'the gate waits for it to be created' : `it has ${duration(timeoutMs)} to be created`
  const hook = 'does not exist: its tool creates it to run it, and removes it after success'
  const entries = [noteEntry(target.hook?.removal === undefined ? `does not exist yet: ${wait}` : hook)]
  return { state: { ...state, isLogged: true }, entries }
}

/** Makes a target without an object ready, because the gate accepts that the object does not exist. */
function handleAcceptedAbsence(state: Absent | AwaitingChange, text: string, now: number): Step {
  const { stall, deletedAt, seen, assessment } = state
  const milestones = finishMilestones(state.milestones, text, now)
  return {
    state: { type: 'absent', readyAt: now, milestones, stall, deletedAt, seen, assessment },
    entries: [readyEntry(text)],
  }
}

/** The step after the revisions of an object are listed: a change of the template is followed or ends the target. */
function handleRevisions(state: Present, listed: readonly KubeObject[], now: number, context: StepContext): Step {
  const { object, gated: before } = state.seen
  const byUid = listed.map((revision) => [revision.metadata.uid ?? revision.metadata.name, revision] as const)
  const revisions = new Map([...state.seen.revisions, ...byUid])
  const seen = { ...state.seen, revisions }
  const change = compareVersions(seen, object, [...revisions.values()], context.target, context.gateTime)
  switch (change.type) {
    case 'same':
      return { state: { ...state, seen: { ...seen, gated: object } }, entries: [] }
    case 'followed': {
      const followed: Present = {
        ...state,
        seen: { ...seen, gated: object, loggedProblems: new Map() },
        milestones: restartCounters(state.milestones, now),
        stall: restartStallClock(state.stall, now),
      }
      return { state: followed, entries: [noteEntry('its template was changed: the gate follows it')] }
    }
    case 'superseded':
    case 'rolled-back': {
      const verdict = supersededVerdict(change.type, change.revision, before, object)
      return endTarget({ ...state, seen }, verdict, now, context)
    }
    default:
      return { state: { ...state, seen }, entries: [] }
  }
}

function handleAssessment(
  before: Present,
  event: TargetEvent & { type: 'assessed' },
  now: number,
  context: StepContext,
): Step {
  const { target, gateTime } = context
  const assessment = addEarlierCause(event.assessment, before.seen, target)
  const fallen =
    isTargetReady(before) && !assessment.ready ? loseReadiness(before, assessment, now) : { state: before, entries: [] }
  const { seen } = fallen.state
  const isFirstSight = seen.existedBefore && fallen.state.milestones.reached.length === 0
  const when = { now, startedAt: gateTime.startedAt, isFirstSight }
  const { progress, reached, moved } = updateMilestones(fallen.state.milestones, assessment, when)
  // If the object existed before the gate, its creation is not logged.
  const reachedNow = reachedMilestonesText(reached, seen.existedBefore ? 0 : gateTime.startedAt)
  const settling = reachedNow === '' ? undefined : settlingText(assessment, now)
  const progressText = assessment.ready ? '' : [reachedNow, ...(settling === undefined ? [] : [settling])].join(' · ')
  // While a watch is unavailable, the problem may be over: the pod may run now.
  const failure = event.isUnavailable ? undefined : assessment.failure
  const problems = assessment.problems.filter((each) => !event.awaitsOther || traitsOf(each).yieldsTo !== 'awaited')
  const problemOfOther = assessment.problems.find((each) => !isProblemOfTarget(each, target))
  const { loggedProblems, texts } = logProblems(problems, failure, seen.loggedProblems, target)
  const after: Present = {
    type: 'present',
    milestones: progress,
    stall: moved ? restartStallClock(fallen.state.stall, now) : fallen.state.stall,
    seen: {
      ...seen,
      changedAt: event.changedAt,
      loggedProblems,
      relatedProblem: problemOfOther
        ? { problem: problemOfOther }
        : seen.relatedProblem && { endedAt: now, ...seen.relatedProblem },
      availableRevision: event.availableRevision ?? seen.availableRevision,
    },
    assessment,
  }
  const entries: TargetEntry[] = [
    ...fallen.entries,
    ...(progressText === '' ? [] : [{ kind: 'progress', text: progressText } as const]),
    ...texts.map((text) => ({ kind: 'problem', text }) as const),
  ]
  const unchanged = unchangedVerdict(after.seen.changedAt, context)
  const verdict = unchanged ?? (failure && problemVerdict('failed', failure, assessment, target))
  if (verdict !== undefined) {
    const ended = endTarget(after, verdict, now, context)
    // The verdict `not-held` already contains the problem.
    const containsAll = failure !== undefined && traitsOf(failure).yieldsTo === 'problem'
    return { state: ended.state, entries: [...(containsAll ? [] : entries), ...ended.entries] }
  }
  if (!assessment.ready) return { state: after, entries }
  const state: Present = { ...after, readyAt: before.readyAt ?? now }
  if (isTargetReady(before)) return { state, entries }
  const text = [readyMessage(assessment.message, state, context), ...remarksOf(assessment, target)].join(' · ')
  return { state, entries: [...entries, readyEntry(text)] }
}

/**
 * Adds the last related problem as the cause of a failure that the object reports. An operator may remove the failed
 * objects before it reports the failure, for example by a Helm rollback.
 */
function addEarlierCause(assessment: Assessment, { relatedProblem, history }: Seen, target: Target): Assessment {
  const [first, ...others] = assessment.problems
  if (relatedProblem === undefined || first === undefined || first.cause !== undefined) return assessment
  const { problem, endedAt = Infinity } = relatedProblem
  const isRecent = endedAt >= Math.max(first.firstSeenAt - removedCauseMs, history.specSeenAt)
  if (!isRecent || traitsOf(first).yieldsTo !== 'owned' || !isProblemOfTarget(first, target)) return assessment
  const reported = { ...first, cause: problem }
  const explained = { ...assessment, problems: [reported, ...others] }
  return assessment.failure === first ? { ...explained, failure: reported, message: messageOf(reported) } : explained
}

/** Adds problems to the logged problems. Returns the texts to log, without the failure, which the verdict reports. */
function logProblems(
  problems: readonly Problem[],
  failure: Problem | undefined,
  before: LoggedProblems,
  target: Target,
): { readonly loggedProblems: LoggedProblems; readonly texts: readonly string[] } {
  const textOf = (problem: Problem) => problemStatement(problem, target).text
  const failureText = failure && textOf(failure)
  const loggedProblems = new Map(before)
  const texts = problems.flatMap((problem) => {
    const text = textOf(problem)
    if (problem.isStarting || text === failureText || !isNewInLog(problem, loggedProblems)) return []
    const { reason, count } = problem
    loggedProblems.set(wordingOf(problem), { reason, count, message: messageOf(problem) })
    return text
  })
  return { loggedProblems, texts }
}

/**
 * Whether a problem must be logged: its wording is new, or it has occurred again. Numbers and identifiers do not count
 * as wording (`wordingOf`). If a reason has too many wordings, new ones are not logged.
 */
function isNewInLog(problem: Problem, logged: LoggedProblems): boolean {
  const { reason, count } = problem
  const before = logged.get(wordingOf(problem))
  if (before === undefined) return [...logged.values()].filter((each) => each.reason === reason).length < maxWordings
  const isRepetition = count > before.count && messageOf(problem) !== before.message
  return isRepetition && (count <= countsInFull || count >= 2 * before.count)
}

/** The container and the message of a problem, without numbers, identifiers and plural endings. */
function wordingOf(problem: Problem): string {
  const { container = '' } = problem
  const wording = messageOf(problem)
    .replace(/(?<![0-9a-f])[0-9a-f]*\d[0-9a-f]*/gi, '#')
    .replace(/, # times$| \(# pods so far\)/, '')
    .replace(/\b(?:is|are|has|have|does|do)\b/g, '~')
    .replace(/(?<=\w)s\b/g, '')
  return `${container} ${wording}`
}

/** The step when a target is no longer ready. */
function loseReadiness(
  { seen, milestones, stall }: Present,
  assessment: Assessment,
  now: number,
): { readonly state: Present; readonly entries: readonly TargetEntry[] } {
  const state: Present = {
    type: 'present',
    seen,
    assessment,
    milestones: loseMilestones(milestones, assessment, now),
    stall: restartStallClock(stall, now),
  }
  return { state, entries: [noteEntry(`no longer ready: ${assessment.message}`)] }
}

/** The outcomes after which users may want to undo the rollout. */
const undoableOutcomes: ReadonlySet<TargetOutcome> = new Set(['failed', 'stalled', 'timed-out'])

/** The step that ends a target. In a gate without verdicts, the state does not change. */
function endTarget(
  state: UnendedState,
  { logText, problem, ...verdict }: TargetVerdict,
  now: number,
  context: StepContext,
): Step {
  if (context.settings.givesNoVerdict) return { state, entries: [] }
  const problems = problem === undefined ? reportedProblems(state) : [problem]
  const { milestones, seen, assessment, deletedAt } = state
  const snapshot = takeEvidenceSnapshot(objectOf(state), problems, context.store)
  const text = verdictText(verdict, logText)
  const undo = findUndo(state, verdict.outcome, seen?.availableRevision, context, problems)
  return {
    state: { type: 'ended', at: now, verdict, snapshot, problems, milestones, undo, seen, assessment, deletedAt },
    entries: [{ kind: 'verdict', text, outcome: verdict.outcome }],
  }
}

/**
 * For a target that failed, stalled or timed out: finds the revision that serves traffic now, and whether an undo
 * restores the previous state. @param revision the newest older revision that was available at the first assessment
 */
export function findUndo(
  state: UnendedState,
  outcome: TargetOutcome,
  revision: number | undefined,
  context: StepContext,
  problems = reportedProblems(state),
): Undo | undefined {
  const object = objectOf(state)
  if (object === undefined || !undoableOutcomes.has(outcome)) return undefined
  const failure = state.assessment?.failure ?? problems[0]
  // If only a controller's deadline has passed or the hold was broken, another problem is the cause.
  const { yieldsTo } = traitsOf(failure ?? { reason: '' })
  const hasCause = failure !== undefined && (yieldsTo === 'pods' || yieldsTo === 'problem')
  const problem = (hasCause && problems.find((each) => each.reason !== failure.reason)) || failure
  return context.rule.undo?.find(object, revision, problem, context.readerOf(object))
}

/** The problems of a target that ends now. Without a problem, the problem `overdue` of the assessment. */
function reportedProblems(state: UnendedState): readonly Problem[] {
  const { problems = [], overdue } = state.assessment ?? {}
  return problems.length === 0 && overdue !== undefined ? [overdue] : problems
}

function noteEntry(text: string): TargetEntry {
  return { kind: 'note', text }
}

function readyEntry(text: string): TargetEntry {
  return { kind: 'verdict', text, outcome: 'ready' }
}
