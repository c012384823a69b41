import type { Pod } from '../cluster/objects.ts'
import type { RuleContext } from '../lifecycle/rule-context.ts'
import { containersOf } from '../lifecycle/workloads/history.ts'
import { condition, examinePod } from '../lifecycle/workloads/pod-state.ts'
import { byImportance } from '../lifecycle/workloads/pods.ts'
import { classOf, messageOf } from '../reasons/reasons.ts'
import { age, type Mark } from './marks.ts'

/** How a pod stands, in words. */
export interface PodWords {
  readonly mark: Mark
  readonly words: string
  /** What changes with the time alone: `28 s left`. */
  readonly ticking?: string
}

/** One line on how a pod stands: what is most wrong with it, else how far it has come. */
export function podWords(pod: Pod, view: RuleContext): PodWords {
  const { deletionTimestamp } = pod.metadata
  if (deletionTimestamp !== undefined) return terminating(view.time(deletionTimestamp), view.now)
  const { phase, reason, message } = pod.status ?? {}
  if (phase === 'Succeeded') return { mark: '✓', words: 'succeeded' }
  if (phase === 'Failed') {
    return { mark: '✗', words: ['failed', reason, message ?? exitWords(pod)].filter(Boolean).join(': ') }
  }
  const state = examinePod(pod, view)
  if (state.ready) return { mark: '✓', words: 'ready' }
  const [problem] = state.problems.toSorted(byImportance)
  if (problem !== undefined) {
    const container = problem.container === undefined ? '' : `container ${problem.container}: `
    return { mark: classOf(problem) === 'slow' ? '!' : '✗', words: `${container}${messageOf(problem)}` }
  }
  if (!state.scheduled) return { mark: '…', words: 'waiting for a node' }
  if (state.started) return { mark: '…', words: notReadyWords(pod, view) }
  if (state.stallHold === 'an image is being pulled') return { mark: '…', words: 'pulling its image' }
  return { mark: '…', words: initWords(pod) ?? 'starting' }
}

/** `2 restarts, last exit code 1`; empty for a pod that never restarted. */
export function restartWords(pod: Pod): string {
  const restarts = containersOf(pod).reduce((sum, { status }) => sum + (status?.restartCount ?? 0), 0)
  if (restarts === 0) return ''
  const last = containersOf(pod)
    .flatMap(({ status }) => status?.lastState?.terminated ?? [])
    .sort((a, b) => (b.finishedAt ?? '').localeCompare(a.finishedAt ?? ''))[0]
  const exit = last === undefined ? '' : `, last exit code ${last.exitCode ?? '?'}${reasonWords(last.reason)}`
  return `${restarts} ${restarts === 1 ? 'restart' : 'restarts'}${exit}`
}

/** The runtime's reason where it says more than the exit code. */
export function reasonWords(reason: string | undefined): string {
  return reason === undefined || reason === 'Error' || reason === 'Completed' ? '' : ` (${reason})`
}

/** Why a pod whose containers run is not ready: its readiness gates, else what its probes say. */
function notReadyWords(pod: Pod, view: RuleContext): string {
  const gate = (pod.spec?.readinessGates ?? []).find(
    ({ conditionType }) => condition(pod, conditionType)?.status !== 'True',
  )
  if (gate !== undefined && condition(pod, 'ContainersReady')?.status === 'True') {
    const found = condition(pod, gate.conditionType)
    const words = found === undefined ? 'is not set' : `is ${found.status}${found.message ? `: ${found.message}` : ''}`
    return `running, not ready: its readiness gate ${gate.conditionType} ${words}`
  }
  const refusal = view
    .events(pod)
    .findLast(({ reason, message }) => reason === 'Unhealthy' && !/^Liveness/.test(message ?? ''))
  return refusal?.message === undefined ? 'running, not ready yet' : `running, not ready yet: ${refusal.message}`
}

function terminating(deadline: number | undefined, now: number): PodWords {
  const left = deadline === undefined ? 0 : deadline - now
  return left > 0
    ? { mark: '…', words: 'terminating', ticking: `${age(left)} left of its grace period` }
    : { mark: '…', words: 'terminating' }
}

function initWords(pod: Pod): string | undefined {
  const inits = containersOf(pod).filter(({ isInit }) => isInit)
  const next = inits.find(({ status }) => status?.state?.terminated?.exitCode !== 0)
  if (next === undefined) return undefined
  const verb = next.status?.state?.running ? 'runs' : 'is next'
  return `init container ${inits.indexOf(next) + 1} of ${inits.length}: ${next.container.name} ${verb}`
}

function exitWords(pod: Pod): string | undefined {
  const dead = containersOf(pod).find(({ status }) => (status?.state?.terminated?.exitCode ?? 0) !== 0)
  const exit = dead?.status?.state?.terminated
  return exit === undefined
    ? undefined
    : `container ${dead?.container.name} ended with exit code ${exit.exitCode}${reasonWords(exit.reason)}`
}
