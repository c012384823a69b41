import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Payload, type RunnerVariables, readWorkflowRun, type WorkflowRun } from '../../src/github/workflow-run.ts'
import { rows } from '../kit/rows.ts'

/** Each event has the commit that it is about, and `GITHUB_SHA`. */
export const headSha = '1111111111111111111111111111111111111111'
export const githubSha = '2222222222222222222222222222222222222222'

const repository = { id: 9, full_name: 'acme/shop' }

/** What the runner gives to an action. */
export interface ActionContext {
  readonly variables: RunnerVariables
  readonly payload: Payload
  /** The commit in the workspace. */
  readonly checkedOut?: string
}

/** The run of a context, without the files of a runner. */
export function readRun({ variables, payload, checkedOut }: ActionContext, sha?: string): WorkflowRun {
  return readWorkflowRun(variables, payload, { sha, checkedOut })
}

/** The context of a push in a run of the workflow `Deploy`, job `production`, of acme/shop. */
export function createContext(variables: RunnerVariables = {}, payload: Payload = {}): ActionContext {
  return {
    variables: {
      GITHUB_EVENT_NAME: 'push',
      GITHUB_SERVER_URL: 'https://github.com',
      GITHUB_REPOSITORY: 'acme/shop',
      GITHUB_SHA: githubSha,
      GITHUB_WORKFLOW: 'Deploy',
      GITHUB_JOB: 'production',
      GITHUB_RUN_ID: '77',
      GITHUB_RUN_ATTEMPT: '2',
      ...variables,
    },
    payload: { repository, ...payload },
  }
}

/** The context of a run that an event triggered. */
export function createEventContext(eventName: string, payload: object = {}): ActionContext {
  return createContext({ GITHUB_EVENT_NAME: eventName }, payload)
}

/** @param full_name the repository that contains the branch */
export function createPullRequest(full_name = repository.full_name) {
  return { number: 12, head: { sha: headSha, repo: { full_name } } }
}

/** An event, with the expected commit, pull request and deployment. */
interface EventOfRun {
  readonly event: string
  readonly payload: Payload
  readonly sha: string
  readonly pullRequest?: number
  readonly deployment?: number
}

/** The context of every event. */
export const eventContexts = rows<EventOfRun>(import.meta.filename.replace('.ts', '.yaml'), 'events').map(
  ({ event, payload, ...expected }) => ({ event, context: createEventContext(event, payload), ...expected }),
)

/**
 * A comment on a pull request, as of ChatOps, or on an issue. `GITHUB_SHA` is the default branch. The job has checked out
 * the head of the pull request.
 */
export function createIssueComment(isPullRequest = true): ActionContext {
  const links = {
    url: 'https://api.github.com/repos/acme/shop/pulls/12',
    html_url: 'https://github.com/acme/shop/pull/12',
  }
  const issue = { number: 12, state: 'open', ...(isPullRequest ? { pull_request: links } : {}) }
  const context = createEventContext('issue_comment', { issue, comment: { body: '/deploy' } })
  return { ...context, checkedOut: isPullRequest ? headSha : githubSha }
}

/**
 * A run that follows the checks of a fork's pull request. Its list of pull requests is empty: "pushes to a branch in a
 * forked repository are not detected" (https://docs.github.com/rest/checks/suites).
 */
export function createForkRun(): ActionContext {
  const head_repository = { full_name: 'jo/shop', owner: { login: 'jo' } }
  return createEventContext('workflow_run', {
    workflow_run: { head_sha: headSha, head_branch: 'topic', head_repository, pull_requests: [] },
  })
}

/** The runner's environment for an event of acme/shop on an enterprise server. Writes the event into `folder`. */
export function writeEnvironment(
  folder: string,
  apiUrl: string,
  { variables, payload }: ActionContext,
): Record<string, string | undefined> {
  const event = join(folder, 'event.json')
  writeFileSync(event, JSON.stringify(payload))
  return {
    ...variables,
    NO_COLOR: '1',
    GITHUB_API_URL: apiUrl,
    GITHUB_SERVER_URL: 'https://github.acme.example',
    GITHUB_EVENT_PATH: event,
    GITHUB_RUN_ATTEMPT: '1',
  }
}

/** `writeEnvironment` for a pull request. */
export function pullRequestEnvironment(
  folder: string,
  apiUrl: string,
  { isPrivate = false } = {},
): Record<string, string | undefined> {
  const payload = { pull_request: createPullRequest(), repository: { ...repository, private: isPrivate } }
  return writeEnvironment(folder, apiUrl, createEventContext('pull_request', payload))
}
