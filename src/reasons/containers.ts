import type { Probe } from '../cluster/objects.ts'
import { platformHint } from './images.ts'
import type { HintFacts, ReasonFamily } from './spec.ts'
import {
  command,
  containerHeadline,
  containerOf,
  describedPod,
  exitCode,
  fromWords,
  imageLimit,
  imageOf,
  inNamespace,
  nameLimit,
  readLog,
  type TextDetail,
  textSentence,
} from './wording.ts'

export interface ContainerDetails {
  readonly 'crash-loop': TextDetail
  readonly 'out-of-memory': TextDetail
  readonly 'bad-command': TextDetail
  readonly 'exec-format': TextDetail
  readonly 'init-container-failed': TextDetail
  readonly 'liveness-failing': TextDetail
  readonly 'startup-failing': TextDetail
  readonly 'readiness-failing': TextDetail
  readonly 'config-missing': TextDetail
  readonly 'container-create-failed': TextDetail
}

export const containerReasons: ReasonFamily<ContainerDetails> = {
  'crash-loop': {
    class: 'strike',
    when: 'a container died for the third time, 30 s after its first death at the earliest',
    title: 'a container keeps crashing',
    headline: (problem, shorten) =>
      containerHeadline((name) => `${name} keeps crashing${exitCode(problem)}`)(problem, shorten),
    sentence: textSentence,
    hint: crashHint,
    readsLogs: true,
    field: { container: [] },
  },
  'out-of-memory': {
    class: 'strike',
    when: "as crash-loop, each death by the kernel's out-of-memory killer",
    title: 'a container ran out of memory',
    headline: containerHeadline((name) => `${name} ran out of memory`),
    sentence: textSentence,
    hint: memoryHint,
    readsLogs: true,
    readsNode: true,
    field: { container: ['resources', 'limits', 'memory'] },
  },
  'bad-command': {
    class: 'strike',
    when: 'as crash-loop: the program does not exist in the image or cannot be executed',
    title: 'the command could not be run',
    headline: containerHeadline((name) => `the command of ${name} could not be run`),
    sentence: textSentence,
    hint: commandHint,
    readsLogs: true,
    field: { container: ['command'] },
  },
  'exec-format': {
    class: 'strike',
    when: 'as crash-loop: the program is for another processor architecture',
    title: 'the image is built for another architecture',
    headline: containerHeadline((name) => `the image of ${name} is built for another architecture`),
    sentence: textSentence,
    hint: platformHint,
    readsLogs: true,
    field: { container: ['image'] },
  },
  'init-container-failed': {
    class: 'strike',
    when: 'as crash-loop, of an init container',
    title: 'an init container failed',
    headline: containerHeadline((name, problem) => `init ${name} failed${exitCode(problem)}`),
    sentence: textSentence,
    hint: (s) =>
      `The pod starts only when ${s.problem === undefined ? 'its init container' : containerOf(s)} succeeds. ${readLog(s, { isPrevious: true, isNamed: true })}`,
    readsLogs: true,
    field: { container: [] },
  },
  'liveness-failing': {
    class: 'strike',
    when: 'as crash-loop, each death by the liveness probe',
    title: 'the liveness probe fails',
    headline: containerHeadline((name) => `${name} fails its liveness probe`),
    sentence: textSentence,
    hint: (s) => probeHint('liveness', s),
    readsLogs: true,
    field: { container: ['livenessProbe'] },
  },
  'startup-failing': {
    class: 'strike',
    classOf: ({ detail }) => (detail.isRunning ? 'slow' : 'strike'),
    when: 'as crash-loop, each death by the startup probe; slow while it only does not succeed',
    title: 'the startup probe fails',
    headline: containerHeadline((name) => `${name} fails its startup probe`),
    sentence: textSentence,
    hint: (s) => probeHint('startup', s),
    readsLogs: true,
    field: { container: ['startupProbe'] },
  },
  'readiness-failing': {
    class: 'slow',
    when: 'a container runs, and has used up the time that its own probes allow without being ready',
    title: 'the readiness probe fails',
    headline: containerHeadline((name) => `${name} fails its readiness probe`),
    sentence: textSentence,
    hint: (s) => probeHint('readiness', s),
    readsLogs: true,
    field: { container: ['readinessProbe'] },
  },
  'config-missing': {
    class: 'strike',
    when: 'a Secret, ConfigMap or a key in it has been missing for 60 s',
    title: 'a Secret, ConfigMap or key is missing',
    headline: ({ detail }, shorten) => {
      if (detail.object === undefined || !detail.object.includes('/')) return undefined
      const object = shorten(detail.object, imageLimit)
      return detail.key === undefined
        ? `${object} is missing`
        : `${object} lacks the key ${shorten(detail.key, nameLimit)}`
    },
    sentence: textSentence,
    hint: missingHint,
    field: { container: ['env'], pod: ['spec', 'volumes'] },
  },
  'container-create-failed': {
    class: 'strike',
    when: 'the runtime has not been able to create the container for 60 s, or to start it for the third time',
    title: 'a container could not be created',
    headline: (problem, shorten) =>
      fromWords([[/volume "([^"]+)".* cannot be mounted/, 'volume $1 cannot be mounted']])(problem, shorten) ??
      containerHeadline((name) => `${name} could not be created`)(problem, shorten),
    sentence: textSentence,
    hint: (s) =>
      /\(subPath .*: not a directory/.test(s.problem?.detail.text ?? '')
        ? subPathHint(s)
        : `The container runtime says why in the pod's events: ${describedPod(s)}.`,
    readsNode: true,
  },
}

/** Why a container ends again and again, as far as its exit code tells. */
export function crashHint(facts: HintFacts<TextDetail>): string {
  const { problem } = facts
  const { exitCode, signal } = problem?.detail ?? {}
  const what =
    exitCode === 0 && signal === undefined
      ? `${capital(containerOf(facts))} ends without an error, and is started again: keep its program in the foreground, or run it as a Job.`
      : `Find out why ${containerOf(facts)} exits.`
  return [
    what,
    exitCode === undefined ? '' : (exitMeanings[exitCode] ?? ''),
    readLog(facts, { isPrevious: true, isNamed: true }),
  ]
    .filter(Boolean)
    .join(' ')
}

const exitMeanings: Readonly<Record<number, string>> = {
  137: 'Code 137 is SIGKILL, and the node does not say that it was for memory.',
  139: 'Code 139 is a segmentation fault: native code, or a library that does not fit the image.',
  143: 'Code 143 is SIGTERM: something asked it to end.',
}

/** How much memory it may use, and how soon that was too little. */
export function memoryHint(facts: HintFacts<TextDetail>): string {
  const limit = facts.spec?.resources?.limits?.['memory']
  const { container } = facts.problem ?? {}
  const status = facts.pod?.status?.containerStatuses?.find(({ name }) => name === container)
  const death = status?.lastState?.terminated ?? status?.state?.terminated
  const lived = Math.round((Date.parse(death?.finishedAt ?? '') - Date.parse(death?.startedAt ?? '')) / 1000)
  const when = lived >= 0 ? ` ${lived} s after its start` : ''
  if (limit === undefined)
    return `Raise the memory limit of ${containerOf(facts)}, or make it use less. Where it has no limit, the node itself ran out: set \`resources.requests.memory\`, so that it gets a node with room.`
  return `Raise \`resources.limits.memory\` of ${containerOf(facts)} (now ${limit}, used up${when}), or make it use less.`
}

/** Which program does not exist, or may not be run. */
export function commandHint(facts: HintFacts<TextDetail>): string {
  const { spec, problem } = facts
  const isForbidden = /permission denied/i.test(problem?.detail.text ?? '') || problem?.detail.exitCode === 126
  const written = [...(spec?.command ?? []), ...(spec?.args ?? [])]
  const runs = written.length === 0 ? '' : ` It runs \`${JSON.stringify(written).replaceAll('`', '')}\`.`
  const why = isForbidden
    ? `the program may not be run: make it executable in ${imageOf(facts)} (\`chmod +x\`)`
    : `the program does not exist in ${imageOf(facts)}, or is not on its PATH`
  const said = facts.lastLine === undefined ? '' : ` The last line that was logged is "${facts.lastLine}".`
  return `Correct \`command\` and \`args\` of ${containerOf(facts)}: ${why}.${runs}${said}`
}

/** A subPath that names no file becomes a folder, which nothing mounts onto a file. */
export function subPathHint(facts: HintFacts<TextDetail>): string {
  const [, volume = '', subPath = '', mountPath = ''] =
    /volume "([^"]+)" \(subPath (.+)\) cannot be mounted at (\S+): not a directory/.exec(
      facts.problem?.detail.text ?? '',
    ) ?? []
  const source = sourceOf(volume, facts)
  const has = source === undefined ? 'the volume' : source
  const keys = source === undefined ? '' : ` ${command(facts, 'describe', source)} lists its keys.`
  return `It seems that ${has} has no ${subPath}, so that an empty folder stands in for it, and ${mountPath} is a file in the image. Correct the subPath, or add the key.${keys}`
}

