import { z } from 'zod'
import type { Target } from '../plan/target.ts'
import { answerBodyCharacters } from '../thresholds.ts'
import type { RecordingHeader } from './writer.ts'

// The schema of the lines of a recording. Only readers of recordings load this module, because zod takes 40 ms to load.
const moment = z.iso.datetime().describe('A moment in UTC, ISO 8601')
const at = moment.describe('When this was observed, in UTC, ISO 8601')

/** The fields that identify a watch: the objects that it reads. */
const request = {
  apiVersion: z.string(),
  kind: z.string(),
  namespace: z.string().optional().describe('Absent: all namespaces, or a cluster-wide kind'),
  name: z.string().optional().describe('Present if only this object is watched'),
  labelSelector: z.string().optional().describe('Present if only objects with these labels are watched'),
}
const anyRequest = {
  ...request,
  apiVersion: request.apiVersion.optional().describe('Absent if this concerns every watch'),
  kind: request.kind.optional(),
}

const object = z
  .looseObject({
    apiVersion: z.string(),
    kind: z.string(),
    metadata: z.looseObject({ name: z.string() }),
  })
  .meta({ id: 'KubeObject', description: 'The object as the API server returned it, after redaction' })

/** A duration in milliseconds, at most a year. */
const clock = z
  .number()
  .min(0)
  .max(365 * 86_400_000)
const index = z.number().int().min(0)
const names = z.array(z.string())

const target = z
  .looseObject({
    apiVersion: z.string(),
    kind: z.string(),
    namespace: z.string().optional(),
    name: z.string().describe('Empty when a selector matched nothing'),
    selector: z.string().optional().describe('The selector that matched nothing'),
    clocks: z
      .object({
        timeoutMs: clock.optional(),
        stallTimeoutMs: clock.optional(),
        requireChangeMs: clock.optional(),
        milestoneTimeoutsMs: z.record(z.string(), clock).optional(),
      })
      .describe('Its own clocks, in milliseconds; 0 is off'),
    revisions: z
      .array(
        z.object({
          source: z.string().optional(),
          revision: z.string(),
          older: names.optional().describe('Commits of the checkout before it'),
          newer: names.optional().describe('Commits of the checkout after it'),
        }),
      )
      .optional()
      .describe('The revisions that its operator must have deployed'),
    waitFor: z
      .union([
        z.object({ type: z.literal('condition'), condition: z.string(), status: z.string() }),
        z.object({ type: z.literal('jsonpath'), path: z.string(), value: z.string().optional() }),
        z.object({ type: z.enum(['create', 'delete']) }),
      ])
      .optional()
      .describe('What `--for` waits for'),
    manifest: object.optional().describe('What its manifest contains, without secrets'),
    applied: z.string().optional().describe('What kubectl printed about it: `unchanged`, `configured`'),
    hook: z
      .object({
        annotation: z.string(),
        removal: z.string().optional().describe('The annotation by which its tool removes it after success'),
      })
      .optional()
      .describe('The annotation that makes it a hook of Helm or Argo CD'),
    source: z
      .object({ file: z.string(), line: z.number().int().positive() })
      .optional()
      .describe('The place that names it: a manifest, or the input `resources`'),
  })
  .meta({ id: 'Target' })

/** A hundred years. */
const maxOffsetMs = 3_153_600_000_000
const scalar = z.union([z.string(), z.number(), z.boolean()])
const input = z.union([scalar, z.array(scalar)])

const header = z
  .object({
    recording: z.literal('rollout-gate/v1'),
    startedAt: moment,
    server: z.string().describe('The version of the API server'),
    context: z.string().describe('The context of the kubeconfig'),
    serverOffsetMs: z.number().min(-maxOffsetMs).max(maxOffsetMs).describe("The server's clock minus this machine's"),
    inputs: z.record(z.string(), input).describe('The inputs as written, without defaults and credentials'),
    targets: z.array(target).optional().describe('What the inputs selected'),
  })
  .meta({ id: 'Header' }) satisfies z.ZodType<Omit<RecordingHeader, 'targets'>>

const resource = z
  .object({
    group: z.string(),
    version: z.string(),
    kind: z.string(),
    plural: z.string(),
    singular: z.string().optional(),
    shortNames: names.optional(),
    categories: names.optional(),
    namespaced: z.boolean(),
    status: z.boolean().describe('Whether it has a status subresource'),
    verbs: names.optional(),
  })
  .meta({ id: 'ApiResource' })

