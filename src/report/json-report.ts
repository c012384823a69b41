import { subjectText } from '../cluster/objects.ts'
import {
  type CheckRecords,
  type EndedTimeline,
  type Entry,
  type GateRecord,
  gateDurationMs,
  type MilestoneRecord,
  type ProblemRecord,
  type TargetRecord,
  type Timeline,
} from '../gate/timeline.ts'
import { targetId } from '../plan/target.ts'
import { printableJson } from './escape.ts'
import type { LookReport, Report, ReportRun } from './report-schema.ts'

type ReportTarget = Report['targets'][number]
type ReportGate = NonNullable<Report['gates']>[number]

/**
 * The report: all facts as the cluster reported them. JSON omits what is undefined. Texts are raw: renderers escape them.
 * A merged timeline gives a report with its gates, and the moments of each target are those of its gate.
 */
export function buildReport(timeline: EndedTimeline, run?: ReportRun): Report {
  const { startedAt, finishedAt, verdict, gates } = timeline
  const ends = gates?.flatMap((gate) => gate.finishedAt ?? []) ?? []
  const logged = Map.groupBy(timeline.entries, ({ target }) => target)
  return {
    schema: 1,
    outcome: verdict.outcome,
    reason: verdict.reason,
    message: verdict.message,
    startedAt: iso(startedAt),
    finishedAt: iso(Math.max(finishedAt, ...ends)),
    durationSeconds: (finishedAt - startedAt) / 1_000,
    cluster: { context: timeline.context, version: timeline.serverVersion },
    run,
    hint: timeline.hint,
    ...(timeline.healthCheckKinds?.length ? { healthCheckKinds: [...timeline.healthCheckKinds] } : {}),
    ...(timeline.annotations?.length ? { annotations: [...timeline.annotations] } : {}),
    gates: gates?.map(reportGate),
    ...(timeline.checks && reportChecks(timeline.checks)),
    targets: timeline.targets.map((record, index) => ({
      ...reportTarget(record, logged.get(index) ?? [], timeline),
      ...causeOf(record, timeline),
    })),
  }
}

/** The report of one look. Without a verdict, something is not ready, and nothing stands in its way. */
export function buildLook({ verdict, ...timeline }: Timeline): LookReport {
  if (verdict !== undefined) return buildReport({ ...timeline, verdict })
  const { targets } = timeline
  const open = targets.filter(({ outcome }) => outcome === 'progressing').length
  const message = `${open} of ${targets.length} in progress`
  return { ...buildReport({ ...timeline, verdict: { outcome: 'ready', reason: '', message } }), outcome: 'progressing' }
}

/** The report as file content. */
export function renderReport(timeline: EndedTimeline, run?: ReportRun): string {
  return `${printableJson(buildReport(timeline, run), 2)}\n`
}

function reportChecks({ httpChecks, hold }: CheckRecords): Partial<Report> {
  return {
    httpChecks: httpChecks.map(({ text, asked, errors, answers }) => ({
      request: text,
      asked,
      errors,
      answers: answers.map(({ at, pod, status, seconds: took, body, error, isRight }) => ({
        at: iso(at),
        pod,
        status,
        seconds: took,
        body,
        error,
        right: isRight,
      })),
    })),
    hold: hold && { seconds: hold.holdMs / 1_000, since: hold.since === undefined ? undefined : iso(hold.since) },
  }
}

/**
 * The target that a target only waits for: `causedBy: "deployment.apps/web"`, with its namespace if it is another one. Empty
 * if it waits for none. Raw text.
 */
export function causeOf(
  { target, causedBy }: TargetRecord,
  { targets }: Pick<Timeline, 'targets'>,
): { readonly causedBy?: string; readonly causedByNamespace?: string } {
  const cause = causedBy === undefined ? undefined : targets[causedBy]?.target
  if (cause === undefined) return {}
  const isElsewhere = cause.namespace !== undefined && cause.namespace !== target.namespace
  return { causedBy: targetId(cause), ...(isElsewhere ? { causedByNamespace: cause.namespace } : {}) }
}

function reportGate(gate: GateRecord): ReportGate {
  const { name, path, outcome, reason, message, hint, startedAt, finishedAt, context, serverVersion } = gate
  return {
    name,
    path,
    outcome,
    reason,
    message,
    hint,
    ...(startedAt === undefined || finishedAt === undefined
      ? {}
      : {
          startedAt: iso(startedAt),
          finishedAt: iso(finishedAt),
          durationSeconds: (gateDurationMs(gate) ?? 0) / 1_000,
          cluster: { context, version: serverVersion },
        }),
  }
}

function reportTarget(record: TargetRecord, entries: readonly Entry[], { startedAt, gates }: Timeline): ReportTarget {
  const { target, outcome, reason, message, form, hint, endedAt, changedAt, change, changes, notes } = record
  const { apiVersion, kind, namespace, name, selector, source } = target
  const gate = gates?.find(({ name }) => name === target.gate)
  const moment = momentsOf(record, { startedAt, gates })
  const log = entries.flatMap(({ at, kind, outcome, text }) =>
    kind === 'heartbeat' ? [] : [{ at: moment(at), kind, outcome, text }],
  )
  return {
    target: targetId(target),
    apiVersion,
    kind,
    namespace,
    name,
    selector,
    gate: gate?.name,
    context: gate?.context,
    outcome,
    reason,
    message,
    form,
    hint,
    source: source && { file: source.file, line: source.line },
    endedAt: endedAt === undefined || outcome === 'progressing' ? undefined : moment(endedAt),
    changedAt: changedAt === undefined ? undefined : moment(changedAt),
    change,
    milestones: record.milestones.map((milestone) => reportMilestone(milestone, startedAt, moment)),
    problems: record.problems.map((problem) => reportProblem(problem, moment)),
    changes: changes && [...changes],
    notes: notes.length === 0 ? undefined : [...notes],
    log: log.length === 0 ? undefined : log,
  }
}

/** A moment of the timeline as the report contains it. */
type Moment = (at: number) => string

/** The moments of a target before the merge: a merged timeline shifts them. */
export function momentsOf(
  { target }: TargetRecord,
  { startedAt, gates }: Pick<Timeline, 'startedAt' | 'gates'>,
): Moment {
  const gate = gates?.find(({ name }) => name === target.gate)
  return (at) => iso(at - startedAt + (gate?.startedAt ?? startedAt))
}

function reportMilestone({ name, state, at, source, message }: MilestoneRecord, startedAt: number, moment: Moment) {
  return {
    name,
    state,
    at: at === undefined ? undefined : moment(at),
    seconds: at === undefined ? undefined : (at - startedAt) / 1_000,
    source,
    message,
  }
}

function reportProblem(problem: ProblemRecord, moment: Moment) {
  const {
    reason,
    subject,
    isElsewhere,
    container,
    chain = [],
    message,
    headline,
    firstSeenAt,
    count,
    evidence,
  } = problem
  return {
    reason,
    class: problem.class,
    subject: subjectText(subject),
    namespace: isElsewhere && subject.namespace,
    container,
    chain: chain.length > 1 ? [...chain] : undefined,
    message,
    headline,
    firstSeen: moment(firstSeenAt),
    count,
    evidence: evidence.map(({ type, title, text }) => ({ type, title, text })),
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
