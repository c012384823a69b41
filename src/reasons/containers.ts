import { duration } from '../duration.ts'
import {
  deathsProvenMs,
  deathsProvenWhileOthersProgressMs,
  defaultMaxRestarts,
  longStepMs,
  missingObjectMs,
  startTimeMs,
} from '../thresholds.ts'
import { type ProbeDetail, probeHeadline, probeHint, probeSentence } from './probes.ts'
import { clause, type HintFacts, type ProblemFields, predicate, type ReasonFamily, type Sentence } from './spec.ts'
import {
  clusterCommand,
  command,
  containerHeadline,
  containerOf,
  describePod,
  type Exit,
  exitCode,
  exited,
  exitText,
  imageLimit,
  imageOf,
  inNamespace,
  logHint,
  nameLimit,
  nth,
  platformHint,
  timesSoFar,
  withoutMiddle,
} from './wording.ts'

interface CrashDetail extends Exit {
  /** The event about its failed postStart hook: the kubelet ends a container whose hook fails. */
  readonly failedHook?: string
  /** The node does not report how the container ended. */
  readonly isLost?: boolean
}

/** A container that the runtime could not start, or whose shell did not find the program. */
interface StartDetail extends Exit {
  readonly image?: string
  /** The runtime's error; empty if it gave none. */
  readonly message: string
  /** The program exists, but is not executable, or is a folder. */
  readonly isNotExecutable?: boolean
  readonly isFolder?: boolean
}

export interface CreateDetail extends StartDetail {
  /** The container was created, but could not be started. */
  readonly isCreated: boolean
  /** The step of the kubelet or the container runtime that failed, before the program started. */
  readonly step?: 'hook' | 'memory' | 'mount' | 'sub-path' | 'working-directory' | 'other'
  /** Root is forbidden, and its user is root or may be. */
  readonly mayBeRoot?: boolean
  readonly mount?: FailedMount
}

export interface FailedMount {
  readonly volume: string
  readonly subPath?: string
  /** Where the container mounts it. */
  readonly path: string
  readonly error: string
}

/** A Secret or ConfigMap that does not exist or lacks a key. */
export interface MissingObject {
  readonly kind: 'secret' | 'configmap'
  /** Absent if the kubelet does not report it. */
  readonly name?: string
  readonly key?: string
  /** Absent if it is that of the pod. */
  readonly namespace?: string
}

/** A missing Secret, ConfigMap or key that a container or a volume needs. */
interface MissingDetail {
  /** Absent if the kubelet's message contains no object. */
  readonly missing?: MissingObject
  /** The volume, if a volume needs the object. */
  readonly volume?: string
  readonly message: string
}

export interface ContainerDetails {
  readonly 'crash-loop': CrashDetail
  /** The limits of the container and of its pod; undefined for none. */
  readonly 'out-of-memory': { readonly limit?: string; readonly podLimit?: string }
  readonly 'bad-command': StartDetail
  readonly 'exec-format': StartDetail
  readonly 'init-container-failed': CrashDetail
  readonly 'init-container-running': Readonly<Record<string, never>>
  readonly 'post-start-hook-running': Readonly<Record<string, never>>
  readonly 'liveness-failing': ProbeDetail
  readonly 'startup-failing': ProbeDetail
  readonly 'readiness-failing': ProbeDetail
  readonly 'config-missing': MissingDetail
  readonly 'container-create-failed': CreateDetail
}