const log = {
  namespace: z.string(),
  pod: z.string(),
  container: z.string(),
  previous: z.boolean().describe('Whether this is the log of the run before the last restart'),
  text: z.string(),
  why: z.string().optional().describe('Why the log could not be read'),
}
const answer = {
  check: index.describe('Index of the line in the input `http-checks`, counted from 0'),
  pod: z.string().describe('The pod that was asked'),
  namespace: z.string().optional(),
  status: index.max(999).optional().describe('The HTTP status'),
  seconds: clock.optional().describe('How long the answer took'),
  body: z.string().optional().describe(`The first ${answerBodyCharacters} characters of the body, redacted`),
  matches: z.boolean().optional().describe('Whether the body contains the text of `--expect-body`'),
  error: z.string().optional().describe('Why there is no answer'),
  location: z.string().optional().describe('Where a redirect leads'),
}
const failure = {
  code: z.number().int().describe('The HTTP status; 0 without an answer'),
  message: z.string(),
  ...anyRequest,
  lastSuccessAt: moment.optional().describe('When the watch last succeeded'),
  final: z.boolean().optional().describe('The credentials were refused, read again, and refused again'),
}

const event = z
  .discriminatedUnion('type', [
    z.object({ at, type: z.literal('DISCOVERY'), resources: z.array(resource) }),
    z.object({ at, type: z.enum(['ADDED', 'MODIFIED', 'DELETED']), object }),
    z.object({ at, type: z.literal('SYNCED'), ...request }).describe('The first list of a watch is complete'),
    z.object({ at, type: z.literal('ERROR'), ...failure }).describe('A request failed'),
    z.object({ at, type: z.literal('ALIVE'), ...anyRequest }).describe('A watch recovered'),
    z.object({ at, type: z.literal('LOG'), ...log }),
    z.object({ at, type: z.literal('ANSWER'), ...answer }).describe('The answer to a request'),
    z.object({ at, type: z.literal('CANCEL') }).describe('The job was cancelled'),
    z.object({ at, type: z.literal('END') }).describe('The recording is complete'),
  ])
  .meta({ id: 'Event' })

/** A line of a recording: the first line is the header, all others are events. */
export const recordingLineSchema = z.union([header, event])

/** `recordingLineSchema` as JSON Schema (draft 2020-12); `npm run docs` writes it to schemas/recording.schema.json. */
export function recordingJsonSchema(): object {
  // With `input`, the schema permits unknown fields: later versions may add fields.
  return { ...z.toJSONSchema(recordingLineSchema, { io: 'input' }), title: 'Rollout Gate recording line' }
}

/** The schema for reading a header. A handwritten header may omit most fields. */
const writtenHeader = header.omit({ recording: true, targets: true }).extend({ startedAt: z.string() }).partial()
/** The schemas for reading events without an object, by their type. */
const written: Readonly<Record<string, z.ZodType>> = {
  DISCOVERY: z.object({ resources: z.array(resource.partial({ namespaced: true, status: true })) }),
  SYNCED: z.object(request),
  ALIVE: z.object(anyRequest),
  LOG: z.object(log).partial(),
  ANSWER: z.object(answer).partial({ pod: true }),
  ERROR: z.object({ ...failure, lastSuccessAt: z.string() }).partial(),
  CANCEL: z.object({}),
  END: z.object({}),
}
const writtenTargets = z.array(target.partial({ clocks: true }))

/** Which field of a header has the wrong type; undefined if none. Targets are not checked. */
export function headerMistake(line: object): string | undefined {
  return schemaMistake(line, writtenHeader)
}

/** What is wrong with an event that has no object; undefined if the event is valid. */
export function eventMistake(type: string, line: object): string | undefined {
  const schema = Object.hasOwn(written, type) ? written[type] : undefined
  return schema === undefined ? `${type} is unknown to this version` : schemaMistake(line, schema)
}

function schemaMistake(line: object, schema: z.ZodType): string | undefined {
  const [issue] = schema.safeParse(line).error?.issues ?? []
  return issue && `${issue.path.join('.')} is missing or has the wrong type`
}

/** Whether the targets of a header have the types that the gate expects. */
export function areTargets(value: unknown): value is readonly Target[] {
  return writtenTargets.safeParse(value).success
}
