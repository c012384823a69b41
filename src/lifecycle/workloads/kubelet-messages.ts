import type { Container, ContainerStateTerminated, ContainerStatus, Pod } from '../../cluster/objects.ts'
import type { FailedMount, MissingObject } from '../../reasons/containers.ts'
import type { ProbeAnswer, ProbeDetail } from '../../reasons/probes.ts'
import type { ReasonDetails } from '../../reasons/reasons.ts'
import type { Exit } from '../../reasons/wording.ts'
import { shellMs } from '../../thresholds.ts'
import type { ContainerView } from '../pod-view.ts'
import { isStartError } from './pod-fields.ts'

/* Reads facts from the messages of the kubelet and of container runtimes. */

type DeathReason =
  | 'crash-loop'
  | 'out-of-memory'
  | 'bad-command'
  | 'exec-format'
  | 'init-container-failed'
  | 'liveness-failing'
  | 'startup-failing'
  | 'container-create-failed'

/** Why a container died. */
type Death = {
  [Reason in DeathReason]: { readonly reason: Reason; readonly detail: ReasonDetails[Reason] }
}[DeathReason]

/**
 * Why a container died, by the message of the runtime, the exit code and the kubelet's Events. A shell returns 126 for
 * a program that cannot be run, 127 for a missing one, and 128 + n for signal n
 * (https://www.gnu.org/software/bash/manual/html_node/Exit-Status.html).
 */
export function causeOfDeath(view: ContainerView, death: ContainerStateTerminated): Death {
  const { pod, container, isInit, killedBy, failedProbes, failedHook } = view
  const exit = exitOf(death)
  const { image } = container
  const error = runtimeError(death.message ?? '')
  const isRefused = isStartError(death)
  if (death.reason === 'OOMKilled' || (isRefused && error.step === 'memory')) {
    const limit = container.resources?.limits?.['memory']
    const podLimit = pod.spec?.resources?.limits?.['memory']
    return { reason: 'out-of-memory', detail: { limit: limit ?? podLimit, isOfPod: limit === undefined } }
  }
  if (error.step === 'command' && /exec format error/i.test(error.message))
    return { reason: 'exec-format', detail: { image, message: error.message } }
  const isOfShell = isShellError(death)
  // If Docker returns these exit codes, its error is about the program (daemon/start.go).
  const isOfProgram = isOfShell && error.step === 'other'
  if (isRefused && error.message !== '')
    return causeOfFailedStart(container, isOfProgram ? { ...error, step: 'command' } : error, {
      ...exit,
      isCreated: true,
    })
  if (isOfShell) return { reason: 'bad-command', detail: { ...exit, image, message: '' } }
  if (isRefused) return causeOfFailedStart(container, error, { ...exit, isCreated: true })
  if (killedBy !== undefined)
    return { reason: `${killedBy}-failing`, detail: { isRunning: false, ...probeFailure(failedProbes[killedBy]) } }
  return { reason: isInit ? 'init-container-failed' : 'crash-loop', detail: { ...exit, failedHook } }
}

/** Whether a shell could not run or find the program. After a longer run (`shellMs`), the code is the program's own. */
function isShellError(death: ContainerStateTerminated): boolean {
  const { exitCode, startedAt = '', finishedAt = '' } = death
  const isOwnCode = Date.parse(finishedAt) - Date.parse(startedAt) >= shellMs
  return (exitCode === 126 || exitCode === 127) && (!isOwnCode || isStartError(death))
}

/** The exit code and signal of a container's end. */
export function exitOf({ exitCode, signal }: ContainerStateTerminated): Exit {
  return { exitCode, signal }
}

/** Why the runtime could not create or start a container. Only the step `command` concerns the program. */
export function causeOfFailedStart(
  container: Container,
  { step, message }: RuntimeError,
  exit: Exit & { readonly isCreated: boolean },
): Death {
  const start = { ...exit, image: container.image, message }
  return step === 'command'
    ? { reason: 'bad-command', detail: start }
    : { reason: 'container-create-failed', detail: { ...start, step, mount: failedMount(message, container) } }
}

/**
 * The failed mount in a message of the runtime, found by its path in the container: `error mounting
 * "/var/lib/kubelet/pods/…" to rootfs at "/etc/app.conf": mount … not a directory`.
 */
