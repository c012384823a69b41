import type { Outcome, Timeline } from '../gate/timeline.ts'
import { buildAnnotations } from '../report/annotations.ts'
import { title } from '../report/headline.ts'
import type { TrackedFiles } from '../workspace.ts'
import type { Extra, Shared } from './extra.ts'
import { ifPresent } from './failure.ts'
import { boundedSummary, findLinks, summaryLimit } from './texts.ts'

/** A limit of https://docs.github.com/rest/checks/runs */
const annotationsPerRequest = 50

/** A live check of the commit. A branch rule can require this check by its name. */
export class CheckRun implements Extra {
  readonly input = 'check-run'
  readonly #shared: Shared
  #id: number | undefined
  #annotated = 0

  constructor(shared: Shared) {
    this.#shared = shared
  }

  async show(timeline: Timeline, signal: AbortSignal): Promise<void> {
    const { octokit, origin, name } = this.#shared
    const { owner, repo } = origin.run
    const { checks } = octokit.rest
    const links = await findLinks(this.#shared, signal)
    const output = {
      title: title(timeline),
      // GitHub documents Mermaid diagrams for comments, not for checks.
      summary: boundedSummary(timeline, name, links, { limit: summaryLimit, diagram: false }),
    }
    const check = {
      owner,
      repo,
      started_at: new Date(timeline.startedAt).toISOString(),
      // Ignored for the token of a workflow: the summary has the link too.
      details_url: links.logUrl,
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
    const id = this.#id
    const isPresent = id !== undefined && (await ifPresent(checks.update({ ...check, check_run_id: id }))) !== undefined
    if (!isPresent) {
      const { data } = await checks.create({ ...check, name, head_sha: links.headSha })
      this.#id = data.id
      this.#annotated = 0
      const url = data.html_url ?? ''
      this.#shared.onOpened({ input: this.input, id: data.id, url, headSha: links.headSha, name })
    }
    // Annotations are sent after the conclusion, which must not depend on them.
    if (timeline.verdict === undefined) return
    const annotations = annotationsOf(timeline, links.tracked)
    while (this.#annotated < annotations.length) {
      const batch = annotations.slice(this.#annotated, this.#annotated + annotationsPerRequest)
      const request = { owner, repo, check_run_id: Number(this.#id), request: { signal } }
      await checks.update({ ...request, output: { ...output, annotations: batch } })
      this.#annotated += batch.length
    }
  }
}

/** The check passes only if everything is ready. */
export function conclusionOf(outcome: Outcome): 'success' | 'cancelled' | 'failure' {
  if (outcome === 'ready') return 'success'
  return outcome === 'cancelled' ? 'cancelled' : 'failure'
}

/** An annotation of a check needs a line of a file. */
function annotationsOf(timeline: Timeline, tracked: TrackedFiles) {
  return buildAnnotations(timeline, tracked, Number.POSITIVE_INFINITY).flatMap(
    ({ title, message, file, startLine }) => {
      if (file === undefined || startLine === undefined) return []
      const lines = { start_line: startLine, end_line: startLine }
      return [{ path: file, ...lines, annotation_level: 'failure' as const, title, message }]
    },
  )
}
