import { context } from '@actions/github'
import { defaults, GitHub, getOctokitOptions } from '@actions/github/lib/utils'
import type { Clock } from '../cluster/clock.ts'
import type { EndedTimeline, Timeline } from '../gate/timeline.ts'
import type { Inputs } from '../inputs.ts'
import type { Reference } from '../plan/references.ts'
import { version } from '../version.ts'
import { CheckRun } from './check-run.ts'
import { Comment } from './comment.ts'
import { DeploymentStatus, environmentUrl } from './deployment-status.ts'
import type { Extra, Octokit } from './extra.ts'
import { describeFailure } from './failure.ts'
import { originOf } from './origin.ts'
import { Pace } from './pace.ts'
import { gateName } from './texts.ts'

/** How the shell hears of the extras. Texts are not yet escaped. */
export interface ExtrasListener {
  readonly onWarning: (text: string) => void
  readonly onNote: (text: string) => void
}

/** The extras that are on, together. They change no verdict: whatever goes wrong with them is a warning. */
export class Extras {
  readonly #paces: readonly Pace[]
  readonly #clock: Clock
  #look: (() => Timeline) | undefined

  constructor(paces: readonly Pace[], clock: Clock) {
    this.#paces = paces
    this.#clock = clock
  }

  /** The gate begins; `look` gives its present state at any time. */
  start(look: () => Timeline): void {
    this.#look = look
    this.progress()
  }

  /** Something has happened. */
  progress(): void {
    if (this.#look === undefined) return
    for (const pace of this.#paces) pace.update(this.#look)
  }

  /** Shows the end. Resolves when all is shown, or after `limitMs` with a warning for what is not. */
  async finish(timeline: EndedTimeline, limitMs: number): Promise<void> {
    const late = new AbortController()
    const endsAt = this.#clock.now() + limitMs
    const stop = this.#clock.after(limitMs, () => late.abort())
    await Promise.all(this.#paces.map((pace) => pace.finish(timeline, late.signal, endsAt)))
    stop()
  }
}

/**
 * The extras that the inputs ask for, from the environment of the workflow's run.
 * @param references what the user named
 * @throws Error outside of a run of GitHub Actions
 */
export function openExtras(
  inputs: Inputs,
  references: readonly Reference[],
  listener: ExtrasListener,
  clock: Clock,
): Extras {
  const origin = originOf(context)
  const octokit = connect(inputs.githubToken ?? '')
  const name = gateName(origin, references, inputs.namespace)
  const extras: Extra[] = [
    ...(inputs.checkRun ? [new CheckRun(octokit, origin, name)] : []),
    ...(inputs.deploymentStatus ? [new DeploymentStatus(octokit, origin, environmentUrl(references))] : []),
    ...(inputs.comment ? [new Comment(octokit, origin, name, listener.onNote)] : []),
  ]
  const paces = extras.map(
    (extra) => new Pace(extra, clock, (failure) => listener.onWarning(describeFailure(failure, extra.input, origin))),
  )
  return new Extras(paces, clock)
}

/** GitHub's API where `GITHUB_API_URL` says, through the proxy that is set for it. */
function connect(token: string): Octokit {
  const silent = () => {}
  const log = { debug: silent, info: silent, warn: silent, error: silent }
  const request = { ...defaults.request, log }
  return new GitHub(getOctokitOptions(token, { userAgent: `rollout-gate/${version}`, log, request }))
}
