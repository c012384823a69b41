import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ActionContext } from '../../src/github/workflow-run.ts'

/** Each event has a commit that people look at, and `GITHUB_SHA`. */
export const headSha = '1111111111111111111111111111111111111111'
export const githubSha = '2222222222222222222222222222222222222222'

const full_name = 'acme/shop'

/** The context of a run of the workflow `Deploy`, job `production`, of acme/shop. */
export function createContext(overrides: Partial<ActionContext> = {}): ActionContext {
  return {
    eventName: 'push',
    payload: { repository: { full_name, name: 'shop', owner: { login: 'acme' } } },
    sha: githubSha,
    workflow: 'Deploy',
    job: 'production',
    actor: 'jo',
    runId: 77,
    runAttempt: 2,
    serverUrl: 'https://github.com',
    repo: { owner: 'acme', repo: 'shop' },
    ...overrides,
  }
}

/** The context of a run that an event triggered. */
export function createEventContext(eventName: string, fields: Readonly<Record<string, unknown>> = {}): ActionContext {
  return createContext({ eventName, payload: { ...createContext().payload, ...fields } })
}

/** @param repository of the branch; null: the repository was deleted */
export function createPullRequest(repository: string | null = full_name) {
  return { number: 12, head: { sha: headSha, repo: repository === null ? null : { full_name: repository } } }
}

/** The context of every event, with the expected commit, pull request and deployment. */
export const eventContexts: readonly {
  context: ActionContext
  sha: string
  pullRequest?: number
  deployment?: number
}[] = [
  { context: createEventContext('pull_request', { pull_request: createPullRequest() }), sha: headSha, pullRequest: 12 },
  {
    context: createEventContext('pull_request_target', { pull_request: createPullRequest() }),
    sha: headSha,
    pullRequest: 12,
  },
  { context: createEventContext('push', { after: githubSha }), sha: githubSha },
  {
    context: createEventContext('merge_group', {
      merge_group: { head_sha: headSha, head_ref: 'refs/heads/gh-readonly-queue/main/pr-12-0123abcd' },
    }),
    sha: headSha,
    pullRequest: 12,
  },
  {
    context: createEventContext('workflow_run', {
      workflow_run: { head_sha: headSha, pull_requests: [{ number: 12 }] },
    }),
    sha: headSha,
    pullRequest: 12,
  },
  {
    // The event of a deployment that a workflow created contains the run of that workflow too.
    context: createEventContext('deployment', {
      deployment: { id: 5, sha: headSha, environment: 'production' },
      workflow_run: { head_sha: githubSha, pull_requests: [] },
    }),
    sha: headSha,
    deployment: 5,
  },
  { context: createEventContext('workflow_dispatch', { inputs: {} }), sha: githubSha },
  { context: createEventContext('schedule', { schedule: '0 3 * * *' }), sha: githubSha },
]

/** The runner's environment for a pull request of acme/shop on an enterprise server. Writes the event into `folder`. */
export function pullRequestEnvironment(folder: string, apiUrl: string): Record<string, string> {
  const event = join(folder, 'event.json')
  const { payload } = createEventContext('pull_request', { pull_request: createPullRequest() })
  writeFileSync(event, JSON.stringify(payload))
  return {
    NO_COLOR: '1',
    GITHUB_API_URL: apiUrl,
    GITHUB_SERVER_URL: 'https://github.acme.example',
    GITHUB_EVENT_NAME: 'pull_request',
    GITHUB_EVENT_PATH: event,
    GITHUB_REPOSITORY: 'acme/shop',
    GITHUB_SHA: githubSha,
    GITHUB_WORKFLOW: 'Deploy',
    GITHUB_JOB: 'production',
    GITHUB_ACTOR: 'jo',
    GITHUB_RUN_ID: '77',
    GITHUB_RUN_ATTEMPT: '1',
  }
}