export const containerReasons: ReasonFamily<ContainerDetails> = {
  'crash-loop': {
    class: 'strike',
    isDeath: true,
    when: `a container died for the ${nth(defaultMaxRestarts + 1)} time, ${duration(deathsProvenMs)} after its first death at the earliest`,
    title: 'a container keeps crashing',
    headline: containerHeadline((name, problem) =>
      problem.detail.failedHook === undefined
        ? `${name} keeps crashing${exitCode(problem)}`
        : `the postStart hook of ${name} fails`,
    ),
    sentence: crashSentence,
    hint: crashHint,
    evidence: ['logs'],
    field: { container: [] },
  },
  'out-of-memory': {
    class: 'strike',
    isDeath: true,
    when: "as crash-loop, each death by the kernel's out-of-memory killer",
    title: 'a container ran out of memory',
    headline: containerHeadline((name) => `${name} ran out of memory`),
    sentence: ({ detail, count }) =>
      predicate(`was killed for using more memory than ${memoryLimit(detail)}${timesSoFar(count)}`),
    hint: memoryHint,
    evidence: ['logs', 'node'],
    field: { container: ['resources', 'limits', 'memory'] },
  },
  'bad-command': {
    class: 'strike',
    isDeath: true,
    when: 'as crash-loop, or as container-create-failed where the runtime looks for it earlier (CRI-O): the program does not exist in the image or cannot be executed',
    title: 'the command could not be run',
    headline: containerHeadline((name) => `the command of ${name} could not be run`),
    sentence: startSentence,
    hint: commandHint,
    evidence: ['logs'],
    field: { container: ['command'] },
  },
  'exec-format': {
    class: 'strike',
    isDeath: true,
    when: 'as crash-loop: the program is for another processor architecture',
    title: 'the image is built for another architecture',
    headline: containerHeadline((name) => `the image of ${name} is built for another architecture`),
    sentence: ({ detail: { message }, count }) =>
      predicate(`cannot run on this node's architecture: ${message}${timesSoFar(count)}`),
    hint: platformHint,
    evidence: ['logs'],
    field: { container: ['image'] },
  },
  'init-container-failed': {
    class: 'strike',
    isDeath: true,
    when: 'as crash-loop, of an init container',
    title: 'an init container failed',
    headline: containerHeadline((name, problem) => `init ${name} failed${exitCode(problem)}`),
    sentence: crashSentence,
    hint: (s) =>
      `The pod starts only when ${s.problem === undefined ? 'its init container' : containerOf(s)} succeeds. ${logHint(s, { isPrevious: true, isNamed: true })}`,
    evidence: ['logs'],
    field: { container: [] },
  },
  'init-container-running': {
    class: 'slow',
    awaits: 'time',
    when: `an init container has run for ${duration(longStepMs)}: the next containers start when it has ended`,
    title: 'an init container is still running',
    headline: containerHeadline((name) => `init ${name} is still running`),
    sentence: () => predicate('is still running, and the next containers wait for its end'),
    hint: (s) =>
      `The pod starts only when ${s.problem === undefined ? 'its init container' : containerOf(s)} succeeds. It may wait for something that is missing. ${logHint(s, { isNamed: true })}`,
    evidence: ['logs'],
    field: { container: [] },
  },
  'post-start-hook-running': {
    class: 'slow',
    awaits: 'time',
    when: `a postStart hook has run for ${duration(longStepMs)}: the kubelet starts the next containers when it has ended`,
    title: 'a postStart hook is still running',
    headline: containerHeadline((name) => `the postStart hook of ${name} is still running`),
    sentence: () => predicate('waits for its postStart hook, which is still running'),
    hint: (s) =>
      `The pod is ready only when \`lifecycle.postStart\` of ${s.problem === undefined ? 'its container' : containerOf(s)} has ended. It may wait for something that is missing.`,
    evidence: ['logs'],
    field: { container: ['lifecycle'] },
  },
  'liveness-failing': {
    class: 'strike',
    isDeath: true,
    when: 'as crash-loop, each death by the liveness probe',
    title: 'the liveness probe fails',
    headline: probeHeadline('liveness'),
    sentence: (problem) => probeSentence('liveness', problem),
    hint: (s) => probeHint('liveness', s),
    evidence: ['logs'],
    field: { container: ['livenessProbe'] },
  },
  'startup-failing': {
    class: 'strike',
    isDeath: true,
    classOf: ({ detail }) => (detail.isRunning ? 'slow' : 'strike'),
    when: 'as crash-loop, each death by the startup probe; slow until the probe ends the container',
    title: 'the startup probe fails',
    headline: probeHeadline('startup'),
    sentence: (problem) => probeSentence('startup', problem),
    hint: (s) => probeHint('startup', s),
    evidence: ['logs'],
    field: { container: ['startupProbe'] },
  },
  'readiness-failing': {
    class: 'slow',
    yieldsTo: 'node',
    awaits: 'time',
    when: `a container runs, and has used up the time that its own probes allow without being ready; the log shows it once the container has run for ${duration(startTimeMs)}`,
    title: 'the readiness probe fails',
    headline: probeHeadline('readiness'),
    sentence: (problem) => probeSentence('readiness', problem),
    hint: (s) => probeHint('readiness', s),
    evidence: ['logs'],
    field: { container: ['readinessProbe'] },
  },
  'config-missing': {
    class: 'strike',
    when: `a Secret, ConfigMap or a key in it is still missing at a check of the kubelet ${duration(missingObjectMs)} after the first one, or ${duration(deathsProvenWhileOthersProgressMs)} while another target progresses`,
    title: 'a Secret, ConfigMap or key is missing',
    headline: ({ detail: { missing } }) => {
      if (missing?.name === undefined) return undefined
      const object = withoutMiddle(`${missing.kind}/${missing.name}`, imageLimit)
      return missing.key === undefined
        ? `${object} is missing`
        : `${object} lacks the key ${withoutMiddle(missing.key, nameLimit)}`
    },
    sentence: missingSentence,
    hint: missingHint,
    otherSubjects: ({ subject: { namespace }, detail: { missing } }) =>
      missing?.name === undefined
        ? []
        : [
            {
              group: '',
              kind: missing.kind === 'secret' ? 'Secret' : 'ConfigMap',
              namespace: missing.namespace ?? namespace,
              name: missing.name,
            },
          ],
    field: { container: ['env'], pod: ['spec', 'volumes'] },
  },
  'container-create-failed': {
    class: 'strike',
    when: `the runtime cannot create the container, also ${duration(missingObjectMs)} after its first attempt, or cannot start it for the ${nth(defaultMaxRestarts + 1)} time`,
    title: 'a container could not be created',
    headline: (problem) =>
      problem.detail.mount === undefined
        ? containerHeadline((name) => `${name} could not be created`)(problem)
        : `volume ${withoutMiddle(problem.detail.mount.volume, nameLimit)} cannot be mounted`,
    sentence: createSentence,
    hint: createHint,
    evidence: ['node'],
  },
}

