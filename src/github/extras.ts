import { context } from '@actions/github'
import { defaults, GitHub, getOctokitOptions } from '@actions/github/lib/utils'
import type { Clock } from '../cluster/clock.ts'
import type { EndedTimeline, Timeline } from '../gate/timeline.ts'
import type { Inputs } from '../inputs.ts'
import type { Reference } from '../plan/reference.ts'
import { version } from '../version.ts'
import { CheckRun } from './check-run.ts'
import { Comment } from './comment.ts'
import { DeploymentStatus, environmentUrl } from './deployment-status.ts'
import { describeFailure } from './failure.ts'
import { type Extra, type Octokit, UpdateThrottle } from './update-throttle.ts'
import { gateName, readWorkflowRun } from './workflow-run.ts'

/** Texts are raw: renderers escape them. */
interface ExtrasLog {
  readonly onWarning: (text: string) => void
  readonly onNotice: (text: string) => void
}

/** All enabled extras. They do not change the verdict: a failed extra is a warning. */
export class Extras {
  readonly #throttles: readonly UpdateThrottle[]
  readonly #clock: Clock
  #present: (() => Timeline) | undefined

  constructor(throttles: readonly UpdateThrottle[], clock: Clock) {
    this.#throttles = throttles
    this.#clock = clock
  }

  /** @param present returns the state of the gate at any time */
  start(present: () => Timeline): void {
    this.#present = present
    this.update()
  }

  /** Schedules an update after a change of the state. */
  update(): void {
    if (this.#present === undefined) return
    for (const throttle of this.#throttles) throttle.update(this.#present)
  }

  /**
   * Shows the outcome. Resolves when all extras show it, or after `limitMs`: each extra that does not show it gets a
   * warning.
   */
  async finish(timeline: EndedTimeline, limitMs: number): Promise<void> {
    const late = new AbortController()
    const endsAt = this.#clock.now() + limitMs
    const stop = this.#clock.after(limitMs, () => late.abort())
    await Promise.all(this.#throttles.map((throttle) => throttle.finish(timeline, late.signal, endsAt)))
    stop()
  }
}

/**
 * Creates the extras that the inputs enable, for the workflow run of this process.
 * @throws Error outside of GitHub Actions
 */
export function openExtras(inputs: Inputs, references: readonly Reference[], log: ExtrasLog, clock: Clock): Extras {
  const run = readWorkflowRun(context)
  const octokit = createOctokit(inputs.githubToken ?? '')
  const name = gateName(run, references, inputs.namespace)
  const extras: Extra[] = []
  if (inputs.checkRun) extras.push(new CheckRun(octokit, run, name))
  if (inputs.deploymentStatus) extras.push(new DeploymentStatus(octokit, run, environmentUrl(references)))
  if (inputs.comment) extras.push(new Comment(octokit, run, name, log.onNotice))
  const throttles = extras.map(
    (extra) => new UpdateThrottle(extra, clock, (failure) => log.onWarning(describeFailure(failure, extra.input, run))),
  )
  return new Extras(throttles, clock)
}

/** A client for `GITHUB_API_URL`. It uses the proxy of the environment and logs nothing. */
function createOctokit(token: string): Octokit {
  const ignore = () => {}
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
  const request = { ...defaults.request, log }
  return new GitHub(getOctokitOptions(token, { userAgent: `rollout-gate/${version}`, log, request }))
}
