import { deniedAccess } from '../cluster/failures.ts'
import { describeMistakes, type UserError } from '../errors.ts'
import type { EvidenceSnapshot } from '../lifecycle/evidence-snapshot.ts'
import type { Undo } from '../lifecycle/rule.ts'
import {
  type Hook,
  type NamedTarget,
  type ReleaseHistory,
  type Source,
  type Target,
  type TargetClocks,
  targetId,
} from '../plan/target.ts'
import { type Problem, type ReasonCode, type ReasonDetails, sentenceFor } from '../reasons/reasons.ts'
import type { HintFacts, ProblemClass, Sentence } from '../reasons/spec.ts'

/** How the gate ended. */
export type Outcome =
  | 'ready'
  | 'failed'
  | 'stalled'
  | 'timed-out'
  | 'superseded'
  | 'cancelled'
  | 'misconfigured'
  | 'unknown'

/** How a target ended; `progressing`: it was open when the gate ended. */
export type TargetOutcome = Outcome | 'progressing'

/** An outcome with its reason (empty on ready) and one line for people. */
export interface Conclusion<O extends TargetOutcome = Outcome> {
  readonly outcome: O
  readonly reason: ReasonCode | ''
  readonly message: string
}

/** A conclusion of the gate, with the facts that its hint is made from. */
export interface Verdict<O extends TargetOutcome = Outcome> extends Conclusion<O> {
  /** How the message follows the name of its target; by default as a clause. */
  readonly form?: Sentence['form']
  /** The denied access, if it ended the gate. */
  readonly denied?: HintFacts<unknown>['denied']
  /** The kinds that the API server could not read, if that ended the gate although the server answers. */
  readonly unreadable?: HintFacts<unknown>['unreadable']
}

/** A verdict with the message that belongs to its reason. */
export function verdictOf<O extends TargetOutcome, Reason extends ReasonCode>(
  outcome: O,
  reason: Reason,
  detail: ReasonDetails[Reason],
): Verdict<O> {
  const { text, form } = sentenceFor(reason, detail)
  return { outcome, reason, message: text, form }
}

/** The verdict of a target that does not exist. `timeoutMs`: the timeout of the milestone `created`. */
export function absentVerdict<O extends TargetOutcome>(
  outcome: O,
  { selector, hook }: Target,
  timeoutMs?: number,
): Verdict<O> {
  if (selector !== undefined) return verdictOf(outcome, 'not-found', { isSelector: true })
  return verdictOf(outcome, 'not-found', {
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(hook && { hook: hook.annotation }),
  })
}

/** The verdict of a target that the gate cannot read, or can no longer read. */
export function deniedVerdict<O extends TargetOutcome>(outcome: O, detail: ReasonDetails['forbidden']): Verdict<O> {
  const access = [deniedAccess(detail.message) ?? []].flat()
  const { wasReadable } = detail
  return { ...verdictOf(outcome, 'forbidden', detail), denied: { wasReadable, access } }
}

/** A milestone and its state. All moments are milliseconds since the epoch. */
export interface MilestoneRecord {
  readonly name: string
  readonly state: 'done' | 'current' | 'pending' | 'failed' | 'skipped'
  /** When the milestone was reached. If this was before the gate and no object shows the time, it is the gate's start. */
  readonly at?: number
  /** An object shows when the milestone was reached. */
  readonly source?: 'object' | undefined
  readonly message: string
}

/** Evidence as text from the cluster. Raw text: renderers escape it. */
export interface Evidence {
  readonly type: 'event' | 'log' | 'condition' | 'manifest'
  /** The heading: `Events`, `Log of pod/web-x, container app (previous)`. */
  readonly title: string
  readonly text: string
  /** The lines of the text with their moments, if they are events. */
  readonly events?: readonly { readonly at: number; readonly text: string }[]
  /** The text is not a log, but why it could not be read. */
  readonly isUnread?: true
}

/** A problem as it is reported. */
export interface ProblemRecord {
  readonly reason: ReasonCode
  readonly class: ProblemClass
  /** The object that has the problem: `pod/web-fc8b-8xkbh`. */
  readonly subject: string
  /** The namespace of the subject, if it is not that of the target. */
  readonly namespace?: string
  readonly container?: string
  /** The container is an init container. */
  readonly isInit?: boolean
  readonly message: string
  /** A few words for a headline: `image acme/web:v9 not found`. Raw text: renderers escape it. */
  readonly headline?: string
  /**
   * The owners from the target to the problem: `deployment/web`, `replicaset/web-688`, `pod/web-688-x`, `container
   * app`.
   */
  readonly chain?: readonly string[]
  readonly firstSeen: number
  /** How often it was seen. */
  readonly count: number
  readonly evidence: readonly Evidence[]
}

