import type { Pod } from '../../cluster/objects.ts'
import type { Problem } from '../../reasons/reasons.ts'
import type { PodView } from '../pod-view.ts'
import { isAhead, isSinceStart, momentAt } from '../proof.ts'
import type { Reader } from '../reader.ts'
import { type Finding, findInContainer } from './container-problems.ts'
import { findInPod, lostNodeToleratedUntil, quietAt } from './pod-problems.ts'

/** A pod at a moment. */
export interface PodState extends PodView {
  /** Ready, and every container that has no readiness probe, or that has died, was ready for the settle time. */
  readonly settled: boolean
  /**
   * Whether it is better than others, and prevents their problems from failing the workload: it is ready and settled
   * (for minReadySeconds if longer), or runs without a death.
   */
  readonly shieldsOthers: boolean
  readonly problems: readonly Problem[]
  /** Why the stall clock is stopped: an image is being pulled, or probes still have time. */
  readonly stallHold?: string
  /** The node of the pod, if the node may be lost: nothing has been reported about the pod for long. */
  readonly quietNode?: string
}

/** A cached state of a pod without its problems, what returns these, and when both are valid, on the runner's clock. */
interface CachedState {
  readonly state: PodState
  readonly findings: readonly Finding[]
  readonly from: number
  readonly until: number
}

/** Caches the state of each pod: after a change of one pod, all pods of its workload are examined. */
const states = new WeakMap<PodView, CachedState>()

/** Examines a pod. Its problems also depend on other targets and other objects, so they are read each time. */
export function examinePod(pod: Pod, reader: Reader): PodState {
  const { state, findings } = stateOf(reader.podView(pod), reader)
  return findings.length === 0 ? state : { ...state, problems: findings.map((find) => find(reader)) }
}

/** The cached state of a pod, if it is valid now; else a new one. */
function stateOf(view: PodView, reader: Reader): CachedState {
  const known = states.get(view)
  if (known !== undefined && reader.now >= known.from && !reader.passed(known.until)) return known
  // Its own moments: the earliest is when the cached state expires.
  const timed = { ...reader, ...momentAt(reader.now) }
  const state = stateAt(view, timed)
  const found = [findInPod(view, timed), ...view.containers.map((each) => findInContainer(each, timed))]
  const findings = found.filter((finding) => finding !== undefined)
  const until = timed.nextMoment() ?? Infinity
  // Asked for its effect: the target is reassessed at that time.
  reader.passed(until)
  const made = { state, findings, from: reader.now, until }
  // A pod whose node may be lost depends on its node.
  if (state.quietNode === undefined) states.set(view, made)
  return made
}

/** The state of a pod at the moment of a reader, without problems. */
function stateAt(view: PodView, reader: Reader): PodState {
  const { pod, containers, ready, running, settledAt, moments, minReadyMs } = view
  const hold = limitedWait(view, reader)
  const availableAt = Math.max(settledAt, (moments.ready ?? 0) + minReadyMs)
  const hasNoDeaths = containers.every(({ deaths }) => deaths.count === 0)
  return {
    ...view,
    settled: ready && reader.passed(settledAt),
    shieldsOthers: (ready && reader.passed(availableAt)) || (running && hasNoDeaths),
    problems: [],
    stallHold:
      hold ??
      (isAhead(lostNodeToleratedUntil(pod, reader), reader)
        ? 'the node of a pod does not respond, and the pod tolerates that for a time'
        : undefined),
    quietNode: hold === undefined && reader.passed(quietAt(view, reader)) ? pod.spec?.nodeName : undefined,
  }
}

/** What a pod waits for, if this wait has a limit. */
function limitedWait(view: PodView, reader: Reader): string | undefined {
  if (view.isPulling) return 'an image is being pulled'
  const isProbing = view.containers.some(({ probesDueAt }) => isAhead(probesDueAt, reader))
  if (isProbing) return 'the probes of a pod still have time'
  return view.scaleUp?.isAdding ? 'an autoscaler is adding a node' : undefined
}

/** The moment of the milestone `pulled`: the start of the containers, if it is since the gate's start; else unknown. */
export function pulledAt(startedAt: number | undefined, reader: Reader): number | undefined {
  return isSinceStart(startedAt, reader) ? startedAt : undefined
}
