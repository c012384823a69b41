import type { Outcome } from '../gate/outcome.ts'
import type { RunRecord } from '../gate/run-record.ts'
import type { Inputs } from '../inputs.ts'
import { namespacesOf } from '../plan/target.ts'
import { safeLine } from '../report/escape.ts'
import { titleOfRecord } from '../report/headline.ts'
import type { Close, Extra, Shared } from './extra.ts'
import { descriptionLimit, leftOpenTitle } from './texts.ts'
import { attemptMark, isOfEarlierAttempt, isOfRun, repositoryRequest } from './workflow-run.ts'

/** The maximum length of the name of an environment (https://docs.github.com/rest/deployments/deployments). */
const environmentLimit = 255
const perPage = 100

/** The payload of a deployment: the gate that created it, and the attempt of the workflow run (`attemptMark`). */
interface Mark {
  readonly gate: string
  readonly mark: string
}

type State = 'in_progress' | 'success' | 'failure' | 'error' | 'inactive'

type DeploymentSettings = Pick<Inputs, 'environment' | 'environmentUrl'>

/** The status of the deployment that triggered the workflow, or of a new one. */
export class DeploymentStatus implements Extra {
  readonly name = 'deployment'
  readonly #shared: Shared
  readonly #settings: DeploymentSettings
  #id: number | undefined
  #shown: State | undefined

  constructor(shared: Shared, settings: DeploymentSettings) {
    this.#shared = shared
    this.#settings = settings
    this.#id = shared.origin.run.deploymentId
  }

  async show(record: RunRecord, signal: AbortSignal): Promise<void> {
    const state = record.outcome === 'progressing' ? 'in_progress' : deploymentState(record.outcome)
    if (state === this.#shown) return
    const { octokit, origin, name, onOpened } = this.#shared
    this.#id ??= await this.#create(record, signal)
    if (this.#id === undefined) return
    onOpened({ extra: this.name, id: this.#id, url: '', headSha: origin.commit, name })
    await octokit.rest.repos.createDeploymentStatus({
      ...repositoryRequest(origin.run, signal),
      deployment_id: this.#id,
      state,
      description: titleOfRecord(record, descriptionLimit),
      log_url: origin.logUrl,
      environment_url: this.#settings.environmentUrl,
    })
    this.#shown = state
  }

  async #create(record: RunRecord, signal: AbortSignal): Promise<number | undefined> {
    const { octokit, origin, name } = this.#shared
    const { environment = environmentName(record) } = this.#settings
    // Without a connection to the cluster, the environment is unknown.
    if (environment === '') return undefined
    const sha = origin.commit
    const own = await this.#findOwn(sha, environment, signal)
    if (own !== undefined) return own
    const { data } = await octokit.rest.repos.createDeployment({
      ...repositoryRequest(origin.run, signal),
      ref: sha,
      environment,
      payload: { gate: name, mark: attemptMark(origin.run) } satisfies Mark,
      transient_environment: origin.run.isOpenPullRequest,
      description: 'Rollout Gate',
      // The change is already applied: no merge, and no required checks.
      auto_merge: false,
      required_contexts: [],
    })
    if (!('id' in data)) throw new Error(`GitHub created no deployment: ${data.message ?? 'no reason given'}`)
    return data.id
  }

  /**
   * The deployment that this attempt of the run has created for this gate: by an earlier step, or by a request whose
   * response was lost. Ends the deployments that earlier attempts left in progress when their runner was lost.
   */
  async #findOwn(sha: string, environment: string, signal: AbortSignal): Promise<number | undefined> {
    const { octokit, origin, name } = this.#shared
    const { repos } = octokit.rest
    const request = repositoryRequest(origin.run, signal)
    const { data } = await repos.listDeployments({ ...request, sha, environment, per_page: perPage })
    const marked = data.map(({ id, payload }) => ({ id, ...(Object(payload) as Partial<Mark>) }))
    const ofGate = marked.filter(({ gate }) => gate === name)
    for (const { id } of ofGate.filter(({ mark }) => isOfEarlierAttempt(mark, origin.run))) {
      const latest = latestOf(
        (await repos.listDeploymentStatuses({ ...request, deployment_id: id, per_page: perPage })).data,
      )
      if (latest?.state === 'in_progress')
        await repos.createDeploymentStatus({
          ...request,
          deployment_id: id,
          state: 'error',
          description: leftOpenTitle,
        })
    }
    return ofGate.find(({ mark }) => mark === attemptMark(origin.run))?.id
  }
}

export const closeDeployment: Close = async ({ octokit, run, outcome, title }, { id }, signal) => {
  const request = { ...repositoryRequest(run, signal), deployment_id: id }
  const { data } = await octokit.rest.repos.listDeploymentStatuses({ ...request, per_page: perPage })
  const latest = latestOf(data)
  if (latest?.state !== 'in_progress' || !isOfRun(latest.log_url ?? '', run)) return false
  await octokit.rest.repos.createDeploymentStatus({
    ...request,
    state: outcome === undefined ? 'error' : deploymentState(outcome),
    description: title.slice(0, descriptionLimit),
    log_url: latest.log_url ?? '',
    ...(latest.environment_url ? { environment_url: latest.environment_url } : {}),
  })
  return true
}

/** The latest status. GitHub does not document the order of its list. */
function latestOf<T extends { readonly id: number }>(statuses: readonly T[]): T | undefined {
  return statuses.toSorted((one, other) => other.id - one.id)[0]
}

/**
 * `prod/shop`: the context, and the namespace if all targets are in the same one. Empty if the context is unknown: without it,
 * clusters would share an environment, and GitHub marks the older deployments to an environment as inactive.
 */
export function environmentName({ cluster: { context }, targets }: RunRecord): string {
  if (context === '') return ''
  const namespaces = namespacesOf(targets)
  const words = namespaces.length === 1 ? [context, ...namespaces] : [context]
  // GitHub rejects these characters in the name of an environment.
  return safeLine(words.join('/').replace(/['"`,;\\]/g, '-'), environmentLimit)
}

/**
 * Only `success` satisfies a branch rule and makes earlier deployments to the environment inactive. `error`: the rollout
 * may have succeeded, but could not be seen. `inactive`: the wait was cancelled.
 */
function deploymentState(outcome: Outcome): Exclude<State, 'in_progress'> {
  switch (outcome) {
    case 'ready':
      return 'success'
    case 'unknown':
      return 'error'
    case 'cancelled':
      return 'inactive'
    default:
      return 'failure'
  }
}
