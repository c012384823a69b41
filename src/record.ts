import { startRecording } from './recording/writer.ts'
import { followGate, type OnEvent, type Rollout, withPlan } from './rollout.ts'

/** What was recorded. */
export interface Recorded {
  readonly events: number
  readonly startedAt: number
  readonly finishedAt: number
}

/**
 * Records all that the gate would watch until it is cancelled, also beyond the gate's outcome. The reporter gets the
 * gate's timeline entries until its verdict; the logs that explain the end are recorded last.
 *
 * @returns nothing when it was cancelled before the targets were known
 * @throws UserError for invalid input; the file system's error when the recording could not be written
 */
export function recordRollout(path: string, rollout: Rollout): Promise<Recorded | undefined> {
  const { inputs, clock } = rollout
  return withPlan(rollout, clock.now(), async (plan, settings, cluster) => {
    const recording = startRecording(path, plan, settings, inputs)
    // The gate's clocks are off: a recording goes on until it is cancelled.
    const clocks = { timeoutMs: 0, stallTimeoutMs: 0, milestoneTimeoutsMs: {}, failFast: false }
    let events = 0
    const onEvent: OnEvent = (event) => {
      events++
      recording.write(event)
    }
    try {
      await followGate(rollout, plan, { ...settings, ...clocks }, cluster, onEvent, true)
    } finally {
      await recording.end(clock.now())
    }
    return { events, startedAt: settings.startedAt, finishedAt: clock.now() }
  })
}
