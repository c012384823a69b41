import type { Probe } from '../cluster/objects.ts'
import { command, containerOf, describedPod, type HintSubject, imageOf, inNamespace } from './hint-subject.ts'

/**
 * What the container said last: nine times in ten that is the cause. The command shows all of it.
 * @param shape.isPrevious the container has been started again since
 * @param shape.isNamed the sentence before is about the container
 */
export function readLog(subject: HintSubject, { isPrevious = false, isNamed = false } = {}): string {
  const { problem, lastLine } = subject
  const who = containerOf(subject)
  const words =
    lastLine === undefined
      ? `${isNamed ? 'Its log' : `The log of ${who}`} says why, if anything does`
      : `The last line that ${isNamed ? 'it' : who} logged is "${lastLine}". The whole log`
  const { subject: about = '', container } = problem ?? {}
  if (!about.startsWith('pod/')) return `${words}.`
  const name = container === undefined ? [] : ['-c', container]
  return `${words}: ${command(subject, 'logs', about, ...name, ...(isPrevious ? ['--previous'] : []))}.`
}

/** Why a container ends again and again, as far as its exit code tells. */
export function crashHint(subject: HintSubject): string {
  const { problem } = subject
  const { exitCode, signal } = problem?.detail ?? {}
  const what =
    exitCode === 0 && signal === undefined
      ? `${capital(containerOf(subject))} ends without an error, and is started again: keep its program in the foreground, or run it as a Job.`
      : `Find out why ${containerOf(subject)} exits.`
  return [
    what,
    exitCode === undefined ? '' : (exitMeanings[exitCode] ?? ''),
    readLog(subject, { isPrevious: true, isNamed: true }),
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
export function memoryHint(subject: HintSubject): string {
  const limit = subject.spec?.resources?.limits?.['memory']
  const { container } = subject.problem ?? {}
  const status = subject.pod?.status?.containerStatuses?.find(({ name }) => name === container)
  const death = status?.lastState?.terminated ?? status?.state?.terminated
  const lived = Math.round((Date.parse(death?.finishedAt ?? '') - Date.parse(death?.startedAt ?? '')) / 1000)
  const when = lived >= 0 ? ` ${lived} s after its start` : ''
  if (limit === undefined)
    return `Raise the memory limit of ${containerOf(subject)}, or make it use less. Where it has no limit, the node itself ran out: set \`resources.requests.memory\`, so that it gets a node with room.`
  return `Raise \`resources.limits.memory\` of ${containerOf(subject)} (now ${limit}, used up${when}), or make it use less.`
}

/** Which program does not exist, or may not be run. */
export function commandHint(subject: HintSubject): string {
  const { spec, problem } = subject
  const isForbidden = /permission denied/i.test(problem?.message ?? '') || problem?.detail?.exitCode === 126
  const written = [...(spec?.command ?? []), ...(spec?.args ?? [])]
  const runs = written.length === 0 ? '' : ` It runs \`${JSON.stringify(written).replaceAll('`', '')}\`.`
  const why = isForbidden
    ? `the program may not be run: make it executable in ${imageOf(subject)} (\`chmod +x\`)`
    : `the program does not exist in ${imageOf(subject)}, or is not on its PATH`
  const said = subject.lastLine === undefined ? '' : ` The last line that was logged is "${subject.lastLine}".`
  return `Correct \`command\` and \`args\` of ${containerOf(subject)}: ${why}.${runs}${said}`
}

/** A subPath that names no file becomes a folder, which nothing mounts onto a file. */
export function subPathHint(subject: HintSubject): string {
  const [, volume = '', subPath = '', mountPath = ''] =
    /volume "([^"]+)" \(subPath (.+)\) cannot be mounted at (\S+): not a directory/.exec(
      subject.problem?.message ?? '',
    ) ?? []
  const source = sourceOf(volume, subject)
  const has = source === undefined ? 'the volume' : source
  const keys = source === undefined ? '' : ` ${command(subject, 'describe', source)} lists its keys.`
  return `It seems that ${has} has no ${subPath}, so that an empty folder stands in for it, and ${mountPath} is a file in the image. Correct the subPath, or add the key.${keys}`
}

/** The ConfigMap or Secret that a volume is made from. */
function sourceOf(volume: string, { pod }: HintSubject): string | undefined {
  const { configMap, secret } = pod?.spec?.volumes?.find(({ name }) => name === volume) ?? {}
  if (configMap?.name !== undefined) return `configmap/${configMap.name}`
  return secret?.secretName === undefined ? undefined : `secret/${secret.secretName}`
}

/** Names what to create, where it is referred to, and how to see what is there. */
export function missingHint(subject: HintSubject): string {
  const { object, key } = subject.problem?.detail ?? {}
  const where = inNamespace(subject) || ' in the same namespace'
  if (object === undefined || !object.includes('/'))
    return `Create the Secret or ConfigMap (or the key in it) that the message names,${where}, or correct the reference.`
  const users = referencesTo(object, key, subject)
  const reference = users === '' ? 'the reference' : `the reference (${users})`
  const [kind = ''] = object.split('/')
  return key === undefined
    ? `Create ${object}${where}, or correct ${reference}. ${command(subject, 'get', kind)} lists what is there.`
    : `Add the key ${key} to ${object}${where}, or correct ${reference}. ${command(subject, 'describe', object)} lists its keys.`
}

interface Reference {
  readonly name?: string
  readonly key?: string
}

/** Where a pod refers to a Secret or ConfigMap: `env PASSWORD of container app, volume settings`. */
function referencesTo(object: string, key: string | undefined, { pod }: HintSubject): string {
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
export function probeHint(kind: 'liveness' | 'readiness' | 'startup', subject: HintSubject): string {
  const probe = subject.spec?.[`${kind}Probe`]
  const further = {
    liveness: 'If the container only needs longer to start, give it a startupProbe.',
    readiness: readLog(subject),
    startup: `If the container only needs longer, raise the probe's failureThreshold${arithmetic(probe)}.`,
  }
  return `${asked(probe, subject)} ${further[kind]}`
}

function asked(probe: Probe | undefined, subject: HintSubject): string {
  if (probe === undefined) return 'Check what the probe asks.'
  const command = probe.exec?.command?.join(' ')
  if (command !== undefined) return `The probe runs \`${command.replaceAll('`', '')}\`, which has to end with code 0.`
  const port = probe.httpGet?.port ?? probe.tcpSocket?.port ?? probe.grpc?.port
  const path = probe.httpGet === undefined ? '' : ` for ${probe.httpGet.path ?? '/'}`
  const ports = subject.spec?.ports ?? []
  if (ports.length > 0 && !ports.some(({ containerPort, name }) => containerPort === port || name === port)) {
    const declared = ports.map(({ containerPort }) => containerPort).join(', ')
    return `The probe asks port ${port}${path}, but the container declares ${declared}.`
  }
  return `The probe asks port ${port}${path}${answer(probe, subject)}`
}

/** What the answer to a probe means, by the words of the kubelet (pkg/probe/http, tcp, grpc). */
function answer({ timeoutSeconds = 1 }: Probe, { probeSaid = '', problem }: HintSubject): string {
  const said = `${probeSaid} ${problem?.message ?? ''}`
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

/** The pod as a whole has ended. */
export function endedHint(subject: HintSubject): string {
  return `Nothing restarts the pod. ${subject.problem?.container === undefined ? `See how it ended: ${describedPod(subject)}.` : readLog(subject)}`
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
