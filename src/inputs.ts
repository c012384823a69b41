import { formatDuration, parseDuration } from './duration.ts'
import { type AddMistake, didYouMean, type Mistake, quote, UserError } from './errors.ts'
import {
  boolean,
  jobValues,
  lines,
  listOf,
  number,
  oneOf,
  optionalDuration,
  type Parse,
  pattern,
  requiredDuration,
  text,
  type ValueType,
  writtenLines,
} from './input-types.ts'
import {
  answersProven,
  answersProvenMs,
  awaitRevisionMs,
  deathsProvenMs,
  defaultCreatedTimeoutMs,
  defaultLogLines,
  defaultMaxRestarts,
  defaultRequestTimeoutMs,
  defaultSettleTimeMs,
  defaultStallTimeoutMs,
  defaultTimeoutMs,
  failFastMs,
  lastAnswerMs,
  liveLogHeadBytes,
  liveLogHeadLines,
  liveLogIntervalMs,
  liveLogLines,
  liveLogStreams,
  liveLogTailLines,
  logLineBytes,
  recentVersionMs,
  reportedFailureMs,
  shownHistoryMs,
} from './thresholds.ts'

/* Every input: its name, parser, default and documentation. Reads the inputs. */

/** A number with commas: `4,000`. `toLocaleString` would load the data of all languages, which takes 20 ms. */
function groupDigits(number: number): string {
  return String(number).replace(/\B(?=(?:\d{3})+$)/g, ',')
}

/** A text with a Markdown list below. */
function textWithList(text: string, ...items: string[]): string {
  return `${text}\n\n${items.map((item) => `- ${item}\n`).join('')}`
}

/** The groups of inputs, in the order of the documentation. */
export const inputGroups = [
  'What to gate',
  'Where',
  'Clocks',
  'Verdict',
  'After ready',
  'Log and files',
  'GitHub',
] as const

/** `gate`: the action in `action.yml`, and the command line. `merge`: the action in `merge/action.yml`. */
export type ActionName = 'gate' | 'merge'

/** An input, as the documentation, `action.yml` and the command line show it. */
export interface InputDefinition {
  readonly name: string
  readonly group: (typeof inputGroups)[number]
  /** The default as text. If there is no constant default, empty, and `details` describes the default. */
  readonly default: string
  /** One sentence, which the command line's help shows too. */
  readonly description: string
  /** Further sentences for `action.yml`. */
  readonly details: string
  /** The name of the value in the help: `DURATION`. Empty for a switch. */
  readonly placeholder: string
  readonly isLines: boolean
  /** The default in `action.yml`, an expression for the runner; empty if it declares no default. */
  readonly runnerDefault: string
  /** Whether a recording contains the input. Always false for secrets. */
  readonly isRecorded: boolean
  /** Whether a replay uses the recorded input, and has a flag for it. By default, as `isRecorded`. */
  readonly isReplayed: boolean
  readonly actions: readonly ActionName[]
  /** The flag of the command line. `hidden`: accepted, but not in the help. `none`: there is no flag. */
  readonly flag: 'shown' | 'hidden' | 'none'
}

interface TypedInput<T> extends InputDefinition {
  readonly parse: Parse<T>
}

type Row = Pick<InputDefinition, 'name' | 'group' | 'description'> & Partial<Omit<InputDefinition, 'isLines'>>

function defineInput<T>(
  { isLines = false, placeholder, parse }: ValueType<T>,
  { isRecorded = true, ...row }: Row,
): TypedInput<T> {
  const defaults = { default: '', runnerDefault: '', details: '', actions: ['gate'], flag: 'shown' } as const
  const ofType = { parse, isLines, placeholder: placeholder ?? row.name.toUpperCase() }
  return { ...defaults, ...ofType, isRecorded, isReplayed: isRecorded, ...row }
}

