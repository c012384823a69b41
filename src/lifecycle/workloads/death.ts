import type { Container, ContainerStateTerminated, EventObject } from '../../cluster/objects.ts'
import type { ReasonCode } from '../../reasons/reasons.ts'
import { exited, exitWords } from '../../reasons/wording.ts'
import { containerOfEvent, type PodContainer } from './history.ts'

/** Why a container died, in a reason code and for people. */
export interface Death {
  readonly reason: ReasonCode
  readonly message: string
}

/**
 * Why a container died, from the runtime's reason and words, its exit code, and the kubelet's events about the pod. The
 * exit codes are those of a shell: 126 and 127 for a program that cannot be run or found, 128 + n for signal n
 * (https://www.gnu.org/software/bash/manual/html_node/Exit-Status.html).
 */
export function explainDeath(
  { container, isInit }: PodContainer,
  death: ContainerStateTerminated,
  events: readonly EventObject[],
): Death {
  const words = mountWords(runtimeWords(death.message ?? ''), container)
  // The runtime's own start of the container can run out of memory, too.
  if (death.reason === 'OOMKilled' || /container init was OOM-killed/i.test(words)) {
    const limit = container.resources?.limits?.['memory']
    const than = limit === undefined ? 'the node has' : `its limit of ${limit}`
    return { reason: 'out-of-memory', message: `was killed for using more memory than ${than}` }
  }
  if (/exec format error/i.test(words))
    return { reason: 'exec-format', message: `cannot run on this node's architecture: ${words}` }
  // Docker says ContainerCannotRun; with containerd and CRI-O it is StartError, exit code 128.
  if (death.reason === 'StartError' || death.reason === 'ContainerCannotRun') {
    const isCommand = words === '' || /exec|no such file or directory|permission denied|not found/i.test(words)
    const isMount =
      /error mounting|failed to mount|cannot be mounted|not a directory: unknown: Are you trying to mount/i.test(words)
    const reason = isCommand && !isMount ? 'bad-command' : 'container-create-failed'
    return { reason, message: `cannot start: ${words === '' ? exitWords(death) : words}` }
  }
  if (death.exitCode === 126 || death.exitCode === 127)
    return { reason: 'bad-command', message: `cannot start: ${words === '' ? exitWords(death) : words}` }
  const about = events.filter((event) => {
    const named = containerOfEvent(event)
    return named === undefined ? mentions(event.message ?? '', container.name) : named === container.name
  })
  const killedBy = (probe: string) =>
    about.some(({ reason, message }) => reason === 'Killing' && message?.includes(`failed ${probe} probe`))
  if (killedBy('liveness')) return { reason: 'liveness-failing', message: 'is killed because its liveness probe fails' }
  if (killedBy('startup')) return { reason: 'startup-failing', message: 'is killed because its startup probe fails' }
  const reason = isInit ? 'init-container-failed' : 'crash-loop'
  const hook = events.findLast(
    (event) => event.reason === 'FailedPostStartHook' && containerOfEvent(event) === container.name,
  )
  if (hook !== undefined)
    return { reason, message: `is killed because its postStart hook fails: ${hook.message ?? ''}` }
  if (death.reason === 'ContainerStatusUnknown')
    return { reason, message: 'was lost: its node no longer knows how it ended' }
  return { reason, message: exited(death) }
}

/**
 * `error mounting "/var/lib/kubelet/pods/…" to rootfs at "/etc/app.conf": mount … not a directory` says of its many paths
 * only one that the manifest has, too: `volume "settings" (subPath app.conf) cannot be mounted at /etc/app.conf: not a directory`.
 */
function mountWords(words: string, { volumeMounts = [] }: Container): string {
  const [, path, why] = /error mounting "[^"]+" to rootfs at "([^"]+)": .*: (.+)$/s.exec(words) ?? []
  const mount = volumeMounts.find(({ mountPath }) => mountPath === path)
  if (path === undefined || mount === undefined) return words
  const part = mount.subPath === undefined ? '' : ` (subPath ${mount.subPath})`
  return `volume "${mount.name}"${part} cannot be mounted at ${path}: ${why}`
}

/** Events that do not name their container in a field may do so in their words: `Container app failed liveness probe, will be restarted`. */
function mentions(message: string, container: string): boolean {
  return message.split(/[\s,]+/).includes(container)
}

/**
 * The words of the runtime that say what is wrong, without the layers that wrap them: `failed to create containerd task: …
 * runc create failed: unable to start container process: exec: "/app": …: unknown`.
 */
export function runtimeWords(message: string): string {
  return message
    .trim()
    .replace(
      /^.*?(?:unable to start container process|container create failed|starting container process caused):\s*/is,
      '',
    )
    .replace(/^failed to create containerd (?:task|container):\s*/i, '')
    .replace(/(?::\s*unknown)+\.?$/i, '')
}
