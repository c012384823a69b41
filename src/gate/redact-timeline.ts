import type { Undo } from '../lifecycle/rule.ts'
import type { Target } from '../plan/target.ts'
import type {
  AnswerRecord,
  CheckRecords,
  Entry,
  Evidence,
  GateRecord,
  MilestoneRecord,
  ProblemRecord,
  RequestRecord,
  TargetRecord,
  Timeline,
  Verdict,
} from './timeline.ts'

/** Replaces the secrets of a text. */
export type Redact = (text: string) => string

/** How a value leaves the process. */
type Leave<T> = (value: T, redact: Redact) => unknown
/** How each field of a type leaves the process: a field that is missing here does not compile. */
type Fields<T> = { readonly [Name in keyof T]-?: Leave<NonNullable<T[Name]>> }

/** Text that may come from the cluster or from an error. */
const text: Leave<string> = (value, redact) => redact(value)
/** Numbers, codes, names, and what the user wrote. */
const kept: Leave<unknown> = (value) => value
/** Facts behind the texts: they stay in the process. */
const omitted: Leave<unknown> = () => undefined

function each<T>(leave: Leave<T>): Leave<readonly T[]> {
  return (values, redact) => values.map((value) => leave(value, redact))
}

function fields<T extends object>(table: Fields<T>): (value: T, redact: Redact) => T {
  const names = Object.keys(table) as (keyof T)[]
  return (value, redact) => {
    const listed = names.flatMap((name) => {
      const field = value[name]
      return field === undefined || field === null ? [] : [[name, table[name](field, redact)]]
    })
    return Object.fromEntries(listed.filter(([, field]) => field !== undefined))
  }
}

const verdict: Fields<Verdict> = {
  outcome: kept,
  reason: kept,
  message: text,
  form: kept,
  denied: omitted,
  unreadable: omitted,
}

const target = fields<Target>({
  apiVersion: kept,
  kind: kept,
  namespace: kept,
  name: kept,
  selector: kept,
  clocks: kept,
  waitFor: kept,
  source: kept,
  revisions: kept,
  deployedBy: kept,
  gate: kept,
  release: kept,
  manifest: omitted,
  hook: kept,
  applied: kept,
})

const milestone = fields<MilestoneRecord>({ name: kept, state: kept, at: kept, source: kept, message: text })

const evidence = fields<Evidence>({ type: kept, title: text, text, isUnread: kept })

const problem = fields<ProblemRecord>({
  reason: kept,
  subject: kept,
  isElsewhere: kept,
  container: kept,
  isInit: kept,
  count: kept,
  firstSeenAt: kept,
  class: kept,
  message: text,
  headline: text,
  chain: kept,
  evidence: each(evidence),
})

const record = fields<TargetRecord>({
  ...verdict,
  outcome: kept,
  target,
  endedAt: kept,
  causedBy: kept,
  snapshot: omitted,
  milestones: each(milestone),
  problems: each(problem),
  hint: text,
  hintWithoutLog: text,
  changes: each(text),
  notes: each(text),
  warnings: each(text),
  changedAt: kept,
  change: kept,
  hasRun: kept,
  undo: fields<Undo>({ revision: kept, since: kept, obstacle: text, isOnlyRestart: kept }),
})

/** An entry of the log with its text redacted. */
export const redactEntry = fields<Entry>({
  at: kept,
  target: kept,
  kind: kept,
  outcome: kept,
  text,
  added: target,
  isUnquoted: kept,
})

const gate = fields<GateRecord>({
  ...verdict,
  name: kept,
  path: kept,
  context: kept,
  serverVersion: kept,
  startedAt: kept,
  finishedAt: kept,
  hint: text,
})

const answer = fields<AnswerRecord>({
  at: kept,
  pod: kept,
  status: kept,
  seconds: kept,
  body: text,
  error: text,
  location: text,
  isRight: kept,
})

const request = fields<RequestRecord>({
  text,
  asked: kept,
  errors: kept,
  answers: each(answer),
})

const checks = fields<CheckRecords>({
  httpChecks: each(request),
  hold: kept,
})

const timeline = fields<Timeline>({
  startedAt: kept,
  finishedAt: kept,
  context: kept,
  serverVersion: kept,
  timeoutMs: kept,
  stallTimeoutMs: kept,
  verdict: fields(verdict),
  hint: text,
  targets: each(record),
  entries: each(redactEntry),
  checks,
  annotations: each(text),
  healthCheckKinds: each(text),
  gates: each(gate),
})

/** The part of a timeline that may leave the process: each field that is listed here, with the texts redacted. */
export function redactTimeline<T extends Timeline>(whole: T, redact: Redact): T {
  return timeline(whole, redact) as T
}
