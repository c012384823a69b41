import { createHash } from 'node:crypto'
import type { Timeline } from '../gate/timeline.ts'
import { markdown } from '../report/escape.ts'
import type { Extra, Octokit } from './update-throttle.ts'
import { boundedSummary, type WorkflowRun } from './workflow-run.ts'

/** GitHub accepts comments of 65,536 characters. The difference leaves space for the lines around the summary. */
const summaryLimit = 60_000
const pageSize = 100

/** One comment on the pull request, updated during the rollout. */
export class Comment implements Extra {
  readonly input = 'comment'
  readonly #octokit: Octokit
  readonly #run: WorkflowRun
  readonly #name: string
  readonly #onMissing: (text: string) => void
  #pullRequest: number | undefined
  #id: number | undefined
  #isMissing = false

  /** @param onMissing called with a notice if there is no pull request, which is not an error */
  constructor(octokit: Octokit, run: WorkflowRun, name: string, onMissing: (text: string) => void) {
    this.#octokit = octokit
    this.#run = run
    this.#name = name
    this.#onMissing = onMissing
    this.#pullRequest = run.pullRequest
  }

  async show(timeline: Timeline, signal: AbortSignal): Promise<void> {
    if (this.#isMissing) return
    const { owner, repo, headSha } = this.#run
    const { issues } = this.#octokit.rest
    this.#pullRequest ??= await this.#findPullRequest(signal)
    if (this.#pullRequest === undefined) {
      this.#isMissing = true
      this.#onMissing(`No pull request belongs to commit ${headSha.slice(0, 7)}, so there is none to comment on.`)
      return
    }
    const body = commentBody(timeline, this.#name, this.#run)
    const request = { owner, repo, body, request: { signal } }
    this.#id ??= await this.#findComment(this.#pullRequest, signal)
    if (this.#id === undefined) {
      this.#id = (await issues.createComment({ ...request, issue_number: this.#pullRequest })).data.id
    } else await issues.updateComment({ ...request, comment_id: this.#id })
  }

  /** The open pull request whose head is this commit, else the one whose merge created this commit. */
  async #findPullRequest(signal: AbortSignal): Promise<number | undefined> {
    const { owner, repo, headSha } = this.#run
    const request = { owner, repo, commit_sha: headSha, request: { signal } }
    const { data } = await this.#octokit.rest.repos.listPullRequestsAssociatedWithCommit(request)
    const open = data.find(({ state, head }) => state === 'open' && head.sha === headSha)
    const merged = data.find(({ merged_at, merge_commit_sha }) => merged_at !== null && merge_commit_sha === headSha)
    return (open ?? merged)?.number
  }

  async #findComment(issue_number: number, signal: AbortSignal): Promise<number | undefined> {
    const { owner, repo } = this.#run
    const marker = commentMarker(this.#name)
    // octokit's paging accepts no signal, and would keep the process alive.
    for (let page = 1; ; page++) {
      const request = { owner, repo, issue_number, per_page: pageSize, page, request: { signal } }
      const { data } = await this.#octokit.rest.issues.listComments(request)
      const own = data.find((comment) => comment.body?.startsWith(marker) && isTrusted(comment))
      if (own !== undefined || data.length < pageSize) return own?.id
    }
  }
}

/** The hidden line that identifies the comment of a gate. */
export function commentMarker(name: string): string {
  // Hashed, because a name may contain `-->`.
  return `<!-- rollout-gate ${createHash('sha256').update(name).digest('hex').slice(0, 16)} -->`
}

/** The marker, the summary, the name of the gate and the commit. */
export function commentBody(timeline: Timeline, name: string, run: WorkflowRun): string {
  const { headSha, repositoryUrl, runUrl } = run
  const summary = boundedSummary(timeline, summaryLimit, run)
  const commit = `[${headSha.slice(0, 7)}](${repositoryUrl}/commit/${headSha})`
  return `${commentMarker(name)}\n${summary}<sub>${markdown(name)} · commit ${commit} · [log](${runUrl})</sub>\n`
}

interface Authored {
  readonly user?: { readonly type?: string } | null
  readonly author_association?: string
}

/** Other users could write a comment with the marker, and later edit the text of the gate. */
function isTrusted({ user, author_association = '' }: Authored): boolean {
  return user?.type === 'Bot' || ['OWNER', 'MEMBER', 'COLLABORATOR'].includes(author_association)
}
