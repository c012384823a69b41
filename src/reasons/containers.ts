import type { Pod } from '../cluster/objects.ts'
import { type ProbeDetail, type ProbeKind, probeHint, probeSentence } from './probes.ts'
import { clause, type HintWords, type NoDetail, type ReasonFamily, type ReasonSpec, type Sentence } from './spec.ts'
import {
  clusterCommand,
  type Exit,
  exitText,
  ifPresent,
  logHint,
  nameLimit,
  platformHint,
  shortenMiddle,
  titleWithExitCode,
} from './wording.ts'

/* The reason codes about containers, such as `crash-loop`: class, sentences and hint of each. */

interface CrashDetail extends Exit {
  /** The event about a failed postStart hook: the kubelet ends a container whose hook fails. */
  readonly failedHook?: string
}

/** A container that the runtime could not start, or whose shell could not find the program. */
interface StartDetail extends Exit {
  readonly image?: string
  /** The runtime's error; empty if the runtime reports none. */
  readonly message: string
}

interface CreateDetail extends StartDetail {
  /** Whether the container was created, but could not be started. */
  readonly isCreated: boolean
  /** The failed step of the kubelet or the container runtime before the start of the program. */
  readonly step?: 'hook' | 'memory' | 'mount' | 'sub-path' | 'working-directory' | 'other'
  /** The container must not run as root, and its user is or may be root. */
  readonly mayBeRoot?: boolean
  readonly mount?: FailedMount
}

export interface FailedMount {
  readonly volume: string
  readonly subPath?: string
  /** The mount path in the container. */
  readonly path: string
  readonly error: string
}

/** A Secret or ConfigMap that does not exist or lacks a key. */
export interface MissingObject {
  readonly kind: 'secret' | 'configmap'
  /** Absent if the kubelet does not report it. */
  readonly name?: string
  readonly key?: string
  /** Absent if the object is in the namespace of the pod. */
  readonly namespace?: string
}

/** A container or volume that needs a missing Secret, ConfigMap or key. */
interface MissingDetail {
  /** Absent if the kubelet's message contains no object. */
  readonly missing?: MissingObject
  /** The volume that needs the object; absent if a container needs it. */
  readonly volume?: string
  readonly message: string
}

export interface ContainerDetails {
  readonly 'crash-loop': CrashDetail
  /** The memory limit of the container, otherwise of its pod (`isOfPod`); absent if neither has a limit. */
  readonly 'out-of-memory': { readonly limit?: string; readonly isOfPod?: boolean }
  readonly 'bad-command': StartDetail
  readonly 'exec-format': StartDetail
  readonly 'init-container-failed': CrashDetail
  readonly 'init-container-running': NoDetail
  readonly 'post-start-hook-running': NoDetail
  readonly 'liveness-failing': ProbeDetail
  readonly 'startup-failing': ProbeDetail
  readonly 'readiness-failing': ProbeDetail
  readonly 'config-missing': MissingDetail
  readonly 'container-create-failed': CreateDetail
}

const crashSentence: ReasonSpec<CrashDetail>['sentence'] = (detail, { times }) =>
  `${ifPresent`is killed because its postStart hook fails: ${detail.failedHook}` || exitText(detail)}${times}`

const startSentence: ReasonSpec<StartDetail>['sentence'] = (detail, { times }) =>
  `${ifPresent`cannot start: ${detail.message}` || exitText(detail)}${times}`

