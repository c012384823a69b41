import { z } from 'zod'
import type { EndedTimeline, MilestoneRecord, ProblemRecord, TargetRecord } from '../gate/timeline.ts'
import { targetId } from '../plan/target.ts'
import { reasonCodes } from '../reasons/reasons.ts'

const moment = z.iso.datetime().describe('A moment in UTC, ISO 8601')
const outcomes = [
  'ready',
  'failed',
  'stalled',
  'timed-out',
  'superseded',
  'cancelled',
  'misconfigured',
  'unknown',
] as const
const reason = z.enum(['', ...reasonCodes]).describe('Why; empty on ready')
const message = z.string().describe('One line for people')

const evidence = z.object({
  type: z.enum(['event', 'log', 'condition', 'manifest']),
  title: z.string().describe('What the text is: `Log of pod/web-x, container app (previous)`'),
  text: z.string().describe('Text as the cluster reported it: not escaped for any use'),
})

const problem = z.object({
  reason: z.enum(reasonCodes),
  class: z
    .enum(['terminal', 'strike', 'slow'])
    .describe('terminal: only a new apply can fix it; strike: repetition proves it; slow: only a clock ends it'),
  subject: z.string().describe('The object that has the problem: `pod/web-fc8b-8xkbh`'),
  container: z.string().optional(),
  message,
  firstSeen: moment,
  count: z.number().int().nonnegative().describe('How often it was seen'),
  evidence: z.array(evidence),
})

const milestone = z.object({
  name: z.string(),
  state: z.enum(['done', 'current', 'pending', 'failed', 'skipped']),
  at: moment.optional().describe('When it was reached; the start of the gate when it stood at first sight'),
  seconds: z.number().nonnegative().optional().describe('When it was reached, in seconds since the start of the gate'),
  message: z.string(),
})

const target = z.object({
  target: z.string().describe('`deployment.apps/web`'),
  apiVersion: z.string(),
  kind: z.string(),
  namespace: z.string().optional().describe('Absent for what lies in no namespace'),
  name: z.string().describe('Empty when a selector matched nothing'),
  outcome: z.enum([...outcomes, 'progressing']).describe('progressing: it was not done when the gate ended'),
  reason,
  message,
  hint: z.string().optional().describe('What to do; present on every target that is not ready'),
  source: z
    .object({ file: z.string(), line: z.number().int().positive() })
    .optional()
    .describe('Where the user named it: a manifest, or the input `resources`'),
  milestones: z.array(milestone),
  problems: z.array(problem),
})

/** The report of DESIGN §4, for machines. Fields may be added to schema 1; none is renamed or removed. */
export const reportSchema = z.object({
  schema: z.literal(1),
  outcome: z.enum(outcomes),
  reason,
  message,
  startedAt: moment,
  finishedAt: moment,
  durationSeconds: z.number().nonnegative(),
  cluster: z.object({ context: z.string(), version: z.string() }),
  targets: z.array(target),
})

export type Report = z.infer<typeof reportSchema>

/** The same as JSON Schema (draft 2020-12), published as schemas/report.schema.json by scripts/schema.ts. */
export function reportJsonSchema(): object {
  // `input` leaves objects open: a reader of schema 1 must not stumble over a field that was added later.
  return { ...z.toJSONSchema(reportSchema, { io: 'input' }), title: 'Rollout Gate report' }
}

type ReportTarget = Report['targets'][number]

/** The report of DESIGN §4: everything that is known, as the cluster reported it, not escaped for any use. */
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

/** The report as the text of a file. */
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
  const { reason, subject, container, message, firstSeenAt, count, evidence } = problem
  return {
    reason,
    class: problem.class,
    subject,
    ...(container === undefined ? {} : { container }),
    message,
    firstSeen: iso(firstSeenAt),
    count,
    evidence: evidence.map(({ type, title, text }) => ({ type, title, text })),
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