/** The age of a target's present version. */
export interface VersionAge {
  /** When the version came, in milliseconds since the epoch on the runner's clock; absent if unknown. */
  readonly changedAt?: number
  /** `recent`: it is this change. `none`: it is older, and was ready at first sight or not accepted by `require-change`. */
  readonly change?: 'recent' | 'none'
}

/** What happened to a target. */
export interface TargetRecord extends NamedTarget, VersionAge, Conclusion<TargetOutcome> {
  /** `deployment.apps/web` */
  readonly target: string
  /** In a merged record: the context of its cluster. */
  readonly context?: string
  /** How the message follows the name of the target; by default as a clause. */
  readonly form?: Sentence['form']
  /** The target that this one only waits for, `deployment.apps/web`: it is no failure of its own. */
  readonly causedBy?: string
  /** The namespace of `causedBy`, if it is not that of the target. */
  readonly causedByNamespace?: string
  readonly source?: Source
  readonly clocks?: TargetClocks
  /** When the target ended or became ready; absent while it is open. */
  readonly endedAt?: number
  readonly milestones: readonly MilestoneRecord[]
  readonly problems: readonly ProblemRecord[]
  /** The hint; present for every target that is not ready at the end. */
  readonly hint?: string
  /** The hint for places without container logs, if `hint` quotes a line of one. */
  readonly hintWithoutLog?: string
  /** The differences between the pod template and that of an older revision, one line each. */
  readonly changes?: readonly string[]
  /** The number of that revision: the one that was available when the gate began, else the latest one before the present one. */
  readonly changesSince?: number
  readonly notes?: readonly string[]
  /** Those of the notes that the user is warned of. */
  readonly warnings?: readonly string[]
  /** See `AssessedFacts.hasRun`. */
  readonly hasRun?: boolean
  /** What serves, and whether an undo restores what ran before; only of a target that failed, stalled or timed out. */
  readonly undo?: Undo
  readonly deployedBy?: Target['deployedBy']
  readonly hook?: Hook
  readonly release?: ReleaseHistory
}

/** A problem with the facts that its texts, hint and evidence are made from. They stay in the process. */
export interface JudgedProblem extends ProblemRecord {
  readonly basis: Problem
}

/** A target as the gate judged it: its record, and what diagnosis reads. */
export interface JudgedTargetRecord extends TargetRecord {
  readonly problems: readonly JudgedProblem[]
  readonly basis: {
    readonly target: Target
    /** The objects that led to its verdict; absent if the store still contains them. */
    readonly snapshot?: EvidenceSnapshot
    /** See `Rule.availableRevision`. */
    readonly availableRevision?: number | undefined
  }
}

/** The name of the other target, as a record of a target that only waits for it contains it. */
export function causedBy(cause: NamedTarget, { namespace }: NamedTarget) {
  const isElsewhere = cause.namespace !== undefined && cause.namespace !== namespace
  return { causedBy: targetId(cause), ...(isElsewhere && { causedByNamespace: cause.namespace }) }
}

/** The target that this one only waits for. */
export function causeOf<T extends TargetRecord>(target: TargetRecord, targets: readonly T[]): T | undefined {
  const { causedBy, causedByNamespace = target.namespace, gate } = target
  if (causedBy === undefined) return undefined
  return targets.find(
    (each) => each.target === causedBy && each.gate === gate && [undefined, causedByNamespace].includes(each.namespace),
  )
}

/** One thing that happened, in the order of the log. */
export interface Entry {
  readonly at: number
  /** Index into `RunRecord.targets`; absent for the gate's own lines. */
  readonly target?: number
  readonly kind: 'progress' | 'problem' | 'note' | 'verdict' | 'heartbeat'
  /** Only verdicts and problems have one. */
  readonly outcome?: TargetOutcome
  /**
   * Raw text, which may contain hostile text of the cluster: renderers escape it. The text of a verdict lacks the
   * outcome: the log adds it, as in `✗ failed after 42 s: `.
   */
  readonly text: string
  /** The target, if it became one with this entry: what an operator has deployed. */
  readonly added?: NamedTarget & Pick<TargetRecord, 'clocks'>
  /** Nothing in the text is quoted from the cluster but names: counts of pods, a revision. */
  readonly isUnquoted?: boolean
}

/** A gate whose report was merged with others, or is missing. */
export interface GateRecord extends Conclusion {
  readonly name: string
  /** The path of the gate's report. */
  readonly path: string
  readonly hint?: string
  /** When the gate began and ended, and its cluster; absent if its report is missing. */
  readonly startedAt?: number
  readonly finishedAt?: number
  readonly cluster?: ClusterRecord
}

/** How long a gate took, in milliseconds; undefined if its report is missing. */
export function gateDurationMs({ startedAt, finishedAt }: Pick<GateRecord, 'startedAt' | 'finishedAt'>) {
  return startedAt === undefined || finishedAt === undefined ? undefined : Math.max(0, finishedAt - startedAt)
}

