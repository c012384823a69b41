import { createHash } from 'node:crypto'
import type { Timeline } from '../gate/timeline.ts'
import { markdown } from '../report/escape.ts'
import type { Extra, Octokit } from './extra.ts'
import type { Origin } from './origin.ts'
import { boundedSummary, sourceBaseUrl } from './texts.ts'

/** GitHub takes 65,536 characters; the lines around the summary need some. */
const summaryLimit = 60_000
const pageSize = 100

/** One comment on the pull request that is kept up to date. */
export class Comment implements Extra {
  readonly input = 'comment'
  readonly #octokit: Octokit
  readonly #origin: Origin
  readonly #name: string
  readonly #onMissing: (text: string) => void
  #pullRequest: number | undefined
  #id: number | undefined
  #isMissing = false

  /** @param onMissing hears that there is no pull request to comment on, which is no mistake */
  constructor(octokit: Octokit, origin: Origin, name: string, onMissing: (text: string) => void) {
    this.#octokit = octokit
    this.#origin = origin
    this.#name = name
    this.#onMissing = onMissing
    this.#pullRequest = origin.pullRequest
  }

  async show(timeline: Timeline, signal: AbortSignal): Promise<void> {
    if (this.#isMissing) return
    const { owner, repo, headSha } = this.#origin
    const { issues } = this.#octokit.rest
    this.#pullRequest ??= await this.#findPullRequest(signal)
    if (this.#pullRequest === undefined) {
      this.#isMissing = true
      this.#onMissing(`No pull request belongs to commit ${headSha.slice(0, 7)}, so there is none to comment on.`)
      return
    }
    const body = commentBody(timeline, this.#name, this.#origin)
    const request = { owner, repo, body, request: { signal } }
    this.#id ??= await this.#findComment(this.#pullRequest, signal)
    if (this.#id === undefined) {
      this.#id = (await issues.createComment({ ...request, issue_number: this.#pullRequest })).data.id
    } else await issues.updateComment({ ...request, comment_id: this.#id })
  }

  /** The open pull request whose head the commit is, else the one that was merged as this commit. */
  async #findPullRequest(signal: AbortSignal): Promise<number | undefined> {
    const { owner, repo, headSha } = this.#origin
    const request = { owner, repo, commit_sha: headSha, request: { signal } }
    const { data } = await this.#octokit.rest.repos.listPullRequestsAssociatedWithCommit(request)
    const open = data.find(({ state, head }) => state === 'open' && head.sha === headSha)
    const merged = data.find(({ merged_at, merge_commit_sha }) => merged_at !== null && merge_commit_sha === headSha)
    return (open ?? merged)?.number
  }

  async #findComment(issue_number: number, signal: AbortSignal): Promise<number | undefined> {
    const { owner, repo } = this.#origin
    const marker = commentMarker(this.#name)
    // octokit's own paging takes no signal, and would keep the process alive after it.
    for (let page = 1; ; page++) {
      const request = { owner, repo, issue_number, per_page: pageSize, page, request: { signal } }
      const { data } = await this.#octokit.rest.issues.listComments(request)
      const own = data.find((comment) => comment.body?.startsWith(marker) && isTrusted(comment))
      if (own !== undefined || data.length < pageSize) return own?.id
    }
  }
}

/** The hidden line by which the comment of a gate is found again. */
export function commentMarker(name: string): string {
  // A name may hold what would end the comment of HTML.
  return `<!-- rollout-gate ${createHash('sha256').update(name).digest('hex').slice(0, 16)} -->`
}

/** The whole comment: its marker, the summary, and which gate of which commit speaks. */
export function commentBody(timeline: Timeline, name: string, origin: Origin): string {
  const { headSha, repositoryUrl, runUrl } = origin
  const summary = boundedSummary(timeline, summaryLimit, { sourceBaseUrl: sourceBaseUrl(origin) })
  const commit = `[${headSha.slice(0, 7)}](${repositoryUrl}/commit/${headSha})`
  return `${commentMarker(name)}\n${summary}<sub>${markdown(name)} · commit ${commit} · [log](${runUrl})</sub>\n`
}

interface Authored {
  readonly user?: { readonly type?: string } | null
  readonly author_association?: string
}

/** Anyone may write the marker into a comment of his own, and change afterwards what the gate wrote there. */
function isTrusted({ user, author_association = '' }: Authored): boolean {
  return user?.type === 'Bot' || ['OWNER', 'MEMBER', 'COLLABORATOR'].includes(author_association)
}