function crashSentence({ detail, count }: ProblemFields<CrashDetail>): Sentence {
  const { failedHook, isLost } = detail
  const how =
    failedHook !== undefined
      ? `is killed because its postStart hook fails: ${failedHook}`
      : isLost
        ? 'was lost: its node does not report how it ended'
        : exited(detail)
  return predicate(`${how}${timesSoFar(count)}`)
}

function startSentence({ detail, count }: ProblemFields<StartDetail>): Sentence {
  return predicate(`cannot start: ${detail.message === '' ? exitText(detail) : detail.message}${timesSoFar(count)}`)
}

function createSentence(problem: ProblemFields<CreateDetail>): Sentence {
  const { isCreated, message, mount } = problem.detail
  if (!isCreated) return predicate(`cannot be created: ${message}`)
  if (mount === undefined) return startSentence(problem)
  const part = mount.subPath === undefined ? '' : ` (subPath ${mount.subPath})`
  const how = `volume "${mount.volume}"${part} cannot be mounted at ${mount.path}: ${mount.error}`
  return predicate(`cannot start: ${how}${timesSoFar(problem.count)}`)
}

function missingSentence({ container, detail: { missing, volume, message } }: ProblemFields<MissingDetail>): Sentence {
  const why = missing?.name === undefined ? message : missingText(missing)
  return container === undefined ? mountSentence(volume, why) : predicate(`cannot be created: ${why}`)
}

/** `volume "settings" cannot be mounted: …`. */
export function mountSentence(volume: string | undefined, why: string): Sentence {
  return clause(`${volume === undefined ? 'a volume' : `volume "${volume}"`} cannot be mounted: ${why}`)
}

function missingText(missing: MissingObject): string {
  const { key } = missing
  return `${missingName(missing)} ${key === undefined ? 'does not exist' : `has no key ${key}`}`
}

/** As kubectl writes it: `secret/database`; `secret` if its name is unknown. */
function missingName({ kind, name }: MissingObject): string {
  return name === undefined ? kind : `${kind}/${name}`
}