export const containerReasons: ReasonFamily<ContainerDetails> = {
  'crash-loop': {
    class: 'strike',
    isDeath: true,
    title: '{a container} keeps crashing',
    headline: titleWithExitCode,
    sentence: crashSentence,
    hint: crashHint,
    field: { container: [] },
  },
  'out-of-memory': {
    class: 'strike',
    isDeath: true,
    title: '{a container} ran out of memory',
    sentence: (detail, { times }) => `was killed for using more memory than ${memoryLimitText(detail)}${times}`,
    hint: memoryHint,
    isOfNode: true,
    field: { container: ['resources', 'limits', 'memory'] },
  },
  'bad-command': {
    class: 'strike',
    isDeath: true,
    title: 'the command of {a container} could not be run',
    sentence: startSentence,
    hint: commandHint,
    field: { container: ['command'] },
  },
  'exec-format': {
    class: 'strike',
    isDeath: true,
    title: 'the image of {a container} is built for another architecture',
    sentence: ({ message }, { times }) => `cannot run on this node's architecture: ${message}${times}`,
    hint: (_, words) => platformHint(words),
    field: { container: ['image'] },
  },
  'init-container-failed': {
    class: 'strike',
    isDeath: true,
    title: '{an init container} failed',
    headline: titleWithExitCode,
    sentence: crashSentence,
    hint: (_, words) => `${initContainerHint(words)} ${logHint(words, { isPrevious: true, isNamed: true })}`,
    field: { container: [] },
  },
  'init-container-running': {
    class: 'slow',
    awaits: 'time',
    title: '{an init container} is still running',
    sentence: () => 'is still running, and the next containers wait for its end',
    hint: (_, words) =>
      `${initContainerHint(words)} It may wait for something that is missing. ${logHint(words, { isNamed: true })}`,
    field: { container: [] },
  },
  'post-start-hook-running': {
    class: 'slow',
    awaits: 'time',
    title: 'the postStart hook of {a container} is still running',
    sentence: () => 'waits for its postStart hook, which is still running',
    hint: (_, { problem, theContainer }) =>
      `The pod is ready only when \`lifecycle.postStart\` of ${problem === undefined ? 'its container' : theContainer} has ended. It may wait for something that is missing.`,
    field: { container: ['lifecycle'] },
  },
  'liveness-failing': {
    class: 'strike',
    isDeath: true,
    title: '{a container} fails its liveness probe',
    ...probeTexts('liveness'),
    field: { container: ['livenessProbe'] },
  },
  'startup-failing': {
    class: 'strike',
    isDeath: true,
    classOf: ({ isRunning }) => (isRunning ? 'slow' : 'strike'),
    title: '{a container} fails its startup probe',
    ...probeTexts('startup'),
    field: { container: ['startupProbe'] },
  },
  'readiness-failing': {
    class: 'slow',
    yieldsTo: 'node',
    awaits: 'time',
    title: '{a container} fails its readiness probe',
    ...probeTexts('readiness'),
    field: { container: ['readinessProbe'] },
  },
  'config-missing': {
    class: 'strike',
    title: 'a Secret, ConfigMap or key is missing',
    headline: ({ missing }, _, title) => {
      if (missing?.name === undefined) return title
      const object = shortenMiddle(missingObjectName(missing), nameLimit)
      return missing.key === undefined ? `${object} is missing` : `${object} lacks the key ${missing.key}`
    },
    sentence: ({ missing, volume, message }, { container }) => {
      const state = missing?.key === undefined ? 'does not exist' : `has no key ${missing.key}`
      const why = missing?.name === undefined ? message : `${missingObjectName(missing)} ${state}`
      return container === undefined ? mountSentence(volume, why) : `cannot be created: ${why}`
    },
    hint: missingObjectHint,
    otherSubjects: ({ missing: { kind, name, namespace } = {} }, { subject }) =>
      name === undefined
        ? []
        : [
            {
              group: '',
              kind: kind === 'secret' ? 'Secret' : 'ConfigMap',
              namespace: namespace ?? subject.namespace,
              name,
            },
          ],
    field: { container: ['env'], pod: ['spec', 'volumes'] },
  },
  'container-create-failed': {
    class: 'strike',
    title: '{a container} could not be created',
    sentence: (detail, facts) => {
      const { isCreated, message, mount } = detail
      if (!isCreated) return `cannot be created: ${message}`
      if (mount === undefined) return startSentence(detail, facts)
      const { volume, subPath, path, error } = mount
      return `cannot start: volume "${volume}"${ifPresent` (subPath ${subPath})`} cannot be mounted at ${path}: ${error}${facts.times}`
    },
    hint: createHint,
    isOfNode: true,
  },
}

function probeTexts(kind: ProbeKind): Pick<ReasonSpec<ProbeDetail>, 'sentence' | 'hint'> {
  return {
    sentence: (detail, facts) => probeSentence(kind, detail, facts),
    hint: (detail, words) => probeHint(kind, detail, words),
  }
}

/** `volume "settings" cannot be mounted: …`. */
export function mountSentence(volume: string | undefined, why: string): Sentence {
  return clause(`${volume === undefined ? 'a volume' : `volume "${volume}"`} cannot be mounted: ${why}`)
}

/** The object as kubectl names it: `secret/database`; `secret` if the name is unknown. */
function missingObjectName({ kind, name }: MissingObject): string {
  return name === undefined ? kind : `${kind}/${name}`
}

function initContainerHint({ problem, theContainer }: HintWords): string {
  return `The pod starts only when ${problem === undefined ? 'its init container' : theContainer} succeeds.`
}

