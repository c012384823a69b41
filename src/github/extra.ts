import type { GitHub } from '@actions/github/lib/utils'
import type { Outcome } from '../gate/outcome.ts'
import type { RunRecord } from '../gate/run-record.ts'
import type { ExtraName } from '../inputs.ts'
import type { TrackedFiles } from '../workspace.ts'
import { logUrlOf, repositoryRequest, type WorkflowRun } from './workflow-run.ts'

/** Shows the rollout on GitHub outside the job log: as a commit status, a deployment or a comment on a pull request. */
export interface Extra {
  readonly name: ExtraName
  /** Creates or updates the object. May be called again after a failure. Rejects with octokit's error or if the signal is aborted. */
  show(record: RunRecord, signal: AbortSignal): Promise<void>
}

/** What all extras of a gate share. */
export interface Shared {
  readonly octokit: Octokit
  readonly origin: Origin
  /** The name of the gate. */
  readonly name: string
  /** The files that texts link to; filled when git has answered. */
  readonly tracked: TrackedFiles
  /** Called with each update of an object, which may be a new one. */
  readonly onOpened: (opened: Opened) => void
}

/**
 * The object on GitHub that an extra writes to. It is open until the extra shows the outcome. A process that is killed
 * leaves an open status, which blocks merging. With these fields, another process can close the object.
 */
export interface Opened {
  readonly extra: ExtraName
  /** The number of the deployment or the comment; 0 for a commit status, which its name identifies. */
  readonly id: number
  /** The page of the comment; empty for the other extras. */
  readonly url: string
  /** The commit of the status and a new deployment. */
  readonly headSha: string
  /** The context of the status: a new status of this context replaces the open one. */
  readonly name: string
}

/** What a process needs to close an object that another process opened. */
export interface Closing {
  readonly octokit: Octokit
  readonly run: WorkflowRun
  /** Undefined without an outcome. */
  readonly outcome: Outcome | undefined
  /** The outcome in one line, or that there is none. */
  readonly title: string
}

/**
 * Shows the outcome on an open object; without an outcome, a status or deployment becomes `error`. Resolves to false if
 * the object already shows an outcome. Rejects with octokit's error.
 */
export type Close = (closing: Closing, opened: Opened, signal: AbortSignal) => Promise<boolean>

/** A client of GitHub's API with the user's token. */
export type Octokit = InstanceType<typeof GitHub>

/**
 * The commit, the pull request and the log of a gate. All extras of a gate share one `Origin`, so they have the same values. A
 * value that the event of the workflow does not contain is looked up when it is first needed; a failed look-up is tried again.
 */
export class Origin {
  readonly run: WorkflowRun
  /** The page with the log of the job; the page of the run if the number of the job is unknown. */
  readonly logUrl: string
  readonly #octokit: Octokit
  /** Undefined: not looked up yet. */
  #pullRequest: number | 'none' | undefined

  /** @param jobId the number of the job, which servers other than github.com leave empty */
  constructor(octokit: Octokit, run: WorkflowRun, jobId?: string) {
    this.run = run
    this.#octokit = octokit
    this.#pullRequest = run.pullRequest
    this.logUrl = logUrlOf(run, jobId)
  }

  /** The commit that the extras are written to. Without one, there are no extras: `WorkflowRun.conflict` names the cause. */
  get commit(): string {
    return this.run.headSha ?? ''
  }

  /** The number of the pull request; undefined if there is none. Rejects with octokit's error. */
  async pullRequest(signal: AbortSignal): Promise<number | undefined> {
    this.#pullRequest ??= (await this.#ofFork(signal)) ?? (await this.#ofCommit(signal)) ?? 'none'
    return this.#pullRequest === 'none' ? undefined : this.#pullRequest
  }

  /** Finds the pull request by the branch of a fork: an event about a commit of a fork lists no pull requests. */
  async #ofFork(signal: AbortSignal): Promise<number | undefined> {
    const { forkBranch } = this.run
    if (forkBranch === undefined) return undefined
    const request = { ...repositoryRequest(this.run, signal), head: forkBranch, state: 'open' as const }
    const { data } = await this.#octokit.rest.pulls.list(request)
    // A branch may have pull requests into several branches.
    const headSha = this.commit
    return (data.find(({ head }) => head.sha === headSha) ?? data[0])?.number
  }

  /** The open pull request whose head is the commit, else the one whose merge created the commit. */
  async #ofCommit(signal: AbortSignal): Promise<number | undefined> {
    const headSha = this.commit
    const request = { ...repositoryRequest(this.run, signal), commit_sha: headSha }
    const { data } = await this.#octokit.rest.repos.listPullRequestsAssociatedWithCommit(request)
    const open = data.find(({ state, head }) => state === 'open' && head.sha === headSha)
    const merged = data.find(({ merged_at, merge_commit_sha }) => merged_at !== null && merge_commit_sha === headSha)
    return (open ?? merged)?.number
  }
}