/** Hint for a crash: explains it by the exit code and the log. */
function crashHint(facts: HintFacts<CrashDetail>): string {
  const { problem } = facts
  const { exitCode, signal, failedHook } = problem?.detail ?? {}
  if (facts.isOfOtherArchitecture) return platformHint({ ...facts, problem: undefined })
  if (failedHook !== undefined)
    return `Correct \`lifecycle.postStart\` of ${containerOf(facts)}: the kubelet ends a container whose hook fails.`
  const what =
    exitCode === 0 && signal === undefined
      ? `${capitalizeFirst(containerOf(facts))} ends without an error, and is started again: keep its program in the foreground, or run it as a Job.`
      : `Find out why ${containerOf(facts)} exits.`
  return [
    what,
    exitCode === undefined ? '' : (exitMeanings[exitCode] ?? ''),
    logHint(facts, { isPrevious: true, isNamed: true }),
  ]
    .filter(Boolean)
    .join(' ')
}

const exitMeanings: Readonly<Record<number, string>> = {
  137: 'Code 137 is SIGKILL, and the node does not report a lack of memory.',
  139: 'Code 139 is a segmentation fault: native code, or a library that does not fit the image.',
  143: 'Code 143 is SIGTERM: a request to end.',
}

/** `its limit of 64Mi`; if the pod has a limit too, it may be the one that was reached first. */
function memoryLimit({ limit, podLimit }: ContainerDetails['out-of-memory']): string {
  if (limit !== undefined)
    return `its limit of ${limit}${podLimit === undefined ? '' : `, or the pod more than ${podLimit}`}`
  return podLimit === undefined ? 'the node has' : `the limit of its pod, ${podLimit}`
}

/** The memory limit, and how soon the container used it up. */
function memoryHint(facts: HintFacts<ContainerDetails['out-of-memory']>): string {
  const { container, detail } = facts.problem ?? {}
  const limit = detail?.limit ?? detail?.podLimit
  const status = facts.pod?.status?.containerStatuses?.find(({ name }) => name === container)
  const death = status?.lastState?.terminated ?? status?.state?.terminated
  const lived = Math.round((Date.parse(death?.finishedAt ?? '') - Date.parse(death?.startedAt ?? '')) / 1000)
  const when = lived >= 0 ? ` ${lived} s after its start` : ''
  if (detail?.podLimit !== undefined && detail.limit === undefined)
    return `Raise \`resources.limits.memory\` of the pod (now ${limit}, used up${when}), which all its containers share, or make them use less.`
  if (limit === undefined)
    return `Raise the memory limit of ${containerOf(facts)}, or make it use less. If it has no limit, the node ran out of memory: set \`resources.requests.memory\`, so that it gets a node with room.`
  return `Raise \`resources.limits.memory\` of ${containerOf(facts)} (now ${limit}, used up${when}), or make it use less.`
}

/** Hint for a program that does not exist or is not executable. */
function commandHint(facts: HintFacts<StartDetail>): string {
  const { spec, problem } = facts
  if (facts.isOfOtherArchitecture) return platformHint(facts)
  const written = [...(spec?.command ?? []), ...(spec?.args ?? [])]
  const runs = written.length === 0 ? '' : ` It runs \`${JSON.stringify(written).replaceAll('`', '')}\`.`
  const why = problem?.detail.isFolder
    ? `the program is a folder in ${imageOf(facts)}`
    : problem?.detail.isNotExecutable
      ? `the program may not be run: make it executable in ${imageOf(facts)} (\`chmod +x\`)`
      : `the program does not exist in ${imageOf(facts)}, or is not on its PATH`
  const { logLine } = facts
  const lastLine =
    logLine === undefined ? '' : ` The last ${logLine.isError ? 'error' : 'line'} that was logged is "${logLine.text}".`
  return `Correct \`command\` and \`args\` of ${containerOf(facts)}: ${why}.${runs}${lastLine}`
}

