import type { FeedEvent } from '../cluster/feed.ts'
import { covers } from '../cluster/store.ts'
import { Gate } from '../gate/gate.ts'
import type { GateSettings } from '../gate/settings.ts'
import type { Entry } from '../gate/timeline.ts'
import type { Target } from '../plan/target.ts'
import type { OnInvalidLine } from './lines.ts'
import { readEvents } from './reader.ts'
import { indexRecording, type RecordingIndex } from './recording-index.ts'

export interface ReplayHooks {
  readonly onEntry?: (entry: Entry) => void
  /** Called with the first line that cannot be read; the replay ends there. */
  readonly onDamage: OnInvalidLine
  /** Called with a line that this version cannot use. */
  readonly onSkipped?: OnInvalidLine
  /** Called before the first event. */
  readonly onGate?: (gate: Gate) => void
  /** By default read from the recording. */
  readonly index?: RecordingIndex
  /** See `ReplayPlan`. */
  readonly correctNamespace?: (event: FeedEvent) => FeedEvent
  /**
   * Waits until `at`, a time of the recording, and returns the time reached: earlier only if the replay was cancelled.
   * Called only while the gate is open. Without this function, the replay does not wait.
   */
  readonly waitUntil?: (at: number) => Promise<number>
  /** When aborted, the gate is cancelled at the current time of the replay. */
  readonly cancelled?: AbortSignal
}

/** If a gate is still open this long after its longest timeout, the replay cancels it: nothing else would end it. */
const cancelAfterMs = 3_600_000

/**
 * Replays a recording through the gate with a virtual clock. The verdict is the same as in the live run. The clocks
 * continue beyond the last line, so a recording that stops early ends by a deadline. A gate without clocks is
 * cancelled.
 */
export async function replay(
  path: string,
  targets: readonly Target[],
  settings: GateSettings,
  hooks: ReplayHooks,
): Promise<Gate> {
  const { onDamage, onSkipped, correctNamespace = (event) => event, waitUntil, cancelled } = hooks
  const { answered } = hooks.index ?? (await indexRecording(path))
  const gate = new Gate(targets, settings, (request) => answered.some((known) => covers(known, request)), hooks.onEntry)
  hooks.onGate?.(gate)
  let reached = settings.startedAt
  const advanceTo = async (at: number) => {
    reached = Math.max(reached, at)
    if (waitUntil === undefined) return
    for (let next = gate.nextDeadline(); next !== undefined && next.at < at; next = gate.nextDeadline()) {
      reached = await waitUntil(next.at)
      if (cancelled?.aborted) return
      gate.advance(reached)
    }
    if (gate.verdict === undefined) reached = await waitUntil(at)
  }

  for await (const event of readEvents(path, onDamage, onSkipped)) {
    await advanceTo(event.at)
    if (cancelled?.aborted) break
    gate.handle(correctNamespace(event))
  }
  if (!cancelled?.aborted) await advanceTo(reached + longestTimeoutMs(targets, settings) + cancelAfterMs)
  gate.handle({ type: 'CANCEL', at: reached })
  return gate
}

function longestTimeoutMs(targets: readonly Target[], settings: GateSettings): number {
  const clocks = [settings, ...targets.map((target) => target.clocks)]
  return Math.max(
    ...clocks.flatMap(({ timeoutMs = 0, stallTimeoutMs = 0, milestoneTimeoutsMs = {} }) => [
      timeoutMs,
      stallTimeoutMs,
      ...Object.values(milestoneTimeoutsMs),
    ]),
  )
}
