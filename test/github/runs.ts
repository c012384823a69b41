import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Run } from '../../src/github/origin.ts'

/** The commits of the events: each event has one that people look at, and `GITHUB_SHA`. */
export const headSha = '1111111111111111111111111111111111111111'
export const githubSha = '2222222222222222222222222222222222222222'

const full_name = 'acme/shop'

/** A run of the workflow `Deploy`, job `production`, of acme/shop. */
export function createRun(overrides: Partial<Run> = {}): Run {
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

/** A run that an event triggered. */
export function createEventRun(eventName: string, fields: Readonly<Record<string, unknown>> = {}): Run {
  return createRun({ eventName, payload: { ...createRun().payload, ...fields } })
}

/** @param repository where the branch lies; null: that repository is gone */
export function createPullRequest(repository: string | null = full_name) {
  return { number: 12, head: { sha: headSha, repo: repository === null ? null : { full_name: repository } } }
}

/** A run of every event, with the commit and the pull request that it is about. */
export const eventRuns: readonly { run: Run; sha: string; pullRequest?: number; deployment?: number }[] = [
  { run: createEventRun('pull_request', { pull_request: createPullRequest() }), sha: headSha, pullRequest: 12 },
  { run: createEventRun('pull_request_target', { pull_request: createPullRequest() }), sha: headSha, pullRequest: 12 },
  { run: createEventRun('push', { after: githubSha }), sha: githubSha },
  {
    run: createEventRun('merge_group', {
      merge_group: { head_sha: headSha, head_ref: 'refs/heads/gh-readonly-queue/main/pr-12-0123abcd' },
    }),
    sha: headSha,
    pullRequest: 12,
  },
  {
    run: createEventRun('workflow_run', { workflow_run: { head_sha: headSha, pull_requests: [{ number: 12 }] } }),
    sha: headSha,
    pullRequest: 12,
  },
  {
    // A deployment that a workflow made tells of that one's run as well.
    run: createEventRun('deployment', {
      deployment: { id: 5, sha: headSha, environment: 'production' },
      workflow_run: { head_sha: githubSha, pull_requests: [] },
    }),
    sha: headSha,
    deployment: 5,
  },
  { run: createEventRun('workflow_dispatch', { inputs: {} }), sha: githubSha },
  { run: createEventRun('schedule', { schedule: '0 3 * * *' }), sha: githubSha },
]

/** What the runner gives the environment of a pull request of acme/shop on an enterprise server; its event is written there. */
export function pullRequestEnvironment(folder: string, apiUrl: string): Record<string, string> {
  const event = join(folder, 'event.json')
  const { payload } = createEventRun('pull_request', { pull_request: createPullRequest() })
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
