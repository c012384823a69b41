import { defaults, GitHub, getOctokitOptions } from '@actions/github/lib/utils'
import { awaitUnlessAborted, type Clock, sleep } from '../cluster/clock.ts'
import type { EndedRunRecord, RunRecord } from '../gate/run-record.ts'
import { type ExtraName, type Inputs, knownExtras } from '../inputs.ts'
import { omitLogsUnlessPrivate } from '../report/redact-record.ts'
import {
  closeLimitMs,
  firstUpdateRetryMs,
  maxGithubRefusals,
  outcomeLimitMs,
  outcomeLimitWhenCancelledMs,
  outcomeTimeoutMs,
  updateIntervalMs,
  updateTimeoutMs,
} from '../thresholds.ts'
import { version } from '../version.ts'
import type { TrackedFiles } from '../workspace.ts'
import { comment, commentMarker } from './comment.ts'
import { commitStatus } from './commit-status.ts'
import { deployment } from './deployment-status.ts'
import type { Closing, Extra, ExtraContext, Octokit, Opened, Show } from './extra.ts'
import { describeExtra, describeFailure, type GitHubFailure, readFailure } from './failure.ts'
import type { OpenObjects } from './job-state.ts'
import { gateName, noOutcomeTitle } from './texts.ts'
import { logPage, type WorkflowRun } from './workflow-run.ts'

/* Opens, updates and closes all extras: what the gate writes to GitHub outside of the job log. */

/** The callbacks of the GitHub extras (commit status, deployment, comment). Texts are raw: renderers escape them. */
export interface ExtrasHooks {
  readonly onWarning: (text: string) => void
  readonly onNotice: (text: string) => void
  /** Called each time that an extra has created or updated its object. */
  readonly onOpened: (opened: Opened) => void
  /** Called when an extra shows the outcome. */
  readonly onClosed: (extra: ExtraName) => void
}

/** All enabled extras. A failed extra causes a warning, and does not change the verdict. */
export class Extras {
  readonly #throttles: ReadonlyMap<ExtraName, UpdateThrottle>
  readonly #clock: Clock
  readonly #onClosed: ExtrasHooks['onClosed']
  #present: (() => RunRecord) | undefined

  constructor(throttles: ReadonlyMap<ExtraName, UpdateThrottle>, clock: Clock, onClosed: ExtrasHooks['onClosed']) {
    this.#throttles = throttles
    this.#clock = clock
    this.#onClosed = onClosed
  }

  /** Shows a pending commit status. It must come first, because it replaces the success of an earlier run. */
  begin(pending: RunRecord): void {
    this.#throttles.get('commit-status')?.update(() => this.#present?.() ?? pending)
  }

  /** Starts the updates. @param present returns the state of the gate at any time */
  start(present: () => RunRecord): void {
    this.#present = present
    this.update()
  }

