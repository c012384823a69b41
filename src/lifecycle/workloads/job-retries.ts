import type { Job, Pod } from '../../cluster/objects.ts'
import { firstJobBackOffMs, maxJobBackOffMs } from '../../thresholds.ts'
import { latest } from '../proof.ts'
import type { RuleContext } from '../rule-context.ts'
import { backOffSeconds } from './death-count.ts'
import { condition, containersOf } from './pod-object.ts'

/** Whether the built-in controller manages a Job; another one may run its pods in another cluster. */
export function isBuiltIn({ spec: { managedBy = 'kubernetes.io/job-controller' } = {} }: Pick<Job, 'spec'>): boolean {
  return managedBy === 'kubernetes.io/job-controller'
}

/** The next try of failed work: a pod of the Job controller, or a restart by the kubelet. */
export interface Retry {
  /** When it is due, on the runner's clock. */
  readonly at: number
  /** How long it waits since the failure, in milliseconds. */
  readonly waitMs: number
}

/** The earliest retry that is not due yet; undefined if none waits. */
export function nextRetry(job: Job, pods: readonly Pod[], context: RuleContext): Retry | undefined {
  const ofController = job.spec?.suspend || !isBuiltIn(job) ? [] : podRetries(job, pods, context)
  return [...ofController, ...restarts(pods, context)]
    .filter(({ at }) => at > context.now)
    .toSorted((a, b) => a.at - b.at)[0]
}

/**
 * The new pods for failed ones. The controller counts the failures since the last success: of the Job, or of each index
 * if the Job has backoffLimitPerIndex (backoff_utils.go, pkg/controller/job). While enough pods are active, none waits.
 */
function podRetries({ spec = {}, status = {} }: Job, pods: readonly Pod[], context: RuleContext): readonly Retry[] {
  const indexOf = ({ metadata }: Pod) => metadata.annotations?.['batch.kubernetes.io/job-completion-index'] ?? ''
  const groups = Map.groupBy(pods, (pod) => (spec.backoffLimitPerIndex === undefined ? '' : indexOf(pod)))
  const isGivenUp = indexTest(status.failedIndexes)
  const wanted = spec.backoffLimitPerIndex === undefined ? wantedPods({ spec, status }) : 1
  return [...groups].flatMap(([index, tries]) => {
    const ends = (phase: string) =>
      tries.flatMap((pod) => (pod.status?.phase === phase ? (endedAt(pod, context) ?? []) : []))
    const succeededAt = latest(ends('Succeeded')) ?? -Infinity
    const failures = ends('Failed').filter((at) => at > succeededAt)
    const failedAt = latest(failures)
    if (failedAt === undefined || tries.filter(isActive).length >= wanted || isGivenUp(index)) return []
    const waitMs = Math.min(firstJobBackOffMs * 2 ** (failures.length - 1), maxJobBackOffMs)
    return [{ at: failedAt + waitMs, waitMs }]
  })
}

/** The number of pods that the controller runs at a time (manageJob): without completions, the first success is enough. */
function wantedPods({ spec = {}, status = {} }: Pick<Job, 'spec' | 'status'>): number {
  const { completions, parallelism = 1 } = spec
  const succeeded = status.succeeded ?? 0
  if (completions === undefined) return succeeded > 0 ? 0 : parallelism
  return Math.min(parallelism, completions - succeeded)
}

function isActive({ metadata, status }: Pod): boolean {
  return metadata.deletionTimestamp === undefined && status?.phase !== 'Succeeded' && status?.phase !== 'Failed'
}

/** Whether a list of indexes such as `1,4-6` contains an index. */
function indexTest(list = ''): (index: string) => boolean {
  const ranges = list.split(',').map((range) => range.split('-').map(Number))
  return (index) => list !== '' && ranges.some(([first = 0, last = first]) => first <= +index && +index <= last)
}

/** When a pod ended: with its last container, else when it was no longer ready, as the controller counts (getFinishedTime). */
function endedAt(pod: Pod, context: RuleContext): number | undefined {
  const ends = (pod.status?.containerStatuses ?? []).map(({ state }) => context.time(state?.terminated?.finishedAt))
  const unready = condition(pod, 'Ready')
  const unreadyAt = unready?.status === 'False' ? context.time(unready.lastTransitionTime) : undefined
  return (ends.includes(undefined) ? undefined : latest(ends)) ?? unreadyAt
}

/** The restarts of dead containers. A sidecar's own restarts do not count. */
function restarts(pods: readonly Pod[], context: RuleContext): readonly Retry[] {
  return pods.flatMap((pod) =>
    containersOf(pod).flatMap(({ container, status }) => {
      const seconds = container.restartPolicy === 'Always' || !status ? undefined : backOffSeconds(status)
      const diedAt = context.time(status?.lastState?.terminated?.finishedAt)
      return seconds === undefined || diedAt === undefined
        ? []
        : [{ at: diedAt + seconds * 1_000, waitMs: seconds * 1_000 }]
    }),
  )
}
