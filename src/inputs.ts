import { parseDuration } from './duration.ts'
import { type AddMistake, didYouMean, type Mistake, quote, UserError } from './errors.ts'

/** Converts the text of an input to its value; undefined after a mistake. */
type Parse<T> = (text: string, addMistake: AddMistake) => T | undefined

/** The type of a value: its name in the command line's help (empty for a switch), and its parser. */
interface ValueType<T> {
  readonly placeholder: string
  readonly parse: Parse<T>
  /** The text is not trimmed, because mistakes name its lines. */
  readonly isLines?: boolean
}

/** An input for the documentation, `action.yml` and the command line. */
export interface InputDefinition {
  readonly name: string
  /** Empty: none; `details` then describes the default. */
  readonly default: string
  /** One sentence, also for the command line's help. */
  readonly description: string
  /** Further sentences for `action.yml`. */
  readonly details: string
  /** Name of the value in the help: `DURATION`. Empty for a switch. */
  readonly placeholder: string
  readonly isLines: boolean
  /** Whether a recording contains it. Never true for secrets. */
  readonly isRecorded: boolean
  /** Whether a replay reads it from the recording, and has a flag for it. */
  readonly isReplayed: boolean
  /** `hidden`: the command line accepts the flag, but has another form for it. */
  readonly flag: 'shown' | 'hidden' | 'none'
}

interface TypedInput<T> extends InputDefinition {
  readonly parse: Parse<T>
}

type Row = Pick<InputDefinition, 'name' | 'description'> &
  Partial<Pick<InputDefinition, 'default' | 'details' | 'placeholder' | 'isRecorded' | 'isReplayed' | 'flag'>>

function input<T>({ parse, isLines = false, ...type }: ValueType<T>, row: Row): TypedInput<T> {
  const defaults = { default: '', details: '', isRecorded: true, isReplayed: true, flag: 'shown' } as const
  return { ...defaults, ...type, isLines, parse, ...row }
}

const duration: ValueType<number> = { placeholder: 'DURATION', parse: parseDuration }

/** Unchanged text; undefined if empty. */
const text: ValueType<string | undefined> = { placeholder: 'TEXT', parse: (written) => written || undefined }

const lines: ValueType<string> = { placeholder: 'LINES', parse: (written) => written, isLines: true }

/** Booleans of YAML 1.2's core schema, as in `core.getBooleanInput` of the actions toolkit. */
const boolean: ValueType<boolean> = {
  placeholder: '',
  parse: (written, addMistake) => {
    if (/^(true|True|TRUE)$/.test(written)) return true
    if (/^(false|False|FALSE)$/.test(written)) return false
    addMistake(`${quote(written)} is neither true nor false. Write one of them.`)
    return undefined
  },
}

/** A whole number up to 1,000. */
const number: ValueType<number> = {
  placeholder: 'NUMBER',
  parse: (written, addMistake) => {
    if (/^\d{1,9}$/.test(written) && Number(written) <= 1_000) return Number(written)
    addMistake(`${quote(written)} is no whole number from 0 to 1000.`)
    return undefined
  },
}

function oneOf<const W extends string>(...words: W[]): ValueType<W> {
  return {
    placeholder: words.join('|'),
    parse: (written, addMistake) => {
      const word = words.find((word) => word === written)
      if (word === undefined) addMistake(`${quote(written)} is not one of ${words.join(', ')}.`)
      return word
    },
  }
}

/** The milestones of all kinds. Do not rename: inputs, reports and recordings contain them. */
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
  'initialized',
  'running',
  'succeeded',
  'complete',
  'endpoints',
  'address',
  'provisioned',
  'bound',
  'backends',
] as const

export type MilestoneName = (typeof milestoneNames)[number]

/**
 * Reads `scheduled=2m, ready=5m`, with commas or lines between them.
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
      addMistake(`${quote(written)} is no milestone with its duration. Write milestone=duration, like ready=5m.`)
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

const createdTimeout = 'created=30s'

const milestoneTimeouts: ValueType<Readonly<Record<string, number>>> = {
  placeholder: 'LIST',
  parse: (written, addMistake) => ({
    ...parseMilestoneTimeouts(createdTimeout, addMistake),
    ...parseMilestoneTimeouts(written, addMistake),
  }),
}

/** The expected digest of each container, by name. */
export type ExpectedImages = Readonly<Record<string, string>>

/**
 * Reads `container=sha256:…` lines; the output `digest` of `docker/build-push-action` is such a digest. An image name may
 * precede it (`app=registry/app@sha256:…`); `#` begins a comment.
 * @returns digests by container, without invalid lines
 */