/** The milestones of all kinds. Their names are a contract: inputs, reports and recordings contain them. */
export const milestoneNames = [
  'created',
  'observed',
  'ready',
  'replicaset',
  'scheduled',
  'pulled',
  'started',
  'available',
  'drained',
  'updated',
  'promoted',
  'released',
  'initialized',
  'running',
  'succeeded',
  'complete',
  'endpoints',
  'address',
  'provisioned',
  'bound',
  'backends',
  'revision',
  'route',
  'infrastructure',
  'controlplane',
  'node',
  'answers',
  'held',
] as const

export type MilestoneName = (typeof milestoneNames)[number]

/**
 * Parses `scheduled=2m, ready=5m`, separated by commas or line breaks.
 * @returns milliseconds by milestone, without invalid entries
 */
export function parseMilestoneTimeouts(text: string, addMistake: AddMistake): Record<string, number> {
  const timeouts = new Map<string, number>()
  for (const entry of text.split(/[,\r\n]/)) {
    const written = entry.trim()
    if (written === '') continue
    const equals = written.indexOf('=')
    const name = written.slice(0, Math.max(0, equals)).trim()
    if (name === '') {
      addMistake(`${quote(written)} is not a milestone with a duration. Write milestone=duration, like ready=5m.`)
    } else if (!milestoneNames.some((known) => known === name)) {
      addMistake(`No kind has a milestone ${quote(name)}.${didYouMean(name, milestoneNames)}`)
    } else if (timeouts.has(name)) {
      addMistake(`The milestone ${name} is given twice. Keep one of them.`)
    } else {
      const milliseconds = parseDuration(written.slice(equals + 1), (message) => addMistake(`${name}: ${message}`))
      if (milliseconds !== undefined) timeouts.set(name, milliseconds)
    }
  }
  return Object.fromEntries(timeouts)
}

const createdTimeout = `created=${formatDuration(defaultCreatedTimeoutMs)}`

const milestoneTimeouts: ValueType<Readonly<Record<string, number>>> = {
  placeholder: 'LIST',
  parse: (written, addMistake) => ({
    ...parseMilestoneTimeouts(createdTimeout, addMistake),
    ...parseMilestoneTimeouts(written, addMistake),
  }),
}

/** The expected digests. The keys are names of containers. */
export type ExpectedImages = Readonly<Record<string, string>>

/**
 * Parses lines `container=sha256:…`, with a digest as in the output of `docker/build-push-action`. An image name may
 * precede the digest: `app=registry/app@sha256:…`. `#` starts a comment.
 * @returns digests by container, without invalid lines
 */
