import type { Pod } from '../cluster/objects.ts'
import type { Milestone } from '../lifecycle/assessment.ts'
import { condition } from '../lifecycle/pod-state.ts'
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

/** Why a pod of the gated revision goes, which its controller then replaces; undefined while it stays. */
export function leavingWords(before: Pod, after: Pod | undefined): string | undefined {
  const { name, deletionTimestamp, ownerReferences = [] } = before.metadata
  const wasGoing = deletionTimestamp !== undefined
  if (after?.metadata.deletionTimestamp !== undefined && !wasGoing)
    return `pod ${name} is being deleted${disruptionOf(after)}`
  const isLost =
    after === undefined ? !wasGoing : (after.metadata.ownerReferences ?? []).length < ownerReferences.length
  return isLost ? `pod ${name} left its ReplicaSet: its labels no longer match` : undefined
}

/** Who takes a pod away, in the words of its condition DisruptionTarget: ` (Taint manager: deleting due to …)`. */
function disruptionOf(pod: Pod): string {
  const disruption = condition(pod, 'DisruptionTarget')
  const words = disruption?.message || disruption?.reason
  return disruption?.status === 'True' && words ? ` (${words})` : ''
}
