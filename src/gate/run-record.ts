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

/* The record of a run: all facts that the log, the summary and the reports show. */

/** The names of fields with moments. A record contains milliseconds since the epoch, a report ISO 8601. */
export const moments = ['at', 'changedAt', 'endedAt', 'finishedAt', 'firstSeen', 'since', 'startedAt'] as const

/** A part of a report in the form of records, with moments as numbers. */
type Recorded<T> = T extends readonly (infer Each)[]
  ? readonly Recorded<Each>[]
  : T extends object
    ? {
        readonly [Name in keyof T]: Name extends (typeof moments)[number]
          ? number | Extract<T[Name], undefined>
          : Recorded<T[Name]>
      }
    : T

/** The content of a report file, with moments as numbers. */
export type ReadReport = Recorded<SingleCheckReport>
type ReadTarget = ReadReport['targets'][number]
type ReadProblem = ReadTarget['problems'][number]
type ReadEvidence = ReadProblem['evidence'][number]
type ReadRequest = NonNullable<ReadReport['httpChecks']>[number]
type ReadAnswer = ReadRequest['answers'][number]

export type MilestoneRecord = Omit<ReadTarget['milestones'][number], 'seconds'>

/** Evidence: text from the cluster. */
export interface Evidence extends ReadEvidence {
  /** The events in the text, with their moments; absent for other evidence. */
  readonly events?: readonly { readonly at: number; readonly text: string }[]
  /** The log could not be read, and the text contains the reason. */
  readonly isUnread?: true
}

export interface ProblemRecord extends ReadProblem {
  readonly isInit?: boolean
  readonly evidence: readonly Evidence[]
}

/** A target in a record: its outcome, milestones and problems. */
export interface TargetRecord extends Omit<ReadTarget, 'log'> {
  readonly milestones: readonly MilestoneRecord[]
  readonly problems: readonly ProblemRecord[]
  readonly clocks?: TargetClocks
  /** The hint without log lines, if `hint` quotes a line of a container log. */
  readonly hintWithoutLog?: string
  /** The notes that are also warnings. */
  readonly warnings?: readonly string[]
  /** See `Assessment.hasRun`. */
  readonly hasRun?: boolean
  /** The revision that serves, and whether an undo restores it. Only if the target failed, stalled or timed out. */
  readonly undo?: Undo
  readonly deployedBy?: Target['deployedBy']
  readonly hook?: Hook
  readonly release?: ReleaseHistory
}

/** A problem in a record, with the facts for its texts, hint and evidence. No report contains these facts. */
export interface JudgedProblem extends ProblemRecord {
  readonly basis: Problem
}

/** A target in a record, with the facts for the diagnosis. No report contains these facts. */
export interface JudgedTargetRecord extends TargetRecord {
  readonly problems: readonly JudgedProblem[]
  readonly basis: {
    readonly target: Target
    /** The objects that explain the verdict. Absent for an open target: then the store contains the objects. */
    readonly snapshot?: EvidenceSnapshot
    /** See `UndoRule.availableRevision`. */
    readonly availableRevision?: number | undefined
  }
}

/** The fields in the record of a waiting target that name its cause: the target that it waits for. */
export function causeFields(cause: NamedTarget, { namespace }: NamedTarget) {
  const isElsewhere = cause.namespace !== undefined && cause.namespace !== namespace
  return { causedBy: targetId(cause), ...(isElsewhere && { causedByNamespace: cause.namespace }) }
}

/** Finds the target that a waiting target waits for. */
export function causeOf<T extends TargetRecord>(target: TargetRecord, targets: readonly T[]): T | undefined {
  const { causedBy, causedByNamespace = target.namespace, gate } = target
  if (causedBy === undefined) return undefined
  return targets.find(
    (each) => each.target === causedBy && each.gate === gate && [undefined, causedByNamespace].includes(each.namespace),
  )
}

/** A gate in a merged report. Its own report may be missing. */
export type GateRecord = Omit<NonNullable<ReadReport['gates']>[number], 'durationSeconds'>

export type WorkflowRunRecord = NonNullable<ReadReport['run']>

/** An answer to a line of `http-checks`. Its texts may be hostile: renderers escape them. */
export interface AnswerRecord extends ReadAnswer {
  readonly location?: string | undefined
}

/** A line of the input `http-checks`, with its answers. */
export interface RequestRecord extends ReadRequest {
  readonly answers: readonly AnswerRecord[]
}

export interface CheckRecords extends Pick<ReadReport, 'hold'> {
  readonly httpChecks?: readonly RequestRecord[]
}

/** All events and results of a gate: the only input of the renderers. Moments are milliseconds since the epoch. */
export interface RunRecord<T extends TargetRecord = TargetRecord, O extends TargetOutcome = TargetOutcome>
  extends Omit<ReadReport, 'schema' | 'durationSeconds' | keyof CheckRecords>,
    CheckRecords {
  readonly outcome: O
  readonly targets: readonly T[]
  readonly entries: readonly Entry[]
  readonly timeoutMs?: number
  readonly stallTimeoutMs?: number
  /** In a merged record: the gates. All moments are shifted as if the gates had started together. */
  readonly gates?: readonly GateRecord[]
}

export type EndedRunRecord<T extends TargetRecord = TargetRecord> = RunRecord<T, Outcome>

/** The record of a gate before the diagnosis, with the facts for the diagnosis. */
export interface JudgedRunRecord extends RunRecord<JudgedTargetRecord> {
  readonly basis?: Pick<Verdict, 'denied' | 'unreadable'>
}

type Unwritten =
  | Exclude<keyof JudgedRunRecord, keyof ReadReport>
  | Exclude<keyof JudgedTargetRecord, keyof ReadTarget>
  | Exclude<keyof JudgedProblem, keyof ReadProblem>
  | Exclude<keyof Evidence, keyof ReadEvidence>
  | Exclude<keyof AnswerRecord, keyof ReadAnswer>

/** The fields of a record that no report contains, because only the process of the gate needs them. */
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

export function isEndedRecord<T extends TargetRecord>(record: RunRecord<T>): record is EndedRunRecord<T> {
  return record.outcome !== 'progressing'
}

/** Returns undefined for an empty list, because a record omits empty lists. */
export function undefinedIfEmpty<T>(list: readonly T[] | undefined): readonly T[] | undefined {
  return list?.length ? list : undefined
}

/** The record of a gate without targets: it ended before it had any, or has not begun yet (`openConclusion`). */
export function emptyRecord<O extends TargetOutcome>(
  { outcome, reason, message }: Verdict<O>,
  startedAt: number,
  finishedAt: number,
): RunRecord<TargetRecord, O> {
  const cluster = { context: '', version: '' }
  return { outcome, reason, message, startedAt, finishedAt, cluster, targets: [], entries: [] }
}

/** The outcome, reason and message of an open gate. */
export const openConclusion = { outcome: 'progressing', reason: '', message: '' } as const

export function misconfiguredRecord(
  { reason, mistakes }: UserError,
  startedAt: number,
  finishedAt: number,
): EndedRunRecord {
  const message = describeMistakes(mistakes).join('\n')
  return emptyRecord({ outcome: 'misconfigured', reason, message }, startedAt, finishedAt)
}
