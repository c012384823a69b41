import type { FeedEvent } from '../cluster/feed.ts'
import { covers } from '../cluster/store.ts'
import { Gate } from '../gate/gate.ts'
import type { GateSettings } from '../gate/settings.ts'
import type { Entry } from '../gate/timeline.ts'
import type { Target } from '../plan/target.ts'
import { readEvents } from './read.ts'
import { type Survey, surveyRecording } from './survey.ts'

/** How whoever replays takes part in it. */
export interface ReplayHooks {
  readonly onEntry?: (entry: Entry) => void
  /** The line that the recording cannot be read on from, counted from 1, and why. */
  readonly onDamage: (line: number, why: string) => void
  /** A line that says nothing to this version. */
  readonly onSkipped?: (line: number, why: string) => void
  /** Called before the first event. */
  readonly onGate?: (gate: Gate) => void
  /** What the recording was found to hold; read from it when absent. */
  readonly survey?: Survey
  /** Changes events before the gate sees them. */
  readonly place?: (event: FeedEvent) => FeedEvent
  /**
   * Waits until that moment of the recording has come, and says which one has: an earlier one only when it was cancelled
   * meanwhile. Asked while the gate is open; by default no time passes.
   */
  readonly pace?: (at: number) => Promise<number>
  /** Cancels the gate at the moment that has been reached. */
  readonly cancelled?: AbortSignal
}

/** So long beyond its longest clock a gate is left alone: if it then is still open, nothing will ever end it. */
const silenceMs = 3_600_000

/**
 * Plays a recording through the gate on a virtual clock: the verdict is that of the live run. After the last line
 * nothing changes any more, and the clocks still run, so a recording that ends in silence ends by one of them; a gate
 * without clocks would wait for ever, until somebody cancels it.
 */
export async function replay(
  path: string,
  targets: readonly Target[],
  settings: GateSettings,
  hooks: ReplayHooks,
): Promise<Gate> {
  const { onDamage, onSkipped, place = (event) => event, cancelled } = hooks
  const { answered } = hooks.survey ?? (await surveyRecording(path))
  const gate = new Gate(targets, settings, (request) => answered.some((known) => covers(known, request)), hooks.onEntry)
  hooks.onGate?.(gate)
  let reached = settings.startedAt
  const passTo = async (at: number) => {
    reached = Math.max(reached, at)
    if (hooks.pace === undefined) return
    for (let clock = gate.nextClock(); clock !== undefined && clock.at < at; clock = gate.nextClock()) {
      reached = await hooks.pace(clock.at)
      if (cancelled?.aborted) return
      gate.advance(reached)
    }
    if (gate.verdict === undefined) reached = await hooks.pace(at)
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
