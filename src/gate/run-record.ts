import { describeMistakes, type UserError } from '../errors.ts'
import type { EvidenceSnapshot } from '../lifecycle/evidence-snapshot.ts'
import type { Undo } from '../lifecycle/rule.ts'
import {
  type Hook,
  type NamedTarget,
  type ReleaseHistory,
  type Target,
  type TargetClocks,
  targetId,
} from '../plan/target.ts'
import type { Problem } from '../reasons/reasons.ts'
import type { Outcome, TargetOutcome, Verdict } from './outcome.ts'
import type { SingleCheckReport } from './report-schema.ts'
import type { Entry } from './timeline-entries.ts'

/** The fields that are moments: milliseconds since the epoch in a record, ISO 8601 in a report. */
export const moments = ['at', 'changedAt', 'endedAt', 'finishedAt', 'firstSeen', 'since', 'startedAt'] as const

/** A part of a report as records contain it: its moments are numbers. */
type Recorded<T> = T extends readonly (infer Each)[]
  ? readonly Recorded<Each>[]
  : T extends object
    ? {
        readonly [Name in keyof T]: Name extends (typeof moments)[number]
          ? number | Extract<T[Name], undefined>
          : Recorded<T[Name]>
      }
    : T

/** A report as it is read. */
export type ReadReport = Recorded<SingleCheckReport>
type ReadTarget = ReadReport['targets'][number]
type ReadProblem = ReadTarget['problems'][number]
type ReadEvidence = ReadProblem['evidence'][number]
type ReadRequest = NonNullable<ReadReport['httpChecks']>[number]
type ReadAnswer = ReadRequest['answers'][number]

export type MilestoneRecord = Omit<ReadTarget['milestones'][number], 'seconds'>

/** Evidence as text from the cluster. */
export interface Evidence extends ReadEvidence {
  /** The lines of the text with their moments, if they are events. */
  readonly events?: readonly { readonly at: number; readonly text: string }[]
  /** The text is not a log, but why it could not be read. */
  readonly isUnread?: true
}

/** A problem as it is reported. */
export interface ProblemRecord extends ReadProblem {
  /** The container is an init container. */
  readonly isInit?: boolean
  readonly evidence: readonly Evidence[]
}

/** What happened to a target. */
export interface TargetRecord extends Omit<ReadTarget, 'log'> {
  readonly milestones: readonly MilestoneRecord[]
  readonly problems: readonly ProblemRecord[]
  readonly clocks?: TargetClocks
  /** The hint for places without container logs, if `hint` quotes a line of one. */
  readonly hintWithoutLog?: string
  /** The notes that are also shown as warnings. */
  readonly warnings?: readonly string[]
  /** See `Assessment.hasRun`. */
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
    /** See `UndoRule.availableRevision`. */
    readonly availableRevision?: number | undefined
  }
}

/** The fields by which the record of a waiting target names its cause, the target that it only waits for. */
export function causeFields(cause: NamedTarget, { namespace }: NamedTarget) {
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

/** A gate whose report was merged with others, or is missing. */
export type GateRecord = Omit<NonNullable<ReadReport['gates']>[number], 'durationSeconds'>

/** The workflow run of a gate. */
export type WorkflowRunRecord = NonNullable<ReadReport['run']>

/** One answer to a line of `http-checks`. Its texts are hostile: renderers escape them. */
export interface AnswerRecord extends ReadAnswer {
  readonly location?: string | undefined
}

/** A line of the input `http-checks`, with the answers. */
export interface RequestRecord extends ReadRequest {
  readonly answers: readonly AnswerRecord[]
}

/** The results of the checks after the targets were ready. */
export interface CheckRecords extends Pick<ReadReport, 'hold'> {
  readonly httpChecks?: readonly RequestRecord[]
}

/** Everything that happened, and how the gate ended: the only input of the renderers. Moments are milliseconds since the epoch. */
export interface RunRecord<T extends TargetRecord = TargetRecord, O extends TargetOutcome = TargetOutcome>
  extends Omit<ReadReport, 'schema' | 'durationSeconds' | keyof CheckRecords>,
    CheckRecords {
  readonly outcome: O
  readonly targets: readonly T[]
  readonly entries: readonly Entry[]
  readonly timeoutMs?: number
  readonly stallTimeoutMs?: number
  /** All moments of a merged record are shifted as if the gates had started together. */
  readonly gates?: readonly GateRecord[]
}

/** A record whose gate has ended. */
export type EndedRunRecord<T extends TargetRecord = TargetRecord> = RunRecord<T, Outcome>

/** A record as the gate judged it: what happened, and what diagnosis reads. */
export interface JudgedRunRecord extends RunRecord<JudgedTargetRecord> {
  readonly basis?: Pick<Verdict, 'denied' | 'unreadable'>
}

type Unwritten =
  | Exclude<keyof JudgedRunRecord, keyof ReadReport>
  | Exclude<keyof JudgedTargetRecord, keyof ReadTarget>
  | Exclude<keyof JudgedProblem, keyof ReadProblem>
  | Exclude<keyof Evidence, keyof ReadEvidence>
  | Exclude<keyof AnswerRecord, keyof ReadAnswer>

/** The fields of a record that no report contains: only the process of the gate needs them. */
export const unwritten: Readonly<Record<Unwritten, true>> = {
  basis: true,
  clocks: true,
  deployedBy: true,
  entries: true,
  events: true,
  hasRun: true,
  hintWithoutLog: true,
  hook: true,
  isInit: true,
  isUnread: true,
  location: true,
  release: true,
  stallTimeoutMs: true,
  timeoutMs: true,
  undo: true,
  warnings: true,
}

/** Whether the gate of a record has ended. */
export function isEndedRecord<T extends TargetRecord>(record: RunRecord<T>): record is EndedRunRecord<T> {
  return record.outcome !== 'progressing'
}

/** The list; undefined if it is empty, since a record omits empty lists. */
export function undefinedIfEmpty<T>(list: readonly T[] | undefined): readonly T[] | undefined {
  return list?.length ? list : undefined
}

/** The record of a gate that ended before it had targets. Moments are milliseconds since the epoch. */
export function emptyRecord(
  { outcome, reason, message }: Verdict,
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
