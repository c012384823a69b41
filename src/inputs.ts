import * as z from 'zod/mini'
import { parseDuration } from './duration.ts'
import { didYouMean, type Mistake, quote, UserError } from './errors.ts'
import { type ExpectedImages, parseExpectedImages } from './plan/expected-images.ts'
import { parseMilestoneTimeouts } from './plan/milestones.ts'
import type { Reference } from './plan/references.ts'
import { parseStreamLogs } from './plan/stream-logs.ts'

/** What the user said, checked and with its units; defaults are filled in. */
export interface Inputs {
  /** The kubeconfig itself, base64 of it, or a path; absent: the usual places. */
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly namespace: string | undefined
  /** The lines as they were written, so that their numbers are the user's. */
  readonly resources: string
  readonly manifests: string
  /** Path of the user's own health checks. */
  readonly healthChecks: string | undefined
  /** Of the clocks, 0 is off. */
  readonly timeoutMs: number
  readonly stallTimeoutMs: number
  readonly settleTimeMs: number
  /** With the default for `created`. */
  readonly milestoneTimeoutsMs: Readonly<Record<string, number>>
  readonly maxRestarts: number
  readonly failFast: boolean
  readonly onSuperseded: 'fail' | 'pass'
  /** How long a target's change may take to arrive before it is judged; 0 judges what is there. */
  readonly awaitChangeMs: number
  readonly expectImages: ExpectedImages
  readonly logLines: number
  /** Whose containers' logs are shown live, of what is gated. */
  readonly streamLogs: readonly Reference[]
  /** Path of the recording to write. */
  readonly record: string | undefined
  readonly summary: boolean
  /** For the extras alone: the gate itself needs none. */
  readonly githubToken: string | undefined
  readonly checkRun: boolean
  readonly deploymentStatus: boolean
  readonly comment: boolean
  /** The names of the inputs that the user wrote himself: a clock that he wrote is taken literally. */
  readonly written: ReadonlySet<string>
}

/** What the token must be allowed to do for each of the extras on GitHub, by the input that turns it on. */
export const extraPermissions = {
  'check-run': 'checks: write',
  'deployment-status': 'deployments: write',
  comment: 'pull-requests: write',
} as const

/** The inputs of the extras: they decide nothing, and one is a secret. */
export const extraInputs: readonly string[] = ['github-token', ...Object.keys(extraPermissions)]

/** `line` counts from 1, where the text has lines. */
type Complain = (message: string, line?: number) => void
type Parse<T> = (text: string, complain: Complain) => T | undefined

/** What people read of an input; `default` is empty where there is none. */
interface Documentation {
  readonly default: string
  /** One sentence, the first of the input's description in `action.yml`. */
  readonly description: string
  /** Its value is written as Kubernetes writes durations. */
  readonly isDuration: boolean
}

const documentation = z.registry<Documentation>()

/** An input of the schema: its default, what it is, and how its text becomes a value. */
function input<T>(fallback: string, description: string, parse: Parse<T>) {
  const value = z.transform((text: string, context) => {
    let clean = true
    const parsed = parse(text, (message, line) => {
      clean = false
      context.issues.push({ code: 'custom', message, input: text, params: { line } })
    })
    return clean ? (parsed as T) : z.NEVER
  })
  return z.prefault(z.pipe(z.string(), value), fallback).register(documentation, {
    default: fallback,
    description,
    isDuration: (parse as unknown) === parseDuration,
  })
}

const text: Parse<string> = (written) => written
const optional: Parse<string | undefined> = (written) => (written === '' ? undefined : written)

/** Booleans of YAML 1.2's core schema, as all actions take them. */
const boolean: Parse<boolean> = (written, complain) => {
  if (/^(true|True|TRUE)$/.test(written)) return true
  if (/^(false|False|FALSE)$/.test(written)) return false
  complain(`${quote(written)} is neither true nor false. Write one of them.`)
  return undefined
}

function count(most: number): Parse<number> {
  return (written, complain) => {
    if (/^\d{1,9}$/.test(written) && Number(written) <= most) return Number(written)
    complain(`${quote(written)} is no whole number from 0 to ${most}.`)
    return undefined
  }
}

function oneOf<const W extends string>(...words: W[]): Parse<W> {
  return (written, complain) => {
    const word = words.find((word) => word === written)
    if (word === undefined) complain(`${quote(written)} is not one of ${words.join(', ')}.`)
    return word
  }
}

const createdTimeout = 'created=30s'

const milestoneTimeouts: Parse<Record<string, number>> = (written, complain) => ({
  ...parseMilestoneTimeouts(createdTimeout, complain),
  ...parseMilestoneTimeouts(written, complain),
})

