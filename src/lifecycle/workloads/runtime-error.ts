/**
 * The step of a container runtime that failed: `command` runs the program of the container. All others precede it, and
 * `other` is a step that the gate does not know.
 */
type RuntimeStep = 'command' | 'hook' | 'memory' | 'mount' | 'sub-path' | 'working-directory' | 'other'

/** An error of a container runtime: the step that failed, and the message from this step on. */
export interface RuntimeError {
  readonly step: RuntimeStep
  readonly message: string
}

/**
 * A text before the step that failed: each of kubelet, containerd, CRI-O, Docker, runc and crun adds its own. The step is
 * followed by its cause, which may contain any other step: a hook reports which program it misses.
 */
const wrapper = new RegExp(
  `^(?:${[
    'Error response from daemon',
    'rpc error: code = \\w+ desc =',
    'failed to create (?:containerd )?(?:task|container)(?: for container)?',
    'failed to start container "[^"]*"',
    'failed to create shim task',
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
 * The first words of each step: of runc (libcontainer/{init,process,rootfs}_linux.go, libcontainer/configs), crun
 * (src/libcrun/{container,linux,utils}.c), gVisor, and of the kubelet, which prepares a subPath (makeMounts,
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

/** Reads the error of a container runtime by the step that failed, not by words inside. */
export function runtimeError(text: string): RuntimeError {
  let message = text.trim()
  for (let found = wrapper.exec(message); found !== null; found = wrapper.exec(message)) {
    const rest = message.slice(found[0].length)
    // A text in quotes has escaped quotes inside.
    message = found[0].endsWith('"') ? rest.replaceAll(/\\+"/g, '"').replace(/"(?=(?:: unknown)?\s*$)/, '') : rest
  }
  message = message.trim().replace(/(?::\s*unknown)+\.?$/i, '')
  return { step: steps.find(([, pattern]) => pattern.test(message))?.[0] ?? 'other', message }
}
