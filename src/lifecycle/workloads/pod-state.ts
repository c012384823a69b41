import type { Pod } from '../../cluster/objects.ts'
import type { Problem } from '../../reasons/reasons.ts'
import { isAhead, isSinceStart } from '../proof.ts'
import type { Reader } from '../reader.ts'
import { findInContainer } from './container-problems.ts'
import { findInPod, lostNodeToleratedUntil, quietAt } from './pod-problems.ts'
import { type Finding, type PodView, viewPod } from './pod-view.ts'

/** A pod at a moment. */
export interface PodState extends PodView {
  /** Ready, and every container that has no readiness probe, or that has died, was ready for the settle time. */
  readonly settled: boolean
  /**
   * A better pod prevents other pods' problems from failing the workload. It is ready and settled (for minReadySeconds
   * if longer), or has started without a death.
   */
  readonly better: boolean
  readonly problems: readonly Problem[]
  /** Why the stall clock is stopped: an image is being pulled, or probes still have time. */
  readonly stallHold?: string
  /** The node of the pod, if the node may be lost: nothing has been reported about the pod for long. */
  readonly quietNode?: string
}

/** The cached state of a pod without its problems, the findings that give these, and when both are valid. */
interface Examination extends Pick<Reader, 'time' | 'settings'> {
  readonly state: PodState
  readonly findings: readonly Finding[]
  readonly from: number
  readonly until: number
}

/** Caches the examination of each pod: after a change of one pod, all pods of its workload are examined. */
const examinations = new WeakMap<Pod, Examination>()

/** Examines a pod. Its problems also depend on other targets and other objects, so they are read each time. */
export function examinePod(pod: Pod, reader: Reader): PodState {
  const { state, findings } = examinationOf(pod, reader)
  return findings.length === 0 ? state : { ...state, problems: findings.map((find) => find(reader)) }
}

/** Views a pod without its problems, which would read other objects and other targets. */
export function viewOf(pod: Pod, reader: Reader): PodView {
  return examinationOf(pod, reader).state
}

/** The cached examination of a pod, if it is still valid; else a new one. */
function examinationOf(pod: Pod, reader: Reader): Examination {
  const { now, time, settings } = reader
  const history = reader.podHistory(pod)
  const known = examinations.get(pod)
  const isSame = known?.state.history === history && known.time === time && known.settings === settings
  if (isSame && now >= known.from && !reader.passed(known.until)) return known
  // The examination is valid until the earliest moment to come: every comparison with the time goes through `passed`.
  let until = Infinity
  const passed = (moment = Infinity) => {
    const isPast = reader.passed(moment)
    if (!isPast) until = Math.min(until, moment)
    return isPast
  }
  const timed = { ...reader, passed }
  const view = viewPod(pod, history, timed)
  const findings = [findInPod(view, timed), ...view.containers.map((each) => findInContainer(each, timed))]
  const examination = {
    state: stateOf(view, timed),
    findings: findings.filter((finding) => finding !== undefined),
    time,
    settings,
    from: now,
    until,
  }
  // A pod whose node may be lost depends on its node.
  if (examination.state.quietNode === undefined) examinations.set(pod, examination)
  return examination
}

/** The state of a pod, without problems. */
function stateOf(view: PodView, reader: Reader): PodState {
  const { pod, history, ready, running, settledAt, moments } = view
  const hold = knownWait(view, reader)
  const availableAt = Math.max(settledAt, (moments.ready ?? 0) + history.minReadyMs)
  const hasNoDeaths = [...history.containers.values()].every(({ deaths }) => deaths === 0)
  return {
    ...view,
    settled: ready && reader.passed(settledAt),
    better: (ready && reader.passed(availableAt)) || (running && hasNoDeaths),
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
function knownWait(view: PodView, reader: Reader): string | undefined {
  if (view.isPulling) return 'an image is being pulled'
  const isProbing = view.containers.some(({ probesDueAt }) => isAhead(probesDueAt, reader))
  if (isProbing) return 'the probes of a pod still have time'
  return view.scaleUp?.isAdding ? 'an autoscaler is adding a node' : undefined
}

/** The moment of the milestone `pulled`: the start of the containers, if it is since the gate's start; else unknown. */
export function pulledAt(startedAt: number | undefined, reader: Reader): number | undefined {
  return isSinceStart(startedAt, reader) ? startedAt : undefined
}
