import type { Clock } from '../cluster/clock.ts'
import { emptyRecord } from '../gate/run-record.ts'
import type { ExtraName } from '../inputs.ts'
import { closeLimitMs } from '../thresholds.ts'
import { closeComment } from './comment.ts'
import { closeCommitStatus } from './commit-status.ts'
import { closeDeployment } from './deployment-status.ts'
import type { Close, Closing, Octokit } from './extra.ts'
import { describeFailure, type Failure } from './failure.ts'
import type { LeftOpen } from './job-state.ts'
import { leftOpenTitle } from './texts.ts'
import { UpdateThrottle } from './update-throttle.ts'
import type { WorkflowRun } from './workflow-run.ts'

/**
 * Gives everything that the action left open the outcome of the gate; see `Close`. Never rejects.
 * @param log.onClosed called with the extra that was still open
 */
export async function closeExtras(
  { verdict, open }: Pick<LeftOpen, 'verdict' | 'open'>,
  { octokit, run, clock }: { readonly octokit: Octokit; readonly run: WorkflowRun; readonly clock: Clock },
  log: { readonly onClosed: (extra: ExtraName) => void; readonly onWarning: (text: string) => void },
): Promise<void> {
  const title = verdict?.title ?? leftOpenTitle
  const closing: Closing = { octokit, run, outcome: verdict?.outcome, title }
  const now = clock.now()
  const record = emptyRecord({ outcome: verdict?.outcome ?? 'cancelled', reason: '', message: title }, now, now)
  const late = new AbortController()
  const stop = clock.after(closeLimitMs, () => late.abort())
  await Promise.all(
    open.map(async (opened) => {
      const { extra } = opened
      const show = async (_: unknown, signal: AbortSignal) => {
        if (await closers[extra](closing, opened, signal)) log.onClosed(extra)
      }
      const onFailure = (failure: Failure) => log.onWarning(describeFailure(failure, extra, run))
      await new UpdateThrottle({ name: extra, show }, clock, onFailure).finish(record, late.signal, now + closeLimitMs)
    }),
  )
  stop()
}

const closers: Readonly<Record<ExtraName, Close>> = {
  'commit-status': closeCommitStatus,
  deployment: closeDeployment,
  comment: closeComment,
}
