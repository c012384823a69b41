import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { WorkflowRunRecord } from '../gate/run-record.ts'

/** The workflow run of this gate, as far as the runner and the event describe it. `Origin` looks up the rest. */
export interface WorkflowRun {
  readonly owner: string
  readonly repo: string
  /**
   * The commit that the extras are written to: the input `sha`, else the commit of the event; for a pull request its
   * head, not the merge commit.
   */
  readonly headSha?: string | undefined
  /** Why nothing may be written: the workspace, whose content was deployed, contains another commit, or the event contains none. */
  readonly conflict?: string | undefined
  /** The pull request in the event. `none`: the event is about an issue, so no pull request may be searched for. */
  readonly pullRequest?: number | 'none' | undefined
  /** The branch of a fork, as `owner:branch`. Its pull request is not in the event. */
  readonly forkBranch?: string | undefined
  /** Whether the event is about an open pull request. A closed one may be merged; then its environment may be permanent. */
  readonly isOpenPullRequest: boolean
  /** The deployment that triggered the workflow. */
  readonly deploymentId?: number | undefined
  /** The event that triggered this run. */
  readonly event: string
  /** The name of the commit status, or the text of the comment, that the event is about: an extra may have written it. */
  readonly writtenText?: string | undefined
  /** The repository's page, without a trailing slash. */
  readonly repositoryUrl: string
  readonly runId: number
  readonly attempt: number
  readonly workflow: string
  readonly job: string
  /** Whether only members can read the repository. False if the event does not contain it. */
  readonly isPrivate: boolean
}

/** The runner's variables: https://docs.github.com/actions/reference/workflows-and-actions/variables */
export type RunnerVariables = Readonly<Record<string, string | undefined>>

/** A pull request of a workflow run: https://docs.github.com/webhooks/webhook-events-and-payloads#workflow_run */
interface ListedPullRequest {
  readonly number: number
  readonly head?: { readonly sha?: string }
  readonly base?: { readonly repo?: { readonly id?: number } }
}

/** The workflow run that triggered this one. Its `pull_requests` is empty for a branch of a fork. */
interface TriggeringRun {
  readonly head_sha?: string
  readonly head_branch?: string | null
  /** The event that triggered that run. */
  readonly event?: string
  readonly head_repository?: { readonly full_name?: string; readonly owner?: { readonly login?: string } } | null
  readonly pull_requests?: readonly ListedPullRequest[]
}

/** Fields of an event's payload: https://docs.github.com/webhooks/webhook-events-and-payloads */
export interface Payload {
  readonly repository?: { readonly id?: number; readonly full_name?: string; readonly private?: boolean }
  readonly pull_request?: {
    readonly number?: number
    readonly state?: string
    readonly head?: { readonly sha?: string }
  }
  /** `pull_request` is set if the issue is a pull request. */
  readonly comment?: { readonly body?: string }
  readonly issue?: { readonly number?: number; readonly state?: string; readonly pull_request?: object }
  readonly merge_group?: { readonly head_sha?: string; readonly head_ref?: string }
  readonly workflow_run?: TriggeringRun
  readonly deployment?: { readonly id?: number; readonly sha?: string }
  /** The name of the status of a `status` event. */
  readonly context?: string
}

/**
 * The run of this process. The event file is read only in a workflow.
 * @param sha the input `sha`
 * @throws Error with the missing variable, outside of a workflow run; of `readFileSync` or `JSON.parse`
 */
export function currentRun(variables: RunnerVariables, sha: string | undefined): WorkflowRun {
  const path = variables['GITHUB_EVENT_PATH']
  const payload = path ? JSON.parse(readFileSync(path, 'utf8')) : {}
  return readWorkflowRun(variables, payload, {
    sha,
    checkedOut: checkedOutCommit(variables['GITHUB_WORKSPACE'] || '.'),
  })
}

