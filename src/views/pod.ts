import type { ContainerState, EventObject, Pod, Probe } from '../cluster/objects.ts'
import type { ContainerView, PodContainer } from '../lifecycle/pod-view.ts'
import type { Reader } from '../lifecycle/reader.ts'
import { containersOf } from '../lifecycle/workloads/pod-fields.ts'
import { problemsOfPod } from '../lifecycle/workloads/pod-state.ts'
import { compareByImportance } from '../lifecycle/workloads/revision-pods.ts'
import { classOf, messageOf } from '../reasons/reasons.ts'
import { counted } from '../reasons/wording.ts'
import { colored, dim, formatAge, type Line, line, type Mark, mark, titledLines, volatile } from './line.ts'

/* Renders a pod and its containers as lines of a view. */

export interface PodSummary {
  readonly mark: Mark
  readonly text: string
  /** The rest of a terminating pod's grace period: `28 s left of its grace period`. */
  readonly timeLeft?: string
}

/** The state of a pod in one line: its worst problem, otherwise its progress. */
export function summarizePod(pod: Pod, reader: Reader): PodSummary {
  const { deletionTimestamp } = pod.metadata
  if (deletionTimestamp !== undefined) {
    const left = (reader.time(deletionTimestamp) ?? reader.now) - reader.now
    const timeLeft = left > 0 ? `${formatAge(left)} left of its grace period` : undefined
    return { mark: '…', text: 'terminating', timeLeft }
  }
  const { phase, reason, message } = pod.status ?? {}
  if (phase === 'Succeeded') return { mark: '✓', text: 'succeeded' }
  if (phase === 'Failed') {
    return { mark: '✗', text: ['failed', reason, message ?? describeExit(pod)].filter(Boolean).join(': ') }
  }
  const view = reader.podView(pod)
  if (view.ready) return { mark: '✓', text: 'ready' }
  const [problem] = problemsOfPod(view, reader).toSorted(compareByImportance)
  if (problem !== undefined) {
    const container = problem.container === undefined ? '' : `container ${problem.container}: `
    return { mark: classOf(problem) === 'slow' ? '!' : '✗', text: `${container}${messageOf(problem)}` }
  }
  if (!view.scheduled) return { mark: '…', text: 'waiting for a node' }
  if (view.running) return { mark: '…', text: notReadyText(reader.events(pod)) }
  if (view.isPulling) return { mark: '…', text: 'pulling its image' }
  return { mark: '…', text: initProgress(pod) ?? 'starting' }
}

/** The number of restarts of all containers: `2 restarts`. Empty if there are none. */
export function summarizeRestarts(pod: Pod): string {
  const restarts = containersOf(pod).reduce((sum, { status }) => sum + (status?.restartCount ?? 0), 0)
  return restarts === 0 ? '' : counted(restarts, 'restart')
}

/** The reason that the container runtime reports, if it says more than the exit code: ` (OOMKilled)`. */
function exitReason(reason: string | undefined): string {
  return reason === undefined || reason === 'Error' || reason === 'Completed' ? '' : ` (${reason})`
}

/** Why a pod with running containers is not ready: the last result of a failing startup or readiness probe. */
function notReadyText(events: readonly EventObject[]): string {
  const failure = events.findLast(({ reason, message }) => reason === 'Unhealthy' && !/^Liveness/.test(message ?? ''))
  return ['running, not ready yet', failure?.message].filter(Boolean).join(': ')
}

function initProgress(pod: Pod): string | undefined {
  const inits = containersOf(pod).filter(({ isInit }) => isInit)
  const next = inits.find(({ status }) => status?.state?.terminated?.exitCode !== 0)
  if (next === undefined) return undefined
  const verb = next.status?.state?.running ? 'runs' : 'is next'
  return `init container ${inits.indexOf(next) + 1} of ${inits.length}: ${next.container.name} ${verb}`
}

function describeExit(pod: Pod): string | undefined {
  const dead = containersOf(pod).find(({ status }) => (status?.state?.terminated?.exitCode ?? 0) !== 0)
  const exit = dead?.status?.state?.terminated
  return exit === undefined
    ? undefined
    : `container ${dead?.container.name} ended with exit code ${exit.exitCode}${exitReason(exit.reason)}`
}

