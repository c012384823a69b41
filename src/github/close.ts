import type { Clock } from '../cluster/clock.ts'
import { emptyTimeline } from '../gate/timeline.ts'
import type { ExtraName } from '../inputs.ts'
import { markdown } from '../report/escape.ts'
import { closeLimitMs } from '../thresholds.ts'
import { conclusionOf } from './check-run.ts'
import { commentMarker, openMarker } from './comment.ts'
import { commitState } from './commit-status.ts'
import { deploymentState, latestOf } from './deployment-status.ts'
import type { Octokit, Opened } from './extra.ts'
import { describeFailure, type Failure, ifPresent } from './failure.ts'
import type { LeftOpen } from './job-state.ts'
import { descriptionLimit, leftOpenTitle, summaryLimit } from './texts.ts'
import { UpdateThrottle } from './update-throttle.ts'
import { logUrlOf, requestOf, type WorkflowRun } from './workflow-run.ts'

const latestStatuses = 100

/** What all closers need. */
interface ClosingContext {
  readonly octokit: Octokit
  readonly run: WorkflowRun
  readonly verdict: LeftOpen['verdict']
  /** The outcome in one line, or that there is none. */
  readonly title: string
}

/** Closes one object. Resolves to false if it shows an outcome already. Rejects with octokit's error. */
type Close = (context: ClosingContext, opened: Opened, signal: AbortSignal) => Promise<boolean>

/**
 * Gives everything that the action left open the outcome of the gate; without an outcome, the check becomes `cancelled`, and
 * status and deployment become `error`. Never rejects.
 * @param log.onClosed called with the extra that was still open
 */
export async function closeExtras(
  { verdict, open }: Pick<LeftOpen, 'verdict' | 'open'>,
  { octokit, run, clock }: { readonly octokit: Octokit; readonly run: WorkflowRun; readonly clock: Clock },
  log: { readonly onClosed: (extra: ExtraName) => void; readonly onWarning: (text: string) => void },
): Promise<void> {
  const title = verdict?.title ?? leftOpenTitle
  const context: ClosingContext = { octokit, run, verdict, title }
  const now = clock.now()
  const timeline = emptyTimeline({ outcome: verdict?.outcome ?? 'cancelled', reason: '', message: title }, now, now)
  const late = new AbortController()
  const stop = clock.after(closeLimitMs, () => late.abort())
  await Promise.all(
    open.map(async (opened) => {
      const { extra } = opened
      const show = async (_: unknown, signal: AbortSignal) => {
        if (await closers[extra](context, opened, signal)) log.onClosed(extra)
      }
      const onFailure = (failure: Failure) => log.onWarning(describeFailure(failure, extra, run))
      await new UpdateThrottle({ name: extra, show }, clock, onFailure).finish(
        timeline,
        late.signal,
        now + closeLimitMs,
      )
    }),
  )
  stop()
}

const closers: Readonly<Record<ExtraName, Close>> = {
  check: async ({ octokit, run, verdict, title }, { id }, signal) => {
    const check = { ...requestOf(run, signal), check_run_id: id }
    const found = await ifPresent(octokit.rest.checks.get(check))
    if (found === undefined || found.data.status === 'completed') return false
    const summary = withNote(title, found.data.output.summary ?? '')
    const conclusion = verdict === undefined ? 'cancelled' : conclusionOf(verdict.outcome)
    await octokit.rest.checks.update({ ...check, status: 'completed', conclusion, output: { title, summary } })
    return true
  },
  'commit-status': async ({ octokit, run, verdict, title }, { headSha, name }, signal) => {
    const request = requestOf(run, signal)
    const list = { ...request, ref: headSha, per_page: latestStatuses }
    const { data } = await octokit.rest.repos.listCommitStatusesForRef(list)
    const latest = data.find(({ context }) => context === name)
    if (latest?.state !== 'pending' || !isOfRun(latest.target_url ?? '', run)) return false
    await octokit.rest.repos.createCommitStatus({
      ...request,
      sha: headSha,
      context: name,
      state: verdict === undefined ? 'error' : commitState(verdict.outcome),
      description: title.slice(0, descriptionLimit),
      target_url: latest.target_url ?? '',
    })
    return true
  },
  deployment: async ({ octokit, run, verdict, title }, { id }, signal) => {
    const request = { ...requestOf(run, signal), deployment_id: id }
    const { data } = await octokit.rest.repos.listDeploymentStatuses({ ...request, per_page: latestStatuses })
    const latest = latestOf(data)
    if (latest?.state !== 'in_progress' || !isOfRun(latest.log_url ?? '', run)) return false
    await octokit.rest.repos.createDeploymentStatus({
      ...request,
      state: verdict === undefined ? 'error' : deploymentState(verdict.outcome),
      description: title.slice(0, descriptionLimit),
      log_url: latest.log_url ?? '',
      ...(latest.environment_url ? { environment_url: latest.environment_url } : {}),
    })
    return true
  },
  comment: async ({ octokit, run, title }, { id, name }, signal) => {
    const comment = { ...requestOf(run, signal), comment_id: id }
    const found = await ifPresent(octokit.rest.issues.getComment(comment))
    // A later step of the job may have written the outcome.
    if (!found?.data.body?.includes(openMarker)) return false
    const marker = commentMarker(name)
    const body = found.data.body.replace(marker, '').replace(openMarker, '').trimStart()
    await octokit.rest.issues.updateComment({ ...comment, body: withNote(title, body, `${marker}\n`) })
    return true
  },
}

/** Another run of the same commit may have written the latest status. */
function isOfRun(url: string, run: WorkflowRun): boolean {
  const page = logUrlOf({ ...run, attempt: undefined })
  return url === page || url.startsWith(`${page}/`)
}

/** The summary of the last update, below a note with the outcome. */
function withNote(title: string, summary: string, start = ''): string {
  const note = `${start}> [!WARNING]\n> ${markdown(title)}. Below is the last state that was shown; the log has all.\n\n`
  return note + summary.slice(0, summaryLimit - note.length)
}
