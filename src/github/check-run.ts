import type { Outcome, Timeline } from '../gate/timeline.ts'
import { buildAnnotations } from '../report/annotations.ts'
import { title } from '../report/headline.ts'
import type { TrackedFiles } from '../workspace.ts'
import type { Extra, Shared } from './extra.ts'
import { ifPresent } from './failure.ts'
import { boundedSummary, findLinks, type Links, summaryLimit } from './texts.ts'
import { requestOf } from './workflow-run.ts'

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
    const links = await findLinks(this.#shared, signal)
    const output = {
      title: title(timeline),
      // GitHub documents Mermaid diagrams for comments, not for checks.
      summary: boundedSummary(timeline, this.#shared.name, links, { limit: summaryLimit, diagram: false }),
    }
    await this.#write(timeline, output, links, signal)
    // Annotations are sent after the conclusion, which must not depend on them.
    if (timeline.verdict !== undefined) await this.#annotate(annotationsOf(timeline, links.tracked), output, signal)
  }

  /** Updates the check, or creates it. */
  async #write({ verdict, startedAt, finishedAt }: Timeline, output: CheckOutput, links: Links, signal: AbortSignal) {
    const { octokit, origin, name, onOpened } = this.#shared
    const { checks } = octokit.rest
    const { headSha, logUrl } = links
    const check = {
      ...requestOf(origin.run, signal),
      started_at: new Date(startedAt).toISOString(),
      // Ignored for the token of a workflow: the summary has the link too.
      details_url: logUrl,
      ...(verdict === undefined
        ? { status: 'in_progress' as const }
        : {
            status: 'completed' as const,
            conclusion: conclusionOf(verdict.outcome),
            completed_at: new Date(finishedAt).toISOString(),
          }),
      output,
    }
    const id = this.#id
    if (id !== undefined && (await ifPresent(checks.update({ ...check, check_run_id: id }))) !== undefined) return
    const { data } = await checks.create({ ...check, name, head_sha: headSha })
    this.#id = data.id
    this.#annotated = 0
    onOpened({ input: this.input, id: data.id, url: data.html_url ?? '', headSha, name })
  }

  /** Sends the annotations that were not sent yet. */
  async #annotate(annotations: ReturnType<typeof annotationsOf>, output: CheckOutput, signal: AbortSignal) {
    const { octokit, origin } = this.#shared
    const check = { ...requestOf(origin.run, signal), check_run_id: Number(this.#id) }
    while (this.#annotated < annotations.length) {
      const batch = annotations.slice(this.#annotated, this.#annotated + annotationsPerRequest)
      await octokit.rest.checks.update({ ...check, output: { ...output, annotations: batch } })
      this.#annotated += batch.length
    }
  }
}

interface CheckOutput {
  readonly title: string
  readonly summary: string
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