  /** Schedules an update after a change of the state. */
  update(): void {
    if (this.#present === undefined) return
    for (const throttle of this.#throttles.values()) throttle.update(this.#present)
  }

  /**
   * Shows the outcome. Resolves when all extras show it, or after `outcomeLimitMs`; after a cancellation,
   * `outcomeLimitWhenCancelledMs`. Each extra that does not show the outcome causes a warning.
   */
  async finish(record: EndedRunRecord, cancelled: AbortSignal): Promise<void> {
    const late = new AbortController()
    const abort = () => late.abort()
    const stops: (() => void)[] = []
    const onCancelled = () => stops.push(this.#clock.after(outcomeLimitWhenCancelledMs, abort))
    const limitMs = cancelled.aborted ? outcomeLimitWhenCancelledMs : outcomeLimitMs
    const endsAt = this.#clock.now() + limitMs
    stops.push(this.#clock.after(limitMs, abort))
    cancelled.addEventListener('abort', onCancelled)
    await Promise.all(
      [...this.#throttles].map(async ([extra, throttle]) => {
        if (await throttle.finish(record, late.signal, endsAt)) this.#onClosed(extra)
      }),
    )
    cancelled.removeEventListener('abort', onCancelled)
    for (const stop of stops) stop()
  }
}

/**
 * Creates the extras that the inputs enable. It sends nothing. It depends on nothing but inputs, so that the extras can
 * also report mistakes in other inputs.
 * @param tracked the files to which texts link; may be filled later
 */
export function openExtras(
  inputs: Inputs,
  run: WorkflowRun,
  tracked: TrackedFiles,
  { onWarning, onNotice, onOpened, onClosed }: ExtrasHooks,
  clock: Clock,
): Extras {
  const octokit = createOctokit(inputs.githubToken ?? '')
  const name = gateName(run, inputs)
  const commit = run.headSha ?? ''
  const gate = { octokit, run, commit, logUrl: logPage(run, inputs.job.id), name, tracked }
  const throttles = inputs.reportTo.flatMap((extra) => {
    if (wouldRestartWorkflow(extra, name, run)) {
      onWarning(`${describeExtra(extra)} is not written: it started this workflow, and would start it again.`)
      return []
    }
    const onFailure = (failure: GitHubFailure) => onWarning(describeFailure(failure, extra))
    const context: ExtraContext = {
      ...gate,
      onOpened: ({ id = 0, url = '' } = {}) => onOpened({ extra, id, url, headSha: commit, name }),
    }
    const show = extras[extra].open(context, inputs, onNotice)
    const showPublic: Show = (record, signal) => show(omitLogsUnlessPrivate(record, run), signal)
    return [[extra, new UpdateThrottle(showPublic, clock, onFailure)] as const]
  })
  return new Extras(new Map(throttles), clock, onClosed)
}

/**
 * Whether the extra would start the workflow again, without end: a write of the same extra has started this run. This
 * can happen only with the token of an app: the job's token starts no workflows
 * (https://docs.github.com/actions/concepts/security/github_token). True if the event does not contain what was
 * written.
 */
function wouldRestartWorkflow(extra: ExtraName, gate: string, { event, writtenText = gate }: WorkflowRun): boolean {
  if (event !== knownExtras[extra].event) return false
  return writtenText === gate || writtenText.startsWith(commentMarker(gate))
}

/** A client for `GITHUB_API_URL`. It uses the proxy of the environment, and logs nothing. */
export function createOctokit(token: string): Octokit {
  const ignore = () => {}
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
  const request = { ...defaults.request, log }
  return new GitHub(getOctokitOptions(token, { userAgent: `rollout-gate/${version}`, log, request }))
}

/**
 * Shows the outcome on every object that the action left open (see `Close`). Never rejects.
 * @param log.onClosed called with each extra that was still open
 */
export async function closeExtras(
  { verdict, open }: Pick<OpenObjects, 'verdict' | 'open'>,
  { octokit, run, clock }: { readonly octokit: Octokit; readonly run: WorkflowRun; readonly clock: Clock },
  log: { readonly onClosed: (extra: ExtraName) => void; readonly onWarning: (text: string) => void },
): Promise<void> {
  const title = verdict?.title ?? noOutcomeTitle
  const closing: Closing = { octokit, run, outcome: verdict?.outcome, title }
  const endsAt = clock.now() + closeLimitMs
  const late = new AbortController()
  const stop = clock.after(closeLimitMs, () => late.abort())
  await Promise.all(
    open.map(async (opened) => {
      const { extra } = opened
      const close = async (signal: AbortSignal) => {
        if (await extras[extra].close(closing, opened, signal)) log.onClosed(extra)
      }
      const failure = await sendWithRetries(close, clock, late.signal, endsAt)
      if (failure !== undefined) log.onWarning(describeFailure(failure, extra))
    }),
  )
  stop()
}

const extras: Readonly<Record<ExtraName, Extra>> = { 'commit-status': commitStatus, deployment, comment }

type SendRequest = (signal: AbortSignal) => Promise<void>

/**
 * Repeats a request after failures that may be temporary. Never rejects.
 * @param endsAt the latest time at which the signal is aborted, in milliseconds since the epoch
 * @returns the last failure; undefined if the request has succeeded
 */
async function sendWithRetries(
  send: SendRequest,
  clock: Clock,
  signal: AbortSignal,
  endsAt: number,
): Promise<GitHubFailure | undefined> {
  let refusals = 0
  for (let delayMs = firstUpdateRetryMs; ; delayMs *= 2) {
    const failure = await sendWithin(outcomeTimeoutMs, send, clock, signal)
    if (failure === undefined) return undefined
    if (failure.type === 'forbidden') refusals++
    const mayPass = failure.type !== 'invalid' && refusals < maxGithubRefusals
    const pauseMs = Math.max(delayMs, failure.retryAfterMs)
    if (!mayPass || signal.aborted || clock.now() + pauseMs >= endsAt) return failure
    await sleep(clock, pauseMs, signal)
  }
}

/** Returns the failure, if any. Never rejects. Ends at the signal or time limit, even if the request does not. */
async function sendWithin(
  limitMs: number,
  send: SendRequest,
  clock: Clock,
  ending: AbortSignal,
): Promise<GitHubFailure | undefined> {
  const late = new AbortController()
  const stop = clock.after(limitMs, () => late.abort())
  const signal = AbortSignal.any([late.signal, ending])
  try {
    const isAnswered = await awaitUnlessAborted(
      send(signal).then(() => true),
      signal,
    )
    if (!isAnswered) signal.throwIfAborted()
    return undefined
  } catch (error) {
    return readFailure(error, clock.now())
  } finally {
    stop()
  }
}

/** The interval of updates as a share of the elapsed time: all jobs of a repository share 1,000 requests per hour. */
const intervalOfElapsed = 0.1

/** Limits how often an extra is updated. After a temporary failure, only the outcome is retried. */
export class UpdateThrottle {
  readonly #show: Show
  readonly #clock: Clock
  readonly #onFailure: (failure: GitHubFailure) => void
  readonly #ending = new AbortController()
  #earliest = Number.NEGATIVE_INFINITY
  #cancelTimer: (() => void) | undefined
  #updating: Promise<void> = Promise.resolve()

  /** @param onFailure called once if the outcome cannot be shown */
  constructor(show: Show, clock: Clock, onFailure: (failure: GitHubFailure) => void) {
    this.#show = show
    this.#clock = clock
    this.#onFailure = onFailure
  }

  /** Schedules an update. `present` returns the state at the time of the update. */
  update(present: () => RunRecord): void {
    if (this.#cancelTimer !== undefined) return
    this.#cancelTimer = this.#clock.after(Math.max(0, this.#earliest - this.#clock.now()), () => {
      this.#cancelTimer = undefined
      this.#updating = this.#showPresent(present)
    })
  }

  /**
   * Shows the last state, and retries after failures that may be temporary. Never rejects.
   * @param endsAt the latest time at which the signal is aborted, in milliseconds since the epoch
   * @returns whether GitHub shows the state
   */
  async finish(record: RunRecord, signal: AbortSignal, endsAt: number): Promise<boolean> {
    this.#cancelTimer?.()
    // The running update may create the object whose id the next update needs.
    const abort = () => this.#ending.abort()
    signal.addEventListener('abort', abort)
    await this.#updating
    signal.removeEventListener('abort', abort)
    const failure = await sendWithRetries((ending) => this.#show(record, ending), this.#clock, signal, endsAt)
    if (failure !== undefined) this.#onFailure(failure)
    return failure === undefined
  }

  async #showPresent(present: () => RunRecord): Promise<void> {
    const startedAt = this.#clock.now()
    const record = present()
    // The outcome is left to `finish`, whose record contains the evidence.
    if (record.outcome !== 'progressing') return
    const elapsedMs = startedAt - record.startedAt
    this.#earliest = startedAt + Math.max(updateIntervalMs, elapsedMs * intervalOfElapsed)
    const send: SendRequest = (signal) => this.#show(record, signal)
    const failure = await sendWithin(updateTimeoutMs, send, this.#clock, this.#ending.signal)
    // A failed update is not retried: the next update shows a newer state. A lasting failure is reported at the
    // outcome.
    this.#earliest = Math.max(this.#earliest, this.#clock.now() + (failure?.retryAfterMs ?? 0))
  }
}
