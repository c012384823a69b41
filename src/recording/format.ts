import { codeOf } from '../cluster/failures.ts'
import type { FeedEvent, Observation } from '../cluster/feed.ts'
import type { Target } from '../plan/target.ts'

/** The first line of a recording (DESIGN §6). */
export interface RecordingHeader {
  readonly recording: 'rollout-gate/v1'
  readonly startedAt: string
  readonly server: string
  readonly context: string
  readonly serverOffsetMs: number
  /** What the user wrote, without defaults and never with credentials. */
  readonly inputs: Readonly<Record<string, unknown>>
  /** What it resolved to. */
  readonly targets?: readonly Target[]
}

export const recordingVersion = 'rollout-gate/v1'

/** One line of a recording, without its line break. A failure is a line of type `ERROR` with the HTTP status. */
export function formatEvent({ at, ...observation }: FeedEvent): string {
  return JSON.stringify({ at: new Date(at).toISOString(), ...writtenAs(observation) })
}

function writtenAs(observation: Observation): object {
  switch (observation.type) {
    case 'UNAVAILABLE': {
      const { type: _type, code, lastSuccessAt, ...rest } = observation
      const since = lastSuccessAt === undefined ? {} : { lastSuccessAt: new Date(lastSuccessAt).toISOString() }
      return { type: 'ERROR', code, ...rest, ...since }
    }
    case 'REFUSED': {
      const { type: _type, what: _what, final, ...rest } = observation
      return { type: 'ERROR', code: codeOf(observation), ...rest, ...(final ? { final } : {}) }
    }
    case 'MISSING':
      return { ...observation, type: 'ERROR', code: codeOf(observation) }
    default:
      return observation
  }
}
