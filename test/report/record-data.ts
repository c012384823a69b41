import type { EndedRunRecord, Evidence, JudgedTargetRecord, MilestoneRecord } from '../../src/gate/run-record.ts'
import type { Target } from '../../src/plan/target.ts'
import { toSubject } from '../kit/subject.ts'
import {
  at,
  createEntry,
  createEvidence,
  createMilestone,
  createProblem,
  createRecord,
  createTarget,
  createTargetRecord,
  type ProblemOverrides,
  type RecordOverrides,
} from './builders.ts'

/** When a milestone was reached, or its state, `failed`; and its message. */
type MilestoneData = number | string | readonly [reachedOrState: number | string, message: string]

interface ProblemData extends Omit<ProblemOverrides, 'subject' | 'firstSeenAt' | 'evidence'> {
  /** `pod/web-x`. */
  readonly subject?: string
  readonly firstSeenAt?: number
  readonly evidence?: readonly Partial<Evidence>[]
}

/** A target as data: what differs from a Deployment that became ready after 31 seconds. Moments are seconds since the start. */
export interface TargetData
  extends Omit<RecordOverrides, 'target' | 'endedAt' | 'changedAt' | 'change' | 'milestones' | 'problems'> {
  readonly target?: Partial<Target>
  /** Null of a target that is open. */
  readonly endedAt?: number | null
  /** Null if it is unknown. */
  readonly changedAt?: number | null
  readonly change?: RecordOverrides['change'] | null
  readonly milestones?: Readonly<Record<string, MilestoneData>>
  readonly problems?: readonly ProblemData[]
}

/** The second, the index of the target, `progress` or `verdict failed`, and the text. */
type EntryData = readonly [second: number, target: number, kind: string, text: string]

/** A record as data: what differs from that of a gate that became ready with one target after 31 seconds. */
export interface RecordData
  extends Omit<NonNullable<Parameters<typeof createRecord>[0]>, 'finishedAt' | 'hold' | 'targets' | 'entries'> {
  readonly finishedAt?: number
  /** Since when everything held, and for how many seconds it has to. */
  readonly hold?: { readonly seconds: number; readonly since: number }
  readonly targets?: readonly TargetData[]
  readonly entries?: readonly EntryData[]
}

function toMilestone(name: string, data: MilestoneData): MilestoneRecord {
  const [when, message] = typeof data === 'object' ? data : [data, '']
  const state = typeof when === 'number' ? { at: at(when) } : { state: when as MilestoneRecord['state'] }
  return createMilestone({ name, message, ...state })
}

function toProblem({ subject, firstSeenAt, evidence = [], ...facts }: ProblemData) {
  return createProblem({
    ...facts,
    evidence: evidence.map(createEvidence),
    ...(subject !== undefined && { subject: toSubject(subject) }),
    ...(firstSeenAt !== undefined && { firstSeenAt: at(firstSeenAt) }),
  })
}

export function toTargetRecord(data: TargetData = {}): JudgedTargetRecord {
  const { target, endedAt, changedAt, change, undo, milestones, problems, ...facts } = data
  return createTargetRecord({
    ...facts,
    target: createTarget(target),
    ...(endedAt !== undefined && { endedAt: endedAt === null ? undefined : at(endedAt) }),
    ...(typeof changedAt === 'number' && { changedAt: at(changedAt) }),
    ...(change && { change }),
    ...(undo && { undo: { ...undo, ...(undo.since !== undefined && { since: at(undo.since) }) } }),
    ...(milestones && { milestones: Object.entries(milestones).map(([name, each]) => toMilestone(name, each)) }),
    ...(problems && { problems: problems.map(toProblem) }),
  })
}

export function toRecord({ finishedAt, hold, targets, entries, ...facts }: RecordData = {}): EndedRunRecord {
  return createRecord({
    ...facts,
    ...(finishedAt !== undefined && { finishedAt: at(finishedAt) }),
    ...(hold && { hold: { ...hold, since: at(hold.since) } }),
    ...(targets && { targets: targets.map(toTargetRecord) }),
    ...(entries && {
      entries: entries.map(([second, target, words, text]) => {
        const [kind, outcome] = words.split(' ')
        return createEntry({ at: at(second), target, kind, text, ...(outcome && { outcome }) } as object)
      }),
    }),
  })
}
