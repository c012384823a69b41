import type { GitHub } from '@actions/github/lib/utils'
import type { Outcome } from '../gate/outcome.ts'
import type { RunRecord } from '../gate/run-record.ts'
import type { ExtraName, Inputs } from '../inputs.ts'
import type { TrackedFiles } from '../workspace.ts'
import type { WorkflowRun } from './workflow-run.ts'

/** An extra: shows the rollout on GitHub as a commit status, a deployment, or a comment on a pull request. */
export interface Extra {
  /**
   * Returns the function that shows the rollout. Sends nothing itself.
   * @param onNotice called with a notice if there is nothing to write to, which is not an error
   */
  open(gate: ExtraContext, inputs: ExtraInputs, onNotice: (text: string) => void): Show
  /**
   * Shows the outcome on an open object. Without an outcome, a status or deployment becomes `error`. Resolves to false
   * if the object already shows an outcome. Rejects with octokit's error.
   */
  close(closing: Closing, opened: Opened, signal: AbortSignal): Promise<boolean>
}

/** Creates or updates the object on GitHub. Rejects with octokit's error. After a failure, it may be called again. */
export type Show = (record: RunRecord, signal: AbortSignal) => Promise<void>

export type ExtraInputs = Pick<Inputs, 'environment' | 'environmentUrl'>

/** The gate that an extra shows, and the client with which the extra writes. */
export interface ExtraContext {
  readonly octokit: Octokit
  readonly run: WorkflowRun
  /** The commit to which the extras are written. */
  readonly commit: string
  /** The page of the job's log. */
  readonly logUrl: string
  /** The name of the gate. */
  readonly name: string
  /** The files to which texts link; empty until git has answered. */
  readonly tracked: TrackedFiles
  /** Called each time that the extra has created or updated its object. See `Opened` for the default values. */
  readonly onOpened: (object?: Partial<Pick<Opened, 'id' | 'url'>>) => void
}

/**
 * The object on GitHub that an extra writes. It is open until it shows the outcome. If the process is killed, an open
 * status blocks merging. With these fields, another process can close the object.
 */
export interface Opened {
  readonly extra: ExtraName
  /** The number of the deployment or comment; 0 for a commit status, which is identified by its name. */
  readonly id: number
  /** The page of the comment; empty for the other extras. */
  readonly url: string
  /** The commit of the status or deployment. */
  readonly headSha: string
  /** The context of the commit status: a new status with this context replaces the open status. */
  readonly name: string
}

/** The data with which a process closes objects that another process has opened. */
export interface Closing {
  readonly octokit: Octokit
  readonly run: WorkflowRun
  /** Undefined if the gate had no outcome. */
  readonly outcome: Outcome | undefined
  /** The outcome in one line. Without an outcome, a sentence that says so. */
  readonly title: string
}

/** A client of GitHub's API that uses the user's token. */
export type Octokit = InstanceType<typeof GitHub>