function parseExpectedImages(text: string, addMistake: AddMistake): ExpectedImages {
  const expected = new Map<string, string>()
  for (const { text: line } of writtenLines(text)) {
    const written = line.replace(/\s#.*$/s, '').trim()
    const [, container, digest] = /^([^\s=]+)\s*=\s*(?:\S+@)?(sha256:[0-9a-f]{64})$/.exec(written) ?? []
    if (container === undefined || digest === undefined) {
      addMistake(
        `${quote(written)} is not a container with a digest. Write container=sha256:… with 64 hexadecimal digits.`,
      )
    } else if (expected.has(container)) addMistake(`The container ${container} is given twice. Keep one of them.`)
    else expected.set(container, digest)
  }
  return Object.fromEntries(expected)
}

const commitId = pattern(
  /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i,
  'the id of a commit. Write all of its 40 hexadecimal digits, not a branch, a tag or a short id',
)
/** GitHub rejects other names of environments. */
const environmentPattern = pattern(
  /^[^'"`,;\\\p{Cc}]{1,255}$/u,
  'the name of an environment: one line of at most 255 characters, none of them \' " ` , ; or \\',
)
const webAddress = pattern(/^https?:\/\/[^\s/]+\S*$/i, 'a web address. Write one that begins with https:// or http://')

/** The extras, as in `report-to`: the permission that each needs, the event that its writes cause, and its output. */
export const knownExtras = {
  'commit-status': { permission: 'statuses: write', event: 'status', output: undefined },
  deployment: { permission: 'deployments: write', event: 'deployment_status', output: 'deployment-id' },
  comment: { permission: 'pull-requests: write', event: 'issue_comment', output: 'comment-url' },
} as const

/** The name of an extra, as in `report-to`. */
export type ExtraName = keyof typeof knownExtras

const extraNames = Object.keys(knownExtras) as readonly ExtraName[]

const both: readonly ActionName[] = ['gate', 'merge']

/** Shared by the inputs of the extras. They have no flags, because extras need a workflow run. */
const forGitHub = { group: 'GitHub', isRecorded: false, actions: both, flag: 'none' } as const

/**
 * Every input, in the order of the documentation. The keys are properties of `Inputs`. From this table, `npm run docs`
 * generates the inputs of `action.yml`.
 */
const definitions = {
  kubeconfig: defineInput(text, {
    name: 'kubeconfig',
    group: 'Where',
    isRecorded: false,
    description: 'The kubeconfig as text, as base64, or as the path of an existing file.',
    details:
      "Its content is masked in the log, kept in memory and never written to disk. Store it as a secret in base64 (`base64 -w0`): the runner masks each line of a secret with several lines in every log. If it is empty, as with a missing secret, the gate uses the file in the environment variable `KUBECONFIG`, else `~/.kube/config`; the log shows which. The service account of the runner's pod is used only with `context: in-cluster`.",
  }),
  context: defineInput(text, {
    name: 'context',
    group: 'Where',
    isRecorded: false,
    description: 'The context of the kubeconfig to use.',
    details:
      'With `in-cluster` and without `kubeconfig`, the service account of the pod that the job runs in is used. Default: the current context.',
  }),
  namespace: defineInput(text, {
    name: 'namespace',
    group: 'Where',
    description: 'The namespace of resources without one.',
    details:
      'A line of `resources` overrides it with `-n`. It also applies to the output of kubectl, which contains no namespaces. Default: the namespace of the context.',
  }),
  resources: defineInput(lines, {
    name: 'resources',
    group: 'What to gate',
    flag: 'hidden',
    description: 'The resources to gate, one reference per line, in the form of the arguments of `kubectl wait`.',
    details:
      'For example `deployment/web`, `job/migrate --timeout=20m`, `helm/web`, or what `kubectl apply` printed: [how a reference is written](#how-a-reference-is-written). Required unless `manifests` is set; with both, the resources of both are gated.',
  }),
  manifests: defineInput(lines, {
    name: 'manifests',
    group: 'What to gate',
    isReplayed: false,
    description: 'Manifests whose objects are gated: files, folders and globs, one per line.',
    details:
      'Paths are relative to the workspace. A folder means its own files that end in `.yaml`, `.yml` or `.json`, as for `kubectl apply -f`; `k8s/**` means those of all subfolders too, as `--recursive`. `!` before a line excludes its files, `#` starts a comment. Render kustomizations and Helm charts to a file first. Hooks of Helm and Argo CD are [read](gitops-and-helm.md#helm) too. Problems refer to the line of the object, and a warning lists fields of the live objects that differ from their manifests. Annotations of the objects [set options](recipes.md#settings-on-an-object).',
  }),
  timeoutMs: defineInput(requiredDuration, {
    name: 'timeout',
    group: 'Clocks',
    default: formatDuration(defaultTimeoutMs),
    description: 'Maximum time of the whole gate.',
    details:
      "A duration as in Kubernetes: `90s`, `5m`, `1h30m`; `0` turns the clock off. After this time, every resource that is not ready is `timed-out`. A longer `--timeout` of a reference extends the gate's timeout; if you set both, a longer one is a mistake.",
  }),
  stallTimeoutMs: defineInput(requiredDuration, {
    name: 'stall-timeout',
    group: 'Clocks',
    default: formatDuration(defaultStallTimeoutMs),
    description: 'Maximum time of a resource without progress.',
    details:
      'A reached milestone or a changed counter is progress; a restart is not. `0` turns the clock off. By default the clock pauses while the resource itself defines a time limit, such as a startup probe. If you set a value, it does not pause.',
  }),
  settleTimeMs: defineInput(requiredDuration, {
    name: 'settle-time',
    group: 'Clocks',
    default: formatDuration(defaultSettleTimeMs),
    description: 'How long a container without a readiness probe must run before it counts as ready.',
    details:
      'Containers that crash soon after their start look ready for a moment. A container that has crashed must stay ready for the same time, also with a readiness probe. A custom resource that was ready before its change must stay ready for the same time, unless its Ready condition has changed since. `0` turns both off.',
  }),
  milestoneTimeoutsMs: defineInput(milestoneTimeouts, {
    name: 'milestone-timeouts',
    group: 'Clocks',
    default: createdTimeout,
    description: 'Maximum times of single milestones, each from the end of the previous milestone.',
    details:
      'Separated by commas or line breaks: `scheduled=2m, ready=5m`. Your values are added to the default; `created=0` turns the default off. A milestone that no gated kind has is a mistake.',
  }),
  maxRestarts: defineInput(number, {
    name: 'max-restarts',
    group: 'Verdict',
    default: String(defaultMaxRestarts),
    description: 'Number of restarts that a container may have before its resource fails.',
    details: `With \`2\`, its third crash fails the resource, ${deathsProvenMs / 1_000} seconds after the first at the earliest.`,
  }),
  failFast: defineInput(boolean, {
    name: 'fail-fast',
    group: 'Verdict',
    default: 'true',
    description: 'Whether the gate ends shortly after the first resource that failed or stalled.',
    details: `With \`true\` the gate waits ${failFastMs / 1_000} more seconds for other failures; with \`false\` every resource runs to its own end.`,
  }),
  onSuperseded: defineInput(oneOf('fail', 'pass'), {
    name: 'on-superseded',
    group: 'Verdict',
    default: 'fail',
    actions: both,
    description: 'The result of the job if another deployment changed a resource during the wait: `fail` or `pass`.',
    details: '`pass` applies only if every other resource is ready, and never to a rollback.',
  }),
  expectImages: defineInput<ExpectedImages>(
    { parse: parseExpectedImages },
    {
      name: 'expect-images',
      group: 'What to gate',
      description: 'The image digests that must run, one `container=sha256:…` per line.',
      details:
        'If the pods are ready and a container of that name runs another digest, its resource fails with `image-mismatch`: the tag was moved, or another version was deployed. The resource also fails if no gated pod has such a container.',
    },
  ),
  awaitChangeMs: defineInput(requiredDuration, {
    name: 'await-change',
    group: 'Clocks',
    default: '0',
    description: 'Maximum time until the change of each resource arrives, for a gate that starts before the apply.',
    details: textWithList(
      'Until then, the resource still has its old version, which may be healthy. If its change does not arrive, it is `stalled` with `change-not-seen`, never ready. `0` judges it at once. The change has arrived:',
      'with `manifests`: when what was applied last equals the file, removals included (`kubectl apply` and server-side apply record it); without that record, when each field that differed matches;',
      'with `expect-images`: when the digest in its spec matches; if the spec has a tag, when the image is another one, or the pods run the digest;',
      'without both: when it is created, its generation increases or a client writes it. A scale by an autoscaler is not the change;',
      `with \`--revision\`: when its operator begins to deploy that revision. It waits ${awaitRevisionMs / 60_000} minutes by default, then is \`stalled\` with \`wrong-revision\`. The default \`timeout\` counts from then; \`0\` sets no limit of its own.`,
    ),
  }),
  requireChangeMs: defineInput(optionalDuration, {
    name: 'require-change',
    group: 'Verdict',
    description: 'Maximum age of what is gated: a resource whose version is older when the gate begins fails.',
    details: `For a deployment that may ship nothing: the image has the previous tag, the updater was late, or the apply went to another namespace. A Deployment, ReplicaSet, ReplicationController, StatefulSet, DaemonSet, Pod or Job whose pod template is older fails at once with \`not-changed\`; a scale, a label or a status makes no new version. With \`await-change\`, its age is asked when its change has arrived, or has not arrived in time. Default: none; the age is shown, and what is ready at the start with a version older than ${formatDuration(recentVersionMs)} is reported as unchanged. \`--require-change\` of a reference applies only to it.`,
  }),
  healthCheckExprs: defineInput(text, {
    name: 'health-check-exprs',
    group: 'What to gate',
    description:
      'The path of a YAML list of `{apiVersion, kind, current, failed, inProgress}` in CEL, as in `healthCheckExprs` of Flux.',
    details: `Each entry decides for all gated custom resources of its kind: \`inProgress\` first, then \`failed\`, which must persist for ${reportedFailureMs / 1_000} seconds, then \`current\`. An entry may have [more fields](operators.md#entries). The \`--for\` of a reference takes precedence. Default: none; kinds are judged by their own rules.`,
  }),
  httpChecks: defineInput(lines, {
    name: 'http-checks',
    group: 'After ready',
    placeholder: 'REQUEST',
    description: 'HTTP requests that the new pods must answer, one per line: a reference, a method and a path.',
    details: textWithList(
      'For example `service/web GET /healthz` or `deployment/web:8080 GET /version --each-pod --expect-body=v2`.',
      'A reference is one of the gated resources: one with pods, also a custom one, or a Service (the pods behind it). Its port may be left out if it has only one.',
      'Only ready pods of the new revision are asked, through the API server, once the resource is ready.',
      `The resource is ready only after a right answer, and fails after ${answersProven} wrong or missing answers in a row by one pod in ${answersProvenMs / 1_000} seconds or more (\`wrong-answer\`, \`no-answer\`).`,
      `Flags of a line: \`-n\`, \`--expect-status=200-299\`, \`--expect-body=TEXT\`, \`--header='Name: value'\` (a credential is masked), \`--scheme=https\`, \`--timeout=${formatDuration(defaultRequestTimeoutMs)}\`, \`--times=1\` (right answers in a row), \`--each-pod\`.`,
    ),
  }),
  holdMs: defineInput(requiredDuration, {
    name: 'hold',
    group: 'After ready',
    default: '0',
    description: 'How long everything must stay ready, and go on answering, before the gate passes.',
    details: textWithList(
      'It begins when everything is ready and has answered; `timeout` counts up to then.',
      'A container of the new revision that dies, or a pod that loses readiness, ends the gate as `failed`, with `not-held`.',
      'A pod that a scale adds, or that replaces an evicted or deleted one, has the rest of the time to become ready.',
      'A resource without pods of its own, such as an autoscaler, may be not ready meanwhile, but not fail, and must be ready at the end.',
      `A wrong or missing answer at the end is asked again until it is cleared or proven; if no request reaches a pod within ${lastAnswerMs / 1_000} seconds, the gate is \`unknown\`.`,
    ),
  }),
  logLines: defineInput(number, {
    name: 'log-lines',
    group: 'Log and files',
    default: String(defaultLogLines),
    isReplayed: false,
    description: 'Number of last log lines to show of each failing container, for its current and its previous run.',
    details:
      '`0` shows none and requests none. They are shown in the job log and the job summary; in a comment and the report only if the repository is private.',
  }),
  streamLogs: defineInput(lines, {
    name: 'stream-logs',
    group: 'Log and files',
    placeholder: 'REFERENCE',
    isRecorded: false,
    description: 'The gated resources whose logs are shown live, one reference per line, in the form of `resources`.',
    details: textWithList(
      'For example `job/migrate`, or any other kind that runs pods.',
      'All containers of the new pods are shown, also init containers and sidecars; each line begins with its pod and container.',
      'A reference without `-n` means every gated resource of its name; one without a match is a mistake.',
      `For each container, the first ${liveLogHeadLines} lines (${liveLogHeadBytes / 1024} KiB) are shown at once, then the newest ${liveLogTailLines} every ${liveLogIntervalMs / 1_000} seconds, and the last ${liveLogTailLines} at its end. Omitted lines are counted, and lines are cut at ${groupDigits(logLineBytes)} bytes.`,
      `At most ${liveLogStreams} logs are read at a time, and ${groupDigits(liveLogLines)} lines are shown in total, besides the last ones. Lines from more than ${shownHistoryMs / 60_000} minutes before the gate are not shown.`,
      'A log that cannot be read is a warning, and does not change the outcome.',
    ),
  }),
  record: defineInput(text, {
    name: 'record',
    group: 'Log and files',
    placeholder: 'FILE',
    isRecorded: false,
    description: 'The path of a recording to write, for a later `rollout-gate replay`.',
    details:
      'The recording contains everything that was watched, but no credentials and no data of Secrets. It is compressed if its name ends in `.gz`. Default: none.',
  }),
  reports: defineInput(lines, {
    name: 'reports',
    group: 'What to gate',
    isRecorded: false,
    actions: ['merge'],
    flag: 'none',
    description:
      'The reports of the gates, one path per line, or `name=path`, such as `prod-eu=reports/prod-eu/report.json`.',
    details:
      'Each is a file of the output `report`. The gravest outcome decides: `cancelled`, `unknown`, `misconfigured`, `failed`, `superseded`, `stalled`, `timed-out`, `ready`. A gate whose report is missing did not run: it decides only if nothing failed. A pattern (`reports/**/report.json`) gives each gate the part of the path that differs as its name; name each expected report without a pattern to notice one that is missing. A file that is no report is a mistake.',
  }),
  summary: defineInput(boolean, {
    name: 'summary',
    group: 'Log and files',
    default: 'true',
    isReplayed: false,
    actions: both,
    flag: 'none',
    description: 'Whether to write the job summary.',
    details: 'The file of the output `summary-file` is always written.',
  }),
  githubToken: defineInput(text, {
    name: 'github-token',
    ...forGitHub,
    description: 'The token for `report-to`.',
    details:
      'Nothing else needs a token. The token of the job, `github.token`, suffices if the job has the permissions that `report-to` needs. The token is masked in the log. Default: none.',
  }),
  reportTo: defineInput(listOf<ExtraName>(...extraNames), {
    name: 'report-to',
    ...forGitHub,
    description:
      'Where the rollout is shown on GitHub, live: any of `commit-status`, `deployment` and `comment`, separated by commas or line breaks.',
    details: `\`commit-status\` is one line with a link to the log (permission \`${knownExtras['commit-status'].permission}\`): a branch rule can require it by its name. \`deployment\` is the status of the deployment that triggered the workflow, else of a new one (\`${knownExtras.deployment.permission}\`); a merge creates none. \`comment\` is one comment on the pull request (\`${knownExtras.comment.permission}\`). Needs \`github-token\`. Default: none.`,
  }),
  name: defineInput(pattern(/^\P{Cc}{1,200}$/u, 'a name: one line of at most 200 characters'), {
    name: 'name',
    ...forGitHub,
    description: 'The name of the gate on GitHub: of its commit status and its comment.',
    details:
      "Set one that never changes and that no other gate of the commit has ([why](merging.md#commit-status)). Values of the job's matrix that are no word of it are appended, so that each leg has its own name; `job: ''` turns that off. Default: what is gated, as the inputs contain it, the workflow, the job and the values of its matrix. A short hash replaces what is too long.",
  }),
  sha: defineInput(commitId, {
    name: 'sha',
    ...forGitHub,
    description: 'The commit that the commit status and the deployment belong to, as a full id.',
    details: 'Default: the commit of the event, for a pull request its head, else `GITHUB_SHA`.',
  }),
  environment: defineInput(environmentPattern, {
    name: 'environment',
    ...forGitHub,
    actions: ['gate'],
    description: 'The environment of the deployment that `report-to: deployment` creates.',
    details:
      "The environment of an open pull request is transient. If a deployment triggered the workflow, its own environment is used. Default: the cluster's context and the namespace, as in `prod/shop`; only the context if the resources are in several namespaces.",
  }),
  environmentUrl: defineInput(webAddress, {
    name: 'environment-url',
    ...forGitHub,
    actions: ['gate'],
    description: 'The web address of the deployed application, to which the deployment links.',
    details: 'Default: none.',
  }),
  job: defineInput(jobValues, {
    name: 'job',
    runnerDefault: `{"matrix": \${{ toJSON(matrix) }}, "index": \${{ toJSON(strategy.job-index) }}, "id": \${{ toJSON(job.check_run_id) }} }`,
    ...forGitHub,
    description: 'The matrix and the number of the job, for `name` and for links to its log.',
    details: 'Leave it out: the runner fills it in.',
  }),
}

type Definitions = typeof definitions

/** The values of all inputs, with defaults. Durations are in milliseconds. A timeout of 0 is off. */
export type Inputs = {
  readonly [P in keyof Definitions]: Definitions[P] extends TypedInput<infer T> ? T : never
} & {
  /** The texts that the user wrote, by the name of the input. It shows, for example, whether the user set a timeout. */
  readonly written: ReadonlyMap<string, string>
}

/** Whether `http-checks` or `hold` is set. If not, the gate does not load their code. */
export function hasChecks({ written }: Pick<Inputs, 'written'>): boolean {
  return ['http-checks', 'hold'].some((name) => written.has(name))
}

const allDefinitions: readonly InputDefinition[] = Object.values(definitions)

function definitionsOf(action: ActionName): readonly InputDefinition[] {
  return allDefinitions.filter(({ actions }) => actions.includes(action))
}

/** Every input of `action.yml`, in the order of the documentation. */
export const inputDefinitions = definitionsOf('gate')

/** Every input of `merge/action.yml`, first the inputs that only this action has. */
export const mergeInputDefinitions = definitionsOf('merge').toSorted(
  (one, other) => one.actions.length - other.actions.length,
)

/** The names of all inputs. Each action reads all of them, because an input of the other action is a mistake. */
export const inputNames: readonly string[] = allDefinitions.map(({ name }) => name)

/**
 * Reads the inputs of the action, or the flags of the command line. An invalid input is a mistake, gets its default,
 * and is not in `written`.
 * @param raw texts by the name of the input; a blank text means absent: the runner sets absent inputs to ''
 * @param action the action: an input that it does not have is a mistake
 */
export function readInputs(
  raw: Readonly<Record<string, string | undefined>>,
  action: ActionName = 'gate',
): {
  readonly inputs: Inputs
  readonly mistakes: readonly Mistake[]
} {
  const known = new Map(definitionsOf(action).map((definition) => [definition.name, definition]))
  const given = Object.entries(raw).flatMap(([name, value]) =>
    value?.trim() ? [[name, known.get(name)?.isLines ? value : value.trim()] as const] : [],
  )
  const written = new Map(given)
  const unknown = [...written.keys()].filter((name) => !known.has(name))
  const mistakes = unknown.map((name): Mistake => {
    const hint = didYouMean(name, known.keys()) || ` There are ${[...known.keys()].join(', ')}.`
    return { input: name, message: `This action has no input of this name.${hint}` }
  })
  for (const name of unknown) written.delete(name)
  const values = Object.entries<TypedInput<unknown>>(definitions).map(([property, definition]) => {
    const { name, parse } = definition
    let isValid = true
    const value = parse(written.get(name) ?? definition.default, (message) => {
      isValid = false
      mistakes.push({ input: name, message })
    })
    if (!isValid) written.delete(name)
    return [property, value ?? parse(definition.default, () => {})]
  })
  const inputs = { ...Object.fromEntries(values), written } as Inputs
  if (inputs.githubToken === undefined && inputs.reportTo.length > 0) {
    const permissions = inputs.reportTo.map((name) => `\`${knownExtras[name].permission}\``).join(', ')
    const message = `It needs a token. Write \`github-token: \${{ github.token }}\` beside it, and below \`permissions:\` of the job: ${permissions}.`
    mistakes.push({ input: 'report-to', message })
  }
  return { inputs, mistakes }
}

/** Reads inputs as `readInputs` does. @throws UserError with all mistakes */
export function parseInputs(raw: Parameters<typeof readInputs>[0]): Inputs {
  const { inputs, mistakes } = readInputs(raw)
  if (mistakes.length > 0) throw new UserError(mistakes)
  return inputs
}
