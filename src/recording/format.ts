import type { FeedEvent } from '../cluster/feed.ts'
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

/** One line of a recording, without its line break. */
export function formatEvent({ at, ...observation }: FeedEvent): string {
  return JSON.stringify({ at: new Date(at).toISOString(), ...observation })
}
