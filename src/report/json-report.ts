import type { EndedTimeline, MilestoneRecord, ProblemRecord, TargetRecord } from '../gate/timeline.ts'
import { targetId } from '../plan/target.ts'
import type { Report } from './report-schema.ts'

type ReportTarget = Report['targets'][number]

/** The report as JSON: all facts as the cluster reported them. Texts are raw: renderers escape them. */
export function buildReport(timeline: EndedTimeline): Report {
  const { startedAt, finishedAt, verdict } = timeline
  return {
    schema: 1,
    outcome: verdict.outcome,
    reason: verdict.reason,
    message: verdict.message,
    startedAt: iso(startedAt),
    finishedAt: iso(finishedAt),
    durationSeconds: (finishedAt - startedAt) / 1_000,
    cluster: { context: timeline.context, version: timeline.serverVersion },
    targets: timeline.targets.map((record) => reportTarget(record, startedAt)),
  }
}

/** The report as file content. */
export function renderReport(timeline: EndedTimeline): string {
  return `${JSON.stringify(buildReport(timeline), null, 2)}\n`
}

function reportTarget(record: TargetRecord, startedAt: number): ReportTarget {
  const { target, outcome, reason, message, hint } = record
  const { apiVersion, kind, namespace, name, source } = target
  return {
    target: targetId(target),
    apiVersion,
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    outcome,
    reason,
    message,
    ...(hint === undefined ? {} : { hint }),
    ...(source === undefined ? {} : { source: { file: source.file, line: source.line } }),
    milestones: record.milestones.map((milestone) => reportMilestone(milestone, startedAt)),
    problems: record.problems.map(reportProblem),
  }
}

function reportMilestone({ name, state, at, message }: MilestoneRecord, startedAt: number) {
  return {
    name,
    state,
    ...(at === undefined ? {} : { at: iso(at), seconds: Math.max(0, at - startedAt) / 1_000 }),
    message,
  }
}

function reportProblem(problem: ProblemRecord) {
  const { reason, subject, namespace, container, chain = [], message, firstSeenAt, count, evidence } = problem
  return {
    reason,
    class: problem.class,
    subject,
    ...(namespace === undefined ? {} : { namespace }),
    ...(container === undefined ? {} : { container }),
    ...(chain.length > 1 ? { chain: [...chain] } : {}),
    message,
    firstSeen: iso(firstSeenAt),
    count,
    evidence: evidence.map(({ type, title, text }) => ({ type, title, text })),
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