function failedMount(message: string, { volumeMounts = [] }: Container): FailedMount | undefined {
  const [, path, error = ''] = /^error mounting "[^"]+" to rootfs at "([^"]+)": .*: (.+)$/s.exec(message) ?? []
  const mount = volumeMounts.find(({ mountPath }) => mountPath === path)
  if (path === undefined || mount === undefined) return undefined
  return { volume: mount.name, subPath: mount.subPath, path, error }
}

/** The failure of a probe, from a message such as `Readiness probe failed: HTTP probe failed with statuscode: 503`. */
export function probeFailure(message: string | undefined): Pick<ProbeDetail, 'failure' | 'answer'> {
  if (message === undefined) return {}
  // If the probe printed nothing, the message ends with a colon.
  const [, verb, text = ''] = /^\w+ probe (failed|errored)?[^:]*:?\s*(.*)$/s.exec(message) ?? []
  const { step, message: error } = runtimeError(text)
  // If a runtime cannot run the command of a probe, it may report a failed probe instead of an error.
  if (verb !== 'errored' && (step !== 'command' || error === text.trim())) {
    const failure = text.trim()
    return { failure, answer: probeAnswer(failure) }
  }
  const program = step === 'command' ? /["`]([^"`]+)["`]/.exec(error)?.[1] : undefined
  return { failure: error, answer: { type: 'not-asked', program } }
}

/**
 * The container's answer to a probe, by the kubelet's message (pkg/probe/http, tcp, grpc). An answer that starts with
 * `\x15\x03` is a TLS alert: the server expects TLS. `\x00\x00` is a frame of HTTP/2.
 */
const answers: readonly (readonly [RegExp, (word: string) => ProbeAnswer])[] = [
  [/^command timed out/, () => ({ type: 'command-timeout' })],
  [/statuscode: (\d{3})/, (status) => ({ type: 'http-status', status: Number(status) })],
  [/malformed HTTP \w+ "\\x15\\x03/, () => ({ type: 'expects-tls' })],
  [/malformed HTTP \w+ "\\x00\\x00/, () => ({ type: 'expects-http2' })],
  [
    /HTTP response to HTTPS client|first record does not look like a TLS handshake/,
    () => ({ type: 'expects-plain-http' }),
  ],
  [/failed to connect service/, () => ({ type: 'no-grpc-server' })],
  [/does not implement the grpc health protocol/, () => ({ type: 'no-grpc-health' })],
  [/service unhealthy \(responded with "(\w+)"\)/, (status) => ({ type: 'grpc-status', status })],
  [/rpc error: code = (\w+)/, (code) => ({ type: 'grpc-error', code })],
  [/connection refused/, () => ({ type: 'connection-refused' })],
  [/connection reset|: EOF$/, () => ({ type: 'connection-closed' })],
  [/stopped after \d+ redirects/, () => ({ type: 'redirects' })],
  [/remote error: tls: (?:bad certificate|certificate required)/, () => ({ type: 'requires-certificate' })],
  [/deadline exceeded|i\/o timeout|Client\.Timeout|did not complete within/, () => ({ type: 'timeout' })],
]

function probeAnswer(failure: string): ProbeAnswer | undefined {
  for (const [pattern, read] of answers) {
    const found = pattern.exec(failure)
    if (found !== null) return read(found[1] ?? '')
  }
  return undefined
}

/**
 * The missing Secret or ConfigMap in a message about an environment variable (pkg/kubelet/kubelet_pods.go) or a volume
 * (pkg/volume/{secret,configmap,projected}); undefined for other messages. The driver of a volume may quote the API
 * server, which writes the plural. Objects of the Secrets Store driver are not in the cluster.
 */
export function missingObject(message: string): MissingObject | undefined {
  if (/failed to mount secrets store objects/i.test(message)) return undefined
  const [, absent = '', name = ''] = /\b(secret|configmap)s? "([^"]+)" not found/i.exec(message) ?? []
  if (name !== '') return { kind: missingKind(absent), name, namespace: namespaceInMessage(name, message) }
  const [, key, holder = '', path = ''] = /couldn't find key (\S+) in (Secret|ConfigMap) (\S+)/i.exec(message) ?? []
  if (key !== undefined) return { kind: missingKind(holder), name: path.slice(path.indexOf('/') + 1), key }
  const [, source = '', reference] = /references non-existent (secret|config) key: (\S+)/i.exec(message) ?? []
  return reference === undefined ? undefined : { kind: missingKind(source), key: reference }
}

/** The namespace in which a volume driver looked for a Secret: `couldn't get secret shop/share`. */
function namespaceInMessage(name: string, message: string): string | undefined {
  const [, before, after] = /\bsecret "?([a-z0-9-]+)\/|\bin (?:the )?namespace "?([a-z0-9-]+)/i.exec(message) ?? []
  return message.includes(`${before}/${name}`) ? before : after
}

function missingKind(word: string): MissingObject['kind'] {
  return word.toLowerCase() === 'secret' ? 'secret' : 'configmap'
}

/** The error of a pod sandbox. `handler`: the runtime handler that the container runtime does not have. */
export function sandboxErrorDetail(message: string): { message: string; handler?: string } {
  const [, handler] =
    /(?:runtime handler|no runtime for) "?([\w.-]{1,253})"? (?:from runtime list|is configured)/.exec(message) ?? []
  return { message: setupError(message), handler }
}

/** The missing Secret or ConfigMap of a volume. For a missing key, the kubelet only names the volume. */
export function missingVolumeObject(message: string, { spec }: Pod): MissingObject | undefined {
  const missing = missingObject(message)
  if (missing === undefined || missing.name !== undefined) return missing
  const [, volumeName] = /\bvolume "([^"]+)"/.exec(message) ?? []
  const volume = spec?.volumes?.find((each) => each.name === volumeName)
  return { ...missing, name: missing.kind === 'secret' ? volume?.secret?.secretName : volume?.configMap?.name }
}

