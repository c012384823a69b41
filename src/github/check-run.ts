import type { Outcome, Timeline } from '../gate/timeline.ts'
import { buildAnnotations } from '../report/annotations.ts'
import type { Extra, Octokit } from './update-throttle.ts'
import { boundedSummary, title, type WorkflowRun } from './workflow-run.ts'

/** Limits of https://docs.github.com/rest/checks/runs */
const summaryLimit = 65_535
const annotationsPerRequest = 50

/** A live check of the commit. A branch rule can require this check by its name. */
export class CheckRun implements Extra {
  readonly input = 'check-run'
  readonly #octokit: Octokit
  readonly #run: WorkflowRun
  readonly #name: string
  #id: number | undefined
  #annotated = 0

  constructor(octokit: Octokit, run: WorkflowRun, name: string) {
    this.#octokit = octokit
    this.#run = run
    this.#name = name
  }

  async show(timeline: Timeline, signal: AbortSignal): Promise<void> {
    const { owner, repo, headSha, runUrl } = this.#run
    const { checks } = this.#octokit.rest
    const output = {
      title: title(timeline),
      // GitHub documents Mermaid diagrams for comments, not for checks.
      summary: boundedSummary(timeline, summaryLimit, this.#run, { diagram: false }),
    }
    const check = {
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
      this.#id = (await checks.create({ ...check, name: this.#name, head_sha: headSha })).data.id
    } else await checks.update({ ...check, check_run_id: this.#id })
    // Annotations are sent after the conclusion, which must not depend on them.
    if (timeline.verdict === undefined) return
    const annotations = annotationsOf(timeline)
    while (this.#annotated < annotations.length) {
      const batch = annotations.slice(this.#annotated, this.#annotated + annotationsPerRequest)
      const request = { owner, repo, check_run_id: this.#id, request: { signal } }
      await checks.update({ ...request, output: { ...output, annotations: batch } })
      this.#annotated += batch.length
    }
  }
}

/** The check passes only if everything is ready. */
function conclusionOf(outcome: Outcome): 'success' | 'cancelled' | 'failure' {
  if (outcome === 'ready') return 'success'
  return outcome === 'cancelled' ? 'cancelled' : 'failure'
}

/** An annotation of a check needs a line of a file. */
function annotationsOf(timeline: Timeline) {
  return buildAnnotations(timeline, Number.POSITIVE_INFINITY).flatMap(({ title, message, file, startLine }) => {
    if (file === undefined || startLine === undefined) return []
    const lines = { start_line: startLine, end_line: startLine }
    return [{ path: file, ...lines, annotation_level: 'failure' as const, title, message }]
  })
}
