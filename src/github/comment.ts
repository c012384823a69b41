import type { RunRecord } from '../gate/run-record.ts'
import { escapeMarkdown } from '../report/escape.ts'
import type { Extra, ExtraContext } from './extra.ts'
import { limitedSummary, shortHash } from './texts.ts'
import { repositoryRequest } from './workflow-run.ts'

/* The comment on a pull request: one of the extras. */

/** The maximum length of a comment in characters. */
const commentLimit = 65_535
/** The maximum length of the summary in a comment: the markers and the note of a killed job need space. */
const summaryLimit = 60_000
const pageSize = 100

/** Writes one comment on the pull request, and updates it during the rollout. */
export const comment: Extra = {
  open(gate, _, onNotice) {
    const { octokit, run, onOpened } = gate
    let pullRequest = run.pullRequest
    let isMissing = false
    let id: number | undefined
    return async (record, signal) => {
      if (isMissing) return
      // A failed look-up is repeated at the next use.
      pullRequest ??= (await findByForkBranch(gate, signal)) ?? (await findByCommit(gate, signal)) ?? 'none'
      if (pullRequest === 'none') {
        isMissing = true
        onNotice('There is no pull request to comment on: neither in the event nor for the commit.')
        return
      }
      const request = { ...repositoryRequest(run, signal), body: commentBody(record, gate) }
      // An earlier run may have written the comment.
      const existing = id ?? (await findComment(gate, pullRequest, signal))
      // If the update fails, the next one searches again: someone may have deleted the comment.
      id = undefined
      const { data } = await (existing === undefined
        ? octokit.rest.issues.createComment({ ...request, issue_number: pullRequest })
        : octokit.rest.issues.updateComment({ ...request, comment_id: existing }))
      id = data.id
      onOpened({ id, url: data.html_url })
    }
  },

  async close({ octokit, run, title }, { id, name }, signal) {
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
  },
}

async function findComment(
  { octokit, run, name }: ExtraContext,
  issue_number: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  const marker = commentMarker(name)
  // The paging function of octokit accepts no signal, and would keep the process alive.
  for (let page = 1; ; page++) {
    const request = { ...repositoryRequest(run, signal), issue_number, per_page: pageSize, page }
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

/** The pull request of a fork's branch. Needed because events about commits of forks list no pull requests. */
async function findByForkBranch({ octokit, run, commit }: ExtraContext, signal: AbortSignal) {
  const { forkBranch } = run
  if (forkBranch === undefined) return undefined
  const request = { ...repositoryRequest(run, signal), head: forkBranch, state: 'open' as const }
  const { data } = await octokit.rest.pulls.list(request)
  // One branch may have several open pull requests, into different branches.
  return (data.find(({ head }) => head.sha === commit) ?? data[0])?.number
}

/** The open pull request whose head is the commit, otherwise the pull request whose merge created the commit. */
async function findByCommit({ octokit, run, commit }: ExtraContext, signal: AbortSignal) {
  const request = { ...repositoryRequest(run, signal), commit_sha: commit }
  const { data } = await octokit.rest.repos.listPullRequestsAssociatedWithCommit(request)
  const open = data.find(({ state, head }) => state === 'open' && head.sha === commit)
  const merged = data.find(({ merged_at, merge_commit_sha }) => merged_at !== null && merge_commit_sha === commit)
  return (open ?? merged)?.number
}

/** The hidden line that identifies the comment of a gate. */
export function commentMarker(name: string): string {
  // A hash, because a name may contain `-->`, which ends the comment.
  return `<!-- rollout-gate ${shortHash(name, 16)} -->`
}

/** The hidden line that marks a comment without an outcome. */
const openMarker = '<!-- rollout-gate open -->'

/** The text of a comment: its markers, then the summary. */
export function commentBody(record: RunRecord, gate: Parameters<typeof limitedSummary>[1]): string {
  const state = record.outcome === 'progressing' ? `${openMarker}\n` : ''
  return `${commentMarker(gate.name)}\n${state}${limitedSummary(record, gate, summaryLimit)}`
}