export interface ClusterRecord {
  readonly context: string
  readonly version: string
}

/** The workflow run of a gate. */
export interface WorkflowRunRecord {
  readonly id: string
  readonly attempt: number
  readonly commit: string
}

/** One answer to a line of `http-checks`. Its texts are hostile: renderers escape them. */
export interface AnswerRecord {
  readonly at: number
  readonly pod?: string | undefined
  readonly status?: number | undefined
  readonly seconds?: number | undefined
  readonly body?: string | undefined
  readonly error?: string | undefined
  readonly location?: string | undefined
  readonly right: boolean
}

/** A line of the input `http-checks`, with the answers. */
export interface RequestRecord {
  /** The line of the input `http-checks` as written, with `***` for the values of headers. */
  readonly request: string
  readonly asked: number
  /** How many answers were wrong or missing. */
  readonly errors: number
  /** The latest answers. */
  readonly answers: readonly AnswerRecord[]
}

/** The results of the checks after the targets were ready. */
export interface CheckRecords {
  readonly httpChecks?: readonly RequestRecord[]
  /** The time in which everything had to stay ready; without `since` it never began. */
  readonly hold?: { readonly seconds: number; readonly since?: number }
}

/** Everything that happened, and how the gate ended: the only input of the renderers. Moments are milliseconds since the epoch. */
export interface RunRecord<T extends TargetRecord = TargetRecord, O extends TargetOutcome = TargetOutcome>
  extends Conclusion<O>,
    CheckRecords {
  readonly startedAt: number
  readonly finishedAt: number
  readonly cluster: ClusterRecord
  readonly run?: WorkflowRunRecord
  readonly timeoutMs?: number
  readonly stallTimeoutMs?: number
  /** The hint of a gate that ended without judging its targets. */
  readonly hint?: string
  readonly targets: readonly T[]
  readonly entries: readonly Entry[]
  /** Annotations of objects that changed what is gated: `rollout-gate/skip of deployment/db`. Raw text. */
  readonly annotations?: readonly string[]
  /** The kinds of targets that expressions of `health-check-exprs` judged. Raw text. */
  readonly healthCheckKinds?: readonly string[]
  /**
   * The gates of a merged record; each target names its own. All moments are shifted as if the gates had started
   * together.
   */
  readonly gates?: readonly GateRecord[]
}

/** The fields of a record that no report contains: only the process of the gate needs them. */
export const unwritten = [
  'basis',
  'clocks',
  'deployedBy',
  'entries',
  'events',
  'hasRun',
  'hintWithoutLog',
  'hook',
  'isInit',
  'isUnread',
  'location',
  'release',
  'stallTimeoutMs',
  'timeoutMs',
  'undo',
  'warnings',
] as const

/** The fields that are moments: milliseconds since the epoch in a record, ISO 8601 in a report. */
export const moments = ['at', 'changedAt', 'endedAt', 'finishedAt', 'firstSeen', 'since', 'startedAt'] as const

/** A record whose gate has ended. */
export type EndedRunRecord<T extends TargetRecord = TargetRecord> = RunRecord<T, Outcome>

/** A record as the gate judged it: what happened, and what diagnosis reads. */
export interface JudgedRunRecord extends RunRecord<JudgedTargetRecord> {
  readonly basis?: Pick<Verdict, 'denied' | 'unreadable'>
}

/** Whether the gate of a record has ended. */
export function hasEnded<T extends TargetRecord>(record: RunRecord<T>): record is EndedRunRecord<T> {
  return record.outcome !== 'progressing'
}

/** A list for a record, which has none that is empty. */
export function unlessEmpty<T>(list: readonly T[] | undefined): readonly T[] | undefined {
  return list?.length ? list : undefined
}

/** The record of a gate that ended before it had targets. Moments are milliseconds since the epoch. */
export function emptyRecord(
  { outcome, reason, message }: Conclusion,
  startedAt: number,
  finishedAt: number,
): EndedRunRecord {
  return { ...pendingRecord(startedAt), finishedAt, outcome, reason, message }
}

/** The record of a gate that has not started. */
export function pendingRecord(now: number): RunRecord {
  const cluster = { context: '', version: '' }
  return { ...openConclusion, startedAt: now, finishedAt: now, cluster, targets: [], entries: [] }
}

/** The conclusion of a gate that is open. */
export const openConclusion = { outcome: 'progressing', reason: '', message: '' } as const

/** The record of invalid input. */
export function misconfiguredRecord(
  { reason, mistakes }: UserError,
  startedAt: number,
  finishedAt: number,
): EndedRunRecord {
  const message = describeMistakes(mistakes).join('\n')
  return emptyRecord({ outcome: 'misconfigured', reason, message }, startedAt, finishedAt)
}
