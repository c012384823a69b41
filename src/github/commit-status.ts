import type { Outcome, Timeline } from '../gate/timeline.ts'
import { title } from '../report/headline.ts'
import type { Extra, Shared } from './extra.ts'
import { descriptionLimit } from './texts.ts'
import { requestOf } from './workflow-run.ts'

/** A status of the commit: one line, and a link to the log of the job. A branch rule can require it by its name. */
export class CommitStatus implements Extra {
  readonly name = 'commit-status'
  readonly #shared: Shared
  #isOpened = false

  constructor(shared: Shared) {
    this.#shared = shared
  }

  /** Each update is a new status, which replaces the one before. GitHub accepts 1,000 for a commit and name. */
  async show(timeline: Timeline, signal: AbortSignal): Promise<void> {
    const { octokit, origin, name, onOpened } = this.#shared
    const headSha = await origin.commit(signal)
    const { data } = await octokit.rest.repos.createCommitStatus({
      ...requestOf(origin.run, signal),
      sha: headSha,
      context: name,
      state: timeline.verdict === undefined ? 'pending' : commitState(timeline.verdict.outcome),
      description: title(timeline, descriptionLimit),
      target_url: await origin.logUrl(),
    })
    if (!this.#isOpened) onOpened({ extra: this.name, id: data.id, url: data.url, headSha, name })
    this.#isOpened = true
  }
}

/** Only `success` satisfies a branch rule. `error`: the rollout was not judged to the end. */
export function commitState(outcome: Outcome): 'success' | 'failure' | 'error' {
  if (outcome === 'ready') return 'success'
  return outcome === 'cancelled' || outcome === 'unknown' ? 'error' : 'failure'
}
