import type { context } from '@actions/github'

/** What `@actions/github` reads of the run: its environment, and the event that triggered it. */
export type Run = Pick<
  typeof context,
  'eventName' | 'payload' | 'sha' | 'workflow' | 'job' | 'actor' | 'runId' | 'runAttempt' | 'serverUrl' | 'repo'
>

/** Where the rollout comes from, on GitHub. */
export interface Origin {
  readonly owner: string
  readonly repo: string
  /** The commit that people look at: on a pull request its head, not the merge that the workflow runs on. */
  readonly headSha: string
  /** Of the repository's page, without a slash at the end. */
  readonly repositoryUrl: string
  /** The page of this run with its log. */
  readonly runUrl: string
  readonly workflow: string
  readonly job: string
  /** The pull request that the event itself names. */
  readonly pullRequest?: number
  /** The deployment that triggered the workflow. */
  readonly deploymentId?: number
  /** Whose workflows get a token that may only read, whatever they ask for. */
  readonly readsOnly?: 'fork' | 'dependabot'
}

/** The fields that are read of the events' payloads: https://docs.github.com/webhooks/webhook-events-and-payloads */
interface Payload {
  readonly repository?: { readonly full_name?: string }
  readonly pull_request?: {
    readonly number?: number
    readonly head?: { readonly sha?: string; readonly repo?: { readonly full_name?: string } | null }
  }
  readonly merge_group?: { readonly head_sha?: string; readonly head_ref?: string }
  readonly workflow_run?: {
    readonly head_sha?: string
    readonly pull_requests?: readonly { readonly number: number }[]
  }
  readonly deployment?: { readonly id?: number; readonly sha?: string }
}

/**
 * Reads where a run comes from.
 * @throws Error where the environment is not that of a workflow run, and says which variable is missing
 */
export function originOf(run: Run): Origin {
  const { owner, repo } = run.repo
  const headSha = headShaOf(run)
  if (!headSha) throw new Error('GITHUB_SHA is not set.')
  const payload: Payload = run.payload
  const repositoryUrl = `${run.serverUrl}/${owner}/${repo}`
  const attempt = run.runAttempt > 0 ? `/attempts/${run.runAttempt}` : ''
  const pullRequest = pullRequestOf(run)
  const readsOnly = readsOnlyOf(run)
  return {
    owner,
    repo,
    headSha,
    repositoryUrl,
    runUrl: `${repositoryUrl}/actions/runs/${run.runId}${attempt}`,
    workflow: run.workflow ?? '',
    job: run.job ?? '',
    ...(pullRequest === undefined ? {} : { pullRequest }),
    ...(payload.deployment?.id === undefined ? {} : { deploymentId: payload.deployment.id }),
    ...(readsOnly === undefined ? {} : { readsOnly }),
  }
}

/**
 * The commit that the rollout is about. `GITHUB_SHA` is another one for some events: of `pull_request` a merge commit
 * that nobody sees, of `pull_request_target` and `workflow_run` the last one of the base or default branch
 * (https://docs.github.com/actions/reference/workflows-and-actions/events-that-trigger-workflows).
 */
function headShaOf({ eventName, payload, sha }: Run): string {
  const { pull_request, merge_group, workflow_run, deployment }: Payload = payload
  switch (eventName) {
    case 'workflow_run':
      return workflow_run?.head_sha ?? sha
    case 'merge_group':
      return merge_group?.head_sha ?? sha
    case 'deployment':
    case 'deployment_status':
      return deployment?.sha ?? sha
    default:
      // Reviews of a pull request carry it as its own events do.
      return pull_request?.head?.sha ?? sha
  }
}

function pullRequestOf({ payload }: Run): number | undefined {
  const { pull_request, merge_group, workflow_run }: Payload = payload
  // refs/heads/gh-readonly-queue/main/pr-12-0123abcd…
  const queued = /\/pr-(\d+)-[0-9a-f]+$/.exec(merge_group?.head_ref ?? '')?.[1]
  return pull_request?.number ?? workflow_run?.pull_requests?.[0]?.number ?? (queued ? Number(queued) : undefined)
}

function readsOnlyOf({ eventName, payload, actor }: Run): 'fork' | 'dependabot' | undefined {
  if (actor === 'dependabot[bot]') return 'dependabot'
  const { pull_request, repository }: Payload = payload
  // The repository of a fork may be gone by now.
  const isForeign = pull_request?.head !== undefined && pull_request.head.repo?.full_name !== repository?.full_name
  return isForeign && eventName.startsWith('pull_request') && eventName !== 'pull_request_target' ? 'fork' : undefined
}
