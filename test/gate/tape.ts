import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { RecordingHeader } from '../../src/recording/format.ts'
import { formatEvent } from '../../src/recording/format.ts'
import { iso } from '../lifecycle/builders.ts'

/** What the user wrote, in the words of action.yml. */
export type Wishes = Readonly<Record<string, string | readonly string[]>>

/** A recording as anybody may write one by hand: one `deployment/web` is wished for unless the inputs say otherwise. */
export function tape(
  inputs: Wishes,
  steps: readonly (readonly FeedEvent[])[],
  header: Partial<RecordingHeader> = {},
): string {
  const first = {
    recording: 'rollout-gate/v1',
    startedAt: iso(0),
    inputs: { resources: ['deployment/web'], namespace: 'shop', ...inputs },
    ...header,
  }
  return [JSON.stringify(first), ...steps.flat().map(formatEvent)].join('\n')
}