/** Hint for a crash, from the exit code and the log. */
function crashHint({ exitCode, signal, failedHook }: Partial<CrashDetail>, words: HintWords): string {
  const { theContainer } = words
  if (words.isOfOtherArchitecture) return platformHint(words)
  if (failedHook !== undefined)
    return `Correct \`lifecycle.postStart\` of ${theContainer}: the kubelet ends a container whose hook fails.`
  const what =
    exitCode === 0 && signal === undefined
      ? `The program of ${theContainer} ends without an error, and is started again: keep it in the foreground, or run it as a Job.`
      : `Find out why ${theContainer} exits.`
  return `${what} ${logHint(words, { isPrevious: true, isNamed: true })}`
}

function memoryLimitText({ limit, isOfPod }: ContainerDetails['out-of-memory']): string {
  if (limit === undefined) return 'the node has'
  return isOfPod ? `the limit of its pod, ${limit}` : `its limit of ${limit}`
}

function memoryHint(
  { limit, isOfPod }: Partial<ContainerDetails['out-of-memory']>,
  { theContainer }: HintWords,
): string {
  if (limit === undefined)
    return `Raise the memory limit of ${theContainer}, or make it use less. If it has no limit, the node ran out of memory: set \`resources.requests.memory\`, so that it gets a node with room.`
  const owner = isOfPod ? 'the pod, whose containers share it' : theContainer
  return `Raise \`resources.limits.memory\` of ${owner} (now ${limit}), or make it use less.`
}

/** Hint for a program that does not exist or is not executable. */
function commandHint(_: Partial<StartDetail>, words: HintWords): string {
  const { spec, logLine, theImage, theContainer } = words
  if (words.isOfOtherArchitecture) return platformHint(words)
  const written = [...(spec?.command ?? []), ...(spec?.args ?? [])]
  const runs = written.length === 0 ? '' : ` It runs \`${JSON.stringify(written).replaceAll('`', '')}\`.`
  const lastLine =
    logLine === undefined ? '' : ` The last ${logLine.isError ? 'error' : 'line'} that was logged is "${logLine.text}".`
  return `Correct \`command\` and \`args\` of ${theContainer}: the program must exist in ${theImage}, on its PATH, and be executable.${runs}${lastLine}`
}

function createHint({ mayBeRoot, step, mount }: Partial<CreateDetail>, words: HintWords): string {
  const { theImage, theContainer, describePod } = words
  if (mayBeRoot)
    return `Set \`securityContext.runAsUser\` of ${theContainer} to the number of a user other than root, or use an image with such a USER.`
  if (step === 'sub-path')
    return `The kubelet cannot prepare a \`subPath\` of ${theContainer}: the folder must exist on the volume, or the node must be allowed to create it (an NFS server forbids that with root_squash).`
  if (step === 'working-directory')
    return `Correct \`workingDir\` of ${theContainer}, or WORKDIR of ${theImage}: the folder must exist, and the user of the container must be allowed to enter it.`
  // For a subPath that its volume lacks, the kubelet creates a folder, which cannot be mounted onto a file.
  if (mount?.subPath !== undefined && mount.error.startsWith('not a directory'))
    return `Probably volume ${mount.volume} has no ${mount.subPath}: an empty folder is mounted instead, but ${mount.path} is a file in the image. Correct the subPath, or add the key to the ConfigMap or Secret of the volume.`
  return `The kubelet, the container runtime or a hook of it fails before the program of ${theContainer} starts. Its events: ${describePod}.`
}

/** Hint for a missing object: what to create, where the pod refers to it, and how to list the existing objects. */
function missingObjectHint({ missing }: Partial<MissingDetail>, { pod, command, inNamespace }: HintWords): string {
  const { namespace } = missing ?? {}
  const where = ifPresent` in namespace ${namespace}` || inNamespace || ' in the same namespace'
  if (missing?.name === undefined)
    return `Create the Secret or ConfigMap (or the key in it) that the message names,${where}, or correct the reference.`
  const { kind, key } = missing
  const object = missingObjectName(missing)
  const reference = `the reference${ifPresent` (${referencesText(missing, pod)})`}`
  const list = namespace === undefined ? command('get', kind) : clusterCommand('get', kind, '-n', namespace)
  return key === undefined
    ? `Create ${object}${where}, or correct ${reference}. ${list} lists what is there.`
    : `Add the key ${key} to ${object}${where}, or correct ${reference}. ${command('describe', object)} lists its keys.`
}

/** The places in a pod that refer to a Secret or ConfigMap: `env PASSWORD of container app, volume settings`. */
function referencesText({ kind, name, key }: MissingObject, pod: Pod | undefined): string {
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

interface Reference {
  readonly name?: string
  readonly key?: string
}
