import type { ContainerState, Pod, Probe } from '../cluster/objects.ts'
import { containerOfEvent, containersOf, type PodContainer } from '../lifecycle/workloads/history.ts'
import { registryWords } from '../lifecycle/workloads/image-pull.ts'
import { emptyLine, type Line, line, type Span } from './line.ts'
import { age, dim, heading, type Mark, mark, marked, ticking } from './marks.ts'
import { reasonWords } from './pod-words.ts'
import type { Present } from './scene.ts'

/** A pod's containers: state, restarts, last exit and probes of each, in the order in which they start. */
export function containerLines(pod: Pod, present: Present): readonly Line[] {
  const containers = containersOf(pod)
  const width = Math.max(0, ...containers.map(({ container }) => container.name.length))
  return [
    emptyLine,
    line(0, heading('containers')),
    ...containers.flatMap((at) => [containerLine(at, width, present), ...probeLines(pod, at, present)]),
  ]
}

function containerLine(at: PodContainer, width: number, { view }: Present): Line {
  const { container, status, isInit } = at
  const role = isInit ? '(init)' : container.restartPolicy === 'Always' ? '(sidecar)' : undefined
  const [as, words] = stateWords(at)
  const startedAt = view.time(status?.state?.running?.startedAt)
  const restarts = status?.restartCount ?? 0
  const last = status?.lastState?.terminated
  const lastAt = view.time(last?.finishedAt)
  return line(
    2,
    mark(as),
    { text: container.name, width, style: 'bold' },
    role === undefined ? undefined : dim(role),
    marked(words, as),
    startedAt === undefined ? undefined : ticking(`· started ${age(view.now - startedAt)} ago`),
    restarts === 0 ? undefined : marked(`· ${restarts} ${restarts === 1 ? 'restart' : 'restarts'}`, '!'),
    last === undefined ? undefined : dim(`· last exit code ${last.exitCode ?? '?'}${reasonWords(last.reason)}`),
    last === undefined || lastAt === undefined ? undefined : ticking(`(${age(view.now - lastAt)} ago)`),
    dim(`· ${container.image ?? 'no image'}`),
  )
}

function stateWords({ status, isInit, runsOnce }: PodContainer): readonly [Mark, string] {
  const state: ContainerState = status?.state ?? {}
  if (state.running) {
    if (isInit) return ['…', 'running']
    return status?.ready ? ['✓', 'running, ready'] : ['…', 'running, not ready']
  }
  if (state.terminated) {
    const { exitCode, reason } = state.terminated
    if (exitCode === 0 && runsOnce) return ['✓', 'done (exit code 0)']
    return ['✗', `ended with exit code ${exitCode ?? '?'}${reasonWords(reason)}`]
  }
  return waitingWords(state.waiting?.reason ?? '', state.waiting?.message)
}

/** The kubelet's reasons (pkg/kubelet/images/types.go, pkg/kubelet/kuberuntime) in words. */
function waitingWords(reason: string, message: string | undefined): readonly [Mark, string] {
  switch (reason) {
    case '':
      return ['·', 'not started']
    case 'ContainerCreating':
      return ['…', 'being created']
    case 'PodInitializing':
      return ['·', 'waits for the init containers']
    case 'ErrImagePull':
    case 'ImagePullBackOff':
      return ['✗', `its image cannot be pulled (${reason}): ${registryWords(message ?? '')}`]
    case 'CrashLoopBackOff':
      return ['✗', 'waits for its restart (CrashLoopBackOff)']
    default:
      return ['✗', message === undefined || message === '' ? reason : `${reason}: ${message}`]
  }
}

function probeLines(pod: Pod, { container, status }: PodContainer, { view }: Present): readonly Line[] {
  const failure = (kind: string) =>
    view
      .events(pod)
      .findLast(
        (event) =>
          event.reason === 'Unhealthy' &&
          containerOfEvent(event) === container.name &&
          event.message?.startsWith(`${kind} probe`),
      )?.message
  const isRunning = status?.state?.running !== undefined
  const describe = (kind: string, probe: Probe | undefined, passed: boolean | undefined): Line | undefined => {
    if (probe === undefined || !isRunning) return undefined
    const words = failure(kind)
    const verdict: readonly [Mark, string] =
      passed === true ? ['✓', 'passed'] : words === undefined ? ['…', 'not passed yet'] : ['!', words]
    return line(
      6,
      mark(verdict[0]),
      `${kind.toLowerCase()} probe`,
      dim(probeWords(probe)),
      marked(verdict[1], verdict[0]),
    )
  }
  const started = status?.started === true
  return [
    describe('Startup', container.startupProbe, started),
    describe('Readiness', container.readinessProbe, started && status?.ready === true),
    livenessLine(container.livenessProbe, isRunning ? failure('Liveness') : undefined),
  ].filter((each) => each !== undefined)
}

/** The status says nothing of the liveness probe: only its failures are told, by events. */
function livenessLine(probe: Probe | undefined, failure: string | undefined): Line | undefined {
  if (probe === undefined || failure === undefined) return undefined
  const spans: readonly Span[] = [mark('!'), { text: 'liveness probe' }, dim(probeWords(probe)), marked(failure, '!')]
  return line(6, ...spans)
}

/** `(GET :8080/ready every 10 s)` */
function probeWords({ httpGet, tcpSocket, exec, grpc, periodSeconds = 10 }: Probe): string {
  const what = httpGet
    ? `GET :${httpGet.port ?? ''}${httpGet.path ?? '/'}`
    : tcpSocket
      ? `TCP :${tcpSocket.port ?? ''}`
      : grpc
        ? `gRPC :${grpc.port ?? ''}`
        : (exec?.command ?? []).join(' ')
  return `(${what} every ${periodSeconds} s)`
}