function createHint(facts: HintFacts<CreateDetail>): string {
  const who = containerOf(facts)
  if (facts.problem?.detail.mayBeRoot)
    return `Set \`securityContext.runAsUser\` of ${who} to the number of a user other than root, or use an image with such a USER.`
  switch (facts.problem?.detail.step) {
    case 'hook':
      return `A hook of the container runtime fails on the node, before the program of ${who} starts. Repair the node, or what installed the hook: ${describePod(facts)} shows the node.`
    case 'sub-path':
      return `The kubelet cannot prepare a \`subPath\` of ${who}: the folder must exist on the volume, or the node must be allowed to create it (an NFS server forbids that with root_squash).`
    case 'working-directory':
      return `Correct \`workingDir\` of ${who}, or WORKDIR of ${imageOf(facts)}: the folder must exist, and the user of the container must be allowed to enter it.`
    default:
      return (
        subPathHint(facts) ??
        `The kubelet or the container runtime of the node fails before the program of ${who} starts. The events of the pod: ${describePod(facts)}.`
      )
  }
}

/** If a volume has no such subPath, the kubelet creates a folder, which cannot be mounted onto a file. */
function subPathHint(facts: HintFacts<CreateDetail>): string | undefined {
  const { mount } = facts.problem?.detail ?? {}
  if (mount?.subPath === undefined || !mount.error.startsWith('not a directory')) return undefined
  const source = sourceOf(mount.volume, facts)
  const keys = source === undefined ? '' : ` ${command(facts, 'describe', source)} lists its keys.`
  return `Probably ${source ?? 'the volume'} has no ${mount.subPath}: an empty folder is mounted instead, but ${mount.path} is a file in the image. Correct the subPath, or add the key.${keys}`
}

function sourceOf(volume: string, { pod }: HintFacts<unknown>): string | undefined {
  const { configMap, secret } = pod?.spec?.volumes?.find(({ name }) => name === volume) ?? {}
  if (configMap?.name !== undefined) return `configmap/${configMap.name}`
  return secret?.secretName === undefined ? undefined : `secret/${secret.secretName}`
}

/**
 * Hint for a missing object: which object to create, what refers to it, and the command that lists existing objects.
 */
function missingHint(facts: HintFacts<MissingDetail>): string {
  const { missing } = facts.problem?.detail ?? {}
  const { namespace } = missing ?? {}
  const where =
    (namespace === undefined ? inNamespace(facts) : ` in namespace ${namespace}`) || ' in the same namespace'
  if (missing?.name === undefined)
    return `Create the Secret or ConfigMap (or the key in it) that the message names,${where}, or correct the reference.`
  const { kind, key } = missing
  const object = missingName(missing)
  const users = referencesTo(missing, facts)
  const reference = users === '' ? 'the reference' : `the reference (${users})`
  const list = namespace === undefined ? command(facts, 'get', kind) : clusterCommand('get', kind, '-n', namespace)
  return key === undefined
    ? `Create ${object}${where}, or correct ${reference}. ${list} lists what is there.`
    : `Add the key ${key} to ${object}${where}, or correct ${reference}. ${command(facts, 'describe', object)} lists its keys.`
}

interface Reference {
  readonly name?: string
  readonly key?: string
}

/** The references of a pod to a Secret or ConfigMap: `env PASSWORD of container app, volume settings`. */
function referencesTo({ kind, name, key }: MissingObject, { pod }: HintFacts<unknown>): string {
  const [ofEnv, ofFrom] = kind === 'secret' ? ['secretKeyRef', 'secretRef'] : ['configMapKeyRef', 'configMapRef']
  const { containers = [], initContainers = [], volumes = [] } = pod?.spec ?? {}
  const found = [...initContainers, ...containers].flatMap((container) => [
    ...(container.env ?? [])
      .filter(({ valueFrom }) => {
        const reference = (valueFrom as Record<string, Reference> | undefined)?.[ofEnv]
        return reference?.name === name && (key === undefined || reference?.key === key)
      })
      .map((variable) => `env ${variable.name} of container ${container.name}`),
    ...(container.envFrom ?? [])
      .filter((from) => (from as Record<string, Reference>)[ofFrom]?.name === name)
      .map(() => `envFrom of container ${container.name}`),
  ])
  const mounted = volumes
    .filter(({ secret, configMap }) => (kind === 'secret' ? secret?.secretName : configMap?.name) === name)
    .map((volume) => `volume ${volume.name}`)
  return [...found, ...mounted].slice(0, 3).join(', ')
}

function capitalizeFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