/** The ConfigMap or Secret that a volume is made from. */
function sourceOf(volume: string, { pod }: HintFacts<TextDetail>): string | undefined {
  const { configMap, secret } = pod?.spec?.volumes?.find(({ name }) => name === volume) ?? {}
  if (configMap?.name !== undefined) return `configmap/${configMap.name}`
  return secret?.secretName === undefined ? undefined : `secret/${secret.secretName}`
}

/** Names what to create, where it is referred to, and how to see what is there. */
export function missingHint(facts: HintFacts<TextDetail>): string {
  const { object, key } = facts.problem?.detail ?? {}
  const where = inNamespace(facts) || ' in the same namespace'
  if (object === undefined || !object.includes('/'))
    return `Create the Secret or ConfigMap (or the key in it) that the message names,${where}, or correct the reference.`
  const users = referencesTo(object, key, facts)
  const reference = users === '' ? 'the reference' : `the reference (${users})`
  const [kind = ''] = object.split('/')
  return key === undefined
    ? `Create ${object}${where}, or correct ${reference}. ${command(facts, 'get', kind)} lists what is there.`
    : `Add the key ${key} to ${object}${where}, or correct ${reference}. ${command(facts, 'describe', object)} lists its keys.`
}

interface Reference {
  readonly name?: string
  readonly key?: string
}

