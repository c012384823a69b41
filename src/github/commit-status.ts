import type { TargetOutcome } from '../gate/outcome.ts'
import { titleOfRecord } from '../report/headline.ts'
import type { Extra } from './extra.ts'
import { descriptionLimit } from './texts.ts'
import { isPageOfRun, repositoryRequest } from './workflow-run.ts'

const latestStatuses = 100

/** Writes a commit status: one line with a link to the job's log. A branch rule can require the status by its name. */
export const commitStatus: Extra = {
  open:
    ({ octokit, run, commit, logUrl, name, onOpened }) =>
    // Creates a new status, which replaces the previous one. GitHub accepts 1,000 statuses per commit and name.
    async (record, signal) => {
      await octokit.rest.repos.createCommitStatus({
        ...repositoryRequest(run, signal),
        sha: commit,
        context: name,
        state: commitState(record.outcome),
        description: titleOfRecord(record, descriptionLimit),
        target_url: logUrl,
      })
      onOpened()
    },

  async close({ octokit, run, outcome, title }, { headSha, name }, signal) {
    const request = repositoryRequest(run, signal)
    const list = { ...request, ref: headSha, per_page: latestStatuses }
    const { data } = await octokit.rest.repos.listCommitStatusesForRef(list)
    const latest = data.find(({ context }) => context === name)
    if (latest?.state !== 'pending' || !isPageOfRun(latest.target_url ?? '', run)) return false
    await octokit.rest.repos.createCommitStatus({
      ...request,
      sha: headSha,
      context: name,
      state: commitState(outcome),
      description: title.slice(0, descriptionLimit),
      target_url: latest.target_url ?? '',
    })
    return true
  },
}

/** The state for an outcome. Only `success` satisfies a branch rule. `error`: the gate could not judge the rollout. */
function commitState(outcome: TargetOutcome | undefined): 'pending' | 'success' | 'failure' | 'error' {
  if (outcome === 'progressing') return 'pending'
  if (outcome === 'ready') return 'success'
  return outcome === undefined || outcome === 'cancelled' || outcome === 'unknown' ? 'error' : 'failure'
}
