import type { TargetOutcome } from '../gate/outcome.ts'
import type { RunRecord } from '../gate/run-record.ts'
import { namespacesOf } from '../plan/target.ts'
import { safeLine } from '../report/escape.ts'
import { titleOfRecord } from '../report/headline.ts'
import type { Extra, ExtraContext } from './extra.ts'
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

/** Writes the status of the deployment that triggered the workflow. Without one, creates a deployment. */
export const deployment: Extra = {
  open(gate, { environment, environmentUrl }) {
    const { octokit, run, logUrl, onOpened } = gate
    let id = run.deploymentId
    let shown: State | undefined
    return async (record, signal) => {
      const state = deploymentState(record.outcome)
      if (state === shown) return
      const name = environment ?? environmentName(record)
      // If the gate has not reached the cluster, the environment is unknown.
      if (id === undefined && name === '') return
      id ??= (await findDeployment(gate, name, signal)) ?? (await createDeployment(gate, name, signal))
      onOpened({ id })
      await octokit.rest.repos.createDeploymentStatus({
        ...repositoryRequest(run, signal),
        deployment_id: id,
        state,
        description: titleOfRecord(record, descriptionLimit),
        log_url: logUrl,
        environment_url: environmentUrl,
      })
      shown = state
    }
  },

  async close({ octokit, run, outcome, title }, { id }, signal) {
    const request = { ...repositoryRequest(run, signal), deployment_id: id }
    const { data } = await octokit.rest.repos.listDeploymentStatuses({ ...request, per_page: perPage })
    const latest = latestStatus(data)
    if (latest?.state !== 'in_progress' || !isPageOfRun(latest.log_url ?? '', run)) return false
    await octokit.rest.repos.createDeploymentStatus({
      ...request,
      state: deploymentState(outcome),
      description: title.slice(0, descriptionLimit),
      log_url: latest.log_url ?? '',
      ...(latest.environment_url ? { environment_url: latest.environment_url } : {}),
    })
    return true
  },
}

async function createDeployment(
  { octokit, run, commit, name }: ExtraContext,
  environment: string,
  signal: AbortSignal,
): Promise<number> {
  const { data } = await octokit.rest.repos.createDeployment({
    ...repositoryRequest(run, signal),
    ref: commit,
    environment,
    payload: { gate: name, mark: attemptMark(run) } satisfies DeploymentPayload,
    transient_environment: run.isOpenPullRequest,
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
async function findDeployment(
  { octokit, run, commit, name }: ExtraContext,
  environment: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { repos } = octokit.rest
  const request = repositoryRequest(run, signal)
  const { data } = await repos.listDeployments({ ...request, sha: commit, environment, per_page: perPage })
  const marked = data.map(({ id, payload }) => ({ id, ...(Object(payload) as Partial<DeploymentPayload>) }))
  const ofGate = marked.filter(({ gate }) => gate === name)
  for (const { id } of ofGate.filter(({ mark }) => isEarlierAttempt(mark, run))) {
    const ofDeployment = { ...request, deployment_id: id }
    const { data: statuses } = await repos.listDeploymentStatuses({ ...ofDeployment, per_page: perPage })
    if (latestStatus(statuses)?.state === 'in_progress')
      await repos.createDeploymentStatus({ ...ofDeployment, state: 'error', description: noOutcomeTitle })
  }
  return ofGate.find(({ mark }) => mark === attemptMark(run))?.id
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
function deploymentState(outcome: TargetOutcome | undefined): State {
  switch (outcome) {
    case 'progressing':
      return 'in_progress'
    case 'ready':
      return 'success'
    case 'unknown':
    case undefined:
      return 'error'
    case 'cancelled':
      return 'inactive'
    default:
      return 'failure'
  }
}
