import type { Problem } from '../../reasons/reasons.ts'
import type { PodView } from '../pod-view.ts'
import { isInFuture, type Moment, mayBeSinceStart } from '../proof.ts'
import type { Reader } from '../reader.ts'
import { containerProblem } from './container-problems.ts'
import { lostNodeToleratedUntil, nodeWithoutReports, podLevelProblem } from './pod-problems.ts'

/*
 * The state of a pod at a moment: whether it is ready and settled, its problems, and whether it stops the stall clock.
 */

/** Whether a pod is ready and settled. Containers without a readiness probe, or with a death, need the settle time. */
export function isSettled({ ready, settledAt }: PodView, { passed }: Pick<Moment, 'passed'>): boolean {
  return ready && passed(settledAt)
}

/**
 * Whether a pod works: it is ready, settled and available (minReadySeconds), or runs without a death. While one pod
 * works, the problems of other pods do not fail the workload.
 */
export function isWorkingPod(view: PodView, { passed }: Pick<Moment, 'passed'>): boolean {
  const { ready, running, settledAt, moments, minReadyMs, containers } = view
  const availableAt = Math.max(settledAt, (moments.ready ?? 0) + minReadyMs)
  const hasNoDeaths = containers.every(({ deaths }) => deaths.count === 0)
  return (ready && passed(availableAt)) || (running && hasNoDeaths)
}

/** The present problems of a pod: first of the pod as a whole, then of its containers in start order. None if ready. */
export function problemsOfPod(view: PodView, reader: Reader): readonly Problem[] {
  if (view.ready) return []
  const found = [podLevelProblem(view, reader), ...view.containers.map((each) => containerProblem(each, reader))]
  return found.filter((problem) => problem !== undefined)
}

/** What a pod waits for, and whether its node may be lost. */
interface PodWait {
  /** Why the stall clock is stopped: an image is being pulled, probes still have time, or the node may come back. */
  readonly stallHold?: string
  /** The node of the pod, if the node may be lost: nothing has been reported about the pod for a long time. */
  readonly possiblyLostNode?: string | undefined
}

export function waitOfPod(view: PodView, reader: Reader): PodWait {
  const limited = limitedWait(view, reader)
  if (limited !== undefined) return { stallHold: limited }
  const possiblyLostNode = nodeWithoutReports(view, reader)
  return isInFuture(lostNodeToleratedUntil(view, possiblyLostNode, reader), reader)
    ? { stallHold: 'the node of a pod does not respond, and the pod tolerates that for a time', possiblyLostNode }
    : { possiblyLostNode }
}

/** Why a pod waits, if the wait has a limit: for an image pull, a probe or a new node. */
function limitedWait(view: PodView, reader: Reader): string | undefined {
  if (view.isPulling) return 'an image is being pulled'
  const isProbing = view.containers.some(({ probesDueAt }) => isInFuture(probesDueAt, reader))
  if (isProbing) return 'the probes of a pod still have time'
  return view.scaleUp?.isAdding ? 'an autoscaler is adding a node' : undefined
}

/** When the milestone `pulled` was reached: at the start of the containers. Unknown if they started before the gate. */
export function pulledAt(startedAt: number | undefined, reader: Reader): number | undefined {
  return mayBeSinceStart(startedAt, reader) ? startedAt : undefined
}