export function parseExpectedImages(text: string, addMistake: AddMistake): ExpectedImages {
  const expected = new Map<string, string>()
  for (const line of text.split(/\r?\n/)) {
    const written = line.replace(/(^|\s)#.*$/, '').trim()
    if (written === '') continue
    const [, container, digest] = /^([^\s=]+)\s*=\s*(?:\S+@)?(sha256:[0-9a-f]{64})$/.exec(written) ?? []
    if (container === undefined || digest === undefined) {
      addMistake(
        `${quote(written)} is no container with its digest. Write container=sha256:… with 64 hexadecimal digits.`,
      )
    } else if (expected.has(container)) {
      addMistake(`The container ${container} is given twice. Keep one of them.`)
    } else {
      expected.set(container, digest)
    }
  }
  return Object.fromEntries(expected)
}

/** The permission that the token needs for each extra on GitHub, by input. */
export const extraPermissions = {
  'check-run': 'checks: write',
  'deployment-status': 'deployments: write',
  comment: 'pull-requests: write',
} as const

/** Inputs of the extras: they do not affect the verdict, and need a workflow run. */
const forGitHub = { isRecorded: false, isReplayed: false, flag: 'none' } as const

/**
 * Every input in the order of the documentation, by its property in `Inputs`. `npm run docs` generates the inputs of
 * `action.yml` from it.
 */
const definitions = {
  kubeconfig: input(text, {
    name: 'kubeconfig',
    placeholder: 'KUBECONFIG',
    isRecorded: false,
    isReplayed: false,
    description: 'The kubeconfig itself, base64 of it, or the path of an existing file.',
    details:
      'Its content is masked in the log, kept in memory and never written to disk. Default: the file that the environment variable `KUBECONFIG` names, then the usual places.',
  }),
  context: input(text, {
    name: 'context',
    placeholder: 'CONTEXT',
    isRecorded: false,
    isReplayed: false,
    description: 'The context of the kubeconfig to use.',
    details: 'Default: the current context.',
  }),
  namespace: input(text, {
    name: 'namespace',
    placeholder: 'NAMESPACE',
    description: 'The namespace of the resources that do not name one themselves.',
    details:
      'A line of `resources` overrides it with `-n`. The output of kubectl contains no namespaces, so its lines mean this one. Default: the namespace of the context.',
  }),
  resources: input(lines, {
    name: 'resources',
    placeholder: 'RESOURCES',
    flag: 'hidden',
    description: 'The resources to gate, one reference a line, written like the arguments of `kubectl wait`.',
    details:
      'For example `deployment/web`, `deploy,sts -l app=shop -n shop`, `job/migrate --timeout=20m` or `certificate/tls --for=condition=Ready` (also `jsonpath=`, `create`, `delete`). A line that `kubectl apply` printed is a reference too; lines about a deletion, a dry run or a warning are skipped and reported; an error that kubectl printed means that the apply failed. `!` before a reference excludes what it names; excludes that leave nothing to gate are a mistake. `#` begins a comment. After a reference, `-n`, `-l`, `--all`, `--for`, `--timeout`, `--stall-timeout` and `--milestone-timeouts` hold for it alone. Selectors are resolved once, at the start. One that matches nothing ends as `not-found`; one of several kinds, when none of them has a match. Needed unless `manifests` is given; with both, all that either names is gated.',
  }),
  manifests: input(lines, {
    name: 'manifests',
    placeholder: 'MANIFESTS',
    isReplayed: false,
    flag: 'hidden',
    description: 'Manifest files whose objects are gated: files, folders and globs, one a line.',
    details:
      'Paths are relative to the workspace. A folder means all files below it that end in `.yaml`, `.yml` or `.json`. `!` before a line excludes what it names, `#` begins a comment. Render the output of kustomize or Helm into a file first. Problems point to the line of the object, and a warning lists fields of the live objects that differ from their manifests. Annotations on the objects change how the gate treats them: `rollout-gate/timeout`, `rollout-gate/stall-timeout`, `rollout-gate/for` (as `--for` of a reference) and `rollout-gate/skip: "true"`.',
  }),
  timeoutMs: input(duration, {
    name: 'timeout',
    default: '10m',
    description: 'How long the whole gate may take.',
    details:
      "Written as Kubernetes writes durations: `90s`, `5m`, `1h30m`; `0` turns the clock off. When it runs out, every resource that is not ready yet is `timed-out`. A longer `--timeout` of a reference makes the gate's as long, unless you write both: then the contradiction is a mistake.",
  }),
  stallTimeoutMs: input(duration, {
    name: 'stall-timeout',
    default: '5m',
    description: 'How long a resource may go without any progress.',
    details:
      'A milestone reached or a counter that moves is progress; a restart is not. `0` turns the clock off. By default the clock pauses while the resource itself states how long it may take, as a container inside its startup probe does; a value that you write is taken literally.',
  }),
  settleTimeMs: input(duration, {
    name: 'settle-time',
    default: '10s',
    description: 'How long a container without a readiness probe must have run before it counts as ready.',
    details:
      'Containers that crash soon after their start look ready for a moment. A Ready condition of a custom resource without `observedGeneration` must persist as long after a change. `0` counts both at once.',
  }),
  milestoneTimeoutsMs: input(milestoneTimeouts, {
    name: 'milestone-timeouts',
    default: createdTimeout,
    description: 'How long single milestones of a rollout may take, each from the moment the one before it is done.',
    details:
      'Written with commas or lines between them: `scheduled=2m, ready=5m`. What you write is added to the default; `created=0` turns that off. A milestone that no gated kind has is a mistake.',
  }),
  maxRestarts: input(number, {
    name: 'max-restarts',
    default: '2',
    description: 'How many restarts a container is forgiven before its resource fails.',
    details: 'With `2`, its third death fails the resource, not before 30 seconds after the first.',
  }),
  failFast: input(boolean, {
    name: 'fail-fast',
    default: 'true',
    description: 'Whether the gate ends shortly after the first resource that failed or stalled.',
    details: 'With `true` it waits 5 seconds more for others to fail; with `false` every resource runs to its own end.',
  }),
  onSuperseded: input(oneOf('fail', 'pass'), {
    name: 'on-superseded',
    default: 'fail',
    description:
      'What becomes of the job when somebody else changed a resource while it was watched: `fail` or `pass`.',
    details: '`pass` holds only when every other resource is ready, and never for a rollback.',
  }),
  expectImages: input({ placeholder: 'EXPECT-IMAGES', parse: parseExpectedImages } as ValueType<ExpectedImages>, {
    name: 'expect-images',
    description: 'The digests that must be the ones running, one `container=sha256:…` a line.',
    details:
      'When the pods are ready and a container of that name runs another digest, because somebody moved the tag or deployed something else, its resource fails with `image-mismatch`. The same holds when no gated pod has such a container.',
  }),
  awaitChangeMs: input(duration, {
    name: 'await-change',
    default: '0',
    description:
      "How long each resource's change may take to arrive before the resource is judged, for a gate that starts before the apply.",
    details:
      'Until the change arrives, the resource still has its old version, which may be healthy. It has arrived when the resource is created, its generation moves, somebody writes it, or its fields match `manifests`. When it does not arrive in time, the resource is `stalled` with `change-not-seen`, never ready. With `0` the resource is judged at once.',
  }),
  healthChecks: input(text, {
    name: 'health-checks',
    placeholder: 'HEALTH-CHECKS',
    description:
      'The path of a YAML list of `{apiVersion, kind, current, failed, inProgress}` in CEL, as Flux writes its `healthCheckExprs`.',
    details:
      'Each entry decides for all gated objects of its kind: `inProgress` first, then `failed`, which must persist for 10 seconds, then `current`. The `--for` of a reference takes precedence. Default: none, so that kinds are judged by their own rules.',
  }),
  logLines: input(number, {
    name: 'log-lines',
    default: '25',
    isReplayed: false,
    description:
      'How many of the last log lines of each failing container to show, of its current and of its previous run.',
    details: '`0` shows none and requests none.',
  }),
  streamLogs: input(lines, {
    name: 'stream-logs',
    placeholder: 'REFERENCE',
    isRecorded: false,
    isReplayed: false,
    description:
      'The gated resources whose logs are shown live, one reference a line, written as those of `resources`.',
    details:
      "For example `job/migrate`: Jobs, Pods, Deployments and all other kinds that run pods. Shown are all containers, init containers and sidecars of the pods that the change made, each line behind its pod's and container's name. A reference without `-n` means every gated resource of its name; one without a match is a mistake. Of each container the first 500 lines (128 KiB) are shown as they are written, then every 10 seconds the newest 25, and the last 25 at its end; omitted lines are counted, and of a line 4,000 bytes are shown. 20 logs are read at a time, and 5,000 lines shown in all, besides the last ones. Lines from more than 10 minutes before the gate began are not shown. A log that cannot be read is a warning: it decides nothing. Default: none.",
  }),
  record: input(text, {
    name: 'record',
    placeholder: 'FILE',
    isRecorded: false,
    isReplayed: false,
    description: 'The path of a recording to write, to be replayed later with `rollout-gate replay`.',
    details:
      'It contains everything that was watched, never credentials or the data of Secrets, and is compressed when its name ends in `.gz`. Default: none is written.',
  }),
  summary: input(boolean, {
    name: 'summary',
    default: 'true',
    isReplayed: false,
    flag: 'hidden',
    description: 'Whether to write the job summary.',
    details: 'The file that the output `summary-file` names is written in any case.',
  }),
  githubToken: input(text, {
    name: 'github-token',
    ...forGitHub,
    description: 'The token for `check-run`, `deployment-status` and `comment`.',
    details:
      "The gate itself needs none. The job's own token, the expression `github.token`, is enough if the job has the permissions that these extras name. It is masked in the log. Default: none.",
  }),
  checkRun: input(boolean, {
    name: 'check-run',
    default: 'false',
    ...forGitHub,
    description: 'Whether to show the rollout as a check of the commit, live.',
    details: `A branch rule can demand it, so that nothing is merged whose rollout failed. Needs \`github-token\` and the permission \`${extraPermissions['check-run']}\`.`,
  }),
  deploymentStatus: input(boolean, {
    name: 'deployment-status',
    default: 'false',
    ...forGitHub,
    description: 'Whether to write the status of a GitHub deployment.',
    details: `It is the deployment that triggered the workflow, or a new one for the cluster's context and namespace. Needs \`github-token\` and the permission \`${extraPermissions['deployment-status']}\`.`,
  }),
  comment: input(boolean, {
    name: 'comment',
    default: 'false',
    ...forGitHub,
    description: 'Whether to keep one comment on the pull request up to date.',
    details: `Needs \`github-token\` and the permission \`${extraPermissions.comment}\`.`,
  }),
}

type Definitions = typeof definitions

/** The values of all inputs, with defaults. Durations are in milliseconds; 0 turns a clock off. */
export type Inputs = {
  readonly [P in keyof Definitions]: Definitions[P] extends TypedInput<infer T> ? T : never
} & {
  /** The user's texts by input name: an explicit clock is taken literally. */
  readonly written: ReadonlyMap<string, string>
}

/** Every input, in the order of the documentation. */
export const inputDefinitions: readonly InputDefinition[] = Object.values(definitions)

const byName = new Map(inputDefinitions.map((definition) => [definition.name, definition]))

/** The mistake of an unknown input, with the nearest name. */
export function unknownInput(name: string): Mistake {
  const hint = didYouMean(name, byName.keys()) || ` There are ${[...byName.keys()].join(', ')}.`
  return { input: name, message: `There is no input of this name.${hint}` }
}

/**
 * Reads the inputs of the action or the flags of the command line. Never throws: an invalid input gets its default, and is
 * not in `written`.
 *
 * @param raw texts by input name; blank means absent, since the runner sets absent inputs to ''
 */
export function readInputs(raw: Readonly<Record<string, string | undefined>>): {
  readonly inputs: Inputs
  readonly mistakes: readonly Mistake[]
} {
  const given = Object.entries(raw).flatMap(([name, value]) =>
    value?.trim() ? [[name, byName.get(name)?.isLines ? value : value.trim()] as const] : [],
  )
  const written = new Map(given)
  const mistakes = [...written.keys()].filter((name) => !byName.has(name)).map(unknownInput)
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
  return {
    inputs: { ...Object.fromEntries(values), written } as Inputs,
    mistakes: [...mistakes, ...withoutToken(new Map(given))],
  }
}

/** The mistakes of extras that are enabled without a token. */
function withoutToken(given: ReadonlyMap<string, string>): Mistake[] {
  if (given.has('github-token')) return []
  return Object.entries(extraPermissions)
    .filter(([name]) => given.get(name)?.toLowerCase() === 'true')
    .map(([input, permission]) => ({
      input,
      message: `It needs a token. Write \`github-token: \${{ github.token }}\` beside it, and give the job the permission \`${permission}\`.`,
    }))
}

/**
 * Like `readInputs`, but throws.
 * @param further other mistakes to report together
 * @throws UserError with all mistakes at once
 */
export function parseInputs(raw: Parameters<typeof readInputs>[0], further: readonly Mistake[] = []): Inputs {
  const { inputs, mistakes } = readInputs(raw)
  if (mistakes.length + further.length > 0) throw new UserError([...mistakes, ...further])
  return inputs
}
