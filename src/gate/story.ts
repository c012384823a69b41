import { specAuthorOf } from '../cluster/author.ts'
import type { KubeObject, Pod } from '../cluster/objects.ts'
import type { Assessment, Milestone } from '../lifecycle/assessment.ts'
import type { GateTime } from '../lifecycle/gate-time.ts'
import { condition } from '../lifecycle/workloads/pod-state.ts'
import type { Entry, TargetOutcome } from './timeline.ts'
import type { Track } from './track.ts'

const heartbeatMs = 30_000
const heartbeatNames = 5
/** The most characters of what one target says of itself in a heartbeat. */
const heartbeatWords = 60

/** All that happened, told as it happens; after half a minute of silence it says what is being waited for. */
export class Story {
  readonly entries: Entry[] = []
  readonly #onEntry: (entry: Entry) => void
  /** When the silence has lasted long enough. */
  heartbeatAt: number

  constructor(startedAt: number, onEntry: (entry: Entry) => void) {
    this.heartbeatAt = startedAt + heartbeatMs
    this.#onEntry = onEntry
  }

  /** Something about the gate as a whole, or, with `rest`, about one target and how it ended. */
  tell(at: number, kind: Entry['kind'], text: string, rest: Pick<Entry, 'target' | 'outcome'> = {}): void {
    const entry: Entry = { at, kind, text, ...rest }
    this.entries.push(entry)
    this.heartbeatAt = at + heartbeatMs
    this.#onEntry(entry)
  }

  /** Something about one target. */
  tellOf({ index }: Track, at: number, kind: Entry['kind'], text: string, outcome?: TargetOutcome): void {
    this.tell(at, kind, text, { target: index, ...(outcome === undefined ? {} : { outcome }) })
  }

  /**
   * Breaks the silence: which targets are open, and what each waits for.
   * @param lacks what cannot be read now, a sentence each
   */
  heartbeat(at: number, open: readonly Track[], lacks: readonly string[]): void {
    const shown = open.slice(0, heartbeatNames).map(({ name, standing }) => {
      const words = standing.length > heartbeatWords ? `${standing.slice(0, heartbeatWords - 1)}…` : standing
      return `${name} (${words})`
    })
    const more = open.length > shown.length ? ` and ${open.length - shown.length} more` : ''
    const waiting = open.length === 0 ? 'all targets are ready' : `still waiting for ${shown.join(', ')}${more}`
    this.tell(at, 'heartbeat', [waiting, ...lacks].join(' · '))
  }
}

/** One line for the milestones reached at once; of those that count pods, the furthest speaks for the others. */
export function reachedWords(reached: readonly Milestone[]): string {
  const furthest = reached.findLast(({ count }) => count !== undefined)
  return reached
    .filter((milestone) => milestone.message !== '' && (milestone.count === undefined || milestone === furthest))
    .filter(({ name }, _, shown) => name !== 'created' || shown.length === 1)
    .map(({ message }) => message)
    .join(' · ')
}

/** Less than this is over before anybody has read of it. */
const shortestSettlingMs = 2_000

/** `3 pods ready, settling for 10 s`: the pods are ready, and have to stay so; undefined where nothing settles. */
export function settlingWords({ milestones }: Assessment, now: number): string | undefined {
  const open = milestones.find(({ state }) => state === 'open')
  const leftMs = (open?.settlesAt ?? now) - now
  return open === undefined || leftMs < shortestSettlingMs
    ? undefined
    : `${open.message} for ${Math.round(leftMs / 1_000)} s`
}

/** An object that is older than this at the gate's start was not created by the apply before it. */
const longMs = 60_000

/** What the milestone `created` means of an object that has long existed. */
export function withExistence(assessment: Assessment, object: KubeObject, gateTime: GateTime): Assessment {
  const created = gateTime.time(object.metadata.creationTimestamp)
  if (created === undefined || created >= gateTime.startedAt - longMs) return assessment
  const milestones = assessment.milestones.map((milestone) =>
    milestone.name === 'created' ? { ...milestone, message: 'exists' } : milestone,
  )
  return { ...assessment, milestones }
}

/** By how much an object was scaled, and by whom where that is known; undefined when it was not. */
export function scaleWords(before: KubeObject | undefined, after: KubeObject): string | undefined {
  const replicasOf = (object: KubeObject | undefined) => (object?.spec as { replicas?: unknown } | undefined)?.replicas
  const [from, to] = [replicasOf(before), replicasOf(after)]
  if (before === undefined || typeof from !== 'number' || typeof to !== 'number' || from === to) return undefined
  const author = specAuthorOf(before, after)
  return `scaled from ${from} to ${to} replica${to === 1 ? '' : 's'}${author === undefined ? '' : ` by ${author}`}`
}

/** Why a pod of the gated revision goes, which its controller then replaces; undefined while it stays. */
export function leavingWords(before: Pod, after: Pod | undefined): string | undefined {
  const { name, deletionTimestamp, ownerReferences = [] } = before.metadata
  const owner = ownerReferences.find(({ controller }) => controller)?.kind ?? 'controller'
  // A pod that has ended in failure is tidied up; its end has been reported.
  if (deletionTimestamp !== undefined || before.status?.phase === 'Failed') return undefined
  // Deleted by force, or while nobody watched: an object whose labels no longer match is reported as changed.
  if (after === undefined) return `pod ${name} was deleted`
  if (after.metadata.deletionTimestamp !== undefined) {
    const isForced = after.metadata.deletionGracePeriodSeconds === 0 && isGraceful(before)
    return `pod ${name} ${isForced ? 'was deleted by force' : 'is being deleted'}${disruptionOf(after)}`
  }
  const isReleased = (after.metadata.ownerReferences ?? []).length < ownerReferences.length
  return isReleased ? `pod ${name} left its ${owner}: its labels no longer match` : undefined
}

/** Whether a deletion gives the pod time to end: one without a node has nothing to end. */
function isGraceful({ spec }: Pod): boolean {
  return (spec?.nodeName ?? '') !== '' && spec?.terminationGracePeriodSeconds !== 0
}

/** Who takes a pod away, in the words of its condition DisruptionTarget: ` (Taint manager: deleting due to …)`. */
function disruptionOf(pod: Pod): string {
  const disruption = condition(pod, 'DisruptionTarget')
  const words = disruption?.message || disruption?.reason
  return disruption?.status === 'True' && words ? ` (${words})` : ''
}
