import type { Timeline } from '../gate/timeline.ts'
import type { ExtraName } from '../inputs.ts'
import type { TrackedFiles } from '../workspace.ts'
import type { Octokit, Origin } from './origin.ts'

/** Shows the rollout on GitHub outside the job log. */
export interface Extra {
  readonly name: ExtraName
  /**
   * Creates or updates the check, comment or status. The caller may call it again after a failure. Rejects with the
   * error of octokit, or if the signal is aborted.
   */
  show(timeline: Timeline, signal: AbortSignal): Promise<void>
}

/** What all extras of a gate share. */
export interface Shared {
  readonly octokit: Octokit
  readonly origin: Origin
  /** The name of the gate. */
  readonly name: string
  /** The files that texts link to; filled when git has answered. */
  readonly tracked: TrackedFiles
  /** Called when an extra begins to write to an object, also if it has to create it anew. */
  readonly onOpened: (opened: Opened) => void
}

/**
 * What an extra writes to. It stays open on GitHub until the extra shows the outcome: a process that is killed leaves a
 * check that blocks merging. These fields suffice to close it in another process.
 */
export interface Opened {
  readonly extra: ExtraName
  /** The number of the check run, the commit status, the deployment or the comment. */
  readonly id: number
  /** The page of the check, the comment or the status. Empty for a deployment. */
  readonly url: string
  /** The commit of the check, the status and a new deployment. */
  readonly headSha: string
  /** The name of the check, and the context of the status: a new status of this context replaces the open one. */
  readonly name: string
}
