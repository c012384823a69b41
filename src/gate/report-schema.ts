import { z } from 'zod'
import { reasonCodes } from '../reasons/reasons.ts'
import { outcomes, targetOutcomes } from './outcome.ts'

// The schema of the report, from which the types of records (run-record.ts) are derived. Texts in a report are raw:
// renderers escape them. Only code that reads reports loads this module, because loading zod takes 40 ms.

const moment = z.iso.datetime().describe('A moment in UTC, ISO 8601')
const reason = z.enum(['', ...reasonCodes]).meta({ id: 'Reason', description: 'Why; empty on ready' })
const message = z.string().describe('One line for people')

const evidence = z
  .object({
    type: z.enum(['event', 'log', 'condition', 'manifest']),
    title: z.string().describe('What the text is: `Log of pod/web-x, container app (previous)`'),
    text: z.string().describe('Text as the cluster reported it: not escaped for any use'),
  })
  .meta({ id: 'Evidence' })

const problem = z
  .object({
    reason: z.enum(reasonCodes),
    class: z
      .enum(['terminal', 'strike', 'slow'])
      .describe('terminal: only a new apply can fix it; strike: repetition proves it; slow: only a clock ends it'),
    subject: z.string().describe('The object that has the problem: `pod/web-fc8b-8xkbh`'),
    namespace: z.string().optional().describe('The namespace of the subject, if it is not that of the target'),
    container: z.string().optional(),
    chain: z
      .array(z.string())
      .optional()
      .describe('The objects from the target to the problem: `rollout/web`, `replicaset/web-688`, `pod/web-688-x`'),
    message,
    headline: z.string().optional().describe('A few words: `image acme/web:v9 not found`'),
    firstSeen: moment,
    count: z.number().int().nonnegative().describe('How often it was seen'),
    evidence: z.array(evidence),
  })
  .meta({ id: 'Problem' })

const milestone = z
  .object({
    name: z.string(),
    state: z.enum(['done', 'current', 'pending', 'failed', 'skipped']),
    at: moment
      .optional()
      .describe('When it was reached; the start of the gate if it was reached before, and no object shows when'),
    seconds: z
      .number()
      .optional()
      .describe('When it was reached, in seconds since the start of the gate; negative if before'),
    source: z.literal('object').optional().describe('Present if an object shows when it was reached'),
    message: z.string(),
  })
  .meta({ id: 'Milestone' })

const logLine = z
  .object({
    at: moment,
    kind: z.enum(['progress', 'problem', 'note', 'verdict']),
    outcome: z.enum(targetOutcomes).optional().describe('Of a verdict'),
    text: z.string(),
  })
  .meta({ id: 'LogLine' })

const target = z
  .object({
    target: z.string().describe('`deployment.apps/web`'),
    apiVersion: z.string(),
    kind: z.string(),
    namespace: z.string().optional().describe('Absent for cluster-wide objects'),
    name: z.string().describe('Empty when a selector matched nothing'),
    selector: z.string().optional().describe('The selector that matched nothing; empty for `--all`'),
    gate: z.string().optional().describe('In a merged report: the name of its gate'),
    context: z.string().optional().describe('In a merged report: the context of its cluster'),
    outcome: z.enum(targetOutcomes).describe('progressing: it was not done when the gate ended'),
    reason,
    message,
    form: z
      .enum(['predicate', 'clause', 'complete'])
      .optional()
      .describe('How the message follows the name: `web is paused`, `web: its selector …`, or it contains the name'),
    causedBy: z
      .string()
      .optional()
      .describe('The target that this one only waits for, so it is no failure of its own: `deployment.apps/web`'),
    causedByNamespace: z.string().optional().describe('The namespace of `causedBy`, if it is not that of the target'),
    hint: z.string().optional().describe('What to do; present on every target that is not ready'),
    source: z
      .object({ file: z.string(), line: z.number().int().positive() })
      .optional()
      .describe('The place that names it: a manifest, or the input `resources`'),
    endedAt: moment.optional().describe('When it became ready or ended; absent while it is progressing'),
    changedAt: moment.optional().describe('When its present version came; absent if unknown'),
    change: z
      .enum(['recent', 'none'])
      .optional()
      .describe(
        'recent: that version came within `require-change` before the gate, else within an hour; none: it is older, and was ready when the gate began, or `require-change` did not accept it',
      ),
    milestones: z.array(milestone),
    problems: z.array(problem),
    changes: z.array(z.string()).optional().describe('What differs from an older revision'),
    changesSince: z
      .number()
      .int()
      .optional()
      .describe('That revision: the one that was available when the gate began, else the latest one before'),
    notes: z.array(z.string()).optional().describe('Remarks without effect on the outcome'),
    log: z.array(logLine).optional().describe('What was logged about it, in its order'),
  })
  .meta({ id: 'Target' })