/** Reads `.git/HEAD`, and the branch that it refers to: `actions/checkout` writes both as files. */
function checkedOutCommit(workspace: string): string | undefined {
  const read = (name: string) => readFileSync(join(workspace, '.git', name), 'utf8').trim()
  try {
    const head = read('HEAD')
    const branch = /^ref: (refs\/heads\/\S+)$/.exec(head)?.[1]
    const commit = branch === undefined || branch.includes('..') ? head : read(branch)
    return /^[0-9a-f]{40,64}$/.test(commit) ? commit : undefined
  } catch {
    return undefined
  }
}

/**
 * @param commits.sha the input `sha`
 * @param commits.checkedOut the commit that the workspace contains; undefined if there is none
 * @throws Error with the missing variable, outside of a workflow run
 */
export function readWorkflowRun(
  variables: RunnerVariables,
  payload: Payload,
  { sha, checkedOut }: { readonly sha?: string | undefined; readonly checkedOut?: string | undefined } = {},
): WorkflowRun {
  const need = (name: string) => {
    const value = variables[name]
    if (!value) throw new Error(`${name} is not set.`)
    return value
  }
  const [owner = '', repo = ''] = need('GITHUB_REPOSITORY').split('/')
  const event = variables['GITHUB_EVENT_NAME'] ?? ''
  const { pullRequest, forkBranch } = commitAndPullRequest(payload)
  return {
    owner,
    repo,
    ...(sha === undefined ? commitOf(event, payload, need('GITHUB_SHA'), checkedOut) : { headSha: sha }),
    pullRequest,
    forkBranch,
    isOpenPullRequest: isOpenPullRequest(payload),
    deploymentId: payload.deployment?.id,
    event,
    writtenText: payload.context ?? payload.comment?.body,
    repositoryUrl: `${variables['GITHUB_SERVER_URL'] || 'https://github.com'}/${owner}/${repo}`,
    runId: Number(variables['GITHUB_RUN_ID']),
    attempt: Number(variables['GITHUB_RUN_ATTEMPT'] || 1),
    workflow: variables['GITHUB_WORKFLOW'] ?? '',
    job: variables['GITHUB_JOB'] ?? '',
    isPrivate: payload.repository?.private === true,
  }
}

/** On these events `GITHUB_SHA` is the merge commit of the pull request, which `actions/checkout` checks out. */
const isOfMergeCommit = /^pull_request(_review|_review_comment)?$/

/** On these events `GITHUB_SHA` is the last commit of the default branch, which is seldom the one that was deployed. */
const isOfDefaultBranch = /^(check_run|check_suite|status)$/

/**
 * The commit of the event. A result belongs to the commit that was deployed, so the workspace, if it is a checkout, must
 * contain this commit: otherwise a commit could pass that nobody deployed.
 */
function commitOf(
  event: string,
  payload: Payload,
  githubSha: string,
  checkedOut: string | undefined,
): Pick<WorkflowRun, 'headSha' | 'conflict'> {
  const fix = 'Set the input sha to the commit that was deployed.'
  if (isOfDefaultBranch.test(event) || payload.issue?.pull_request !== undefined)
    return { conflict: `On the event ${event}, GITHUB_SHA is the last commit of the default branch. ${fix}` }
  const { headSha = githubSha } = commitAndPullRequest(payload)
  const accepted = isOfMergeCommit.test(event) ? [headSha, githubSha] : [headSha]
  if (checkedOut === undefined || accepted.includes(checkedOut)) return { headSha }
  const found = `The workspace contains the commit ${checkedOut.slice(0, 7)}, but the event ${event} is about ${headSha.slice(0, 7)}.`
  return { headSha, conflict: `${found} ${fix}` }
}

/** The pull requests that a `workflow_run` lists do not count: a run for a push to the head of a pull request lists it too. */
function isOpenPullRequest({ pull_request, issue, workflow_run }: Payload): boolean {
  const pullRequest = pull_request ?? (issue?.pull_request === undefined ? undefined : issue)
  if (pullRequest !== undefined) return pullRequest.state !== 'closed'
  return workflow_run?.event?.startsWith('pull_request') === true
}

