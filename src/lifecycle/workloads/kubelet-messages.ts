import type { Container, ContainerStateTerminated, EventObject } from '../../cluster/objects.ts'
import type { FailedMount, MissingObject } from '../../reasons/containers.ts'
import type { ProbeAnswer, ProbeDetail } from '../../reasons/probes.ts'
import type { ReasonDetails } from '../../reasons/reasons.ts'
import { concernsContainer, containerOfEvent, isStartError, type PodContainer } from './pod-fields.ts'

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
export type Death = {
  [Reason in DeathReason]: { readonly reason: Reason; readonly detail: ReasonDetails[Reason] }
}[DeathReason]

/**
 * Why a container died, from the reason and message of its runtime, its exit code, and the kubelet's events about the pod.
 * The exit codes are those of a shell: 126 and 127 for a program that cannot be run or found, 128 + n for signal n
 * (https://www.gnu.org/software/bash/manual/html_node/Exit-Status.html).
 */
export function explainDeath(
  { container, isInit }: PodContainer,
  death: ContainerStateTerminated,
  events: readonly EventObject[],
): Death {
  const { exitCode, signal } = death
  const { image } = container
  const message = runtimeError(death.message ?? '')
  // The runtime may run out of memory while it starts the container.
  if (death.reason === 'OOMKilled' || /container init was OOM-killed/i.test(message))
    return { reason: 'out-of-memory', detail: { limit: container.resources?.limits?.['memory'] } }
  if (/exec format error/i.test(message)) return { reason: 'exec-format', detail: { image, message } }
  const isNotExecutable = exitCode === 126 || /permission denied/i.test(message)
  const start = { exitCode, signal, image, message, isNotExecutable }
  if (isStartError(death)) {
    const mount = failedMount(message, container)
    const isCommand = message === '' || /exec|no such file or directory|permission denied|not found/i.test(message)
    const isMount =
      /error mounting|failed to mount|cannot be mounted|not a directory: unknown: Are you trying to mount/i.test(
        message,
      )
    return isCommand && !isMount
      ? { reason: 'bad-command', detail: start }
      : { reason: 'container-create-failed', detail: { ...start, isCreated: true, mount } }
  }
  if (exitCode === 126 || exitCode === 127) return { reason: 'bad-command', detail: start }
  const own = events.filter((event) => {
    const named = containerOfEvent(event)
    return named === undefined ? mentions(event.message ?? '', container.name) : named === container.name
  })
  for (const kind of ['liveness', 'startup'] as const) {
    if (own.some(({ reason, message }) => reason === 'Killing' && message?.includes(`failed ${kind} probe`)))
      return { reason: `${kind}-failing`, detail: { isRunning: false, ...probeFailure(kind, container, events) } }
  }
  const hook = events.findLast(
    (event) => event.reason === 'FailedPostStartHook' && containerOfEvent(event) === container.name,
  )
  const isLost = death.reason === 'ContainerStatusUnknown'
  return {
    reason: isInit ? 'init-container-failed' : 'crash-loop',
    detail: { exitCode, signal, failedHook: hook && (hook.message ?? ''), isLost },
  }
}

/**
 * The mount in `error mounting "/var/lib/kubelet/pods/…" to rootfs at "/etc/app.conf": mount … not a directory`, by the path
 * at which the container mounts it.
 */
function failedMount(message: string, { volumeMounts = [] }: Container): FailedMount | undefined {
  const [, path, error = ''] = /error mounting "[^"]+" to rootfs at "([^"]+)": .*: (.+)$/s.exec(message) ?? []
  const mount = volumeMounts.find(({ mountPath }) => mountPath === path)
  if (path === undefined || mount === undefined) return undefined
  return { volume: mount.name, subPath: mount.subPath, path, error }
}

/** An event without a field path may name its container: `Container app failed liveness probe, will be restarted`. */
function mentions(message: string, container: string): boolean {
  return message.split(/[\s,]+/).includes(container)
}

/**
 * The error in the message of a container runtime, without the steps that failed because of it: `failed to create containerd
 * task: … runc create failed: unable to start container process: exec: "/app": …: unknown`.
 */
export function runtimeError(message: string): string {
  return message
    .trim()
    .replace(
      /^.*?(?:unable to start container process|container create failed|starting container process caused):\s*/is,
      '',
    )
    .replace(/^failed to create containerd (?:task|container):\s*/i, '')
    .replace(/(?::\s*unknown)+\.?$/i, '')
}

/**
 * The kubelet's last report of a probe of this container: `Readiness probe failed: HTTP probe failed with statuscode: 503`.
 */
export function probeFailure(
  kind: 'liveness' | 'readiness' | 'startup',
  { name }: Container,
  events: readonly EventObject[],
): Pick<ProbeDetail, 'failure' | 'answer'> {
  const message = events.findLast(
    (event) =>
      event.reason === 'Unhealthy' &&
      event.message?.toLowerCase().startsWith(`${kind} probe`) &&
      concernsContainer(event, name),
  )?.message
  if (message === undefined) return {}
  // If the probe printed nothing, the message ends with a colon.
  const failure = message.replace(/^\w+ probe (?:failed|errored)[^:]*:?\s*/, '').trim()
  return { failure, answer: probeAnswer(failure) }
}

/** The container's answer, from the message of the kubelet (pkg/probe/http, tcp, grpc). */
function probeAnswer(failure: string): ProbeAnswer | undefined {
  const status = /statuscode: (\d{3})/.exec(failure)?.[1]
  if (status !== undefined) return { type: 'http-status', status: Number(status) }
  if (/failed to connect service/.test(failure)) return { type: 'no-grpc-server' }
  if (/does not implement the grpc health protocol/.test(failure)) return { type: 'no-grpc-health' }
  const health = /service unhealthy \(responded with "(\w+)"\)/.exec(failure)?.[1]
  if (health !== undefined) return { type: 'grpc-status', status: health }
  const code = /rpc error: code = (\w+)/.exec(failure)?.[1]
  if (code !== undefined) return { type: 'grpc-error', code }
  if (/connection refused/.test(failure)) return { type: 'connection-refused' }
  const isTimeout = /deadline exceeded|i\/o timeout|Client\.Timeout|did not complete within/.test(failure)
  return isTimeout ? { type: 'timeout' } : undefined
}

/**
 * The missing Secret or ConfigMap in the kubelet's message about an environment variable (pkg/kubelet/kubelet_pods.go) or a
 * volume (pkg/volume/{secret,configmap,projected}); undefined for any other message. `not registered` is about the kubelet's
 * own cache, which is not filled yet.
 */
export function missingObject(message: string): MissingObject | undefined {
  const [, absent = '', name] = /\b(secret|configmap) "([^"]+)" not found/i.exec(message) ?? []
  if (name !== undefined) return { kind: kindOf(absent), name }
  const [, key, holder = '', path = ''] = /couldn't find key (\S+) in (Secret|ConfigMap) (\S+)/i.exec(message) ?? []
  if (key !== undefined) return { kind: kindOf(holder), name: path.slice(path.indexOf('/') + 1), key }
  const [, source = '', reference] = /references non-existent (secret|config) key: (\S+)/i.exec(message) ?? []
  return reference === undefined ? undefined : { kind: kindOf(source), key: reference }
}

function kindOf(word: string): MissingObject['kind'] {
  return word.toLowerCase() === 'secret' ? 'secret' : 'configmap'
}
