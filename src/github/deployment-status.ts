import type { Outcome } from '../gate/outcome.ts'
import type { RunRecord } from '../gate/run-record.ts'
import type { Inputs } from '../inputs.ts'
import { namespacesOf } from '../plan/target.ts'
import { safeLine } from '../report/escape.ts'
import { titleOfRecord } from '../report/headline.ts'
import type { Close, Extra, Shared } from './extra.ts'
import { descriptionLimit, noOutcomeTitle } from './texts.ts'
import { attemptMark, isEarlierAttempt, isPageOfRun, repositoryRequest } from './workflow-run.ts'

/* Updates the status of a GitHub deployment: the deployment that triggered the workflow, or a new deployment. */

/** The maximum length of an environment's name (https://docs.github.com/rest/deployments/deployments). */
const environmentLimit = 255
const perPage = 100

/** The payload of a deployment: the name of its gate, and the attempt of the workflow run (`attemptMark`). */
interface DeploymentPayload {
  readonly gate: string
  readonly mark: string
}

type State = 'in_progress' | 'success' | 'failure' | 'error' | 'inactive'

type DeploymentSettings = Pick<Inputs, 'environment' | 'environmentUrl'>

/** Writes the status of the deployment that triggered the workflow. Without one, creates a deployment. */
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
    // If the gate has not reached the cluster, the environment is unknown.
    if (environment === '') return undefined
    const sha = origin.commit
    const own = await this.#findDeployment(sha, environment, signal)
    if (own !== undefined) return own
    const { data } = await octokit.rest.repos.createDeployment({
      ...repositoryRequest(origin.run, signal),
      ref: sha,
      environment,
      payload: { gate: name, mark: attemptMark(origin.run) } satisfies DeploymentPayload,
      transient_environment: origin.run.isOpenPullRequest,
      description: 'Rollout Gate',
      // The change is already applied, so GitHub must not merge branches or wait for checks.
      auto_merge: false,
      required_contexts: [],
    })
    if (!('id' in data)) throw new Error(`GitHub created no deployment: ${data.message ?? 'no reason given'}`)
    return data.id
  }

  /**
   * Finds the deployment that this attempt of the run has already created for the gate, in an earlier step or by a
   * request without a response. Ends deployments that earlier attempts left in progress.
   */
  async #findDeployment(sha: string, environment: string, signal: AbortSignal): Promise<number | undefined> {
    const { octokit, origin, name } = this.#shared
    const { repos } = octokit.rest
    const request = repositoryRequest(origin.run, signal)
    const { data } = await repos.listDeployments({ ...request, sha, environment, per_page: perPage })
    const marked = data.map(({ id, payload }) => ({ id, ...(Object(payload) as Partial<DeploymentPayload>) }))
    const ofGate = marked.filter(({ gate }) => gate === name)
    for (const { id } of ofGate.filter(({ mark }) => isEarlierAttempt(mark, origin.run))) {
      const latest = latestStatus(
        (await repos.listDeploymentStatuses({ ...request, deployment_id: id, per_page: perPage })).data,
      )
      if (latest?.state === 'in_progress')
        await repos.createDeploymentStatus({
          ...request,
          deployment_id: id,
          state: 'error',
          description: noOutcomeTitle,
        })
    }
    return ofGate.find(({ mark }) => mark === attemptMark(origin.run))?.id
  }
}

export const closeDeployment: Close = async ({ octokit, run, outcome, title }, { id }, signal) => {
  const request = { ...repositoryRequest(run, signal), deployment_id: id }
  const { data } = await octokit.rest.repos.listDeploymentStatuses({ ...request, per_page: perPage })
  const latest = latestStatus(data)
  if (latest?.state !== 'in_progress' || !isPageOfRun(latest.log_url ?? '', run)) return false
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
function latestStatus<T extends { readonly id: number }>(statuses: readonly T[]): T | undefined {
  return statuses.toSorted((one, other) => other.id - one.id)[0]
}

/**
 * The default name of the environment, `prod/shop`: the context, and the namespace if all targets share it. Empty if
 * the context is unknown: clusters would then share an environment, in which GitHub marks older deployments as
 * inactive.
 */
export function environmentName({ cluster: { context }, targets }: RunRecord): string {
  if (context === '') return ''
  const namespaces = namespacesOf(targets)
  const words = namespaces.length === 1 ? [context, ...namespaces] : [context]
  // GitHub rejects these characters in the name of an environment.
  return safeLine(words.join('/').replace(/['"`,;\\]/g, '-'), environmentLimit)
}

/**
 * The state for an outcome. Only `success` satisfies a branch rule, and makes earlier deployments to the environment
 * inactive. `error`: the gate could not read the cluster, so the rollout may have succeeded. `inactive`: the wait was
 * cancelled.
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
