import type { Outcome } from '../gate/outcome.ts'
import type { RunRecord } from '../gate/run-record.ts'
import { titleOfRecord } from '../report/headline.ts'
import type { Close, Extra, Shared } from './extra.ts'
import { descriptionLimit } from './texts.ts'
import { isPageOfRun, repositoryRequest } from './workflow-run.ts'

/** Writes a commit status: one line with a link to the job's log. A branch rule can require the status by its name. */
export class CommitStatus implements Extra {
  readonly name = 'commit-status'
  readonly #shared: Shared

  constructor(shared: Shared) {
    this.#shared = shared
  }

  /** Creates a new status, which replaces the previous one. GitHub accepts 1,000 statuses per commit and name. */
  async show(record: RunRecord, signal: AbortSignal): Promise<void> {
    const { octokit, origin, name, onOpened } = this.#shared
    const headSha = origin.commit
    await octokit.rest.repos.createCommitStatus({
      ...repositoryRequest(origin.run, signal),
      sha: headSha,
      context: name,
      state: record.outcome === 'progressing' ? 'pending' : commitState(record.outcome),
      description: titleOfRecord(record, descriptionLimit),
      target_url: origin.logUrl,
    })
    onOpened({ extra: this.name, id: 0, url: '', headSha, name })
  }
}

const latestStatuses = 100

export const closeCommitStatus: Close = async ({ octokit, run, outcome, title }, { headSha, name }, signal) => {
  const request = repositoryRequest(run, signal)
  const list = { ...request, ref: headSha, per_page: latestStatuses }
  const { data } = await octokit.rest.repos.listCommitStatusesForRef(list)
  const latest = data.find(({ context }) => context === name)
  if (latest?.state !== 'pending' || !isPageOfRun(latest.target_url ?? '', run)) return false
  await octokit.rest.repos.createCommitStatus({
    ...request,
    sha: headSha,
    context: name,
    state: outcome === undefined ? 'error' : commitState(outcome),
    description: title.slice(0, descriptionLimit),
    target_url: latest.target_url ?? '',
  })
  return true
}

/** The state for an outcome. Only `success` satisfies a branch rule. `error`: the gate could not judge the rollout. */
function commitState(outcome: Outcome): 'success' | 'failure' | 'error' {
  if (outcome === 'ready') return 'success'
  return outcome === 'cancelled' || outcome === 'unknown' ? 'error' : 'failure'
}