/** Whether a mount only waits for the kubelet's cache of Secrets and ConfigMaps, which is filled soon. */
export function isCacheNotFilled(message: string): boolean {
  return /\bobject "[^"]*"\/"[^"]*" not registered/.test(message)
}

/** Splits a message about a mount: `MountVolume.SetUp failed for volume "v" : secret "nope" not found`. */
export function mountFailure(message: string): { volume?: string; message: string } {
  const [, volume, why = message] =
    /^\w+\.\w+(?: initialization)? failed for volume "([^"]+)" ?:\s*(.+)$/s.exec(message) ?? []
  return { volume, message: setupError(why) }
}

/** The error without the kubelet's text: `Failed to prepare dynamic resources: DRA driver …` → `DRA driver …`. */
export function deviceError(message: string): string {
  return message.replace(/^(?:Failed to )?prepare dynamic resources: (?:prepare dynamic resources: )?/i, '')
}

/** The error of a pod's setup, without the text that the kubelet and the runtime write before it. */
function setupError(message: string): string {
  return message.replace(/^Failed to create pod sandbox:\s*/i, '').replace(/rpc error: code = \w+ desc = /g, '')
}

/**
 * The time between the end of a container and its restart, from `back-off 2m40s restarting failed container`. Undefined
 * if the container is in no back-off, or if the message contains no time.
 */
export function backOffSeconds({ state }: ContainerStatus): number | undefined {
  if (state?.waiting?.reason !== 'CrashLoopBackOff') return undefined
  const [, minutes, seconds] = /back-off (?:(\d+)m)?(\d+)s\b/i.exec(state.waiting.message ?? '') ?? []
  return seconds === undefined ? undefined : Number(minutes ?? 0) * 60 + Number(seconds)
}

/** The failed step of a container runtime. `command`: it runs the program. `other`: the gate does not know the step. */
type RuntimeStep = 'command' | 'hook' | 'memory' | 'mount' | 'sub-path' | 'working-directory' | 'other'

/** An error of a container runtime: the step that failed, and the message from this step on. */
interface RuntimeError {
  readonly step: RuntimeStep
  readonly message: string
}

/**
 * A text before the failed step. The kubelet, containerd, CRI-O, Docker, runc and crun each add their own. The text
 * after the step may contain the words of another step: a hook may report that a program is missing.
 */
const errorPrefix = new RegExp(
  `^(?:${[
    'Error response from daemon',
    'rpc error: code = \\w+ desc =',
    'failed to create (?:containerd )?(?:task|container)(?: for container)?',
    'failed to start container "[^"]*"',
    'failed to create shim task',
    'failed to generate (?:container "[^"]*" )?spec',
    'OCI runtime (?:create|start|exec) failed',
    'failed to exec in container',
    'failed to start exec "[^"]*"',
    'container create failed',
    '(?:(?:runc|crun) )?(?:create|exec) failed',
    'crun',
    '(?:container|process|standard_init)_linux\\.go:\\d+',
    'starting container process caused',
    '(?:error during )?container init(?: caused)?',
    'unable to start container process',
    'time="[^"]*" level=\\w+ msg=',
  ].join('|')})(?::+\\s*"?|\\s*"|(?<==)\\s*)`,
  'i',
)

/**
 * The first words of each step in messages of runc (libcontainer/{init,process,rootfs}_linux.go, libcontainer/configs),
 * crun (src/libcrun/{container,linux,utils}.c), gVisor, and the kubelet, which prepares subPaths (makeMounts,
 * pkg/kubelet/kubelet_pods.go).
 */
const steps: readonly (readonly [RuntimeStep, RegExp])[] = [
  ['hook', /^(?:error )?running (?:\w+ )?hook\b|^error executing hook\b/i],
  ['memory', /^container init was OOM-killed/i],
  ['mount', /^error mounting\b|^failed to mount\b|^mount(?:ing)? ["`]|^rootfs_linux\.go:\d+: mounting\b/i],
  ['sub-path', /^failed to (?:prepare|create) subPath\b/i],
  ['working-directory', /^chdir to (?:cwd\b|`)/i],
  [
    'command',
    /^exec: |^exec [./]|^exec (?:user|container) process\b|^executable file\b|^open executable\b|^error finding executable\b/i,
  ],
]

/** Reads the error of a container runtime. Only the first words after all prefixes decide about the step. */
export function runtimeError(text: string): RuntimeError {
  let message = text.trim()
  for (let found = errorPrefix.exec(message); found !== null; found = errorPrefix.exec(message)) {
    const rest = message.slice(found[0].length)
    // Quotes inside a quoted text are escaped.
    message = found[0].endsWith('"') ? rest.replaceAll(/\\+"/g, '"').replace(/"(?=(?:: unknown)?\s*$)/, '') : rest
  }
  message = message.trim().replace(/(?::\s*unknown)+\.?$/i, '')
  return { step: steps.find(([, pattern]) => pattern.test(message))?.[0] ?? 'other', message }
}
