import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { WorkflowRunRecord } from '../gate/run-record.ts'

/** The workflow run of this gate, from the runner's variables and the event. */
export interface WorkflowRun {
  readonly owner: string
  readonly repo: string
  /** The commit of the extras: the input `sha`, otherwise the commit of the event (the head of a pull request). */
  readonly headSha?: string | undefined
  /** Why no extra may be written: the event has no commit, or the workspace contains another commit than the event. */
  readonly conflict?: string | undefined
  /** The pull request in the event. `none`: the event is about an issue, so there is no pull request to look up. */
  readonly pullRequest?: number | 'none' | undefined
  /** The branch of a fork, as `owner:branch`. The event does not contain its pull request. */
  readonly forkBranch?: string | undefined
  /** Whether the event is about an open pull request. The environment of a closed one may be permanent. */
  readonly isOpenPullRequest: boolean
  /** The deployment that triggered the workflow. */
  readonly deploymentId?: number | undefined
  /** The event that triggered this run. */
  readonly event: string
  /** The name of the commit status or text of the comment that caused the event. An extra may have written it. */
  readonly writtenText?: string | undefined
  /** The URL of the repository's page, without a trailing slash. */
  readonly repositoryUrl: string
  readonly runId: number
  readonly attempt: number
  readonly workflow: string
  readonly job: string
  /** Whether only members can read the repository. False if unknown. */
  readonly isPrivate: boolean
}

/** The runner's variables: https://docs.github.com/actions/reference/workflows-and-actions/variables */
export type RunnerVariables = Readonly<Record<string, string | undefined>>

/**
 * The workflow run that triggered this run: https://docs.github.com/webhooks/webhook-events-and-payloads#workflow_run.
 * If its branch belongs to a fork, `pull_requests` is empty.
 */
interface TriggeringRun {
  readonly head_sha?: string
  readonly head_branch?: string | null
  /** The event that triggered the other run. */
  readonly event?: string
  readonly head_repository?: { readonly full_name?: string; readonly owner?: { readonly login?: string } } | null
  readonly pull_requests?: readonly {
    readonly number: number
    readonly head?: { readonly sha?: string }
    readonly base?: { readonly repo?: { readonly id?: number } }
  }[]
}

/** Fields of an event's payload: https://docs.github.com/webhooks/webhook-events-and-payloads */
export interface Payload {
  readonly repository?: { readonly id?: number; readonly full_name?: string; readonly private?: boolean }
  readonly pull_request?: {
    readonly number?: number
    readonly state?: string
    readonly head?: { readonly sha?: string }
  }
  /** The comment of an `issue_comment` event. If the issue is a pull request, `issue.pull_request` is set. */
  readonly comment?: { readonly body?: string }
  readonly issue?: { readonly number?: number; readonly state?: string; readonly pull_request?: object }
  readonly merge_group?: { readonly head_sha?: string; readonly head_ref?: string }
  readonly workflow_run?: TriggeringRun
  readonly deployment?: { readonly id?: number; readonly sha?: string }
  /** In a `status` event, the name of the status. */
  readonly context?: string
}

/**
 * The workflow run of this process, from its environment and the file of the event.
 * @param sha the input `sha`
 * @throws Error outside of a workflow run, with the missing variable; the error of reading or parsing the file
 */
export function currentRun(variables: RunnerVariables, sha: string | undefined): WorkflowRun {
  const path = variables['GITHUB_EVENT_PATH']
  const payload = path ? JSON.parse(readFileSync(path, 'utf8')) : {}
  return readWorkflowRun(variables, payload, {
    sha,
    checkedOut: checkedOutCommit(variables['GITHUB_WORKSPACE'] || '.'),
  })
}

/** The checked-out commit. Reads `.git/HEAD` and its branch, because `actions/checkout` writes both as files. */
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
 * Reads the workflow run from the runner's variables and the payload of the event.
 * @param commits.sha the input `sha`
 * @param commits.checkedOut the commit that the workspace contains; undefined if there is none
 * @throws Error outside of a workflow run, with the missing variable
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
    ...(sha === undefined ? deployedCommit(event, payload, need('GITHUB_SHA'), checkedOut) : { headSha: sha }),
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

/** Events on which `GITHUB_SHA` is the merge commit of the pull request. `actions/checkout` checks out this commit. */
const mergeCommitEvents = /^pull_request(_review|_review_comment)?$/

/** Events on which `GITHUB_SHA` is the last commit of the default branch, which is seldom the deployed commit. */
const defaultBranchEvents = /^(check_run|check_suite|status)$/

/**
 * The commit of the event. A result belongs to the deployed commit. Therefore a checkout in the workspace must contain
 * the commit of the event. Otherwise a commit could pass that nobody has deployed.
 */