/** Where a pod refers to a Secret or ConfigMap: `env PASSWORD of container app, volume settings`. */
function referencesTo(object: string, key: string | undefined, { pod }: HintFacts<TextDetail>): string {
  const [kind = '', name] = object.split('/')
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

/** What a probe asks and what came of it, held against what the container declares. */
export function probeHint(kind: 'liveness' | 'readiness' | 'startup', facts: HintFacts<TextDetail>): string {
  const probe = facts.spec?.[`${kind}Probe`]
  const further = {
    liveness: 'If the container only needs longer to start, give it a startupProbe.',
    readiness: readLog(facts),
    startup: `If the container only needs longer, raise the probe's failureThreshold${arithmetic(probe)}.`,
  }
  return `${asked(probe, facts)} ${further[kind]}`
}

function asked(probe: Probe | undefined, facts: HintFacts<TextDetail>): string {
  if (probe === undefined) return 'Check what the probe asks.'
  const command = probe.exec?.command?.join(' ')
  if (command !== undefined) return `The probe runs \`${command.replaceAll('`', '')}\`, which has to end with code 0.`
  const port = probe.httpGet?.port ?? probe.tcpSocket?.port ?? probe.grpc?.port
  const path = probe.httpGet === undefined ? '' : ` for ${probe.httpGet.path ?? '/'}`
  const ports = facts.spec?.ports ?? []
  if (ports.length > 0 && !ports.some(({ containerPort, name }) => containerPort === port || name === port)) {
    const declared = ports.map(({ containerPort }) => containerPort).join(', ')
    return `The probe asks port ${port}${path}, but the container declares ${declared}.`
  }
  return `The probe asks port ${port}${path}${answer(probe, facts)}`
}

/** What the answer to a probe means, by the words of the kubelet (pkg/probe/http, tcp, grpc). */
function answer({ timeoutSeconds = 1 }: Probe, { probeMessage = '', problem }: HintFacts<TextDetail>): string {
  const said = `${probeMessage} ${problem?.detail.text ?? ''}`
  const status = /statuscode: (\d{3})/.exec(said)?.[1]
  if (status === '404') return ': the app answers, but has no such path (404).'
  if (status === '401' || status === '403') return `: the app answers, but wants the kubelet to log in (${status}).`
  if (status !== undefined) return `: the app answers ${status}, and any of 200 to 399 would do.`
  if (/failed to connect service/.test(said))
    return ': no gRPC server answers there. It has to listen on that port, and on all addresses, not on localhost alone.'
  if (/does not implement the grpc health protocol/.test(said))
    return ': the app answers, but does not implement the gRPC health protocol (grpc.health.v1.Health).'
  const serving = /service unhealthy \(responded with "(\w+)"\)/.exec(said)?.[1]
  if (serving !== undefined) return `: the app answers ${serving}, and only SERVING would do.`
  const code = /rpc error: code = (\w+)/.exec(said)?.[1]
  if (code !== undefined)
    return `: the app answers with the gRPC code ${code}. Does it know the service that the probe names?`
  if (/connection refused/.test(said))
    return ': nothing listens there. It has to listen on that port, and on all addresses, not on localhost alone.'
  if (/deadline exceeded|i\/o timeout|Client\.Timeout|did not complete within/.test(said))
    return `: no answer within its timeoutSeconds of ${timeoutSeconds}.`
  return ': is that where it listens?'
}

/** ` × periodSeconds (now 30 × 10 s)`; the API's defaults are 3 and 10 s. */
function arithmetic(probe: Probe | undefined): string {
  if (probe === undefined) return ' × periodSeconds'
  return ` (now ${probe.failureThreshold ?? 3}, every ${probe.periodSeconds ?? 10} s)`
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