/**
 * The commit and the pull request of an event. Without `headSha` in the result, the commit is `GITHUB_SHA`. With it,
 * `GITHUB_SHA` may be another commit: for `pull_request`, a merge commit; for `pull_request_target` and
 * `workflow_run`, the last commit of the base or default branch
 * (https://docs.github.com/actions/reference/workflows-and-actions/events-that-trigger-workflows).
 */
function commitAndPullRequest(payload: Payload): Pick<WorkflowRun, 'headSha' | 'pullRequest' | 'forkBranch'> {
  const { pull_request, issue, merge_group, workflow_run, deployment } = payload
  // The event of a deployment that a workflow created also contains the run of that workflow.
  if (deployment !== undefined) return { headSha: deployment.sha }
  if (pull_request !== undefined) return { headSha: pull_request.head?.sha, pullRequest: pull_request.number }
  if (workflow_run !== undefined)
    return {
      headSha: workflow_run.head_sha,
      pullRequest: listedPullRequest(workflow_run, payload),
      forkBranch: forkBranch(workflow_run, payload),
    }
  // refs/heads/gh-readonly-queue/main/pr-12-0123abcd…
  const queued = /\/pr-(\d+)-[0-9a-f]+$/.exec(merge_group?.head_ref ?? '')?.[1]
  if (merge_group !== undefined)
    return { headSha: merge_group.head_sha, pullRequest: queued === undefined ? undefined : Number(queued) }
  if (issue === undefined) return {}
  return { pullRequest: issue.pull_request === undefined ? 'none' : issue.number }
}

/** The pull request of this repository in the list, which may also contain pull requests of forks that have the commit. */
function listedPullRequest({ pull_requests = [], head_sha }: TriggeringRun, { repository }: Payload) {
  const own = pull_requests.filter(({ base }) => base?.repo?.id === repository?.id)
  return (own.find(({ head }) => head?.sha === head_sha) ?? own[0])?.number
}

function forkBranch({ head_branch, head_repository }: TriggeringRun, { repository }: Payload): string | undefined {
  if (!head_repository || head_repository.full_name === repository?.full_name) return undefined
  const owner = head_repository.owner?.login
  return owner && head_branch ? `${owner}:${head_branch}` : undefined
}

/** The parameters of each request to GitHub's API about the run's repository. */
export function repositoryRequest({ owner, repo }: Pick<WorkflowRun, 'owner' | 'repo'>, signal: AbortSignal) {
  return { owner, repo, request: { signal } }
}

/** The page with the log of this attempt, or of a job if its number is known. */
export function logUrlOf({ repositoryUrl, runId, attempt }: WorkflowRun, jobId?: string): string {
  return `${repositoryUrl}/actions/runs/${runId}/${jobId === undefined ? `attempts/${attempt}` : `job/${jobId}`}`
}

/** Whether a page belongs to this run: another run of the same commit may have written the latest status. */
export function isOfRun(url: string, { repositoryUrl, runId }: WorkflowRun): boolean {
  return url.startsWith(`${repositoryUrl}/actions/runs/${runId}/`)
}

/** The run as reports contain it: gates of one run and commit may be merged. */
export function reportRun({ runId, attempt, headSha = '' }: WorkflowRun): WorkflowRunRecord {
  return { id: String(runId), attempt, commit: headSha }
}

/** A text that marks what this attempt of the run has created: `rollout-gate 77/2`. All gates of the attempt share it. */
export function attemptMark({ runId, attempt }: Pick<WorkflowRun, 'runId' | 'attempt'>): string {
  return `rollout-gate ${runId}/${attempt}`
}

/** Whether a mark is that of an earlier attempt of this run: its jobs have ended, or their runners are lost. */
export function isOfEarlierAttempt(mark: unknown, { runId, attempt }: WorkflowRun): boolean {
  const [, run, number] = /^rollout-gate (\d+)\/(\d+)$/.exec(String(mark)) ?? []
  return Number(run) === runId && Number(number) < attempt
}