function deployedCommit(
  event: string,
  payload: Payload,
  githubSha: string,
  checkedOut: string | undefined,
): Pick<WorkflowRun, 'headSha' | 'conflict'> {
  const fix = 'Set the input sha to the commit that was deployed.'
  if (defaultBranchEvents.test(event) || payload.issue?.pull_request !== undefined)
    return { conflict: `On the event ${event}, GITHUB_SHA is the last commit of the default branch. ${fix}` }
  const { headSha = githubSha } = commitAndPullRequest(payload)
  const accepted = mergeCommitEvents.test(event) ? [headSha, githubSha] : [headSha]
  if (checkedOut === undefined || accepted.includes(checkedOut)) return { headSha }
  const found = `The workspace contains the commit ${checkedOut.slice(0, 7)}, but the event ${event} is about ${headSha.slice(0, 7)}.`
  return { headSha, conflict: `${found} ${fix}` }
}

/**
 * Whether the event is about an open pull request. The list of a `workflow_run` does not count: a run for a push to a
 * pull request's head lists the pull request too.
 */
function isOpenPullRequest({ pull_request, issue, workflow_run }: Payload): boolean {
  const pullRequest = pull_request ?? (issue?.pull_request === undefined ? undefined : issue)
  if (pullRequest !== undefined) return pullRequest.state !== 'closed'
  return workflow_run?.event?.startsWith('pull_request') === true
}

/**
 * The commit and the pull request of an event. If the result has no `headSha`, the commit is `GITHUB_SHA`. Otherwise
 * `GITHUB_SHA` may be another commit: a merge commit (`pull_request`), or the last commit of the base or default branch
 * (`pull_request_target`, `workflow_run`).
 * https://docs.github.com/actions/reference/workflows-and-actions/events-that-trigger-workflows
 */
function commitAndPullRequest(payload: Payload): Pick<WorkflowRun, 'headSha' | 'pullRequest' | 'forkBranch'> {
  const { pull_request, issue, merge_group, workflow_run, deployment } = payload
  // If a workflow created the deployment, the event contains a `workflow_run` too.
  if (deployment !== undefined) return { headSha: deployment.sha }
  if (pull_request !== undefined) return { headSha: pull_request.head?.sha, pullRequest: pull_request.number }
  if (workflow_run !== undefined)
    return {
      headSha: workflow_run.head_sha,
      pullRequest: listedPullRequest(workflow_run, payload),
      forkBranch: forkBranch(workflow_run, payload),
    }
  // The ref of a merge queue: refs/heads/gh-readonly-queue/main/pr-12-0123abcd…
  const queued = /\/pr-(\d+)-[0-9a-f]+$/.exec(merge_group?.head_ref ?? '')?.[1]
  if (merge_group !== undefined)
    return { headSha: merge_group.head_sha, pullRequest: queued === undefined ? undefined : Number(queued) }
  if (issue === undefined) return {}
  return { pullRequest: issue.pull_request === undefined ? 'none' : issue.number }
}

/** The pull request of this repository. The list may contain pull requests of forks with the same commit too. */
function listedPullRequest({ pull_requests = [], head_sha }: TriggeringRun, { repository }: Payload) {
  const own = pull_requests.filter(({ base }) => base?.repo?.id === repository?.id)
  return (own.find(({ head }) => head?.sha === head_sha) ?? own[0])?.number
}

function forkBranch({ head_branch, head_repository }: TriggeringRun, { repository }: Payload): string | undefined {
  if (!head_repository || head_repository.full_name === repository?.full_name) return undefined
  const owner = head_repository.owner?.login
  return owner && head_branch ? `${owner}:${head_branch}` : undefined
}

/** The parameters of a request to GitHub's API about the repository. */
export function repositoryRequest({ owner, repo }: Pick<WorkflowRun, 'owner' | 'repo'>, signal: AbortSignal) {
  return { owner, repo, request: { signal } }
}

/**
 * The page of the job's log. Without the number of the job, the page of the run's attempt.
 * @param jobId the number of the job; absent on servers other than github.com
 */
export function logPage({ repositoryUrl, runId, attempt }: WorkflowRun, jobId: string | undefined): string {
  return `${repositoryUrl}/actions/runs/${runId}/${jobId === undefined ? `attempts/${attempt}` : `job/${jobId}`}`
}

/** Whether a page is part of this run. Another run of the same commit may have written the latest status. */
export function isPageOfRun(url: string, { repositoryUrl, runId }: WorkflowRun): boolean {
  return url.startsWith(`${repositoryUrl}/actions/runs/${runId}/`)
}

/** The run as a report contains it. Only reports of the same run and commit can be merged. */
export function workflowRunRecord({ runId, attempt, headSha = '' }: WorkflowRun): WorkflowRunRecord {
  return { id: String(runId), attempt, commit: headSha }
}

/** The mark of this attempt of the run, `rollout-gate 77/2`, which all its gates share. */
export function attemptMark({ runId, attempt }: Pick<WorkflowRun, 'runId' | 'attempt'>): string {
  return `rollout-gate ${runId}/${attempt}`
}

/** Whether an earlier attempt of this run has set a mark. Its jobs have ended, or lost their runners. */
export function isEarlierAttempt(mark: unknown, { runId, attempt }: WorkflowRun): boolean {
  const [, run, number] = /^rollout-gate (\d+)\/(\d+)$/.exec(String(mark)) ?? []
  return Number(run) === runId && Number(number) < attempt
}
