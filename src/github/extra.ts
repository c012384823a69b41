import type { GitHub } from '@actions/github/lib/utils'
import type { Outcome } from '../gate/outcome.ts'
import type { RunRecord } from '../gate/run-record.ts'
import type { ExtraName } from '../inputs.ts'
import type { TrackedFiles } from '../workspace.ts'
import { repositoryRequest, type WorkflowRun } from './workflow-run.ts'

/** An extra: shows the rollout on GitHub as a commit status, a deployment, or a comment on a pull request. */
export interface Extra {
  readonly name: ExtraName
  /** Creates or updates the object on GitHub. Rejects with octokit's error. After a failure, it may be called again. */
  show(record: RunRecord, signal: AbortSignal): Promise<void>
}

/** The client, names and files that all extras of a gate share. */
export interface Shared {
  readonly octokit: Octokit
  readonly origin: Origin
  /** The name of the gate. */
  readonly name: string
  /** The files to which texts link; empty until git has answered. */
  readonly tracked: TrackedFiles
  /** Called each time that an extra has created or updated its object. */
  readonly onOpened: (opened: Opened) => void
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

/**
 * Shows the outcome on an open object. Without an outcome, a status or deployment becomes `error`. Resolves to false if
 * the object already shows an outcome. Rejects with octokit's error.
 */
export type Close = (closing: Closing, opened: Opened, signal: AbortSignal) => Promise<boolean>

/** A client of GitHub's API that uses the user's token. */
export type Octokit = InstanceType<typeof GitHub>

/**
 * The commit, pull request and log page of a gate, which all its extras share. If the workflow's event does not contain
 * the pull request, it is looked up on first use. A failed look-up is repeated at the next use.
 */
export class Origin {
  readonly run: WorkflowRun
  /** The page of the job's log. If the number of the job is unknown, the page of the run's attempt. */
  readonly logUrl: string
  readonly #octokit: Octokit
  /** Undefined until it is looked up. */
  #pullRequest: number | 'none' | undefined

  /** @param jobId the number of the job; absent on servers other than github.com */
  constructor(octokit: Octokit, run: WorkflowRun, jobId?: string) {
    this.run = run
    this.#octokit = octokit
    this.#pullRequest = run.pullRequest
    const page = jobId === undefined ? `attempts/${run.attempt}` : `job/${jobId}`
    this.logUrl = `${run.repositoryUrl}/actions/runs/${run.runId}/${page}`
  }

  /** The commit of the extras. If it is empty, there are no extras, and `WorkflowRun.conflict` has the cause. */
  get commit(): string {
    return this.run.headSha ?? ''
  }

  /** The number of the pull request; undefined if there is none. Rejects with octokit's error. */
  async pullRequest(signal: AbortSignal): Promise<number | undefined> {
    this.#pullRequest ??= (await this.#findByForkBranch(signal)) ?? (await this.#findByCommit(signal)) ?? 'none'
    return this.#pullRequest === 'none' ? undefined : this.#pullRequest
  }

  /** The pull request of a fork's branch. Needed because events about commits of forks list no pull requests. */
  async #findByForkBranch(signal: AbortSignal): Promise<number | undefined> {
    const { forkBranch } = this.run
    if (forkBranch === undefined) return undefined
    const request = { ...repositoryRequest(this.run, signal), head: forkBranch, state: 'open' as const }
    const { data } = await this.#octokit.rest.pulls.list(request)
    // One branch may have several open pull requests, into different branches.
    const headSha = this.commit
    return (data.find(({ head }) => head.sha === headSha) ?? data[0])?.number
  }

  /** The open pull request whose head is the commit, otherwise the pull request whose merge created the commit. */
  async #findByCommit(signal: AbortSignal): Promise<number | undefined> {
    const headSha = this.commit
    const request = { ...repositoryRequest(this.run, signal), commit_sha: headSha }
    const { data } = await this.#octokit.rest.repos.listPullRequestsAssociatedWithCommit(request)
    const open = data.find(({ state, head }) => state === 'open' && head.sha === headSha)
    const merged = data.find(({ merged_at, merge_commit_sha }) => merged_at !== null && merge_commit_sha === headSha)
    return (open ?? merged)?.number
  }
}