/** The containers of a pod, in the order of their start, with state, restarts, last exit and probes. */
export function containerLines(pod: Pod, reader: Reader): readonly Line[] {
  const { containers } = reader.podView(pod)
  const width = Math.max(0, ...containers.map(({ container }) => container.name.length))
  return titledLines(
    'containers',
    containers.flatMap((each) => [containerLine(each, width, reader), ...probeLines(each)]),
  )
}

function containerLine(podContainer: ContainerView, width: number, reader: Reader): Line {
  const { container, status, isInit, startedAt } = podContainer
  const role = isInit ? '(init)' : container.restartPolicy === 'Always' ? '(sidecar)' : undefined
  const [as, state] = describeContainerState(podContainer)
  const restarts = status?.restartCount ?? 0
  const last = status?.lastState?.terminated
  const lastAt = reader.time(last?.finishedAt)
  return line(
    2,
    mark(as),
    { text: container.name, width, style: 'bold' },
    role === undefined ? undefined : dim(role),
    colored(state, as),
    startedAt === undefined ? undefined : volatile(`· started ${formatAge(reader.now - startedAt)} ago`),
    restarts === 0 ? undefined : colored(`· ${counted(restarts, 'restart')}`, '!'),
    last === undefined ? undefined : dim(`· last exit code ${last.exitCode ?? '?'}${exitReason(last.reason)}`),
    last === undefined || lastAt === undefined ? undefined : volatile(`(${formatAge(reader.now - lastAt)} ago)`),
    dim(`· ${container.image ?? 'no image'}`),
  )
}

function describeContainerState({ status, isInit, runsOnce }: PodContainer): readonly [Mark, string] {
  const state: ContainerState = status?.state ?? {}
  if (state.running) {
    if (isInit) return ['…', 'running']
    return status?.ready ? ['✓', 'running, ready'] : ['…', 'running, not ready']
  }
  if (state.terminated) {
    const { exitCode, reason } = state.terminated
    if (exitCode === 0 && runsOnce) return ['✓', 'done (exit code 0)']
    return ['✗', `ended with exit code ${exitCode ?? '?'}${exitReason(reason)}`]
  }
  const { reason = '', message } = state.waiting ?? {}
  const as = Object.hasOwn(waitingMarks, reason) ? waitingMarks[reason] : undefined
  return [as ?? '✗', [reason || 'not started', message].filter(Boolean).join(': ')]
}

/** The marks for the kubelet's reasons for a waiting container that may still start. Any other reason is a failure. */
const waitingMarks: Readonly<Record<string, Mark>> = { '': '·', PodInitializing: '·', ContainerCreating: '…' }

function probeLines({ container, status, failedProbes }: ContainerView): readonly Line[] {
  const isRunning = status?.state?.running !== undefined
  const probeLine = (
    kind: keyof typeof failedProbes,
    probe: Probe | undefined,
    passed: boolean | undefined,
  ): readonly Line[] => {
    const message = failedProbes[kind]
    // The status does not contain the result of a liveness probe. Only events report its failures.
    if (probe === undefined || !isRunning || (passed === undefined && message === undefined)) return []
    const as: Mark = passed ? '✓' : message === undefined ? '…' : '!'
    const result = passed ? 'passed' : (message ?? 'not passed yet')
    return [line(6, mark(as), `${kind} probe`, dim(describeProbe(probe)), colored(result, as))]
  }
  const started = status?.started === true
  return [
    ...probeLine('startup', container.startupProbe, started),
    ...probeLine('readiness', container.readinessProbe, started && status?.ready === true),
    ...probeLine('liveness', container.livenessProbe, undefined),
  ]
}

/** The check of a probe, and its interval: `(GET :8080/ready every 10 s)`. */
function describeProbe({ httpGet, tcpSocket, exec, grpc, periodSeconds = 10 }: Probe): string {
  const check = httpGet
    ? `GET :${httpGet.port ?? ''}${httpGet.path ?? '/'}`
    : tcpSocket
      ? `TCP :${tcpSocket.port ?? ''}`
      : grpc
        ? `gRPC :${grpc.port ?? ''}`
        : (exec?.command ?? []).join(' ')
  return `(${check} every ${periodSeconds} s)`
}
