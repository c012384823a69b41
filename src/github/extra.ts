import type { GitHub } from '@actions/github/lib/utils'
import type { Timeline } from '../gate/timeline.ts'
import type { extraPermissions } from '../inputs.ts'

/** GitHub's API with the token that the user gave. */
export type Octokit = InstanceType<typeof GitHub>

/** One more place on GitHub where the rollout is shown. */
export interface Extra {
  /** The input that turns it on. */
  readonly input: keyof typeof extraPermissions
  /**
   * Shows how things stand: makes what it shows where there is none yet, and brings it up to date where there is. May
   * be repeated after a failure. Rejects with what GitHub or the network said, or when the signal is aborted.
   */
  show(timeline: Timeline, signal: AbortSignal): Promise<void>
}
