import type { Outcome, Timeline } from '../gate/timeline.ts'
import { buildAnnotations } from '../report/annotations.ts'
import type { Extra, Octokit } from './extra.ts'
import type { Origin } from './origin.ts'
import { boundedSummary, sourceBaseUrl, title } from './texts.ts'

/** GitHub takes no longer summary, and no more annotations at once: https://docs.github.com/rest/checks/runs */
const summaryLimit = 65_535
const batchSize = 50

/** The rollout as a check of the commit, live, which a branch rule can demand by its name. */
export class CheckRun implements Extra {
  readonly input = 'check-run'
  readonly #octokit: Octokit
  readonly #origin: Origin
  readonly #name: string
  #id: number | undefined
  #annotated = 0

  constructor(octokit: Octokit, origin: Origin, name: string) {
    this.#octokit = octokit
    this.#origin = origin
    this.#name = name
  }

  async show(timeline: Timeline, signal: AbortSignal): Promise<void> {
    const { owner, repo, headSha, runUrl } = this.#origin
    const { checks } = this.#octokit.rest
    const output = {
      title: title(timeline),
      // Comments show Mermaid as a diagram; of checks GitHub promises no such thing.
      summary: boundedSummary(timeline, summaryLimit, { sourceBaseUrl: sourceBaseUrl(this.#origin), diagram: false }),
    }
    const state = {
      owner,
      repo,
      started_at: new Date(timeline.startedAt).toISOString(),
      details_url: runUrl,
      ...(timeline.verdict === undefined
        ? { status: 'in_progress' as const }
        : {
            status: 'completed' as const,
            conclusion: conclusionOf(timeline.verdict.outcome),
            completed_at: new Date(timeline.finishedAt).toISOString(),
          }),
      output,
      request: { signal },
    }
    if (this.#id === undefined) {
      this.#id = (await checks.create({ ...state, name: this.#name, head_sha: headSha })).data.id
    } else await checks.update({ ...state, check_run_id: this.#id })
    // The conclusion stands by now, whatever becomes of the annotations.
    if (timeline.verdict === undefined) return
    const annotations = annotationsOf(timeline)
    while (this.#annotated < annotations.length) {
      const batch = annotations.slice(this.#annotated, this.#annotated + batchSize)
      const request = { owner, repo, check_run_id: this.#id, request: { signal } }
      await checks.update({ ...request, output: { ...output, annotations: batch } })
      this.#annotated += batch.length
    }
  }
}

/** A gate that could not see how the rollout ended has not passed it. */
function conclusionOf(outcome: Outcome): 'success' | 'cancelled' | 'failure' {
  if (outcome === 'ready') return 'success'
  return outcome === 'cancelled' ? 'cancelled' : 'failure'
}

/** A check takes any number of annotations, but only with a line of a file. */
function annotationsOf(timeline: Timeline) {
  return buildAnnotations(timeline, Number.POSITIVE_INFINITY).flatMap(({ title, message, file, startLine }) =>
    file === undefined || startLine === undefined
      ? []
      : [
          {
            path: file,
            start_line: startLine,
            end_line: startLine,
            annotation_level: 'failure' as const,
            title,
            message,
          },
        ],
  )
}
