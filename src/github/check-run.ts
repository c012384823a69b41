import type { Outcome, Timeline } from '../gate/timeline.ts'
import { type Annotation, buildAnnotations, buildWarnings } from '../report/annotations.ts'
import { title } from '../report/headline.ts'
import type { TrackedFiles } from '../workspace.ts'
import type { Close, Extra, Shared } from './extra.ts'
import { ifPresent } from './failure.ts'
import { belowNote, boundedSummary, findLinks, type Links, summaryLimit } from './texts.ts'
import { isOfEarlierAttempt, markOf, requestOf } from './workflow-run.ts'

/** Limits of https://docs.github.com/rest/checks/runs */
const annotationsPerRequest = 50
const checksPerPage = 100

/** A live check of the commit. A branch rule can require this check by its name. */
export class CheckRun implements Extra {
  readonly name = 'check'
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
    if (this.#id !== undefined) {
      const updated = await ifPresent(checks.update({ ...check, check_run_id: this.#id }))
      if (updated !== undefined) return
    }
    const id = await this.#findOwn(headSha, signal)
    const found = id === undefined ? undefined : await ifPresent(checks.update({ ...check, check_run_id: id }))
    const { data } =
      found ?? (await checks.create({ ...check, name, head_sha: headSha, external_id: markOf(origin.run) }))
    this.#id = data.id
    this.#annotated = 0
    onOpened({ extra: this.name, id: data.id, url: data.html_url ?? '', headSha, name })
  }

  /**
   * The check that this attempt of the run has created: by an earlier step, or by a request whose response was lost. Ends
   * those that earlier attempts left in progress when their runner was lost.
   */
  async #findOwn(ref: string, signal: AbortSignal): Promise<number | undefined> {
    const { octokit, origin, name } = this.#shared
    const { checks } = octokit.rest
    const request = requestOf(origin.run, signal)
    const list = { ...request, ref, check_name: name, filter: 'all' as const, per_page: checksPerPage }
    const { check_runs } = (await checks.listForRef(list)).data
    const left = check_runs.filter(
      ({ external_id, status }) => status !== 'completed' && isOfEarlierAttempt(external_id, origin.run),
    )
    for (const { id } of left)
      await checks.update({ ...request, check_run_id: id, status: 'completed', conclusion: 'cancelled' })
    return check_runs.find(({ external_id }) => external_id === markOf(origin.run))?.id
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

export const closeCheck: Close = async ({ octokit, run, outcome, title }, { id }, signal) => {
  const check = { ...requestOf(run, signal), check_run_id: id }
  const found = await ifPresent(octokit.rest.checks.get(check))
  if (found === undefined || found.data.status === 'completed') return false
  const summary = belowNote(title, found.data.output.summary ?? '')
  const conclusion = outcome === undefined ? 'cancelled' : conclusionOf(outcome)
  await octokit.rest.checks.update({ ...check, status: 'completed', conclusion, output: { title, summary } })
  return true
}

interface CheckOutput {
  readonly title: string
  readonly summary: string
}

/** The check passes only if everything is ready. */
function conclusionOf(outcome: Outcome): 'success' | 'cancelled' | 'failure' {
  if (outcome === 'ready') return 'success'
  return outcome === 'cancelled' ? 'cancelled' : 'failure'
}

/** An annotation of a check needs a line of a file. */
function annotationsOf(timeline: Timeline, tracked: TrackedFiles) {
  const toCheck = (annotation_level: 'failure' | 'warning', { title, message, file, startLine }: Annotation) => {
    if (file === undefined || startLine === undefined) return []
    return [{ path: file, start_line: startLine, end_line: startLine, annotation_level, title, message }]
  }
  return [
    ...buildAnnotations(timeline, tracked, Number.POSITIVE_INFINITY).flatMap((each) => toCheck('failure', each)),
    ...buildWarnings(timeline, tracked, Number.POSITIVE_INFINITY).flatMap((each) => toCheck('warning', each)),
  ]
}