/** Matches undo commands without shell syntax: a merged report may be forged, and users may run its command. */
const undoCommands =
  /^(?:(?:kubectl(?: --context [\w.:/@+=-]+)? rollout undo|helm(?: --kube-context [\w.:/@+=-]+)? rollback)(?: [\w./=-]+)+(?: && (?!$))?)*$/

const wayBack = z
  .object({
    sentences: z.array(z.string()).describe('`Revision 6 (acme/web:v1) still serves with 2 of 2 pods.`'),
    command: z.string().regex(undoCommands).describe('`kubectl rollout undo …`; empty if none is known'),
  })
  .meta({ id: 'WayBack', description: 'What serves in place of what is not ready, and the way back to it' })

const gate = z
  .object({
    name: z.string().describe('The name in `merge`, else the context of its cluster or the path of its report'),
    path: z.string().describe('The path of its report'),
    outcome: z.enum(outcomes),
    reason,
    message,
    hint: z.string().optional(),
    startedAt: moment.optional().describe('Absent, as the next ones, if its report is missing'),
    finishedAt: moment.optional(),
    durationSeconds: z.number().nonnegative().optional(),
    cluster: z.object({ context: z.string(), version: z.string() }).optional(),
    wayBack: wayBack.optional(),
  })
  .meta({ id: 'Gate' })

const request = z
  .object({
    request: z.string().describe('The line as written, with `***` for the values of headers'),
    asked: z.number().int().nonnegative().describe('How many answers came or were missing'),
    errors: z.number().int().nonnegative().describe('How many of them were wrong or missing'),
    answers: z
      .array(
        z.object({
          at: moment,
          pod: z.string().optional(),
          status: z.number().int().optional(),
          seconds: z.number().optional(),
          body: z.string().optional().describe('Its beginning: not escaped for any use'),
          error: z.string().optional(),
          right: z.boolean(),
        }),
      )
      .describe('The latest ones'),
  })
  .meta({ id: 'Request' })

const run = z
  .object({
    id: z.string().describe('The number of the workflow run'),
    attempt: z.number().int().positive(),
    commit: z.string().describe('The commit that the gate belongs to'),
  })
  .meta({ id: 'Run' })

/** The report as JSON. Fields may be added to schema 1, but no field is renamed or removed. */
export const reportSchema = z.object({
  schema: z.literal(1),
  outcome: z.enum(outcomes),
  reason,
  message,
  startedAt: moment,
  finishedAt: moment,
  durationSeconds: z.number().nonnegative().describe('How long the gate took; of several gates, the longest'),
  cluster: z
    .object({ context: z.string(), version: z.string() })
    .describe('In a merged report, empty where the gates differ'),
  run: run.optional().describe('The workflow run of the gate; absent outside of a workflow'),
  hint: z.string().optional().describe('What to do, if the gate ended without judging its targets'),
  annotations: z
    .array(z.string())
    .optional()
    .describe('Annotations of objects that changed what is gated: `rollout-gate/skip of deployment/db`'),
  healthCheckKinds: z
    .array(z.string())
    .optional()
    .describe('The kinds of targets that expressions of `health-check-exprs` judged'),
  wayBack: wayBack.optional(),
  gates: z.array(gate).optional().describe('In a merged report: the gates in the order of `merge`'),
  httpChecks: z.array(request).optional().describe('The lines of the input `http-checks`, if there are any checks'),
  hold: z
    .object({
      seconds: z.number().nonnegative(),
      since: moment.optional().describe('When everything was ready and had answered; absent if that did not happen'),
    })
    .optional()
    .describe('The input `hold`'),
  targets: z.array(target),
})

/** The report of a single check (`why --json`). This is the published schema, because it also accepts gate reports. */
export const singleCheckSchema = reportSchema.extend({
  outcome: z
    .enum(targetOutcomes)
    .describe(
      'progressing: only of one look (`why --json`), if something is not ready yet and nothing stands in its way',
    ),
})

export type Report = z.infer<typeof reportSchema>
export type SingleCheckReport = z.infer<typeof singleCheckSchema>

/** The JSON Schema (draft 2020-12) of the report. `npm run docs` writes it to schemas/report.schema.json. */
export function reportJsonSchema(): object {
  // With `input`, objects may have other fields: readers of schema 1 must accept fields that are added later.
  return { ...z.toJSONSchema(singleCheckSchema, { io: 'input' }), title: 'Rollout Gate report' }
}
