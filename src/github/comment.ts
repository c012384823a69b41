import type { RunRecord } from '../gate/run-record.ts'
import { escapeMarkdown } from '../report/escape.ts'
import type { Close, Extra, Shared } from './extra.ts'
import { limitedSummary, shortHash } from './texts.ts'
import { repositoryRequest } from './workflow-run.ts'

/* The comment on a pull request: one of the extras. */

/** The maximum length of a comment in characters. */
const commentLimit = 65_535
/** The maximum length of the summary in a comment: the markers and the note of a killed job need space. */
const summaryLimit = 60_000
const pageSize = 100

/** Writes one comment on the pull request, and updates it during the rollout. */
export class Comment implements Extra {
  readonly name = 'comment'
  readonly #shared: Shared
  readonly #onMissing: (text: string) => void
  #id: number | undefined
  #isMissing = false

  /** @param onMissing called with a notice if there is no pull request, which is not an error */
  constructor(shared: Shared, onMissing: (text: string) => void) {
    this.#shared = shared
    this.#onMissing = onMissing
  }

  async show(record: RunRecord, signal: AbortSignal): Promise<void> {
    if (this.#isMissing) return
    const { origin, name } = this.#shared
    const pullRequest = await origin.pullRequest(signal)
    if (pullRequest === undefined) {
      this.#isMissing = true
      this.#onMissing('There is no pull request to comment on: neither in the event nor for the commit.')
      return
    }
    const { issues } = this.#shared.octokit.rest
    const request = { ...repositoryRequest(origin.run, signal), body: commentBody(record, this.#shared) }
    // An earlier run may have written the comment.
    const id = this.#id ?? (await this.#findComment(pullRequest, signal))
    // If the update fails, the next one searches again: someone may have deleted the comment.
    this.#id = undefined
    const { data } = await (id === undefined
      ? issues.createComment({ ...request, issue_number: pullRequest })
      : issues.updateComment({ ...request, comment_id: id }))
    this.#id = data.id
    this.#shared.onOpened({ extra: this.name, id: data.id, url: data.html_url, headSha: origin.commit, name })
  }

  async #findComment(issue_number: number, signal: AbortSignal): Promise<number | undefined> {
    const { octokit, origin, name } = this.#shared
    const marker = commentMarker(name)
    // The paging function of octokit accepts no signal, and would keep the process alive.
    for (let page = 1; ; page++) {
      const request = { ...repositoryRequest(origin.run, signal), issue_number, per_page: pageSize, page }
      const { data } = await octokit.rest.issues.listComments(request)
      // Only of a bot or a member: any other user could copy the marker, and later edit the gate's text.
      const trusted = data.filter(
        ({ user, author_association: role }) =>
          user?.type === 'Bot' || ['OWNER', 'MEMBER', 'COLLABORATOR'].includes(role),
      )
      const own = trusted.find(({ body }) => body?.startsWith(marker))
      if (own !== undefined || data.length < pageSize) return own?.id
    }
  }
}

/** The hidden line that identifies the comment of a gate. */
export function commentMarker(name: string): string {
  // A hash, because a name may contain `-->`, which ends the comment.
  return `<!-- rollout-gate ${shortHash(name, 16)} -->`
}

/** The hidden line that marks a comment without an outcome. */
const openMarker = '<!-- rollout-gate open -->'

export const closeComment: Close = async ({ octokit, run, title }, { id, name }, signal) => {
  const comment = { ...repositoryRequest(run, signal), comment_id: id }
  const { data } = await octokit.rest.issues.getComment(comment)
  // A later step of the job may have written the outcome.
  if (!data.body?.includes(openMarker)) return false
  const marker = commentMarker(name)
  const note = `> [!WARNING]\n> ${escapeMarkdown(title)}. Below is the last state that was shown; the log has all.\n\n`
  const summary = data.body.replace(marker, '').replace(openMarker, '').trimStart()
  const body = `${marker}\n${note}${summary}`.slice(0, commentLimit)
  await octokit.rest.issues.updateComment({ ...comment, body })
  return true
}

/** The text of a comment: its markers, then the summary. */
export function commentBody(record: RunRecord, shared: Pick<Shared, 'origin' | 'name' | 'tracked'>): string {
  const state = record.outcome === 'progressing' ? `${openMarker}\n` : ''
  return `${commentMarker(shared.name)}\n${state}${limitedSummary(record, shared, summaryLimit)}`
}
