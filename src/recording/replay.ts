import type { FeedEvent } from '../cluster/feed.ts'
import { covers } from '../cluster/store.ts'
import { Gate } from '../gate/gate.ts'
import type { GateSettings } from '../gate/settings.ts'
import type { Entry } from '../gate/timeline.ts'
import type { Target } from '../plan/target.ts'
import type { OnLine } from './lines.ts'
import { readEvents } from './reader.ts'
import { indexRecording, type RecordingIndex } from './recording-index.ts'

export interface ReplayHooks {
  readonly onEntry?: (entry: Entry) => void
  /** Gets the line that ends the replay, as the recording cannot be read on from there. */
  readonly onDamage: OnLine
  /** Gets a line that this version cannot use. */
  readonly onSkipped?: OnLine
  /** Called before the first event. */
  readonly onGate?: (gate: Gate) => void
  /** Read from the recording when absent. */
  readonly index?: RecordingIndex
  /** Changes events before the gate handles them. */
  readonly place?: (event: FeedEvent) => FeedEvent
  /**
   * Waits until a moment of the recording, and returns the moment that was reached: an earlier one only when the replay was
   * cancelled meanwhile. Called while the gate is open; by default no time passes.
   */
  readonly waitUntil?: (at: number) => Promise<number>
  /** Cancels the gate at the moment that was reached. */
  readonly cancelled?: AbortSignal
}

/** A gate that is still open this long after its longest clock is cancelled: nothing else will ever end it. */
const silenceMs = 3_600_000

/**
 * Plays a recording through the gate on a virtual clock: the verdict is that of the live run. After the last line nothing
 * changes any more and the clocks go on, so a recording that stops early ends by a deadline. A gate without clocks is
 * cancelled.
 */
export async function replay(
  path: string,
  targets: readonly Target[],
  settings: GateSettings,
  hooks: ReplayHooks,
): Promise<Gate> {
  const { onDamage, onSkipped, place = (event) => event, waitUntil, cancelled } = hooks
  const { answered } = hooks.index ?? (await indexRecording(path))
  const gate = new Gate(targets, settings, (request) => answered.some((known) => covers(known, request)), hooks.onEntry)
  hooks.onGate?.(gate)
  let reached = settings.startedAt
  const passTo = async (at: number) => {
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
    await passTo(event.at)
    if (cancelled?.aborted) break
    gate.handle(place(event))
  }
  if (!cancelled?.aborted) await passTo(reached + longestClock(targets, settings) + silenceMs)
  gate.handle({ type: 'CANCEL', at: reached })
  return gate
}

function longestClock(targets: readonly Target[], settings: GateSettings): number {
  const clocks = [settings, ...targets.map((target) => target.clocks)]
  return Math.max(
    ...clocks.flatMap(({ timeoutMs = 0, stallTimeoutMs = 0, milestoneTimeoutsMs = {} }) => [
      timeoutMs,
      stallTimeoutMs,
      ...Object.values(milestoneTimeoutsMs),
    ]),
  )
}