const schema = z.object({
  kubeconfig: input('', 'The kubeconfig itself, base64 of it, or the path of an existing file.', optional),
  context: input('', 'The context of the kubeconfig to use.', optional),
  namespace: input('', 'The namespace of the resources that do not name one themselves.', optional),
  resources: input(
    '',
    'The resources to gate, one reference a line, written like the arguments of `kubectl wait`.',
    text,
  ),
  manifests: input('', 'Manifest files whose objects are gated: files, folders and globs, one a line.', text),
  timeout: input('10m', 'How long the whole gate may take.', parseDuration),
  'stall-timeout': input('5m', 'How long a resource may go without any progress.', parseDuration),
  'settle-time': input(
    '10s',
    'How long a container without a readiness probe must have run before it counts as ready.',
    parseDuration,
  ),
  'milestone-timeouts': input(
    createdTimeout,
    'How long single milestones of a rollout may take, each from the moment the one before it is done.',
    milestoneTimeouts,
  ),
  'max-restarts': input('2', 'How many restarts a container is forgiven before its resource fails.', count(1_000)),
  'fail-fast': input('true', 'Whether the gate ends shortly after the first resource that failed or stalled.', boolean),
  'on-superseded': input(
    'fail',
    'What becomes of the job when somebody else changed a resource while it was watched: `fail` or `pass`.',
    oneOf('fail', 'pass'),
  ),
  'expect-images': input(
    '',
    'The digests that must be the ones running, one `container=sha256:…` a line.',
    parseExpectedImages,
  ),
  'await-change': input(
    '0',
    "How long each resource's change may take to arrive before the resource is judged, for a gate that starts before the apply.",
    parseDuration,
  ),
  'health-checks': input(
    '',
    'The path of a YAML list of `{apiVersion, kind, current, failed, inProgress}` in CEL, as Flux writes its `healthCheckExprs`.',
    optional,
  ),
  'log-lines': input(
    '25',
    'How many of the last log lines of each failing container to show, of its current and of its previous run.',
    count(1_000),
  ),
  'stream-logs': input(
    '',
    'The gated resources whose logs are shown live, one reference a line, written as those of `resources`.',
    parseStreamLogs,
  ),
  record: input('', 'The path of a recording to write, to be replayed later with `rollout-gate replay`.', optional),
  summary: input('true', 'Whether to write the job summary.', boolean),
  'github-token': input('', 'The token for `check-run`, `deployment-status` and `comment`.', optional),
  'check-run': input('false', 'Whether to show the rollout as a check of the commit, live.', boolean),
  'deployment-status': input('false', 'Whether to write the status of a GitHub deployment.', boolean),
  comment: input('false', 'Whether to keep one comment on the pull request up to date.', boolean),
})

/** Every input, in the order of the documentation. */
export const inputs: readonly ({ readonly name: string } & Documentation)[] = Object.entries(schema.shape).map(
  ([name, part]) => ({ name, default: '', description: '', isDuration: false, ...documentation.get(part) }),
)

/** Says that there is no such input, and which one may have been meant. */
export function unknownInput(name: string): Mistake {
  const names = inputs.map((it) => it.name)
  const hint = didYouMean(name, names) || ` There are ${names.join(', ')}.`
  return { input: name, message: `There is no input of this name.${hint}` }
}

/**
 * Reads what the action's inputs or the command line's flags say.
 *
 * @param raw texts by the names of `inputs`; blank is not written, and so is absent
 * @param further mistakes that were found in the same texts elsewhere, to be told together
 * @throws UserError with all mistakes at once
 */
export function parseInputs(
  raw: Readonly<Record<string, string | undefined>>,
  further: readonly Mistake[] = [],
): Inputs {
  const written = new Map<string, string>()
  for (const [name, value] of Object.entries(raw)) {
    // Lines keep their numbers only when nothing is trimmed off.
    const isLines = ['resources', 'manifests', 'stream-logs'].includes(name)
    if (value?.trim()) written.set(name, isLines ? value : value.trim())
  }
  const unknown = [...written.keys()].filter((name) => !Object.hasOwn(schema.shape, name)).map(unknownInput)
  const result = z.safeParse(schema, Object.fromEntries(written))
  const wrong = (result.error?.issues ?? []).map(mistakeOf)
  const mistakes = [...unknown, ...wrong, ...tokenless(written), ...further]
  if (!result.success || mistakes.length > 0) throw new UserError(mistakes)

  const { data } = result
  return {
    kubeconfig: data.kubeconfig,
    context: data.context,
    namespace: data.namespace,
    resources: data.resources,
    manifests: data.manifests,
    healthChecks: data['health-checks'],
    timeoutMs: data.timeout,
    stallTimeoutMs: data['stall-timeout'],
    settleTimeMs: data['settle-time'],
    milestoneTimeoutsMs: data['milestone-timeouts'],
    maxRestarts: data['max-restarts'],
    failFast: data['fail-fast'],
    onSuperseded: data['on-superseded'],
    awaitChangeMs: data['await-change'],
    expectImages: data['expect-images'],
    logLines: data['log-lines'],
    streamLogs: data['stream-logs'],
    record: data.record,
    summary: data.summary,
    githubToken: data['github-token'],
    checkRun: data['check-run'],
    deploymentStatus: data['deployment-status'],
    comment: data.comment,
    written: new Set(written.keys()),
  }
}

function mistakeOf(issue: z.core.$ZodIssue): Mistake {
  const line = issue.code === 'custom' ? issue.params?.['line'] : undefined
  const { path, message } = issue
  return { input: String(path[0]), message, ...(typeof line === 'number' ? { line } : {}) }
}

/** The extras that are on without the token that they need. */
function tokenless(written: ReadonlyMap<string, string>): Mistake[] {
  if (written.has('github-token')) return []
  return Object.entries(extraPermissions)
    .filter(([name]) => written.get(name)?.toLowerCase() === 'true')
    .map(([input, permission]) => ({
      input,
      message: `It needs a token. Write \`github-token: \${{ github.token }}\` beside it, and give the job the permission \`${permission}\`.`,
    }))
}
